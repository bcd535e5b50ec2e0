/* Reads JSON (RFC 8259) piece by piece out of memory, without building a tree. The caller asks for what it expects; after
 * the first mistake everything says false, so that it is enough to look at the end (json_read_end).
 *
 *     json_read_object(&r);
 *     while (json_read_key(&r, &key))
 *         if (!strcmp(buf_text(&key), "period")) json_read_text(&r, &value); else json_read_skip(&r);
 */
#ifndef SONDE_NET_JSON_READ_H
#define SONDE_NET_JSON_READ_H

#include "base/buf.h"

#define JSON_READ_DEPTH_MAX 64

enum json_type { JSON_BAD, JSON_OBJECT, JSON_ARRAY, JSON_TEXT, JSON_NUMBER, JSON_BOOL, JSON_NULL };

struct json_read {
    const char *at, *end;
    bool failed;
    unsigned depth;
    bool first[JSON_READ_DEPTH_MAX + 1]; /* of each open object or array: nothing was read in it yet */
};

/* Borrows text. */
void json_read_init(struct json_read *read, const char *text, size_t size);

/* What comes next; JSON_BAD: nothing that could be a value. */
enum json_type json_read_type(struct json_read *read);

bool json_read_object(struct json_read *read); /* enters it; then json_read_key until that is false */
bool json_read_array(struct json_read *read);  /* enters it; then json_read_more until that is false */

/* The next key of the object, into key, which is emptied before; its value must be read or skipped then. False: the
 * object has ended and was left, or there is a mistake. */
bool json_read_key(struct json_read *read, struct buf *key);
bool json_read_more(struct json_read *read);

/* A value of that type; another is a mistake. Texts are emptied before; a \u0000 in them is a mistake. */
bool json_read_text(struct json_read *read, struct buf *text);
bool json_read_u64(struct json_read *read, uint64_t *value); /* whole, not negative */
bool json_read_f64(struct json_read *read, double *value);
bool json_read_bool(struct json_read *read, bool *value);
bool json_read_null(struct json_read *read);
void json_read_skip(struct json_read *read); /* any value, with all that is in it */

/* True: all of it was read, nothing but blanks follows, and there was no mistake. */
bool json_read_end(struct json_read *read);

#endif
