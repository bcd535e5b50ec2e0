/* Moves interval timers from one process to another. */
#include "run/itimers.h"

#include <stddef.h>

static const int which[ITIMERS] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };

/* Stops and reads a timer in one call: if it expires now, either its signal was sent, or it continues in the other
 * process. */
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
