/* The event loop of sonde run, and the end of a run. */
#include "run/monitor.h"

#include "base/clock.h"
#include "model/rusage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS_MAX 16
#define SWEEP_MS 100      /* interval of the search for ended threads with perf events, if their end is not reported */
#define SETTLE_MS 10      /* how long perf events of an image may overlap with those of the next */
#define STRAGGLERS_MS 10  /* how long to wait for other processes to end after the command */
#define LAST_EXITS_MS 20  /* how long the last exit events may be delayed */

enum monitor_source { SOURCE_SIGNALS, SOURCE_EXECS, SOURCE_KERNEL, SOURCE_PERF, SOURCE_TICKS, SOURCE_OTHER };

static enum err add_source(const struct monitor *monitor, int fd, enum monitor_source source)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };
    if (fd < 0) /* unavailable */
        return OK;
    return epoll_ctl(monitor->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? OK : err_from_errno(errno);
}

enum err monitor_open(struct monitor *monitor)
{
    monitor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (monitor->epoll_fd < 0)
        return err_from_errno(errno);
    enum err err = add_source(monitor, monitor->signals.fd, SOURCE_SIGNALS);
    if (!err)
        err = add_source(monitor, monitor->signals.sentinel.fd, SOURCE_SIGNALS);
    if (!err)
        err = add_source(monitor, monitor->events.execs.fd, SOURCE_EXECS);
    monitor->execs_wake = true;
    if (!err)
        err = add_source(monitor, monitor->events.unprobed.notices_fd, SOURCE_KERNEL);
    if (!err)
        err = add_source(monitor, monitor->events.forks.fd, SOURCE_KERNEL);
    if (!err)
        err = add_source(monitor, monitor->events.exits.fd, SOURCE_KERNEL);
    monitor->forks_wake = true;
    if (!err)
        err = add_source(monitor, monitor->perf.fd, SOURCE_PERF);
    if (!err)
        err = add_source(monitor, monitor->ticks.fd, SOURCE_TICKS);
    return err;
}

enum err monitor_add_fd(struct monitor *monitor, int fd)
{
    return add_source(monitor, fd, SOURCE_OTHER);
}

void monitor_close(struct monitor *monitor)
{
    ticks_close(&monitor->ticks);
    perf_counts_close(&monitor->perf);
    proc_events_close(&monitor->events);
    signals_close(&monitor->signals);
    spool_writer_close(&monitor->writer);
    if (monitor->epoll_fd >= 0)
        close(monitor->epoll_fd);
    monitor->epoll_fd = -1;
}

static void on_ended(struct monitor *monitor, pid_t pid, int status, const struct rusage *usage)
{
    struct wait_record record = {
        .waiter = (uint64_t)getpid(), .pid = (uint64_t)pid, .time_ns = clock_realtime_ns(), .status = (uint32_t)status,
    };
    rusage_set(&record.usage, usage);
    spool_writer_add_wait(&monitor->writer, &record);
    if (pid != monitor->command)
        return;
    monitor->command_ended = true;
    monitor->status = status;
    monitor->signals.command = 0;
}

/* Reaps the command, and orphans of the job, since we are their subreaper. */
void monitor_reap(struct monitor *monitor)
{
    int status;
    struct rusage usage;
    pid_t pid;
    monitor->signals.child = false;
    while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0) {
        if (!WIFSTOPPED(status))
            on_ended(monitor, pid, status, &usage);
        else if (pid == monitor->command)
            monitor->stopped_by = WSTOPSIG(status);
    }
    monitor->has_children = pid == 0;
}

static bool is_over(const struct monitor *monitor)
{
    return monitor->command_ended && (!monitor->wait_all || !monitor->has_children || monitor->signals.quit);
}

/* Without the proc connector, the end of a thread is not reported. */
static bool must_sweep(const struct monitor *monitor)
{
    return monitor->events.forks.fd < 0 && monitor->perf.thread_count;
}

static int shorter_ms(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static int allowed_ms(const struct monitor *monitor, int timeout_ms)
{
    timeout_ms = shorter_ms(timeout_ms, signals_timeout_ms(&monitor->signals));
    timeout_ms = shorter_ms(timeout_ms, proc_events_timeout_ms(&monitor->events));
    timeout_ms = monitor->perf.pending ? shorter_ms(timeout_ms, SETTLE_MS) : timeout_ms;
    return must_sweep(monitor) ? shorter_ms(timeout_ms, SWEEP_MS) : timeout_ms;
}

/* Removed instead of disabled: the kernel would still call epoll for each message, at the expense of the process
 * that starts or ends. Returns whether it wakes us now. */
static bool choose_source(const struct monitor *monitor, int fd, enum monitor_source source, bool wakes)
{
    if (wakes)
        return add_source(monitor, fd, source) == OK;
    if (fd >= 0)
        epoll_ctl(monitor->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    return false;
}

static void choose_sources(struct monitor *monitor)
{
    bool execs_wake = proc_events_wants_execs(&monitor->events), forks_wake = proc_events_wants_forks(&monitor->events);
    if (execs_wake != monitor->execs_wake)
        monitor->execs_wake = choose_source(monitor, monitor->events.execs.fd, SOURCE_EXECS, execs_wake);
    if (forks_wake != monitor->forks_wake) {
        monitor->forks_wake = choose_source(monitor, monitor->events.forks.fd, SOURCE_KERNEL, forks_wake);
        choose_source(monitor, monitor->events.exits.fd, SOURCE_KERNEL, forks_wake);
    }
}

/* Perf descriptors before the events that end their threads. Events before signals, since they identify the senders,
 * and before reaping, which removes /proc/PID. */
static void wake_up(struct monitor *monitor, unsigned sources)
{
    if (sources == 1u << SOURCE_EXECS && monitor->perf.fd < 0 && proc_events_read_execs(&monitor->events)) {
        choose_sources(monitor);
        return; /* the writer is flushed by the next full reading */
    }
    if (monitor->perf.fd >= 0)
        perf_counts_receive(&monitor->perf);
    proc_events_read(&monitor->events);
    choose_sources(monitor);
    if (must_sweep(monitor))
        perf_counts_sweep(&monitor->perf);
    perf_counts_settle(&monitor->perf);
    if (sources & (1u << SOURCE_TICKS))
        ticks_read(&monitor->ticks);
    if (sources & (1u << SOURCE_SIGNALS) || monitor->signals.waiting_count)
        signals_read(&monitor->signals);
    if (monitor->signals.child)
        monitor_reap(monitor);
    spool_writer_flush(&monitor->writer);
}

void monitor_once(struct monitor *monitor, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    unsigned sources = 0;
    int count = epoll_wait(monitor->epoll_fd, events, EVENTS_MAX, allowed_ms(monitor, timeout_ms));
    for (int i = 0; i < count; i++)
        sources |= 1u << events[i].data.u32;
    wake_up(monitor, sources);
}

void monitor_until_end(struct monitor *monitor)
{
    monitor_reap(monitor);
    while (!is_over(monitor)) {
        monitor_once(monitor, -1);
        if (monitor->stopped_by) {
            signals_stop_like(&monitor->signals, monitor->stopped_by);
            monitor->stopped_by = 0;
        }
    }
}

/* A process may be reaped a moment before the connector reports its exit: wait for the last one. */
static void await_last_exits(struct monitor *monitor)
{
    uint64_t until_ns = clock_monotonic_ns() + LAST_EXITS_MS * NS_PER_MS;
    proc_events_read(&monitor->events);
    while (monitor->events.forks.fd >= 0 && monitor->events.members.alive && clock_monotonic_ns() < until_ns) {
        struct pollfd polled = { .fd = monitor->events.forks.fd, .events = POLLIN };
        poll(&polled, 1, 1);
        proc_events_read(&monitor->events);
    }
}

static uint64_t read_lost(const struct monitor *monitor)
{
    uint64_t lost = 0;
    int fd = open(monitor->spool.lost, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (read(fd, &lost, sizeof lost) != (ssize_t)sizeof lost)
        lost = 0;
    close(fd);
    return lost;
}

/* The usage since `before`; peak memory is known only if it has grown since. */
static void usage_since(const struct rusage *usage, const struct rusage *before, struct counters *counters)
{
    struct counters earlier = { 0 };
    rusage_set(counters, usage);
    rusage_set(&earlier, before);
    counters_subtract(counters, &earlier);
    if (before->ru_maxrss && before->ru_maxrss >= usage->ru_maxrss)
        counters->known &= ~(1ull << COUNTER_rssmax);
}

void monitor_record_end(struct monitor *monitor, bool with_total)
{
    struct run_end_record record = {
        .time_ns = clock_realtime_ns(),
        .status_known = 1,
        .status = (uint32_t)monitor->status,
        .records_lost = read_lost(monitor) + monitor->writer.lost,
        .events_lost = proc_events_lost(&monitor->events) + monitor->perf.lost,
        .ticks_late = monitor->ticks.late,
    };
    struct rusage usage;
    if (with_total && getrusage(RUSAGE_CHILDREN, &usage) == 0)
        usage_since(&usage, &monitor->children_before, &record.total);
    spool_writer_add_run_end(&monitor->writer, &record);
    spool_writer_flush(&monitor->writer);
}

/* Processes that end together with the command are not reported as still running. */
static void await_stragglers(struct monitor *monitor)
{
    uint64_t until_ns = clock_monotonic_ns() + STRAGGLERS_MS * NS_PER_MS, now_ns;
    while (monitor->has_children && !monitor->signals.quit && (now_ns = clock_monotonic_ns()) < until_ns)
        monitor_once(monitor, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
}

uint32_t monitor_finish(struct monitor *monitor)
{
    uint32_t alive = 0;
    if (monitor->writer.fd == SPOOL_WRITER_NONE)
        return 0;
    await_stragglers(monitor);
    if (!monitor->has_children) {
        await_last_exits(monitor);
    } else {
        proc_events_read(&monitor->events);
        proc_events_resync(&monitor->events, false);
        alive = proc_events_record_survivors(&monitor->events);
    }
    perf_counts_receive(&monitor->perf);
    perf_counts_sweep(&monitor->perf);
    ticks_sample_last(&monitor->ticks);
    monitor_record_end(monitor, true);
    return alive;
}
