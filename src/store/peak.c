/* Turns samples of all runs into increases and decreases sorted by time; the largest running total is the peak. */
#include "store/peak.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX (256u << 20)

struct memory_step {
    uint64_t time_ns;
    int64_t change; /* in bytes */
};

struct memory_steps {
    struct memory_step *list;
    size_t count, capacity;
};

static enum err add_step(struct memory_steps *steps, uint64_t time_ns, uint64_t before, uint64_t now)
{
    if (now == before)
        return OK;
    if (array_reserve(steps->list, steps->capacity, steps->count + 1, STEPS_MAX))
        return NOMEM;
    steps->list[steps->count++] = (struct memory_step){ time_ns, (int64_t)(now - before) };
    return OK;
}

static enum err add_column(struct memory_steps *steps, const struct run_series *series, size_t column)
{
    uint64_t unit = strcmp(series->set.metrics[column].unit, "KB") == 0 ? 1024 : 1, before = 0, last_ns = 0;
    enum err err = OK;
    for (size_t row = 0; row < series->count && !err; row++) {
        size_t at = row * series->set.size + column;
        if (!series->known[at])
            continue;
        uint64_t now = series->values[at].u64 * unit;
        err = add_step(steps, series->times_ns[row], before, now);
        before = now;
        last_ns = series->times_ns[row];
    }
    return err ? err : add_step(steps, last_ns + 1, before, 0); /* after its last sample a run counts as 0 */
}

static enum err add_series(void *context, const char *host, const struct run_series *series)
{
    (void)host;
    size_t column = summary_memory_column(series);
    return column == SUMMARY_NO_COLUMN ? OK : add_column(context, series, column);
}

static int by_time(const void *a, const void *b)
{
    const struct memory_step *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Changes at the same time are added first: memory that moves from one run to another must not count twice. */
static uint64_t largest_sum(struct memory_steps *steps)
{
    int64_t sum = 0, largest = 0;
    if (steps->count)
        qsort(steps->list, steps->count, sizeof *steps->list, by_time);
    for (size_t i = 0; i < steps->count; i++) {
        sum += steps->list[i].change;
        bool is_last = i + 1 == steps->count || steps->list[i + 1].time_ns != steps->list[i].time_ns;
        if (is_last && sum > largest)
            largest = sum;
    }
    return (uint64_t)largest;
}

/* Each run counts with its peak from its start to its end. */
static enum err add_peaks(struct store *store, int64_t job_row, const char *sql, struct memory_steps *steps)
{
    struct statement *statement;
    bool row = true;
    enum err err = db_prepare(store, &statement, "add up peaks", sql);
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, job_row);
    while (err == OK) {
        err = db_step(store, statement, "add up peaks", &row);
        if (err != OK || !row)
            break;
        uint64_t peak = statement_u64(statement, 2);
        err = add_step(steps, statement_u64(statement, 0), 0, peak);
        err = err ? err : add_step(steps, statement_u64(statement, 1), peak, 0);
    }
    statement_free(statement);
    return err;
}

#define PEAKS_SQL "SELECT start_ns, end_ns, rss_peak_bytes FROM runs WHERE job = ?1 AND "

static enum err finish(struct memory_steps *steps, enum err err, uint64_t *bytes)
{
    *bytes = err == OK ? largest_sum(steps) : 0;
    free(steps->list);
    return err == CORRUPT ? OK : err;
}

enum err peak_of_nodes(struct store *store, int64_t job_row, uint64_t *bytes)
{
    struct memory_steps steps = { 0 };
    return finish(&steps, add_peaks(store, job_row, PEAKS_SQL "images = 0", &steps), bytes);
}

enum err peak_of_runs(struct store *store, int64_t job_row, size_t runs, uint64_t *bytes)
{
    struct memory_steps steps = { 0 };
    enum err err = runs > PEAK_SAMPLED_MAX ? add_peaks(store, job_row, PEAKS_SQL "images > 0", &steps)
                                           : db_tree_series(store, job_row, add_series, &steps);
    return finish(&steps, err, bytes);
}
