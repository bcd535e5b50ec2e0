/* The only state is the depth and whether a comma is needed. */
#include "net/json.h"

#include "base/format.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void json_init(struct json *json, struct buf *out)
{
    *json = (struct json){ .out = out, .first = true };
}

void json_init_line(struct json *json, struct buf *out)
{
    *json = (struct json){ .out = out, .first = true, .one_line = true };
}

static bool on_lines(const struct json *json)
{
    return json->depth == 1 && !json->one_line;
}

static void new_line(struct json *json)
{
    if (on_lines(json))
        buf_add_text(json->out, "\n  ");
}

/* Before every value, and before every key. */
static void separate(struct json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (!json->first)
        buf_add_text(json->out, on_lines(json) ? "," : ", ");
    new_line(json);
    json->first = false;
}

static void begin(struct json *json, char c)
{
    separate(json);
    buf_add_char(json->out, c);
    json->depth++;
    json->first = true;
}

static void end(struct json *json, char c)
{
    if (on_lines(json) && !json->first)
        buf_add_char(json->out, '\n');
    buf_add_char(json->out, c);
    json->depth--;
    json->first = false;
}

void json_begin_object(struct json *json) { begin(json, '{'); }
void json_end_object(struct json *json) { end(json, '}'); }
void json_begin_array(struct json *json) { begin(json, '['); }
void json_end_array(struct json *json) { end(json, ']'); }

void json_end(struct json *json)
{
    buf_add_char(json->out, '\n');
}

/* One character or one invalid byte; returns the bytes consumed. */
static size_t add_escaped(struct buf *out, struct bytes text)
{
    static const char plain[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    uint32_t code;
    size_t size = utf8_next(text, &code);
    if (size == 0) {
        buf_add_text(out, "\xef\xbf\xbd");
        return 1;
    }
    const char *special = code ? strchr(plain, (int)(code < 0x80 ? code : 1)) : NULL;
    if (special) {
        buf_add_char(out, '\\');
        buf_add_char(out, letters[special - plain]);
    } else if (code < 0x20 || code == 0x7f || code == 0x2028 || code == 0x2029)
        buf_printf(out, "\\u%04x", code);
    else
        buf_add(out, text.data, size);
    return size;
}

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c >= 0x7f || c == '"' || c == '\\';
}

static void add_string(struct buf *out, struct bytes text)
{
    buf_add_char(out, '"');
    while (text.size) {
        size_t plain = 0; /* most strings need no escaping: added at once */
        while (plain < text.size && !needs_escape((unsigned char)text.data[plain]))
            plain++;
        buf_add(out, text.data, plain);
        if (plain < text.size)
            plain += add_escaped(out, (struct bytes){ text.data + plain, text.size - plain });
        text = (struct bytes){ text.data + plain, text.size - plain };
    }
    buf_add_char(out, '"');
}

void json_key(struct json *json, const char *key)
{
    separate(json);
    add_string(json->out, bytes_of(key));
    buf_add_text(json->out, ": ");
    json->after_key = true;
}

void json_bytes(struct json *json, struct bytes text)
{
    separate(json);
    add_string(json->out, text);
}

void json_text(struct json *json, const char *text)
{
    if (text)
        json_bytes(json, bytes_of(text));
    else
        json_null(json);
}

void json_u64(struct json *json, uint64_t value)
{
    separate(json);
    buf_add_u64(json->out, value);
}

void json_i64(struct json *json, int64_t value)
{
    separate(json);
    buf_printf(json->out, "%" PRId64, value);
}

void json_f64(struct json *json, double value)
{
    if (!isfinite(value)) {
        json_null(json);
        return;
    }
    separate(json);
    buf_add_text(json->out, format_f64(value).s);
}

void json_real(struct json *json, double value)
{
    json_f64(json, value);
    if (isfinite(value) && !strpbrk(format_f64(value).s, ".e"))
        buf_add_text(json->out, ".0");
}

void json_bool(struct json *json, bool value)
{
    separate(json);
    buf_add_text(json->out, value ? "true" : "false");
}

void json_null(struct json *json)
{
    separate(json);
    buf_add_text(json->out, "null");
}

void json_base64(struct json *json, struct bytes data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    separate(json);
    buf_add_char(json->out, '"');
    for (size_t i = 0; i < data.size; i += 3) {
        uint32_t three = 0;
        size_t there = data.size - i < 3 ? data.size - i : 3;
        for (size_t k = 0; k < 3; k++)
            three = three << 8 | (k < there ? (unsigned char)data.data[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            buf_add_char(json->out, k <= there ? digits[three >> (18 - 6 * k) & 63] : '=');
    }
    buf_add_char(json->out, '"');
}

static void add_exact(struct json *json, const char *key, struct bytes data)
{
    char exact[64];
    if (utf8_valid(data))
        return;
    snprintf(exact, sizeof exact, "%s_base64", key);
    json_key(json, exact);
    json_base64(json, data);
}

void json_field_text(struct json *json, const char *key, const char *text)
{
    if (text)
        json_field_bytes(json, key, bytes_of(text));
    else {
        json_key(json, key);
        json_null(json);
    }
}

void json_field_bytes(struct json *json, const char *key, struct bytes text)
{
    json_key(json, key);
    json_bytes(json, text);
    add_exact(json, key, text);
}

void json_field_u64(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_u64(json, value);
}

void json_field_f64(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_f64(json, value);
}

void json_field_bool(struct json *json, const char *key, bool value)
{
    json_key(json, key);
    json_bool(json, value);
}

void json_field_strings(struct json *json, const char *key, struct bytes strings)
{
    json_key(json, key);
    json_begin_array(json);
    for (struct bytes rest = strings; rest.size;) {
        const char *end = memchr(rest.data, '\0', rest.size);
        size_t size = end ? (size_t)(end - rest.data) : rest.size;
        json_bytes(json, (struct bytes){ rest.data, size });
        size += end != NULL;
        rest = (struct bytes){ rest.data + size, rest.size - size };
    }
    json_end_array(json);
    add_exact(json, key, strings);
}
