/* The capacity doubles. A failure is sticky, so that callers need to check only once, with buf_err. */
#include "base/buf.h"

#include "base/vec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct bytes bytes_of(const char *text)
{
    return (struct bytes){ text, text ? strlen(text) : 0 };
}

bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool bytes_equal_nocase(struct bytes bytes, const char *word)
{
    return bytes.size == strlen(word) && strncasecmp(bytes.data, word, bytes.size) == 0;
}

struct bytes bytes_trim(struct bytes bytes)
{
    while (bytes.size && (*bytes.data == ' ' || *bytes.data == '\t'))
        bytes = (struct bytes){ bytes.data + 1, bytes.size - 1 };
    while (bytes.size && (bytes.data[bytes.size - 1] == ' ' || bytes.data[bytes.size - 1] == '\t'))
        bytes.size--;
    return bytes;
}

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){ .max = max };
}

void buf_clear(struct buf *buf)
{
    free(buf->data);
    buf_init(buf, buf->max);
}

void buf_reset(struct buf *buf)
{
    buf->size = 0;
    buf->failed = false;
    buf->full = false;
    if (buf->data)
        buf->data[0] = '\0';
}

char *buf_reserve(struct buf *buf, size_t size)
{
    if (size > buf->max - buf->size) {
        buf->failed = true;
        buf->full = true;
        return NULL;
    }
    size_t need = buf->size + size + 1;
    if (need > buf->capacity) {
        size_t capacity = buf->capacity ? buf->capacity : 64;
        while (capacity < need)
            capacity *= 2;
        if (array_resize(buf->data, capacity)) {
            buf->failed = true;
            return NULL;
        }
        buf->capacity = capacity;
    }
    return buf->data + buf->size;
}

void buf_add(struct buf *buf, const void *data, size_t size)
{
    char *to = buf_reserve(buf, size);
    if (!to)
        return;
    if (size)
        memcpy(to, data, size);
    buf->size += size;
    buf->data[buf->size] = '\0';
}

void buf_add_char(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}

void buf_add_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_add_u64(struct buf *buf, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    buf_add(buf, digits + at, sizeof digits - at);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    char *to = size < 0 ? NULL : buf_reserve(buf, (size_t)size);
    if (to) {
        vsnprintf(to, (size_t)size + 1, format, again);
        buf->size += (size_t)size;
    }
    va_end(again);
    va_end(args);
}

const char *buf_text(const struct buf *buf)
{
    return buf->data ? buf->data : "";
}

enum err buf_err(const struct buf *buf)
{
    if (!buf->failed)
        return OK;
    return buf->full ? FULL : NOMEM;
}
