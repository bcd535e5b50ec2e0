/* The two ways in which sonde attach counts: in the kernel, as root, which the program does not notice; else by ptrace. */
#ifndef SONDE_RUN_ATTACH_SYSCALLS_H
#define SONDE_RUN_ATTACH_SYSCALLS_H

#include "model/program_sets.h"
#include "syscalls/syscalls.h"
#include "syscalls/tracer.h"
#include "syscalls/tracer_process.h"
#include "run/attach_tree.h"

struct attach_calls {
    enum syscall_way way;
    int end_fd; /* readable when it is time to ask attach_calls_are_over */
    bool is_orphaned; /* the process has ended, and others that are counted have not: ask every now and then */
    struct tracer_process tracer;
    struct syscalls *syscalls;
    struct syscalls_job *job;
    struct attach_tree *tree; /* borrowed */
};

struct attach_calls_settings {
    pid_t pid;
    bool timed;
    bool wants_ptrace;                /* do not try the kernel */
    struct attach_tree *tree;
    const struct tracer_lives *lives; /* told of processes, where it is the tracer that counts; NULL: nobody */
};

/* Begins to count pid, its threads and all that descends from it. The errors are those of tracer_seize; why gets the reason
 * why the kernel does not count, where it does not. */
enum err attach_calls_open(struct attach_calls *calls, const struct attach_calls_settings *settings, char *why,
                           size_t why_size);

/* Adds a sample for each call that was made so far. */
void attach_calls_read(const struct attach_calls *calls, struct batch *out);

/* Nobody is left to be watched. */
bool attach_calls_are_over(struct attach_calls *calls);

/* Who is watched, also those who have lost the parents through whom they came; only where the kernel counts. */
enum err attach_calls_list(const struct attach_calls *calls, struct pidlist *pids);

size_t attach_calls_alive(const struct attach_calls *calls); /* threads that are watched */

/* Lets go; may be read until attach_calls_close. */
void attach_calls_stop(struct attach_calls *calls);
void attach_calls_close(struct attach_calls *calls);

/* The samples of a batch as numbers; parts of a call ("read/file:ext4") are left out. */
void attach_calls_gather(const struct batch *batch, bool timed, struct syscall_counts *counts);

#endif
