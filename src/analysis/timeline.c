/* Resamples the series of a job's processes into bins of equal length: counters become rates that are spread over the
 * bins their interval covers, gauges hold until the next sample. */
#include "analysis/timeline.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

/* From metrics to lines. factor: to the line's unit, from the metric's. Two metrics of one line add up. */
static const struct source {
    const char *set, *metric;
    enum shape_line line;
    double factor;
} sources[] = {
    { "tree", "cpu", SHAPE_CPU, 1e-6 },
    { "tree", "rss", SHAPE_MEMORY, 1 },
    { "tree", "threads", SHAPE_THREADS, 1 },
    { "tree", "read_bytes", SHAPE_STORAGE, 1 },
    { "tree", "write_bytes", SHAPE_STORAGE, 1 },
    { "tree", "rchar", SHAPE_CALLS, 1 },
    { "tree", "wchar", SHAPE_CALLS, 1 },
    { "cgroup", "cpu", SHAPE_CPU, 1e-6 },
    { "cgroup", "memory", SHAPE_MEMORY, 1 },
    { "cgroup", "io_read", SHAPE_STORAGE, 1 },
    { "cgroup", "io_written", SHAPE_STORAGE, 1 },
    { "stat", "user", SHAPE_NODE, 1e-6 },
    { "stat", "nice", SHAPE_NODE, 1e-6 },
    { "stat", "system", SHAPE_NODE, 1e-6 },
    { "stat", "irq", SHAPE_NODE, 1e-6 },
    { "stat", "softirq", SHAPE_NODE, 1e-6 },
    { "stat", "steal", SHAPE_STEAL, 1e-6 },
    { "stat", "iowait", SHAPE_IOWAIT, 1e-6 },
};

_Static_assert(sizeof sources / sizeof *sources == SHAPE_SOURCES, "timeline.h has another number");

static bool is_rate(enum shape_line line)
{
    return line != SHAPE_MEMORY && line != SHAPE_THREADS;
}

void shape_init(struct shape *shape, uint64_t start_ns, uint64_t end_ns)
{
    *shape = (struct shape){ .start_ns = start_ns, .end_ns = end_ns };
    for (int line = 0; line < SHAPE_LINES; line++)
        for (int bin = 0; bin < SHAPE_BINS; bin++)
            shape->line[line][bin] = NAN;
}

double shape_bin_s(const struct shape *shape)
{
    return (double)(shape->end_ns - shape->start_ns) / 1e9 / SHAPE_BINS;
}

double shape_peak(const struct shape *shape, enum shape_line line)
{
    double peak = NAN;
    for (int bin = 0; bin < SHAPE_BINS; bin++)
        peak = fmax(peak, shape->line[line][bin]);
    return peak;
}

double shape_mean(const struct shape *shape, enum shape_line line)
{
    double sum = 0;
    int known = 0;
    for (int bin = 0; bin < SHAPE_BINS; bin++) {
        if (isnan(shape->line[line][bin]))
            continue;
        sum += shape->line[line][bin];
        known++;
    }
    return known ? sum / known : NAN;
}

static double position(const struct shape *shape, uint64_t time_ns)
{
    double length = (double)(shape->end_ns - shape->start_ns);
    double at = ((double)time_ns - (double)shape->start_ns) / length * SHAPE_BINS;
    return at < 0 ? 0 : at > SHAPE_BINS ? SHAPE_BINS : at;
}

/* The value holds from one position to the other. */
static void spread_over(struct shape_spread *spread, double from, double to, double value)
{
    for (size_t bin = (size_t)from; bin < SHAPE_BINS && (double)bin < to; bin++) {
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

/* Walks the pairs of neighbouring known samples. A counter that went down was reset: that pair tells nothing. Nor does a
 * level of 0 twice: nobody was there yet, and nobody any more, as around a run that was too short for a tick. */
static size_t spread_metric(struct shape_spread *spread, const struct shape *shape, const struct run_series *series,
                            size_t column, bool rate)
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
            double from = position(shape, series->times_ns[last]), to = position(shape, series->times_ns[row]);
            if (!rate && fmax(before, now) > 0)
                spread_over(spread, from, to, fmax(before, now));
            else if (rate && now >= before)
                spread_over(spread, from, to, (now - before) / seconds);
        }
        last = row;
    }
    return known;
}

static void join(struct shape_spread *host, const struct shape_spread *one, bool rate)
{
    host->used = true;
    for (int bin = 0; bin < SHAPE_BINS; bin++) {
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

/* Where series overlap there are more seconds than time. A level is then at least the average of their sum. */
static double value_of(const struct source *source, const struct shape_spread *host, int bin)
{
    double span = host->to[bin] - host->from[bin], seconds = host->seconds[bin];
    bool is_machine = strcmp(source->set, "stat") == 0, overlap = seconds > span * (1 + 1e-9);
    if (is_rate(source->line))
        return host->sum[bin] / (overlap && !is_machine ? span : seconds);
    return overlap ? fmax(host->largest[bin], host->sum[bin] / span) : host->largest[bin];
}

void shape_add(struct shape *shape, const struct run_series *series)
{
    if (shape->end_ns <= shape->start_ns)
        return;
    for (size_t i = 0; i < SHAPE_SOURCES; i++) {
        if (strcmp(series->set.name, sources[i].set) != 0)
            continue;
        for (size_t column = 0; column < series->set.size; column++) {
            if (strcmp(series->set.metrics[column].name, sources[i].metric) != 0)
                continue;
            struct shape_spread one = { 0 };
            bool rate = is_rate(sources[i].line);
            size_t known = spread_metric(&one, shape, series, column, rate);
            if (sources[i].line == SHAPE_CPU && known > shape->samples)
                shape->samples = known; /* those that frame short runs make no curve, however many runs there are */
            join(&shape->host[i], &one, rate);
        }
    }
}

void shape_end_host(struct shape *shape)
{
    for (size_t i = 0; i < SHAPE_SOURCES; i++) {
        struct shape_spread *host = &shape->host[i];
        double *line = shape->line[sources[i].line];
        for (int bin = 0; host->used && bin < SHAPE_BINS; bin++) {
            if (host->seconds[bin] <= 0)
                continue;
            double value = sources[i].factor * value_of(&sources[i], host, bin);
            line[bin] = isnan(line[bin]) ? value : line[bin] + value;
        }
        if (host->used)
            memset(host, 0, sizeof *host);
    }
}

void shape_resample(const struct shape *shape, enum shape_line line, double *columns, size_t width)
{
    for (size_t column = 0; column < width; column++) {
        size_t from = column * SHAPE_BINS / width, to = (column + 1) * SHAPE_BINS / width;
        double sum = 0, largest = NAN;
        size_t known = 0;
        for (size_t bin = from; bin < to || bin == from; bin++) {
            double value = shape->line[line][bin];
            if (isnan(value))
                continue;
            known++;
            sum += value;
            largest = fmax(largest, value);
        }
        columns[column] = known == 0 ? NAN : is_rate(line) ? sum / (double)known : largest;
    }
}
