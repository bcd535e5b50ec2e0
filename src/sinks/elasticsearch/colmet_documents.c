/* Writes {"create": {"_index": "colmet_ipmipowerstats_default", "_id": …}} {"hostname": "vm", "job_id": 0,
 * "timestamp": 1700000000, "average_power_consumption": 7, "involved_jobs": [42, 43]} */
#include "sinks/elasticsearch/colmet_documents.h"

#include "base/hash.h"
#include "net/json.h"
#include "sinks/elasticsearch/action.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct colmet_documents {
    struct elasticsearch_colmet *colmet;
    struct outbox *outbox;
    struct elasticsearch_indexes *indexes;
    const struct batch *batch;
    struct buf id, kind;
};

enum err elasticsearch_colmet_open(struct elasticsearch_colmet *colmet)
{
    memset(colmet->written, 0, sizeof colmet->written);
    return colmet_rows_new(&colmet->rows);
}

void elasticsearch_colmet_close(struct elasticsearch_colmet *colmet)
{
    colmet_rows_free(&colmet->rows);
}

static void begin_document(struct colmet_documents *d, const struct colmet_row *row, uint32_t index, struct json *json)
{
    elasticsearch_action_add(&d->outbox->bytes, d->indexes->list[index].name, buf_text(&d->id));
    json_init_line(json, &d->outbox->bytes);
    json_begin_object(json);
    json_field_text(json, "hostname", row->host);
    json_field_u64(json, "job_id", row->job);
    json_field_u64(json, "timestamp", row->time_s);
}

static enum err end_document(struct colmet_documents *d, uint32_t index, struct json *json)
{
    json_end_object(json);
    json_end(json);
    return outbox_end_item(d->outbox, index);
}

/* Skips values that do not fit a "long". */
static void add_value(struct json *json, const struct colmet_column *column, union value value)
{
    enum metric_type type = colmet_model_type(column->type);
    if (type == U64 && value.u64 > INT64_MAX)
        return;
    json_key(json, column->name);
    switch (type) {
    case U64: json_u64(json, value.u64); break;
    case I64: json_i64(json, value.i64); break;
    case F64: json_real(json, value.f64); break;
    }
}

static void add_involved(struct json *json, const struct colmet_row *row)
{
    json_key(json, "involved_jobs");
    json_begin_array(json);
    for (size_t i = 0; i < row->involved_count; i++)
        json_u64(json, row->involved[i]);
    json_end_array(json);
}

static bool is_any_known(const struct colmet_row *row)
{
    for (size_t i = 0; i < row->backend->count; i++)
        if (row->known[i])
            return true;
    return false;
}

static enum err add_row(struct colmet_documents *d, const struct colmet_row *row)
{
    struct json json;
    char place[24];
    uint32_t index;
    enum err err = elasticsearch_index_of(d->indexes, row->backend->name, NULL, true, &index);
    if (err)
        return err;
    buf_reset(&d->kind);
    buf_printf(&d->kind, "%s.%" PRIu64 ".", row->backend->name, row->job);
    snprintf(place, sizeof place, "%zu", row->sample);
    const struct elasticsearch_action_name name = { buf_text(&d->kind), row->sample, row->job_text, place, row->time_ns };
    elasticsearch_action_id(&d->id, d->batch, &name);
    begin_document(d, row, index, &json);
    for (size_t i = 0; i < row->backend->count; i++)
        if (row->known[i])
            add_value(&json, &row->backend->columns[i], row->values[i]);
    if (row->has_involved)
        add_involved(&json, row);
    return end_document(d, index, &json);
}

static uint64_t hash_labels(const struct colmet_row *row)
{
    uint64_t hash = hash_add_text(hash_add_text(HASH_START, row->host), row->backend->name);
    for (size_t i = 0; i < row->backend->count; i++)
        hash = hash_add_text(hash, row->labels[i]);
    return hash;
}

/* Colmet keeps the meaning of counter_1 in a file on the node; here it is a document. */
static enum err add_labels(struct colmet_documents *d, const struct colmet_row *row)
{
    struct json json;
    uint32_t index;
    uint64_t hash = row->labels ? hash_labels(row) : 0, *written = &d->colmet->written[hash % ELASTICSEARCH_COLMET_LABELS];
    if (!row->labels || *written == hash)
        return OK;
    enum err err = elasticsearch_index_of(d->indexes, "mapping", NULL, true, &index);
    if (err)
        return err;
    buf_reset(&d->id);
    buf_printf(&d->id, "%016" PRIx64, hash);
    begin_document(d, row, index, &json);
    json_field_text(&json, "metric_backend", row->backend->name);
    for (size_t i = 0; i < row->backend->count; i++)
        if (row->labels[i])
            json_field_text(&json, row->backend->columns[i].name, row->labels[i]);
    *written = hash;
    return end_document(d, index, &json);
}

enum err elasticsearch_colmet_add(struct elasticsearch_colmet *colmet, struct outbox *outbox,
                                  struct elasticsearch_indexes *indexes,
                                  const struct batch *batch)
{
    struct colmet_documents d = { .colmet = colmet, .outbox = outbox, .indexes = indexes, .batch = batch };
    const struct colmet_row *rows;
    size_t count = 0;
    enum err err = colmet_rows_make(colmet->rows, batch, &rows, &count);
    buf_init(&d.id, 64u << 10);
    buf_init(&d.kind, 4096);
    for (size_t i = 0; i < count && !err; i++) {
        err = is_any_known(&rows[i]) ? add_row(&d, &rows[i]) : OK;
        if (!err)
            err = add_labels(&d, &rows[i]);
    }
    if (err)
        memset(colmet->written, 0, sizeof colmet->written); /* the outbox drops the batch */
    buf_clear(&d.id);
    buf_clear(&d.kind);
    return err;
}
