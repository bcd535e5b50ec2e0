/* What the module sample-bpf.so gives to ebpf.c: programs in the kernel, and memory that both see. */
#ifndef SONDE_SYSCALLS_EBPF_MODULE_H
#define SONDE_SYSCALLS_EBPF_MODULE_H

#include "base/err.h"
#include "syscalls/ebpf_layout.h"

#include <stdbool.h>
#include <stddef.h>

#define EBPF_MODULE_VERSION 2
#define EBPF_MODULE_SYMBOL "sonde_bpf"

struct ebpf_programs;

/* Valid until it is closed. */
struct ebpf_memory {
    uint16_t *owners; /* by the number of a thread; see ebpf_layout.h */
    uint32_t owner_count;
    uint8_t *wanted;  /* by the number of a job: EBPF_JOBS_MAX of them */
    const uint64_t *systems; /* EBPF_FILE_SYSTEMS magic numbers */
    uint32_t cpu_count;
};

/* The numbers of one job: an element for each processor. */
struct ebpf_job_memory {
    uint32_t number;
    const struct ebpf_block *blocks;
    const struct ebpf_time_block *times; /* NULL: without time */
};

/* What stands in syscalls.bpf.c as const volatile. */
struct ebpf_constants {
    uint8_t results[EBPF_CALLS];
    uint16_t numbers_32[EBPF_CALLS];
    uint16_t lost_number, exit_numbers[2], fork_numbers[EBPF_FORK_CALLS];
};

struct ebpf_module {
    uint32_t version;

    /* Loads and attaches. may: EBPF_MAY_TIME, EBPF_MAY_WATCH_CGROUPS. ABSENT, DENIED: why says more. */
    enum err (*open)(struct ebpf_programs **programs, unsigned may, const struct ebpf_constants *constants,
                     struct ebpf_memory *memory, char *error,
                     size_t error_size);
    void (*close)(struct ebpf_programs **programs); /* jobs that were added need not be stopped, but removed before */

    /* Room for the numbers of a job; nothing is counted before wanted has EBPF_JOB_ACTIVE. NOMEM, DENIED, IO; ABSENT: no time
     * without EBPF_MAY_TIME. */
    enum err (*add)(struct ebpf_programs *programs, uint32_t number, bool with_time, struct ebpf_job_memory *job);

    enum err (*add_time)(struct ebpf_programs *programs, struct ebpf_job_memory *job); /* to one that has none yet */

    /* When it returns nobody adds to the numbers any more. */
    void (*stop)(struct ebpf_programs *programs, const struct ebpf_job_memory *job);
    void (*remove)(struct ebpf_programs *programs, struct ebpf_job_memory *job);

    /* Who comes into this control group, or one below it, is of the job from then on. ABSENT: the kernel does not tell. */
    enum err (*add_group)(struct ebpf_programs *programs, uint32_t number, const struct ebpf_cgroup *group);
    void (*remove_group)(struct ebpf_programs *programs, const struct ebpf_cgroup *group);

    /* A call of this thread that is under way, and whose beginning is not known, is taken to begin now; or it has none. */
    void (*start_clock)(struct ebpf_programs *programs, uint32_t pid);
    void (*forget_clock)(struct ebpf_programs *programs, uint32_t pid);
};

#endif
