/* Reading, judging and passing on signals. */
#include "run/signals.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define JUDGE_NS (20 * NS_PER_MS) /* within which a signal for all must have reached the witness too */

enum err signals_open(struct signals *signals)
{
    sigset_t all;
    struct sigaction standard = { .sa_handler = SIG_DFL };
    *signals = (struct signals){ .fd = -1, .witness = { .fd = -1 } };
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &signals->mask_before);
    /* Were it ignored, as some daemons leave it, the kernel would not tell us how our children ended. */
    sigaction(SIGCHLD, &standard, &signals->child_before);
    witness_start(&signals->witness); /* without it, too much rather than too little is passed on */
    signals->fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    return signals->fd < 0 ? err_from_errno(errno) : OK;
}

void signals_close(struct signals *signals)
{
    witness_end(&signals->witness);
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

/* Sent to us alone: the command is to have it. */
static void pass_on(struct signals *signals, const struct signalfd_siginfo *info)
{
    if (signals->command)
        send_to(signals->command, info);
    else if (ends_programs((int)info->ssi_signo))
        signals->quit = true;
}

/* Sent to all: the command has it already, unless it went into a process group of its own. Then, without us, that group
 * would have been the one to get it. */
static void pass_on_to_other_group(struct signals *signals, const struct signalfd_siginfo *info)
{
    pid_t group = signals->command ? getpgid(signals->command) : -1;
    if (group == getpgrp())
        return;
    if (group > 0 && group == signals->command)
        send_to(-group, info);
    else
        pass_on(signals, info);
}

static bool same(const struct witness_report *report, const struct signalfd_siginfo *info)
{
    return report->signal == (int)info->ssi_signo && report->sender == (pid_t)info->ssi_pid;
}

/* Did the witness get this one before us? Two of the same within this time, one for us and one for all (timeout sends
 * both), would be one pending signal for the command: they are one here too. */
static bool heard_already(const struct signals *signals, const struct signalfd_siginfo *info, uint64_t now_ns)
{
    for (size_t i = 0; i < SIGNALS_WAITING_MAX; i++)
        if (signals->heard[i].until_ns >= now_ns && same(&signals->heard[i].report, info))
            return true;
    return false;
}

static void forget_waiting(struct signals *signals, size_t i)
{
    signals->waiting_count--;
    memmove(&signals->waiting[i], &signals->waiting[i + 1], (signals->waiting_count - i) * sizeof *signals->waiting);
}

static void judge_report(struct signals *signals, const struct witness_report *report, uint64_t now_ns)
{
    for (size_t i = signals->waiting_count; i-- > 0;) {
        struct signalfd_siginfo info = signals->waiting[i].info;
        if (!same(report, &info))
            continue;
        forget_waiting(signals, i);
        pass_on_to_other_group(signals, &info);
    }
    signals->heard[signals->heard_next] = (struct signals_heard){ *report, now_ns + JUDGE_NS };
    signals->heard_next = (signals->heard_next + 1) % SIGNALS_WAITING_MAX;
}

static void judge_late(struct signals *signals, uint64_t now_ns)
{
    while (signals->waiting_count && signals->waiting[0].until_ns <= now_ns) {
        struct signalfd_siginfo info = signals->waiting[0].info;
        forget_waiting(signals, 0);
        pass_on(signals, &info);
    }
}

static void judge_sent(struct signals *signals, const struct signalfd_siginfo *info, uint64_t now_ns)
{
    if (heard_already(signals, info, now_ns))
        pass_on_to_other_group(signals, info);
    else if (!signals->witness.pid || signals->waiting_count == SIGNALS_WAITING_MAX)
        pass_on(signals, info);
    else
        signals->waiting[signals->waiting_count++] = (struct signals_waiting){ *info, now_ns + JUDGE_NS };
}

/* What a terminal sends it sends to the foreground group, but for one thing: of its end it tells the leader of the session
 * alone. Only when that one has ended, the group is told. */
static bool is_for_group(int signal)
{
    bool is_key = signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU
                  || signal == SIGWINCH;
    return is_key || ((signal == SIGHUP || signal == SIGCONT) && getsid(0) != getpid());
}

/* SIGXCPU: we ourselves have used up our time; the kernel counts that of the command, and tells it, by itself. All else (a
 * timer from before an exec, a descriptor that tells its owner) may be for us alone or for all. */
static void judge_kernel(struct signals *signals, const struct signalfd_siginfo *info, uint64_t now_ns)
{
    if (is_for_group((int)info->ssi_signo))
        pass_on_to_other_group(signals, info);
    else if (info->ssi_signo != SIGXCPU)
        judge_sent(signals, info, now_ns);
}

/* From the job itself: it knows what it does, and what it sent to its group it has. */
static void judge(struct signals *signals, const struct signalfd_siginfo *info, uint64_t now_ns)
{
    bool sent = info->ssi_code == SI_USER || info->ssi_code == SI_QUEUE || info->ssi_code == SI_TKILL;
    pid_t sender = (pid_t)info->ssi_pid;
    if (info->ssi_signo == SIGCHLD)
        signals->child = true;
    else if (info->ssi_code == SI_KERNEL)
        judge_kernel(signals, info, now_ns);
    else if (!sent || (sender && (sender == getpid() || sender == signals->witness.pid)))
        return;
    else if (sender && signals->in_job && signals->in_job(signals->context, sender))
        return;
    else
        judge_sent(signals, info, now_ns);
}

void signals_read(struct signals *signals)
{
    struct signalfd_siginfo info;
    struct witness_report report;
    uint64_t now_ns = clock_monotonic_ns();
    while (witness_read(&signals->witness, &report) == OK)
        judge_report(signals, &report, now_ns);
    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info)
        judge(signals, &info, now_ns);
    judge_late(signals, now_ns);
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

/* Without a terminal nobody looks whether we stopped, and nobody would wake us. */
void signals_stop_like(struct signals *signals, int signal)
{
    sigset_t one;
    struct sigaction standard = { .sa_handler = SIG_DFL }, before;
    if (!has_terminal())
        return;
    witness_watch_stopped(&signals->witness, signals->command);
    sigemptyset(&one);
    sigaddset(&one, signal);
    sigaction(signal, &standard, &before);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* here we stop */
    sigprocmask(SIG_BLOCK, &one, NULL);
    sigaction(signal, &before, NULL);
    witness_watch_stopped(&signals->witness, 0);
}
