/* The process that somebody wants to watch: who it is, and why it cannot be watched when it cannot. */
#ifndef SONDE_RUN_ATTACH_TARGET_H
#define SONDE_RUN_ATTACH_TARGET_H

#include "base/buf.h"
#include "proc/children.h"

#include <sys/types.h>

struct attach_target {
    pid_t pid;            /* of the process, also when the id of a thread was asked for */
    pid_t tracer;         /* who traces it already; 0: nobody */
    uint32_t uid;
    bool is_zombie, is_kernel;
    bool is_leaderless;   /* its first thread has ended, and others go on */
    char name[64];        /* the kernel's short one */
    char tracer_name[64];
};

/* GONE: there is none. */
enum err attach_target_read(pid_t pid, struct attach_target *target);

/* OK, or the reason that is plain before anything is tried: GONE (a zombie), USAGE (the kernel's, or this very process). */
enum err attach_target_check(const struct attach_target *target);

/* Does the probe for system calls (libsonde-calls.so) count in none of them? Where it does in one, an agent would hear of the
 * same calls twice: that is said on stderr. */
bool attach_target_is_silent(const struct pidlist *pids);

/* One or two sentences: what was refused, to whom, what to do. */
void attach_target_explain(const struct attach_target *target, enum err err, struct buf *why);

#endif
