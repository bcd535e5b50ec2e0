/* The tasks attached to the tracer, by tid. */
#ifndef SONDE_SYSCALLS_TRACER_TASKS_H
#define SONDE_SYSCALLS_TRACER_TASKS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACER_NO_CALL (-1)

/* A call that a signal interrupted and that may be restarted. */
struct tracer_interrupted_call {
    int number;        /* or TRACER_NO_CALL */
    uint64_t stack;    /* stack pointer: a signal handler, which may make the same call, has another */
    uint64_t entry_ns;
    uint64_t time_ns;  /* time until it was interrupted */
};

struct tracer_task {
    pid_t tid;        /* 0: the entry is free */
    int number;       /* the call that it is in, or TRACER_NO_CALL */
    struct tracer_interrupted_call interrupted_call;
    bool interrupted; /* we requested a stop that has not happened yet */
    bool has_timeout; /* its call has a timeout: each restart may extend the wait */
    unsigned restarts;    /* number of times that we restarted the call */
    uint64_t entry_ns;
};

struct tracer_tasks {
    struct tracer_task *table;
    size_t capacity; /* a power of two */
    size_t count;
};

void tracer_tasks_clear(struct tracer_tasks *tasks);

/* NULL: not found. Pointers are valid until a task is added or removed. */
struct tracer_task *tracer_tasks_find(const struct tracer_tasks *tasks, pid_t tid);

/* Finds or adds a task. NULL: no memory. */
struct tracer_task *tracer_tasks_add(struct tracer_tasks *tasks, pid_t tid);

void tracer_tasks_remove(struct tracer_tasks *tasks, pid_t tid);

/* A copy of all tids, for loops in which tasks come and go: malloc'd, terminated by 0. NULL: no memory. */
pid_t *tracer_tasks_list(const struct tracer_tasks *tasks);

#endif
