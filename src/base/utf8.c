/* A strict decoder, a short table of widths, and an escaper that uses both. */
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

size_t utf8_next(struct bytes text, uint32_t *code)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (text.size == 0)
        return 0;
    const unsigned char *s = (const unsigned char *)text.data;
    if (s[0] < 0x80) {
        *code = s[0];
        return 1;
    }
    size_t size = s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (size == 0 || size > text.size)
        return 0;
    uint32_t c = s[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < smallest[size] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *code = c;
    return size;
}

static struct bytes skip(struct bytes text, size_t size)
{
    return (struct bytes){ text.data + size, text.size - size };
}

bool utf8_valid(struct bytes text)
{
    uint32_t code;
    while (text.size) {
        size_t size = utf8_next(text, &code);
        if (size == 0)
            return false;
        text = skip(text, size);
    }
    return true;
}

struct code_range {
    uint32_t first, last;
};

static bool in_ranges(const struct code_range *ranges, size_t count, uint32_t code)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

#define IN(ranges, code) in_ranges(ranges, sizeof ranges / sizeof *ranges, code)

/* Whole Unicode blocks of combining marks and of wide characters: accurate enough to align tables. */
static const struct code_range combining[] = {
    { 0x300, 0x36f },   { 0x483, 0x489 },   { 0x591, 0x5bd },   { 0x610, 0x61a },   { 0x64b, 0x65f },
    { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
};
static const struct code_range wide[] = {
    { 0x1100, 0x115f }, { 0x231a, 0x231b }, { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },   { 0xa960, 0xa97c },
    { 0xac00, 0xd7a3 }, { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },
    { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1faff }, { 0x20000, 0x3fffd },
};
/* Characters that control the terminal or hide text: controls, soft hyphen, zero-width and bidirectional marks, line
 * separators. */
static const struct code_range harmful[] = {
    { 0, 0x1f },        { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },   { 0x180e, 0x180e }, { 0x200b, 0x200f },
    { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

unsigned utf8_width(uint32_t code)
{
    if (code < 0x300)
        return 1;
    if (IN(combining, code))
        return 0;
    return IN(wide, code) ? 2 : 1;
}

/* One character, or one invalid byte, as printed. */
struct piece {
    char text[12];
    size_t size, columns;
    size_t taken; /* bytes of the source */
};

static void escape_byte(struct piece *piece, unsigned char byte)
{
    static const char letters[] = "abtnvfr"; /* 7 to 13 */
    if (byte >= 9 && byte <= 13 && byte != 11 && byte != 12)
        piece->size = (size_t)snprintf(piece->text, sizeof piece->text, "\\%c", letters[byte - 7]);
    else
        piece->size = (size_t)snprintf(piece->text, sizeof piece->text, "\\x%02x", byte);
    piece->columns = piece->size;
    piece->taken = 1;
}

static void next_piece(struct bytes text, bool utf8, struct piece *piece)
{
    uint32_t code;
    size_t size = utf8_next(text, &code);
    if (size == 0 || (size == 1 && IN(harmful, code))) {
        escape_byte(piece, (unsigned char)text.data[0]);
        return;
    }
    piece->taken = size;
    if (size > 1 && (!utf8 || IN(harmful, code))) {
        piece->size = piece->columns = (size_t)snprintf(piece->text, sizeof piece->text, "\\u{%04x}", code);
        return;
    }
    memcpy(piece->text, text.data, size);
    piece->size = size;
    piece->columns = utf8_width(code);
}

/* Length of the leading printable ASCII, the common case: one column per byte, no escaping. */
static size_t plain_run(struct bytes text, size_t most)
{
    size_t size = 0;
    while (size < text.size && size < most && text.data[size] >= 0x20 && text.data[size] < 0x7f)
        size++;
    return size;
}

size_t utf8_columns(struct bytes text, bool utf8)
{
    size_t columns = 0;
    struct piece piece;
    for (;; text = skip(text, piece.taken)) {
        size_t plain = plain_run(text, SIZE_MAX);
        columns += plain;
        text = skip(text, plain);
        if (text.size == 0)
            return columns;
        next_piece(text, utf8, &piece);
        columns += piece.columns;
    }
}

/* Appends what fits into this many columns and returns the columns used. *rest: what did not fit. */
static size_t add_up_to(struct buf *out, struct bytes text, size_t columns, bool utf8, struct bytes *rest)
{
    size_t taken = 0;
    struct piece piece;
    for (;; text = skip(text, piece.taken)) {
        size_t plain = plain_run(text, columns - taken);
        buf_add(out, text.data, plain);
        taken += plain;
        text = skip(text, plain);
        *rest = text;
        if (text.size == 0)
            return taken;
        next_piece(text, utf8, &piece);
        if (piece.columns > columns - taken)
            return taken;
        buf_add(out, piece.text, piece.size);
        taken += piece.columns;
    }
}

void utf8_add_safe(struct buf *out, struct bytes text, bool utf8)
{
    struct bytes rest;
    add_up_to(out, text, SIZE_MAX, utf8, &rest);
}

size_t utf8_add_fit(struct buf *out, struct bytes text, size_t columns, bool utf8)
{
    const char *ellipsis = utf8 ? "…" : "..";
    size_t ellipsis_columns = utf8 ? 1 : 2, before = out->size;
    struct bytes rest;
    size_t taken = add_up_to(out, text, columns, utf8, &rest);
    if (rest.size == 0 || out->failed)
        return taken;
    out->size = before; /* again, leaving space for the ellipsis */
    if (columns < ellipsis_columns) {
        if (out->data)
            out->data[before] = '\0';
        return 0;
    }
    taken = add_up_to(out, text, columns - ellipsis_columns, utf8, &rest);
    buf_add_text(out, ellipsis);
    return taken + ellipsis_columns;
}
