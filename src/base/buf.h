/* A growing byte buffer with a stated maximum, and borrowed bytes. */
#ifndef SONDE_BASE_BUF_H
#define SONDE_BASE_BUF_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed bytes of any content, not NUL-terminated. */
struct bytes {
    const char *data;
    size_t size;
};

struct bytes bytes_of(const char *text); /* of a C string; NULL gives no bytes */
bool bytes_equal(struct bytes a, struct bytes b);
bool bytes_equal_nocase(struct bytes bytes, const char *word); /* ignores case */
struct bytes bytes_trim(struct bytes bytes);           /* without leading and trailing spaces and tabs */

struct buf {
    char *data; /* NUL-terminated once anything was added; size does not include the NUL */
    size_t size, capacity, max;
    bool failed; /* an addition failed: the content is incomplete */
    bool full;   /* it failed because of max */
};

void buf_init(struct buf *buf, size_t max);
void buf_clear(struct buf *buf); /* frees the memory; can be used again */
void buf_reset(struct buf *buf); /* empties it and keeps the memory */

/* Capacity for size more bytes: returns where they go, and the caller adds to size. NULL, with failed set: too large, or out
 * of memory. */
char *buf_reserve(struct buf *buf, size_t size);

void buf_add(struct buf *buf, const void *data, size_t size);
void buf_add_char(struct buf *buf, char c);
void buf_add_text(struct buf *buf, const char *text);
void buf_add_u64(struct buf *buf, uint64_t value); /* in decimal; faster than buf_printf */
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The content as a C string, "" when empty. Borrowed until the next call on buf. */
const char *buf_text(const struct buf *buf);

/* OK, or NOMEM/FULL when an earlier addition failed. */
enum err buf_err(const struct buf *buf);

#endif
