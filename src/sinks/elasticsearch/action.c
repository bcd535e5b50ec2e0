/* Writes {"create": {"_index": "sonde_meminfo", "_id": "n1.18c2.42.0"}} */
#include "sinks/elasticsearch/action.h"

#include "base/hash.h"
#include "net/json.h"

#include <inttypes.h>

#define ID_MAX 400 /* Elasticsearch's limit is 512 bytes */

/* Replaces an id that is too long or not printable ASCII by two hashes of it. */
static void shorten_id(struct buf *id)
{
    bool is_plain = id->size <= ID_MAX;
    for (size_t i = 0; i < id->size && is_plain; i++)
        is_plain = id->data[i] > ' ' && id->data[i] < 0x7f;
    if (is_plain)
        return;
    uint64_t first = hash_add(HASH_START, id->data, id->size);
    uint64_t second = hash_add(first ^ 0x9e3779b97f4a7c15ull, id->data, id->size);
    buf_reset(id);
    buf_printf(id, "%016" PRIx64 "%016" PRIx64, first, second);
}

void elasticsearch_action_id(struct buf *id, const struct batch *batch, const struct elasticsearch_action_name *name)
{
    buf_reset(id);
    buf_add_text(id, batch->host ? batch->host : "");
    if (batch->stream || batch->sequence)
        buf_printf(id, ".%" PRIx64 ".%" PRIu64 ".%s%zu", batch->stream, batch->sequence, name->kind, name->place);
    else
        buf_printf(id, ".%s.%s.%s.%" PRIu64, name->kind, name->job ? name->job : "", name->instance, name->time_ns);
    shorten_id(id);
}

void elasticsearch_action_add(struct buf *out, const char *index, const char *id)
{
    struct json json;
    json_init_line(&json, out);
    json_begin_object(&json);
    json_key(&json, "create");
    json_begin_object(&json);
    json_field_text(&json, "_index", index);
    json_field_text(&json, "_id", id);
    json_end_object(&json);
    json_end_object(&json);
    json_end(&json);
}
