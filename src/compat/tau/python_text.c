/* Floats and JSON. (YAML: python_yaml.c.) */
#include "compat/tau/python_text.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 17

/* The fewest digits that read back as the same number, and the exponent of the first. */
static int shortest(double value, char digits[DIGITS_MAX + 1])
{
    char text[40];
    for (int precision = 0; precision < DIGITS_MAX; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    size_t count = 0;
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at != '.')
            digits[count++] = *at;
    digits[count] = '\0';
    return (int)strtol(at + 1, NULL, 10);
}

static void add_plain(struct buf *out, const char *digits, int exponent)
{
    int count = (int)strlen(digits);
    if (exponent < 0)
        buf_add_text(out, "0.");
    for (int i = -1; i > exponent; i--)
        buf_add_char(out, '0');
    for (int i = 0; i < count || i <= exponent; i++) {
        buf_add_char(out, i < count ? digits[i] : '0');
        if (i == exponent)
            buf_add_text(out, i + 1 < count ? "." : ".0");
    }
}

void python_text_float(struct buf *out, double value)
{
    char digits[DIGITS_MAX + 1] = "";
    if (!isfinite(value)) {
        buf_add_text(out, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    if (signbit(value))
        buf_add_char(out, '-');
    int exponent = shortest(fabs(value), digits);
    if (exponent >= -4 && exponent < 16) {
        add_plain(out, digits, exponent);
        return;
    }
    buf_add_char(out, digits[0]);
    if (digits[1])
        buf_printf(out, ".%s", digits + 1);
    buf_printf(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

static void add_escaped(struct buf *out, uint32_t code)
{
    static const char letters[][2] = { "\bb", "\tt", "\nn", "\ff", "\rr", "\"\"", "\\\\" };
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (code == (uint32_t)letters[i][0]) {
            buf_add_char(out, '\\');
            buf_add_char(out, letters[i][1]);
            return;
        }
    if (code >= 0x20 && code < 0x7f)
        buf_add_char(out, (char)code);
    else if (code < 0x10000)
        buf_printf(out, "\\u%04" PRIx32, code);
    else
        buf_printf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
}

void python_text_json(struct buf *out, const char *text)
{
    struct bytes rest = bytes_of(text);
    buf_add_char(out, '"');
    while (rest.size) {
        uint32_t code = 0xfffd;
        size_t size = utf8_next(rest, &code);
        add_escaped(out, size ? code : 0xfffd);
        rest.data += size ? size : 1;
        rest.size -= size ? size : 1;
    }
    buf_add_char(out, '"');
}

void python_text_json_float(struct buf *out, double value)
{
    if (isfinite(value))
        python_text_float(out, value);
    else
        buf_add_text(out, "null");
}
