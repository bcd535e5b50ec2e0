/* Structured bodies: MessagePack maps described by tables of fields. A missing field is empty or 0 and an unknown one
 * is skipped, so that old and new versions understand each other. */
#include "transport/message.h"

#include "net/msgpack.h"

#include <string.h>

#define FIELDS_READ_MAX 256 /* of a received map */

enum field_type { TEXT, BYTES, NUMBER, FLAG };

struct message_field {
    const char *key;
    enum field_type type;
    size_t offset;
};

#define FIELD(struct_name, member, sort) { #member, sort, offsetof(struct struct_name, member) }

static const struct message_field hello_fields[] = {
    FIELD(message_hello, host, TEXT), FIELD(message_hello, software, TEXT), FIELD(message_hello, version_min, NUMBER),
    FIELD(message_hello, version_max, NUMBER), FIELD(message_hello, role, TEXT), FIELD(message_hello, instance, NUMBER),
    FIELD(message_hello, credential, BYTES), FIELD(message_hello, time_ns, NUMBER), { 0 },
};

static const struct message_field welcome_fields[] = {
    FIELD(message_welcome, host, TEXT), FIELD(message_welcome, software, TEXT), FIELD(message_welcome, version, NUMBER),
    FIELD(message_welcome, window_bytes, NUMBER), { 0 },
};

static const struct message_field open_fields[] = {
    FIELD(message_open, number, NUMBER), FIELD(message_open, host, TEXT), FIELD(message_open, stream, NUMBER), { 0 },
};

static const struct message_field cannot_fields[] = {
    FIELD(message_cannot, kind, NUMBER), FIELD(message_cannot, version, NUMBER), FIELD(message_cannot, number, NUMBER),
    { "why", TEXT, offsetof(struct message_cannot, error) }, { 0 },
};

static const struct message_field refuse_fields[] = {
    { "why", TEXT, offsetof(struct message_refuse, error) }, FIELD(message_refuse, for_good, FLAG), { 0 },
};

static void write_field(struct buf *body, const struct message_field *field, const void *from)
{
    const char *at = (const char *)from + field->offset;
    msgpack_text(body, bytes_of(field->key));
    switch (field->type) {
    case TEXT: msgpack_text(body, *(const struct bytes *)at); break;
    case BYTES: msgpack_bytes(body, *(const struct bytes *)at); break;
    case NUMBER: msgpack_u64(body, *(const uint64_t *)at); break;
    case FLAG: msgpack_flag(body, *(const bool *)at); break;
    }
}

static void write_fields(struct buf *body, const struct message_field *fields, const void *from)
{
    size_t count = 0;
    while (fields[count].key)
        count++;
    msgpack_map(body, count);
    for (size_t i = 0; i < count; i++)
        write_field(body, &fields[i], from);
}

static void read_field(struct msgpack *in, const struct message_field *field, void *to)
{
    char *at = (char *)to + field->offset;
    switch (field->type) {
    case TEXT:
    case BYTES: *(struct bytes *)at = msgpack_read_bytes(in); break;
    case NUMBER: *(uint64_t *)at = msgpack_read_u64(in); break;
    case FLAG: *(bool *)at = msgpack_read_flag(in); break;
    }
}

static const struct message_field *find(const struct message_field *fields, struct bytes key)
{
    for (; fields->key; fields++)
        if (bytes_equal(bytes_of(fields->key), key))
            return fields;
    return NULL;
}

static enum err read_fields(struct bytes body, const struct message_field *fields, void *to, size_t size)
{
    struct msgpack in = msgpack_of(body);
    memset(to, 0, size);
    size_t pairs = msgpack_read_map(&in);
    if (pairs > FIELDS_READ_MAX)
        return CORRUPT;
    for (size_t i = 0; i < pairs && !in.bad; i++) {
        const struct message_field *field = find(fields, msgpack_read_bytes(&in));
        if (field)
            read_field(&in, field, to);
        else
            msgpack_skip(&in);
    }
    return in.bad || in.at != in.end ? CORRUPT : OK;
}

void message_write_hello(struct buf *body, const struct message_hello *hello)
{
    write_fields(body, hello_fields, hello);
}

enum err message_read_hello(struct bytes body, struct message_hello *hello)
{
    return read_fields(body, hello_fields, hello, sizeof *hello);
}

void message_write_welcome(struct buf *body, const struct message_welcome *welcome)
{
    write_fields(body, welcome_fields, welcome);
}

enum err message_read_welcome(struct bytes body, struct message_welcome *welcome)
{
    return read_fields(body, welcome_fields, welcome, sizeof *welcome);
}

void message_write_open(struct buf *body, const struct message_open *open)
{
    write_fields(body, open_fields, open);
}

enum err message_read_open(struct bytes body, struct message_open *open)
{
    return read_fields(body, open_fields, open, sizeof *open);
}

void message_write_cannot(struct buf *body, const struct message_cannot *cannot)
{
    write_fields(body, cannot_fields, cannot);
}

enum err message_read_cannot(struct bytes body, struct message_cannot *cannot)
{
    return read_fields(body, cannot_fields, cannot, sizeof *cannot);
}

void message_write_refuse(struct buf *body, const struct message_refuse *refuse)
{
    write_fields(body, refuse_fields, refuse);
}

enum err message_read_refuse(struct bytes body, struct message_refuse *refuse)
{
    return read_fields(body, refuse_fields, refuse, sizeof *refuse);
}
