/* Colmet's backends and their metrics, for all code that reads or writes Colmet's data: those of the Python version
 * (taskstats_default, …) with the fields of a record in wire order, and those of the Rust version (memory, cpu,
 * perfhw). */
#ifndef SONDE_COMPAT_COLMET_BACKENDS_H
#define SONDE_COMPAT_COLMET_BACKENDS_H

#include "model/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLMET_NAME_SIZE 255     /* of a backend or host name in a record, padded with NUL */
#define COLMET_HEAD_SIZE 526     /* backend, host, u64 job, u64 time in seconds */
#define COLMET_INVOLVED_SIZE 8192 /* of involved_jobs: "[42, 43]", padded with NUL */
#define COLMET_COLUMNS_MAX 72
#define COLMET_PERF_COUNTERS 5
#define COLMET_RAPL_COUNTERS 24
#define COLMET_TEMPERATURE_COUNTERS 6

/* Type of a field in a record, little-endian. In the model: U64, U64, I64, F64. */
enum colmet_type { COLMET_U64, COLMET_U32, COLMET_I64, COLMET_F32 };

struct colmet_column {
    const char *name; /* "cpu_run_virtual_total" */
    enum colmet_type type;
    enum metric_kind kind;
    const char *unit; /* Colmet's unit: "ns", "kB", "1" */
};

enum colmet_backend_id {
    COLMET_TASKSTATS, COLMET_PROCSTATS, COLMET_INFINIBAND, COLMET_LUSTRE, COLMET_PERFHW, COLMET_RAPL, COLMET_TEMPERATURE,
    COLMET_JOBPROC, COLMET_IPMI, COLMET_NVIDIA, /* up to here the Python version, in the order of its messages */
    COLMET_RUST_MEMORY, COLMET_RUST_CPU, COLMET_RUST_PERFHW,
    COLMET_BACKENDS,
};

struct colmet_backend {
    enum colmet_backend_id id;
    const char *name;    /* "taskstats_default", "memory" */
    bool is_of_jobs;     /* false: of nodes, with job 0 */
    bool has_involved;   /* a record ends with involved_jobs */
    const struct colmet_column *columns;
    size_t count;        /* of columns */
    size_t wire_count;   /* number of first columns in a record; Colmet omits the others */
    size_t record_size;  /* 0: Rust version */
};

extern const struct colmet_backend colmet_backends[COLMET_BACKENDS];

/* NULL: unknown name. */
const struct colmet_backend *colmet_backend_find(const char *name);

enum metric_type colmet_model_type(enum colmet_type type);
size_t colmet_type_size(enum colmet_type type);

#endif
