/* One look at the records of threads, and only where somebody is known by a wait alone. */
#include "merge/tracer_waits.h"

#include "base/clock.h"

#define LATE_NS NS_PER_S /* the tracer may look at the clock so much later than the thread ended */

static bool is_any_by_wait_alone(const struct lives *lives)
{
    for (uint32_t i = 0; i < lives->count; i++)
        if (life_is_wait_alone(&lives->list[i]))
            return true;
    return false;
}

static void drop(struct life *life, struct pid *pid)
{
    life->first = life->last = life->wait = NONE;
    life->is_empty = true;
    pid->lives = 0;
}

static bool is_near(const struct event *thread, const struct event *wait)
{
    return thread->time_ns <= wait->time_ns + LATE_NS && wait->time_ns <= thread->time_ns + LATE_NS;
}

void traced_drop(struct lives *lives, const struct events *events)
{
    if (!events->threads || !is_any_by_wait_alone(lives))
        return;
    for (uint32_t i = 0; i < events->count; i++) {
        const struct event *e = &events->list[i];
        struct pid *pid = e->flags & EVENT_OF_THREAD ? events_find(events, e->who) : NULL;
        if (!pid || pid->lives != 1)
            continue;
        struct life *life = &lives->list[pid->life];
        if (life_is_wait_alone(life) && is_near(e, &events->list[life->wait]))
            drop(life, pid);
    }
}
