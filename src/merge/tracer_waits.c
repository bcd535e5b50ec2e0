/* Scans the records of threads, but only if some instance has nothing but a wait record. */
#include "merge/tracer_waits.h"

#include "base/clock.h"

#define LATE_NS NS_PER_S /* the tracer may read the clock this much later */

static bool has_wait_only_instance(const struct process_instances *instances)
{
    for (uint32_t i = 0; i < instances->count; i++)
        if (process_instance_is_wait_only(&instances->list[i]))
            return true;
    return false;
}

static void drop(struct process_instance *instance, struct pid_entry *pid)
{
    instance->first = instance->last = instance->wait = NONE;
    instance->is_empty = true;
    pid->instance_count = 0;
}

static bool is_near(const struct record_entry *thread, const struct record_entry *wait)
{
    return thread->time_ns <= wait->time_ns + LATE_NS && wait->time_ns <= thread->time_ns + LATE_NS;
}

void tracer_waits_drop(struct process_instances *instances, const struct record_index *records)
{
    if (!records->threads || !has_wait_only_instance(instances))
        return;
    for (uint32_t i = 0; i < records->count; i++) {
        const struct record_entry *e = &records->list[i];
        struct pid_entry *pid = e->flags & ENTRY_OF_THREAD ? record_index_find_pid(records, e->related_pid) : NULL;
        if (!pid || pid->instance_count != 1)
            continue;
        struct process_instance *instance = &instances->list[pid->first_instance];
        if (process_instance_is_wait_only(instance) && is_near(e, &records->list[instance->wait]))
            drop(instance, pid);
    }
}
