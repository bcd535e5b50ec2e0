/* Open addressing. Removal moves up the entries after the gap, so that there are no tombstones. */
#include "syscalls/tracer_tasks.h"

#include <stdlib.h>

#define INITIAL_CAPACITY 64

static size_t find_place(const struct tracer_tasks *tasks, pid_t tid)
{
    size_t at = ((size_t)tid * 0x9e3779b97f4a7c15ull >> 20) & (tasks->capacity - 1);
    while (tasks->table[at].tid && tasks->table[at].tid != tid)
        at = (at + 1) & (tasks->capacity - 1);
    return at;
}

void tracer_tasks_clear(struct tracer_tasks *tasks)
{
    free(tasks->table);
    *tasks = (struct tracer_tasks){ 0 };
}

struct tracer_task *tracer_tasks_find(const struct tracer_tasks *tasks, pid_t tid)
{
    if (!tasks->capacity)
        return NULL;
    struct tracer_task *task = &tasks->table[find_place(tasks, tid)];
    return task->tid ? task : NULL;
}

static bool grow(struct tracer_tasks *tasks)
{
    struct tracer_tasks more = { .capacity = tasks->capacity ? 2 * tasks->capacity : INITIAL_CAPACITY, .count = tasks->count };
    more.table = calloc(more.capacity, sizeof *more.table);
    if (!more.table)
        return false;
    for (size_t i = 0; i < tasks->capacity; i++)
        if (tasks->table[i].tid)
            more.table[find_place(&more, tasks->table[i].tid)] = tasks->table[i];
    free(tasks->table);
    *tasks = more;
    return true;
}

struct tracer_task *tracer_tasks_add(struct tracer_tasks *tasks, pid_t tid)
{
    struct tracer_task *task = tracer_tasks_find(tasks, tid);
    if (task)
        return task;
    if (2 * (tasks->count + 1) > tasks->capacity && !grow(tasks))
        return NULL;
    task = &tasks->table[find_place(tasks, tid)];
    *task = (struct tracer_task){ .tid = tid, .number = TRACER_NO_CALL, .interrupted_call.number = TRACER_NO_CALL };
    tasks->count++;
    return task;
}

void tracer_tasks_remove(struct tracer_tasks *tasks, pid_t tid)
{
    struct tracer_task *task = tracer_tasks_find(tasks, tid);
    if (!task)
        return;
    size_t at = (size_t)(task - tasks->table);
    task->tid = 0;
    tasks->count--;
    for (at = (at + 1) & (tasks->capacity - 1); tasks->table[at].tid; at = (at + 1) & (tasks->capacity - 1)) {
        struct tracer_task moved = tasks->table[at];
        tasks->table[at].tid = 0;
        tasks->table[find_place(tasks, moved.tid)] = moved;
    }
}

pid_t *tracer_tasks_list(const struct tracer_tasks *tasks)
{
    pid_t *tids = malloc((tasks->count + 1) * sizeof *tids);
    size_t count = 0;
    for (size_t i = 0; tids && i < tasks->capacity; i++)
        if (tasks->table[i].tid)
            tids[count++] = tasks->table[i].tid;
    if (tids)
        tids[count] = 0;
    return tids;
}
