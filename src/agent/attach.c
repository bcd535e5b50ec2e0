/* The story of an attachment: who it is, the spool, the tracer beside us, ticks, the end. */
#include "agent/attach.h"

#include "agent/attach_record.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "sample/tracer_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"

struct attach {
    const struct attach_settings *settings;
    struct attach_target target;
    struct tracer_process tracer;
    struct attach_record record;
    int signal_fd;
    uint64_t start_ns, last_ns, last_calls; /* CLOCK_MONOTONIC; of the last line of progress */
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

static void warn_of_cost(const struct tracer_cost *cost)
{
    if (cost->traced_ns > cost->bare_ns)
        log_warn("ptrace is slow: while it is watched, each system call of the program takes about %s longer (measured just "
                 "now on this machine; alone the shortest takes %s)", text_duration(cost->traced_ns - cost->bare_ns).s,
                 text_duration(cost->bare_ns).s);
    else
        log_warn("ptrace is slow: while it is watched, each system call of the program takes several microseconds longer");
}

static void show_progress(struct attach *attach, uint64_t now_ns)
{
    const struct tracer_page *page = attach->tracer.page;
    uint64_t calls = syscall_counts_calls(&page->counts), elapsed_ns = now_ns - attach->last_ns;
    if (!attach->settings->shows_progress || !elapsed_ns)
        return;
    fprintf(stderr, CLEAR_LINE "sonde: %s, %u threads, %s calls, %s per second; Ctrl-C lets go of the program",
            text_duration((now_ns - attach->start_ns) / NS_PER_S * NS_PER_S).s, (unsigned)page->alive, text_count(calls).s,
            text_count((uint64_t)((double)(calls - attach->last_calls) * NS_PER_S / (double)elapsed_ns)).s);
    attach->last_ns = now_ns;
    attach->last_calls = calls;
}

static void tick(struct attach *attach)
{
    attach_record_tick(&attach->record, &attach->tracer.page->counts);
    show_progress(attach, clock_monotonic_ns());
}

static int until_ms(uint64_t now_ns, uint64_t then_ns)
{
    return then_ns <= now_ns ? 0 : (int)((then_ns - now_ns) / NS_PER_MS % 3600000) + 1;
}

/* Until the process has ended, its time is over, or somebody has had enough. */
static void watch(struct attach *attach, struct attach_result *result)
{
    const struct attach_settings *settings = attach->settings;
    struct pollfd polled[] = { { .fd = attach->tracer.end_fd, .events = POLLIN }, { .fd = attach->signal_fd, .events = POLLIN } };
    uint64_t now_ns = attach->start_ns, tick_ns = now_ns + settings->period_ns;
    uint64_t end_ns = settings->duration_ns ? now_ns + settings->duration_ns : UINT64_MAX;
    while (now_ns < end_ns) {
        int count = poll(polled, 2, until_ms(now_ns, tick_ns < end_ns ? tick_ns : end_ns));
        if (count < 0 && errno != EINTR)
            break;
        result->ended = count > 0 && polled[0].revents;
        if (count > 0)
            break;
        now_ns = clock_monotonic_ns();
        if (now_ns >= tick_ns) {
            tick(attach);
            tick_ns += (now_ns - tick_ns) / settings->period_ns * settings->period_ns + settings->period_ns;
        }
    }
}

static void finish(struct attach *attach, struct attach_result *result)
{
    tracer_process_stop(&attach->tracer);
    if (attach->settings->shows_progress)
        fputs(CLEAR_LINE, stderr);
    result->watched_ns = clock_monotonic_ns() - attach->start_ns;
    result->counts = attach->tracer.page->counts;
    attach_record_tick(&attach->record, &result->counts);
    result->recorded = attach_record_end(&attach->record, result->spool, sizeof result->spool);
}

enum err attach_watch(const struct attach_settings *settings, struct attach_result *result, struct buf *why)
{
    struct attach attach = { .settings = settings, .signal_fd = -1 };
    *result = (struct attach_result){ 0 };
    enum err err = attach_target_read(settings->pid, &attach.target);
    if (!err)
        err = attach_target_check(&attach.target);
    if (!err) {
        attach.signal_fd = open_signals();
        err = tracer_process_start(&attach.tracer, attach.target.pid, settings->timed);
    }
    if (err) {
        attach_target_explain(&attach.target, err, why);
    } else {
        warn_of_cost(&attach.tracer.page->cost);
        attach_record_begin(&attach.record, settings, &attach.target);
        attach.start_ns = attach.last_ns = clock_monotonic_ns();
        watch(&attach, result);
        finish(&attach, result);
        tracer_process_close(&attach.tracer);
    }
    if (attach.signal_fd >= 0)
        close(attach.signal_fd);
    return err;
}
