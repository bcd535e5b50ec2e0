/* A silent process in sonde run's process group. A signal that sonde run gets may have been sent to it alone, and then
 * the command must have it too, or to the whole group or job (timeout, scancel, a shell's fg), and then the command has
 * it already; the signal itself does not tell. If the witness got it as well, it was for all.
 * The witness also wakes sonde run when the command, for which sonde run stopped itself, goes on. */
#ifndef SONDE_RUN_PGRP_SENTINEL_H
#define SONDE_RUN_PGRP_SENTINEL_H

#include "base/err.h"

#include <sys/types.h>

struct witness {
    pid_t pid; /* 0: there is none; a child that wait without __WCLONE does not see */
    int fd;    /* readable when it has something to report */
};

struct witness_report {
    int signal;
    pid_t sender;
};

/* All signals must be blocked. AGAIN, NOMEM: no process could be made. */
enum err witness_start(struct witness *witness);

/* Ends and reaps it. Harmless when there is none. */
void witness_end(struct witness *witness);

/* The next thing that it saw. GONE when there is nothing more. */
enum err witness_read(struct witness *witness, struct witness_report *report);

/* Tells it that we stop because process pid has stopped; 0: we are back. */
void witness_watch_stopped(struct witness *witness, pid_t pid);

#endif
