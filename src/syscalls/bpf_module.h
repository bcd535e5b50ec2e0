/* What the module sample-bpf.so gives to syscalls.c: programs in the kernel, and memory that both see. */
#ifndef SONDE_SYSCALLS_BPF_MODULE_H
#define SONDE_SYSCALLS_BPF_MODULE_H

#include "base/err.h"
#include "syscalls/syscalls_layout.h"

#include <stdbool.h>
#include <stddef.h>

#define BPF_MODULE_VERSION 2
#define BPF_MODULE_SYMBOL "sonde_bpf"

struct bpf;

/* Valid until it is closed. */
struct bpf_memory {
    uint16_t *owners; /* by the number of a thread; see syscalls_layout.h */
    uint32_t owner_count;
    uint8_t *wanted;  /* by the number of a job: SYSCALLS_JOBS of them */
    const uint64_t *systems; /* SYSCALLS_SYSTEMS magic numbers */
    uint32_t cpu_count;
};

/* The numbers of one job: an element for each processor. */
struct bpf_job {
    uint32_t number;
    const struct syscalls_block *blocks;
    const struct syscalls_time_block *times; /* NULL: without time */
};

/* What stands in syscalls.bpf.c as const volatile. */
struct bpf_constants {
    uint8_t results[SYSCALLS_NUMBERS];
    uint16_t numbers_32[SYSCALLS_NUMBERS];
    uint16_t lost_number, exit_numbers[2], birth_numbers[SYSCALLS_BIRTHS];
};

struct bpf_module {
    uint32_t version;

    /* Loads and attaches. may: SYSCALLS_MAY_TIME, SYSCALLS_MAY_JOIN. ABSENT, DENIED: why says more. */
    enum err (*open)(struct bpf **bpf, unsigned may, const struct bpf_constants *constants, struct bpf_memory *memory, char *why,
                     size_t why_size);
    void (*close)(struct bpf **bpf); /* jobs that were added need not be stopped, but removed before */

    /* Room for the numbers of a job; nothing is counted before wanted has SYSCALLS_ACTIVE. NOMEM, DENIED, IO; ABSENT: no time
     * without SYSCALLS_MAY_TIME. */
    enum err (*add)(struct bpf *bpf, uint32_t number, bool with_time, struct bpf_job *job);

    enum err (*add_time)(struct bpf *bpf, struct bpf_job *job); /* to one that has none yet */

    /* When it returns nobody adds to the numbers any more. */
    void (*stop)(struct bpf *bpf, const struct bpf_job *job);
    void (*remove)(struct bpf *bpf, struct bpf_job *job);

    /* Who comes into this control group, or one below it, is of the job from then on. ABSENT: the kernel does not tell. */
    enum err (*add_group)(struct bpf *bpf, uint32_t number, const struct syscalls_group *group);
    void (*remove_group)(struct bpf *bpf, const struct syscalls_group *group);

    /* A call of this thread that is under way, and whose beginning is not known, is taken to begin now; or it has none. */
    void (*start_clock)(struct bpf *bpf, uint32_t pid);
    void (*forget_clock)(struct bpf *bpf, uint32_t pid);
};

#endif
