/* Formats the figures of jobs_now as cells; unknown values are a hyphen. */
#include "report/top.h"

#include "base/format.h"
#include "base/utf8.h"
#include "report/bars.h"
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAR 8
#define WARM 0.75 /* shares above this are coloured */
#define HOT 0.95

#define NODES 3

static const struct table_column columns[] = {
    { .title = "JOB", .min = 8 },
    { .title = "OTHER ID", .min = 6, .rank = 8 },
    { .title = "USER", .min = 6, .rank = 7 },
    { .title = "NODES", .right = true, .rank = 9 }, /* at index NODES: only if there are several */
    { .title = "CORES", .right = true },
    { .title = "CPU", .rank = 6 },
    { .title = "MEM", .right = true },
    { .title = "OF", .right = true, .rank = 5 },
    { .title = "READ/s", .right = true, .rank = 3 },
    { .title = "WRITE/s", .right = true, .rank = 3 },
    { .title = "TASKS", .right = true, .rank = 4 },
    { .title = "POWER", .right = true, .rank = 2 },
    { .title = "TIME", .right = true, .rank = 1 },
};

/* The value of the sort key; unknown sorts last. */
static double weight(const struct jobs_answer_job *job, enum top_sort sort)
{
    const struct jobs_answer_figure *f = job->figures;
    switch (sort) {
    case TOP_CPU:
        return f[JOB_FIGURES_cpu_us].has_rate ? f[JOB_FIGURES_cpu_us].rate : -1;
    case TOP_MEMORY:
        return f[JOB_FIGURES_memory_bytes].is_known ? (double)f[JOB_FIGURES_memory_bytes].value : -1;
    case TOP_IO:
        return f[JOB_FIGURES_read_bytes].rate + f[JOB_FIGURES_write_bytes].rate;
    case TOP_POWER:
        return f[JOB_FIGURES_energy_uj].has_rate ? f[JOB_FIGURES_energy_uj].rate : -1;
    case TOP_TIME:
    case TOP_SORTS:
        break;
    }
    return job->start_ns ? -(double)job->start_ns : -INFINITY;
}

struct order {
    enum top_sort sort;
    bool reverse;
};

static int compare(const void *a, const void *b, void *context)
{
    const struct order *order = context;
    double x = weight(a, order->sort), y = weight(b, order->sort);
    int more = (x < y) - (x > y);
    if (more)
        return order->reverse ? -more : more;
    return strverscmp(((const struct jobs_answer_job *)a)->id, ((const struct jobs_answer_job *)b)->id);
}

void top_sort(struct jobs_answer *now, enum top_sort sort, bool reverse)
{
    struct order order = { sort, reverse };
    if (now->count > 1)
        qsort_r(now->jobs, now->count, sizeof *now->jobs, compare, &order);
}

bool top_key(char key, enum top_sort *sort)
{
    static const char keys[] = { 'c', 'm', 'i', 't', 'p' };
    for (size_t i = 0; i < sizeof keys; i++)
        if (keys[i] == key) {
            *sort = (enum top_sort)i;
            return true;
        }
    return false;
}

static enum colour heat(double share)
{
    return share >= HOT ? RED : share >= WARM ? YELLOW : PLAIN;
}

/* "1.98", "12.3", "128" */
static void add_cores(struct buf *out, double cores)
{
    buf_printf(out, cores < 9.995 ? "%.2f" : cores < 99.95 ? "%.1f" : "%.0f", cores);
}

static struct format_text watts(double w)
{
    struct format_text text;
    snprintf(text.s, sizeof text.s, w < 9.95 ? "%.1fW" : "%.0fW", w);
    return text;
}

static void add_rate_cell(struct table *table, const struct jobs_answer_figure *figure)
{
    bool is_some = figure->has_rate && figure->rate >= 0.5;
    table_add_text(table, is_some ? PLAIN : FAINT, figure->has_rate ? format_bytes_short((uint64_t)figure->rate).s : "-");
}

static void add_cpu_cells(struct table *table, const struct jobs_answer_job *job, const struct terminal *terminal)
{
    const struct jobs_answer_figure *cpu = &job->figures[JOB_FIGURES_cpu_us];
    struct terminal plain = *terminal;
    struct buf text;
    double used = cpu->rate / 1e6, allowed = (double)job->cores_milli / 1000;
    plain.colour = false; /* the table colours the cell */
    buf_init(&text, 256);
    if (cpu->has_rate)
        add_cores(&text, used);
    else
        buf_add_char(&text, '-');
    if (job->cores_milli)
        buf_printf(&text, "/%s", format_milli(job->cores_milli).s);
    table_add_text(table, cpu->has_rate && used >= 0.01 ? BOLD : PLAIN, buf_text(&text));
    buf_reset(&text);
    if (cpu->has_rate && job->cores_milli)
        bars_add(&text, &plain, BAR, used / allowed, 0, PLAIN);
    table_add_text(table, GREEN, buf_text(&text));
    buf_clear(&text);
}

static void add_memory_cells(struct table *table, const struct jobs_answer_job *job)
{
    const struct jobs_answer_figure *used = &job->figures[JOB_FIGURES_memory_bytes];
    const struct jobs_answer_figure *limit = &job->figures[JOB_FIGURES_memory_limit_bytes];
    uint64_t most = job->memory_bytes ? job->memory_bytes : limit->is_known ? limit->value : 0;
    double share = used->is_known && most ? (double)used->value / (double)most : 0;
    table_add_text(table, heat(share), used->is_known ? format_bytes_short(used->value).s : "-");
    table_add_text(table, FAINT, most ? format_bytes_short(most).s : "");
}

static void add_job(struct table *table, const struct jobs_answer *now, const struct jobs_answer_job *job,
                    const struct terminal *terminal)
{
    const struct jobs_answer_figure *f = job->figures;
    bool has_age = job->start_ns && now->time_ns > job->start_ns;
    table_add_text(table, PLAIN, job->id);
    table_add_text(table, FAINT, job->other_id);
    table_add_text(table, PLAIN, job->user);
    if (now->nodes > 1)
        table_add_text(table, PLAIN, format_count(job->nodes).s);
    add_cpu_cells(table, job, terminal);
    add_memory_cells(table, job);
    add_rate_cell(table, &f[JOB_FIGURES_read_bytes]);
    add_rate_cell(table, &f[JOB_FIGURES_write_bytes]);
    table_add_text(table, PLAIN, f[JOB_FIGURES_tasks].is_known ? format_count(f[JOB_FIGURES_tasks].value).s : "-");
    table_add_text(table, PLAIN, f[JOB_FIGURES_energy_uj].has_rate ? watts(f[JOB_FIGURES_energy_uj].rate / 1e6).s : "");
    table_add_text(table, PLAIN, has_age ? format_duration_short(now->time_ns - job->start_ns).s : "-");
}

/* "cpu ████▌    1.30/2" */
static void add_gauge(struct buf *out, const struct terminal *terminal, const char *name, double share)
{
    enum colour colour = heat(share);
    buf_printf(out, "  %s ", name);
    bars_add(out, terminal, BAR, share, 0, colour == PLAIN ? GREEN : colour);
    buf_add_char(out, ' ');
}

static void add_node(struct buf *out, const struct jobs_answer *now, const struct terminal *terminal)
{
    const struct jobs_answer_figure *f = now->node;
    const struct jobs_answer_figure *used = &f[JOB_FIGURES_memory_bytes], *total = &f[JOB_FIGURES_memory_limit_bytes];
    struct buf host;
    buf_init(&host, 1024);
    utf8_add_fit(&host, bytes_of(now->host), 20, terminal->utf8);
    terminal_add(out, terminal, BOLD, buf_text(&host));
    buf_clear(&host);
    if (now->nodes > 1)
        buf_printf(out, "  %s nodes", format_count(now->nodes).s);
    if (f[JOB_FIGURES_cpu_us].has_rate && f[JOB_FIGURES_cpus].is_known && f[JOB_FIGURES_cpus].value) {
        add_gauge(out, terminal, "cpu", f[JOB_FIGURES_cpu_us].rate / 1e6 / (double)f[JOB_FIGURES_cpus].value);
        add_cores(out, f[JOB_FIGURES_cpu_us].rate / 1e6);
        buf_printf(out, "/%s", format_count(f[JOB_FIGURES_cpus].value).s);
    }
    if (used->is_known && total->is_known && total->value) {
        add_gauge(out, terminal, "mem", (double)used->value / (double)total->value);
        buf_printf(out, "%s/%s", format_bytes_short(used->value).s, format_bytes_short(total->value).s);
    }
    if (f[JOB_FIGURES_load_milli].is_known && now->nodes <= 1)
        buf_printf(out, "  load %.2f", (double)f[JOB_FIGURES_load_milli].value / 1000);
    if (f[JOB_FIGURES_power_mw].is_known)
        buf_printf(out, "  power %s", watts((double)f[JOB_FIGURES_power_mw].value / 1000).s);
    if (f[JOB_FIGURES_energy_uj].has_rate)
        buf_printf(out, "  cpu power %s", watts(f[JOB_FIGURES_energy_uj].rate / 1e6).s);
    buf_add_char(out, '\n');
}

static void add_second_line(struct buf *out, const struct jobs_answer *now, const struct top_view *view,
                            const struct terminal *terminal)
{
    static const char *const names[TOP_SORTS] = { "cpu", "memory", "io", "time", "power" };
    if (view->error) {
        terminal_add(out, terminal, RED, view->error);
        buf_add_char(out, '\n');
        return;
    }
    size_t begin = out->size;
    buf_printf(out, "%zu %s", now->count, now->count == 1 ? "job" : "jobs");
    if (now->others)
        buf_printf(out, " and %s of other users", format_count(now->others).s);
    buf_printf(out, ", by %s", names[view->sort < TOP_SORTS ? view->sort : TOP_CPU]);
    if (view->rows && now->count > view->rows)
        buf_printf(out, ", from %zu", view->first + 1);
    static const char keys[] = "   c cpu  m mem  i io  t time  p power  r reverse  q quit", brief[] = "   c m i t p r q";
    if (!view->is_batch)
        terminal_add(out, terminal, FAINT, out->size - begin + sizeof keys - 1 <= terminal->width ? keys : brief);
    buf_add_char(out, '\n');
}

/* The table borrows the columns. Returns their number. */
static size_t choose_columns(const struct jobs_answer *now, struct table_column chosen[])
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (i != NODES || now->nodes > 1)
            chosen[count++] = columns[i];
    return count;
}

void top_print(struct buf *out, const struct jobs_answer *now, const struct top_view *view, const struct terminal *terminal)
{
    struct table table;
    struct table_column chosen[sizeof columns / sizeof *columns];
    size_t first = view->first < now->count ? view->first : 0, end = now->count;
    if (view->rows && end - first > view->rows)
        end = first + view->rows;
    add_node(out, now, terminal);
    add_second_line(out, now, view, terminal);
    buf_add_char(out, '\n');
    table_init(&table, chosen, choose_columns(now, chosen), terminal->utf8);
    for (size_t i = first; i < end; i++)
        add_job(&table, now, &now->jobs[i], terminal);
    if (end > first)
        table_print(&table, terminal, out);
    else if (!view->error)
        buf_add_text(out, now->nodes > 1 ? "No jobs on these nodes.\n" : "No jobs on this node.\n");
    table_clear(&table);
}
