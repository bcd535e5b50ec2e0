/* Key figures of jobs and of the node (CPU, memory, I/O, energy), each from the best sampler that has it. Part of
 * GET /jobs. */
#ifndef SONDE_API_JOB_FIGURES_H
#define SONDE_API_JOB_FIGURES_H

#include "net/json.h"
#include "model/view.h"

/* X(name), as in JSON. */
#define JOB_FIGURES_LIST(X) \
    X(cpu_us) X(memory_bytes) X(memory_limit_bytes) X(read_bytes) X(write_bytes) X(tasks) X(energy_uj) X(power_mw) \
    X(load_milli) X(cpus)

enum job_figure_index {
#define X(name) JOB_FIGURES_##name,
    JOB_FIGURES_LIST(X)
#undef X
    JOB_FIGURES_SIZE,
};

struct job_figures {
    struct job_figure {
        uint64_t value, time_ns; /* of the sample; 0: unknown */
        unsigned rank;           /* of its source: lower is better */
    } values[JOB_FIGURES_SIZE];
};

/* The figures of all jobs, by slot, and of the node. */
struct job_figures_all {
    struct job_figures node, *jobs;
    size_t job_count; /* number of slots */
};

enum err job_figures_read(struct job_figures_all *all, const struct view *view);
void job_figures_clear(struct job_figures_all *all);

/* Adds the known figures of one more node. */
void job_figures_sum(struct job_figures *sum, const struct job_figures *more);

/* "figures": {"cpu_us": [VALUE, TIME_NS], …}, without unknown ones. */
void job_figures_write(struct json *json, const struct job_figures *figures);

#endif
