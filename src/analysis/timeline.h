/* How a job used the machine over time: its sampled series, resampled to a fixed number of equal bins between its start
 * and its end, so that rules and sparklines need no more memory for a day at 10 ms than for a minute at 1 s. */
#ifndef SONDE_ANALYSIS_TIMELINE_H
#define SONDE_ANALYSIS_TIMELINE_H

#include "model/run.h"

#define SHAPE_BINS 480 /* divides well by the widths of terminals */
#define SHAPE_SAMPLES_MIN 4 /* fewer are no curve */
#define SHAPE_SOURCES 18 /* metrics that lines are made of */

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

/* A metric on its way into bins: of one series, or of all of a host. Seconds in parts of a bin. */
struct shape_spread {
    bool used;
    double sum[SHAPE_BINS];     /* of value x seconds; a level is the largest in the bin */
    double largest[SHAPE_BINS]; /* of one series */
    double seconds[SHAPE_BINS]; /* that are known, of all series */
    double from[SHAPE_BINS], to[SHAPE_BINS]; /* between which they are */
};

struct shape {
    uint64_t start_ns, end_ns;
    size_t samples;                      /* of the run that has most, with a known value; 0: the job was never sampled */
    double line[SHAPE_LINES][SHAPE_BINS]; /* NAN: not known */
    struct shape_spread host[SHAPE_SOURCES]; /* of the one whose series come now; not in the lines yet */
};

/* All bins unknown. */
void shape_init(struct shape *shape, uint64_t start_ns, uint64_t end_ns);

/* Adds a series of the sets "tree" (the job's processes), "cgroup" (the same, by an agent) or "stat" (the machine); others
 * are ignored. Host by host. */
void shape_add(struct shape *shape, const struct run_series *series);

/* All series of a host were added: they join the lines. Processes of runs add up where these overlap, and do not where one
 * comes after the other, in one bin too. Runs at the same time tell of the same machine, which counts once. */
void shape_end_host(struct shape *shape);

/* Seconds that one bin stands for. */
double shape_bin_s(const struct shape *shape);

/* Largest value of a line, and its average where it is known; NAN when none is. */
double shape_peak(const struct shape *shape, enum shape_line line);
double shape_mean(const struct shape *shape, enum shape_line line);

/* Puts a line into width columns: averages of rates, maxima of levels. NAN where nothing is known. */
void shape_resample(const struct shape *shape, enum shape_line line, double *columns, size_t width);

#endif
