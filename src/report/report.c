/* Assembles the report from its sections. */
#include "report/report.h"

#define NUMBER_COLUMNS 3 /* "1. " before a piece of advice */
#define ARROW_COLUMNS 2  /* before the fix */

void report_init(struct report *report, const struct facts *facts)
{
    report->facts = facts;
    advice_find(&report->advice, facts);
    missing_find(&report->missing, facts);
}

static void add_missing_data(struct page *page, const struct missing_list *missing)
{
    if (!missing->count)
        return;
    page_heading(page, "Missing data");
    for (size_t i = 0; i < missing->count; i++) {
        page_spaces(page, PAGE_INDENT);
        page_wrap(page, PLAIN, bytes_of(missing->items[i]), PAGE_INDENT, PAGE_INDENT * 2, 0);
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
    page_wrap(page, PLAIN, bytes_of(advice->fix), indent + ARROW_COLUMNS, indent + ARROW_COLUMNS, 0);
}

static void add_advice(struct page *page, const struct advice_list *advice)
{
    page_heading(page, "Advice");
    if (!advice->count) {
        page_spaces(page, PAGE_INDENT);
        page_wrap(page, GREEN, bytes_of("No issues found."), PAGE_INDENT, PAGE_INDENT, 0);
    }
    for (size_t i = 0; i < advice->count && i < ADVICE_SHOWN; i++)
        add_one(page, &advice->items[i], i + 1);
}

void report_print(const struct report *report, struct buf *out, const struct terminal *terminal)
{
    struct page page;
    page_init(&page, out, terminal);
    report_head(&page, report->facts);
    report_usage(&page, report->facts);
    report_tables(&page, report->facts);
    report_programs(&page, report->facts);
    add_missing_data(&page, &report->missing);
    add_advice(&page, &report->advice);
}
