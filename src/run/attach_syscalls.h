/* The two ways in which sonde attach counts system calls: with eBPF as root, which does not affect the program;
 * otherwise with ptrace. */
#ifndef SONDE_RUN_ATTACH_SYSCALLS_H
#define SONDE_RUN_ATTACH_SYSCALLS_H

#include "model/program_sets.h"
#include "syscalls/ebpf.h"
#include "syscalls/tracer.h"
#include "syscalls/tracer_process.h"
#include "run/attach_tree.h"

struct attach_syscalls {
    enum syscall_way way;
    int end_fd; /* readable when attach_syscalls_are_over should be called */
    bool is_orphaned; /* the process has ended, but other counted processes have not: poll */
    struct tracer_process tracer;
    struct ebpf *syscalls;
    struct ebpf_job *job;
    struct attach_tree *tree; /* borrowed */
};

struct attach_syscalls_settings {
    pid_t pid;
    bool timed;
    bool wants_ptrace;                /* do not try eBPF */
    struct attach_tree *tree;
    const struct tracer_listener *processes; /* receives process events if a tracer counts; NULL: none */
};

/* Starts to count pid, its threads and all descendants. Errors are those of tracer_seize; error gets the reason why
 * eBPF is not used. */
enum err attach_syscalls_open(struct attach_syscalls *calls, const struct attach_syscalls_settings *settings, char *error,
                           size_t error_size);

/* Adds a sample for each system call counted so far. */
void attach_syscalls_read(const struct attach_syscalls *calls, struct batch *out);

/* No monitored process is left. */
bool attach_syscalls_are_over(struct attach_syscalls *calls);

/* The monitored processes, including those whose parents have ended; only with eBPF. */
enum err attach_syscalls_list(const struct attach_syscalls *calls, struct pidlist *pids);

size_t attach_syscalls_alive(const struct attach_syscalls *calls); /* number of monitored threads */

/* Detaches; counts may be read until attach_syscalls_close. */
void attach_syscalls_stop(struct attach_syscalls *calls);
void attach_syscalls_close(struct attach_syscalls *calls);

/* Converts the samples of a batch; sub-counts ("read/file:ext4") are skipped. */
void attach_syscalls_gather(const struct batch *batch, bool timed, struct syscall_counts *counts);

#endif
