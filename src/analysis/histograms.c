/* The bound is always the last label, as written by appmetrics/samples.c. */
#include "analysis/histograms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKET "_bucket"

/* Returns the position of "le=", and the size of the base name before "_bucket". NULL: not a bucket. */
static const char *bound_of(const char *instance, size_t *base_size)
{
    size_t base = strcspn(instance, "{"), size = strlen(instance), suffix = strlen(BUCKET);
    if (base <= suffix || memcmp(instance + base - suffix, BUCKET, suffix) != 0 || size < base + 7
        || strcmp(instance + size - 2, "\"}") != 0)
        return NULL;
    const char *quote = memrchr(instance + base, '"', size - 2 - base);
    if (!quote || quote < instance + base + 4 || memcmp(quote - 3, "le=", 3) != 0 || !strchr("{,", quote[-4]))
        return NULL;
    *base_size = base - suffix;
    return quote - 3;
}

bool histogram_is_bucket(const char *instance)
{
    size_t base;
    return bound_of(instance, &base) != NULL;
}

/* base{labels}, without the bound. Allocated. */
static char *name_of(const char *instance, const char *bound, size_t base)
{
    const char *labels = instance + base + strlen(BUCKET);
    size_t capacity = strlen(instance) + 1;
    char *name = malloc(capacity);
    bool has_others = bound > labels + 1;
    if (name)
        snprintf(name, capacity, "%.*s%.*s%s", (int)base, instance, has_others ? (int)(bound - labels - 1) : 0, labels,
                has_others ? "}" : "");
    return name;
}

/* One bucket of a histogram. */
struct bucket {
    char *name;
    double bound, count;
    uint32_t series; /* number of series it is summed from */
};

static int compare(const void *a, const void *b)
{
    const struct bucket *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : left->bound < right->bound ? -1 : left->bound > right->bound;
}

/* All buckets, sorted. Allocated; incomplete if memory ran out. */
static struct bucket *buckets_of(const struct job_metrics *metrics, size_t *count)
{
    const struct job_metrics_table *table = &metrics->tables[JOB_METRICS_COUNTER];
    struct bucket *buckets = calloc(table->count + 1, sizeof *buckets);
    *count = 0;
    for (size_t i = 0; buckets && i < table->count; i++) {
        size_t base;
        const char *instance = table->rows[i].instance, *bound = bound_of(instance, &base);
        double value = job_metrics_value(metrics, JOB_METRICS_COUNTER, i, 0);
        char *name = bound && !isnan(value) ? name_of(instance, bound, base) : NULL;
        if (name)
            buckets[(*count)++] = (struct bucket){ name, strtod(bound + strlen("le=\""), NULL), value, table->rows[i].series };
    }
    if (*count)
        qsort(buckets, *count, sizeof *buckets, compare);
    return buckets;
}

/* Builds one histogram from consecutive buckets with the same name, which it takes over. A bound that some runs or
 * hosts do not have is left out, since its count does not cover them; the other bounds stay exact. All have the last,
 * infinite one. */
static enum err gather(struct histogram *histogram, struct bucket *buckets, size_t count)
{
    *histogram = (struct histogram){ .name = buckets[0].name, .sum = NAN };
    buckets[0].name = NULL;
    histogram->bounds = calloc(count, sizeof *histogram->bounds);
    histogram->counts = calloc(count, sizeof *histogram->counts);
    if (!histogram->bounds || !histogram->counts)
        return NOMEM;
    for (size_t i = 0; i < count; i++) {
        if (buckets[i].series < buckets[count - 1].series)
            continue;
        histogram->bounds[histogram->count] = buckets[i].bound;
        histogram->counts[histogram->count++] = buckets[i].count;
    }
    return OK;
}

static enum err group(struct histograms *histograms, struct bucket *buckets, size_t count)
{
    enum err err = OK;
    histograms->list = calloc(count + 1, sizeof *histograms->list);
    if (!histograms->list)
        return NOMEM;
    for (size_t i = 0, end; i < count && !err; i = end) {
        for (end = i + 1; end < count && strcmp(buckets[end].name, buckets[i].name) == 0;)
            end++;
        err = gather(&histograms->list[histograms->count++], buckets + i, end - i);
    }
    return err;
}

static int compare_name(const void *name, const void *histogram)
{
    return strcmp(name, ((const struct histogram *)histogram)->name);
}

/* The histogram that base_sum{labels} or base_count{labels} belongs to; NULL: none. */
static struct histogram *owner_of(const struct histograms *histograms, const char *instance, const char *suffix)
{
    size_t base = strcspn(instance, "{"), size = strlen(suffix);
    if (!histograms->count || base <= size || memcmp(instance + base - size, suffix, size) != 0)
        return NULL;
    size_t capacity = strlen(instance) + 1;
    char *name = malloc(capacity);
    if (!name)
        return NULL;
    snprintf(name, capacity, "%.*s%s", (int)(base - size), instance, instance + base);
    struct histogram *found = bsearch(name, histograms->list, histograms->count, sizeof *histograms->list, compare_name);
    free(name);
    return found;
}

enum err histograms_read(struct histograms *histograms, const struct job_metrics *metrics)
{
    const struct job_metrics_table *table = &metrics->tables[JOB_METRICS_COUNTER];
    size_t count;
    struct bucket *buckets = buckets_of(metrics, &count);
    *histograms = (struct histograms){ 0 };
    enum err err = buckets ? group(histograms, buckets, count) : NOMEM;
    for (size_t i = 0; buckets && i < count; i++)
        free(buckets[i].name);
    free(buckets);
    if (err)
        histograms_clear(histograms);
    for (size_t i = 0; histograms->count && i < table->count; i++) {
        struct histogram *owner = owner_of(histograms, table->rows[i].instance, "_sum");
        if (owner)
            owner->sum = job_metrics_value(metrics, JOB_METRICS_COUNTER, i, 0);
    }
    return err;
}

void histograms_clear(struct histograms *histograms)
{
    for (size_t i = 0; i < histograms->count; i++) {
        free(histograms->list[i].name);
        free(histograms->list[i].bounds);
        free(histograms->list[i].counts);
    }
    free(histograms->list);
    *histograms = (struct histograms){ 0 };
}

bool histograms_have(const struct histograms *histograms, const char *instance)
{
    return histogram_is_bucket(instance) || owner_of(histograms, instance, "_sum") || owner_of(histograms, instance, "_count");
}

double histogram_quantile(const double *bounds, const double *counts, size_t count, double share)
{
    double all = count ? counts[count - 1] : 0, rank = share * all;
    size_t i = 0;
    if (!(all > 0))
        return NAN;
    while (i + 1 < count && counts[i] < rank)
        i++;
    if (isinf(bounds[i]))
        return INFINITY;
    if (i == 0 && bounds[0] <= 0)
        return bounds[0];
    double below = i ? counts[i - 1] : 0, from = i ? bounds[i - 1] : 0, within = counts[i] - below;
    return within > 0 ? from + (bounds[i] - from) * (rank - below) / within : bounds[i];
}
