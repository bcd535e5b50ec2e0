/* Histograms of programs, put together from the series of their buckets: base_bucket{labels,le="0.1"}, base_sum{labels}. From
 * analysis/program_metrics.c to the report. */
#ifndef SONDE_ANALYSIS_HISTOGRAMS_H
#define SONDE_ANALYSIS_HISTOGRAMS_H

#include "analysis/program_metrics.h"

struct histogram {
    char *name;     /* base{labels} */
    double *bounds; /* rising, the last one infinite */
    double *counts; /* how many were not above each: cumulative */
    size_t count;   /* of bounds */
    double sum;     /* NAN: not known */
};

struct histograms {
    struct histogram *list; /* in the order of their names */
    size_t count;
};

/* NOMEM: there are none. */
enum err histograms_read(struct histograms *histograms, const struct told *told);
void histograms_clear(struct histograms *histograms);

/* The value below which this share (0 … 1) of all lies, as far as buckets tell it: evenly spread in each. NAN: there are none;
 * INFINITY: above the last bound. */
double histogram_quantile(const double *bounds, const double *counts, size_t count, double share);

/* Is this series part of a histogram? Only of the buckets is that plain from the name: _sum and _count may be anybody's. */
bool histogram_is_bucket(const char *instance);

/* Is it one of these histograms' buckets, sum or count? */
bool histograms_have(const struct histograms *histograms, const char *instance);

#endif
