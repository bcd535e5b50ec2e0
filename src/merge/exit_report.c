/* One walk over the life's records. */
#include "merge/exit_report.h"

static void add_tasks(struct bytes body, struct told *told)
{
    struct taskstats_record record;
    if (record_unpack_taskstats(body, &record))
        return;
    if (told->has_tasks)
        counters_add(&told->tasks, &record.counters);
    else
        told->tasks = record.counters;
    told->has_tasks = true;
    told->task_count++;
}

static void take_alive(struct bytes body, struct told *told)
{
    struct alive_record record;
    if (record_unpack_alive(body, &record))
        return;
    told->alive = record.self;
    told->has_alive = true;
}

static void take_wait(struct bytes body, struct told *told)
{
    struct wait_record record;
    if (record_unpack_wait(body, &record))
        return;
    told->wait = record.usage;
    told->has_wait = record.usage.known != 0;
}

void told_read(const struct events *events, const struct life *life, struct told *told)
{
    told->has_wait = told->has_end = told->has_tasks = told->has_alive = false;
    told->task_count = 0;
    if (life->wait != NONE)
        take_wait(event_body(events, &events->list[life->wait]), told);
    for (uint32_t i = life->first; i != NONE; i = events->list[i].next) {
        const struct event *e = &events->list[i];
        if (e->kind == RECORD_KIND_end && life_has(life, RECORD_KIND_end))
            told->has_end = record_unpack_end(event_body(events, e), &told->end) == OK;
        else if (e->kind == RECORD_KIND_taskstats)
            add_tasks(event_body(events, e), told);
        else if (e->kind == RECORD_KIND_alive)
            take_alive(event_body(events, e), told);
    }
}
