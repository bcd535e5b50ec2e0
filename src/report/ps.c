/* One row per process: numbers of fixed width, then the tree. */
#include "report/ps.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "report/status.h"
#include "report/usage_mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEVELS_SHOWN 16 /* deeper levels are drawn at this one, with their depth as a number */
#define LINE_MAX_BYTES (64u << 20)
#define TREE_COLUMNS 18 /* minimum width of the tree */

/* The numbers of a row, after the pid. */
enum cell { CELL_TOTAL, CELL_OWN, CELL_TIME, CELL_MEMORY, CELL_READ, CELL_WRITTEN, CELLS };
static const struct {
    const char *title;
    int width;
} cell_columns[CELLS] = {
    [CELL_TOTAL] = { "TOTAL", 6 },  [CELL_OWN] = { "CPU", 6 },   [CELL_TIME] = { "TIME", 6 },
    [CELL_MEMORY] = { "MEM", 4 }, [CELL_READ] = { "READ", 4 }, [CELL_WRITTEN] = { "WRITE", 5 },
};
/* Columns left out on a narrow terminal, in this order. */
static const enum cell dispensable[] = { CELL_WRITTEN, CELL_READ, CELL_TIME, CELL_TOTAL, CELL_MEMORY };

struct cells {
    const char *of[CELLS];
    const char *mark; /* after CELL_OWN, if any row has one */
};

struct drawer {
    const struct tree *tree;
    const struct ps_view *view;
    struct output *stream;
    struct buf line; /* the command of one row */
    int pid_width;
    bool leaves_out[CELLS];
    bool exits;      /* some processes failed: there is a column for it */
    bool marks;      /* some CPU times have a mark: there is a column for it */
    unsigned marked; /* kinds of marks so far */
    size_t at;       /* first column of the tree */
};

static bool goes_below(const struct drawer *d, const struct tree_node *node)
{
    return d->view->depth == 0 || node->depth + 1 < d->view->depth;
}

static struct format_text exit_cell(const struct tree_node *node)
{
    if (node->state == PROCESS_RUNNING)
        return (struct format_text){ "alive" };
    if (node->state == PROCESS_LOST)
        return (struct format_text){ "lost" };
    if (node->state == PROCESS_EXECED)
        return (struct format_text){ "" };
    struct format_text text = status_text(node->status_known, node->exit_code, node->exit_signal);
    if (strncmp(text.s, "SIG", 3) == 0)
        memmove(text.s, text.s + 3, strlen(text.s + 3) + 1);
    else if (strncmp(text.s, "exit ", 5) == 0)
        memmove(text.s, text.s + 5, strlen(text.s + 5) + 1);
    else if (strcmp(text.s, "ok") == 0)
        text.s[0] = '\0';
    return text;
}

static void measure(struct drawer *d)
{
    uint32_t largest = 0;
    for (uint32_t n = 0; n < d->tree->count; n++) {
        const struct tree_node *node = &d->tree->nodes[n];
        largest = node->pid > largest ? node->pid : largest;
        d->exits = d->exits || exit_cell(node).s[0];
        d->marks = d->marks || usage_mark_kind(node->sources);
    }
    d->pid_width = snprintf(NULL, 0, "%" PRIu32, largest);
    if (d->pid_width < 3)
        d->pid_width = 3;
    d->at = (size_t)d->pid_width + (d->exits ? 6 : 0) + (d->marks ? 1 : 0) + 1;
    for (int i = 0; i < CELLS; i++)
        d->at += (size_t)cell_columns[i].width + 1;
    for (size_t i = 0; i < sizeof dispensable / sizeof *dispensable; i++) {
        if (d->view->args || d->at + TREE_COLUMNS <= d->view->terminal.width)
            return;
        d->leaves_out[dispensable[i]] = true;
        d->at -= (size_t)cell_columns[dispensable[i]].width + 1;
    }
}

static void add_cells(struct drawer *d, const char *pid, const struct cells *cells)
{
    buf_printf(&d->stream->out, "%*s", d->pid_width, pid);
    for (int i = 0; i < CELLS; i++) {
        if (!d->leaves_out[i])
            buf_printf(&d->stream->out, " %*s", cell_columns[i].width, cells->of[i] ? cells->of[i] : "");
        if (i == CELL_OWN && d->marks)
            buf_printf(&d->stream->out, "%1s", cells->mark ? cells->mark : "");
    }
}

static void add_exit(struct drawer *d, const char *text)
{
    if (!d->exits)
        return;
    const struct terminal *terminal = &d->view->terminal;
    buf_printf(&d->stream->out, " %s%5s%s", *text ? terminal_colour(terminal, RED) : "", text,
               *text ? terminal_colour(terminal, PLAIN) : "");
}

static const char *cpu_cell(struct format_text *space, bool known, uint64_t us)
{
    *space = format_duration_short(us * NS_PER_US);
    return known ? space->s : "";
}

static const char *bytes_cell(struct format_text *space, bool known, uint64_t bytes)
{
    *space = format_bytes_short(bytes);
    return known ? space->s : "";
}

static void add_numbers(struct drawer *d, const struct tree_node *node)
{
    char pid[16] = "";
    unsigned sources = node->cpu_known ? node->sources : 0;
    struct format_text total, own, time, rss, read, written;
    if (node->count == 1)
        snprintf(pid, sizeof pid, "%" PRIu32, node->pid);
    time = format_duration_short(node->time_ns);
    add_cells(d, pid, &(struct cells){
        .of = {
            [CELL_TOTAL] = cpu_cell(&total, node->cpu_known || node->inclusive_us, node->inclusive_us),
            [CELL_OWN] = cpu_cell(&own, node->cpu_known, node->cpu_us),
            [CELL_TIME] = node->time_known ? time.s : "",
            [CELL_MEMORY] = bytes_cell(&rss, node->rss_known, node->rss_kb * 1024),
            [CELL_READ] = bytes_cell(&read, node->read_known, node->read_bytes),
            [CELL_WRITTEN] = bytes_cell(&written, node->write_known, node->write_bytes),
        },
        .mark = usage_mark(sources),
    });
    add_exit(d, exit_cell(node).s);
    d->marked |= usage_mark_kind(sources);
}

/* The lines before a row, and their width. node: of the row; below: for what comes below it. */
static size_t add_branches(struct drawer *d, const struct tree_node *node, bool below)
{
    const struct terminal *t = &d->view->terminal;
    const struct tree_node *chain[LEVELS_SHOWN];
    size_t levels = 0;
    const struct tree_node *top = node;
    while (top->parent != TREE_NONE && levels < LEVELS_SHOWN) {
        chain[levels++] = top;
        top = &d->tree->nodes[top->parent];
    }
    buf_add_text(&d->line, terminal_colour(t, FAINT));
    for (size_t i = levels; i-- > 0;) {
        bool last = chain[i]->next == TREE_NONE;
        if (i > 0 || below)
            buf_add_text(&d->line, last ? "   " : terminal_sign(t, "│  ", "|  "));
        else
            buf_add_text(&d->line, last ? terminal_sign(t, "└─ ", "`- ") : terminal_sign(t, "├─ ", "|- "));
    }
    size_t columns = 3 * levels;
    if (node->depth > LEVELS_SHOWN && !below) {
        size_t before = d->line.size;
        buf_printf(&d->line, "(%" PRIu32 ") ", node->depth);
        columns += d->line.size - before;
    }
    buf_add_text(&d->line, terminal_colour(t, PLAIN));
    return columns;
}

static size_t space_for(const struct drawer *d, size_t used)
{
    if (d->view->args)
        return LINE_MAX_BYTES;
    size_t width = d->view->terminal.width, taken = d->at + used;
    return width > taken + 12 ? width - taken : 12;
}

/* The whole command for one process, only the name for several. */
static void add_command(struct drawer *d, const struct tree_node *node, size_t space)
{
    const struct terminal *t = &d->view->terminal;
    struct bytes name = tree_name(d->tree, node), args = tree_args(d->tree, node);
    struct buf command;
    buf_init(&command, LINE_MAX_BYTES);
    if (args.size && node->count == 1)
        shell_add_args(&command, args);
    else if (name.size)
        buf_add(&command, name.data, name.size);
    else
        buf_add_text(&command, "?");
    utf8_add_fit(&d->line, (struct bytes){ buf_text(&command), command.size }, space, t->utf8);
    buf_clear(&command);
}

static void add_row(struct drawer *d, const struct tree_node *node)
{
    const struct terminal *t = &d->view->terminal;
    char many[64] = "", below[64] = "";
    size_t times_columns = 0;
    if (node->count > 1) {
        snprintf(many, sizeof many, " %s %s", terminal_sign(t, "×", "x"), format_count(node->count).s);
        times_columns = utf8_columns(bytes_of(many), true);
    }
    if (node->below && !goes_below(d, node))
        snprintf(below, sizeof below, " (+%s below)", format_count(node->below).s);
    add_numbers(d, node);
    buf_reset(&d->line);
    size_t used = add_branches(d, node, false) + times_columns + strlen(below);
    if (node->image > 0) { /* another executable in the same process */
        buf_add_text(&d->line, terminal_sign(t, "⇒ ", "=> "));
        used += t->utf8 ? 2 : 3;
    }
    add_command(d, node, space_for(d, used));
    buf_add_text(&d->line, many);
    buf_add_text(&d->line, below);
    buf_printf(&d->stream->out, " %s\n", buf_text(&d->line));
}

static void add_thread(struct drawer *d, const struct tree_node *node, const struct thread *thread)
{
    char tid[16], label[64];
    struct format_text own, time, read, written;
    const struct counters *c = &thread->counters;
    bool cpu_known = counters_has(c, COUNTER_usertime) || counters_has(c, COUNTER_systemtime);
    bool time_known = thread->start_ns && thread->end_ns >= thread->start_ns;
    snprintf(tid, sizeof tid, "%" PRIu32, thread->tid);
    time = format_duration_short(time_known ? thread->end_ns - thread->start_ns : 0);
    add_cells(d, tid, &(struct cells){
        .of = {
            [CELL_OWN] = cpu_cell(&own, cpu_known, counters_cpu_us(c)),
            [CELL_TIME] = time_known ? time.s : "",
            [CELL_READ] = bytes_cell(&read, counters_has(c, COUNTER_rchar), counters_get(c, COUNTER_rchar)),
            [CELL_WRITTEN] = bytes_cell(&written, counters_has(c, COUNTER_wchar), counters_get(c, COUNTER_wchar)),
        },
    });
    add_exit(d, "");
    buf_reset(&d->line);
    size_t used = add_branches(d, node, true);
    bool children = node->first_child != TREE_NONE && goes_below(d, node);
    buf_printf(&d->line, "%s", children ? terminal_sign(&d->view->terminal, "│ ", "| ") : "  ");
    if (thread->name[0])
        snprintf(label, sizeof label, "{%.*s}", (int)strnlen(thread->name, sizeof thread->name), thread->name);
    else /* the name is in the kernel's exit record, which not every user may read */
        snprintf(label, sizeof label, "%s", thread->tid == node->pid ? "main thread" : "thread");
    utf8_add_fit(&d->line, bytes_of(label), space_for(d, used + 2), d->view->terminal.utf8);
    buf_printf(&d->stream->out, " %s\n", buf_text(&d->line));
}

static void add_threads(struct drawer *d, const struct tree_node *node)
{
    if (!d->view->threads || node->count > 1)
        return;
    for (uint32_t i = 0; i < node->thread_count; i++)
        add_thread(d, node, &d->tree->threads[node->thread_first + i].thread);
}

static void add_titles(struct drawer *d)
{
    const struct terminal *t = &d->view->terminal;
    struct cells titles = { 0 };
    for (int i = 0; i < CELLS; i++)
        titles.of[i] = cell_columns[i].title;
    buf_add_text(&d->stream->out, terminal_colour(t, BOLD));
    add_cells(d, "PID", &titles);
    buf_printf(&d->stream->out, "%s COMMAND%s\n", d->exits ? "  EXIT" : "", terminal_colour(t, PLAIN));
}

/* Explains the marks, if there are any. */
static void add_marks(struct drawer *d)
{
    size_t at = 0;
    for (const char *text; (text = usage_mark_next(d->marked, &at));)
        buf_printf(&d->stream->out, "%s.\n", text);
}

enum err ps_print(const struct tree *tree, const struct ps_view *view, struct output *stream)
{
    struct drawer d = { .tree = tree, .view = view, .stream = stream };
    enum err err = OK;
    buf_init(&d.line, LINE_MAX_BYTES);
    measure(&d);
    add_titles(&d);
    for (uint32_t n = tree_first(tree); n != TREE_NONE && !err; n = tree_next(tree, n, goes_below(&d, &tree->nodes[n]))) {
        add_row(&d, &tree->nodes[n]);
        add_threads(&d, &tree->nodes[n]);
        err = d.line.failed ? FULL : output_write_if_large(stream);
    }
    if (tree->hidden && !err)
        buf_printf(&stream->out, "%s more used less than %s each, %s in total.\n", format_count(tree->hidden).s,
                   format_duration(tree->hidden_below_us * NS_PER_US).s, format_duration(tree->hidden_us * NS_PER_US).s);
    if (!err)
        add_marks(&d);
    buf_clear(&d.line);
    return err;
}
