/* Adds series by series. Columns are looked up by name, since the job database may be older or newer than this
 * program. */
#include "analysis/job_metrics.h"

#include "base/clock.h"
#include "base/vec.h"
#include "model/program_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX (1u << 22)
#define SLACK_NS (10 * NS_PER_S) /* an agent's first sample may be this much later than the start of what it counts */

/* Values of each row: the total; that of earlier hosts; and, for the current host, what an agent recorded, what runs
 * recorded at the same time, and what runs recorded otherwise. */
enum part { WHOLE, BEFORE, BY_AGENT, BY_RUNS, ELSE, PARTS };

struct job_metrics_string {
    struct job_metrics_string *next;
    char text[];
};

static const struct set *const sets[JOB_METRICS_SETS] = {
    &program_counter_set, &program_gauge_set, &mpi_set, &mpi_peer_set, &syscall_set, &syscall_time_set,
};

void job_metrics_init(struct job_metrics *metrics)
{
    *metrics = (struct job_metrics){ 0 };
    for (size_t i = 0; i < JOB_METRICS_SETS; i++) {
        metrics->tables[i].width = sets[i]->size;
        dictionary_init(&metrics->tables[i].index);
    }
}

void job_metrics_clear(struct job_metrics *metrics)
{
    for (struct job_metrics_string *text = metrics->strings, *next; text; text = next) {
        next = text->next;
        free(text);
    }
    for (size_t i = 0; i < JOB_METRICS_SETS; i++) {
        free(metrics->tables[i].rows);
        free(metrics->tables[i].values);
        dictionary_clear(&metrics->tables[i].index);
    }
    *metrics = (struct job_metrics){ 0 };
}

static bool grow(struct job_metrics_table *table)
{
    if (table->count < table->capacity)
        return true;
    size_t capacity = vec_capacity(table->capacity, table->count + 1, ROWS_MAX);
    if (table->count >= ROWS_MAX || array_resize(table->rows, capacity) ||
        array_resize(table->values, capacity * table->width * PARTS))
        return false;
    table->capacity = capacity;
    return true;
}

static double *values_of(const struct job_metrics_table *table, const struct job_metrics_row *row, enum part part)
{
    return &table->values[((size_t)(row - table->rows) * PARTS + part) * table->width];
}

static struct job_metrics_string *copy_text(const char *from, size_t size)
{
    struct job_metrics_string *text = malloc(sizeof *text + size);
    if (text)
        memcpy(text->text, from, size);
    return text;
}

static const char *keep_text(struct job_metrics *metrics, struct job_metrics_string *text)
{
    text->next = metrics->strings;
    metrics->strings = text;
    return text->text;
}

/* Returns the row of an instance, adding it if new; NULL: out of memory. */
static struct job_metrics_row *row_of(struct job_metrics *metrics, struct job_metrics_table *table, const char *instance)
{
    size_t size = strlen(instance) + 1;
    struct job_metrics_string *text = copy_text(instance, size);
    if (!text || !grow(table)) {
        free(text);
        return NULL;
    }
    uint32_t number = dictionary_add(&table->index, (struct bytes){ text->text, size - 1 });
    if (number != table->count) { /* it exists already, or out of memory */
        free(text);
        return number == DICTIONARY_NONE ? NULL : &table->rows[number];
    }
    table->rows[number] = (struct job_metrics_row){ .instance = keep_text(metrics, text) };
    for (size_t i = 0; i < table->width * PARTS; i++)
        table->values[number * table->width * PARTS + i] = NAN;
    table->count++;
    return &table->rows[number];
}

static double number(const struct metric *metric, union value value)
{
    return metric->type == F64 ? value.f64 : metric->type == I64 ? (double)value.i64 : (double)value.u64;
}

/* The last known value. */
static double last_of(const struct run_series *series, const char *name)
{
    for (size_t column = 0; column < series->set.size; column++) {
        if (strcmp(series->set.metrics[column].name, name) != 0)
            continue;
        for (size_t row = series->count; row-- > 0;) {
            size_t at = row * series->set.size + column;
            if (series->known[at])
                return number(&series->set.metrics[column], series->values[at]);
        }
    }
    return NAN;
}

/* The same for counters that restart at 0 with the agent, such as the kernel's counts of system calls. */
static double sum_of(const struct run_series *series, const char *name)
{
    double before = 0, last = NAN;
    for (size_t column = 0; column < series->set.size; column++) {
        if (strcmp(series->set.metrics[column].name, name) != 0)
            continue;
        for (size_t row = 0; row < series->count; row++) {
            size_t at = row * series->set.size + column;
            if (!series->known[at])
                continue;
            double value = number(&series->set.metrics[column], series->values[at]);
            before += value < last ? last : 0;
            last = value;
        }
    }
    return before + last;
}

static double add(double before, double more)
{
    return isnan(before) ? more : isnan(more) ? before : before + more;
}

static double greater(double one, double other)
{
    return isnan(one) ? other : isnan(other) ? one : fmax(one, other);
}

static double lesser(double one, double other)
{
    return isnan(one) ? other : isnan(other) ? one : fmin(one, other);
}

/* Combines two parts of a job: minimum and maximum of a gauge, sums for everything else. */
static double join(const struct set *set, size_t column, double one, double other)
{
    if (set == &program_gauge_set && column == PROGRAM_GAUGE_MIN)
        return lesser(one, other);
    return set == &program_gauge_set && column == PROGRAM_GAUGE_MAX ? greater(one, other) : add(one, other);
}

/* Combines two recordings of the same part, one of which may be more complete. */
static double choose(const struct set *set, size_t column, double one, double other)
{
    return set == &program_gauge_set && column == PROGRAM_GAUGE_MIN ? lesser(one, other) : greater(one, other);
}

static void extend(struct job_metrics_span *span, struct job_metrics_span more)
{
    if (!span->last_ns || more.first_ns < span->first_ns)
        span->first_ns = more.first_ns;
    if (more.last_ns > span->last_ns)
        span->last_ns = more.last_ns;
}

static bool overlap(struct job_metrics_span one, struct job_metrics_span other, uint64_t slack_ns)
{
    return one.last_ns && other.last_ns && one.first_ns <= other.last_ns + slack_ns && other.first_ns <= one.last_ns + slack_ns;
}

/* If an agent and sonde run recorded a rank at the same time, it is the same one, whatever their host names; ranks of
 * two programs on two hosts, or of consecutive programs, are separate parts. */
static void take_rank(const struct job_metrics_table *table, const struct set *set, struct job_metrics_row *row,
                      const struct run_series *series, struct job_metrics_span span)
{
    double *values = values_of(table, row, WHOLE);
    bool is_same = overlap(series->by_agent ? row->runs : row->agent, span, 0);
    extend(series->by_agent ? &row->agent : &row->runs, span);
    for (size_t i = 0; i < table->width; i++) {
        double last = last_of(series, set->metrics[i].name);
        values[i] = is_same || set->metrics[i].kind == GAUGE ? greater(values[i], last) : add(values[i], last);
    }
}

static void start_host(const struct job_metrics_table *table, struct job_metrics_row *row, const char *host)
{
    for (size_t i = 0; i < table->width; i++) {
        values_of(table, row, BEFORE)[i] = values_of(table, row, WHOLE)[i];
        for (enum part part = BY_AGENT; part < PARTS; part++)
            values_of(table, row, part)[i] = NAN;
    }
    row->host = host;
    row->agent = row->runs = (struct job_metrics_span){ 0 };
}

/* Handles runs that were added before the agent, which is rare. */
static void merge_overlapping_runs(const struct job_metrics_table *table, const struct set *set,
                                   const struct job_metrics_row *row)
{
    double *same = values_of(table, row, BY_RUNS), *other = values_of(table, row, ELSE);
    for (size_t i = 0; i < table->width; i++) {
        same[i] = join(set, i, same[i], other[i]);
        other[i] = NAN;
    }
}

static bool restarts_at_zero(const struct set *set, const struct run_series *series)
{
    return series->by_agent && (set == &syscall_set || set == &syscall_time_set);
}

static bool has_bytes_alone(const struct set *set, const struct run_series *series)
{
    return set == &syscall_set && isnan(last_of(series, set->metrics[SYSCALL_CALLS].name)) &&
           !isnan(last_of(series, set->metrics[SYSCALL_BYTES].name));
}

/* An agent counts all programs of a job on its host, sonde run only those it started: while both recorded, the latter
 * are included in the former, unless the agent started late. So the greater value is used, never the sum. */
static void take_counts(const struct job_metrics_table *table, const struct set *set, struct job_metrics_row *row,
                        const struct run_series *series, struct job_metrics_span span)
{
    enum part part = series->by_agent ? BY_AGENT : overlap(row->agent, span, SLACK_NS) ? BY_RUNS : ELSE;
    if (series->by_agent && overlap(row->runs, span, SLACK_NS))
        merge_overlapping_runs(table, set, row);
    extend(series->by_agent ? &row->agent : &row->runs, span);
    double *values = values_of(table, row, part), *whole = values_of(table, row, WHOLE);
    for (size_t i = 0; i < table->width; i++) {
        const char *name = set->metrics[i].name;
        values[i] = join(set, i, values[i], restarts_at_zero(set, series) ? sum_of(series, name) : last_of(series, name));
        double both = choose(set, i, values_of(table, row, BY_AGENT)[i], values_of(table, row, BY_RUNS)[i]);
        whole[i] = join(set, i, join(set, i, values_of(table, row, BEFORE)[i], values_of(table, row, ELSE)[i]), both);
    }
    row->lacks_calls |= has_bytes_alone(set, series);
    if (row->lacks_calls)
        whole[SYSCALL_CALLS] = NAN;
    if (set == &program_gauge_set && whole[PROGRAM_GAUGE_PROGRAMS] > 0)
        whole[PROGRAM_GAUGE_MEAN] = whole[PROGRAM_GAUGE_SUM] / whole[PROGRAM_GAUGE_PROGRAMS];
}

/* A run counts from its start, even if it was sampled only once; an agent from when it was asked to. */
static struct job_metrics_span span_of(const struct run_series *series)
{
    struct job_metrics_span span = { series->times_ns[0], series->times_ns[series->count - 1] };
    if (!series->by_agent && series->start_ns && series->start_ns < span.first_ns)
        span.first_ns = series->start_ns;
    return span;
}

static void take(const struct job_metrics_table *table, enum job_metrics_set set, struct job_metrics_row *row,
                 const struct run_series *series,
                 const char *host)
{
    struct job_metrics_span span = span_of(series);
    bool is_rank = set == JOB_METRICS_MPI || set == JOB_METRICS_PEER;
    row->series++;
    if (row->host != host && !is_rank)
        start_host(table, row, host);
    if (is_rank)
        take_rank(table, sets[set], row, series, span);
    else
        take_counts(table, sets[set], row, series, span);
}

/* Keeps one copy of the host name while series of that host are added, so that rows can compare pointers. */
static bool keep_host(struct job_metrics *metrics, const char *host)
{
    if (metrics->host && strcmp(metrics->host, host) == 0)
        return true;
    struct job_metrics_string *text = copy_text(host, strlen(host) + 1);
    if (text)
        metrics->host = keep_text(metrics, text);
    return text != NULL;
}

enum err job_metrics_add(struct job_metrics *metrics, const char *host, const struct run_series *series)
{
    if (!keep_host(metrics, host ? host : ""))
        return NOMEM;
    for (size_t i = 0; i < JOB_METRICS_SETS && series->count; i++) {
        if (strcmp(series->set.name, sets[i]->name) != 0)
            continue;
        struct job_metrics_row *row = row_of(metrics, &metrics->tables[i], series->instance);
        if (!row)
            return NOMEM;
        take(&metrics->tables[i], (enum job_metrics_set)i, row, series, metrics->host);
    }
    return OK;
}

double job_metrics_value(const struct job_metrics *metrics, enum job_metrics_set set, size_t row, size_t column)
{
    const struct job_metrics_table *table = &metrics->tables[set];
    return values_of(table, &table->rows[row], WHOLE)[column];
}

const double *job_metrics_values(const struct job_metrics *metrics, enum job_metrics_set set, size_t row)
{
    const struct job_metrics_table *table = &metrics->tables[set];
    return values_of(table, &table->rows[row], WHOLE);
}
