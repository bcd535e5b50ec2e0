/* The interface between ebpf.c and the module sample-bpf.so: programs in the kernel, and memory shared with them. */
#ifndef SONDE_SYSCALLS_EBPF_MODULE_H
#define SONDE_SYSCALLS_EBPF_MODULE_H

#include "base/err.h"
#include "syscalls/ebpf_layout.h"

#include <stdbool.h>
#include <stddef.h>

#define EBPF_MODULE_VERSION 2
#define EBPF_MODULE_SYMBOL "sonde_bpf"

struct ebpf_programs;

/* Valid until close. */
struct ebpf_memory {
    uint16_t *owners; /* by tid; see ebpf_layout.h */
    uint32_t owner_count;
    uint8_t *wanted;  /* EBPF_JOB_… flags by job number, EBPF_JOBS_MAX of them */
    const uint64_t *systems; /* magic numbers of EBPF_FILE_SYSTEMS file systems */
    uint32_t cpu_count;
};

/* The counts of one job: one element per CPU. */
struct ebpf_job_memory {
    uint32_t number;
    const struct ebpf_block *blocks;
    const struct ebpf_time_block *times; /* NULL: times are not measured */
};

/* The const volatile variables of ebpf.bpf.c. */
struct ebpf_constants {
    uint8_t results[EBPF_CALLS];
    uint16_t numbers_32[EBPF_CALLS];
    uint16_t lost_number, exit_numbers[2], fork_numbers[EBPF_FORK_CALLS];
};

struct ebpf_module {
    uint32_t version;

    /* Loads and attaches the programs. may: EBPF_MAY_…. ABSENT, DENIED: error says more. */
    enum err (*open)(struct ebpf_programs **programs, unsigned may, const struct ebpf_constants *constants,
                     struct ebpf_memory *memory, char *error,
                     size_t error_size);
    void (*close)(struct ebpf_programs **programs); /* jobs must have been removed, but need not be stopped */

    /* Allocates the counts of a job; counting starts when its flags have EBPF_JOB_ACTIVE. NOMEM, DENIED, IO; ABSENT:
     * times requested without EBPF_MAY_TIME. */
    enum err (*add)(struct ebpf_programs *programs, uint32_t number, bool with_time, struct ebpf_job_memory *job);

    enum err (*add_time)(struct ebpf_programs *programs, struct ebpf_job_memory *job); /* to a job without times */

    /* After it returns, the counts no longer change. */
    void (*stop)(struct ebpf_programs *programs, const struct ebpf_job_memory *job);
    void (*remove)(struct ebpf_programs *programs, struct ebpf_job_memory *job);

    /* Tasks that enter this cgroup or one below it belong to the job from then on. ABSENT: the kernel does not report
     * it. */
    enum err (*add_group)(struct ebpf_programs *programs, uint32_t number, const struct ebpf_cgroup *group);
    void (*remove_group)(struct ebpf_programs *programs, const struct ebpf_cgroup *group);

    /* Starts the clock of a call in progress whose start is unknown, or clears it. */
    void (*start_clock)(struct ebpf_programs *programs, uint32_t pid);
    void (*forget_clock)(struct ebpf_programs *programs, uint32_t pid);
};

#endif
