/* After the command: a separate process monitors what the command has left running (daemons), so that their final
 * usage is recorded. */
#ifndef SONDE_RUN_SURVIVORS_H
#define SONDE_RUN_SURVIVORS_H

#include "run/monitor.h"

/* In a forked process. Detaches from the terminal, the standard streams and inherited descriptors; returns when the
 * last process of the job has ended, or on SIGTERM. Then records the end of the run again. */
void survivors_monitor(struct monitor *monitor);

#endif
