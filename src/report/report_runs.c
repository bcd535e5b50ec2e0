/* The head of a job with several runs: the command and status of each. The job has one command, of its first run, and
 * one status, of its last; printed together they would describe a run that never happened. */
#include "report/report.h"

#include "base/shell.h"
#include "analysis/phrase.h"
#include "report/status.h"

#include <stdio.h>
#include <string.h>

#define RUNS_SHOWN 6
#define STATUS_WIDTH 8
#define VALUE_COLUMN (PAGE_INDENT + PAGE_LABEL)

static bool commands_differ(const struct facts *facts)
{
    const struct store_run *first = NULL;
    for (size_t i = 0; i < facts->runs.count; i++) {
        const struct store_run *run = &facts->runs.list[i];
        if (!facts_is_recorded_run(run))
            continue;
        if (first && !bytes_equal(first->command, run->command))
            return true;
        first = first ? first : run;
    }
    return false;
}

bool report_runs_differ(const struct facts *facts)
{
    return facts_run_count(facts) > 1 && (facts_runs_failed(facts) || commands_differ(facts));
}

static void add_run(struct page *page, const struct facts *facts, const struct store_run *run, const char *label)
{
    struct buf line;
    struct format_text status = status_text(run->status_known, run->exit_code, run->exit_signal);
    buf_init(&line, 1 << 17);
    shell_add_args(&line, run->command);
    if (facts->host_count > 1)
        buf_printf(&line, " on %s", run->host);
    size_t width = strlen(status.s) < STATUS_WIDTH ? STATUS_WIDTH : strlen(status.s) + 1;
    page_label(page, label);
    buf_printf(page->out, "%-*s", (int)width, status.s);
    page_wrap(page, facts_run_failed(run) ? RED : PLAIN, (struct bytes){ line.data, line.size }, VALUE_COLUMN + width,
              VALUE_COLUMN + width, 1);
    buf_clear(&line);
}

/* Those that failed, or those that did not, in order of time, up to RUNS_SHOWN. */
static void add_runs(struct page *page, const struct facts *facts, bool failed, size_t *shown)
{
    for (size_t i = 0; i < facts->runs.count && *shown < RUNS_SHOWN; i++) {
        const struct store_run *run = &facts->runs.list[i];
        if (!facts_is_recorded_run(run) || facts_run_failed(run) != failed)
            continue;
        add_run(page, facts, run, *shown ? "" : "runs");
        ++*shown;
    }
}

void report_runs(struct page *page, const struct facts *facts)
{
    size_t shown = 0, count = facts_run_count(facts), failed = facts_runs_failed(facts);
    add_runs(page, facts, true, &shown);
    add_runs(page, facts, false, &shown);
    if (count == shown)
        return;
    struct format_text others = phrase_plural(count - shown, "other", "others");
    if (failed > shown)
        page_printf(page, "", "and %s, of which %s failed", others.s, format_count(failed - shown).s);
    else
        page_printf(page, "", "and %s", others.s);
}

enum colour report_runs_end(const struct facts *facts, char *text, size_t size)
{
    size_t count = facts_run_count(facts), failed = facts_runs_failed(facts), unknown = 0;
    for (size_t i = 0; i < facts->runs.count; i++)
        unknown += facts_is_recorded_run(&facts->runs.list[i]) && !facts->runs.list[i].status_known;
    struct format_text of = format_count(count), unknowns = format_count(unknown);
    if (!failed && !unknown)
        snprintf(text, size, "completed, all %s runs with exit status 0", of.s);
    else if (!failed)
        snprintf(text, size, "unknown for %s of %s runs, others completed", unknowns.s, of.s);
    else
        snprintf(text, size, "failed: %s of %s runs failed%s%s%s", format_count(failed).s, of.s, unknown ? ", " : "",
                 unknown ? unknowns.s : "", unknown ? " with unknown status" : "");
    return failed || unknown ? RED : GREEN;
}
