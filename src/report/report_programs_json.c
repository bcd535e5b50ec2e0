/* What the job's programs published, as JSON; also what the page leaves out. */
#include "report/report.h"

#include "analysis/histograms.h"
#include "analysis/phrase.h"
#include "model/program_sets.h"

#include <math.h>
#include <string.h>

static void known(struct json *json, const char *key, double value)
{
    if (isfinite(value))
        json_field_f64(json, key, value);
}

/* Program metrics may be infinite, for which JSON has no number. */
static void json_number(struct json *json, const char *key, double value)
{
    if (isinf(value))
        json_field_text(json, key, value > 0 ? "inf" : "-inf");
    else
        known(json, key, value);
}

static void whole(struct json *json, const char *key, double value)
{
    if (isfinite(value))
        json_field_u64(json, key, phrase_round(value));
}

static void add_sum(struct json *json, const struct mpi_sum *sum)
{
    whole(json, "calls", sum->calls);
    known(json, "time_s", sum->time_s);
    known(json, "wait_s", sum->wait_s);
    whole(json, "sent_bytes", sum->out_bytes);
    whole(json, "received_bytes", sum->in_bytes);
    whole(json, "small_messages", sum->small);
}

static void add_functions(struct json *json, const struct mpi *mpi)
{
    json_key(json, "functions");
    json_begin_array(json);
    for (size_t i = 0; i < mpi->function_count; i++) {
        json_begin_object(json);
        json_field_text(json, "function", mpi->functions[i].name);
        add_sum(json, &mpi->functions[i].sum);
        json_end_object(json);
    }
    json_end_array(json);
}

/* Only if there are several programs or worlds. */
static void add_world(struct json *json, struct rank_name name)
{
    if (name.program > 1)
        json_field_u64(json, "program", name.program);
    if (name.world)
        json_field_u64(json, "world", name.world);
}

static void add_ranks(struct json *json, const struct mpi *mpi)
{
    json_key(json, "ranks");
    json_begin_array(json);
    for (size_t i = 0; i < mpi->rank_count; i++) {
        const struct mpi_rank *rank = &mpi->ranks[i];
        json_begin_object(json);
        json_field_u64(json, "rank", rank->name.rank);
        add_world(json, rank->name);
        known(json, "life_s", rank->life_s);
        known(json, "own_s", mpi_own_s(rank));
        whole(json, "threads", rank->threads);
        if (rank->is_late)
            json_field_bool(json, "waited_for", true);
        add_sum(json, &rank->sum);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_pairs(struct json *json, const struct mpi *mpi)
{
    json_key(json, "pairs");
    json_begin_array(json);
    for (size_t i = 0; i < mpi->pair_count; i++) {
        json_begin_object(json);
        json_field_u64(json, "from", mpi->pairs[i].from.rank);
        if (mpi->pairs[i].is_elsewhere)
            json_field_bool(json, "elsewhere", true);
        else
            json_field_u64(json, "to", mpi->pairs[i].to.rank);
        add_world(json, mpi->pairs[i].from);
        whole(json, "messages", mpi->pairs[i].messages);
        whole(json, "bytes", mpi->pairs[i].bytes);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_mpi(struct json *json, const struct mpi *mpi)
{
    if (!mpi->function_count)
        return;
    json_key(json, "mpi");
    json_begin_object(json);
    json_field_u64(json, "rank_count", mpi->rank_count);
    whole(json, "rank_total", mpi->rank_total);
    if (mpi->unended_count)
        json_field_u64(json, "unended_ranks", mpi->unended_count);
    known(json, "life_s", mpi->life_s);
    known(json, "time_share", mpi_share(mpi));
    add_sum(json, &mpi->all);
    whole(json, "messages", mpi->messages);
    whole(json, "message_bytes", mpi->message_bytes);
    whole(json, "requests_lost", mpi->requests_lost);
    known(json, "own_mean_s", mpi->own_mean_s);
    known(json, "own_max_s", mpi->own_max_s);
    known(json, "others_wait_share", mpi->others_wait_share);
    if (!isnan(mpi->own_max_s)) {
        json_field_u64(json, "longest_rank", mpi->ranks[mpi->longest].name.rank);
        if (mpi->ranks[mpi->longest].name.program > 1)
            json_field_u64(json, "longest_program", mpi->ranks[mpi->longest].name.program);
        if (mpi->ranks[mpi->longest].name.world)
            json_field_u64(json, "longest_world", mpi->ranks[mpi->longest].name.world);
    }
    add_functions(json, mpi);
    add_ranks(json, mpi);
    add_pairs(json, mpi);
    json_end_object(json);
}

/* Number of calls that took less than 2^(8 + i) ns: the nonzero buckets of the histogram. */
static void add_histogram(struct json *json, const struct job_metrics *metrics, const char *instance)
{
    const struct job_metrics_table *table = &metrics->tables[JOB_METRICS_SYSCALL_TIME];
    for (size_t row = 0; row < table->count; row++) {
        if (strcmp(table->rows[row].instance, instance) != 0)
            continue;
        json_key(json, "calls_below_ns");
        json_begin_array(json);
        for (size_t i = 0; i < SYSCALL_BUCKETS; i++) {
            double count = job_metrics_value(metrics, JOB_METRICS_SYSCALL_TIME, row, i);
            if (!(count > 0))
                continue;
            json_begin_array(json);
            if (i + 1 < SYSCALL_BUCKETS)
                json_u64(json, 1ull << (8 + i));
            else
                json_null(json);
            json_u64(json, phrase_round(count));
            json_end_array(json);
        }
        json_end_array(json);
    }
}

static void add_call(struct json *json, const struct job_metrics *metrics, const struct syscall_stat *call)
{
    json_begin_object(json);
    json_field_bytes(json, "call", (struct bytes){ call->name, call->name_size });
    if (*syscall_stats_class(call))
        json_field_text(json, "to", syscall_stats_class(call));
    whole(json, "calls", call->calls);
    whole(json, "errors", call->errors);
    whole(json, "bytes", call->bytes);
    known(json, "time_s", call->time_s);
    add_histogram(json, metrics, call->name);
    json_end_object(json);
}

static void add_calls(struct json *json, const struct facts *facts)
{
    const struct syscall_stats *calls = &facts->calls;
    if (!calls->count && !calls->class_count)
        return;
    json_key(json, "system_calls");
    json_begin_object(json);
    whole(json, "calls", calls->all.calls);
    whole(json, "errors", calls->all.errors);
    known(json, "time_s", calls->all.time_s);
    json_key(json, "by_call");
    json_begin_array(json);
    for (size_t i = 0; i < calls->count; i++)
        add_call(json, &facts->metrics, &calls->list[i]);
    json_end_array(json);
    json_key(json, "by_class");
    json_begin_array(json);
    for (size_t i = 0; i < calls->class_count; i++)
        add_call(json, &facts->metrics, &calls->classes[i]);
    json_end_array(json);
    json_end_object(json);
}

static void add_program_metrics(struct json *json, const struct job_metrics *metrics, enum job_metrics_set set, const char *key,
                    const char *const *names, size_t count, const struct histograms *but)
{
    const struct job_metrics_table *table = &metrics->tables[set];
    json_key(json, key);
    json_begin_array(json);
    for (size_t row = 0; row < table->count; row++) {
        if (set == JOB_METRICS_COUNTER && histograms_have(but, table->rows[row].instance))
            continue;
        json_begin_object(json);
        json_field_text(json, "name", table->rows[row].instance);
        for (size_t i = 0; i < count; i++)
            json_number(json, names[i], job_metrics_value(metrics, set, row, i));
        json_end_object(json);
    }
    json_end_array(json);
}

/* Buckets as in Prometheus: cumulative counts per upper bound; null is the infinite bound. */
static void add_buckets(struct json *json, const struct histogram *histogram)
{
    json_key(json, "buckets");
    json_begin_array(json);
    for (size_t i = 0; i < histogram->count; i++) {
        json_begin_array(json);
        if (isinf(histogram->bounds[i]))
            json_null(json);
        else
            json_f64(json, histogram->bounds[i]);
        json_u64(json, phrase_round(histogram->counts[i]));
        json_end_array(json);
    }
    json_end_array(json);
}

static void add_histograms(struct json *json, const struct histograms *histograms)
{
    static const struct { const char *key; double share; } quantiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 } };
    json_key(json, "histograms");
    json_begin_array(json);
    for (size_t i = 0; i < histograms->count; i++) {
        const struct histogram *histogram = &histograms->list[i];
        double all = histogram->counts[histogram->count - 1];
        json_begin_object(json);
        json_field_text(json, "name", histogram->name);
        whole(json, "count", all);
        json_number(json, "sum", histogram->sum);
        json_number(json, "mean", all > 0 ? histogram->sum / all : NAN);
        for (size_t k = 0; k < sizeof quantiles / sizeof *quantiles; k++)
            known(json, quantiles[k].key,
                  histogram_quantile(histogram->bounds, histogram->counts, histogram->count, quantiles[k].share));
        add_buckets(json, histogram);
        json_end_object(json);
    }
    json_end_array(json);
}

void report_programs_json(struct json *json, const struct facts *facts)
{
    static const char *const counter[] = { "total" }, *const gauge[] = { "sum", "min", "max", "mean", "programs" };
    const struct job_metrics *metrics = &facts->metrics;
    add_mpi(json, &facts->mpi);
    add_calls(json, facts);
    if (!metrics->tables[JOB_METRICS_COUNTER].count && !metrics->tables[JOB_METRICS_GAUGE].count)
        return;
    json_key(json, "program");
    json_begin_object(json);
    struct histograms histograms;
    histograms_read(&histograms, metrics);
    add_program_metrics(json, metrics, JOB_METRICS_COUNTER, "counters", counter, 1, &histograms);
    add_program_metrics(json, metrics, JOB_METRICS_GAUGE, "gauges", gauge, PROGRAM_GAUGE_SIZE, &histograms);
    if (histograms.count)
        add_histograms(json, &histograms);
    histograms_clear(&histograms);
    json_end_object(json);
}
