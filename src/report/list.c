/* Formats jobs of the database as columns. */
#include "report/list.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/shell.h"
#include "report/status.h"

#include <stdio.h>
#include <string.h>

#define COMMAND_MAX 512u
#define WIDE 110 /* minimum width for the full start time */
#define SILENT_NS (5 * 60 * NS_PER_S) /* a job without new data for this time was interrupted; updates come every minute */
#define SILENT_PERIODS 3              /* and for this many sampling periods */

static const struct table_column list_columns[] = {
    { .title = "JOB", .min = 28 }, /* generated ids are never truncated, since users type them */
    { .title = "NAME", .min = 5 },
    { .title = "USER", .min = 5, .rank = 7 },
    { .title = "START", .rank = 5 },
    { .title = "TIME", .right = true },
    { .title = "CPU", .right = true, .rank = 2 },
    { .title = "CORES", .right = true, .rank = 4 },
    { .title = "MEM", .right = true, .rank = 3 },
    { .title = "PROCS", .right = true, .rank = 6 },
    { .title = "STATUS", .rank = 1 },
    { .title = "HOST", .min = 8, .rank = 8 },
    { .title = "TAGS", .min = 12, .rank = 9 },
    { .title = "COMMAND", .min = 20, .rank = 10 },
};

void list_init(struct list *list, struct terminal terminal, uint64_t now_ns)
{
    time_t now = (time_t)(now_ns / NS_PER_S);
    *list = (struct list){ .terminal = terminal, .now_ns = now_ns };
    localtime_r(&now, &list->today);
    size_t count = sizeof list_columns / sizeof *list_columns;
    table_init(&list->table, list_columns, count, terminal.utf8);
}

void list_clear(struct list *list)
{
    table_clear(&list->table);
}

static bool cpu_known(const struct counters *counters)
{
    return counters_has(counters, COUNTER_usertime) || counters_has(counters, COUNTER_systemtime);
}

bool list_cpu_us(const struct store_job *job, uint64_t *cpu_us)
{
    uint64_t total = counters_cpu_us(&job->summary.total), sum = counters_cpu_us(&job->summary.sum);
    *cpu_us = total > sum ? total : sum;
    return cpu_known(&job->summary.total) || cpu_known(&job->summary.sum);
}

bool list_memory_bytes(const struct store_job *job, uint64_t *bytes)
{
    uint64_t largest = counters_get(&job->summary.sum, COUNTER_rssmax) * 1024;
    uint64_t waited = counters_get(&job->summary.total, COUNTER_rssmax) * 1024;
    bool is_plausible = !job->memory_bytes || job->summary.rss_peak_bytes <= job->memory_bytes; /* like analysis/figures.c */
    *bytes = is_plausible ? job->summary.rss_peak_bytes : 0;
    *bytes = largest > *bytes ? largest : *bytes;
    *bytes = waited > *bytes ? waited : *bytes;
    return *bytes > 0;
}

static bool duration_known(const struct store_job *job)
{
    return job->start_ns && job->end_ns > job->start_ns;
}

bool list_has_processes(const struct store_job *job)
{
    return job->summary.processes > 0;
}

static bool is_running(const struct store_job *job, uint64_t now_ns)
{
    uint64_t silent_ns = job->period_ns * SILENT_PERIODS > SILENT_NS ? job->period_ns * SILENT_PERIODS : SILENT_NS;
    uint64_t seen_ns = job->end_ns ? job->end_ns : job->start_ns;
    return job->running && seen_ns + silent_ns >= now_ns;
}

/* 0: unknown. */
static uint64_t duration_ns(const struct store_job *job, uint64_t now_ns)
{
    uint64_t end_ns = is_running(job, now_ns) ? now_ns : job->end_ns;
    return job->start_ns && end_ns > job->start_ns ? end_ns - job->start_ns : 0;
}

bool list_cores_used_milli(const struct store_job *job, uint64_t *milli)
{
    uint64_t cpu_us;
    if (!list_cpu_us(job, &cpu_us) || !duration_known(job))
        return false;
    *milli = (uint64_t)((double)cpu_us * 1e6 / (double)(job->end_ns - job->start_ns) + 0.5);
    return true;
}

/* "20:13" for today, "15 Nov" for this year, "2025-11"; in full on a wide terminal. */
static struct format_text start_text(const struct list *list, uint64_t start_ns)
{
    struct format_text text = { "" };
    time_t start = (time_t)(start_ns / NS_PER_S);
    struct tm tm;
    if (start_ns == 0 || !localtime_r(&start, &tm))
        return text;
    bool this_year = tm.tm_year == list->today.tm_year, this_day = this_year && tm.tm_yday == list->today.tm_yday;
    const char *form = list->terminal.width >= WIDE ? "%Y-%m-%d %H:%M:%S"
                       : this_day                   ? "%H:%M"
                       : this_year                  ? "%d %b"
                                                    : "%Y-%m";
    strftime(text.s, sizeof text.s, form, &tm);
    return text;
}

static void add_cores(struct table *table, const struct store_job *job)
{
    char cell[2 * sizeof(struct format_text)] = "";
    uint64_t used, allowed = job->cores_allowed_milli;
    if (list_cores_used_milli(job, &used))
        snprintf(cell, sizeof cell, "%s%s%s", format_tenths(used).s, allowed ? "/" : "", allowed ? format_milli(allowed).s : "");
    table_add_text(table, PLAIN, cell);
}

static void add_status(struct table *table, const struct store_job *job, uint64_t now_ns)
{
    struct format_text text = status_text(job->status_known, job->exit_code, job->exit_signal);
    if (is_running(job, now_ns))
        table_add_text(table, PLAIN, "running");
    else if (!job->ended)
        table_add_text(table, YELLOW, "interrupted");
    else if (!job->status_known)
        table_add_text(table, FAINT, text.s);
    else
        table_add_text(table, job->exit_code || job->exit_signal ? RED : GREEN, text.s);
}

/* Quoted for the shell, truncated to what fits a terminal. */
static void add_command(struct table *table, struct bytes command)
{
    struct buf line;
    if (command.size > COMMAND_MAX)
        command.size = COMMAND_MAX;
    buf_init(&line, 8 * COMMAND_MAX);
    shell_add_args(&line, command);
    table_add(table, PLAIN, (struct bytes){ line.data, line.size });
    buf_clear(&line);
}

void list_add(struct list *list, const struct store_job *job)
{
    struct table *table = &list->table;
    uint64_t cpu_us, memory;
    uint64_t time_ns = duration_ns(job, list->now_ns);
    bool has_cpu = list_cpu_us(job, &cpu_us), has_memory = list_memory_bytes(job, &memory);
    table_add_text(table, BOLD, job->job_id);
    table_add_text(table, PLAIN, job->name ? job->name : "");
    table_add_text(table, PLAIN, job->user ? job->user : "");
    table_add_text(table, PLAIN, start_text(list, job->start_ns).s);
    table_add_text(table, PLAIN, time_ns ? format_duration_short(time_ns).s : "");
    table_add_text(table, PLAIN, has_cpu ? format_duration_short(cpu_us * NS_PER_US).s : "");
    add_cores(table, job);
    table_add_text(table, PLAIN, has_memory ? format_bytes_short(memory).s : "");
    table_add_text(table, PLAIN, list_has_processes(job) ? format_count(job->summary.processes).s : "");
    add_status(table, job, list->now_ns);
    table_add_text(table, PLAIN, job->hosts ? job->hosts : "");
    table_add_text(table, PLAIN, job->tags ? job->tags : "");
    add_command(table, job->command);
    list->jobs++;
}

enum err list_print(const struct list *list, struct buf *out)
{
    return table_print(&list->table, &list->terminal, out);
}

static void add_times(struct json *json, const struct store_job *job, uint64_t now_ns)
{
    bool running = is_running(job, now_ns);
    uint64_t time_ns = duration_ns(job, now_ns);
    if (job->start_ns) {
        json_field_text(json, "start", format_time_iso(job->start_ns).s);
        json_field_u64(json, "start_ns", job->start_ns);
    }
    if (job->end_ns && !running) {
        json_field_text(json, "end", format_time_iso(job->end_ns).s);
        json_field_u64(json, "end_ns", job->end_ns);
    }
    if (time_ns)
        json_field_f64(json, "duration_s", (double)time_ns / 1e9);
    json_field_bool(json, "ended", job->ended);
    json_field_bool(json, "running", running);
    if (job->status_known) {
        json_field_u64(json, "exit_code", job->exit_code);
        json_field_u64(json, "exit_signal", job->exit_signal);
    }
}

static void add_known(struct json *json, const char *key, uint64_t value)
{
    if (value)
        json_field_u64(json, key, value);
}

static void add_figures(struct json *json, const struct store_job *job)
{
    uint64_t number;
    if (list_cpu_us(job, &number))
        json_field_f64(json, "cpu_s", (double)number / 1e6);
    if (list_cores_used_milli(job, &number))
        json_field_f64(json, "cores_used", (double)number / 1000);
    if (job->cores_allowed_milli)
        json_field_f64(json, "cores_allowed", (double)job->cores_allowed_milli / 1000);
    add_known(json, "cores", job->cores);
    if (list_memory_bytes(job, &number))
        json_field_u64(json, "memory_max_bytes", number);
    add_known(json, "memory_limit_bytes", job->memory_limit_bytes);
    add_known(json, "memory_bytes", job->memory_bytes);
    if (!list_has_processes(job))
        return;
    json_field_u64(json, "processes", job->summary.processes);
    json_field_u64(json, "threads", job->summary.threads);
    json_field_u64(json, "failed", job->summary.failed);
    json_field_u64(json, "signalled", job->summary.signalled);
}

void list_job_json(struct json *json, const struct store_job *job, uint64_t now_ns)
{
    json_begin_object(json);
    json_field_text(json, "job", job->job_id);
    json_field_text(json, "name", job->name);
    json_field_text(json, "user", job->user);
    if (job->uid != UINT32_MAX)
        json_field_u64(json, "uid", job->uid);
    json_field_text(json, "hosts", job->hosts);
    json_field_strings(json, "command", job->command);
    json_field_text(json, "cwd", job->cwd);
    json_field_text(json, "tags", job->tags);
    add_times(json, job, now_ns);
    add_figures(json, job);
    json_end_object(json);
}
