/* A page of plain text: headings, labelled lines and wrapped sentences that never exceed the width. */
#ifndef SONDE_REPORT_PAGE_H
#define SONDE_REPORT_PAGE_H

#include "report/terminal.h"

#define PAGE_WIDTH 80  /* maximum, on any terminal */
#define PAGE_INDENT 2
#define PAGE_LABEL 11  /* columns of a label; the value starts at PAGE_INDENT + PAGE_LABEL */

struct page {
    struct buf *out; /* borrowed */
    struct terminal terminal;
    size_t width;
    size_t heading_end; /* of the last heading in out */
};

void page_init(struct page *page, struct buf *out, const struct terminal *terminal);

/* Adds an empty line, then the heading. Returns the argument for page_end_section. */
size_t page_heading(struct page *page, const char *heading);

/* Removes the heading again if nothing followed it. */
void page_end_section(struct page *page, size_t begin);

/* Starts a labelled line. label is ASCII; "" continues the one before. */
void page_label(struct page *page, const char *label);

/* A labelled line of plain text, wrapped. Text may contain any bytes: they are escaped. */
void page_field(struct page *page, const char *label, struct bytes text);
void page_printf(struct page *page, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints text in a colour, starting at column at; further lines start at column indent. Ends the line. Prints at most
 * lines lines (0: any number), the last with an ellipsis if the text does not fit. */
void page_wrap(struct page *page, enum colour colour, struct bytes text, size_t at, size_t indent, size_t lines);

void page_spaces(struct page *page, size_t count);

#endif
