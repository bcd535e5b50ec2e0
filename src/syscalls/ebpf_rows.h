/* From rows that processors have counted to samples: sums, names of calls, and of what they read and wrote. */
#ifndef SONDE_SYSCALLS_EBPF_ROWS_H
#define SONDE_SYSCALLS_EBPF_ROWS_H

#include "model/batch.h"
#include "syscalls/ebpf_module.h"

#include <stdbool.h>

/* Names of instances, made when they are met first, and room for sums. */
struct ebpf_rows {
    struct ebpf_constants constants;
    uint16_t group_number[EBPF_CLASS_GROUPS]; /* of which call; 0 also for none */
    uint32_t group_count;
    uint16_t sigreturn; /* the number of rt_sigreturn */
    const char *names[EBPF_ROWS];
    struct ebpf_block sums;
};

void ebpf_rows_init(struct ebpf_rows *rows);

/* "read/file:ext4", "openat": the instance of a row. systems as in struct ebpf_memory. Stays as long as
 * this process: samples may be under way when nobody counts any more. NULL: memory ran out. */
const char *ebpf_rows_name(struct ebpf_rows *rows, size_t row, const uint64_t *systems);

/* Which rows of a job have been given. */
struct ebpf_rows_reported {
    uint64_t begun_ns; /* when it began to be counted, CLOCK_REALTIME */
    bool rows[EBPF_ROWS];
};

/* Adds the samples of a job. told: a row that is given for the first time has a sample of its beginning before it, in which
 * all is 0: who adds up sees there that what was counted before, of the same job and by somebody else, is not in it. NULL: none
 * has. NOMEM. */
enum err ebpf_rows_sample(struct ebpf_rows *rows, const struct ebpf_memory *memory, const struct ebpf_job_memory *job,
                          const char *job_id, struct ebpf_rows_reported *reported, struct batch *out);

#endif
