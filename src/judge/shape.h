/* How a job used the machine over time: its sampled series, resampled to a fixed number of equal bins between its start
 * and its end, so that rules and sparklines need no more memory for a day at 10 ms than for a minute at 1 s. */
#ifndef SONDE_JUDGE_SHAPE_H
#define SONDE_JUDGE_SHAPE_H

#include "model/run.h"

#define SHAPE_BINS 480 /* divides well by the widths of terminals */
#define SHAPE_SAMPLES_MIN 4 /* fewer are no curve */
#define SHAPE_MACHINE_METRICS 7 /* of the set "stat" that lines are made of */

enum shape_line {
    SHAPE_CPU,     /* cores busy, average of the bin */
    SHAPE_MEMORY,  /* resident bytes, largest of the bin */
    SHAPE_THREADS, /* alive, largest of the bin */
    SHAPE_STORAGE, /* bytes from and to storage per second, average of the bin */
    SHAPE_CALLS,   /* bytes read and written by system calls per second, average of the bin */
    SHAPE_NODE,    /* cores of the machine that were busy, with the job or with others, average of the bin */
    SHAPE_STEAL,   /* cores that the host of a virtual machine gave to others, average of the bin */
    SHAPE_IOWAIT,  /* cores of the machine that idled while something waited for storage, average of the bin */
    SHAPE_LINES,
};

/* A metric on its way into bins. */
struct shape_spread {
    double value[SHAPE_BINS];  /* rates: sum of rate x seconds; levels: the largest */
    double weight[SHAPE_BINS]; /* seconds that are known */
};

struct shape {
    uint64_t start_ns, end_ns;
    size_t samples;                      /* that had a known value; 0: the job was never sampled */
    double line[SHAPE_LINES][SHAPE_BINS]; /* NAN: not known */
    struct shape_spread machine[SHAPE_MACHINE_METRICS]; /* of the host whose series come now; not in the lines yet */
};

/* All bins unknown. */
void shape_init(struct shape *shape, uint64_t start_ns, uint64_t end_ns);

/* Adds a series of the sets "tree" (the job's processes), "cgroup" (the same, by an agent) or "stat" (the machine); others
 * are ignored. Host by host. Processes of hosts and of runs add up where they overlap. */
void shape_add(struct shape *shape, const struct run_series *series);

/* All series of a host were added: its machine joins the lines. Runs at the same time tell of the same machine, which counts
 * once: where several do, their average. */
void shape_end_host(struct shape *shape);

/* Seconds that one bin stands for. */
double shape_bin_s(const struct shape *shape);

/* Largest value of a line, and its average where it is known; NAN when none is. */
double shape_peak(const struct shape *shape, enum shape_line line);
double shape_mean(const struct shape *shape, enum shape_line line);

/* Puts a line into width columns: averages of rates, maxima of levels. NAN where nothing is known. */
void shape_resample(const struct shape *shape, enum shape_line line, double *columns, size_t width);

#endif
