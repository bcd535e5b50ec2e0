/* A helper process in sonde run's process group. A signal that sonde run receives was sent either to it alone, and
 * must then be forwarded to the command, or to the whole group or job (timeout, scancel, a shell's fg), and then the
 * command has already received it. The signal itself does not tell. If the sentinel received it too, it was sent to
 * all.
 *
 * The sentinel also continues sonde run (SIGCONT) after it stopped itself together with the command, when the
 * command continues. */
#ifndef SONDE_RUN_PGRP_SENTINEL_H
#define SONDE_RUN_PGRP_SENTINEL_H

#include "base/err.h"

#include <sys/types.h>

struct pgrp_sentinel {
    pid_t pid; /* 0: none; not seen by wait without __WCLONE */
    int fd;    /* readable when it has something to report */
};

struct pgrp_sentinel_report {
    int signal;
    pid_t sender;
};

/* All signals must be blocked. AGAIN, NOMEM: no process could be created. */
enum err pgrp_sentinel_start(struct pgrp_sentinel *sentinel);

/* Ends and reaps it. Harmless if there is none. */
void pgrp_sentinel_end(struct pgrp_sentinel *sentinel);

/* The next report. GONE: there is none. */
enum err pgrp_sentinel_read(struct pgrp_sentinel *sentinel, struct pgrp_sentinel_report *report);

/* Tells it that we are about to stop because process pid has stopped; 0: we are running again. */
void pgrp_sentinel_set_stopped(struct pgrp_sentinel *sentinel, pid_t pid);

#endif
