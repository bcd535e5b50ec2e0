/* One function per production of RFC 8259. */
#include "net/json_read.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 64
#define SKIPPED_TEXT_MAX (16u << 20)

void json_read_init(struct json_read *read, const char *text, size_t size)
{
    *read = (struct json_read){ .at = text, .end = text + size };
}

static bool fail(struct json_read *read)
{
    read->failed = true;
    return false;
}

/* The next character that is not white space; NUL: end or error. */
static char peek(struct json_read *read)
{
    while (read->at < read->end && (*read->at == ' ' || *read->at == '\t' || *read->at == '\n' || *read->at == '\r'))
        read->at++;
    return read->failed || read->at == read->end ? '\0' : *read->at;
}

static bool take(struct json_read *read, char c)
{
    if (peek(read) != c)
        return false;
    read->at++;
    return true;
}

enum json_type json_read_type(struct json_read *read)
{
    char c = peek(read);
    switch (c) {
    case '{': return JSON_OBJECT;
    case '[': return JSON_ARRAY;
    case '"': return JSON_TEXT;
    case 't':
    case 'f': return JSON_BOOL;
    case 'n': return JSON_NULL;
    default: return c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER : JSON_BAD;
    }
}

static bool enter(struct json_read *read, char open)
{
    if (read->depth == JSON_READ_DEPTH_MAX || !take(read, open))
        return fail(read);
    read->first[++read->depth] = true;
    return true;
}

bool json_read_object(struct json_read *read)
{
    return enter(read, '{');
}

bool json_read_array(struct json_read *read)
{
    return enter(read, '[');
}

/* Is there another element? Consumes the comma. */
static bool another(struct json_read *read, char close)
{
    if (read->failed || !read->depth)
        return fail(read);
    if (take(read, close)) {
        read->depth--;
        return false;
    }
    if (!read->first[read->depth] && !take(read, ','))
        return fail(read);
    read->first[read->depth] = false;
    return true;
}

bool json_read_more(struct json_read *read)
{
    return another(read, ']') && (json_read_type(read) != JSON_BAD || fail(read));
}

bool json_read_key(struct json_read *read, struct buf *key)
{
    return another(read, '}') && json_read_text(read, key) && (take(read, ':') || fail(read));
}

static bool hex4(struct json_read *read, uint32_t *code)
{
    *code = 0;
    if (read->end - read->at < 4)
        return fail(read);
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = *read->at ? strchr(digits, *read->at | 0x20) : NULL;
        if (!digit || (*read->at < '0'))
            return fail(read);
        *code = *code * 16 + (uint32_t)(digit - digits);
        read->at++;
    }
    return true;
}

static void add_utf8(struct buf *out, uint32_t code)
{
    if (code < 0x80) {
        buf_add_char(out, (char)code);
        return;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };
    buf_add_char(out, (char)(lead[more] | (code >> (6 * more))));
    while (more-- > 0)
        buf_add_char(out, (char)(0x80 | ((code >> (6 * more)) & 0x3f)));
}

/* After "\u". A surrogate pair is one character; half a pair is an error. */
static bool unicode(struct json_read *read, struct buf *out)
{
    uint32_t code, low;
    if (!hex4(read, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (read->end - read->at < 2 || read->at[0] != '\\' || read->at[1] != 'u')
            return fail(read);
        read->at += 2;
        if (!hex4(read, &low) || low < 0xdc00 || low > 0xdfff)
            return fail(read);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code == 0 || (code >= 0xdc00 && code < 0xe000))
        return fail(read);
    add_utf8(out, code);
    return true;
}

static bool escape(struct json_read *read, struct buf *out)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (read->at == read->end)
        return fail(read);
    char c = *read->at++;
    if (c == 'u')
        return unicode(read, out);
    const char *found = c ? strchr(names, c) : NULL;
    if (!found)
        return fail(read);
    buf_add_char(out, meanings[found - names]);
    return true;
}

static bool is_plain(char c)
{
    return (unsigned char)c >= 0x20 && c != '"' && c != '\\';
}

bool json_read_text(struct json_read *read, struct buf *text)
{
    buf_reset(text);
    if (!take(read, '"'))
        return fail(read);
    for (;;) {
        const char *begin = read->at;
        while (read->at < read->end && is_plain(*read->at))
            read->at++;
        buf_add(text, begin, (size_t)(read->at - begin));
        if (read->at == read->end || (unsigned char)*read->at < 0x20 || text->failed)
            return fail(read);
        if (*read->at++ == '"')
            return true;
        if (!escape(read, text))
            return false;
    }
}

static bool digits(const char **at)
{
    const char *begin = *at;
    while (**at >= '0' && **at <= '9')
        ++*at;
    return *at > begin;
}

/* Checks the syntax, which is stricter than strtod's, and copies the number to terminate it. */
static bool number(struct json_read *read, char text[NUMBER_MAX])
{
    size_t size = 0;
    if (json_read_type(read) != JSON_NUMBER)
        return fail(read);
    while (read->at + size < read->end && size < NUMBER_MAX - 1 && read->at[size] && strchr("+-.0123456789eE", read->at[size]))
        size++;
    memcpy(text, read->at, size);
    text[size] = '\0';
    const char *at = text + (*text == '-');
    bool zero = *at == '0';
    if (!digits(&at) || (zero && at - text - (*text == '-') > 1))
        return fail(read);
    if (*at == '.' && (++at, !digits(&at)))
        return fail(read);
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        if (!digits(&at))
            return fail(read);
    }
    if (*at)
        return fail(read);
    read->at += size;
    return true;
}

bool json_read_f64(struct json_read *read, double *value)
{
    char text[NUMBER_MAX];
    if (!number(read, text))
        return false;
    *value = strtod(text, NULL);
    return true;
}

bool json_read_u64(struct json_read *read, uint64_t *value)
{
    char text[NUMBER_MAX];
    if (!number(read, text) || strspn(text, "0123456789") != strlen(text))
        return fail(read);
    uint64_t sum = 0;
    for (const char *c = text; *c; c++)
        if (__builtin_mul_overflow(sum, 10u, &sum) || __builtin_add_overflow(sum, (uint64_t)(*c - '0'), &sum))
            return fail(read);
    *value = sum;
    return true;
}

static bool word(struct json_read *read, const char *expected)
{
    size_t size = strlen(expected);
    if (read->failed || (size_t)(read->end - read->at) < size || memcmp(read->at, expected, size) != 0)
        return fail(read);
    read->at += size;
    return true;
}

bool json_read_bool(struct json_read *read, bool *value)
{
    *value = peek(read) == 't';
    return word(read, *value ? "true" : "false");
}

bool json_read_null(struct json_read *read)
{
    peek(read);
    return word(read, "null");
}

/* One value without its content; objects and arrays are entered. */
static void skip_one(struct json_read *read, struct buf *text, unsigned *objects)
{
    bool flag;
    double value;
    switch (json_read_type(read)) {
    case JSON_OBJECT:
        *objects |= json_read_object(read);
        break;
    case JSON_ARRAY: json_read_array(read); break;
    case JSON_TEXT: json_read_text(read, text); break;
    case JSON_NUMBER: json_read_f64(read, &value); break;
    case JSON_BOOL: json_read_bool(read, &flag); break;
    case JSON_NULL: json_read_null(read); break;
    case JSON_BAD: fail(read); break;
    }
}

void json_read_skip(struct json_read *read)
{
    struct buf text;
    unsigned base = read->depth, is_object = 0;
    bool objects[JSON_READ_DEPTH_MAX + 1] = { false };
    buf_init(&text, SKIPPED_TEXT_MAX);
    for (bool value = true; !read->failed;) {
        unsigned before = read->depth;
        is_object = 0;
        if (value)
            skip_one(read, &text, &is_object);
        if (read->depth > before)
            objects[read->depth] = is_object;
        if (read->depth <= base)
            break;
        value = objects[read->depth] ? json_read_key(read, &text) : json_read_more(read);
    }
    buf_clear(&text);
}

bool json_read_end(struct json_read *read)
{
    peek(read);
    return !read->failed && read->depth == 0 && read->at == read->end;
}
