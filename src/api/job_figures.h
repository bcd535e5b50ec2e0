/* The few numbers of a job, or of the node, that people look at first: from whichever sensor has them. */
#ifndef SONDE_API_JOB_FIGURES_H
#define SONDE_API_JOB_FIGURES_H

#include "net/json.h"
#include "model/view.h"

/* X(name): the counters among them only grow. */
#define FIGURES_LIST(X) \
    X(cpu_us) X(memory_bytes) X(memory_limit_bytes) X(read_bytes) X(write_bytes) X(tasks) X(energy_uj) X(power_mw) \
    X(load_milli) X(cpus)

enum figures_place {
#define X(name) FIGURES_##name,
    FIGURES_LIST(X)
#undef X
    FIGURES_SIZE,
};

struct figures {
    struct figures_value {
        uint64_t value, time_ns; /* when it was read; 0: it is not known */
        unsigned rank;           /* of the sensor that gave it: less is better */
    } values[FIGURES_SIZE];
};

/* All of the jobs, by their slots, and of the node. */
struct figures_all {
    struct figures node, *jobs;
    size_t job_count; /* slots */
};

enum err figures_read(struct figures_all *all, const struct view *view);
void figures_clear(struct figures_all *all);

/* Adds those of one more node, as far as they are known. */
void figures_sum(struct figures *sum, const struct figures *more);

/* "figures": {"cpu_us": [VALUE, TIME_NS], …}, those that are known. */
void figures_write(struct json *json, const struct figures *figures);

#endif
