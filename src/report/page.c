/* Lays out text in lines of a fixed width. */
#include "report/page.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void page_init(struct page *page, struct buf *out, const struct terminal *terminal)
{
    *page = (struct page){ .out = out, .terminal = *terminal };
    page->width = terminal->width < PAGE_WIDTH ? terminal->width : PAGE_WIDTH;
    page->terminal.width = page->width;
}

void page_spaces(struct page *page, size_t count)
{
    while (count-- > 0)
        buf_add_char(page->out, ' ');
}

size_t page_heading(struct page *page, const char *heading)
{
    size_t begin = page->out->size;
    buf_add_char(page->out, '\n');
    terminal_add(page->out, &page->terminal, BOLD, heading);
    buf_add_char(page->out, '\n');
    page->heading_end = page->out->size;
    return begin;
}

void page_end_section(struct page *page, size_t begin)
{
    if (page->out->size != page->heading_end || !page->out->data)
        return;
    page->out->size = begin;
    page->out->data[begin] = '\0';
}

void page_label(struct page *page, const char *label)
{
    size_t size = strlen(label);
    page_spaces(page, PAGE_INDENT);
    terminal_add(page->out, &page->terminal, size ? FAINT : PLAIN, label);
    page_spaces(page, size < PAGE_LABEL ? PAGE_LABEL - size : 1);
}

void page_field(struct page *page, const char *label, struct bytes text)
{
    size_t at = PAGE_INDENT + PAGE_LABEL;
    page_label(page, label);
    page_wrap(page, PLAIN, text, at, at, 0);
}

void page_printf(struct page *page, const char *label, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    page_field(page, label, bytes_of(text));
}

/* Number of bytes of text, which is printable, that fit into the columns; at least one character. */
static size_t take_columns(struct bytes text, size_t columns)
{
    size_t taken = 0, used = 0;
    while (taken < text.size) {
        uint32_t code = '?';
        size_t size = utf8_next((struct bytes){ text.data + taken, text.size - taken }, &code);
        size = size ? size : 1;
        used += utf8_width(code);
        if (used > columns && taken > 0)
            break;
        taken += size;
    }
    return taken;
}

/* How much of text goes on a line: up to the last space that fits, or what fits if a word is too long for a whole line.
 * 0: nothing, start a new line. */
static size_t break_line(struct bytes text, size_t space, size_t whole_line)
{
    size_t fits = take_columns(text, space);
    if (fits >= text.size)
        return text.size;
    size_t at = fits;
    while (at > 0 && text.data[at] != ' ')
        at--;
    if (at > 0)
        return at;
    const char *blank = memchr(text.data, ' ', text.size);
    size_t word = blank ? (size_t)(blank - text.data) : text.size;
    return utf8_columns((struct bytes){ text.data, word }, true) > whole_line ? fits : 0;
}

static struct bytes skip(struct bytes text, size_t size)
{
    text.data += size;
    text.size -= size;
    while (text.size && *text.data == ' ') {
        text.data++;
        text.size--;
    }
    return text;
}

/* The text is printable, and ASCII if the terminal has no UTF-8. */
static void wrap_safe(struct page *page, enum colour colour, struct bytes text, size_t at, size_t indent, size_t lines)
{
    for (size_t line = 1; text.size; line++) {
        size_t space = page->width > at ? page->width - at : 1;
        buf_add_text(page->out, colour == PLAIN ? "" : terminal_colour(&page->terminal, colour));
        size_t size = break_line(text, space, page->width - indent);
        if (line == lines && size < text.size) {
            utf8_add_fit(page->out, text, space, page->terminal.utf8);
            size = text.size;
        } else {
            buf_add(page->out, text.data, size);
        }
        buf_add_text(page->out, colour == PLAIN ? "" : terminal_colour(&page->terminal, PLAIN));
        text = skip(text, size);
        if (text.size) {
            buf_add_char(page->out, '\n');
            page_spaces(page, indent);
        }
        at = indent;
    }
    buf_add_char(page->out, '\n');
}

void page_wrap(struct page *page, enum colour colour, struct bytes text, size_t at, size_t indent, size_t lines)
{
    struct buf safe;
    buf_init(&safe, 1 << 20);
    utf8_add_safe(&safe, text, page->terminal.utf8);
    wrap_safe(page, colour, (struct bytes){ safe.data, safe.size }, at, indent, lines);
    buf_clear(&safe);
}
