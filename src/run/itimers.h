/* Interval timers survive exec, but not fork. A timer that was set before (alarm 5; exec sonde run …) is meant for
 * the command: it must find the timer running, be able to stop it, and receive its signal. */
#ifndef SONDE_RUN_ITIMERS_H
#define SONDE_RUN_ITIMERS_H

#include <sys/time.h>

#define ITIMERS 3 /* real, virtual, profiling */

struct itimers {
    struct itimerval left[ITIMERS]; /* zeros: not set */
};

/* Stops the timers of this process and stores the remaining time. */
void itimers_take(struct itimers *itimers);

/* Restarts them in this process. */
void itimers_give(const struct itimers *itimers);

#endif
