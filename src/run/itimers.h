/* Interval timers: an exec keeps them, a fork does not. Whoever set one (alarm 5; exec sonde run …) meant the command: it must
 * find it running, be able to stop it, and get its signal. */
#ifndef SONDE_RUN_ITIMERS_H
#define SONDE_RUN_ITIMERS_H

#include <sys/time.h>

#define ITIMERS 3 /* real, virtual, profiling */

struct itimers {
    struct itimerval left[ITIMERS]; /* zeros: not set */
};

/* Stops those of this process. What is left of them is in itimers. */
void itimers_take(struct itimers *itimers);

/* Lets them go on in this process. */
void itimers_give(const struct itimers *itimers);

#endif
