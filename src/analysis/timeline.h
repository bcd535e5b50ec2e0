/* Resource usage of a job over time: its sampled series, resampled to a fixed number of equal bins between start and
 * end, so that a day at 10 ms needs no more memory than a minute at 1 s. */
#ifndef SONDE_ANALYSIS_TIMELINE_H
#define SONDE_ANALYSIS_TIMELINE_H

#include "model/run.h"

#define TIMELINE_BINS 480 /* divisible by common terminal widths */
#define TIMELINE_SAMPLES_MIN 4 /* fewer are not drawn */
#define TIMELINE_SOURCES 18 /* metrics that the lines are computed from */

enum timeline_line {
    TIMELINE_CPU,     /* busy cores, average of the bin */
    TIMELINE_MEMORY,  /* resident bytes, maximum of the bin */
    TIMELINE_THREADS, /* running threads, maximum of the bin */
    TIMELINE_STORAGE, /* bytes from and to storage per second, average of the bin */
    TIMELINE_CALLS,   /* bytes read and written by system calls per second, average of the bin */
    TIMELINE_NODE,    /* busy cores of the node, inside and outside the job, average of the bin */
    TIMELINE_STEAL,   /* cores that the hypervisor gave to other guests, average of the bin */
    TIMELINE_IOWAIT,  /* cores of the node that were idle while something waited for storage, average of the bin */
    TIMELINE_LINES,
};

/* A metric on its way into bins: of one series, or of all series of a host. Seconds are in units of a bin. */
struct timeline_spread {
    bool used;
    double sum[TIMELINE_BINS];     /* of value x seconds; for gauges the maximum of the bin */
    double largest[TIMELINE_BINS]; /* of one series */
    double seconds[TIMELINE_BINS]; /* covered by samples, summed over all series */
    double from[TIMELINE_BINS], to[TIMELINE_BINS]; /* first and last position covered */
};

struct timeline {
    uint64_t start_ns, end_ns;
    size_t samples;                      /* of the run with the most samples; 0: the job was never sampled */
    double line[TIMELINE_LINES][TIMELINE_BINS]; /* NAN: unknown */
    struct timeline_spread host[TIMELINE_SOURCES]; /* of the current host; not yet part of the lines */
};

/* Sets all bins to unknown. */
void timeline_init(struct timeline *timeline, uint64_t start_ns, uint64_t end_ns);

/* Adds a series of the sets "tree" (the job's processes), "cgroup" (the same, from an agent) or "stat" (the node);
 * others are ignored. Must be called host by host. */
void timeline_add(struct timeline *timeline, const struct run_series *series);

/* Adds the series of the current host to the lines. Runs that overlap in time are summed up; consecutive ones are not,
 * even within one bin. Overlapping runs measure the same node, which counts once. */
void timeline_end_host(struct timeline *timeline);

/* Limits a line to what is possible, the CPU line to the number of cores: CPU time that one sample missed appears in a later
 * one. limit 0: unknown. */
void timeline_limit(struct timeline *timeline, enum timeline_line line, double limit);

/* Length of a bin in seconds. */
double timeline_bin_s(const struct timeline *timeline);

/* Maximum and average of a line, over the bins with data; NAN if there are none. */
double timeline_peak(const struct timeline *timeline, enum timeline_line line);
double timeline_mean(const struct timeline *timeline, enum timeline_line line);

/* Resamples a line to width columns: averages of rates, maxima of gauges. NAN where nothing is known. */
void timeline_resample(const struct timeline *timeline, enum timeline_line line, double *columns, size_t width);

#endif
