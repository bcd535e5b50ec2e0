/* Converts the rows counted per CPU to samples: sums, names of calls, and classes of descriptors. */
#ifndef SONDE_SYSCALLS_EBPF_ROWS_H
#define SONDE_SYSCALLS_EBPF_ROWS_H

#include "model/batch.h"
#include "syscalls/ebpf_module.h"

#include <stdbool.h>

/* Cached instance names, and memory for sums. */
struct ebpf_rows {
    struct ebpf_constants constants;
    uint16_t group_number[EBPF_CLASS_GROUPS]; /* the call of each class group; 0 also for none */
    uint32_t group_count;
    uint16_t sigreturn; /* number of rt_sigreturn */
    const char *names[EBPF_ROWS];
    struct ebpf_block sums;
};

void ebpf_rows_init(struct ebpf_rows *rows);

/* The instance name of a row: "read/file:ext4", "openat". systems as in struct ebpf_memory. Valid for the life of this
 * process, because samples may outlive the counting. NULL: no memory. */
const char *ebpf_rows_name(struct ebpf_rows *rows, size_t row, const uint64_t *systems);

/* Which rows of a job have been reported. */
struct ebpf_rows_reported {
    uint64_t begun_ns; /* when counting began, CLOCK_REALTIME */
    bool rows[EBPF_ROWS];
};

/* Adds the samples of a job. reported: a row that is reported for the first time is preceded by a sample with zeros,
 * which tells readers that earlier counts of the same job by someone else are not included. NULL: no such samples.
 * NOMEM. */
enum err ebpf_rows_sample(struct ebpf_rows *rows, const struct ebpf_memory *memory, const struct ebpf_job_memory *job,
                          const char *job_id, struct ebpf_rows_reported *reported, struct batch *out);

#endif
