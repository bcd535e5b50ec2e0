/* Reads the fields that matter here, and skips all others. */
#include "sinks/elasticsearch/response.h"

#include "net/json_read.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (1u << 20)

struct response_reader {
    struct json_read json;
    struct buf key, type, reason;
    uint64_t status;
};

static void reader_init(struct response_reader *reader, struct bytes answer)
{
    json_read_init(&reader->json, answer.data ? answer.data : "", answer.size);
    buf_init(&reader->key, TEXT_MAX);
    buf_init(&reader->type, TEXT_MAX);
    buf_init(&reader->reason, TEXT_MAX);
}

static void reader_clear(struct response_reader *reader)
{
    buf_clear(&reader->key);
    buf_clear(&reader->type);
    buf_clear(&reader->reason);
}

static bool is_key(const struct response_reader *reader, const char *name)
{
    return strcmp(buf_text(&reader->key), name) == 0;
}

static void read_text_or_skip(struct response_reader *reader, struct buf *text)
{
    if (json_read_type(&reader->json) == JSON_TEXT)
        json_read_text(&reader->json, text);
    else
        json_read_skip(&reader->json);
}

/* {"type": "…", "reason": "…", "caused_by": {"reason": "…"}}, or a string in old versions. */
static void read_error(struct response_reader *reader)
{
    if (json_read_type(&reader->json) != JSON_OBJECT) {
        read_text_or_skip(reader, &reader->reason);
        return;
    }
    json_read_object(&reader->json);
    while (json_read_key(&reader->json, &reader->key))
        if (is_key(reader, "type"))
            read_text_or_skip(reader, &reader->type);
        else if (is_key(reader, "reason"))
            read_text_or_skip(reader, &reader->reason);
        else
            json_read_skip(&reader->json);
}

/* {"status": 400, "error": …} */
static void read_outcome(struct response_reader *reader)
{
    json_read_object(&reader->json);
    while (json_read_key(&reader->json, &reader->key))
        if (is_key(reader, "status"))
            json_read_u64(&reader->json, &reader->status);
        else if (is_key(reader, "error"))
            read_error(reader);
        else
            json_read_skip(&reader->json);
}

static void read_items(struct response_reader *reader, elasticsearch_verdict *verdict, void *user, size_t *items)
{
    json_read_array(&reader->json);
    while (json_read_more(&reader->json)) {
        reader->status = 0;
        buf_reset(&reader->type);
        buf_reset(&reader->reason);
        json_read_object(&reader->json); /* {"create": {…}} */
        while (json_read_key(&reader->json, &reader->key))
            read_outcome(reader);
        if (!reader->json.failed && verdict)
            verdict(user, *items, (unsigned)reader->status, buf_text(&reader->type), buf_text(&reader->reason));
        ++*items;
    }
}

/* Parses the whole response; verdict may be NULL. */
static bool read_bulk(struct bytes answer, elasticsearch_verdict *verdict, void *user, size_t *items, bool *failed)
{
    struct response_reader reader;
    bool has_errors_field = false;
    *items = 0;
    *failed = false;
    reader_init(&reader, answer);
    json_read_object(&reader.json);
    while (json_read_key(&reader.json, &reader.key))
        if (is_key(&reader, "errors"))
            has_errors_field = json_read_bool(&reader.json, failed);
        else if (is_key(&reader, "items"))
            read_items(&reader, verdict, user, items);
        else
            json_read_skip(&reader.json);
    bool is_good = json_read_end(&reader.json) && has_errors_field;
    reader_clear(&reader);
    return is_good;
}

enum err elasticsearch_response_bulk(struct bytes answer, elasticsearch_verdict *verdict, void *user, size_t *items,
                                   bool *failed)
{
    if (!read_bulk(answer, NULL, NULL, items, failed)) /* use nothing of a truncated response */
        return CORRUPT;
    if (*failed)
        read_bulk(answer, verdict, user, items, failed);
    return OK;
}

static void read_version(struct response_reader *reader, bool *is_other)
{
    json_read_object(&reader->json);
    while (json_read_key(&reader->json, &reader->key))
        if (is_key(reader, "number")) {
            read_text_or_skip(reader, &reader->type);
        } else if (is_key(reader, "distribution")) {
            *is_other = true;
            json_read_skip(&reader->json);
        } else
            json_read_skip(&reader->json);
}

enum err elasticsearch_response_version(struct bytes answer, unsigned *major)
{
    struct response_reader reader;
    bool is_other = false;
    reader_init(&reader, answer);
    json_read_object(&reader.json);
    while (json_read_key(&reader.json, &reader.key))
        if (is_key(&reader, "version") && json_read_type(&reader.json) == JSON_OBJECT)
            read_version(&reader, &is_other);
        else
            json_read_skip(&reader.json);
    bool is_good = json_read_end(&reader.json);
    unsigned long number = strtoul(buf_text(&reader.type), NULL, 10);
    *major = is_other || number > 1000 ? 8 : (unsigned)number;
    reader_clear(&reader);
    return is_good && *major ? OK : CORRUPT;
}
