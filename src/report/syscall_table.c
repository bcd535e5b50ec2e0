/* The table that sonde attach prints at the end. */
#include "report/syscall_table.h"

#include "base/clock.h"
#include "base/format.h"
#include "report/table.h"

#include <stdlib.h>

struct syscall_row {
    unsigned number;
    uint64_t calls, errors, bytes, time_ns;
};

static const struct table_column timed_columns[] = {
    { "call", false, 8, 0 },       { "calls", true, 0, 0 },    { "errors", true, 0, 3 },
    { "bytes", true, 0, 2 },       { "time", true, 0, 0 },     { "per call", true, 0, 4 },
};
static const struct table_column untimed_columns[] = {
    { "call", false, 8, 0 },       { "calls", true, 0, 0 },       { "errors", true, 0, 3 },
    { "bytes", true, 0, 2 },       { "per second", true, 0, 4 },
};

static int by_cost(const void *left, const void *right)
{
    const struct syscall_row *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return a->calls != b->calls ? (a->calls < b->calls ? 1 : -1) : (a->number > b->number) - (a->number < b->number);
}

static size_t gather(const struct syscall_counts *counts, struct syscall_row *all, struct syscall_row *sum)
{
    size_t count = 0;
    for (unsigned i = 0; i < SYSCALL_NAMES_MAX; i++) {
        const struct syscall_count *of = &counts->of[i];
        struct syscall_row *call = &all[count];
        *call = (struct syscall_row){ i, of->calls, of->errors, of->bytes, counts->timed ? of->time_ns : 0 };
        if (!call->calls)
            continue;
        sum->calls += call->calls;
        sum->errors += call->errors;
        sum->bytes += call->bytes;
        sum->time_ns += call->time_ns;
        count++;
    }
    qsort(all, count, sizeof *all, by_cost);
    return count;
}

static void add_row(struct table *table, const char *name, const struct syscall_row *call, bool timed, uint64_t over_ns)
{
    double per_second = over_ns ? (double)call->calls * NS_PER_S / (double)over_ns : 0;
    table_add_text(table, PLAIN, name);
    table_add_text(table, PLAIN, format_count(call->calls).s);
    table_add_text(table, PLAIN, call->errors ? format_count(call->errors).s : "");
    table_add_text(table, PLAIN, call->bytes ? format_bytes(call->bytes).s : "");
    if (timed) {
        table_add_text(table, PLAIN, format_duration(call->time_ns).s);
        table_add_text(table, PLAIN, call->calls ? format_duration(call->time_ns / call->calls).s : "");
    } else {
        table_add_text(table, PLAIN, format_count((uint64_t)(per_second + 0.5)).s);
    }
}

enum err syscall_table_print(const struct syscall_counts *counts, uint64_t over_ns, struct buf *out,
                             const struct terminal *terminal)
{
    struct syscall_row all[SYSCALL_NAMES_MAX + 1], sum = { 0 };
    struct table table;
    char name[SYSCALL_NAME_MAX];
    size_t count = gather(counts, all, &sum);
    if (counts->timed)
        table_init(&table, timed_columns, sizeof timed_columns / sizeof *timed_columns, terminal->utf8);
    else
        table_init(&table, untimed_columns, sizeof untimed_columns / sizeof *untimed_columns, terminal->utf8);
    for (size_t i = 0; i < count; i++)
        add_row(&table, syscall_names_write(all[i].number, name), &all[i], counts->timed, over_ns);
    add_row(&table, "all", &sum, counts->timed, over_ns);
    enum err err = table_print(&table, terminal, out);
    table_clear(&table);
    return err;
}

void syscall_table_print_pending(const uint32_t *threads, struct buf *out)
{
    char name[SYSCALL_NAME_MAX];
    bool is_first = true;
    for (unsigned i = 0; i < SYSCALL_NAMES_MAX; i++) {
        if (!threads[i])
            continue;
        buf_printf(out, "%s%s (%s thread%s)", is_first ? "still in progress (not counted): " : ", ",
                   syscall_names_write(i, name), format_count(threads[i]).s, threads[i] > 1 ? "s" : "");
        is_first = false;
    }
    if (!is_first)
        buf_add_char(out, '\n');
}
