/* A growing byte buffer with a maximum that is stated when it is made. */
#ifndef SONDE_BASE_BUF_H
#define SONDE_BASE_BUF_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed bytes: not terminated, any content. */
struct bytes {
    const char *data;
    size_t size;
};

struct bytes bytes_of(const char *text); /* of a C string; NULL gives no bytes */
bool bytes_equal(struct bytes a, struct bytes b);
bool bytes_equal_nocase(struct bytes bytes, const char *word); /* the same, whether letters are large or small */
struct bytes bytes_trim(struct bytes bytes);           /* without blanks and tabs at both ends */

struct buf {
    char *data; /* always terminated with a NUL that is not counted in size, once anything was added */
    size_t size, capacity, max;
    bool failed; /* an addition did not fit or memory ran out: the content is not whole */
    bool full;   /* … because of the maximum */
};

void buf_init(struct buf *buf, size_t max);
void buf_clear(struct buf *buf); /* frees; may be used again */
void buf_reset(struct buf *buf); /* empties and keeps the memory */

/* Room for size more bytes, whose first is returned; NULL (and failed) when it cannot be. The caller adds to size. */
char *buf_reserve(struct buf *buf, size_t size);

void buf_add(struct buf *buf, const void *data, size_t size);
void buf_add_char(struct buf *buf, char c);
void buf_add_text(struct buf *buf, const char *text);
void buf_add_u64(struct buf *buf, uint64_t value); /* in decimal; quicker than buf_printf */
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The content as a C string, "" when empty. Borrowed until the next call on buf. */
const char *buf_text(const struct buf *buf);

/* OK, or NOMEM/FULL when an earlier addition failed. */
enum err buf_err(const struct buf *buf);

#endif
