/* Draws a timeline with the eight block heights of Unicode. */
#include "report/spark.h"

#include "analysis/phrase.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEVELS 8
#define AXIS_MAX 256

static const char *sign(double value, double max, bool utf8)
{
    static const char *const blocks[LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const ascii[LEVELS] = { " ", ".", ":", "-", "=", "+", "*", "#" };
    if (isnan(value))
        return " ";
    double share = max > 0 ? value / max : 0;
    int level = (int)(share * LEVELS);
    level = level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : level;
    if (level == 0 && value > 0 && !utf8)
        level = 1; /* distinguishes small values from 0 */
    return utf8 ? blocks[level] : ascii[level];
}

void spark_add(struct buf *out, const struct terminal *terminal, const double *values, size_t width, double max,
               enum colour colour)
{
    buf_add_text(out, terminal_colour(terminal, colour));
    for (size_t i = 0; i < width; i++)
        buf_add_text(out, sign(values[i], max, terminal->utf8));
    buf_add_text(out, terminal_colour(terminal, PLAIN));
}

static struct format_text mark(double seconds, double duration_s)
{
    struct format_text text;
    if (duration_s >= 120)
        return phrase_offset(seconds);
    if (duration_s >= 0.5)
        snprintf(text.s, sizeof text.s, "%.*f s", duration_s < 2 ? 2 : duration_s < 20, seconds);
    else
        snprintf(text.s, sizeof text.s, "%.0f ms", seconds * 1000);
    return text;
}

/* Puts text at a column if it and a space on either side are free. */
static void place(char *line, size_t width, long at, const char *text)
{
    long size = (long)strlen(text);
    if (size > (long)width)
        return;
    at = at < 0 ? 0 : at + size > (long)width ? (long)width - size : at;
    for (long i = at - 1; i <= at + size; i++)
        if (i >= 0 && i < (long)width && line[i] != ' ')
            return;
    memcpy(line + at, text, (size_t)size);
}

void spark_axis(struct buf *out, size_t width, double duration_s)
{
    static const double order[] = { 0, 1, 0.5, 0.25, 0.75 }; /* the ends have priority */
    char line[AXIS_MAX];
    width = width < AXIS_MAX ? width : AXIS_MAX;
    memset(line, ' ', width);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        struct format_text text = mark(order[i] * duration_s, duration_s);
        long size = (long)strlen(text.s);
        place(line, width, (long)(order[i] * (double)width + 0.5) - (order[i] > 0 ? size / 2 : 0), text.s);
    }
    buf_add(out, line, width);
}
