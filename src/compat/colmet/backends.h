/* What Colmet's programs measure, by its names: the backends of the Python line (taskstats_default, …) with the fields of
 * their records in the order of the wire, and those of the Rust line (memory, cpu, perfhw). One table for all who read
 * or write Colmet's data. */
#ifndef SONDE_COMPAT_COLMET_BACKENDS_H
#define SONDE_COMPAT_COLMET_BACKENDS_H

#include "model/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLMET_NAME_SIZE 255     /* of a backend or host in a record, NUL padded */
#define COLMET_HEAD_SIZE 526     /* backend, host, u64 job, u64 time in s */
#define COLMET_INVOLVED_SIZE 8192 /* of involved_jobs: "[42, 43]", NUL padded */
#define COLMET_COLUMNS_MAX 72
#define COLMET_PERF_COUNTERS 5
#define COLMET_RAPL_COUNTERS 24
#define COLMET_TEMPERATURE_COUNTERS 6

/* How a field stands in a record, little-endian. The model's type is U64, U64, I64, F64. */
enum colmet_type { COLMET_U64, COLMET_U32, COLMET_I64, COLMET_F32 };

struct colmet_column {
    const char *name; /* "cpu_run_virtual_total" */
    enum colmet_type type;
    enum metric_kind kind;
    const char *unit; /* as Colmet has it: "ns", "kB", "1" */
};

enum colmet_backend_id {
    COLMET_TASKSTATS, COLMET_PROCSTATS, COLMET_INFINIBAND, COLMET_LUSTRE, COLMET_PERFHW, COLMET_RAPL, COLMET_TEMPERATURE,
    COLMET_JOBPROC, COLMET_IPMI, COLMET_NVIDIA, /* so far the Python line, in the order of its messages */
    COLMET_RUST_MEMORY, COLMET_RUST_CPU, COLMET_RUST_PERFHW,
    COLMET_BACKENDS,
};

struct colmet_backend {
    enum colmet_backend_id id;
    const char *name;    /* "taskstats_default", "memory" */
    bool is_of_jobs;     /* else of nodes: job 0 */
    bool has_involved;   /* involved_jobs stands behind the columns of a record */
    const struct colmet_column *columns;
    size_t count;        /* of columns, … */
    size_t wire_count;   /* … of which the first so many are in a record; the others were forgotten there */
    size_t record_size;  /* 0: of the Rust line */
};

extern const struct colmet_backend colmet_backends[COLMET_BACKENDS];

/* NULL: Colmet has none of this name. */
const struct colmet_backend *colmet_backend_find(const char *name);

enum metric_type colmet_model_type(enum colmet_type type);
size_t colmet_type_size(enum colmet_type type);

#endif
