/* The loop, and its end. */
#include "run/monitor.h"

#include "base/clock.h"
#include "run/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS_MAX 16
#define SWEEP_MS 100      /* how often we look for ended threads with perf counts when nobody tells us */
#define SETTLE_MS 10      /* how long events of an image that exec'd may go on beside those of the next */
#define STRAGGLERS_MS 10  /* how long we wait for others to end when the command has */
#define LAST_EXITS_MS 20  /* how long the last exit events may be under way */

enum source { SOURCE_SIGNALS, SOURCE_EXECS, SOURCE_KERNEL, SOURCE_PERF, SOURCE_TICKS, SOURCE_OTHER };

static enum err add_source(const struct watch *watch, int fd, enum source source)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };
    if (fd < 0) /* not there */
        return OK;
    return epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? OK : err_from_errno(errno);
}

enum err watch_open(struct watch *watch)
{
    watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (watch->epoll_fd < 0)
        return err_from_errno(errno);
    enum err err = add_source(watch, watch->signals.fd, SOURCE_SIGNALS);
    if (!err)
        err = add_source(watch, watch->signals.witness.fd, SOURCE_SIGNALS);
    if (!err)
        err = add_source(watch, watch->kernel.execs.fd, SOURCE_EXECS);
    watch->execs_wake = true;
    if (!err)
        err = add_source(watch, watch->kernel.dark.bell_fd, SOURCE_KERNEL);
    if (!err)
        err = add_source(watch, watch->kernel.forks.fd, SOURCE_KERNEL);
    if (!err)
        err = add_source(watch, watch->kernel.exits.fd, SOURCE_KERNEL);
    watch->forks_wake = true;
    if (!err)
        err = add_source(watch, watch->perf.fd, SOURCE_PERF);
    if (!err)
        err = add_source(watch, watch->ticks.fd, SOURCE_TICKS);
    return err;
}

enum err watch_add(struct watch *watch, int fd)
{
    return add_source(watch, fd, SOURCE_OTHER);
}

void watch_close(struct watch *watch)
{
    ticks_close(&watch->ticks);
    perf_counts_close(&watch->perf);
    kernel_close(&watch->kernel);
    signals_close(&watch->signals);
    writer_close(&watch->writer);
    if (watch->epoll_fd >= 0)
        close(watch->epoll_fd);
    watch->epoll_fd = -1;
}

static void on_ended(struct watch *watch, pid_t pid, int status, const struct rusage *usage)
{
    struct wait_record record = {
        .waiter = (uint64_t)getpid(), .pid = (uint64_t)pid, .time_ns = clock_realtime_ns(), .status = (uint32_t)status,
    };
    usage_counters(usage, &record.usage);
    writer_add_wait(&watch->writer, &record);
    if (pid != watch->command)
        return;
    watch->command_ended = true;
    watch->status = status;
    watch->signals.command = 0;
}

/* Every child that has ended: the command, and orphans of the job, which come to us as their subreaper. */
void watch_reap(struct watch *watch)
{
    int status;
    struct rusage usage;
    pid_t pid;
    watch->signals.child = false;
    while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0) {
        if (!WIFSTOPPED(status))
            on_ended(watch, pid, status, &usage);
        else if (pid == watch->command)
            watch->stopped_by = WSTOPSIG(status);
    }
    watch->has_children = pid == 0;
}

static bool is_over(const struct watch *watch)
{
    return watch->command_ended && (!watch->wait_all || !watch->has_children || watch->signals.quit);
}

/* Nobody tells when a thread ends where the connector is missing. */
static bool must_sweep(const struct watch *watch)
{
    return watch->kernel.forks.fd < 0 && watch->perf.thread_count;
}

static int shorter_ms(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static int allowed_ms(const struct watch *watch, int timeout_ms)
{
    timeout_ms = shorter_ms(timeout_ms, signals_timeout_ms(&watch->signals));
    timeout_ms = shorter_ms(timeout_ms, kernel_timeout_ms(&watch->kernel));
    timeout_ms = watch->perf.pending ? shorter_ms(timeout_ms, SETTLE_MS) : timeout_ms;
    return must_sweep(watch) ? shorter_ms(timeout_ms, SWEEP_MS) : timeout_ms;
}

/* Taken out, and not left there with no events wanted: then the kernel would still call epoll at each message, at the cost of
 * the process that begins or ends. True: it wakes us now. */
static bool choose_source(const struct watch *watch, int fd, enum source source, bool wakes)
{
    if (wakes)
        return add_source(watch, fd, source) == OK;
    if (fd >= 0)
        epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    return false;
}

static void choose_sources(struct watch *watch)
{
    bool execs_wake = kernel_wants_execs(&watch->kernel), forks_wake = kernel_wants_forks(&watch->kernel);
    if (execs_wake != watch->execs_wake)
        watch->execs_wake = choose_source(watch, watch->kernel.execs.fd, SOURCE_EXECS, execs_wake);
    if (forks_wake != watch->forks_wake) {
        watch->forks_wake = choose_source(watch, watch->kernel.forks.fd, SOURCE_KERNEL, forks_wake);
        choose_source(watch, watch->kernel.exits.fd, SOURCE_KERNEL, forks_wake);
    }
}

/* Descriptors before the events that end their threads; events before the signals, whose senders they tell, and before
 * the reaping that takes /proc/PID away. */
static void wake_up(struct watch *watch, unsigned sources)
{
    if (sources == 1u << SOURCE_EXECS && watch->perf.fd < 0 && kernel_take_execs(&watch->kernel)) {
        choose_sources(watch);
        return; /* what is in the writer waits for the next full reading */
    }
    if (watch->perf.fd >= 0)
        perf_counts_receive(&watch->perf);
    kernel_read(&watch->kernel);
    choose_sources(watch);
    if (must_sweep(watch))
        perf_counts_sweep(&watch->perf);
    perf_counts_settle(&watch->perf);
    if (sources & (1u << SOURCE_TICKS))
        ticks_read(&watch->ticks);
    if (sources & (1u << SOURCE_SIGNALS) || watch->signals.waiting_count)
        signals_read(&watch->signals);
    if (watch->signals.child)
        watch_reap(watch);
    writer_flush(&watch->writer);
}

void watch_once(struct watch *watch, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    unsigned sources = 0;
    int count = epoll_wait(watch->epoll_fd, events, EVENTS_MAX, allowed_ms(watch, timeout_ms));
    for (int i = 0; i < count; i++)
        sources |= 1u << events[i].data.u32;
    wake_up(watch, sources);
}

void watch_until_end(struct watch *watch)
{
    watch_reap(watch);
    while (!is_over(watch)) {
        watch_once(watch, -1);
        if (watch->stopped_by) {
            signals_stop_like(&watch->signals, watch->stopped_by);
            watch->stopped_by = 0;
        }
    }
}

/* A process is reaped a moment before the connector tells of its exit: when there is nobody left, wait for that. */
static void await_last_exits(struct watch *watch)
{
    uint64_t until_ns = clock_monotonic_ns() + LAST_EXITS_MS * NS_PER_MS;
    kernel_read(&watch->kernel);
    while (watch->kernel.forks.fd >= 0 && watch->kernel.members.alive && clock_monotonic_ns() < until_ns) {
        struct pollfd polled = { .fd = watch->kernel.forks.fd, .events = POLLIN };
        poll(&polled, 1, 1);
        kernel_read(&watch->kernel);
    }
}

static uint64_t read_lost(const struct watch *watch)
{
    uint64_t lost = 0;
    int fd = open(watch->spool.lost, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (read(fd, &lost, sizeof lost) != (ssize_t)sizeof lost)
        lost = 0;
    close(fd);
    return lost;
}

void watch_record_end(struct watch *watch, bool with_total)
{
    struct run_end_record record = {
        .time_ns = clock_realtime_ns(),
        .status_known = 1,
        .status = (uint32_t)watch->status,
        .records_lost = read_lost(watch) + watch->writer.lost,
        .events_lost = kernel_lost(&watch->kernel) + watch->perf.lost,
        .ticks_late = watch->ticks.late,
    };
    struct rusage usage;
    if (with_total && getrusage(RUSAGE_CHILDREN, &usage) == 0)
        usage_counters_since(&usage, &watch->children_before, &record.total);
    writer_add_run_end(&watch->writer, &record);
    writer_flush(&watch->writer);
}

/* Those who end together with the command are not left behind. */
static void await_stragglers(struct watch *watch)
{
    uint64_t until_ns = clock_monotonic_ns() + STRAGGLERS_MS * NS_PER_MS, now_ns;
    while (watch->has_children && !watch->signals.quit && (now_ns = clock_monotonic_ns()) < until_ns)
        watch_once(watch, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
}

uint32_t watch_finish(struct watch *watch)
{
    uint32_t alive = 0;
    if (watch->writer.fd == WRITER_NONE)
        return 0;
    await_stragglers(watch);
    if (!watch->has_children) {
        await_last_exits(watch);
    } else {
        kernel_read(&watch->kernel);
        kernel_resync(&watch->kernel, false);
        alive = kernel_record_survivors(&watch->kernel);
    }
    perf_counts_receive(&watch->perf);
    perf_counts_sweep(&watch->perf);
    ticks_sample_last(&watch->ticks);
    watch_record_end(watch, true);
    return alive;
}
