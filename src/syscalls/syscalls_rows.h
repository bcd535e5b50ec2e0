/* From rows that processors have counted to samples: sums, names of calls, and of what they read and wrote. */
#ifndef SONDE_SYSCALLS_SYSCALLS_ROWS_H
#define SONDE_SYSCALLS_SYSCALLS_ROWS_H

#include "model/batch.h"
#include "syscalls/bpf_module.h"

#include <stdbool.h>

/* Names of instances, made when they are met first, and room for sums. */
struct syscalls_rows {
    struct bpf_constants constants;
    uint16_t group_number[SYSCALLS_GROUPS]; /* of which call; 0 also for none */
    uint32_t group_count;
    uint16_t sigreturn; /* the number of rt_sigreturn */
    const char *names[SYSCALLS_ROWS];
    struct syscalls_block sums;
};

void syscalls_rows_init(struct syscalls_rows *rows);

/* "read/file:ext4", "openat": the instance of a row. systems as in struct bpf_memory. Stays as long as
 * this process: samples may be under way when nobody counts any more. NULL: memory ran out. */
const char *syscalls_rows_name(struct syscalls_rows *rows, size_t row, const uint64_t *systems);

/* Which rows of a job have been given. */
struct syscalls_rows_told {
    uint64_t begun_ns; /* when it began to be counted, CLOCK_REALTIME */
    bool rows[SYSCALLS_ROWS];
};

/* Adds the samples of a job. told: a row that is given for the first time has a sample of its beginning before it, in which
 * all is 0: who adds up sees there that what was counted before, of the same job and by somebody else, is not in it. NULL: none
 * has. NOMEM. */
enum err syscalls_rows_give(struct syscalls_rows *rows, const struct bpf_memory *memory, const struct bpf_job *job,
                            const char *job_id, struct syscalls_rows_told *told, struct batch *out);

#endif
