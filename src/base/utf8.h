/* Untrusted strings on a terminal: validation, width in columns, and safe printing. */
#ifndef SONDE_BASE_UTF8_H
#define SONDE_BASE_UTF8_H

#include "base/buf.h"

/* Decodes the first character. Returns its size in bytes; 0: text is empty or does not begin with a valid character (overlong
 * forms, surrogates and codes over U+10FFFF are invalid). */
size_t utf8_next(struct bytes text, uint32_t *code);

bool utf8_valid(struct bytes text);

/* Columns of a character on a terminal: 0 for combining marks, 2 for wide ones, 1 else. */
unsigned utf8_width(uint32_t code);

/* Columns of text as printed by utf8_add_safe with the same utf8. */
size_t utf8_columns(struct bytes text, bool utf8);

/* Appends text so that it can neither break a line nor control the terminal: control characters (C0, C1, bidirectional
 * overrides, zero-width) and bytes that are not UTF-8 become \n, \t, \xNN or \u{NNNN}; without utf8 everything that is not
 * ASCII does. Backslashes are not escaped. */
void utf8_add_safe(struct buf *out, struct bytes text, bool utf8);

/* The same, truncated to at most columns, with an ellipsis ("…", or ".." in ASCII) if something was cut. Returns the columns
 * used. */
size_t utf8_add_fit(struct buf *out, struct bytes text, size_t columns, bool utf8);

#endif
