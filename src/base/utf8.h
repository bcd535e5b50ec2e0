/* Bytes from outside on a screen: is it UTF-8, how many columns does it take, and how is it printed without harm. */
#ifndef SONDE_BASE_UTF8_H
#define SONDE_BASE_UTF8_H

#include "base/buf.h"

/* The character at the beginning of text. Returns its size in bytes, 0 when text is empty or does not begin with a valid
 * one (overlong forms, surrogates and codes over U+10FFFF are not valid). */
size_t utf8_next(struct bytes text, uint32_t *code);

bool utf8_valid(struct bytes text);

/* Columns of a character on a terminal: 0 for combining marks, 2 for wide ones, 1 else. */
unsigned utf8_width(uint32_t code);

/* Columns of text when it is printed by utf8_add_safe with the same utf8. */
size_t utf8_columns(struct bytes text, bool utf8);

/* Adds text so that it can neither break a line nor steer a terminal: control characters (C0, C1, bidirectional
 * overrides, zero-width ones) and bytes that are not UTF-8 become \n, \t, \xNN or \u{NNNN}. utf8 false: so does
 * everything that is not ASCII. A backslash stays as it is. */
void utf8_add_safe(struct buf *out, struct bytes text, bool utf8);

/* The same, cut to at most columns; what was cut ends with an ellipsis ("…", or ".." in ASCII). Returns the columns
 * taken. */
size_t utf8_add_fit(struct buf *out, struct bytes text, size_t columns, bool utf8);

#endif
