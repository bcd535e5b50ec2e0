/* Empties the list of changed cells. The four metrics of a system call are one sample: whichever has changed, it is
 * written once, with the cell that counts the calls. */
#include "appmetrics/program_samples.h"

#include "model/program_sets.h"
#include "appmetrics/registry.h"
#include "model/prom_number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MAX 128

static void add_counter(struct batch *batch, const char *instance, const struct cell *cell, double value,
                        uint64_t time_ns)
{
    struct sample *sample = batch_add(batch, &program_counter_set, time_ns, instance);
    if (!sample)
        return;
    sample->job = cell->scope->id;
    sample_set_f64(sample, PROGRAM_COUNTER_TOTAL, value);
}

/* If no live program has set it, only the number of programs is known. */
static void add_gauge(struct batch *batch, const struct cell *cell, uint64_t time_ns)
{
    const struct gauge_sum *gauge = &cell->gauge;
    cells_refresh_gauges(cell->metric);
    struct sample *sample = batch_add(batch, &program_gauge_set, time_ns, cell->metric->name.text);
    if (!sample)
        return;
    sample->job = cell->scope->id;
    sample_set_u64(sample, PROGRAM_GAUGE_PROGRAMS, gauge->programs);
    if (!gauge->programs)
        return;
    sample_set_f64(sample, PROGRAM_GAUGE_SUM, gauge->sum);
    sample_set_f64(sample, PROGRAM_GAUGE_MIN, gauge->min);
    sample_set_f64(sample, PROGRAM_GAUGE_MAX, gauge->max);
    sample_set_f64(sample, PROGRAM_GAUGE_MEAN, gauge->sum / (double)gauge->programs);
}

/* The name of its samples without labels. */
static struct bytes base_of(const struct program_metric *metric)
{
    if (metric->is_renamed)
        return (struct bytes){ metric->page.text, metric->page.base_size };
    return (struct bytes){ metric->name.text, metric->name.base_size };
}

/* base + suffix{labels}; owned by the metric. */
static const char *name_with(struct program_metric *metric, size_t which, const char *suffix)
{
    if (!metric->sample_names.parts[which]) {
        struct bytes base = base_of(metric);
        size_t size = base.size + strlen(suffix) + metric->name.size + 1;
        char *name = metric->sample_names.parts[which] = malloc(size);
        if (name)
            snprintf(name, size, "%.*s%s%s", (int)base.size, base.data, suffix, metric->name.text + metric->name.base_size);
    }
    return metric->sample_names.parts[which];
}

/* base_bucket{labels,le="0.1"}: the bound is last, where analysis/histograms.c expects it. */
static const char *bucket_name(struct program_metric *metric, size_t i)
{
    char bound[PROM_NUMBER_MAX + 1] = "+Inf";
    if (!metric->sample_names.buckets)
        metric->sample_names.buckets = calloc(metric->bound_count + 1, sizeof *metric->sample_names.buckets);
    if (!metric->sample_names.buckets || metric->sample_names.buckets[i])
        return metric->sample_names.buckets ? metric->sample_names.buckets[i] : NULL;
    if (i < metric->bound_count)
        bound[prom_number_f64(bound, metric->bounds[i])] = '\0';
    const char *labels = metric->name.text + metric->name.base_size;
    struct bytes base = base_of(metric);
    size_t size = strlen(labels), name_size = base.size + metric->name.size + sizeof bound + 32;
    metric->sample_names.buckets[i] = malloc(name_size);
    if (metric->sample_names.buckets[i])
        snprintf(metric->sample_names.buckets[i], name_size, "%.*s_bucket%.*s%sle=\"%s\"}", (int)base.size, base.data,
                 size ? (int)size - 1 : 0, labels, size > 2 ? "," : size ? "" : "{", bound);
    return metric->sample_names.buckets[i];
}

/* Those that have changed. The second half of cell->buckets holds the last cumulative counts plus 1; 0: none yet. */
static void add_buckets(struct batch *batch, const struct cell *cell, uint64_t time_ns)
{
    size_t count = cell->metric->bound_count + 1;
    double below = 0, *sampled = cell->buckets + count;
    for (size_t i = 0; i < count; i++) {
        below += cell->buckets[i];
        const char *name = sampled[i] == below + 1 ? NULL : bucket_name(cell->metric, i);
        if (!name)
            continue;
        add_counter(batch, name, cell, below, time_ns);
        sampled[i] = below + 1;
    }
}

static void add_histogram(struct batch *batch, const struct cell *cell, uint64_t time_ns)
{
    const char *count_name = name_with(cell->metric, 0, "_count"), *sum_name = name_with(cell->metric, 1, "_sum");
    double count = 0;
    for (size_t i = 0; i <= cell->metric->bound_count; i++)
        count += cell->buckets[i];
    if (!count_name || !sum_name)
        return;
    add_counter(batch, count_name, cell, count, time_ns);
    add_counter(batch, sum_name, cell, cell->total, time_ns);
    add_buckets(batch, cell, time_ns);
}

/* The call of "syscall_bytes_total{call=\"read\"}". False: it is no metric of a system call. */
static bool call_of(const struct program_metric *metric, char call[CALL_MAX])
{
    static const char front[] = "{call=\"";
    const char *labels = metric->name.text + metric->name.base_size;
    if (strncmp(metric->name.text, "syscall_", 8) != 0 || strncmp(labels, front, sizeof front - 1) != 0)
        return false;
    const char *begin = labels + sizeof front - 1;
    size_t size = strcspn(begin, "\"\\");
    if (size >= CALL_MAX || strcmp(begin + size, "\"}") != 0)
        return false;
    memcpy(call, begin, size);
    call[size] = '\0';
    return true;
}

static struct cell *cell_named(struct registry *registry, const char *base, const char *call,
                                       struct scope *scope)
{
    char name[CALL_MAX + 64];
    snprintf(name, sizeof name, "%s{call=\"%s\"}", base, call);
    struct program_metric *metric = metric_table_find(&registry->metrics, bytes_of(name));
    return metric && metric->kind == PROGRAM_COUNTER ? registry_cell(registry, metric, scope) : NULL;
}

static const char *call_name(struct program_metric *metric, const char *call)
{
    if (!metric->sample_names.parts[0])
        metric->sample_names.parts[0] = strdup(call);
    return metric->sample_names.parts[0];
}

/* What programs have reported of a call on top of what the kernel has counted; or that this begins at 0. */
static void add_call_sample(struct registry *registry, struct batch *batch, struct cell *leader, const char *instance,
                            uint64_t time_ns)
{
    static const char *const bases[SYSCALL_SIZE] = {
        [SYSCALL_CALLS] = "syscall_calls_total", [SYSCALL_ERRORS] = "syscall_errors_total",
        [SYSCALL_BYTES] = "syscall_bytes_total", [SYSCALL_TIME] = "syscall_seconds_total",
    };
    struct sample *sample = batch_add(batch, &syscall_set, time_ns, instance);
    for (size_t i = 0; sample && i < SYSCALL_SIZE; i++) {
        const struct cell *part = cell_named(registry, bases[i], instance, leader->scope);
        double reported = !part ? -1 : leader->sampling.must_restart ? 0 : part->total - part->sampling.from_kernel;
        double value = reported * (i == SYSCALL_TIME ? 1e9 : 1);
        if (value >= 0 && value < 1.8e19)
            sample_set_u64(sample, i, (uint64_t)value);
    }
    if (sample)
        sample->job = leader->scope->id;
}

static void add_call(struct registry *registry, struct batch *batch, const struct cell *cell, const char *call,
                     uint64_t time_ns)
{
    struct cell *leader = cell_named(registry, "syscall_calls_total", call, cell->scope);
    const char *instance = leader ? call_name(leader->metric, call) : NULL;
    struct cell_sampling *sampling = leader ? &leader->sampling : NULL;
    if (!instance || sampling->time_ns == time_ns || (sampling->must_restart && leader->total <= sampling->from_kernel))
        return;
    sampling->time_ns = time_ns;
    if (sampling->must_restart)
        add_call_sample(registry, batch, leader, instance, time_ns - 1);
    sampling->must_restart = false;
    add_call_sample(registry, batch, leader, instance, time_ns);
}

/* The MPI calls of ranks have samples of their own: mpi_rank_sums.h. */
static bool is_of_ranks(const struct program_metric *metric)
{
    if (strcmp(metric->name.text, "mpi_life_seconds_total") == 0 || strcmp(metric->name.text, "mpi_threads_total") == 0)
        return true;
    const char *labels = metric->name.text + metric->name.base_size;
    return strncmp(metric->name.text, "mpi_", 4) == 0 && strncmp(labels, "{function=\"MPI", 14) == 0;
}

static void add_cell(struct registry *registry, struct batch *batch, struct cell *cell, uint64_t time_ns)
{
    struct program_metric *metric = cell->metric;
    const struct scope *scope = cell->scope;
    char call[CALL_MAX];
    if (metric->is_alias || is_of_ranks(metric) || scope->kind == SCOPE_USER
        || (scope->kind == SCOPE_JOB && !scope->job.is_known))
        return;
    if (metric->kind == PROGRAM_GAUGE)
        add_gauge(batch, cell, time_ns);
    else if (metric->kind == PROGRAM_HISTOGRAM)
        add_histogram(batch, cell, time_ns);
    else if (cell_is_counted_by_kernel(cell))
        return; /* the sampler writes them */
    else if (call_of(metric, call))
        add_call(registry, batch, cell, call, time_ns);
    else if (!metric->is_renamed)
        add_counter(batch, metric->name.text, cell, cell->total, time_ns);
    else if (name_with(metric, 0, ""))
        add_counter(batch, metric->sample_names.parts[0], cell, cell->total, time_ns);
}

void program_samples_add(struct registry *registry, struct batch *batch, uint64_t time_ns)
{
    registry_lock(registry);
    registry_free_evicted(registry);
    for (struct cell *cell; (cell = LIST_FIRST(&registry->scopes.changed));) {
        cell_clear_changed(cell);
        add_cell(registry, batch, cell, time_ns);
    }
    registry_unlock(registry);
}
