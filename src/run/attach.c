/* Runs sonde attach: checks the target, creates the spool, starts the tracer or the kernel counters, samples them
 * until the end. */
#include "run/attach.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "run/attach_events.h"
#include "run/attach_record.h"
#include "run/attach_segment.h"
#include "run/attach_syscalls.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define CHECK_NS (200 * NS_PER_MS)
#define CLEAR_LINE "\r\033[K"

struct attach {
    const struct attach_settings *settings;
    struct attach_target target;
    struct attach_syscalls calls;
    struct attach_record record;
    struct attach_tree tree;
    struct attach_events events;
    bool publishes, rights_logged;
    struct batch batch;           /* last samples */
    struct syscall_counts counts; /* the same */
    int signal_fd;
    uint64_t start_ns, last_ns, last_calls; /* CLOCK_MONOTONIC; at the last progress line */
};

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void log_way(const struct attach_syscalls *calls, const char *error)
{
    const struct tracer_cost *cost = calls->way == SYSCALL_WAY_PTRACE ? &calls->tracer.page->cost : NULL;
    if (!cost)
        log_info("counting in the kernel; the program is unaffected");
    else if (cost->traced_ns > cost->bare_ns)
        log_warn("ptrace is slow: while attached, each system call of the program takes about %s longer (measured on this "
                 "node; normally the shortest takes %s)", format_duration(cost->traced_ns - cost->bare_ns).s,
                 format_duration(cost->bare_ns).s);
    else
        log_warn("ptrace is slow: while attached, each system call of the program takes several microseconds longer");
    if (cost && error[0])
        log_info("using ptrace, because counting in the kernel is not possible: %s", error);
}

static void read_calls(struct attach *attach)
{
    batch_reset(&attach->batch);
    attach_syscalls_read(&attach->calls, &attach->batch);
    attach_syscalls_gather(&attach->batch, attach->settings->timed, &attach->counts);
    if (!attach->publishes)
        return;
    attach->publishes = attach_target_lacks_calls_probe(&attach->tree.pids);
    if (attach->publishes)
        attach_segment_update(&attach->counts);
}

/* The kernel counts threads, and lists a process by its main thread, which may have ended. Put it before the
 * processes that name it as their parent. */
static void add_leaderless(struct attach *attach)
{
    struct pidlist *pids = &attach->tree.pids;
    struct attach_target now;
    if (!attach->target.is_leaderless || attach_target_read(attach->target.pid, &now) != OK || !now.is_leaderless ||
        pidlist_add(pids, (uint32_t)now.pid) != OK)
        return;
    pids->ids[pids->count - 1] = pids->ids[0];
    pids->ids[0] = (uint32_t)now.pid;
}

/* Lists the processes, unless a tracer does; also for --tell, since each of them might have the probe loaded. */
static const struct pidlist *list_processes(struct attach *attach)
{
    attach_events_read(&attach->events);
    bool is_kernel = attach->calls.way == SYSCALL_WAY_KERNEL;
    if (is_kernel) {
        attach_syscalls_list(&attach->calls, &attach->tree.pids);
        add_leaderless(attach);
    } else if (attach->publishes) {
        attach_tree_refresh(&attach->tree, attach->target.pid);
    }
    return is_kernel ? &attach->tree.pids : NULL;
}

static void show_progress(struct attach *attach, uint64_t now_ns)
{
    uint64_t calls = syscall_counts_calls(&attach->counts), elapsed_ns = now_ns - attach->last_ns;
    if (!attach->settings->shows_progress || !elapsed_ns)
        return;
    fprintf(stderr, CLEAR_LINE "%s: %s, %zu threads, %s calls, %s per second; Ctrl-C detaches",
            log_name(), format_duration((now_ns - attach->start_ns) / NS_PER_S * NS_PER_S).s,
            attach_syscalls_alive(&attach->calls),
            format_count(calls).s,
            format_count((uint64_t)((double)(calls - attach->last_calls) * NS_PER_S / (double)elapsed_ns)).s);
    attach->last_ns = now_ns;
    attach->last_calls = calls;
}

/* The kernel grants no privileges on exec if the tracer has none. */
static void log_privileges(struct attach *attach)
{
    const struct tracer_page *page = attach->calls.way == SYSCALL_WAY_PTRACE ? attach->calls.tracer.page : NULL;
    if (attach->rights_logged || !page || !atomic_load_explicit(&page->privileges.is_known, memory_order_acquire))
        return;
    attach->rights_logged = true;
    log_warn("%s ran without its privileges (set-uid, set-gid or capabilities): the kernel grants none to programs traced by a "
             "user. Attach as root if it needs them", page->privileges.path);
}

static void tick(struct attach *attach)
{
    log_privileges(attach);
    const struct pidlist *pids = list_processes(attach);
    read_calls(attach);
    attach_record_tick(&attach->record, &attach->batch, pids);
    show_progress(attach, clock_monotonic_ns());
}

static int until_ms(uint64_t now_ns, uint64_t then_ns)
{
    return then_ns <= now_ns ? 0 : (int)((then_ns - now_ns) / NS_PER_MS % 3600000) + 1;
}

/* A process that has ended may have left others, of whose end we get no notification. Events must be read before the
 * socket is full. */
static uint64_t next_check_ns(const struct attach *attach, uint64_t now_ns, uint64_t then_ns)
{
    int events_ms = attach_events_timeout_ms(&attach->events);
    uint64_t max_ns = attach->calls.is_orphaned ? CHECK_NS : UINT64_MAX - now_ns;
    if (events_ms >= 0)
        max_ns = (uint64_t)events_ms * NS_PER_MS;
    return then_ns > now_ns + max_ns ? now_ns + max_ns : then_ns;
}

/* Until the process and all its descendants have ended, the time is up, or a signal arrives. */
static void monitor(struct attach *attach, struct attach_result *result)
{
    const struct attach_settings *settings = attach->settings;
    struct pollfd polled[] = { { .fd = attach->calls.end_fd, .events = POLLIN }, { .fd = attach->signal_fd, .events = POLLIN },
                               { .events = POLLIN } };
    uint64_t now_ns = attach->start_ns, tick_ns = now_ns + settings->period_ns;
    uint64_t end_ns = settings->duration_ns ? now_ns + settings->duration_ns : UINT64_MAX;
    while (now_ns < end_ns) {
        polled[2].fd = attach_events_fd(&attach->events);
        int count = poll(polled, 3, until_ms(now_ns, next_check_ns(attach, now_ns, tick_ns < end_ns ? tick_ns : end_ns)));
        if (count < 0 && errno != EINTR)
            break;
        attach_events_read(&attach->events);
        bool may_be_over = attach->calls.is_orphaned || (count > 0 && polled[0].revents);
        result->ended = may_be_over && attach_syscalls_are_over(&attach->calls);
        if (result->ended || (count > 0 && polled[1].revents))
            break;
        if (attach->calls.is_orphaned)
            polled[0].fd = -1;
        now_ns = clock_monotonic_ns();
        if (now_ns >= tick_ns) {
            tick(attach);
            tick_ns += (now_ns - tick_ns) / settings->period_ns * settings->period_ns + settings->period_ns;
        }
    }
}

/* How the process ended, if it has and if that is known. */
static bool read_status(struct attach *attach, int *status)
{
    uint32_t end = attach->calls.way == SYSCALL_WAY_PTRACE ? attach->calls.tracer.page->end : 0;
    *status = (int)(end & ~TRACER_ENDED);
    if (attach->calls.way != SYSCALL_WAY_PTRACE && attach->record.processes.reader)
        return attach_processes_status(&attach->record.processes, attach->target.pid, attach->calls.end_fd, status);
    return end & TRACER_ENDED;
}

static void finish(struct attach *attach, struct attach_result *result)
{
    const struct pidlist *pids = list_processes(attach); /* before counting stops: afterwards the list is lost */
    if (pids && !result->ended)
        attach_pending_read(&attach->tree, &result->pending);
    attach_syscalls_stop(&attach->calls);
    if (!pids)
        memcpy(result->pending.threads, attach->calls.tracer.page->pending, sizeof result->pending.threads);
    if (attach->settings->shows_progress)
        fputs(CLEAR_LINE, stderr);
    log_privileges(attach);
    result->monitored_ns = clock_monotonic_ns() - attach->start_ns;
    read_calls(attach);
    result->counts = attach->counts;
    attach_segment_end();
    result->has_status = read_status(attach, &result->status);
    attach_record_tick(&attach->record, &attach->batch, pids);
    result->recorded = attach_record_end(&attach->record, result->has_status ? &result->status : NULL, result->spool,
                                         sizeof result->spool);
}

/* Counting has started: nothing can fail from here on. */
static void run_attached(struct attach *attach, struct attach_result *result)
{
    batch_init(&attach->batch);
    bool is_kernel = attach->calls.way == SYSCALL_WAY_KERNEL;
    attach_events_open(&attach->events, is_kernel ? attach_record_processes(&attach->record) : NULL);
    attach_record_started(&attach->record, attach->calls.way, list_processes(attach));
    attach->start_ns = attach->last_ns = clock_monotonic_ns();
    monitor(attach, result);
    finish(attach, result);
    attach_events_close(&attach->events);
    batch_clear(&attach->batch);
    attach_syscalls_close(&attach->calls);
}

static enum err start_counting(struct attach *attach, char *ptrace_reason, size_t reason_size)
{
    const struct attach_settings *settings = attach->settings;
    attach->signal_fd = open_signals();
    enum err err = attach_tree_open(&attach->tree);
    if (err)
        return err;
    attach_record_begin(&attach->record, settings, &attach->target);
    err = attach_syscalls_open(&attach->calls, &(struct attach_syscalls_settings){
        .pid = attach->target.pid, .timed = settings->timed, .wants_ptrace = settings->wants_ptrace, .tree = &attach->tree,
        .processes = attach_record_tracer_listener(&attach->record) }, ptrace_reason, reason_size);
    if (err)
        attach_record_drop(&attach->record);
    if (!err && settings->publishes) {
        attach->publishes = true;
        attach_segment_begin(&attach->target);
    }
    return err;
}

enum err attach_run(const struct attach_settings *settings, struct attach_result *result, struct buf *error)
{
    struct attach attach = { .settings = settings, .signal_fd = -1, .tree.proc_fd = -1 };
    char ptrace_reason[512] = "";
    *result = (struct attach_result){ 0 };
    enum err err = attach_target_read(settings->pid, &attach.target);
    if (!err)
        err = attach_target_check(&attach.target);
    result->pid = attach.target.pid;
    if (!err)
        err = start_counting(&attach, ptrace_reason, sizeof ptrace_reason);
    if (err) {
        attach_target_explain(&attach.target, err, error);
    } else {
        log_way(&attach.calls, ptrace_reason);
        if (settings->ready_fd && write(settings->ready_fd, "r", 1) < 0)
            log_info("cannot report that counting has begun");
        run_attached(&attach, result);
    }
    attach_tree_close(&attach.tree);
    if (attach.signal_fd >= 0)
        close(attach.signal_fd);
    return err;
}
