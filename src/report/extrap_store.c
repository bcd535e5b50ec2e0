/* Converts totals over ranks and calls to tau's names with labels, and grand totals to those of
 * appmetrics/tau_names.c. */
#include "report/extrap_store.h"

#include "analysis/syscall_stats.h"
#include "analysis/histograms.h"
#include "model/program_sets.h"
#include "compat/tau/alias.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_CAPACITY 256

enum err extrap_store_add(struct metric_list *list, const char *name, double value)
{
    if (isnan(value))
        return OK;
    struct metric_item *item = metric_list_add(list);
    if (!item)
        return NOMEM;
    item->name = metric_list_text(list, name);
    item->value = value;
    return *item->name ? OK : NOMEM;
}

static enum err add_labelled(struct metric_list *list, const char *base, const char *label, const char *text, double value)
{
    char name[NAME_CAPACITY];
    snprintf(name, sizeof name, "%s{%s=\"%.100s\"}", base, label, text);
    return extrap_store_add(list, name, value);
}

/* For sums: a function that only sends has no received bytes. */
static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static enum err add_function(struct metric_list *list, const struct mpi_function *function)
{
    char name[NAME_CAPACITY];
    const struct mpi_sum *sum = &function->sum;
    snprintf(name, sizeof name, "%s", function->name);
    for (char *at = name; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    enum err err = add_labelled(list, "tau_hits_total", "function", name, sum->calls);
    if (!err)
        err = add_labelled(list, "tau_time_total", "function", name, sum->time_s);
    if (!err && (sum->out_bytes > 0 || sum->in_bytes > 0))
        err = add_labelled(list, "tau_size_total", "function", name, or_zero(sum->out_bytes) + or_zero(sum->in_bytes));
    if (!err && sum->out_bytes > 0)
        err = add_labelled(list, "tau_size_out_total", "function", name, sum->out_bytes);
    if (!err && sum->in_bytes > 0)
        err = add_labelled(list, "tau_size_in_total", "function", name, sum->in_bytes);
    if (!err && sum->wait_s > 0)
        err = add_labelled(list, "mpi_wait_seconds_total", "function", function->name, sum->wait_s);
    return err;
}

/* Names and values that are known and not 0. */
struct total {
    const char *name;
    double value;
};

static enum err add_totals(struct metric_list *list, const struct total *totals, size_t count)
{
    enum err err = OK;
    for (size_t i = 0; i < count && !err; i++)
        if (totals[i].value > 0)
            err = extrap_store_add(list, totals[i].name, totals[i].value);
    return err;
}
#define ADD_TOTALS(list, totals) add_totals(list, totals, sizeof(totals) / sizeof *(totals))

static enum err add_all_functions(struct metric_list *list, const struct mpi_sum *all)
{
    double out_bytes = or_zero(all->out_bytes), in_bytes = or_zero(all->in_bytes);
    const struct total totals[] = {
        { "tau_mpi_total{metric=\"hits\"}", all->calls },
        { "tau_mpi_total{metric=\"time\"}", all->time_s },
        { "tau_mpi_total{metric=\"size\"}", out_bytes + in_bytes },
        { "tau_mpi_total_size{metric=\"size_out\"}", out_bytes },
        { "tau_mpi_total{metric=\"size_in\"}", in_bytes },
    };
    return ADD_TOTALS(list, totals);
}

static enum err add_all_calls(struct metric_list *list, const struct syscall_stats *calls)
{
    double bytes[3] = { 0 }, time_s[3] = { 0 };
    for (size_t i = 0; i < calls->count; i++) {
        enum tau_call_direction way = tau_call_direction(calls->list[i].name);
        bytes[way] += or_zero(calls->list[i].bytes);
        time_s[way] += or_zero(calls->list[i].time_s);
    }
    const struct total totals[] = {
        { "strace_total{desc=\"hits\"}", calls->all.calls },
        { "strace_total{desc=\"time\"}", calls->all.time_s },
        { "strace_total{desc=\"read_time\"}", time_s[TAU_CALL_READS] },
        { "strace_total{desc=\"write_time\"}", time_s[TAU_CALL_WRITES] },
        { "strace_read_size_total", bytes[TAU_CALL_READS] },
        { "strace_total{desc=\"read_size\"}", bytes[TAU_CALL_READS] },
        { "strace_write_size_total", bytes[TAU_CALL_WRITES] },
        { "strace_total{desc=\"write_size\"}", bytes[TAU_CALL_WRITES] },
    };
    return ADD_TOTALS(list, totals);
}

static enum err add_call(struct metric_list *list, const struct syscall_stat *call)
{
    enum err err = add_labelled(list, "strace_hits_total", "scall", call->name, call->calls);
    if (!err)
        err = add_labelled(list, "strace_time_total", "scall", call->name, call->time_s);
    if (!err && call->bytes > 0)
        err = add_labelled(list, "strace_size_total", "scall", call->name, call->bytes);
    return err;
}

static enum err add_calls(struct metric_list *list, const struct job_metrics *metrics)
{
    struct syscall_stats calls;
    enum err err = syscall_stats_read(&calls, metrics);
    for (size_t i = 0; i < calls.count && !err; i++)
        err = add_call(list, &calls.list[i]);
    if (!err)
        err = add_all_calls(list, &calls);
    syscall_stats_clear(&calls);
    return err;
}

static enum err add_program_metrics(struct metric_list *list, const struct job_metrics *metrics,
                                    enum job_metrics_set set, size_t column)
{
    enum err err = OK;
    for (size_t i = 0; i < metrics->tables[set].count && !err; i++)
        if (!histogram_is_bucket(metrics->tables[set].rows[i].instance)) /* useless for a model, unlike _count and _sum */
            err = extrap_store_add(list, metrics->tables[set].rows[i].instance, job_metrics_value(metrics, set, i, column));
    return err;
}

enum err extrap_store_metrics(struct metric_list *list, const struct store_job *job, const struct job_metrics *metrics,
                              const struct mpi *mpi)
{
    const struct counters *sum = &job->summary.sum;
    enum err err = OK;
    for (size_t i = 0; i < mpi->function_count && !err; i++)
        err = add_function(list, &mpi->functions[i]);
    if (!err)
        err = add_all_functions(list, &mpi->all);
    if (!err)
        err = add_calls(list, metrics);
    if (!err)
        err = add_program_metrics(list, metrics, JOB_METRICS_COUNTER, PROGRAM_COUNTER_TOTAL);
    if (!err)
        err = add_program_metrics(list, metrics, JOB_METRICS_GAUGE, PROGRAM_GAUGE_SUM);
    if (!err && job->end_ns > job->start_ns && job->start_ns)
        err = extrap_store_add(list, "job_time_seconds", (double)(job->end_ns - job->start_ns) / 1e9);
    if (!err && counters_has(sum, COUNTER_usertime) && counters_has(sum, COUNTER_systemtime))
        err = extrap_store_add(list, "job_cpu_time_seconds", (double)counters_cpu_us(sum) / 1e6);
    return err;
}
