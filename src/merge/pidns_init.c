/* Joins the records that the init process of a pid namespace wrote about itself (pid 1) with the wait record of its
 * parent outside. */
#include "merge/pidns_init.h"

#define NAMESPACES_MAX 1000 /* limits the cost: each one scans all pids */

/* The pid has one instance, and a wait is its only record. */
static bool is_wait_only(const struct process_instances *instances, const struct pid_entry *pid)
{
    if (pid->instance_count != 1)
        return false;
    return process_instance_is_wait_only(&instances->list[pid->first_instance]);
}

/* The first wait by the init process's parent after its end. */
static struct pid_entry *find_wait(const struct process_instances *instances, const struct record_index *records,
                                   const struct process_instance *init)
{
    struct pid_entry *best = NULL;
    for (uint32_t i = 0; i < records->pid_count; i++) {
        struct pid_entry *pid = &records->pids[i];
        if (!is_wait_only(instances, pid))
            continue;
        const struct record_entry *wait = &records->list[instances->list[pid->first_instance].wait];
        if (wait->related_pid != init->ppid || wait->time_ns < init->end_ns || wait->time_ns < init->start_ns)
            continue;
        if (!best || wait->time_ns < records->list[instances->list[best->first_instance].wait].time_ns)
            best = pid;
    }
    return best;
}

static void move_wait(struct process_instances *instances, struct record_index *records, struct process_instance *init,
                      struct pid_entry *pid)
{
    struct process_instance *waited = &instances->list[pid->first_instance];
    init->wait = waited->wait;
    init->kinds |= waited->kinds;
    init->ended = true;
    init->end_ns = init->end_ns ? init->end_ns : waited->end_ns;
    records->list[init->last].next = waited->first;
    init->last = waited->last;
    waited->first = waited->last = waited->wait = NONE;
    waited->is_empty = true;
    pid->instance_count = 0;
}

void pidns_init_join(struct process_instances *instances, struct record_index *records)
{
    const struct pid_entry *one = record_index_find_pid(records, PIDNS_INIT_PID);
    for (uint32_t i = 0; one && i < one->instance_count && i < NAMESPACES_MAX; i++) {
        struct process_instance *init = &instances->list[one->first_instance + i];
        struct pid_entry *waited = init->wait == NONE && init->ppid ? find_wait(instances, records, init) : NULL;
        if (waited)
            move_wait(instances, records, init, waited);
    }
}
