/* perf events of each thread. The thread opens its own events, which needs no extra privileges, sends the
 * descriptors to sonde run through a socket and closes them. sonde run reads them after the thread has ended. The
 * events of a process image are opened before its exec, so that exec and the dynamic loader are included: for a
 * short program that is most of it. */
#include "probe/process/probe.h"

#include "spool/spool.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SEND_TRIES 50
#define SEND_PAUSE_NS 100000

struct perf_setting {
    uint32_t type;
    unsigned exclude;
    uint64_t config, config1, config2;
};

/* In a mapping of its own: most runs have no events, and their processes should not pay for the memory. */
struct perf_settings {
    struct perf_setting events[PROBE_EVENTS_MAX];
    unsigned count;
    struct sockaddr_un receiver;
};
static struct perf_settings *settings;

static uint64_t hex_at(const char **at)
{
    uint64_t value = 0;
    for (;; ++*at) {
        char c = **at;
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            break;
    }
    *at += **at == ':';
    return value;
}

static void events_read(const char *text)
{
    while (*text && settings->count < PROBE_EVENTS_MAX) {
        struct perf_setting *event = &settings->events[settings->count++];
        event->type = (uint32_t)hex_at(&text);
        event->config = hex_at(&text);
        event->config1 = hex_at(&text);
        event->config2 = hex_at(&text);
        event->exclude = (unsigned)hex_at(&text);
        if (*text != ';')
            break;
        text++;
    }
}

void perf_start(const char *events, const char *socket_path)
{
    if (!events || !*events || !socket_path || strlen(socket_path) >= sizeof settings->receiver.sun_path)
        return;
    long map = sys6(SYS_mmap, NULL, sizeof *settings, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map < 0 && map > -4096)
        return;
    settings = (struct perf_settings *)map;
    settings->receiver.sun_family = AF_UNIX;
    memcpy(settings->receiver.sun_path, socket_path, strlen(socket_path) + 1);
    events_read(events);
}

static int event_open(const struct perf_setting *setting, bool on_exec)
{
    struct perf_event_attr attr = {
        .type = setting->type,
        .size = sizeof attr,
        .config = setting->config,
        .config1 = setting->config1,
        .config2 = setting->config2,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_kernel = !!(setting->exclude & PROBE_EXCLUDE_KERNEL),
        .exclude_hv = !!(setting->exclude & PROBE_EXCLUDE_HYPERVISOR),
        .disabled = on_exec,
        .enable_on_exec = on_exec,
    };
    return (int)sys5(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool is_busy(long result)
{
    return result == -EAGAIN || result == -ENOBUFS || result == -ETOOMANYREFS || result == -EINTR;
}

/* Each thread uses its own connection: the backlog of a listening socket holds thousands, the queue of a datagram
 * socket ten. Returns 0 if sent or nobody listens, otherwise the error to retry on. */
static long try_to_send(long fd, const struct msghdr *message, bool *connected)
{
    long result = *connected ? 0 : sys3(SYS_connect, fd, &settings->receiver, sizeof settings->receiver);
    *connected = *connected || result == 0;
    if (*connected)
        result = sys3(SYS_sendmsg, fd, message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return is_busy(result) ? result : 0;
}

/* Waits a little if sonde run does not keep up, then gives up and counts the message as lost. */
static void send_all(const struct msghdr *message)
{
    long fd = sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    const struct timespec pause = { .tv_nsec = SEND_PAUSE_NS };
    bool connected = false;
    int tries = 0;
    while (try_to_send(fd, message, &connected) && ++tries < SEND_TRIES)
        sys2(SYS_nanosleep, &pause, NULL);
    if (tries == SEND_TRIES)
        spool_count_lost(probe.spool);
    sys_close((int)fd);
}

static void send_descriptors(const struct probe_perf_message *text, const int *fds, unsigned count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(PROBE_EVENTS_MAX * sizeof(int))];
    } control = { .head = { .cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    if (count)
        memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
    struct iovec part = { (void *)text, sizeof *text };
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = count ? &control : NULL,
        .msg_controllen = count ? CMSG_SPACE(count * sizeof(int)) : 0,
    };
    send_all(&message);
}

static struct probe_perf_message message_of(enum probe_perf_since since, uint64_t time_ns)
{
    return (struct probe_perf_message){
        .pid = (unsigned)sys_getpid(), .tid = (unsigned)sys_gettid(), .since = since, .time_ns = time_ns,
    };
}

__attribute__((noinline)) static bool open_and_send(enum probe_perf_since since, uint64_t time_ns)
{
    int fds[PROBE_EVENTS_MAX];
    unsigned count = 0;
    struct probe_perf_message text = message_of(since, time_ns);
    for (unsigned i = 0; i < settings->count; i++) {
        int fd = event_open(&settings->events[i], since == PROBE_PERF_EXEC);
        if (fd < 0)
            continue;
        fds[count++] = fd;
        text.opened |= 1u << i;
    }
    if (count)
        send_descriptors(&text, fds, count);
    for (unsigned i = 0; i < count; i++)
        sys_close(fds[i]);
    return count;
}

void perf_open_thread(void)
{
    if (settings)
        open_and_send(PROBE_PERF_BIRTH, probe_now_ns());
}

void perf_open_image(void)
{
    if (settings)
        open_and_send(PROBE_PERF_IMAGE, probe_now_ns());
}

bool perf_open_exec(uint64_t time_ns, bool goes_on)
{
    return settings && (goes_on || open_and_send(PROBE_PERF_EXEC, time_ns));
}

void perf_exec_failed(void)
{
    if (!settings)
        return;
    struct probe_perf_message text = message_of(PROBE_PERF_FAILED, probe_now_ns());
    send_descriptors(&text, NULL, 0);
}
