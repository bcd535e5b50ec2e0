/* Writes JSON (RFC 8259) into a buffer. The output is valid JSON in UTF-8 for any input.
 *
 * Strings that are not UTF-8: each invalid byte is written as U+FFFD, so that every parser accepts it; json_field_bytes also
 * writes the exact bytes in base64 under the key with "_base64" appended. NUL and control characters are escaped. NaN and
 * infinity become null.
 *
 * Each element of the outermost array or object is on a line of its own. */
#ifndef SONDE_NET_JSON_H
#define SONDE_NET_JSON_H

#include "base/buf.h"

struct json {
    struct buf *out; /* borrowed; can be emptied at any time */
    unsigned depth;
    bool first;      /* no element yet in this array or object */
    bool after_key;
    bool one_line;
};

void json_init(struct json *json, struct buf *out);
void json_init_line(struct json *json, struct buf *out); /* all on one line, for JSON Lines */

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
void json_real(struct json *json, double value); /* like json_f64, but always with a point or an exponent: 3 is "3.0" */
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
void json_base64(struct json *json, struct bytes data);

/* Key and value. */
void json_field_text(struct json *json, const char *key, const char *text);
void json_field_bytes(struct json *json, const char *key, struct bytes text);
void json_field_u64(struct json *json, const char *key, uint64_t value);
void json_field_f64(struct json *json, const char *key, double value);
void json_field_bool(struct json *json, const char *key, bool value);

/* An array of strings, each followed by a NUL; the NUL after the last one can be missing. */
void json_field_strings(struct json *json, const char *key, struct bytes strings);

/* Ends the last line. */
void json_end(struct json *json);

#endif
