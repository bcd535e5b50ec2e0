/* Floats, JSON strings and YAML scalars. */
#include "compat/tau/python_text.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static void add_escaped(struct buf *out, uint32_t code, bool is_yaml)
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
    else if (is_yaml)
        buf_printf(out, "\\U%08" PRIx32, code); /* YAML has no surrogate pairs */
    else
        buf_printf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
}

static void add_quoted(struct buf *out, const char *string, bool is_yaml)
{
    struct bytes rest = bytes_of(string);
    buf_add_char(out, '"');
    while (rest.size) {
        uint32_t code = 0xfffd;
        size_t size = utf8_next(rest, &code);
        add_escaped(out, size ? code : 0xfffd, is_yaml);
        rest.data += size ? size : 1;
        rest.size -= size ? size : 1;
    }
    buf_add_char(out, '"');
}

void python_text_json(struct buf *out, const char *string)
{
    add_quoted(out, string, false);
}

void python_text_json_float(struct buf *out, double value)
{
    if (isfinite(value))
        python_text_float(out, value);
    else
        buf_add_text(out, "null");
}

/* Words that YAML 1.1 parsers read as a boolean or as null. */
static bool is_yaml_word(const char *string)
{
    static const char *const reserved[] = { "y", "n", "yes", "no", "true", "false", "on", "off", "null" };
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcasecmp(reserved[i], string) == 0)
            return true;
    return false;
}

/* Stricter than YAML demands: a string that starts with a letter is no number, date or indicator. */
static bool may_be_plain(const char *string)
{
    size_t size = strlen(string);
    bool has_letter_first = (string[0] >= 'a' && string[0] <= 'z') || (string[0] >= 'A' && string[0] <= 'Z');
    for (size_t i = 0; i < size; i++)
        if (string[i] < 0x20 || string[i] > 0x7e)
            return false;
    return has_letter_first && string[size - 1] != ' ' && string[size - 1] != ':' && !strstr(string, ": ")
        && !strstr(string, " #") && !is_yaml_word(string);
}

void python_text_yaml(struct buf *out, const char *string)
{
    if (may_be_plain(string))
        buf_add_text(out, string);
    else
        add_quoted(out, string, true);
}

void python_text_yaml_float(struct buf *out, double value)
{
    if (!isfinite(value)) {
        buf_add_text(out, isnan(value) ? ".nan" : value > 0 ? ".inf" : "-.inf");
        return;
    }
    char digits[40];
    struct buf number;
    buf_init(&number, sizeof digits);
    python_text_float(&number, value);
    snprintf(digits, sizeof digits, "%s", buf_text(&number));
    buf_clear(&number);
    char *exponent = strchr(digits, 'e');
    if (!exponent || strchr(digits, '.'))
        buf_add_text(out, digits);
    else /* 1e+16 would be a string in YAML 1.1 */
        buf_printf(out, "%.*s.0%s", (int)(exponent - digits), digits, exponent);
}
