/* Puts the page together: from the facts and the advice about them to the terminal. */
#include "report/report.h"

#define NUMBER_COLUMNS 3 /* "1. " before a piece of advice */
#define ARROW_COLUMNS 2  /* before what to do */

void report_init(struct report *report, const struct facts *facts)
{
    report->facts = facts;
    advice_of(&report->advice, facts);
    unknown_of(&report->unknown, facts);
}

static void add_unknown(struct page *page, const struct unknown_list *unknown)
{
    if (!unknown->count)
        return;
    page_heading(page, "Not known");
    for (size_t i = 0; i < unknown->count; i++) {
        page_spaces(page, PAGE_INDENT);
        page_wrap(page, PLAIN, bytes_of(unknown->items[i]), PAGE_INDENT, PAGE_INDENT * 2, 0);
    }
}

static enum colour severity_colour(enum severity severity)
{
    static const enum colour colours[SEVERITIES] = { PLAIN, PLAIN, YELLOW, RED };
    return colours[severity];
}

static void add_one(struct page *page, const struct advice *advice, size_t number)
{
    size_t indent = PAGE_INDENT + NUMBER_COLUMNS;
    page_spaces(page, PAGE_INDENT);
    buf_printf(page->out, "%zu. ", number);
    page_wrap(page, severity_colour(advice->severity), bytes_of(advice->sentence), indent, indent, 0);
    page_spaces(page, indent);
    buf_add_text(page->out, terminal_sign(&page->terminal, "→ ", "> "));
    page_wrap(page, PLAIN, bytes_of(advice->remedy), indent + ARROW_COLUMNS, indent + ARROW_COLUMNS, 0);
}

static void add_advice(struct page *page, const struct advice_list *advice)
{
    page_heading(page, "Advice");
    if (!advice->count) {
        page_spaces(page, PAGE_INDENT);
        page_wrap(page, GREEN, bytes_of("Nothing to complain of."), PAGE_INDENT, PAGE_INDENT, 0);
    }
    for (size_t i = 0; i < advice->count && i < ADVICE_SHOWN; i++)
        add_one(page, &advice->items[i], i + 1);
}

void report_print(const struct report *report, struct buf *out, const struct terminal *terminal)
{
    struct page page;
    page_init(&page, out, terminal);
    report_head(&page, report->facts);
    report_use(&page, report->facts);
    report_tables(&page, report->facts);
    report_told(&page, report->facts);
    add_unknown(&page, &report->unknown);
    add_advice(&page, &report->advice);
}
