/* The most expensive executables, processes and threads by CPU time, and the totals of perf events. All tables have the
 * same columns: a name, a number, and six figures. */
#include "report/report.h"

#include "base/clock.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "analysis/phrase.h"
#include "report/report_row.h"
#include "report/usage_mark.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS_EXECUTABLES 8
#define ROWS_PROCESSES 5
#define ROWS_THREADS 5
#define THREAD_SHARE 0.01
#define EVENT_NAME 40
#define EVENT_SUM 27 /* columns: 2^64 with thousands separators, and a space */
#define COMMAND_MAX 512 /* bytes of a command line that a row could show */

static struct format_text cpu_share(const struct facts *facts, uint64_t cpu_us)
{
    double share = (double)cpu_us / 1e6 / facts_cpu_s(facts);
    struct format_text text = { "" };
    if (share > 0 && share * 100 <= 0.5)
        snprintf(text.s, sizeof text.s, "<1 %%");
    else if (share >= 0)
        snprintf(text.s, sizeof text.s, share < 10 ? "%.0f %%" : ">999%%", share * 100);
    return text;
}

static struct format_text duration_us(uint64_t us)
{
    return report_row_duration(us < UINT64_MAX / NS_PER_US ? us * NS_PER_US : UINT64_MAX);
}

static bool is_known(const struct facts *facts, enum counter counter)
{
    return counters_has(&facts->job.summary.sum, counter);
}

/* The name, or the path if two of the executables shown have the same name. buffer: for a name whose path is unknown,
 * as that of a set-uid program, which may or may not be the other one. */
static struct bytes executable_name(const struct facts *facts, const struct summary_executable *executable,
                                    struct format_text *buffer)
{
    for (size_t i = 0; i < facts->executable_count && executable->name.size; i++) {
        const struct summary_executable *other = &facts->executables[i];
        if (!bytes_equal(other->name, executable->name) || bytes_equal(other->path, executable->path) || !other->path.size)
            continue;
        if (executable->path.size)
            return executable->path;
        snprintf(buffer->s, sizeof buffer->s, "%.20s, path unknown", phrase_name(executable->name).s);
        return bytes_of(buffer->s);
    }
    return executable->name.size ? executable->name : bytes_of("?");
}

/* Appends the mark to the CPU time, if there is one. Returns the kind of the mark. */
static unsigned add_mark(struct report_row *row, unsigned sources)
{
    size_t size = strlen(row->cells[1].s);
    if (!size)
        return 0;
    snprintf(row->cells[1].s + size, sizeof row->cells[1].s - size, "%s", usage_mark(sources));
    return usage_mark_kind(sources);
}

/* The totals of an executable have no flags of their own. But every process uses some CPU time, runs for some time and
 * reads something, so 0 means unknown. */
static struct report_row executable_row(const struct facts *facts, const struct summary_executable *executable,
                                        struct format_text *buffer)
{
    struct report_row row = { .name = executable_name(facts, executable, buffer) };
    row.cells[0] = report_row_count(executable->count);
    if (!isnan(facts_cpu_s(facts)) && executable->cpu_us) {
        row.cells[1] = duration_us(executable->cpu_us);
        row.cells[2] = cpu_share(facts, executable->cpu_us);
    }
    if (executable->wall_ns)
        row.cells[3] = report_row_duration(executable->wall_ns);
    if (executable->rss_max_kb)
        row.cells[4] = format_bytes_short(executable->rss_max_kb * 1024);
    if (facts_executable_has_io(executable))
        row.cells[5] = format_bytes_short(executable->rchar);
    if (facts_executable_has_io(executable) && is_known(facts, COUNTER_wchar))
        row.cells[6] = format_bytes_short(executable->wchar);
    return row;
}

static unsigned add_executables(struct page *page, const struct facts *facts)
{
    static const char *const titles[REPORT_CELLS] = { "count", "CPU", "share", "wall", "memory", "read", "written" };
    struct summary_executable rest = facts->rest;
    struct format_text buffer;
    unsigned marked = 0;
    if (!facts->executable_count)
        return 0;
    report_row_titles(page, "Executables", titles);
    size_t shown = facts->executable_count;
    if (shown > ROWS_EXECUTABLES)
        shown = ROWS_EXECUTABLES;
    for (size_t i = 0; i < facts->executable_count; i++) {
        if (i < shown) {
            struct report_row row = executable_row(facts, &facts->executables[i], &buffer);
            marked |= add_mark(&row, facts_executable_sources(facts, &facts->executables[i]));
            report_row_add(page, &row, PLAIN);
        } else {
            facts_add_executable(&rest, &facts->executables[i]);
        }
    }
    if (facts->executables_all > shown) {
        char name[64];
        snprintf(name, sizeof name, "and %s", phrase_plural(facts->executables_all - shown, "other", "others").s);
        rest.name = bytes_of(name);
        struct report_row row = executable_row(facts, &rest, &buffer);
        report_row_add(page, &row, FAINT);
    }
    return marked;
}

/* The columns that a process and a thread share: CPU, share, wall. */
static void own_cells(struct report_row *row, const struct facts *facts, const struct counters *counters,
                      uint64_t start_ns, uint64_t end_ns)
{
    if (counters_has(counters, COUNTER_usertime) || counters_has(counters, COUNTER_systemtime)) {
        row->cells[1] = duration_us(counters_cpu_us(counters));
        row->cells[2] = cpu_share(facts, counters_cpu_us(counters));
    }
    if (start_ns && end_ns >= start_ns)
        row->cells[3] = report_row_duration(end_ns - start_ns);
}

static void bytes_cell(struct format_text *cell, const struct counters *counters, enum counter counter, uint64_t factor)
{
    if (counters_has(counters, counter))
        *cell = format_bytes_short(counters->value[counter] * factor);
}

static unsigned add_process(struct page *page, const struct facts *facts, const struct process *process)
{
    struct report_row row = { .name = process->name };
    struct buf command;
    struct bytes args = process->args;
    buf_init(&command, 16 * COMMAND_MAX);
    if (args.size > COMMAND_MAX)
        args.size = COMMAND_MAX;
    /* The first argument is often a path; the name is shorter. */
    const char *rest = args.size ? memchr(args.data, '\0', args.size) : NULL;
    buf_add(&command, process->name.data, process->name.size);
    if (rest && (size_t)(rest + 1 - args.data) < args.size) {
        buf_add_char(&command, ' ');
        shell_add_args(&command, (struct bytes){ rest + 1, args.size - (size_t)(rest + 1 - args.data) });
    }
    if (command.size)
        row.name = (struct bytes){ command.data, command.size };
    snprintf(row.cells[0].s, sizeof row.cells[0].s, "%u", process->pid);
    own_cells(&row, facts, &process->counters, process->start_ns, process->end_ns);
    unsigned marked = add_mark(&row, process->sources);
    bytes_cell(&row.cells[4], &process->counters, COUNTER_rssmax, 1024);
    bytes_cell(&row.cells[5], &process->counters, COUNTER_rchar, 1);
    bytes_cell(&row.cells[6], &process->counters, COUNTER_wchar, 1);
    report_row_add(page, &row, PLAIN);
    buf_clear(&command);
    return marked;
}

/* Left out if every executable had one process: the table above has them all. */
static unsigned add_processes(struct page *page, const struct facts *facts)
{
    static const char *const titles[REPORT_CELLS] = { "pid", "CPU", "share", "wall", "memory", "read", "written" };
    if (!facts->process_count || facts->job.summary.images <= facts->executable_count)
        return 0;
    unsigned marked = 0;
    report_row_titles(page, "Processes", titles);
    for (size_t i = 0; i < facts->process_count && i < ROWS_PROCESSES; i++)
        marked |= add_process(page, facts, &facts->processes[i]);
    return marked;
}

static void add_marks(struct page *page, unsigned marked)
{
    size_t at = 0;
    for (const char *text; (text = usage_mark_next(marked, &at));) {
        page_spaces(page, PAGE_INDENT);
        page_wrap(page, FAINT, bytes_of(text), PAGE_INDENT, PAGE_INDENT + 2, 0);
    }
}

static const struct process *find_process(const struct facts *facts, uint32_t number)
{
    for (size_t i = 0; i < facts->process_count; i++)
        if (facts->process_number[i] == number)
            return &facts->processes[i];
    return NULL;
}

static void add_thread(struct page *page, const struct facts *facts, const struct facts_thread *thread)
{
    const struct process *process = find_process(facts, thread->process);
    const struct counters *counters = &thread->thread.counters;
    char name[96];
    struct report_row row = { 0 };
    bool main = process && process->pid == thread->thread.tid;
    struct format_text of = process ? phrase_name(process->name) : (struct format_text){ "" };
    if (main || !thread->name[0] || strcmp(of.s, thread->name) == 0)
        snprintf(name, sizeof name, "%s%s", of.s[0] ? of.s : "?", main ? " (main)" : "");
    else
        snprintf(name, sizeof name, of.s[0] ? "%s (%s)" : "%s", thread->name, of.s);
    row.name = bytes_of(name);
    snprintf(row.cells[0].s, sizeof row.cells[0].s, "%u", thread->thread.tid);
    own_cells(&row, facts, counters, thread->thread.start_ns, thread->thread.end_ns);
    if (counters_has(counters, COUNTER_time_waiting))
        row.cells[4] = report_row_duration(counters->value[COUNTER_time_waiting]);
    bytes_cell(&row.cells[5], counters, COUNTER_rchar, 1);
    bytes_cell(&row.cells[6], counters, COUNTER_wchar, 1);
    report_row_add(page, &row, PLAIN);
}

/* Threads below THREAD_SHARE of the CPU time are left out. */
static void add_threads(struct page *page, const struct facts *facts)
{
    static const char *const titles[REPORT_CELLS] = { "tid", "CPU", "share", "wall", "waited", "read", "written" };
    double least_us = THREAD_SHARE * 1e6 * facts_cpu_s(facts);
    for (size_t i = 0; i < facts->thread_count && i < ROWS_THREADS; i++) {
        if (!((double)counters_cpu_us(&facts->threads[i].thread.counters) >= least_us))
            return;
        if (i == 0)
            report_row_titles(page, "Threads", titles);
        add_thread(page, facts, &facts->threads[i]);
    }
}

static double event_sum(const struct facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->event_count; i++)
        if (strcmp(facts->events[i].name, name) == 0)
            return (double)facts->events[i].sum;
    return NAN;
}

static void add_event(struct page *page, const char *name, struct format_text sum)
{
    size_t buffer = page->width - PAGE_INDENT - EVENT_SUM;
    buffer = buffer < EVENT_NAME ? buffer : EVENT_NAME;
    page_spaces(page, PAGE_INDENT);
    size_t used = utf8_add_fit(page->out, bytes_of(name), buffer, page->terminal.utf8);
    page_spaces(page, buffer - used);
    buf_printf(page->out, "%*s\n", EVENT_SUM, sum.s);
}

static void add_events(struct page *page, const struct facts *facts)
{
    if (!facts->event_count)
        return;
    page_heading(page, "Events");
    for (size_t i = 0; i < facts->event_count; i++)
        add_event(page, facts->events[i].name, format_count(facts->events[i].sum));
    double ratio = event_sum(facts, "instructions") / event_sum(facts, "cycles");
    if (!isfinite(ratio)) /* for users who may not count in the kernel */
        ratio = event_sum(facts, "instructions:u") / event_sum(facts, "cycles:u");
    struct format_text text;
    snprintf(text.s, sizeof text.s, "%.2f", ratio);
    if (isfinite(ratio))
        add_event(page, "instructions per cycle", text);
}

void report_tables(struct page *page, const struct facts *facts)
{
    unsigned marked = add_executables(page, facts);
    add_marks(page, marked | add_processes(page, facts));
    add_threads(page, facts);
    add_events(page, facts);
}
