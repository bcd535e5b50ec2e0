/* A pull parser for JSON (RFC 8259) in memory, which builds no tree. The caller reads what it expects. After the first error
 * all functions return false, so that it is enough to check json_read_end.
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
    bool first[JSON_READ_DEPTH_MAX + 1]; /* for each open object or array: nothing was read yet */
};

/* Borrows text. */
void json_read_init(struct json_read *read, const char *text, size_t size);

/* Type of the next value; JSON_BAD: not a value. */
enum json_type json_read_type(struct json_read *read);

bool json_read_object(struct json_read *read); /* enters it; then json_read_key until that is false */
bool json_read_array(struct json_read *read);  /* enters it; then json_read_more until that is false */

/* Replaces key with the next key of the object; its value must be read or skipped next. False: end of the object, which is
 * left, or an error. */
bool json_read_key(struct json_read *read, struct buf *key);
bool json_read_more(struct json_read *read);

/* A value of that type; any other is an error. Replaces the content of text; \u0000 is an error. */
bool json_read_text(struct json_read *read, struct buf *text);
bool json_read_u64(struct json_read *read, uint64_t *value); /* an integer, not negative */
bool json_read_f64(struct json_read *read, double *value);
bool json_read_bool(struct json_read *read, bool *value);
bool json_read_null(struct json_read *read);
void json_read_skip(struct json_read *read); /* any value with its content */

/* True: everything was read without an error, and only white space follows. */
bool json_read_end(struct json_read *read);

#endif
