/* The process to attach to: its identity, and an explanation if it cannot be monitored. */
#ifndef SONDE_RUN_ATTACH_TARGET_H
#define SONDE_RUN_ATTACH_TARGET_H

#include "base/buf.h"
#include "proc/children.h"

#include <sys/types.h>

struct attach_target {
    pid_t pid;            /* of the process, even if a thread id was given */
    pid_t tracer;         /* its current tracer; 0: none */
    uint32_t uid;
    bool is_zombie, is_kernel;
    bool is_leaderless;   /* the main thread has ended, others are running */
    char name[64];        /* comm */
    char tracer_name[64];
};

/* GONE: no such process. */
enum err attach_target_read(pid_t pid, struct attach_target *target);

/* OK, or a reason that is obvious beforehand: GONE (a zombie), USAGE (a kernel thread, or this process itself). */
enum err attach_target_check(const struct attach_target *target);

/* True if none of them has libsonde-calls.so loaded. Otherwise an agent would count the same calls twice; that is
 * logged. */
bool attach_target_lacks_calls_probe(const struct pidlist *pids);

/* One or two sentences: what was refused and why, and what to do. */
void attach_target_explain(const struct attach_target *target, enum err err, struct buf *error);

#endif
