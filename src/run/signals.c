/* Receives signals, decides whom they were meant for, and forwards them. */
#include "run/signals.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DECIDE_NS (20 * NS_PER_MS) /* within which a signal sent to the group must have reached the sentinel too */

enum err signals_open(struct signals *signals)
{
    sigset_t all;
    struct sigaction standard = { .sa_handler = SIG_DFL };
    *signals = (struct signals){ .fd = -1, .sentinel = { .fd = -1 } };
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &signals->mask_before);
    /* If it were ignored, as some daemons leave it, the kernel would discard the exit status of our children. */
    sigaction(SIGCHLD, &standard, &signals->child_before);
    pgrp_sentinel_start(&signals->sentinel); /* without it, signals are rather forwarded twice than not at all */
    signals->fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    return signals->fd < 0 ? err_from_errno(errno) : OK;
}

void signals_close(struct signals *signals)
{
    pgrp_sentinel_end(&signals->sentinel);
    if (signals->fd >= 0)
        close(signals->fd);
    signals->fd = -1;
}

void signals_restore(const struct signals *signals)
{
    sigaction(SIGCHLD, &signals->child_before, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

static bool ends_programs(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

int signals_early(void)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    sigset_t pending;
    struct sigaction action;
    if (sigpending(&pending) != 0)
        return 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigismember(&pending, ends[i]) && sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            return ends[i];
    return 0;
}

static void send_to(pid_t pid, const struct signalfd_siginfo *info)
{
    int signal = (int)info->ssi_signo;
    union sigval value = { .sival_ptr = (void *)(uintptr_t)info->ssi_ptr };
    if (info->ssi_code == SI_QUEUE && pid > 0)
        sigqueue(pid, signal, value);
    else
        kill(pid, signal);
}

/* Sent to us alone: forward it to the command. */
static void forward(struct signals *signals, const struct signalfd_siginfo *info)
{
    if (signals->command)
        send_to(signals->command, info);
    else if (ends_programs((int)info->ssi_signo))
        signals->quit = true;
}

/* Sent to the group: the command has received it, unless it is in a process group of its own, which would then have
 * been the foreground group without us. */
static void forward_to_other_group(struct signals *signals, const struct signalfd_siginfo *info)
{
    pid_t group = signals->command ? getpgid(signals->command) : -1;
    if (group == getpgrp())
        return;
    if (group > 0 && group == signals->command)
        send_to(-group, info);
    else
        forward(signals, info);
}

static bool same(const struct pgrp_sentinel_report *report, const struct signalfd_siginfo *info)
{
    return report->signal == (int)info->ssi_signo && report->sender == (pid_t)info->ssi_pid;
}

/* Did the sentinel receive it before us? Two of the same signal within this time, one to us and one to the group
 * (timeout sends both), would be one pending signal for the command: treat them as one. */
static bool sentinel_got_it(const struct signals *signals, const struct signalfd_siginfo *info, uint64_t now_ns)
{
    for (size_t i = 0; i < SIGNALS_WAITING_MAX; i++)
        if (signals->recent[i].until_ns >= now_ns && same(&signals->recent[i].report, info))
            return true;
    return false;
}

static void forget_waiting(struct signals *signals, size_t i)
{
    signals->waiting_count--;
    memmove(&signals->waiting[i], &signals->waiting[i + 1], (signals->waiting_count - i) * sizeof *signals->waiting);
}

static void on_sentinel_report(struct signals *signals, const struct pgrp_sentinel_report *report, uint64_t now_ns)
{
    for (size_t i = signals->waiting_count; i-- > 0;) {
        struct signalfd_siginfo info = signals->waiting[i].info;
        if (!same(report, &info))
            continue;
        forget_waiting(signals, i);
        forward_to_other_group(signals, &info);
    }
    signals->recent[signals->recent_next] = (struct signals_recent){ *report, now_ns + DECIDE_NS };
    signals->recent_next = (signals->recent_next + 1) % SIGNALS_WAITING_MAX;
}

static void forward_expired(struct signals *signals, uint64_t now_ns)
{
    while (signals->waiting_count && signals->waiting[0].until_ns <= now_ns) {
        struct signalfd_siginfo info = signals->waiting[0].info;
        forget_waiting(signals, 0);
        forward(signals, &info);
    }
}

static void decide_sent(struct signals *signals, const struct signalfd_siginfo *info, uint64_t now_ns)
{
    if (sentinel_got_it(signals, info, now_ns))
        forward_to_other_group(signals, info);
    else if (!signals->sentinel.pid || signals->waiting_count == SIGNALS_WAITING_MAX)
        forward(signals, info);
    else
        signals->waiting[signals->waiting_count++] = (struct signals_waiting){ *info, now_ns + DECIDE_NS };
}

/* A terminal sends signals to its foreground group, with one exception: hangup goes to the session leader first, and
 * to the group only when that has ended. */
static bool is_for_group(int signal)
{
    bool is_key = signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU
                  || signal == SIGWINCH;
    return is_key || ((signal == SIGHUP || signal == SIGCONT) && getsid(0) != getpid());
}

/* SIGXCPU: we have used up our own CPU time; the kernel limits the command's separately. Others (a timer set before
 * exec, a descriptor with an owner) may be meant for us or for the group. */
static void decide_kernel(struct signals *signals, const struct signalfd_siginfo *info, uint64_t now_ns)
{
    if (is_for_group((int)info->ssi_signo))
        forward_to_other_group(signals, info);
    else if (info->ssi_signo != SIGXCPU)
        decide_sent(signals, info, now_ns);
}

/* Signals from the job itself are not forwarded: what it sent to its group, it has received. */
static void decide(struct signals *signals, const struct signalfd_siginfo *info, uint64_t now_ns)
{
    bool sent = info->ssi_code == SI_USER || info->ssi_code == SI_QUEUE || info->ssi_code == SI_TKILL;
    pid_t sender = (pid_t)info->ssi_pid;
    if (info->ssi_signo == SIGCHLD)
        signals->child = true;
    else if (info->ssi_code == SI_KERNEL)
        decide_kernel(signals, info, now_ns);
    else if (!sent || (sender && (sender == getpid() || sender == signals->sentinel.pid)))
        return;
    else if (sender && signals->in_job && signals->in_job(signals->context, sender))
        return;
    else
        decide_sent(signals, info, now_ns);
}

void signals_read(struct signals *signals)
{
    struct signalfd_siginfo info;
    struct pgrp_sentinel_report report;
    uint64_t now_ns = clock_monotonic_ns();
    while (pgrp_sentinel_read(&signals->sentinel, &report) == OK)
        on_sentinel_report(signals, &report, now_ns);
    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info)
        decide(signals, &info, now_ns);
    forward_expired(signals, now_ns);
}

int signals_timeout_ms(const struct signals *signals)
{
    if (!signals->waiting_count)
        return -1;
    uint64_t now_ns = clock_monotonic_ns(), until_ns = signals->waiting[0].until_ns;
    return until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Without a terminal there is no shell that would continue us. */
void signals_stop_like(struct signals *signals, int signal)
{
    sigset_t one;
    struct sigaction standard = { .sa_handler = SIG_DFL }, before;
    if (!has_terminal())
        return;
    pgrp_sentinel_set_stopped(&signals->sentinel, signals->command);
    sigemptyset(&one);
    sigaddset(&one, signal);
    sigaction(signal, &standard, &before);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* we stop here */
    sigprocmask(SIG_BLOCK, &one, NULL);
    sigaction(signal, &before, NULL);
    pgrp_sentinel_set_stopped(&signals->sentinel, 0);
}
