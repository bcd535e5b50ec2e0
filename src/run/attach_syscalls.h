/* The two ways in which sonde attach counts: in the kernel, as root, which the program does not notice; else by ptrace. */
#ifndef SONDE_RUN_ATTACH_SYSCALLS_H
#define SONDE_RUN_ATTACH_SYSCALLS_H

#include "model/program_sets.h"
#include "syscalls/ebpf.h"
#include "syscalls/tracer.h"
#include "syscalls/tracer_process.h"
#include "run/attach_tree.h"

struct attach_syscalls {
    enum syscall_way way;
    int end_fd; /* readable when it is time to ask attach_syscalls_are_over */
    bool is_orphaned; /* the process has ended, and others that are counted have not: ask every now and then */
    struct tracer_process tracer;
    struct ebpf *syscalls;
    struct ebpf_job *job;
    struct attach_tree *tree; /* borrowed */
};

struct attach_syscalls_settings {
    pid_t pid;
    bool timed;
    bool wants_ptrace;                /* do not try the kernel */
    struct attach_tree *tree;
    const struct tracer_listener *processes; /* told of processes, where it is the tracer that counts; NULL: nobody */
};

/* Begins to count pid, its threads and all that descends from it. The errors are those of tracer_seize; why gets the reason
 * why the kernel does not count, where it does not. */
enum err attach_syscalls_open(struct attach_syscalls *calls, const struct attach_syscalls_settings *settings, char *why,
                           size_t why_size);

/* Adds a sample for each call that was made so far. */
void attach_syscalls_read(const struct attach_syscalls *calls, struct batch *out);

/* Nobody is left to be watched. */
bool attach_syscalls_are_over(struct attach_syscalls *calls);

/* Who is watched, also those who have lost the parents through whom they came; only where the kernel counts. */
enum err attach_syscalls_list(const struct attach_syscalls *calls, struct pidlist *pids);

size_t attach_syscalls_alive(const struct attach_syscalls *calls); /* threads that are watched */

/* Lets go; may be read until attach_syscalls_close. */
void attach_syscalls_stop(struct attach_syscalls *calls);
void attach_syscalls_close(struct attach_syscalls *calls);

/* The samples of a batch as numbers; parts of a call ("read/file:ext4") are left out. */
void attach_syscalls_gather(const struct batch *batch, bool timed, struct syscall_counts *counts);

#endif
