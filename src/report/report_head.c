/* The head of the report: command, user, time, exit status, node. */
#include "report/report.h"

#include "base/shell.h"
#include "analysis/phrase.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COMMAND_LINES 4
#define VALUE_COLUMN (PAGE_INDENT + PAGE_LABEL)

static void add_title(struct page *page, const struct store_job *job)
{
    struct buf title;
    buf_init(&title, 1 << 16);
    bool named = job->name && job->name[0];
    buf_printf(&title, "%s%sjob %s", named ? job->name : "", named ? ", " : "", job->job_id ? job->job_id : "?");
    page_wrap(page, BOLD, (struct bytes){ title.data, title.size }, 0, 0, 2);
    buf_clear(&title);
}

static void add_command(struct page *page, const struct store_job *job)
{
    struct buf line;
    struct bytes args = job->command;
    if (args.size > 1 << 14)
        args.size = 1 << 14;
    buf_init(&line, 1 << 17);
    shell_add_args(&line, args);
    page_label(page, "command");
    page_wrap(page, PLAIN, line.size ? (struct bytes){ line.data, line.size } : bytes_of("?"), VALUE_COLUMN,
              VALUE_COLUMN, COMMAND_LINES);
    buf_clear(&line);
}

static void add_text_field(struct page *page, const char *label, const char *text)
{
    if (!text || !text[0])
        return;
    page_label(page, label);
    page_wrap(page, PLAIN, bytes_of(text), VALUE_COLUMN, VALUE_COLUMN, 3);
}

static void add_user(struct page *page, const struct store_job *job)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    if (job->user && job->user[0])
        buf_add_text(&text, job->user);
    else if (job->uid != UINT32_MAX)
        buf_printf(&text, "uid %u", job->uid);
    else
        buf_add_text(&text, "unknown");
    if (job->hosts && job->hosts[0])
        buf_printf(&text, " on %s", job->hosts);
    add_text_field(page, "user", buf_text(&text));
    buf_clear(&text);
}

static void add_when(struct page *page, const struct facts *facts)
{
    const struct store_job *job = &facts->job;
    double duration_s = facts_duration_s(facts);
    if (!job->start_ns)
        return;
    if (isnan(duration_s))
        page_printf(page, "started", "%s", format_time(job->start_ns).s);
    else
        page_printf(page, "started", job->running ? "%s, data for %s so far" : "%s, took %s", format_time(job->start_ns).s,
                    phrase_duration(duration_s).s);
}

/* Saved by sonde run or attach, not by agents, so it need not be a job of a batch system. */
static bool is_saved_by_run(const struct facts *facts)
{
    for (size_t i = 0; i < facts->runs.count; i++)
        if (!facts->runs.list[i].by_agent)
            return true;
    return false;
}

static void add_status(struct page *page, const struct facts *facts)
{
    const struct store_job *job = &facts->job;
    char text[160];
    enum colour colour = RED;
    if (facts_run_count(facts) > 1) {
        colour = report_runs_end(facts, text, sizeof text);
    } else if (!job->status_known && facts_only_from_agents(facts)) {
        colour = PLAIN;
        snprintf(text, sizeof text, "%s",
                 !job->ended ? "still running" : is_saved_by_run(facts) ? "unknown" : "unknown here; see the batch system");
    } else if (!job->status_known && job->ended && job->summary.running) {
        colour = PLAIN;
        snprintf(text, sizeof text, "still running when monitoring stopped");
    } else if (!job->status_known) {
        snprintf(text, sizeof text, "%s", job->ended ? "unknown" : "unknown: Sonde was terminated before the job ended");
    } else if (job->exit_signal) {
        snprintf(text, sizeof text, "terminated by %s", phrase_signal(job->exit_signal).s);
    } else {
        colour = job->exit_code ? RED : GREEN;
        snprintf(text, sizeof text, "%s, exit status %u", job->exit_code ? "failed" : "completed", job->exit_code);
    }
    page_label(page, "status");
    page_wrap(page, colour, bytes_of(text), VALUE_COLUMN, VALUE_COLUMN, 0);
}

/* "16 of 32 cores", or "2 cores" if all are allocated. */
static void add_part(struct buf *out, const char *allowed, const char *all, const char *unit)
{
    if (allowed[0] && all[0] && strcmp(allowed, all) != 0)
        buf_printf(out, "%s of %s%s", allowed, all, unit);
    else
        buf_printf(out, "%s%s", allowed[0] ? allowed : all, unit);
}

static void add_node(struct page *page, const struct facts *facts)
{
    const struct store_job *job = &facts->job;
    struct buf text;
    buf_init(&text, 1 << 16);
    struct format_text none = { "" };
    struct format_text allowed = job->cores_allowed_milli ? format_milli(job->cores_allowed_milli) : none;
    struct format_text cores = job->cores ? format_count(job->cores) : none;
    if (allowed.s[0] || cores.s[0])
        add_part(&text, allowed.s, cores.s, job->cores == 1 && !strcmp(allowed.s, "1") ? " core" : " cores");
    struct format_text limit = job->memory_limit_bytes ? format_bytes(job->memory_limit_bytes) : none;
    struct format_text memory = job->memory_bytes ? format_bytes(job->memory_bytes) : none;
    if (limit.s[0] || memory.s[0]) {
        buf_add_text(&text, text.size ? ", " : "");
        add_part(&text, limit.s, memory.s, " memory");
    }
    if (facts->host_count > 1)
        buf_printf(&text, ", %s nodes", format_count(facts->host_count).s);
    if (text.size)
        page_field(page, facts->host_count > 1 ? "nodes" : "node", (struct bytes){ text.data, text.size });
    buf_reset(&text);
    buf_add(&text, facts->host.cpu_model.data, facts->host.cpu_model.size);
    if (facts->host.kernel.size) {
        buf_add_text(&text, text.size ? ", Linux " : "Linux ");
        buf_add(&text, facts->host.kernel.data, facts->host.kernel.size);
    }
    if (text.size)
        page_field(page, "", (struct bytes){ text.data, text.size });
    buf_clear(&text);
}

/* "113 processes (peak 11), 113 threads (peak 11)" */
static void add_tasks(struct page *page, const struct summary *summary)
{
    struct format_text processes_peak = { "" }, threads_peak = { "" };
    if (!summary->processes)
        return;
    if (summary->live_peak > 1 || summary->threads_peak > 1) {
        snprintf(processes_peak.s, sizeof processes_peak.s, " (peak %.24s)", format_count(summary->live_peak).s);
        snprintf(threads_peak.s, sizeof threads_peak.s, " (peak %.24s)", format_count(summary->threads_peak).s);
    }
    page_printf(page, "tasks", "%s%s, %s%s", phrase_plural(summary->processes, "process", "processes").s,
                processes_peak.s, phrase_plural(summary->threads, "thread", "threads").s, threads_peak.s);
}

void report_head(struct page *page, const struct facts *facts)
{
    add_title(page, &facts->job);
    if (report_runs_differ(facts))
        report_runs(page, facts);
    else
        add_command(page, &facts->job);
    add_text_field(page, "directory", facts->job.cwd);
    add_user(page, &facts->job);
    add_text_field(page, "tags", facts->job.tags);
    add_when(page, facts);
    add_status(page, facts);
    add_node(page, facts);
    add_tasks(page, &facts->job.summary);
}
