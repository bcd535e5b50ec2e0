/* Capabilities of the output: width, colour, UTF-8 or ASCII. */
#ifndef SONDE_REPORT_TERMINAL_H
#define SONDE_REPORT_TERMINAL_H

#include "base/buf.h"

struct terminal {
    bool is_terminal;
    bool colour; /* only on a terminal, not with NO_COLOR, not with TERM=dumb */
    bool utf8;   /* the locale's character set; call setlocale(LC_CTYPE, "") first */
    size_t width; /* of the terminal; else $COLUMNS, else 80; at least 40 */
};

enum colour { PLAIN, BOLD, FAINT, RED, GREEN, YELLOW, BLUE, COLOURS };

struct terminal terminal_of(int fd);

/* The sequence that starts a colour or (PLAIN) ends it; "" without colour. */
const char *terminal_colour(const struct terminal *terminal, enum colour colour);

/* Adds text in a colour. */
void terminal_add(struct buf *out, const struct terminal *terminal, enum colour colour, const char *text);

/* One of two spellings of a character: terminal_sign(t, "█", "#"). */
static inline const char *terminal_sign(const struct terminal *terminal, const char *utf8, const char *ascii)
{
    return terminal->utf8 ? utf8 : ascii;
}

/* Writes all of out and empties it. GONE: the reader has closed the pipe, which is not our error. FULL, IO. */
enum err terminal_write(int fd, struct buf *out);

#endif
