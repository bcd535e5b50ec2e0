/* Receiving, keeping and reading the perf descriptors of threads. */
#include "watch/perf_counts.h"

#include "base/clock.h"
#include "model/process.h"
#include "wire/probe_env.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHAINS 4096 /* a power of two */
#define BACKLOG 4096
#define SENDER_WAIT_US 500000 /* for one that has connected and not yet sent: on a busy machine another may run in between */

struct perf_thread {
    struct perf_thread *next;
    uint32_t pid, tid, opened;
    uint64_t opened_ns;
    int fds[]; /* one for each bit in opened */
};

static struct perf_thread **chain_of(struct perf_counts *counts, uint32_t tid)
{
    return &counts->chains[tid & (CHAINS - 1)];
}

/* A path of a socket has room for 107 bytes only. */
static enum err choose_path(struct perf_counts *counts, const char *dir)
{
    char beside[PATH_MAX];
    int size = snprintf(beside, sizeof beside, "%s/" SPOOL_PERF_NAME "%d", dir, (int)getpid());
    if (size > 0 && (size_t)size < sizeof counts->path) {
        memcpy(counts->path, beside, (size_t)size + 1);
        return OK;
    }
    snprintf(counts->dir, sizeof counts->dir, SPOOL_PERF_FOLDER);
    if (!mkdtemp(counts->dir)) {
        counts->dir[0] = '\0';
        return err_from_errno(errno);
    }
    snprintf(counts->path, sizeof counts->path, "%.80s/s", counts->dir);
    if ((size_t)size < sizeof beside && symlink(counts->path, beside) == 0)
        memcpy(counts->link, beside, (size_t)size + 1);
    return OK;
}

static enum err make_socket(struct perf_counts *counts)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    memcpy(address.sun_path, counts->path, sizeof address.sun_path);
    counts->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (counts->fd < 0 || bind(counts->fd, (struct sockaddr *)&address, sizeof address) != 0
        || chmod(counts->path, 0600) != 0 || listen(counts->fd, BACKLOG) != 0)
        return err_from_errno(errno);
    return OK;
}

enum err perf_counts_open(struct perf_counts *counts, const char *dir, size_t event_count, struct writer *writer)
{
    *counts = (struct perf_counts){ .fd = -1, .event_count = event_count, .writer = writer };
    counts->chains = calloc(CHAINS, sizeof *counts->chains);
    enum err err = counts->chains ? choose_path(counts, dir) : NOMEM;
    if (!err)
        err = make_socket(counts);
    if (err)
        perf_counts_close(counts);
    return err;
}

/* One descriptor's value and times as three numbers behind "known". */
static void pack_count(struct packer *p, int fd)
{
    uint64_t value[3]; /* count, enabled, running */
    bool known = fd >= 0 && read(fd, value, sizeof value) == (ssize_t)sizeof value;
    pack_number(p, known);
    for (int i = 0; i < 3; i++)
        pack_number(p, known ? value[i] : 0);
}

static void record_counts(struct perf_counts *counts, const struct perf_thread *thread)
{
    uint8_t room[(4 * PROCESS_EVENTS_MAX + 1) * PACK_NUMBER_MAX];
    struct packer p = { room, room + sizeof room, false };
    size_t next = 0;
    for (size_t i = 0; i < counts->event_count; i++)
        pack_count(&p, thread->opened >> i & 1 ? thread->fds[next++] : -1);
    writer_add_perf(counts->writer, &(struct perf_record){
        .pid = thread->pid,
        .tid = thread->tid,
        .time_ns = clock_realtime_ns(),
        .counts = { (char *)room, (size_t)(p.at - room) },
        .opened_ns = thread->opened_ns,
    });
}

/* Takes it off its chain, where *link points to it. */
static void finish_thread(struct perf_counts *counts, struct perf_thread **link)
{
    struct perf_thread *thread = *link;
    record_counts(counts, thread);
    for (int i = 0; i < __builtin_popcount(thread->opened); i++)
        close(thread->fds[i]);
    *link = thread->next;
    counts->thread_count--;
    free(thread);
}

void perf_counts_end_thread(struct perf_counts *counts, uint32_t tid)
{
    if (counts->fd < 0)
        return;
    for (struct perf_thread **link = chain_of(counts, tid); *link; link = &(*link)->next)
        if ((*link)->tid == tid) {
            finish_thread(counts, link);
            return;
        }
}

static void each_thread(struct perf_counts *counts, bool (*finished)(const struct perf_thread *thread))
{
    for (size_t i = 0; i < CHAINS && counts->thread_count; i++)
        for (struct perf_thread **link = &counts->chains[i]; *link;)
            if (finished(*link))
                finish_thread(counts, link);
            else
                link = &(*link)->next;
}

static bool is_gone(const struct perf_thread *thread)
{
    return syscall(SYS_tgkill, thread->pid, thread->tid, 0) != 0 && errno == ESRCH;
}

static bool always(const struct perf_thread *thread)
{
    (void)thread;
    return true;
}

void perf_counts_sweep(struct perf_counts *counts)
{
    if (counts->fd >= 0)
        each_thread(counts, is_gone);
}

static void keep(struct perf_counts *counts, const struct probe_perf_message *message, const int *fds, size_t count)
{
    struct perf_thread *thread = malloc(sizeof *thread + count * sizeof *fds);
    if (!thread) {
        counts->lost++;
        for (size_t i = 0; i < count; i++)
            close(fds[i]);
        return;
    }
    perf_counts_end_thread(counts, message->tid);
    struct perf_thread **chain = chain_of(counts, message->tid);
    *thread = (struct perf_thread){ *chain, message->pid, message->tid, message->opened, clock_realtime_ns() };
    memcpy(thread->fds, fds, count * sizeof *fds);
    *chain = thread;
    counts->thread_count++;
}

/* Descriptors of a message that came (of one that did not, the head says nothing); closes them when they are not those that
 * it announces. */
static bool take_descriptors(const struct msghdr *head, const struct probe_perf_message *message, ssize_t size, int *fds,
                             size_t *count)
{
    *count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(head); part; part = CMSG_NXTHDR((struct msghdr *)head, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        *count = (part->cmsg_len - CMSG_LEN(0)) / sizeof *fds;
        memcpy(fds, CMSG_DATA(part), *count * sizeof *fds);
    }
    bool whole = size == (ssize_t)sizeof *message && !(head->msg_flags & (MSG_CTRUNC | MSG_TRUNC))
                 && *count == (size_t)__builtin_popcount(message->opened);
    for (size_t i = 0; i < *count && !whole; i++)
        close(fds[i]);
    return whole;
}

static bool receive_one(struct perf_counts *counts)
{
    struct probe_perf_message message = { 0 };
    char control[CMSG_SPACE(PROCESS_EVENTS_MAX * sizeof(int))] __attribute__((aligned(8)));
    int fds[PROCESS_EVENTS_MAX];
    size_t count;
    struct iovec part = { &message, sizeof message };
    struct msghdr head = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control,
    };
    int connection = accept4(counts->fd, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0)
        return errno == EINTR || errno == ECONNABORTED;
    const struct timeval patience = { .tv_usec = SENDER_WAIT_US };
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ssize_t size = recvmsg(connection, &head, MSG_CMSG_CLOEXEC);
    close(connection);
    if (size >= 0 && take_descriptors(&head, &message, size, fds, &count))
        keep(counts, &message, fds, count);
    else
        counts->lost++;
    return true;
}

void perf_counts_receive(struct perf_counts *counts)
{
    while (counts->fd >= 0 && receive_one(counts))
        continue;
}

void perf_counts_close(struct perf_counts *counts)
{
    if (counts->fd >= 0) {
        perf_counts_receive(counts);
        each_thread(counts, always);
        close(counts->fd);
        unlink(counts->path);
    }
    if (counts->dir[0])
        rmdir(counts->dir);
    if (counts->link[0])
        unlink(counts->link);
    free(counts->chains);
    *counts = (struct perf_counts){ .fd = -1, .lost = counts->lost };
}

void perf_counts_describe(const struct perf_event_spec *specs, size_t count, struct buf *text)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(text, "%s%x:%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%x", i ? ";" : "", specs[i].type, specs[i].config,
                   specs[i].config1, specs[i].config2, specs[i].exclude);
}
