/* From rows that processors have counted to samples: sums, names of calls, and of what they read and wrote. */
#ifndef SONDE_SAMPLE_SYSCALLS_ROWS_H
#define SONDE_SAMPLE_SYSCALLS_ROWS_H

#include "model/batch.h"
#include "sample/bpf_module.h"

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

/* Adds the samples of a job. NOMEM. */
enum err syscalls_rows_give(struct syscalls_rows *rows, const struct bpf_memory *memory, const struct bpf_job *job,
                            const char *job_id, struct batch *out);

#endif
