/* A page of text for people: headings, labelled lines and wrapped sentences that never pass the width. */
#ifndef SONDE_REPORT_PAGE_H
#define SONDE_REPORT_PAGE_H

#include "report/terminal.h"

#define PAGE_WIDTH 80  /* never wider, whatever the terminal */
#define PAGE_INDENT 2
#define PAGE_LABEL 11  /* columns of a label; what it labels begins at PAGE_INDENT + PAGE_LABEL */

struct page {
    struct buf *out; /* borrowed */
    struct terminal terminal;
    size_t width;
    size_t heading_end; /* of the last heading in out */
};

void page_init(struct page *page, struct buf *out, const struct terminal *terminal);

/* An empty line, then the heading. Returns what page_end_section needs. */
size_t page_heading(struct page *page, const char *heading);

/* Takes the heading back when nothing followed it. */
void page_end_section(struct page *page, size_t begin);

/* The beginning of a labelled line. label is ASCII; "" continues the one before. */
void page_label(struct page *page, const char *label);

/* A labelled line of plain text, wrapped. Text may hold any bytes: they are printed so that they can do no harm. */
void page_field(struct page *page, const char *label, struct bytes text);
void page_printf(struct page *page, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Text in a colour, the cursor being at column at; further lines begin at column indent. Ends the line. At most lines
 * (0: any number), the last with an ellipsis when it does not fit. */
void page_wrap(struct page *page, enum colour colour, struct bytes text, size_t at, size_t indent, size_t lines);

void page_spaces(struct page *page, size_t count);

#endif
