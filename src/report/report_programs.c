/* What the job's programs published: the time in MPI and which ranks wait, system calls by cost, program metrics. */
#include "report/report.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "analysis/histograms.h"
#include "analysis/phrase.h"
#include "model/program_sets.h"
#include "report/report_row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_FUNCTIONS 8
#define ROWS_CALLS 10
#define ROWS_CLASSES 6
#define ROWS_METRICS 20
#define PAIRS_SHOWN 3
#define WAIT_SHOWN 0.10 /* ranks that wait less are not listed */
#define METRIC_COLUMNS 18   /* columns of a program metric's value */

static struct format_text count_cell(double value)
{
    return isnan(value) ? (struct format_text){ "" } : report_row_count(phrase_round(value));
}

static struct format_text time_cell(double seconds)
{
    return isnan(seconds) ? (struct format_text){ "" } : report_row_duration(phrase_round(seconds * (double)NS_PER_S));
}

static struct format_text bytes_cell(double bytes)
{
    return !(bytes > 0) ? (struct format_text){ "" } : format_bytes_short(phrase_round(bytes));
}

static struct format_text share_cell(double share)
{
    struct format_text text = { "" };
    if (share > 0 && share < 0.005)
        snprintf(text.s, sizeof text.s, "<1 %%");
    else if (share >= 0)
        snprintf(text.s, sizeof text.s, "%.0f %%", share * 100);
    return text;
}

static bool is_next(const struct mpi_rank *rank, const struct mpi_rank *next)
{
    return rank_name_same_world(rank->name, next->name) && next->name.rank == rank->name.rank + 1;
}

/* Starts the ranks of another program or world. */
static void add_world(struct buf *out, struct rank_name name)
{
    struct format_text world = rank_name_world(name);
    buf_printf(out, "%s%s%s", out->size ? "; " : "", world.s, *world.s ? ": " : "");
}

static bool is_waiting(const struct mpi_rank *rank)
{
    return mpi_waits(rank, WAIT_SHOWN);
}

static bool is_late(const struct mpi_rank *rank)
{
    return rank->is_late;
}

/* Ranks with a property: "0-2, 5", or "0-2, 5; world 1: 0" with several worlds. */
static void add_rank_list(struct buf *out, const struct mpi *mpi, bool (*is_so)(const struct mpi_rank *))
{
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < mpi->rank_count;) {
        size_t end = i;
        if (!is_so(&mpi->ranks[i])) {
            i++;
            continue;
        }
        while (end + 1 < mpi->rank_count && is_next(&mpi->ranks[end], &mpi->ranks[end + 1]) && is_so(&mpi->ranks[end + 1]))
            end++;
        if (last == SIZE_MAX || !rank_name_same_world(mpi->ranks[last].name, mpi->ranks[i].name))
            add_world(out, mpi->ranks[i].name);
        else
            buf_add_text(out, ", ");
        buf_printf(out, "%u", mpi->ranks[i].name.rank);
        if (end > i)
            buf_printf(out, "%s%u", end == i + 1 ? ", " : "-", mpi->ranks[end].name.rank);
        last = end;
        i = end + 1;
    }
}

static const struct mpi_rank *worst_waiter(const struct mpi *mpi)
{
    const struct mpi_rank *worst = NULL;
    for (size_t i = 0; i < mpi->rank_count; i++)
        if (mpi_waits(&mpi->ranks[i], worst ? worst->sum.wait_s / worst->life_s : WAIT_SHOWN))
            worst = &mpi->ranks[i];
    return worst;
}

/* Which ranks they wait for: those with the most work, if that explains the waits. */
static void add_late(struct page *page, const struct mpi *mpi, struct buf *ranks)
{
    struct format_text longest = phrase_duration(mpi->own_max_s), mean = phrase_duration(mpi->own_mean_s);
    buf_reset(ranks);
    add_rank_list(ranks, mpi, is_late);
    if (mpi->late_count > 1)
        page_printf(page, "wait for", "ranks %s, which work up to %s %s; %s work %s on average", buf_text(ranks),
                    longest.s, mpi_own_where(mpi), mpi_own_whose(mpi), mean.s);
    else if (mpi->late_count)
        page_printf(page, "wait for", "rank %s, which works %s %s; %s work %s on average",
                    rank_name_format(mpi->ranks[mpi->longest].name).s, longest.s, mpi_own_where(mpi),
                    mpi_own_whose(mpi), mean.s);
    else
        page_printf(page, "wait for", "no rank in particular: ranks work %s %s on average, the longest one %s", mean.s,
                    mpi_own_where(mpi), longest.s);
}

static void add_waiters(struct page *page, const struct mpi *mpi)
{
    const struct mpi_rank *worst = worst_waiter(mpi);
    struct buf ranks;
    if (!worst)
        return;
    buf_init(&ranks, 1u << 16);
    add_rank_list(&ranks, mpi, is_waiting);
    struct format_text name = rank_name_format(worst->name), share = phrase_percent(worst->sum.wait_s / worst->life_s);
    if (strpbrk(buf_text(&ranks), ",-;"))
        page_printf(page, "waiting", "ranks %s for over 10 %% of the time, rank %s the longest: %s", buf_text(&ranks),
                    name.s, share.s);
    else
        page_printf(page, "waiting", "rank %s for %s of the time", name.s, share.s);
    if (mpi->rank_count > 1 && !isnan(mpi->own_max_s) && mpi->own_max_s > mpi->own_mean_s)
        add_late(page, mpi, &ranks);
    buf_clear(&ranks);
}

/* "0 to 1 12 B", "0 to 1 of world 2 12 B", "0 to another world 12 B" */
static void add_pair(struct buf *text, const struct mpi_pair *pair)
{
    if (pair->is_elsewhere)
        buf_printf(text, "%s to another world", rank_name_format(pair->from).s);
    else
        buf_printf(text, "%u to %s", pair->from.rank, rank_name_format(pair->to).s);
    buf_printf(text, " %s", phrase_bytes(pair->bytes).s);
}

static void add_messages(struct page *page, const struct mpi *mpi)
{
    struct buf text;
    if (!(mpi->messages > 0))
        return;
    buf_init(&text, 4096);
    buf_printf(&text, "%s point to point, %s in total, %s each", phrase_count(mpi->messages).s,
               phrase_bytes(mpi->message_bytes).s, phrase_bytes(mpi->message_bytes / mpi->messages).s);
    if (mpi->all.small > 0)
        buf_printf(&text, "; %s under 1 KiB", phrase_count(mpi->all.small).s);
    if (mpi->messages_elsewhere > 0)
        buf_printf(&text, "; %s (%s) between worlds", phrase_count(mpi->messages_elsewhere).s,
                   phrase_bytes(mpi->bytes_elsewhere).s);
    page_field(page, "messages", (struct bytes){ buf_text(&text), text.size });
    buf_reset(&text);
    for (size_t i = 0; i < mpi->pair_count && i < PAIRS_SHOWN; i++) {
        buf_add_text(&text, i ? ", " : "");
        add_pair(&text, &mpi->pairs[i]);
    }
    page_field(page, "largest", (struct bytes){ buf_text(&text), text.size });
    buf_clear(&text);
}

static void add_functions(struct page *page, const struct mpi *mpi)
{
    static const char *const titles[REPORT_CELLS] = { "calls", "time", "share", "waited", "sent", "recv", "small" };
    double share = mpi_share(mpi);
    report_row_titles(page, "MPI functions", titles);
    for (size_t i = 0; i < mpi->function_count && i < ROWS_FUNCTIONS; i++) {
        const struct mpi_function *function = &mpi->functions[i];
        struct report_row row = { .name = bytes_of(function->name) };
        row.cells[0] = count_cell(function->sum.calls);
        row.cells[1] = time_cell(function->sum.time_s);
        row.cells[2] = share_cell(function->sum.time_s / mpi->all.time_s * share);
        if (function->sum.wait_s > 0)
            row.cells[3] = time_cell(function->sum.wait_s);
        row.cells[4] = bytes_cell(function->sum.out_bytes);
        row.cells[5] = bytes_cell(function->sum.in_bytes);
        if (function->sum.small > 0)
            row.cells[6] = count_cell(function->sum.small);
        report_row_add(page, &row, PLAIN);
    }
}

/* What the numbers do not include. */
static void add_missing(struct page *page, const struct mpi *mpi)
{
    if (mpi->unended_count && !isnan(mpi->all.time_s))
        page_printf(page, "missing",
                    "time of the last call of %s that did not finish MPI: a call has no time before it returns",
                    phrase_plural(mpi->unended_count, "rank", "ranks").s);
    if (mpi->requests_lost > 0)
        page_printf(page, "missing", "bytes of %s requests: more were pending than the probe can track",
                    phrase_count(mpi->requests_lost).s);
}

static bool has_threads(const struct mpi *mpi)
{
    for (size_t i = 0; i < mpi->rank_count; i++)
        if (mpi_has_threads(&mpi->ranks[i]))
            return true;
    return false;
}

static void add_time(struct page *page, const struct mpi *mpi)
{
    double share = mpi_share(mpi);
    struct format_text calls = phrase_count(mpi->all.calls), ranks = phrase_plural(mpi->rank_count, "rank", "ranks");
    struct format_text time = phrase_duration(mpi->all.time_s), life = phrase_duration(mpi->life_s);
    if (!isnan(share))
        page_printf(page, "time", "%s%s of the time of %s is spent in MPI: %s of %s, in %s calls",
                    mpi->unended_count && share <= 0.995 ? "at least " : "", phrase_percent(share).s, ranks.s, time.s,
                    life.s, calls.s);
    else if (has_threads(mpi) && !isnan(mpi->life_s))
        page_printf(page, "time", "%s in MPI, in %s calls by concurrent threads; the elapsed time of %s is %s", time.s,
                    calls.s, ranks.s, life.s);
    else
        page_printf(page, "calls", "%s, by %s", calls.s, ranks.s);
}

static void add_mpi(struct page *page, const struct mpi *mpi)
{
    if (!mpi->function_count)
        return;
    size_t begin = page_heading(page, "MPI");
    add_time(page, mpi);
    if (mpi->rank_total > (double)mpi->rank_count)
        page_printf(page, "ranks", "%zu of %s recorded: the others ran without the probe, or on nodes without an agent",
                    mpi->rank_count, phrase_count(mpi->rank_total).s);
    add_waiters(page, mpi);
    add_messages(page, mpi);
    add_missing(page, mpi);
    page_end_section(page, begin);
    add_functions(page, mpi);
}

/* Share of the time, or of the calls if times are unknown; NAN: not part of the total. */
static double call_share(const struct syscall_stats *calls, const struct syscall_stat *call)
{
    if (syscall_stats_is_extra(call))
        return NAN;
    return isnan(calls->all.time_s) ? call->calls / calls->all.calls : call->time_s / calls->all.time_s;
}

static void add_call(struct page *page, const struct syscall_stats *calls, const struct syscall_stat *call)
{
    char name[128];
    const char *class = syscall_stats_class(call);
    struct report_row row = { 0 };
    snprintf(name, sizeof name, "%.*s%s%s", (int)call->name_size, call->name, *class ? " " : "",
             syscall_stats_is_extra(call) ? "outside libc" : class);
    row.name = bytes_of(name);
    row.cells[0] = count_cell(call->calls);
    row.cells[1] = time_cell(call->time_s);
    row.cells[2] = share_cell(call_share(calls, call));
    if (call->errors > 0)
        row.cells[3] = count_cell(call->errors);
    row.cells[4] = bytes_cell(call->bytes);
    if (call->bytes > 0 && call->calls > 0)
        row.cells[5] = bytes_cell(call->bytes / call->calls);
    report_row_add(page, &row, PLAIN);
}

/* Reads and writes by file type, or (is_extra) those that were counted in addition to the calls in libc. */
static void add_classes(struct page *page, const struct syscall_stats *calls, bool is_extra)
{
    static const char *const titles[REPORT_CELLS] = { "calls", "time", "share", "errors", "bytes", "each", "" };
    size_t shown = 0;
    for (size_t i = 0; i < calls->class_count && shown < ROWS_CLASSES; i++) {
        if (syscall_stats_is_extra(&calls->classes[i]) != is_extra)
            continue;
        if (shown++ == 0 && !is_extra)
            report_row_titles(page, "I/O by file type", titles);
        add_call(page, calls, &calls->classes[i]);
    }
}

static void add_calls(struct page *page, const struct syscall_stats *calls)
{
    static const char *const titles[REPORT_CELLS] = { "calls", "time", "share", "errors", "bytes", "each", "" };
    if (calls->count || calls->class_count)
        report_row_titles(page, "System calls", titles);
    for (size_t i = 0; i < calls->count && i < ROWS_CALLS; i++)
        add_call(page, calls, &calls->list[i]);
    add_classes(page, calls, true);
    add_classes(page, calls, false);
}

/* Integers with thousands separators, others as they are. */
static struct format_text metric_number(double value)
{
    if (value >= 0 && value < 1e15 && value == floor(value))
        return format_count((uint64_t)value);
    struct format_text text;
    snprintf(text.s, sizeof text.s, "%.6g", value);
    return text;
}

static void add_metric_row(struct page *page, const char *name, const double *values, size_t count)
{
    size_t space = page->width - PAGE_INDENT - count * METRIC_COLUMNS;
    page_spaces(page, PAGE_INDENT);
    size_t used = utf8_add_fit(page->out, bytes_of(name), space, page->terminal.utf8);
    page_spaces(page, space - used);
    for (size_t i = 0; i < count; i++)
        buf_printf(page->out, "%*s", METRIC_COLUMNS, isnan(values[i]) ? "" : metric_number(values[i]).s);
    buf_add_char(page->out, '\n');
}

static void add_rest(struct page *page, size_t count)
{
    if (count <= ROWS_METRICS)
        return;
    page_spaces(page, PAGE_INDENT);
    buf_printf(page->out, "and %zu more: see 'sonde report --json'\n", count - ROWS_METRICS);
}

static struct format_text figure_cell(double value)
{
    struct format_text text = { "" };
    if (!isnan(value))
        snprintf(text.s, sizeof text.s, "%.4g", value);
    return text;
}

/* Above the last bound, only the bound is known. */
static struct format_text quantile_cell(const struct histogram *histogram, double share)
{
    double value = histogram_quantile(histogram->bounds, histogram->counts, histogram->count, share);
    struct format_text text = isinf(value) ? (struct format_text){ "" } : figure_cell(value);
    if (isinf(value) && histogram->count > 1)
        snprintf(text.s, sizeof text.s, ">%.3g", histogram->bounds[histogram->count - 2]);
    return text;
}

static void add_histograms(struct page *page, const struct histograms *histograms)
{
    static const char *const titles[REPORT_CELLS] = { "count", "mean", "median", "90 %", "99 %", "sum", "" };
    if (histograms->count)
        report_row_titles(page, "Program histograms", titles);
    for (size_t i = 0; i < histograms->count && i < ROWS_METRICS; i++) {
        const struct histogram *histogram = &histograms->list[i];
        double all = histogram->counts[histogram->count - 1];
        struct report_row row = { .name = bytes_of(histogram->name) };
        row.cells[0] = count_cell(all);
        row.cells[1] = all > 0 ? figure_cell(histogram->sum / all) : (struct format_text){ "" };
        row.cells[2] = quantile_cell(histogram, 0.5);
        row.cells[3] = quantile_cell(histogram, 0.9);
        row.cells[4] = quantile_cell(histogram, 0.99);
        row.cells[5] = figure_cell(histogram->sum);
        report_row_add(page, &row, PLAIN);
    }
    add_rest(page, histograms->count);
}

/* Counters that are not part of a histogram. */
static void add_counters(struct page *page, const struct job_metrics *metrics, const struct histograms *histograms)
{
    const struct job_metrics_table *counters = &metrics->tables[JOB_METRICS_COUNTER];
    size_t count = 0;
    for (size_t i = 0; i < counters->count; i++) {
        if (histograms_have(histograms, counters->rows[i].instance))
            continue;
        if (count == 0)
            page_heading(page, "Program counters");
        if (count++ < ROWS_METRICS)
            add_metric_row(page, counters->rows[i].instance, job_metrics_values(metrics, JOB_METRICS_COUNTER, i), 1);
    }
    add_rest(page, count);
}

static void add_program_metrics(struct page *page, const struct job_metrics *metrics)
{
    const struct job_metrics_table *gauges = &metrics->tables[JOB_METRICS_GAUGE];
    struct histograms histograms;
    histograms_read(&histograms, metrics);
    add_counters(page, metrics, &histograms);
    add_histograms(page, &histograms);
    histograms_clear(&histograms);
    if (gauges->count)
        page_heading(page, "Program gauges at the end: minimum, maximum");
    for (size_t i = 0; i < gauges->count && i < ROWS_METRICS; i++) {
        const double *values = job_metrics_values(metrics, JOB_METRICS_GAUGE, i);
        add_metric_row(page, gauges->rows[i].instance, (double[]){ values[PROGRAM_GAUGE_MIN], values[PROGRAM_GAUGE_MAX] }, 2);
    }
    add_rest(page, gauges->count);
}

void report_programs(struct page *page, const struct facts *facts)
{
    add_mpi(page, &facts->mpi);
    add_calls(page, &facts->calls);
    add_program_metrics(page, &facts->metrics);
}
