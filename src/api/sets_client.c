/* Schemas precede the sets that refer to them. Memory is allocated in blocks that are freed together. */
#include "api/sets_client.h"

#include "api/schema.h"
#include "base/vec.h"
#include "net/json_read.h"

#include <stdlib.h>
#include <string.h>

struct sets_block {
    struct sets_block *next;
    union value data[];
};

struct sets_reader {
    struct json_read json;
    struct sets_answer *sets;
    struct buf key, text;
    bool is_out_of_memory;
    size_t schema_capacity, item_capacity, job_capacity;
};

void *sets_client_allocate(struct sets_answer *sets, size_t size)
{
    struct sets_block *new = calloc(1, sizeof *new + size);
    if (!new)
        return NULL;
    new->next = sets->blocks;
    sets->blocks = new;
    return new->data;
}

static bool fail_memory(struct sets_reader *reader)
{
    reader->is_out_of_memory = true;
    reader->json.failed = true;
    return false;
}

static void *allocate(struct sets_reader *reader, size_t size)
{
    void *new = sets_client_allocate(reader->sets, size);
    if (!new)
        fail_memory(reader);
    return new;
}

/* Makes the capacity at least need; false if out of memory, which stops the parser. */
#define reserve(reader, array, capacity, need) (array_reserve(array, capacity, need, VEC_MAX) ? fail_memory(reader) : true)

static const char *read_string(struct sets_reader *reader)
{
    if (!json_read_text(&reader->json, &reader->text))
        return "";
    size_t size = strlen(buf_text(&reader->text)) + 1;
    char *copy = allocate(reader, size);
    return copy ? memcpy(copy, buf_text(&reader->text), size) : "";
}

static bool is_key(const struct sets_reader *reader, const char *key)
{
    return strcmp(buf_text(&reader->key), key) == 0;
}

static uint64_t read_number(struct sets_reader *reader)
{
    uint64_t value = 0;
    json_read_u64(&reader->json, &value);
    return value;
}

static void read_metric(struct sets_reader *reader, struct metric *metric)
{
    *metric = (struct metric){ .name = "", .unit = "", .help = "", .kind = GAUGE, .type = U64 };
    json_read_object(&reader->json);
    while (json_read_key(&reader->json, &reader->key)) {
        if (is_key(reader, API_NAME))
            metric->name = read_string(reader);
        else if (is_key(reader, API_SOURCE))
            metric->source = read_string(reader);
        else if (is_key(reader, API_UNIT))
            metric->unit = read_string(reader);
        else if (is_key(reader, API_HELP))
            metric->help = read_string(reader);
        else if (is_key(reader, API_KIND))
            metric->kind = strcmp(read_string(reader), API_COUNTER) == 0 ? COUNTER : GAUGE;
        else if (is_key(reader, API_TYPE)) {
            const char *type = read_string(reader);
            metric->type = *type == 'i' ? I64 : *type == 'f' ? F64 : U64;
        } else
            json_read_skip(&reader->json);
    }
}

static void read_metrics(struct sets_reader *reader, struct set *schema)
{
    struct metric *metrics = NULL;
    size_t count = 0, capacity = 0;
    json_read_array(&reader->json);
    while (json_read_more(&reader->json)) {
        if (!reserve(reader, metrics, capacity, count + 1))
            break;
        read_metric(reader, &metrics[count++]);
    }
    struct metric *kept = allocate(reader, count * sizeof *kept);
    if (kept && count)
        memcpy(kept, metrics, count * sizeof *kept);
    schema->metrics = kept;
    schema->size = kept ? count : 0;
    free(metrics);
}

static void read_schema(struct sets_reader *reader)
{
    struct sets_answer *sets = reader->sets;
    struct set *schema = allocate(reader, sizeof *schema);
    if (!schema || !reserve(reader, sets->schemas, reader->schema_capacity, sets->schema_count + 1))
        return;
    sets->schemas[sets->schema_count++] = schema;
    schema->name = "";
    json_read_object(&reader->json);
    while (json_read_key(&reader->json, &reader->key)) {
        if (is_key(reader, API_NAME))
            schema->name = read_string(reader);
        else if (is_key(reader, API_SIZE) && !schema->metrics)
            schema->size = read_number(reader);
        else if (is_key(reader, API_INSTANCES))
            schema->instances = read_string(reader);
        else if (is_key(reader, API_METRICS))
            read_metrics(reader, schema);
        else
            json_read_skip(&reader->json);
    }
}

static void read_value(struct sets_reader *reader, struct sets_item *item, size_t i)
{
    enum metric_type type = item->schema->metrics[i].type;
    double wide = 0;
    if (json_read_type(&reader->json) == JSON_NULL) {
        json_read_null(&reader->json);
        return;
    }
    if (type == U64) {
        item->values[i].u64 = read_number(reader);
    } else {
        json_read_f64(&reader->json, &wide);
        if (type == F64)
            item->values[i].f64 = wide;
        else
            item->values[i].i64 = wide >= -9.2e18 && wide <= 9.2e18 ? (int64_t)wide : 0;
    }
    item->known[i] = 1;
}

static void read_values(struct sets_reader *reader, struct sets_item *item)
{
    size_t size = item->schema && item->schema->metrics ? item->schema->size : 0, i = 0;
    item->values = allocate(reader, size * sizeof *item->values);
    item->known = allocate(reader, size);
    json_read_array(&reader->json);
    while (json_read_more(&reader->json)) {
        if (i >= size || !item->values || !item->known) {
            reader->json.failed = true;
            return;
        }
        read_value(reader, item, i++);
    }
}

static const struct set *schema_of(struct sets_reader *reader)
{
    uint64_t place = read_number(reader);
    if (place < reader->sets->schema_count)
        return reader->sets->schemas[place];
    reader->json.failed = true;
    return NULL;
}

static void read_field(struct sets_reader *reader, struct sets_item *item)
{
    if (is_key(reader, API_SCHEMA))
        item->schema = schema_of(reader);
    else if (is_key(reader, API_HOST))
        item->host = read_string(reader);
    else if (is_key(reader, API_INSTANCE))
        item->instance = read_string(reader);
    else if (is_key(reader, API_JOB))
        item->job = read_string(reader);
    else if (is_key(reader, API_USER))
        item->user = read_string(reader);
    else if (is_key(reader, API_UID))
        item->uid = (uint32_t)read_number(reader);
    else if (is_key(reader, API_TIME_NS))
        item->time_ns = read_number(reader);
    else if (is_key(reader, API_FIRST_NS))
        item->first_ns = read_number(reader);
    else if (is_key(reader, API_UPDATES))
        item->updates = read_number(reader);
    else if (is_key(reader, API_PERIOD_NS))
        item->period_ns = read_number(reader);
    else if (is_key(reader, API_DURATION_NS))
        item->read_ns = read_number(reader);
    else if (is_key(reader, API_VALUES))
        read_values(reader, item);
    else
        json_read_skip(&reader->json);
}

static void read_item(struct sets_reader *reader)
{
    struct sets_answer *sets = reader->sets;
    if (!reserve(reader, sets->items, reader->item_capacity, sets->count + 1))
        return;
    struct sets_item item = { .instance = "", .uid = UINT32_MAX };
    json_read_object(&reader->json);
    while (json_read_key(&reader->json, &reader->key))
        read_field(reader, &item);
    if (item.schema)
        sets->items[sets->count++] = item;
    else
        reader->json.failed = true;
}

static void read_job(struct sets_reader *reader)
{
    struct sets_answer *sets = reader->sets;
    if (!reserve(reader, sets->jobs, reader->job_capacity, sets->job_count + 1))
        return;
    struct sets_job job = { .id = "", .user = "" };
    json_read_object(&reader->json);
    while (json_read_key(&reader->json, &reader->key)) {
        if (is_key(reader, API_HOST))
            job.host = read_string(reader);
        else if (is_key(reader, API_JOB))
            job.id = read_string(reader);
        else if (is_key(reader, API_USER))
            job.user = read_string(reader);
        else
            json_read_skip(&reader->json);
    }
    sets->jobs[sets->job_count++] = job;
}

static void read_array(struct sets_reader *reader, void (*read)(struct sets_reader *reader))
{
    json_read_array(&reader->json);
    while (json_read_more(&reader->json))
        read(reader);
}

static void read_all(struct sets_reader *reader)
{
    json_read_object(&reader->json);
    while (json_read_key(&reader->json, &reader->key)) {
        if (is_key(reader, API_HOST))
            reader->sets->host = read_string(reader);
        else if (is_key(reader, API_PRODUCER))
            reader->sets->producer = read_string(reader);
        else if (is_key(reader, API_UID))
            reader->sets->uid = (uint32_t)read_number(reader);
        else if (is_key(reader, API_GID))
            reader->sets->gid = (uint32_t)read_number(reader);
        else if (is_key(reader, API_SCHEMAS))
            read_array(reader, read_schema);
        else if (is_key(reader, API_SETS))
            read_array(reader, read_item);
        else if (is_key(reader, API_JOBS))
            read_array(reader, read_job);
        else
            json_read_skip(&reader->json);
    }
}

enum err sets_client_read(struct sets_answer *sets, const char *text, size_t size)
{
    struct sets_reader reader = { .sets = sets };
    *sets = (struct sets_answer){ .host = "", .uid = UINT32_MAX, .gid = UINT32_MAX };
    buf_init(&reader.key, 4096);
    buf_init(&reader.text, 1u << 20);
    json_read_init(&reader.json, text, size);
    read_all(&reader);
    bool is_good = json_read_end(&reader.json);
    buf_clear(&reader.key);
    buf_clear(&reader.text);
    if (is_good)
        return OK;
    sets_client_clear(sets);
    return reader.is_out_of_memory ? NOMEM : CORRUPT;
}

void sets_client_clear(struct sets_answer *sets)
{
    for (struct sets_block *at = sets->blocks, *next; at; at = next) {
        next = at->next;
        free(at);
    }
    free(sets->schemas);
    free(sets->items);
    free(sets->jobs);
    *sets = (struct sets_answer){ 0 };
}
