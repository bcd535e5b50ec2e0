/* Series by series; columns are found by their names, since a store may be older or younger than this program. */
#include "analysis/program_metrics.h"

#include "base/clock.h"
#include "model/program_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX (1u << 22)
#define SLACK_NS (10 * NS_PER_S) /* an agent's first sample may be so much younger than what it counts */

/* Of each row: the whole; of the hosts before; and of the host that is told of now what an agent saw, what runs saw at the
 * same time, and what runs saw else. */
enum part { WHOLE, BEFORE, BY_AGENT, BY_RUNS, ELSE, PARTS };

struct told_text {
    struct told_text *next;
    char text[];
};

static const struct set *const sets[TOLD_SETS] = {
    &program_counter_set, &program_gauge_set, &mpi_set, &mpi_peer_set, &syscall_set, &syscall_time_set,
};

void told_init(struct told *told)
{
    *told = (struct told){ 0 };
    for (size_t i = 0; i < TOLD_SETS; i++) {
        told->tables[i].width = sets[i]->size;
        dictionary_init(&told->tables[i].index);
    }
}

void told_clear(struct told *told)
{
    for (struct told_text *text = told->texts, *next; text; text = next) {
        next = text->next;
        free(text);
    }
    for (size_t i = 0; i < TOLD_SETS; i++) {
        free(told->tables[i].rows);
        free(told->tables[i].values);
        dictionary_clear(&told->tables[i].index);
    }
    *told = (struct told){ 0 };
}

static bool grow(struct told_table *table)
{
    if (table->count < table->room)
        return true;
    size_t room = table->room ? 2 * table->room : 32;
    struct told_row *rows = room <= ROWS_MAX ? reallocarray(table->rows, room, sizeof *rows) : NULL;
    if (rows)
        table->rows = rows;
    double *values = rows ? reallocarray(table->values, room * table->width * PARTS, sizeof *values) : NULL;
    if (!values)
        return false;
    table->values = values;
    table->room = room;
    return true;
}

static double *values_of(const struct told_table *table, const struct told_row *row, enum part part)
{
    return &table->values[((size_t)(row - table->rows) * PARTS + part) * table->width];
}

static struct told_text *copy_text(const char *from, size_t size)
{
    struct told_text *text = malloc(sizeof *text + size);
    if (text)
        memcpy(text->text, from, size);
    return text;
}

static const char *keep_text(struct told *told, struct told_text *text)
{
    text->next = told->texts;
    told->texts = text;
    return text->text;
}

/* The row of an instance, made when it is new; NULL: memory ran out. */
static struct told_row *row_of(struct told *told, struct told_table *table, const char *instance)
{
    size_t size = strlen(instance) + 1;
    struct told_text *text = copy_text(instance, size);
    if (!text || !grow(table)) {
        free(text);
        return NULL;
    }
    uint32_t number = dictionary_add(&table->index, (struct bytes){ text->text, size - 1 });
    if (number != table->count) { /* it is there already, or memory ran out */
        free(text);
        return number == DICTIONARY_NONE ? NULL : &table->rows[number];
    }
    table->rows[number] = (struct told_row){ .instance = keep_text(told, text) };
    for (size_t i = 0; i < table->width * PARTS; i++)
        table->values[number * table->width * PARTS + i] = NAN;
    table->count++;
    return &table->rows[number];
}

static double number(const struct metric *metric, union value value)
{
    return metric->type == F64 ? value.f64 : metric->type == I64 ? (double)value.i64 : (double)value.u64;
}

/* The last that is known. */
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

/* The same of what begins at 0 again when the agent is started anew, as the kernel's counts of system calls do. */
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

/* Of two parts of a job: the least and the greatest of a gauge are those of both, all else is summed up. */
static double join(const struct set *set, size_t column, double one, double other)
{
    if (set == &program_gauge_set && column == PROGRAM_GAUGE_MIN)
        return lesser(one, other);
    return set == &program_gauge_set && column == PROGRAM_GAUGE_MAX ? greater(one, other) : add(one, other);
}

/* Of one part that two have seen, of which one may have seen more. */
static double choose(const struct set *set, size_t column, double one, double other)
{
    return set == &program_gauge_set && column == PROGRAM_GAUGE_MIN ? lesser(one, other) : greater(one, other);
}

static void extend(struct told_span *span, struct told_span more)
{
    if (!span->last_ns || more.first_ns < span->first_ns)
        span->first_ns = more.first_ns;
    if (more.last_ns > span->last_ns)
        span->last_ns = more.last_ns;
}

static bool meet(struct told_span one, struct told_span other, uint64_t slack_ns)
{
    return one.last_ns && other.last_ns && one.first_ns <= other.last_ns + slack_ns && other.first_ns <= one.last_ns + slack_ns;
}

/* A rank that an agent and sonde run have seen at the same time is the same one, on whatever host they say they are; others,
 * of two programs on two hosts, or of one after another, are parts. */
static void take_rank(const struct told_table *table, const struct set *set, struct told_row *row,
                      const struct run_series *series, struct told_span span)
{
    double *values = values_of(table, row, WHOLE);
    bool is_same = meet(series->by_agent ? row->runs : row->agent, span, 0);
    extend(series->by_agent ? &row->agent : &row->runs, span);
    for (size_t i = 0; i < table->width; i++) {
        double last = last_of(series, set->metrics[i].name);
        values[i] = is_same || set->metrics[i].kind == GAUGE ? greater(values[i], last) : add(values[i], last);
    }
}

static void begin_host(const struct told_table *table, struct told_row *row, const char *host)
{
    for (size_t i = 0; i < table->width; i++) {
        values_of(table, row, BEFORE)[i] = values_of(table, row, WHOLE)[i];
        for (enum part part = BY_AGENT; part < PARTS; part++)
            values_of(table, row, part)[i] = NAN;
    }
    row->host = host;
    row->agent = row->runs = (struct told_span){ 0 };
}

/* Runs that were told before the agent, which seldom happens. */
static void meet_runs(const struct told_table *table, const struct set *set, const struct told_row *row)
{
    double *same = values_of(table, row, BY_RUNS), *other = values_of(table, row, ELSE);
    for (size_t i = 0; i < table->width; i++) {
        same[i] = join(set, i, same[i], other[i]);
        other[i] = NAN;
    }
}

static bool begins_anew(const struct set *set, const struct run_series *series)
{
    return series->by_agent && (set == &syscall_set || set == &syscall_time_set);
}

static bool has_bytes_alone(const struct set *set, const struct run_series *series)
{
    return set == &syscall_set && isnan(last_of(series, set->metrics[SYSCALL_CALLS].name)) &&
           !isnan(last_of(series, set->metrics[SYSCALL_BYTES].name));
}

/* An agent counts all programs of a job on its host, a sonde run those that it started: at the same time these are among those,
 * unless the agent came late. The greater of the two is nearer to the truth, and their sum is none. */
static void take_counts(const struct told_table *table, const struct set *set, struct told_row *row,
                        const struct run_series *series, struct told_span span)
{
    enum part part = series->by_agent ? BY_AGENT : meet(row->agent, span, SLACK_NS) ? BY_RUNS : ELSE;
    if (series->by_agent && meet(row->runs, span, SLACK_NS))
        meet_runs(table, set, row);
    extend(series->by_agent ? &row->agent : &row->runs, span);
    double *values = values_of(table, row, part), *whole = values_of(table, row, WHOLE);
    for (size_t i = 0; i < table->width; i++) {
        const char *name = set->metrics[i].name;
        values[i] = join(set, i, values[i], begins_anew(set, series) ? sum_of(series, name) : last_of(series, name));
        double seen = choose(set, i, values_of(table, row, BY_AGENT)[i], values_of(table, row, BY_RUNS)[i]);
        whole[i] = join(set, i, join(set, i, values_of(table, row, BEFORE)[i], values_of(table, row, ELSE)[i]), seen);
    }
    row->lacks_calls |= has_bytes_alone(set, series);
    if (row->lacks_calls)
        whole[SYSCALL_CALLS] = NAN;
    if (set == &program_gauge_set && whole[PROGRAM_GAUGE_PROGRAMS] > 0)
        whole[PROGRAM_GAUGE_MEAN] = whole[PROGRAM_GAUGE_SUM] / whole[PROGRAM_GAUGE_PROGRAMS];
}

/* A run counts from its start on, though it may be sampled once; an agent from when it was asked to. */
static struct told_span span_of(const struct run_series *series)
{
    struct told_span span = { series->times_ns[0], series->times_ns[series->count - 1] };
    if (!series->by_agent && series->start_ns && series->start_ns < span.first_ns)
        span.first_ns = series->start_ns;
    return span;
}

static void take(const struct told_table *table, enum told_set set, struct told_row *row, const struct run_series *series,
                 const char *host)
{
    struct told_span span = span_of(series);
    bool is_rank = set == TOLD_MPI || set == TOLD_PEER;
    row->series++;
    if (row->host != host && !is_rank)
        begin_host(table, row, host);
    if (is_rank)
        take_rank(table, sets[set], row, series, span);
    else
        take_counts(table, sets[set], row, series, span);
}

/* The same address for the same host, as long as it is told of. */
static bool know_host(struct told *told, const char *host)
{
    if (told->host && strcmp(told->host, host) == 0)
        return true;
    struct told_text *text = copy_text(host, strlen(host) + 1);
    if (text)
        told->host = keep_text(told, text);
    return text != NULL;
}

enum err told_add(struct told *told, const char *host, const struct run_series *series)
{
    if (!know_host(told, host ? host : ""))
        return NOMEM;
    for (size_t i = 0; i < TOLD_SETS && series->count; i++) {
        if (strcmp(series->set.name, sets[i]->name) != 0)
            continue;
        struct told_row *row = row_of(told, &told->tables[i], series->instance);
        if (!row)
            return NOMEM;
        take(&told->tables[i], (enum told_set)i, row, series, told->host);
    }
    return OK;
}

double told_value(const struct told *told, enum told_set set, size_t row, size_t column)
{
    const struct told_table *table = &told->tables[set];
    return values_of(table, &table->rows[row], WHOLE)[column];
}

const double *told_values(const struct told *told, enum told_set set, size_t row)
{
    const struct told_table *table = &told->tables[set];
    return values_of(table, &table->rows[row], WHOLE);
}
