/* Who cost most: executables, processes and threads by CPU time, and the sums of perf events. All tables have the same
 * columns at the same places: a name, a number, and six figures. */
#include "show/report.h"

#include "base/clock.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "judge/say.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CELLS 7
#define NAME_MIN 16
#define ROWS_EXECUTABLES 8
#define ROWS_PROCESSES 5
#define ROWS_THREADS 5
#define THREAD_SHARE 0.01
#define EVENT_NAME 40
#define EVENT_SUM 27 /* columns: 2^64 with its commas, and a blank */
#define COMMAND_MAX 512 /* bytes of a command line that a row could show */

static const int cell_width[CELLS] = { 8, 8, 6, 8, 8, 8, 8 };

struct row {
    struct bytes name;
    struct text cells[CELLS]; /* "": empty */
};

/* A figure that is too wide takes from the name. */
static size_t width_of(const struct row *row, size_t cell)
{
    size_t size = strlen(row->cells[cell].s) + 1, width = (size_t)cell_width[cell];
    return size > width ? size : width;
}

static void add_row(struct page *page, const struct row *row, enum colour colour)
{
    size_t room = page->width, shown = 0;
    /* A narrow terminal loses the columns on the right. */
    for (; shown < CELLS && room >= width_of(row, shown) + NAME_MIN; shown++)
        room -= width_of(row, shown);
    size_t indent = colour == BOLD ? 0 : PAGE_INDENT;
    page_spaces(page, indent);
    buf_add_text(page->out, colour == PLAIN ? "" : terminal_colour(&page->terminal, colour));
    size_t used = utf8_add_fit(page->out, row->name, room - indent, page->terminal.utf8);
    page_spaces(page, room - indent - used);
    for (size_t i = 0; i < shown; i++)
        buf_printf(page->out, "%*s", (int)width_of(row, i), row->cells[i].s);
    buf_add_text(page->out, colour == PLAIN ? "" : terminal_colour(&page->terminal, PLAIN));
    while (page->out->size && page->out->data[page->out->size - 1] == ' ')
        page->out->size--;
    buf_add_char(page->out, '\n');
}

static void add_titles(struct page *page, const char *name, const char *const titles[CELLS])
{
    struct row row = { .name = bytes_of(name) };
    for (size_t i = 0; i < CELLS; i++)
        snprintf(row.cells[i].s, sizeof row.cells[i].s, "%s", titles[i]);
    buf_add_char(page->out, '\n');
    add_row(page, &row, BOLD);
}

static struct text cpu_share(const struct facts *facts, uint64_t cpu_us)
{
    double share = (double)cpu_us / 1e6 / facts_cpu_s(facts);
    struct text text = { "" };
    if (share > 0 && share * 100 <= 0.5)
        snprintf(text.s, sizeof text.s, "<1 %%");
    else if (share >= 0)
        snprintf(text.s, sizeof text.s, share < 10 ? "%.0f %%" : ">999%%", share * 100);
    return text;
}

/* A count that fits its column: thousands are marked as long as there is room. */
static struct text number(uint64_t value)
{
    struct text text = text_count(value);
    if (strlen(text.s) >= (size_t)cell_width[0])
        snprintf(text.s, sizeof text.s, value < 1000000000 ? "%.0fM" : "%.1eM", (double)value / 1e6);
    return text;
}

/* Many cores for many days make CPU times that have to do without their hours. */
static struct text duration(uint64_t ns)
{
    struct text text = text_duration_short(ns);
    uint64_t days = ns / (86400 * NS_PER_S);
    if (days >= 1000)
        snprintf(text.s, sizeof text.s, "%" PRIu64 "d", days);
    return text;
}

static struct text duration_us(uint64_t us)
{
    return duration(us < UINT64_MAX / NS_PER_US ? us * NS_PER_US : UINT64_MAX);
}

static bool knows(const struct facts *facts, enum counter counter)
{
    return counters_has(&facts->job.summary.sum, counter);
}

/* The name, or the path where two that are shown have the same name. */
static struct bytes executable_name(const struct facts *facts, const struct summary_executable *executable)
{
    for (size_t i = 0; i < facts->executable_count; i++) {
        const struct summary_executable *other = &facts->executables[i];
        if (other != executable && executable->path.size && bytes_equal(other->name, executable->name) &&
            !bytes_equal(other->path, executable->path))
            return executable->path;
    }
    return executable->name.size ? executable->name : bytes_of("?");
}

/* The sums of an executable have no bits of their own: they are known when the job's are. No process uses no CPU time at
 * all and lives for no time: there, 0 says that nobody saw it. */
static struct row executable_row(const struct facts *facts, const struct summary_executable *executable)
{
    struct row row = { .name = executable_name(facts, executable) };
    row.cells[0] = number(executable->count);
    if (!isnan(facts_cpu_s(facts)) && executable->cpu_us) {
        row.cells[1] = duration_us(executable->cpu_us);
        row.cells[2] = cpu_share(facts, executable->cpu_us);
    }
    if (executable->wall_ns)
        row.cells[3] = duration(executable->wall_ns);
    if (executable->rss_max_kb)
        row.cells[4] = text_bytes_short(executable->rss_max_kb * 1024);
    if (knows(facts, COUNTER_rchar) && executable->cpu_us)
        row.cells[5] = text_bytes_short(executable->rchar);
    if (knows(facts, COUNTER_wchar) && executable->cpu_us)
        row.cells[6] = text_bytes_short(executable->wchar);
    return row;
}

static void add_executables(struct page *page, const struct facts *facts)
{
    static const char *const titles[CELLS] = { "count", "CPU", "share", "wall", "memory", "read", "written" };
    struct summary_executable rest = facts->rest;
    if (!facts->executable_count)
        return;
    add_titles(page, "Executables", titles);
    size_t shown = facts->executable_count;
    if (shown > ROWS_EXECUTABLES)
        shown = ROWS_EXECUTABLES;
    for (size_t i = 0; i < facts->executable_count; i++) {
        if (i < shown) {
            struct row row = executable_row(facts, &facts->executables[i]);
            add_row(page, &row, PLAIN);
        } else {
            facts_add_executable(&rest, &facts->executables[i]);
        }
    }
    if (facts->executables_all > shown) {
        char name[64];
        snprintf(name, sizeof name, "and %s", say_many(facts->executables_all - shown, "other", "others").s);
        rest.name = bytes_of(name);
        struct row row = executable_row(facts, &rest);
        add_row(page, &row, FAINT);
    }
}

/* The columns that a process and a thread share: CPU, share, wall. */
static void own_cells(struct row *row, const struct facts *facts, const struct counters *counters, uint64_t start_ns,
                      uint64_t end_ns)
{
    if (counters_has(counters, COUNTER_usertime) || counters_has(counters, COUNTER_systemtime)) {
        row->cells[1] = duration_us(counters_cpu_us(counters));
        row->cells[2] = cpu_share(facts, counters_cpu_us(counters));
    }
    if (start_ns && end_ns >= start_ns)
        row->cells[3] = duration(end_ns - start_ns);
}

static void bytes_cell(struct text *cell, const struct counters *counters, enum counter counter, uint64_t factor)
{
    if (counters_has(counters, counter))
        *cell = text_bytes_short(counters->value[counter] * factor);
}

static void add_process(struct page *page, const struct facts *facts, const struct process *process)
{
    struct row row = { .name = process->name };
    struct buf command;
    struct bytes args = process->args;
    buf_init(&command, 16 * COMMAND_MAX);
    if (args.size > COMMAND_MAX)
        args.size = COMMAND_MAX;
    /* The first argument often is a path: the name says it in less room. */
    const char *rest = args.size ? memchr(args.data, '\0', args.size) : NULL;
    buf_add(&command, process->name.data, process->name.size);
    if (rest && (size_t)(rest + 1 - args.data) < args.size) {
        buf_add_char(&command, ' ');
        shell_add_words(&command, (struct bytes){ rest + 1, args.size - (size_t)(rest + 1 - args.data) });
    }
    if (command.size)
        row.name = (struct bytes){ command.data, command.size };
    snprintf(row.cells[0].s, sizeof row.cells[0].s, "%u", process->pid);
    own_cells(&row, facts, &process->counters, process->start_ns, process->end_ns);
    bytes_cell(&row.cells[4], &process->counters, COUNTER_rssmax, 1024);
    bytes_cell(&row.cells[5], &process->counters, COUNTER_rchar, 1);
    bytes_cell(&row.cells[6], &process->counters, COUNTER_wchar, 1);
    add_row(page, &row, PLAIN);
    buf_clear(&command);
}

/* Not where every executable had one process: the table above has them all. */
static void add_processes(struct page *page, const struct facts *facts)
{
    static const char *const titles[CELLS] = { "pid", "CPU", "share", "wall", "memory", "read", "written" };
    if (!facts->process_count || facts->job.summary.images <= facts->executable_count)
        return;
    add_titles(page, "Processes", titles);
    for (size_t i = 0; i < facts->process_count && i < ROWS_PROCESSES; i++)
        add_process(page, facts, &facts->processes[i]);
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
    struct row row = { 0 };
    bool main = process && process->pid == thread->thread.tid;
    struct text of = process ? say_name(process->name) : (struct text){ "" };
    if (main || !thread->name[0] || strcmp(of.s, thread->name) == 0)
        snprintf(name, sizeof name, "%s%s", of.s[0] ? of.s : "?", main ? " (main)" : "");
    else
        snprintf(name, sizeof name, of.s[0] ? "%s (%s)" : "%s", thread->name, of.s);
    row.name = bytes_of(name);
    snprintf(row.cells[0].s, sizeof row.cells[0].s, "%u", thread->thread.tid);
    own_cells(&row, facts, counters, thread->thread.start_ns, thread->thread.end_ns);
    if (counters_has(counters, COUNTER_time_waiting))
        row.cells[4] = duration(counters->value[COUNTER_time_waiting]);
    bytes_cell(&row.cells[5], counters, COUNTER_rchar, 1);
    bytes_cell(&row.cells[6], counters, COUNTER_wchar, 1);
    add_row(page, &row, PLAIN);
}

/* Those that matter: a thread below THREAD_SHARE of the CPU time explains nothing. */
static void add_threads(struct page *page, const struct facts *facts)
{
    static const char *const titles[CELLS] = { "tid", "CPU", "share", "wall", "waited", "read", "written" };
    double least_us = THREAD_SHARE * 1e6 * facts_cpu_s(facts);
    for (size_t i = 0; i < facts->thread_count && i < ROWS_THREADS; i++) {
        if (!((double)counters_cpu_us(&facts->threads[i].thread.counters) >= least_us))
            return;
        if (i == 0)
            add_titles(page, "Threads", titles);
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

static void add_event(struct page *page, const char *name, struct text sum)
{
    size_t room = page->width - PAGE_INDENT - EVENT_SUM;
    room = room < EVENT_NAME ? room : EVENT_NAME;
    page_spaces(page, PAGE_INDENT);
    size_t used = utf8_add_fit(page->out, bytes_of(name), room, page->terminal.utf8);
    page_spaces(page, room - used);
    buf_printf(page->out, "%*s\n", EVENT_SUM, sum.s);
}

static void add_events(struct page *page, const struct facts *facts)
{
    if (!facts->event_count)
        return;
    page_heading(page, "Events");
    for (size_t i = 0; i < facts->event_count; i++)
        add_event(page, facts->events[i].name, text_count(facts->events[i].sum));
    double ratio = event_sum(facts, "instructions") / event_sum(facts, "cycles");
    struct text text;
    snprintf(text.s, sizeof text.s, "%.2f", ratio);
    if (isfinite(ratio))
        add_event(page, "instructions per cycle", text);
}

void report_tables(struct page *page, const struct facts *facts)
{
    add_executables(page, facts);
    add_processes(page, facts);
    add_threads(page, facts);
    add_events(page, facts);
}
