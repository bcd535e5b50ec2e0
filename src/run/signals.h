/* Signals of sonde run: it ignores those that would end it, forwards what was sent to it alone, and stops together
 * with the command, so that terminals, shells and batch systems can treat it like the command itself. */
#ifndef SONDE_RUN_SIGNALS_H
#define SONDE_RUN_SIGNALS_H

#include "run/pgrp_sentinel.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/signalfd.h>

#define SIGNALS_WAITING_MAX 16

/* A signal that others may have received too: not decided yet. */
struct signals_waiting {
    struct signalfd_siginfo info;
    uint64_t until_ns;
};

/* A recent report of the sentinel. */
struct signals_recent {
    struct pgrp_sentinel_report report;
    uint64_t until_ns;
};

struct signals {
    int fd; /* readable when signals are pending */
    struct pgrp_sentinel sentinel;
    sigset_t mask_before;
    struct sigaction child_before;
    pid_t command;   /* to forward to; 0: it has ended */
    bool child;      /* SIGCHLD arrived; reset by monitor_reap */
    bool quit;       /* end sonde run itself: the command has ended, only survivors are monitored */
    bool (*in_job)(void *context, pid_t pid); /* is the sender part of the job? */
    void *context;
    struct signals_waiting waiting[SIGNALS_WAITING_MAX];
    size_t waiting_count;
    struct signals_recent recent[SIGNALS_WAITING_MAX];
    size_t recent_next;
};

/* Blocks all signals and starts the sentinel. */
enum err signals_open(struct signals *signals);
void signals_close(struct signals *signals); /* ends the sentinel; signals stay blocked */

/* In the command's process before exec: restores mask and dispositions as sonde run found them. */
void signals_restore(const struct signals *signals);

/* A signal that arrived before the command was started, and would have ended it: the rest of the group has received
 * it, the command never would. 0: none. */
int signals_early(void);

/* Reads and handles all pending signals. */
void signals_read(struct signals *signals);

/* How long the loop may sleep; -1: forever. */
int signals_timeout_ms(const struct signals *signals);

/* The command was stopped by this signal: stops us likewise if we have a terminal, and returns when we are
 * continued. */
void signals_stop_like(struct signals *signals, int signal);

#endif
