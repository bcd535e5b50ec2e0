/* Other sets are passed through; converted ones get new arrays of values. */
#include "compat/ldms/batch.h"

#include "base/hash.h"
#include "base/vec.h"
#include "compat/ldms/dstat.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 80

/* procstat2: times per CPU, and counts of the node. Names as in the sets stat and stat_cpu. */
#define TIMES(X) X(user) X(nice) X(system) X(idle) X(iowait) X(irq) X(softirq) X(steal) X(guest) X(guest_nice)
#define TIMES_COUNT 10

static const struct metric stat_metrics[] = {
#define X(name) { #name, "us", COUNTER, U64, "", "cpu_list_" #name },
    TIMES(X)
#undef X
    { "interrupts", "1", COUNTER, U64, "", "intr" }, { "context_switches", "1", COUNTER, U64, "", "ctxt" },
    { "boot_time", "s", GAUGE, U64, "", "btime" }, { "forks", "1", COUNTER, U64, "", "processes" },
    { "running", "1", GAUGE, U64, "", "procs_running" }, { "blocked", "1", GAUGE, U64, "", "procs_blocked" },
    { "softirqs", "1", COUNTER, U64, "", "softirq" },
};
#define STAT_SIZE (sizeof stat_metrics / sizeof *stat_metrics)

static const struct set stat_set = { "stat", stat_metrics, STAT_SIZE, "cpu" };

/* A set of interrupts with a column per interrupt and CPU. */
struct ldms_wide {
    struct set set;
    size_t cpus, keys, errors;
    struct metric *metrics;
    char (*names)[NAME_SIZE];
    struct ldms_wide *next; /* list of those to free at the next call */
};

static bool is_of(const struct sample *sample, const char *set)
{
    return !sample->job && strcmp(sample->set->name, set) == 0;
}

static void set_value(const struct sample *to, size_t at, const struct sample *from, size_t i)
{
    ((union value *)to->values)[at] = from->values[i];
    ((uint8_t *)to->known)[at] = from->known ? from->known[i] : 1;
}

/* Number of samples, from this one on, of the same set and time. */
static size_t run_of(const struct batch *batch, size_t first, const char *set)
{
    size_t count = 0;
    const struct sample *one = &batch->samples[first];
    while (first + count < batch->count && is_of(&batch->samples[first + count], set)
           && batch->samples[first + count].time_ns == one->time_ns)
        count++;
    return count;
}

static struct sample *add(struct ldms_batch *ldms, const struct set *set, const struct sample *like, const char *instance)
{
    struct batch *out = &ldms->batch;
    struct sample *sample = &ldms->converted[ldms->converted_count++];
    *sample = *like;
    sample->set = set;
    sample->instance = instance;
    sample->values = out->values + out->values_used;
    sample->known = memset(out->known + out->values_used, 0, set->size);
    out->values_used += set->size;
    return sample;
}

/* Copies metrics by name; their order is usually the same. */
static void copy_metrics(const struct sample *to, size_t first, size_t count, const struct sample *from)
{
    const struct set *set = from->set;
    for (size_t at = first; at < first + count; at++) {
        size_t i = at < set->size && strcmp(set->metrics[at].name, stat_metrics[at].name) == 0 ? at : 0;
        while (i < set->size && strcmp(set->metrics[i].name, stat_metrics[at].name) != 0)
            i++;
        if (i < set->size && set->metrics[i].type == U64)
            set_value(to, at, from, i);
    }
}

/* The total, which LDMS calls cpu, then each CPU; the counts are in all rows. Returns the number of samples used. */
static size_t add_stat(struct ldms_batch *ldms, const struct batch *batch, size_t first)
{
    const struct sample *total = &batch->samples[first];
    size_t cpus = first + 1 < batch->count && batch->samples[first + 1].time_ns == total->time_ns
        ? run_of(batch, first + 1, "stat_cpu") : 0;
    copy_metrics(add(ldms, &stat_set, total, "cpu"), 0, STAT_SIZE, total);
    for (size_t i = 1; i <= cpus; i++) {
        const struct sample *cpu = &batch->samples[first + i];
        const struct sample *row = add(ldms, &stat_set, cpu, cpu->instance);
        copy_metrics(row, 0, TIMES_COUNT, cpu);
        copy_metrics(row, TIMES_COUNT, STAT_SIZE - TIMES_COUNT, total);
    }
    return cpus + 1;
}

/* "irq.LOC#1" for CPU 1; "irq.LOC" for a sample with the sum of all CPUs. */
static void name_column(char name[NAME_SIZE], const struct metric *metric, const char *instance)
{
    while (*instance && !isdigit((unsigned char)*instance))
        instance++;
    snprintf(name, NAME_SIZE, "irq.%.40s%s%.20s", metric->source ? metric->source : metric->name, *instance ? "#" : "",
             instance);
}

static bool is_named(const struct ldms_wide *wide, const struct sample *samples, size_t key, size_t cpu)
{
    char name[NAME_SIZE];
    name_column(name, &samples->set->metrics[key], samples[cpu].instance);
    return strcmp(name, wide->names[key * wide->cpus + cpu]) == 0;
}

static bool fits(const struct ldms_wide *wide, const struct sample *samples, size_t cpus, const struct sample *errors)
{
    size_t keys = samples->set->size;
    bool is_same = wide && wide->cpus == cpus && wide->keys == keys && wide->errors == (errors ? errors->set->size : 0);
    for (size_t key = 0; key < keys && is_same; key++)
        is_same = is_named(wide, samples, key, 0);
    for (size_t cpu = 0; keys && cpu < cpus && is_same; cpu++)
        is_same = is_named(wide, samples, 0, cpu);
    return is_same;
}

static void wide_free(struct ldms_wide *wide)
{
    if (wide) {
        free(wide->metrics);
        free(wide->names);
    }
    free(wide);
}

static void describe(struct ldms_wide *wide, size_t at, const struct metric *metric, const char *instance)
{
    name_column(wide->names[at], metric, instance);
    wide->metrics[at] = (struct metric){ wide->names[at], metric->unit, metric->kind, metric->type, "", wide->names[at] };
}

static struct ldms_wide *wide_new(const struct sample *samples, size_t cpus, const struct sample *errors)
{
    const struct set *set = samples->set;
    struct ldms_wide *wide = calloc(1, sizeof *wide);
    if (!wide)
        return NULL;
    wide->cpus = cpus;
    wide->keys = set->size;
    wide->errors = errors ? errors->set->size : 0;
    size_t size = set->size * cpus + wide->errors;
    wide->metrics = calloc(size + 1, sizeof *wide->metrics);
    wide->names = calloc(size + 1, sizeof *wide->names);
    if (!wide->metrics || !wide->names) {
        wide_free(wide);
        return NULL;
    }
    for (size_t at = 0; at < set->size * cpus; at++)
        describe(wide, at, &set->metrics[at / cpus], samples[at % cpus].instance);
    for (size_t i = 0; i < wide->errors; i++)
        describe(wide, set->size * cpus + i, &errors->set->metrics[i], "0"); /* LDMS attributes it to the first CPU */
    wide->set = (struct set){ "interrupts", wide->metrics, size, NULL };
    return wide;
}

/* Nodes with the same CPUs and interrupts share a set. */
static size_t slot_of(const struct sample *samples, size_t cpus)
{
    uint64_t hash = HASH_START + cpus;
    for (size_t key = 0; key < samples->set->size; key++)
        hash = hash_add_text(hash, samples->set->metrics[key].name);
    return hash % LDMS_BATCH_WIDE;
}

/* A set that is replaced may be used by the current batch, so it is freed at the next call. */
static struct ldms_wide *find_wide(struct ldms_batch *ldms, const struct sample *samples, size_t cpus,
                                   const struct sample *errors)
{
    struct ldms_wide **slot = &ldms->wide[slot_of(samples, cpus)];
    if (fits(*slot, samples, cpus, errors))
        return *slot;
    struct ldms_wide *wide = wide_new(samples, cpus, errors);
    if (wide && *slot) {
        (*slot)->next = ldms->retired;
        ldms->retired = *slot;
    }
    if (wide)
        *slot = wide;
    return wide;
}

static void free_retired(struct ldms_batch *ldms)
{
    for (struct ldms_wide *wide; (wide = ldms->retired);) {
        ldms->retired = wide->next;
        wide_free(wide);
    }
}

/* Number of consecutive samples with the same set; others are passed through. */
static size_t cpus_of(const struct batch *batch, size_t first)
{
    size_t count = run_of(batch, first, "interrupts"), same = 1;
    while (same < count && batch->samples[first + same].set == batch->samples[first].set)
        same++;
    return same;
}

static const struct sample *errors_behind(const struct batch *batch, size_t place, uint64_t time_ns)
{
    bool is_there = place < batch->count && is_of(&batch->samples[place], "interrupts_errors")
        && batch->samples[place].time_ns == time_ns;
    return is_there ? &batch->samples[place] : NULL;
}

/* 0: out of memory. */
static size_t add_interrupts(struct ldms_batch *ldms, const struct batch *batch, size_t first)
{
    const struct sample *samples = &batch->samples[first];
    size_t cpus = cpus_of(batch, first);
    const struct sample *errors = errors_behind(batch, first + cpus, samples->time_ns);
    const struct ldms_wide *wide = find_wide(ldms, samples, cpus, errors);
    if (!wide)
        return 0;
    const struct sample *row = add(ldms, &wide->set, samples, "");
    for (size_t key = 0; key < wide->keys; key++)
        for (size_t cpu = 0; cpu < cpus; cpu++)
            set_value(row, key * cpus + cpu, &samples[cpu], key);
    for (size_t i = 0; i < wide->errors; i++)
        set_value(row, wide->keys * cpus + i, errors, i);
    return cpus + (errors ? 1 : 0);
}

/* The set stat of a run has fewer metrics, and is passed through. */
static bool is_stat(const struct sample *sample)
{
    return is_of(sample, "stat") && sample->set->size >= STAT_SIZE;
}

static void add_dstat(struct ldms_batch *ldms, const struct sample *self)
{
    const struct sample *row = add(ldms, &ldms_dstat_set, self, "");
    ldms_dstat_fill((union value *)row->values, (uint8_t *)row->known, self->set, self->values, self->known);
}

/* Reserves everything first, so that pointers stay valid. */
static enum err reserve(struct ldms_batch *ldms, const struct batch *batch, size_t values)
{
    struct batch *out = &ldms->batch;
    if (array_reserve(ldms->converted, ldms->converted_capacity, batch->count, VEC_MAX))
        return NOMEM;
    if (values <= ldms->values_capacity)
        return OK;
    free(out->values);
    free(out->known);
    out->values = malloc(values * sizeof *out->values);
    out->known = malloc(values);
    ldms->values_capacity = out->values && out->known ? values : 0;
    return ldms->values_capacity ? OK : NOMEM;
}

/* An upper bound. */
static size_t values_needed(const struct batch *batch)
{
    size_t values = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        if (is_stat(sample) || is_of(sample, "stat_cpu"))
            values += STAT_SIZE;
        else if (is_of(sample, "interrupts") || is_of(sample, "interrupts_errors"))
            values += sample->set->size;
        else if (is_of(sample, "self"))
            values += LDMS_DSTAT_SIZE;
    }
    return values;
}

static enum err convert(struct ldms_batch *ldms, const struct batch *batch)
{
    size_t used = 0;
    if (reserve(ldms, batch, values_needed(batch)))
        return NOMEM;
    ldms->converted_count = ldms->batch.values_used = 0;
    for (size_t i = 0; i < batch->count; i += used) {
        const struct sample *sample = &batch->samples[i];
        used = 1;
        if (is_stat(sample))
            used = add_stat(ldms, batch, i);
        else if (is_of(sample, "interrupts"))
            used = add_interrupts(ldms, batch, i);
        else if (is_of(sample, "self"))
            add_dstat(ldms, sample);
        else
            ldms->converted[ldms->converted_count++] = *sample;
        if (!used)
            return NOMEM;
    }
    return OK;
}

static void add_row(struct ldms_batch *ldms, const struct sample *sample, struct ldms_row row)
{
    struct batch *out = &ldms->batch;
    size_t at = out->count++;
    bool is_next = at && out->samples[at - 1].set == sample->set && ldms->rows[at - 1].producer == row.producer;
    row.index = is_next ? ldms->rows[at - 1].index + 1 : 0;
    ldms->rows[at] = row;
    out->samples[at] = *sample;
}

static void add_job_row(struct ldms_batch *ldms, const struct sample *sample, const char *template, const char *host)
{
    const struct job *job = batch_job(&ldms->batch, sample);
    const struct ldms_producer *producer = job ? ldms_producers_find(&ldms->producers, template, host, job) : NULL;
    add_row(ldms, sample, (struct ldms_row){ producer ? buf_text(&producer->name) : host, sample->job,
                                             job && *job->user ? job->user : NULL, 0 });
}

static void add_node_rows(struct ldms_batch *ldms, size_t first, size_t count)
{
    for (size_t i = 0; i < ldms->producers.count; i++) {
        const struct ldms_producer *producer = &ldms->producers.items[i];
        const struct ldms_row row = { buf_text(&producer->name), buf_text(&producer->jobs), producer->user, 0 };
        for (size_t j = first; j < first + count; j++)
            add_row(ldms, &ldms->converted[j], row);
    }
}

/* Number of samples of the node, from this one on, of the same set. */
static size_t node_run(const struct ldms_batch *ldms, size_t first)
{
    size_t count = 0;
    while (first + count < ldms->converted_count && !ldms->converted[first + count].job
           && ldms->converted[first + count].set == ldms->converted[first].set)
        count++;
    return count;
}

static enum err add_producers(struct ldms_batch *ldms)
{
    struct batch *out = &ldms->batch;
    const char *host = out->host ? out->host : "", *template = ldms->producer ? ldms->producer : LDMS_PRODUCER;
    enum err err = ldms_producers_make(&ldms->producers, template, host, out->jobs, out->job_count);
    size_t need = ldms->converted_count * (ldms->producers.count ? ldms->producers.count : 1);
    if (!err && !need)
        return OK;
    if (err || array_reserve(out->samples, ldms->capacity, need, VEC_MAX)
        || array_reserve(ldms->rows, ldms->rows_capacity, need, VEC_MAX))
        return NOMEM;
    for (size_t i = 0, run; i < ldms->converted_count; i += run) {
        run = node_run(ldms, i);
        if (run)
            add_node_rows(ldms, i, run);
        else
            add_job_row(ldms, &ldms->converted[i], template, host);
        run = run ? run : 1;
    }
    return OK;
}

enum err ldms_batch_make(struct ldms_batch *ldms, const struct batch *batch, const struct batch **made)
{
    free_retired(ldms);
    struct batch out = *batch;
    out.samples = ldms->batch.samples;
    out.values = ldms->batch.values;
    out.known = ldms->batch.known;
    out.count = out.values_used = 0;
    ldms->batch = out;
    enum err err = convert(ldms, batch);
    if (!err)
        err = add_producers(ldms);
    *made = &ldms->batch;
    return err;
}

void ldms_batch_clear(struct ldms_batch *ldms)
{
    free(ldms->batch.samples);
    free(ldms->batch.values);
    free(ldms->batch.known);
    free(ldms->converted);
    free(ldms->rows);
    ldms_producers_clear(&ldms->producers);
    free_retired(ldms);
    for (size_t i = 0; i < LDMS_BATCH_WIDE; i++)
        wide_free(ldms->wide[i]);
    *ldms = (struct ldms_batch){ 0 };
}
