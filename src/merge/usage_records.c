/* Collects the resource usage from all records of a process instance. */
#include "merge/usage_records.h"

static void add_tasks(struct bytes body, struct usage_records *reported)
{
    struct taskstats_record record;
    if (record_unpack_taskstats(body, &record))
        return;
    if (reported->has_tasks)
        counters_add(&reported->tasks, &record.counters);
    else
        reported->tasks = record.counters;
    reported->has_tasks = true;
    reported->task_count++;
}

static void take_alive(struct bytes body, struct usage_records *reported)
{
    struct alive_record record;
    if (record_unpack_alive(body, &record))
        return;
    reported->alive = record.self;
    reported->has_alive = true;
}

static void take_wait(struct bytes body, struct usage_records *reported)
{
    struct wait_record record;
    if (record_unpack_wait(body, &record))
        return;
    reported->wait = record.usage;
    reported->has_wait = record.usage.known != 0;
}

void usage_records_read(const struct record_index *records, const struct process_instance *instance,
                        struct usage_records *reported)
{
    reported->has_wait = reported->has_end = reported->has_tasks = reported->has_alive = false;
    reported->task_count = 0;
    if (instance->wait != NONE)
        take_wait(record_index_body(records, &records->list[instance->wait]), reported);
    for (uint32_t i = instance->first; i != NONE; i = records->list[i].next) {
        const struct record_entry *e = &records->list[i];
        if (e->kind == RECORD_KIND_end && process_instance_has(instance, RECORD_KIND_end))
            reported->has_end = record_unpack_end(record_index_body(records, e), &reported->end) == OK;
        else if (e->kind == RECORD_KIND_taskstats)
            add_tasks(record_index_body(records, e), reported);
        else if (e->kind == RECORD_KIND_alive)
            take_alive(record_index_body(records, e), reported);
    }
}
