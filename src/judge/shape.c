/* Resamples the series of a job's processes into bins of equal length: counters become rates that are spread over the
 * bins their interval covers, gauges hold until the next sample. */
#include "judge/shape.h"

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

#define SOURCES (sizeof sources / sizeof *sources)
#define MACHINE (SOURCES - SHAPE_MACHINE_METRICS) /* the first of "stat" */

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
static void spread_over(struct shape_spread *spread, double from, double to, double value, bool rate)
{
    for (size_t bin = (size_t)from; bin < SHAPE_BINS && (double)bin < to; bin++) {
        double overlap = fmin(to, (double)bin + 1) - fmax(from, (double)bin);
        if (overlap <= 0)
            continue;
        if (rate)
            spread->value[bin] += value * overlap;
        else
            spread->value[bin] = spread->weight[bin] > 0 ? fmax(spread->value[bin], value) : value;
        spread->weight[bin] += overlap;
    }
}

static double number(const struct metric *metric, union value value)
{
    return metric->type == F64 ? value.f64 : metric->type == I64 ? (double)value.i64 : (double)value.u64;
}

/* Walks the pairs of neighbouring known samples. A counter that went down was reset: that pair tells nothing. */
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
            if (!rate)
                spread_over(spread, from, to, fmax(before, now), false);
            else if (now >= before)
                spread_over(spread, from, to, (now - before) / seconds, true);
        }
        last = row;
    }
    return known;
}

static void add_spread(double *line, const struct shape_spread *spread, double factor, bool rate)
{
    for (int bin = 0; bin < SHAPE_BINS; bin++) {
        if (spread->weight[bin] <= 0)
            continue;
        double value = factor * (rate ? spread->value[bin] / spread->weight[bin] : spread->value[bin]);
        line[bin] = isnan(line[bin]) ? value : line[bin] + value;
    }
}

static void add_metric(struct shape *shape, const struct run_series *series, size_t column, const struct source *source)
{
    struct shape_spread spread = { 0 };
    bool rate = is_rate(source->line);
    size_t known = spread_metric(&spread, shape, series, column, rate);
    if (source->line == SHAPE_CPU)
        shape->samples += known;
    add_spread(shape->line[source->line], &spread, source->factor, rate);
}

void shape_add(struct shape *shape, const struct run_series *series)
{
    if (shape->end_ns <= shape->start_ns)
        return;
    for (size_t i = 0; i < SOURCES; i++) {
        if (strcmp(series->set.name, sources[i].set) != 0)
            continue;
        for (size_t column = 0; column < series->set.size; column++) {
            if (strcmp(series->set.metrics[column].name, sources[i].metric) != 0)
                continue;
            if (i >= MACHINE)
                spread_metric(&shape->machine[i - MACHINE], shape, series, column, true);
            else
                add_metric(shape, series, column, &sources[i]);
        }
    }
}

void shape_end_host(struct shape *shape)
{
    for (size_t i = MACHINE; i < SOURCES; i++)
        add_spread(shape->line[sources[i].line], &shape->machine[i - MACHINE], sources[i].factor, true);
    memset(shape->machine, 0, sizeof shape->machine);
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
