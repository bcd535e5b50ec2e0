/* The story of an attachment: who it is, the spool, the tracer beside us, ticks, the end. */
#include "watch/attach.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "watch/attach_board.h"
#include "watch/attach_calls.h"
#include "watch/attach_record.h"

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
    struct attach_calls calls;
    struct attach_record record;
    struct batch batch;           /* what was read last */
    struct syscall_counts counts; /* the same */
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

static void tell_way(const struct attach_calls *calls, const char *why)
{
    const struct tracer_cost *cost = calls->way == SYSCALL_WAY_PTRACE ? &calls->tracer.page->cost : NULL;
    if (!cost)
        log_info("the kernel counts, and the program does not notice");
    else if (cost->traced_ns > cost->bare_ns)
        log_warn("ptrace is slow: while it is watched, each system call of the program takes about %s longer (measured just "
                 "now on this machine; alone the shortest takes %s)", text_duration(cost->traced_ns - cost->bare_ns).s,
                 text_duration(cost->bare_ns).s);
    else
        log_warn("ptrace is slow: while it is watched, each system call of the program takes several microseconds longer");
    if (cost && why[0])
        log_info("ptrace is used because the kernel does not count for us: %s", why);
}

static void read_calls(struct attach *attach)
{
    batch_reset(&attach->batch);
    attach_calls_read(&attach->calls, &attach->batch);
    attach_calls_gather(&attach->batch, attach->settings->timed, &attach->counts);
    if (attach->settings->tells_agent)
        attach_board_tell(&attach->counts);
}

static void show_progress(struct attach *attach, uint64_t now_ns)
{
    uint64_t calls = syscall_counts_calls(&attach->counts), elapsed_ns = now_ns - attach->last_ns;
    if (!attach->settings->shows_progress || !elapsed_ns)
        return;
    fprintf(stderr, CLEAR_LINE "sonde: %s, %zu threads, %s calls, %s per second; Ctrl-C lets go of the program",
            text_duration((now_ns - attach->start_ns) / NS_PER_S * NS_PER_S).s, attach_calls_alive(&attach->calls),
            text_count(calls).s,
            text_count((uint64_t)((double)(calls - attach->last_calls) * NS_PER_S / (double)elapsed_ns)).s);
    attach->last_ns = now_ns;
    attach->last_calls = calls;
}

static void tick(struct attach *attach)
{
    read_calls(attach);
    attach_record_tick(&attach->record, &attach->batch);
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
    struct pollfd polled[] = { { .fd = attach->calls.end_fd, .events = POLLIN }, { .fd = attach->signal_fd, .events = POLLIN } };
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
    attach_calls_stop(&attach->calls);
    if (attach->settings->shows_progress)
        fputs(CLEAR_LINE, stderr);
    result->watched_ns = clock_monotonic_ns() - attach->start_ns;
    read_calls(attach);
    result->counts = attach->counts;
    if (attach->settings->tells_agent)
        attach_board_end();
    attach_record_tick(&attach->record, &attach->batch);
    result->recorded = attach_record_end(&attach->record, result->spool, sizeof result->spool);
}

/* It is held: from here on nothing can fail. */
static void watch_held(struct attach *attach, struct attach_result *result)
{
    batch_init(&attach->batch);
    attach_record_begin(&attach->record, attach->settings, &attach->target, attach->calls.way);
    attach->start_ns = attach->last_ns = clock_monotonic_ns();
    watch(attach, result);
    finish(attach, result);
    batch_clear(&attach->batch);
    attach_calls_close(&attach->calls);
}

enum err attach_watch(const struct attach_settings *settings, struct attach_result *result, struct buf *why)
{
    struct attach attach = { .settings = settings, .signal_fd = -1 };
    char why_ptrace[512] = "";
    *result = (struct attach_result){ 0 };
    enum err err = attach_target_read(settings->pid, &attach.target);
    if (!err)
        err = attach_target_check(&attach.target);
    if (!err) {
        attach.signal_fd = open_signals();
        err = attach_calls_open(&attach.calls, attach.target.pid, settings->timed, settings->wants_ptrace, why_ptrace,
                                sizeof why_ptrace);
    }
    if (err) {
        attach_target_explain(&attach.target, err, why);
    } else {
        tell_way(&attach.calls, why_ptrace);
        watch_held(&attach, result);
    }
    if (attach.signal_fd >= 0)
        close(attach.signal_fd);
    return err;
}
