/* Formats rows of fixed width for the tables of the report. */
#include "report/report_row.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_MIN 16

static const int cell_width[REPORT_CELLS] = { 8, 8, 6, 8, 8, 8, 8 };

/* A number that is too wide takes columns from the name. */
static size_t width_of(const struct report_row *row, size_t cell)
{
    size_t size = strlen(row->cells[cell].s) + 1, width = (size_t)cell_width[cell];
    return size > width ? size : width;
}

void report_row_add(struct page *page, const struct report_row *row, enum colour colour)
{
    size_t space = page->width, shown = 0;
    /* A narrow terminal does not get the columns on the right. */
    for (; shown < REPORT_CELLS && space >= width_of(row, shown) + NAME_MIN; shown++)
        space -= width_of(row, shown);
    size_t indent = colour == BOLD ? 0 : PAGE_INDENT;
    page_spaces(page, indent);
    buf_add_text(page->out, colour == PLAIN ? "" : terminal_colour(&page->terminal, colour));
    size_t used = utf8_add_fit(page->out, row->name, space - indent, page->terminal.utf8);
    page_spaces(page, space - indent - used);
    for (size_t i = 0; i < shown; i++)
        buf_printf(page->out, "%*s", (int)width_of(row, i), row->cells[i].s);
    buf_add_text(page->out, colour == PLAIN ? "" : terminal_colour(&page->terminal, PLAIN));
    while (page->out->size && page->out->data[page->out->size - 1] == ' ')
        page->out->size--;
    buf_add_char(page->out, '\n');
}

void report_row_titles(struct page *page, const char *name, const char *const titles[REPORT_CELLS])
{
    struct report_row row = { .name = bytes_of(name) };
    for (size_t i = 0; i < REPORT_CELLS; i++)
        snprintf(row.cells[i].s, sizeof row.cells[i].s, "%s", titles[i]);
    buf_add_char(page->out, '\n');
    report_row_add(page, &row, BOLD);
}

struct format_text report_row_count(uint64_t value)
{
    struct format_text text = format_count(value);
    if (strlen(text.s) >= (size_t)cell_width[0])
        snprintf(text.s, sizeof text.s, value < 1000000000 ? "%.0fM" : "%.1eM", (double)value / 1e6);
    return text;
}

struct format_text report_row_duration(uint64_t ns)
{
    struct format_text text = format_duration_short(ns);
    uint64_t days = ns / (86400 * NS_PER_S);
    if (days >= 1000)
        snprintf(text.s, sizeof text.s, "%" PRIu64 "d", days);
    return text;
}
