/* Joins what a process says of itself as pid 1 with the wait of its parent, which lives outside. */
#include "merge/pidns_init.h"

#define NAMESPACES_MAX 1000 /* each looks at all pids */

/* Known by a wait alone, and the only life of its pid. */
static bool is_wait_alone(const struct lives *lives, const struct pid *pid)
{
    if (pid->lives != 1)
        return false;
    return life_is_wait_alone(&lives->list[pid->life]);
}

/* The wait by this parent that came next after the end. */
static struct pid *find_wait(const struct lives *lives, const struct events *events, const struct life *init)
{
    struct pid *best = NULL;
    for (uint32_t i = 0; i < events->pid_count; i++) {
        struct pid *pid = &events->pids[i];
        if (!is_wait_alone(lives, pid))
            continue;
        const struct event *wait = &events->list[lives->list[pid->life].wait];
        if (wait->who != init->ppid || wait->time_ns < init->end_ns || wait->time_ns < init->start_ns)
            continue;
        if (!best || wait->time_ns < events->list[lives->list[best->life].wait].time_ns)
            best = pid;
    }
    return best;
}

static void take_over(struct lives *lives, struct events *events, struct life *init, struct pid *pid)
{
    struct life *waited = &lives->list[pid->life];
    init->wait = waited->wait;
    init->kinds |= waited->kinds;
    init->ended = true;
    init->end_ns = init->end_ns ? init->end_ns : waited->end_ns;
    events->list[init->last].next = waited->first;
    init->last = waited->last;
    waited->first = waited->last = waited->wait = NONE;
    waited->is_empty = true;
    pid->lives = 0;
}

void inits_join(struct lives *lives, struct events *events)
{
    const struct pid *one = events_find(events, INITS_PID);
    for (uint32_t i = 0; one && i < one->lives && i < NAMESPACES_MAX; i++) {
        struct life *init = &lives->list[one->life + i];
        struct pid *waited = init->wait == NONE && init->ppid ? find_wait(lives, events, init) : NULL;
        if (waited)
            take_over(lives, events, init, waited);
    }
}
