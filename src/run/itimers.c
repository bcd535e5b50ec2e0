/* Taking timers from one process and giving them to another. */
#include "run/itimers.h"

#include <stddef.h>

static const int which[ITIMERS] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };

/* Stopped and read in one call: one that runs out just now has either sent its signal, or goes on elsewhere. */
void itimers_take(struct itimers *itimers)
{
    const struct itimerval none = { 0 };
    *itimers = (struct itimers){ 0 };
    for (int i = 0; i < ITIMERS; i++)
        setitimer(which[i], &none, &itimers->left[i]);
}

void itimers_give(const struct itimers *itimers)
{
    for (int i = 0; i < ITIMERS; i++)
        if (itimers->left[i].it_value.tv_sec || itimers->left[i].it_value.tv_usec)
            setitimer(which[i], &itimers->left[i], NULL);
}
