/* One pass over the processes of a run. Peaks of concurrent processes are computed by model/concurrency.c. */
#include "model/summary.h"

#include "model/concurrency.h"

#include <signal.h>
#include <string.h>

static void take_larger(uint64_t *a, uint64_t b)
{
    if (b > *a)
        *a = b;
}

static bool is_crash(int number)
{
    return number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGFPE || number == SIGILL ||
           number == SIGSYS || number == SIGTRAP;
}

static void add_ending(struct summary *summary, const struct process *process)
{
    summary->running += process->state == PROCESS_RUNNING;
    summary->lost += process->state == PROCESS_LOST;
    if (!process->status_known || process->state == PROCESS_EXECED)
        return;
    summary->signalled += process->exit_signal != 0;
    summary->killed += process->exit_signal == SIGKILL;
    summary->crashed += is_crash(process->exit_signal);
    summary->failed += process->exit_code != 0 || process->exit_signal != 0;
}

/* The main thread of an image after an exec was already counted with the image before. */
static uint64_t threads_of(const struct process *process)
{
    uint64_t threads = process_threads(process);
    return process->image ? threads - 1 : threads;
}

static void add_process(struct summary *summary, const struct process *process)
{
    summary->images++;
    summary->processes += process->image == 0;
    summary->threads += threads_of(process);
    summary->unprobed += !(process->sources & SEEN_PROBE);
    add_ending(summary, process);
    counters_add(&summary->sum, &process->counters);
    if (concurrency_is_short(process)) {
        summary->short_processes += process->state != PROCESS_EXECED;
        summary->short_cpu_us += counters_cpu_us(&process->counters);
    }
}

/* The kernel's exit records have bytes but no calls. If calls are missing for some of the bytes, the mean size of a call would
 * be too large: the sum of calls is unknown if they are missing for over 1 % of the bytes. */
#define UNCOUNTED_SHARE 100

static void drop_calls(struct counters *sum, enum counter bytes, enum counter calls, uint64_t uncounted_bytes)
{
    if (uncounted_bytes <= counters_get(sum, bytes) / UNCOUNTED_SHARE)
        return;
    sum->known &= ~(1ull << calls);
    sum->value[calls] = 0;
}

static uint64_t uncounted(const struct counters *counters, enum counter bytes, enum counter calls)
{
    return counters_has(counters, calls) ? 0 : counters_get(counters, bytes);
}

static void check_calls(struct counters *sum, const struct run *run, enum counter bytes, enum counter calls)
{
    uint64_t uncounted_bytes = 0;
    for (size_t i = 0; i < run->process_count; i++)
        uncounted_bytes += uncounted(&run->processes[i].counters, bytes, calls);
    drop_calls(sum, bytes, calls, uncounted_bytes);
}

/* The same for the sum of two summaries. */
static void add_sums(struct counters *sum, const struct counters *more)
{
    uint64_t bytes_read = uncounted(sum, COUNTER_rchar, COUNTER_syscr) + uncounted(more, COUNTER_rchar, COUNTER_syscr);
    uint64_t written = uncounted(sum, COUNTER_wchar, COUNTER_syscw) + uncounted(more, COUNTER_wchar, COUNTER_syscw);
    counters_add(sum, more);
    drop_calls(sum, COUNTER_rchar, COUNTER_syscr, bytes_read);
    drop_calls(sum, COUNTER_wchar, COUNTER_syscw, written);
}

static uint64_t in_bytes(const struct metric *metric, union value value)
{
    uint64_t number = metric->type == F64 ? (uint64_t)value.f64 : value.u64;
    return strcmp(metric->unit, "KB") == 0 ? number * 1024 : number;
}

/* The first column of this name with a known value. */
static size_t known_column(const struct run_series *series, const char *name)
{
    for (size_t column = 0; column < series->set.size; column++)
        for (size_t row = 0; strcmp(series->set.metrics[column].name, name) == 0 && row < series->count; row++)
            if (series->known[row * series->set.size + column])
                return column;
    return SUMMARY_NO_COLUMN;
}

size_t summary_memory_column(const struct run_series *series)
{
    size_t column = known_column(series, SUMMARY_PSS_METRIC);
    return column == SUMMARY_NO_COLUMN ? known_column(series, SUMMARY_RSS_METRIC) : column;
}

static uint64_t column_peak(const struct run_series *series, size_t column)
{
    uint64_t peak = 0;
    for (size_t row = 0; row < series->count && column != SUMMARY_NO_COLUMN; row++) {
        size_t at = row * series->set.size + column;
        if (series->known[at])
            take_larger(&peak, in_bytes(&series->set.metrics[column], series->values[at]));
    }
    return peak;
}

uint64_t summary_peak_of(const struct run_series *series, const char *metric)
{
    return column_peak(series, known_column(series, metric));
}

/* The processes cannot have used more than the sum of their maxima. What a cgroup had beyond that was page cache of files that
 * were removed between two readings. 0: a maximum is unknown. */
static uint64_t sum_of_maxima(const struct run *run)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        if (!counters_has(&run->processes[i].counters, COUNTER_rssmax))
            return 0;
        sum += run->processes[i].counters.value[COUNTER_rssmax] * 1024;
    }
    return sum;
}

static uint64_t memory_peak(const struct run *run, const struct run_series *series)
{
    uint64_t peak = column_peak(series, summary_memory_column(series)), most = sum_of_maxima(run);
    uint64_t cgroup = summary_peak_of(series, SUMMARY_CGROUP_METRIC);
    take_larger(&peak, cgroup < most ? cgroup : most);
    return peak;
}

void summary_of_run(struct summary *summary, const struct run *run)
{
    *summary = (struct summary){ .total = run->total, .gaps = run->gaps };
    for (size_t i = 0; i < run->process_count; i++)
        add_process(summary, &run->processes[i]);
    check_calls(&summary->sum, run, COUNTER_rchar, COUNTER_syscr);
    check_calls(&summary->sum, run, COUNTER_wchar, COUNTER_syscw);
    for (size_t i = 0; i < run->series_count; i++) {
        if (strcmp(run->series[i].set.name, SUMMARY_TREE_SET) == 0)
            take_larger(&summary->rss_peak_bytes, memory_peak(run, &run->series[i]));
    }
    concurrency_of_run(summary, run);
}

void summary_add(struct summary *summary, const struct summary *more)
{
#define X(field) summary->field += more->field;
    SUMMARY_SUMS(X)
#undef X
#define X(field) summary->gaps.field += more->gaps.field;
    SUMMARY_GAPS(X)
#undef X
#define X(field) take_larger(&summary->field, more->field);
    SUMMARY_PEAKS(X)
#undef X
    add_sums(&summary->sum, &more->sum);
    counters_add(&summary->total, &more->total);
}
