/* Receives, keeps and reads the perf descriptors of threads. */
#include "run/perf_counts.h"

#include "base/clock.h"
#include "model/process.h"
#include "spool/probe_env.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHAINS 4096 /* a power of two */
#define BACKLOG 4096
#define SENDER_WAIT_US 500000 /* for a sender that has connected but not sent yet: it may be preempted */

/* What a thread opened at one time. */
struct perf_stage {
    struct perf_stage *before;
    uint32_t opened;
    enum probe_perf_since since;
    uint64_t time_ns;
    int fds[]; /* one for each bit in opened */
};

struct perf_thread {
    struct perf_thread *next;
    uint32_t pid, tid;
    struct perf_stage *last;
};

struct perf_count {
    bool known;
    uint64_t value, enabled_ns, running_ns;
};

static struct perf_thread **chain_of(struct perf_counts *counts, uint32_t tid)
{
    return &counts->chains[tid & (CHAINS - 1)];
}

/* A socket path has at most 107 bytes. */
static enum err choose_path(struct perf_counts *counts, const char *dir)
{
    char beside[PATH_MAX];
    int size = snprintf(beside, sizeof beside, "%s/" SPOOL_PERF_NAME "%d", dir, (int)getpid());
    if (size > 0 && (size_t)size < sizeof counts->path) {
        memcpy(counts->path, beside, (size_t)size + 1);
        return OK;
    }
    snprintf(counts->dir, sizeof counts->dir, SPOOL_PERF_DIR);
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

enum err perf_counts_open(struct perf_counts *counts, const char *dir, size_t event_count, struct spool_writer *writer)
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

static struct perf_count read_count(int fd)
{
    uint64_t value[3]; /* count, enabled, running */
    if (fd < 0 || read(fd, value, sizeof value) != (ssize_t)sizeof value)
        return (struct perf_count){ 0 };
    return (struct perf_count){ true, value[0], value[1], value[2] };
}

static void read_stage(const struct perf_counts *counts, const struct perf_stage *stage, struct perf_count *all)
{
    size_t next = 0;
    for (size_t i = 0; i < counts->event_count; i++)
        all[i] = read_count(stage->opened >> i & 1 ? stage->fds[next++] : -1);
}

/* Events that start at an exec which has not happened yet are not counting. */
static bool has_begun(const struct perf_stage *stage)
{
    return stage->since != PROBE_PERF_EXEC || read_count(stage->fds[0]).enabled_ns;
}

static uint64_t less(uint64_t from, uint64_t part)
{
    return from > part ? from - part : 0;
}

static bool is_shared(const struct perf_count *count)
{
    return count->running_ns < count->enabled_ns;
}

/* Scales the value as if the event had been scheduled all the time. */
static void correct(struct perf_count *count)
{
    if (is_shared(count) && count->running_ns)
        count->value = (uint64_t)((double)count->value * ((double)count->enabled_ns / (double)count->running_ns));
    count->known = count->known && (count->running_ns || !count->enabled_ns);
    count->running_ns = count->enabled_ns;
}

/* Subtracts what `later` counted too. Two multiplexed events did not count at the same moments: scale both first. */
static struct perf_count without(struct perf_count count, struct perf_count later)
{
    if (is_shared(&count) || is_shared(&later)) {
        correct(&count);
        correct(&later);
    }
    return (struct perf_count){ count.known && later.known, less(count.value, later.value),
                                less(count.enabled_ns, later.enabled_ns), less(count.running_ns, later.running_ns) };
}

static void record_counts(struct perf_counts *counts, const struct perf_thread *thread, const struct perf_stage *stage,
                          const struct perf_count *own)
{
    uint8_t packed[(4 * PROCESS_EVENTS_MAX + 1) * PACK_NUMBER_MAX];
    struct packer p = { packed, packed + sizeof packed, false };
    for (size_t i = 0; i < counts->event_count; i++) {
        pack_number(&p, own[i].known);
        pack_number(&p, own[i].known ? own[i].value : 0);
        pack_number(&p, own[i].known ? own[i].enabled_ns : 0);
        pack_number(&p, own[i].known ? own[i].running_ns : 0);
    }
    spool_writer_add_perf(counts->writer, &(struct perf_record){
        .pid = thread->pid,
        .tid = stage->since == PROBE_PERF_EXEC ? thread->pid : thread->tid, /* after exec, the thread is the main thread */
        .time_ns = clock_realtime_ns(),
        .counts = { (char *)packed, (size_t)(p.at - packed) },
        .opened_ns = stage->time_ns,
        .since = stage->since,
    });
}

static bool is_stray(const struct perf_thread *thread, const struct perf_stage *stage)
{
    return stage->since == PROBE_PERF_EXEC && thread->tid != thread->pid;
}

/* Disabled first: closing a counting event of a running thread can make its other events lose some ms (seen with
 * Linux 6.18). */
static void close_event(int fd)
{
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    close(fd);
}

/* Removes the last stage. */
static void drop_stage(struct perf_counts *counts, struct perf_thread *thread)
{
    struct perf_stage *stage = thread->last;
    counts->strays -= is_stray(thread, stage);
    for (int i = 0; i < __builtin_popcount(stage->opened); i++)
        close_event(stage->fds[i]);
    thread->last = stage->before;
    counts->pending -= thread->last != NULL;
    free(stage);
}

/* Records and removes all stages. later: the counts of the stage that started after them, if has_later. */
static void record_stages(struct perf_counts *counts, struct perf_thread *thread, struct perf_count *later, bool has_later)
{
    while (thread->last) {
        struct perf_count all[PROCESS_EVENTS_MAX], own[PROCESS_EVENTS_MAX];
        bool begun = has_begun(thread->last);
        if (begun)
            read_stage(counts, thread->last, all);
        for (size_t i = 0; i < counts->event_count && begun; i++) {
            own[i] = has_later ? without(all[i], later[i]) : all[i];
            later[i] = all[i];
        }
        if (begun)
            record_counts(counts, thread, thread->last, own);
        has_later = has_later || begun;
        drop_stage(counts, thread);
    }
}

/* Removes it from its chain, where *link points to it. */
static void finish_thread(struct perf_counts *counts, struct perf_thread **link)
{
    struct perf_thread *thread = *link;
    struct perf_count later[PROCESS_EVENTS_MAX];
    record_stages(counts, thread, later, false);
    *link = thread->next;
    counts->thread_count--;
    free(thread);
}

static struct perf_thread **find_thread(struct perf_counts *counts, uint32_t tid)
{
    struct perf_thread **link = chain_of(counts, tid);
    while (*link && (*link)->tid != tid)
        link = &(*link)->next;
    return link;
}

static void finish_tid(struct perf_counts *counts, uint32_t tid)
{
    struct perf_thread **link = find_thread(counts, tid);
    if (*link)
        finish_thread(counts, link);
}

/* The thread of this process, other than the main one, that has called exec. */
static struct perf_thread **find_stray(struct perf_counts *counts, uint32_t pid)
{
    for (size_t i = 0; i < CHAINS && counts->strays; i++)
        for (struct perf_thread **link = &counts->chains[i]; *link; link = &(*link)->next)
            if ((*link)->pid == pid && is_stray(*link, (*link)->last) && has_begun((*link)->last))
                return link;
    return NULL;
}

/* A thread that execs takes the tid of the main thread, which is gone. */
static void rename_stray(struct perf_counts *counts, uint32_t pid)
{
    struct perf_thread **link = find_stray(counts, pid), **chain = chain_of(counts, pid);
    struct perf_thread *thread = link ? *link : NULL;
    if (!thread)
        return;
    struct perf_count later[PROCESS_EVENTS_MAX];
    struct perf_stage *last = thread->last;
    read_stage(counts, last, later);
    thread->last = last->before; /* what it opened under its old tid is recorded under that */
    counts->pending -= thread->last != NULL;
    record_stages(counts, thread, later, true);
    last->before = NULL;
    thread->last = last;
    counts->strays--;
    *link = thread->next;
    finish_tid(counts, pid);
    thread->tid = pid;
    thread->next = *chain;
    *chain = thread;
}

void perf_counts_end_thread(struct perf_counts *counts, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    if (counts->fd < 0)
        return;
    if (pid == tid && counts->strays && !*find_thread(counts, tid))
        rename_stray(counts, pid);
    struct perf_thread **link = find_thread(counts, tid);
    if (*link && (*link)->last->time_ns <= time_ns)
        finish_thread(counts, link);
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
    uint32_t tid = is_stray(thread, thread->last) && has_begun(thread->last) ? thread->pid : thread->tid;
    return syscall(SYS_tgkill, thread->pid, tid, 0) != 0 && errno == ESRCH;
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

static void settle_thread(struct perf_counts *counts, struct perf_thread *thread)
{
    struct perf_count later[PROCESS_EVENTS_MAX];
    struct perf_stage *last = thread->last;
    if (!last->before || !has_begun(last))
        return;
    read_stage(counts, last, later);
    thread->last = last->before;
    counts->pending--;
    record_stages(counts, thread, later, true);
    last->before = NULL;
    thread->last = last;
}

void perf_counts_settle(struct perf_counts *counts)
{
    for (size_t i = 0; i < CHAINS && counts->pending; i++)
        for (struct perf_thread *thread = counts->chains[i]; thread; thread = thread->next)
            settle_thread(counts, thread);
}

static void forget_failed(struct perf_counts *counts, uint32_t tid)
{
    struct perf_thread **link = find_thread(counts, tid);
    if (!*link || has_begun((*link)->last))
        return;
    drop_stage(counts, *link);
    if (!(*link)->last)
        finish_thread(counts, link);
}

/* The thread that sent the message: a new one, unless it may have called exec. */
static struct perf_thread *sender_of(struct perf_counts *counts, const struct probe_perf_message *message)
{
    if (message->pid == message->tid && counts->strays)
        rename_stray(counts, message->pid);
    struct perf_thread **link = find_thread(counts, message->tid);
    if (*link && ((*link)->pid != message->pid || message->since == PROBE_PERF_BIRTH)) {
        finish_thread(counts, link);
        link = find_thread(counts, message->tid);
    }
    if (*link)
        return *link;
    struct perf_thread **chain = chain_of(counts, message->tid), *thread = malloc(sizeof *thread);
    if (!thread)
        return NULL;
    *thread = (struct perf_thread){ *chain, message->pid, message->tid, NULL };
    *chain = thread;
    counts->thread_count++;
    return thread;
}

static void add_stage(struct perf_counts *counts, const struct probe_perf_message *message, const int *fds, size_t count)
{
    struct perf_stage *stage = malloc(sizeof *stage + count * sizeof *fds);
    struct perf_thread *thread = stage ? sender_of(counts, message) : NULL;
    if (!thread) {
        counts->lost++;
        for (size_t i = 0; i < count; i++)
            close(fds[i]);
        free(stage);
        return;
    }
    counts->pending += thread->last != NULL;
    *stage = (struct perf_stage){ thread->last, message->opened, (enum probe_perf_since)message->since, message->time_ns };
    memcpy(stage->fds, fds, count * sizeof *fds);
    thread->last = stage;
    counts->strays += is_stray(thread, stage);
}

/* The descriptors of a received message; closes them if they are not those that it announces. */
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
                 && *count == (size_t)__builtin_popcount(message->opened) && message->since <= PROBE_PERF_FAILED
                 && (message->since == PROBE_PERF_FAILED) == !*count;
    for (size_t i = 0; i < *count && !whole; i++)
        close(fds[i]);
    return whole;
}

static void take_message(struct perf_counts *counts, const struct probe_perf_message *message, const int *fds, size_t count)
{
    if (message->since == PROBE_PERF_FAILED)
        forget_failed(counts, message->tid);
    else
        add_stage(counts, message, fds, count);
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
        take_message(counts, &message, fds, count);
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
