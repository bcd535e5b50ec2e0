/* Starts with natural widths, then leaves out and truncates columns until the table fits. */
#include "report/table.h"

#include "base/utf8.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define GAP 1
#define TEXT_MAX_BYTES (256u << 20)

void table_init(struct table *table, const struct table_column *columns, size_t column_count, bool utf8)
{
    *table = (struct table){ .columns = columns, .column_count = column_count, .utf8 = utf8 };
    buf_init(&table->text, TEXT_MAX_BYTES);
}

void table_clear(struct table *table)
{
    free(table->cells);
    buf_clear(&table->text);
    table->cells = NULL;
    table->count = table->capacity = 0;
}

void table_add(struct table *table, enum colour colour, struct bytes text)
{
    if (array_reserve(table->cells, table->capacity, table->count + 1, VEC_MAX)) {
        table->text.failed = true;
        return;
    }
    table->cells[table->count++] =
        (struct table_cell){ table->text.size, text.size, utf8_columns(text, table->utf8), colour };
    buf_add(&table->text, text.data, text.size);
}

void table_add_text(struct table *table, enum colour colour, const char *text)
{
    table_add(table, colour, bytes_of(text));
}

/* Optional columns without content get width 0. */
static void natural_widths(const struct table *table, size_t *widths)
{
    memset(widths, 0, table->column_count * sizeof *widths);
    for (size_t i = 0; i < table->count; i++)
        if (table->cells[i].columns > widths[i % table->column_count])
            widths[i % table->column_count] = table->cells[i].columns;
    for (size_t c = 0; c < table->column_count; c++) {
        size_t title = strlen(table->columns[c].title);
        if (widths[c] < title && (widths[c] || !table->columns[c].rank))
            widths[c] = title;
    }
}

/* Width of a line; narrow: with flexible columns at their minimum. */
static size_t line_width(const struct table *table, const size_t *widths, bool narrow)
{
    size_t sum = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        size_t min = table->columns[c].min, width = widths[c];
        if (width == 0)
            continue;
        sum += (narrow && min && min < width ? min : width) + (sum ? GAP : 0);
    }
    return sum;
}

/* False if only mandatory columns are left. */
static bool leave_one_out(const struct table *table, size_t *widths)
{
    size_t out = SIZE_MAX;
    for (size_t c = 0; c < table->column_count; c++)
        if (widths[c] && table->columns[c].rank && (out == SIZE_MAX || table->columns[c].rank >= table->columns[out].rank))
            out = c;
    if (out == SIZE_MAX)
        return false;
    widths[out] = 0;
    return true;
}

/* Takes one column from the widest flexible one. */
static bool cut_one(const struct table *table, size_t *widths)
{
    size_t widest = SIZE_MAX;
    for (size_t c = 0; c < table->column_count; c++)
        if (table->columns[c].min && widths[c] > table->columns[c].min && (widest == SIZE_MAX || widths[c] > widths[widest]))
            widest = c;
    if (widest == SIZE_MAX)
        return false;
    widths[widest]--;
    return true;
}

/* Width 0: the column is left out. */
static void fit(const struct table *table, size_t terminal_width, size_t widths[TABLE_COLUMNS_MAX])
{
    natural_widths(table, widths);
    while (line_width(table, widths, true) > terminal_width && leave_one_out(table, widths))
        ;
    while (line_width(table, widths, false) > terminal_width && cut_one(table, widths))
        ;
}

static void pad(struct buf *out, size_t count)
{
    char *to = buf_reserve(out, count);
    if (!to)
        return;
    memset(to, ' ', count);
    to[count] = '\0';
    out->size += count;
}

static void print_cell(struct buf *out, const struct terminal *terminal, enum colour colour, struct bytes text,
                       size_t columns, size_t width, bool right, bool last)
{
    if (columns > width)
        columns = width;
    if (right)
        pad(out, width - columns);
    if (colour != PLAIN)
        buf_add_text(out, terminal_colour(terminal, colour));
    size_t taken = utf8_add_fit(out, text, width, terminal->utf8);
    if (colour != PLAIN)
        buf_add_text(out, terminal_colour(terminal, PLAIN));
    if (!last && !right)
        pad(out, width - taken);
}

static size_t last_shown(const struct table *table, const size_t *widths)
{
    size_t last = 0;
    for (size_t c = 0; c < table->column_count; c++)
        if (widths[c])
            last = c;
    return last;
}

enum err table_print(const struct table *table, const struct terminal *terminal, struct buf *out)
{
    size_t widths[TABLE_COLUMNS_MAX];
    fit(table, terminal->width, widths);
    size_t last = last_shown(table, widths);
    for (size_t i = 0; i < table->count + table->column_count; i++) {
        size_t c = i % table->column_count;
        if (widths[c]) {
            const struct table_column *column = &table->columns[c];
            if (i < table->column_count) { /* the titles */
                struct bytes title = bytes_of(column->title);
                print_cell(out, terminal, BOLD, title, title.size, widths[c], column->right, c == last);
            } else {
                const struct table_cell *cell = &table->cells[i - table->column_count];
                struct bytes text = { table->text.data + cell->at, cell->size };
                print_cell(out, terminal, cell->colour, text, cell->columns, widths[c], column->right, c == last);
            }
            if (c != last)
                pad(out, GAP);
        }
        if (c == table->column_count - 1)
            buf_add_char(out, '\n');
    }
    return table->text.failed ? NOMEM : buf_err(out);
}
