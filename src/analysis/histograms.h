/* Histograms of programs, assembled from the series of their buckets: base_bucket{labels,le="0.1"}, base_sum{labels}.
 * Reads analysis/job_metrics.c, for the report. */
#ifndef SONDE_ANALYSIS_HISTOGRAMS_H
#define SONDE_ANALYSIS_HISTOGRAMS_H

#include "analysis/job_metrics.h"

struct histogram {
    char *name;     /* base{labels} */
    double *bounds; /* ascending; the last one is infinite */
    double *counts; /* cumulative: observations not above each bound */
    size_t count;   /* of bounds */
    double sum;     /* NAN: unknown */
};

struct histograms {
    struct histogram *list; /* sorted by name */
    size_t count;
};

/* NOMEM: the result is empty. */
enum err histograms_read(struct histograms *histograms, const struct job_metrics *metrics);
void histograms_clear(struct histograms *histograms);

/* The value below which this share (0 to 1) of the observations lies, estimated by interpolating linearly in the
 * bucket. NAN: no observations; INFINITY: above the last finite bound. */
double histogram_quantile(const double *bounds, const double *counts, size_t count, double share);

/* Is this series a bucket of a histogram? Only buckets are recognisable by name: _sum and _count may be ordinary
 * counters. */
bool histogram_is_bucket(const char *instance);

/* Is it a bucket, the sum or the count of one of these histograms? */
bool histograms_have(const struct histograms *histograms, const char *instance);

#endif
