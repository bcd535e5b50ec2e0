/* After the command: a process of its own goes on watching what the command left behind (daemons), so that their last
 * numbers come when they end. */
#ifndef SONDE_RUN_SURVIVORS_H
#define SONDE_RUN_SURVIVORS_H

#include "run/monitor.h"

/* In a process forked for it. Lets go of terminal, standard streams and inherited descriptors; returns when the last
 * process of the job has ended, or when this one is told to end (SIGTERM). The end of the run is then recorded anew. */
void rest_watch(struct watch *watch);

#endif
