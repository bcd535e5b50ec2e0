/* Samples become steps up and down, of all runs in the order of time; the largest sum on the way is the peak. */
#include "store/peak.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX (256u << 20)

struct step {
    uint64_t time_ns;
    int64_t change; /* of bytes */
};

struct steps {
    struct step *list;
    size_t count, room;
};

static enum err add_step(struct steps *steps, uint64_t time_ns, uint64_t before, uint64_t now)
{
    if (now == before)
        return OK;
    if (array_reserve(steps->list, steps->room, steps->count + 1, STEPS_MAX))
        return NOMEM;
    steps->list[steps->count++] = (struct step){ time_ns, (int64_t)(now - before) };
    return OK;
}

static enum err add_column(struct steps *steps, const struct run_series *series, size_t column)
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
    return err ? err : add_step(steps, last_ns + 1, before, 0); /* behind its last sample nothing is known to be there */
}

static enum err take_series(void *context, const char *host, const struct run_series *series)
{
    (void)host;
    enum err err = OK;
    for (size_t column = 0; column < series->set.size && !err; column++)
        if (strcmp(series->set.metrics[column].name, SUMMARY_RSS_METRIC) == 0)
            err = add_column(context, series, column);
    return err;
}

static int by_time(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Steps of one moment count together: what goes from one run to the other is not there twice. */
static uint64_t largest_sum(struct steps *steps)
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

/* Each run has its peak from its start to its end. */
static enum err take_peaks(struct store *store, int64_t job_row, const char *sql, struct steps *steps)
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

static enum err finish(struct steps *steps, enum err err, uint64_t *bytes)
{
    *bytes = err == OK ? largest_sum(steps) : 0;
    free(steps->list);
    return err == CORRUPT ? OK : err;
}

enum err peak_of_nodes(struct store *store, int64_t job_row, uint64_t *bytes)
{
    struct steps steps = { 0 };
    return finish(&steps, take_peaks(store, job_row, PEAKS_SQL "images = 0", &steps), bytes);
}

enum err peak_of_runs(struct store *store, int64_t job_row, size_t runs, uint64_t *bytes)
{
    struct steps steps = { 0 };
    enum err err = runs > PEAK_SAMPLED_MAX ? take_peaks(store, job_row, PEAKS_SQL "images > 0", &steps)
                                           : db_tree_series(store, job_row, take_series, &steps);
    return finish(&steps, err, bytes);
}
