/* Resamples the series of a job into bins of equal length: counters become rates, spread over the bins that their
 * interval covers; gauges hold until the next sample. */
#include "analysis/timeline.h"

#include "base/clock.h"
#include "model/summary.h"

#include <math.h>
#include <string.h>

/* Which metric belongs to which line. factor: converts the metric's unit to the line's. Several metrics of one line are
 * added. */
static const struct source {
    const char *set, *metric;
    enum timeline_line line;
    double factor;
} sources[] = {
    { "tree", "cpu", TIMELINE_CPU, 1e-6 },
    { "tree", SUMMARY_PSS_METRIC, TIMELINE_MEMORY, 1 }, /* or rss */
    { "tree", "threads", TIMELINE_THREADS, 1 },
    { "tree", "read_bytes", TIMELINE_STORAGE, 1 },
    { "tree", "write_bytes", TIMELINE_STORAGE, 1 },
    { "tree", "rchar", TIMELINE_CALLS, 1 },
    { "tree", "wchar", TIMELINE_CALLS, 1 },
    { "cgroup", "cpu", TIMELINE_CPU, 1e-6 },
    { "cgroup", "memory", TIMELINE_MEMORY, 1 },
    { "cgroup", "io_read", TIMELINE_STORAGE, 1 },
    { "cgroup", "io_written", TIMELINE_STORAGE, 1 },
    { "stat", "user", TIMELINE_NODE, 1e-6 },
    { "stat", "nice", TIMELINE_NODE, 1e-6 },
    { "stat", "system", TIMELINE_NODE, 1e-6 },
    { "stat", "irq", TIMELINE_NODE, 1e-6 },
    { "stat", "softirq", TIMELINE_NODE, 1e-6 },
    { "stat", "steal", TIMELINE_STEAL, 1e-6 },
    { "stat", "iowait", TIMELINE_IOWAIT, 1e-6 },
};

_Static_assert(sizeof sources / sizeof *sources == TIMELINE_SOURCES, "TIMELINE_SOURCES does not match");

static bool is_rate(enum timeline_line line)
{
    return line != TIMELINE_MEMORY && line != TIMELINE_THREADS;
}

void timeline_init(struct timeline *timeline, uint64_t start_ns, uint64_t end_ns)
{
    *timeline = (struct timeline){ .start_ns = start_ns, .end_ns = end_ns };
    for (int line = 0; line < TIMELINE_LINES; line++)
        for (int bin = 0; bin < TIMELINE_BINS; bin++)
            timeline->line[line][bin] = NAN;
}

void timeline_limit(struct timeline *timeline, enum timeline_line line, double limit)
{
    for (int bin = 0; bin < TIMELINE_BINS && limit > 0; bin++)
        if (timeline->line[line][bin] > limit)
            timeline->line[line][bin] = limit;
}

double timeline_bin_s(const struct timeline *timeline)
{
    return (double)(timeline->end_ns - timeline->start_ns) / 1e9 / TIMELINE_BINS;
}

double timeline_peak(const struct timeline *timeline, enum timeline_line line)
{
    double peak = NAN;
    for (int bin = 0; bin < TIMELINE_BINS; bin++)
        peak = fmax(peak, timeline->line[line][bin]);
    return peak;
}

double timeline_mean(const struct timeline *timeline, enum timeline_line line)
{
    double sum = 0;
    int known = 0;
    for (int bin = 0; bin < TIMELINE_BINS; bin++) {
        if (isnan(timeline->line[line][bin]))
            continue;
        sum += timeline->line[line][bin];
        known++;
    }
    return known ? sum / known : NAN;
}

static double position(const struct timeline *timeline, uint64_t time_ns)
{
    double length = (double)(timeline->end_ns - timeline->start_ns);
    double at = ((double)time_ns - (double)timeline->start_ns) / length * TIMELINE_BINS;
    return at < 0 ? 0 : at > TIMELINE_BINS ? TIMELINE_BINS : at;
}

/* Adds a value that is constant between two positions. */
static void spread_over(struct timeline_spread *spread, double from, double to, double value)
{
    for (size_t bin = (size_t)from; bin < TIMELINE_BINS && (double)bin < to; bin++) {
        double begin = fmax(from, (double)bin), end = fmin(to, (double)bin + 1);
        if (end <= begin)
            continue;
        bool is_first = spread->seconds[bin] <= 0;
        spread->sum[bin] += value * (end - begin);
        spread->largest[bin] = is_first ? value : fmax(spread->largest[bin], value);
        spread->from[bin] = is_first ? begin : spread->from[bin];
        spread->to[bin] = end;
        spread->seconds[bin] += end - begin;
    }
}

static double number(const struct metric *metric, union value value)
{
    return metric->type == F64 ? value.f64 : metric->type == I64 ? (double)value.i64 : (double)value.u64;
}

/* Walks pairs of consecutive known samples. A pair in which a counter decreased is skipped: it was reset. So is a gauge
 * that is 0 twice: the process was not there, as before and after a run that was too short for a sample. */
static size_t spread_metric(struct timeline_spread *spread, const struct timeline *timeline,
                            const struct run_series *series, size_t column, bool rate)
{
    const struct metric *metric = &series->set.metrics[column];
    size_t known = 0, last = 0;
    for (size_t row = 0; row < series->count; row++) {
        size_t at = row * series->set.size + column;
        if (!series->known[at])
            continue;
        double now = number(metric, series->values[at]);
        if (known++ > 0 && series->times_ns[row] > series->times_ns[last]) {
            double before = number(metric, series->values[last * series->set.size + column]);
            double seconds = (double)(series->times_ns[row] - series->times_ns[last]) / (double)NS_PER_S;
            double from = position(timeline, series->times_ns[last]), to = position(timeline, series->times_ns[row]);
            if (!rate && fmax(before, now) > 0)
                spread_over(spread, from, to, fmax(before, now));
            else if (rate && now >= before)
                spread_over(spread, from, to, (now - before) / seconds);
        }
        last = row;
    }
    return known;
}

static void join(struct timeline_spread *host, const struct timeline_spread *one, bool rate)
{
    host->used = true;
    for (int bin = 0; bin < TIMELINE_BINS; bin++) {
        if (one->seconds[bin] <= 0)
            continue;
        bool is_first = host->seconds[bin] <= 0;
        host->sum[bin] += rate ? one->sum[bin] : one->largest[bin] * one->seconds[bin];
        host->largest[bin] = is_first ? one->largest[bin] : fmax(host->largest[bin], one->largest[bin]);
        host->from[bin] = is_first ? one->from[bin] : fmin(host->from[bin], one->from[bin]);
        host->to[bin] = is_first ? one->to[bin] : fmax(host->to[bin], one->to[bin]);
        host->seconds[bin] += one->seconds[bin];
    }
}

/* Where series overlap, there are more seconds than time. A gauge is then at least the average of the sum. */
static double value_of(const struct source *source, const struct timeline_spread *host, int bin)
{
    double span = host->to[bin] - host->from[bin], seconds = host->seconds[bin];
    bool is_machine = strcmp(source->set, "stat") == 0, overlap = seconds > span * (1 + 1e-9);
    if (is_rate(source->line))
        return host->sum[bin] / (overlap && !is_machine ? span : seconds);
    return overlap ? fmax(host->largest[bin], host->sum[bin] / span) : host->largest[bin];
}

static size_t column_of(const struct source *source, const struct run_series *series)
{
    if (strcmp(source->set, SUMMARY_TREE_SET) == 0 && source->line == TIMELINE_MEMORY)
        return summary_memory_column(series);
    for (size_t column = 0; column < series->set.size; column++)
        if (strcmp(series->set.metrics[column].name, source->metric) == 0)
            return column;
    return SUMMARY_NO_COLUMN;
}

void timeline_add(struct timeline *timeline, const struct run_series *series)
{
    if (timeline->end_ns <= timeline->start_ns)
        return;
    for (size_t i = 0; i < TIMELINE_SOURCES; i++) {
        if (strcmp(series->set.name, sources[i].set) != 0)
            continue;
        size_t column = column_of(&sources[i], series);
        if (column == SUMMARY_NO_COLUMN)
            continue;
        struct timeline_spread one = { 0 };
        bool rate = is_rate(sources[i].line);
        size_t known = spread_metric(&one, timeline, series, column, rate);
        if (sources[i].line == TIMELINE_CPU && known > timeline->samples)
            timeline->samples = known; /* many short runs with a few samples each make no timeline */
        join(&timeline->host[i], &one, rate);
    }
}

void timeline_end_host(struct timeline *timeline)
{
    for (size_t i = 0; i < TIMELINE_SOURCES; i++) {
        struct timeline_spread *host = &timeline->host[i];
        double *line = timeline->line[sources[i].line];
        for (int bin = 0; host->used && bin < TIMELINE_BINS; bin++) {
            if (host->seconds[bin] <= 0)
                continue;
            double value = sources[i].factor * value_of(&sources[i], host, bin);
            line[bin] = isnan(line[bin]) ? value : line[bin] + value;
        }
        if (host->used)
            memset(host, 0, sizeof *host);
    }
}

void timeline_resample(const struct timeline *timeline, enum timeline_line line, double *columns, size_t width)
{
    for (size_t column = 0; column < width; column++) {
        size_t from = column * TIMELINE_BINS / width, to = (column + 1) * TIMELINE_BINS / width;
        double sum = 0, largest = NAN;
        size_t known = 0;
        for (size_t bin = from; bin < to || bin == from; bin++) {
            double value = timeline->line[line][bin];
            if (isnan(value))
                continue;
            known++;
            sum += value;
            largest = fmax(largest, value);
        }
        columns[column] = known == 0 ? NAN : is_rate(line) ? sum / (double)known : largest;
    }
}
