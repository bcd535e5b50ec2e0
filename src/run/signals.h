/* The signals of sonde run: it outlives those that end a program, passes on what was sent to it alone, and stops when
 * the command stops, so that a terminal, a shell and a batch system deal with it as with the command itself. */
#ifndef SONDE_RUN_SIGNALS_H
#define SONDE_RUN_SIGNALS_H

#include "run/pgrp_sentinel.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/signalfd.h>

#define SIGNALS_WAITING_MAX 16

/* A signal of which it is not yet clear whether others got it too. */
struct signals_waiting {
    struct signalfd_siginfo info;
    uint64_t until_ns;
};

/* What the witness saw a moment ago. */
struct signals_heard {
    struct witness_report report;
    uint64_t until_ns;
};

struct signals {
    int fd; /* readable when there are any */
    struct witness witness;
    sigset_t mask_before;
    struct sigaction child_before;
    pid_t command;   /* to pass on to; 0 when it has ended */
    bool child;      /* SIGCHLD came; whoever deals with it sets it to false */
    bool quit;       /* somebody wants sonde run itself to end: the command is over, only the rest is watched */
    bool (*in_job)(void *context, pid_t pid); /* is the sender part of the job? */
    void *context;
    struct signals_waiting waiting[SIGNALS_WAITING_MAX];
    size_t waiting_count;
    struct signals_heard heard[SIGNALS_WAITING_MAX];
    size_t heard_next;
};

/* Blocks all signals and starts the witness. */
enum err signals_open(struct signals *signals);
void signals_close(struct signals *signals); /* ends the witness; signals stay blocked */

/* In the command's process before exec: mask and dispositions as sonde run found them. */
void signals_restore(const struct signals *signals);

/* A signal that came before there is a command, and would have ended it: the command would never get it, since all others
 * of the group have had it. 0: none. */
int signals_early(void);

/* Reads and deals with all that came. */
void signals_read(struct signals *signals);

/* How long the loop may sleep: -1 for ever. */
int signals_timeout_ms(const struct signals *signals);

/* The command stopped by this signal: stops us likewise when we have a terminal, and returns when we go on. */
void signals_stop_like(struct signals *signals, int signal);

#endif
