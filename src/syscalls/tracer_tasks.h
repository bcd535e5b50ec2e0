/* The tasks that a tracer holds, found by their tid. */
#ifndef SONDE_SYSCALLS_TRACER_TASKS_H
#define SONDE_SYSCALLS_TRACER_TASKS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACER_NO_CALL (-1)

/* A call that a signal broke off, and that may begin anew. */
struct tracer_interrupted_call {
    int number;        /* or TRACER_NO_CALL */
    uint64_t stack;    /* pointer of the task's stack: a handler, which may make the same call, has another */
    uint64_t entry_ns;
    uint64_t time_ns;  /* until it was broken off */
};

struct tracer_task {
    pid_t tid;        /* 0: the place is free */
    int number;       /* of the call that it is in, or TRACER_NO_CALL */
    struct tracer_interrupted_call interrupted_call;
    bool interrupted; /* we have asked it to stop, and it has not done so yet */
    bool has_timeout; /* the call that it is in: each time that it is begun anew it may wait longer than it should */
    unsigned restarts;    /* times that we had it begun anew */
    uint64_t entry_ns;
};

struct tracer_tasks {
    struct tracer_task *table;
    size_t capacity; /* a power of two */
    size_t count;
};

void tracer_tasks_clear(struct tracer_tasks *tasks);

/* NULL: it is not there. Pointers hold until a task is added or removed. */
struct tracer_task *tracer_tasks_find(const struct tracer_tasks *tasks, pid_t tid);

/* The one that is there, or a new one. NULL: no memory. */
struct tracer_task *tracer_tasks_add(struct tracer_tasks *tasks, pid_t tid);

void tracer_tasks_remove(struct tracer_tasks *tasks, pid_t tid);

/* All of them, for walks in which some come and go: malloc'd, 0 behind the last. NULL: no memory. */
pid_t *tracer_tasks_list(const struct tracer_tasks *tasks);

#endif
