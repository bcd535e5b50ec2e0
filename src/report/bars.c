/* Draws bars with block characters, or with # and + in ASCII. */
#include "report/bars.h"

#include <math.h>

static void repeat(struct buf *out, const char *sign, size_t count)
{
    while (count-- > 0)
        buf_add_text(out, sign);
}

/* The share in eighths of a column; whole columns in ASCII. */
static size_t eighths(double share, size_t width, bool utf8)
{
    if (!(share > 0))
        return 0;
    double columns = fmin(share, 1) * (double)width;
    size_t count = utf8 ? (size_t)(columns * 8 + 0.5) : (size_t)(columns + 0.5) * 8;
    return count ? count : utf8 ? 1 : 8;
}

void bars_add(struct buf *out, const struct terminal *terminal, size_t width, double share, double second,
              enum colour colour)
{
    static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    size_t filled = eighths(share, width, terminal->utf8), whole = filled / 8, part = filled % 8, other = 0;
    if (second > 0 && share > 0) {
        whole = (filled + 4) / 8; /* two characters in one bar: whole columns only */
        part = 0;
        other = (size_t)(fmin(second / share, 1) * (double)whole + 0.5);
    }
    buf_add_text(out, terminal_colour(terminal, colour));
    repeat(out, terminal_sign(terminal, "█", "#"), whole - other);
    repeat(out, terminal_sign(terminal, "▒", "+"), other);
    buf_add_text(out, parts[part]);
    buf_add_text(out, terminal_colour(terminal, PLAIN));
    size_t used = whole + (part > 0);
    buf_add_text(out, terminal_colour(terminal, FAINT));
    repeat(out, terminal_sign(terminal, "·", "."), used < width ? width - used : 0);
    buf_add_text(out, terminal_colour(terminal, PLAIN));
}
