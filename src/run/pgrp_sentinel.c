/* The sentinel: a child that blocks all signals and reports each one it receives. */
#include "run/pgrp_sentinel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_MS 50
#define END_TIMEOUT_MS 20

/* The state letter of a process, 0 if it is gone. */
static char state_of(pid_t pid)
{
    char path[32], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t size = read(fd, line, sizeof line);
    close(fd);
    const char *shut = size > 0 ? memrchr(line, ')', (size_t)size) : NULL;
    return shut && shut + 2 < line + size ? shut[2] : 0;
}

/* 't': a traced process is stopped by its tracer, sometimes only for a moment. */
static bool is_stopped(pid_t pid)
{
    char state = state_of(pid);
    return state == 'T' || state == 't';
}

static void report_signals(int signal_fd, int to_fd)
{
    struct signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        struct pgrp_sentinel_report report = { (int)info.ssi_signo, (pid_t)info.ssi_pid };
        send(to_fd, &report, sizeof report, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* Until the other end is closed: at the latest when sonde run dies. */
static void report_until_closed(int fd, pid_t run_pid)
{
    sigset_t all;
    sigfillset(&all);
    int signal_fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    struct pollfd polled[] = { { .fd = fd, .events = POLLIN }, { .fd = signal_fd, .events = POLLIN } };
    pid_t stopped = 0;
    for (;;) {
        poll(polled, 2, stopped ? CHECK_MS : -1);
        if (polled[0].revents & POLLIN) {
            if (recv(fd, &stopped, sizeof stopped, MSG_DONTWAIT) != (ssize_t)sizeof stopped)
                return;
        } else if (polled[0].revents) {
            return;
        }
        report_signals(signal_fd, fd);
        if (stopped && state_of(run_pid) == 'T' && !is_stopped(stopped))
            kill(run_pid, SIGCONT);
    }
}

static void run_sentinel(int fd, pid_t run_pid)
{
    prctl(PR_SET_NAME, "sonde-sentinel");
    if (dup2(fd, 0) == 0 && close_range(1, ~0u, 0) != 0)
        for (int i = 1; i < 1024; i++) /* before Linux 5.9 */
            close(i);
    report_until_closed(0, run_pid);
    _exit(0);
}

enum err pgrp_sentinel_start(struct pgrp_sentinel *sentinel)
{
    int pair[2];
    pid_t self = getpid();
    *sentinel = (struct pgrp_sentinel){ .fd = -1 };
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return err_from_errno(errno);
    /* Like fork, but without an exit signal, so that our wait for the command's descendants does not reap it. */
    long pid = syscall(SYS_clone, 0L, NULL, NULL, NULL, 0L);
    if (pid == 0)
        run_sentinel(pair[1], self);
    close(pair[1]);
    if (pid < 0) {
        enum err err = err_from_errno(errno);
        close(pair[0]);
        return err;
    }
    *sentinel = (struct pgrp_sentinel){ (pid_t)pid, pair[0] };
    return OK;
}

/* It does, since the other end is closed, unless it is stopped. An enclosing sonde run would mistake a killed
 * sentinel for a process that ran out of memory. */
static bool ends_by_itself(pid_t pid)
{
    for (int waited_us = 0; waited_us < END_TIMEOUT_MS * 1000; waited_us += 50) {
        if (waitpid(pid, NULL, __WCLONE | WNOHANG) == pid)
            return true;
        usleep(50);
    }
    return false;
}

void pgrp_sentinel_end(struct pgrp_sentinel *sentinel)
{
    pid_t pid = sentinel->pid;
    if (!pid)
        return;
    shutdown(sentinel->fd, SHUT_RDWR); /* the process that monitors survivors has a copy of the descriptor */
    close(sentinel->fd);
    *sentinel = (struct pgrp_sentinel){ .fd = -1 };
    if (ends_by_itself(pid))
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
        continue;
}

enum err pgrp_sentinel_read(struct pgrp_sentinel *sentinel, struct pgrp_sentinel_report *report)
{
    if (!sentinel->pid || recv(sentinel->fd, report, sizeof *report, MSG_DONTWAIT) != (ssize_t)sizeof *report)
        return GONE;
    return OK;
}

void pgrp_sentinel_set_stopped(struct pgrp_sentinel *sentinel, pid_t pid)
{
    if (sentinel->pid)
        send(sentinel->fd, &pid, sizeof pid, MSG_DONTWAIT | MSG_NOSIGNAL);
}
