/* Writes JSON (RFC 8259) into a buffer. Whatever bytes come in, valid JSON in UTF-8 comes out.
 *
 * Text that is not UTF-8: each bad byte is written as U+FFFD, so that every parser takes it; json_field_bytes writes the
 * exact bytes beside it, in base64, under the key with "_base64" behind it. NUL and control characters are escaped, and so
 * are kept. Numbers that JSON cannot write (not a number, infinite) become null.
 *
 * The elements of the outermost array or object stand on a line each. */
#ifndef SONDE_NET_JSON_H
#define SONDE_NET_JSON_H

#include "base/buf.h"

struct json {
    struct buf *out; /* borrowed; empty it whenever, the writer does not look back */
    unsigned depth;
    bool first;      /* nothing stands before in this array or object */
    bool after_key;
    bool one_line;
};

void json_init(struct json *json, struct buf *out);
void json_init_line(struct json *json, struct buf *out); /* the same, all in one line: for JSON Lines */

void json_begin_object(struct json *json);
void json_end_object(struct json *json);
void json_begin_array(struct json *json);
void json_end_array(struct json *json);

/* The next value belongs to key, which is ASCII. */
void json_key(struct json *json, const char *key);

void json_text(struct json *json, const char *text); /* NULL gives null */
void json_bytes(struct json *json, struct bytes text);
void json_u64(struct json *json, uint64_t value);
void json_i64(struct json *json, int64_t value);
void json_f64(struct json *json, double value);
void json_real(struct json *json, double value); /* as json_f64, and never without a point or an exponent: 3 is "3.0" */
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
void json_base64(struct json *json, struct bytes data);

/* Key and value in one. */
void json_field_text(struct json *json, const char *key, const char *text);
void json_field_bytes(struct json *json, const char *key, struct bytes text);
void json_field_u64(struct json *json, const char *key, uint64_t value);
void json_field_f64(struct json *json, const char *key, double value);
void json_field_bool(struct json *json, const char *key, bool value);

/* key: an array of the words of text, which has a NUL after each; a last word without one counts. */
void json_field_strings(struct json *json, const char *key, struct bytes words);

/* Nothing more comes: ends the last line. */
void json_end(struct json *json);

#endif
