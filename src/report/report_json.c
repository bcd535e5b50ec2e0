/* The report as JSON: the raw numbers behind the page, with units in the names; missing values are left out. */
#include "report/report.h"

#include "analysis/phrase.h"
#include "base/format.h"
#include "net/json.h"
#include "report/usage_mark.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TIMELINE_POINTS 48 /* points of a timeline, as on the page */

static void known_f64(struct json *json, const char *key, double value)
{
    if (!isnan(value))
        json_field_f64(json, key, value);
}

static void known_u64(struct json *json, const char *key, uint64_t value)
{
    if (value)
        json_field_u64(json, key, value);
}

static void known_text(struct json *json, const char *key, const char *text)
{
    if (text && text[0])
        json_field_bytes(json, key, bytes_of(text));
}

static void known_bytes(struct json *json, const char *key, struct bytes text)
{
    if (text.size)
        json_field_bytes(json, key, text);
}

/* name_unit: value, for each known counter; those without a unit by their name alone. */
static void add_counters(struct json *json, const char *key, const struct counters *counters)
{
    json_key(json, key);
    json_begin_object(json);
    for (int i = 0; i < COUNTERS_SIZE; i++) {
        const struct metric *metric = &counters_metrics[i];
        const char *unit = strcmp(metric->unit, "B") == 0    ? "bytes"
                           : strcmp(metric->unit, "KB") == 0 ? "kb"
                                                             : metric->unit;
        char name[64];
        bool has_unit = strstr(metric->name, "bytes") != NULL || strcmp(unit, "1") == 0;
        snprintf(name, sizeof name, has_unit ? "%s" : "%s_%s", metric->name, unit);
        if (counters_has(counters, (enum counter)i))
            json_field_u64(json, name, counters->value[i]);
    }
    json_end_object(json);
}

static void add_job(struct json *json, const struct facts *facts)
{
    const struct store_job *job = &facts->job;
    json_key(json, "job");
    json_begin_object(json);
    known_text(json, "id", job->job_id);
    known_text(json, "name", job->name);
    known_text(json, "user", job->user);
    if (job->uid != UINT32_MAX)
        json_field_u64(json, "uid", job->uid);
    known_text(json, "cwd", job->cwd);
    known_text(json, "tags", job->tags);
    json_field_strings(json, "command", job->command);
    known_u64(json, "start_ns", job->start_ns);
    known_u64(json, "end_ns", job->end_ns);
    if (job->start_ns)
        json_field_text(json, "start", format_time_iso(job->start_ns).s);
    known_f64(json, "duration_s", facts_duration_s(facts));
    json_field_bool(json, "ended", job->ended);
    if (job->status_known && job->exit_signal)
        json_field_u64(json, "exit_signal", job->exit_signal);
    else if (job->status_known)
        json_field_u64(json, "exit_code", job->exit_code);
    known_u64(json, "period_ns", job->period_ns);
    json_end_object(json);
}

static void add_run(struct json *json, const struct store_run *run)
{
    json_begin_object(json);
    known_text(json, "host", run->host);
    known_text(json, "user", run->user);
    json_field_strings(json, "command", run->command);
    known_u64(json, "start_ns", run->start_ns);
    known_u64(json, "end_ns", run->end_ns);
    json_field_bool(json, "ended", run->ended);
    if (run->status_known && run->exit_signal)
        json_field_u64(json, "exit_signal", run->exit_signal);
    else if (run->status_known)
        json_field_u64(json, "exit_code", run->exit_code);
    json_end_object(json);
}

static void add_runs(struct json *json, const struct facts *facts)
{
    if (!facts_run_count(facts))
        return;
    json_key(json, "runs");
    json_begin_array(json);
    for (size_t i = 0; i < facts->runs.count; i++)
        if (facts_is_recorded_run(&facts->runs.list[i]))
            add_run(json, &facts->runs.list[i]);
    json_end_array(json);
}

static void add_node(struct json *json, const struct facts *facts)
{
    const struct store_job *job = &facts->job;
    json_key(json, "machine");
    json_begin_object(json);
    known_text(json, "hosts", job->hosts);
    known_u64(json, "host_count", facts->host_count);
    known_u64(json, "cores", job->cores);
    if (job->cores_allowed_milli)
        json_field_f64(json, "cores_allowed", (double)job->cores_allowed_milli / 1000);
    known_u64(json, "memory_bytes", job->memory_bytes);
    known_u64(json, "memory_limit_bytes", job->memory_limit_bytes);
    known_bytes(json, "cpu_model", facts->host.cpu_model);
    known_bytes(json, "kernel", facts->host.kernel);
    json_end_object(json);
}

static const char *const memory_sources[] = {
    [FACTS_MEMORY_PROCESS] = "process", [FACTS_MEMORY_PSS] = "pss", [FACTS_MEMORY_RSS] = "rss", [FACTS_MEMORY_CGROUP] = "cgroup",
};

static void add_usage(struct json *json, const struct facts *facts)
{
    double used = facts_cores_used(facts), peak = facts_memory_peak(facts);
    json_key(json, "use");
    json_begin_object(json);
    known_f64(json, "cpu_s", facts_cpu_s(facts));
    known_f64(json, "cores_used", used);
    known_f64(json, "cores_wanted", facts_cores_wanted(facts));
    known_f64(json, "cores_of_others", facts_cores_of_other_processes(facts));
    known_f64(json, "cores_used_share", used / facts_cores_allocated(facts));
    if (!isnan(peak))
        json_field_u64(json, "memory_peak_bytes", phrase_round(peak));
    known_text(json, "memory_peak_source", memory_sources[facts_memory_source(facts)]);
    known_f64(json, "memory_peak_share", peak / facts_memory_limit(facts));
    known_f64(json, "run_queue_share", facts_run_queue_share(facts));
    known_u64(json, "oom_kills", facts->oom_kills);
    add_counters(json, "sum", &facts->job.summary.sum);
    add_counters(json, "total", &facts->job.summary.total);
    json_end_object(json);
}

static void add_tasks(struct json *json, const struct summary *summary)
{
    json_key(json, "made");
    json_begin_object(json);
#define X(field) \
    if (summary->processes) \
        json_field_u64(json, #field, summary->field);
    SUMMARY_SUMS(X)
#undef X
    known_u64(json, "live_peak", summary->live_peak);
    known_u64(json, "threads_peak", summary->threads_peak);
    json_end_object(json);
    json_key(json, "gaps");
    json_begin_object(json);
#define X(field) json_field_u64(json, #field, summary->gaps.field);
    SUMMARY_GAPS(X)
#undef X
    json_end_object(json);
}

/* Unknown points are null, since the position gives the time. Insignificant digits are cut off. */
static void add_timeline(struct json *json, const char *key, const struct timeline *timeline, enum timeline_line line,
                      double digits)
{
    double columns[TIMELINE_POINTS];
    if (isnan(timeline_peak(timeline, line)))
        return;
    timeline_resample(timeline, line, columns, TIMELINE_POINTS);
    json_key(json, key);
    json_begin_array(json);
    for (size_t i = 0; i < TIMELINE_POINTS; i++)
        json_f64(json, round(columns[i] * digits) / digits);
    json_end_array(json);
}

static void add_timelines(struct json *json, const struct facts *facts)
{
    if (facts->timeline.samples < TIMELINE_SAMPLES_MIN)
        return;
    json_key(json, "over_time");
    json_begin_object(json);
    json_field_u64(json, "samples", facts->timeline.samples);
    known_f64(json, "step_s", facts_duration_s(facts) / TIMELINE_POINTS);
    add_timeline(json, "cpu_cores", &facts->timeline, TIMELINE_CPU, 1000);
    add_timeline(json, "memory_bytes", &facts->timeline, TIMELINE_MEMORY, 1);
    add_timeline(json, "threads", &facts->timeline, TIMELINE_THREADS, 1);
    add_timeline(json, "storage_bytes_per_s", &facts->timeline, TIMELINE_STORAGE, 1);
    add_timeline(json, "calls_bytes_per_s", &facts->timeline, TIMELINE_CALLS, 1);
    add_timeline(json, "machine_busy_cores", &facts->timeline, TIMELINE_NODE, 1000);
    add_timeline(json, "machine_iowait_cores", &facts->timeline, TIMELINE_IOWAIT, 1000);
    add_timeline(json, "machine_steal_cores", &facts->timeline, TIMELINE_STEAL, 1000);
    json_end_object(json);
}

static void add_executable_io(struct json *json, const struct summary_executable *executable, uint64_t known)
{
    if (!facts_executable_has_io(executable))
        return;
    if (known >> COUNTER_read_bytes & 1)
        json_field_u64(json, "read_bytes", executable->read_bytes);
    if (known >> COUNTER_write_bytes & 1)
        json_field_u64(json, "write_bytes", executable->write_bytes);
    json_field_u64(json, "rchar_bytes", executable->rchar);
    if (known >> COUNTER_wchar & 1)
        json_field_u64(json, "wchar_bytes", executable->wchar);
}

static void add_executable(struct json *json, const struct facts *facts, const struct summary_executable *executable)
{
    uint64_t known = facts->job.summary.sum.known;
    json_begin_object(json);
    json_field_bytes(json, "name", executable->name);
    known_bytes(json, "path", executable->path);
    json_field_u64(json, "count", executable->count);
    json_field_u64(json, "short_count", executable->short_count);
    json_field_u64(json, "failed", executable->failed);
    known_u64(json, "cpu_us", executable->cpu_us);
    usage_mark_json(json, facts_executable_sources(facts, executable));
    known_u64(json, "wall_ns", executable->wall_ns);
    known_u64(json, "rss_max_kb", executable->rss_max_kb);
    add_executable_io(json, executable, known);
    known_u64(json, "waiting_ns", executable->waiting_ns);
    if (known >> COUNTER_delayacct_blkio_time & 1)
        json_field_u64(json, "blkio_us", executable->blkio_us);
    json_end_object(json);
}

static void add_process(struct json *json, const struct facts *facts, size_t i)
{
    const struct process *process = &facts->processes[i];
    json_begin_object(json);
    json_field_u64(json, "number", facts->process_number[i]);
    json_field_u64(json, "pid", process->pid);
    json_field_bytes(json, "name", process->name);
    known_bytes(json, "path", process->path);
    json_field_strings(json, "args", process->args);
    known_u64(json, "start_ns", process->start_ns);
    known_u64(json, "end_ns", process->end_ns);
    json_field_u64(json, "threads", process->thread_count);
    if (process->status_known && process->exit_signal)
        json_field_u64(json, "exit_signal", process->exit_signal);
    else if (process->status_known)
        json_field_u64(json, "exit_code", process->exit_code);
    usage_mark_json(json, process->sources);
    json_field_u64(json, "inclusive_cpu_us", process->inclusive_cpu_us);
    add_counters(json, "counters", &process->counters);
    json_end_object(json);
}

static void add_thread(struct json *json, const struct facts_thread *thread)
{
    json_begin_object(json);
    json_field_u64(json, "process", thread->process);
    json_field_u64(json, "tid", thread->thread.tid);
    known_text(json, "name", thread->name);
    known_u64(json, "start_ns", thread->thread.start_ns);
    known_u64(json, "end_ns", thread->thread.end_ns);
    add_counters(json, "counters", &thread->thread.counters);
    json_end_object(json);
}

static void add_tables(struct json *json, const struct facts *facts)
{
    json_field_u64(json, "executable_count", facts->executables_all);
    json_key(json, "executables");
    json_begin_array(json);
    for (size_t i = 0; i < facts->executable_count; i++)
        add_executable(json, facts, &facts->executables[i]);
    json_end_array(json);
    json_key(json, "processes");
    json_begin_array(json);
    for (size_t i = 0; i < facts->process_count; i++)
        add_process(json, facts, i);
    json_end_array(json);
    json_key(json, "threads");
    json_begin_array(json);
    for (size_t i = 0; i < facts->thread_count; i++)
        add_thread(json, &facts->threads[i]);
    json_end_array(json);
    json_key(json, "events");
    json_begin_object(json);
    for (size_t i = 0; i < facts->event_count; i++)
        json_field_u64(json, facts->events[i].name, facts->events[i].sum);
    json_end_object(json);
}

static void add_sentences(struct json *json, const struct report *report)
{
    json_key(json, "not_known");
    json_begin_array(json);
    for (size_t i = 0; i < report->missing.count; i++)
        json_text(json, report->missing.items[i]);
    json_end_array(json);
    json_key(json, "advice");
    json_begin_array(json);
    for (size_t i = 0; i < report->advice.count; i++) {
        const struct advice *advice = &report->advice.items[i];
        json_begin_object(json);
        json_field_text(json, "rule", advice->rule->name);
        json_field_text(json, "severity", advice_severity(advice->severity));
        json_field_text(json, "sentence", advice->sentence);
        json_field_text(json, "remedy", advice->fix);
        json_end_object(json);
    }
    json_end_array(json);
}

void report_json(const struct report *report, struct buf *out)
{
    struct json json;
    json_init(&json, out);
    json_begin_object(&json);
    add_job(&json, report->facts);
    add_runs(&json, report->facts);
    add_node(&json, report->facts);
    add_tasks(&json, &report->facts->job.summary);
    add_usage(&json, report->facts);
    add_timelines(&json, report->facts);
    add_tables(&json, report->facts);
    report_programs_json(&json, report->facts);
    add_sentences(&json, report);
    json_end_object(&json);
    json_end(&json);
}
