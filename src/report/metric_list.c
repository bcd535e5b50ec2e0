/* A growing list, whose strings are in blocks that never move, and the JSON parser that fills it. */
#include "report/metric_list.h"

#include "base/vec.h"
#include "net/json_read.h"
#include "analysis/histograms.h"
#include "api/schema.h"
#include "compat/tau/python_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 65536
#define TEXT_MAX (1u << 20)

#define BUCKETS_MAX 1024

struct metric_list_piece {
    struct metric_list_piece *next;
    size_t used, capacity;
    char data[];
};

void metric_list_init(struct metric_list *list)
{
    *list = (struct metric_list){ 0 };
}

void metric_list_clear(struct metric_list *list)
{
    for (struct metric_list_piece *piece = list->pieces, *next; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
    free(list->items);
    metric_list_init(list);
}

struct metric_item *metric_list_add(struct metric_list *list)
{
    if (array_reserve(list->items, list->capacity, list->count + 1, VEC_MAX))
        return NULL;
    struct metric_item *item = &list->items[list->count++];
    *item = (struct metric_item){ .name = "", .doc = "", .unit = "", .value = NAN, .ts_s = NAN };
    for (size_t i = 0; i < METRIC_LIST_SPREAD; i++)
        item->spread[i] = NAN;
    return item;
}

const char *metric_list_text(struct metric_list *list, const char *text)
{
    size_t size = strlen(text) + 1;
    struct metric_list_piece *piece = list->pieces;
    if (!piece || piece->capacity - piece->used < size) {
        size_t capacity = size > PIECE_BYTES ? size : PIECE_BYTES;
        piece = malloc(sizeof *piece + capacity);
        if (!piece)
            return "";
        *piece = (struct metric_list_piece){ .next = list->pieces, .capacity = capacity };
        list->pieces = piece;
    }
    char *copy = memcpy(piece->data + piece->used, text, size);
    piece->used += size;
    return copy;
}

struct metric_list_reader {
    struct json_read json;
    struct metric_list *list;
    struct buf key, text, word;
};

/* NULL for null. */
static const char *read_text(struct metric_list_reader *reader)
{
    if (json_read_type(&reader->json) == JSON_NULL) {
        json_read_null(&reader->json);
        return NULL;
    }
    return json_read_text(&reader->json, &reader->text) ? metric_list_text(reader->list, buf_text(&reader->text)) : "";
}

static const char *read_some_text(struct metric_list_reader *reader)
{
    const char *text = read_text(reader);
    return text ? text : "";
}

/* "inf", "-inf": JSON has no numbers for them. */
static double read_infinite(struct metric_list_reader *reader)
{
    const char *text = json_read_text(&reader->json, &reader->word) ? buf_text(&reader->word) : "";
    return strcmp(text, "inf") == 0 ? INFINITY : strcmp(text, "-inf") == 0 ? -INFINITY : NAN;
}

static double read_number(struct metric_list_reader *reader)
{
    double value = NAN;
    enum json_type type = json_read_type(&reader->json);
    if (type == JSON_NULL)
        json_read_null(&reader->json);
    else if (type == JSON_TEXT)
        value = read_infinite(reader);
    else
        json_read_f64(&reader->json, &value);
    return value;
}

static enum metric_list_type read_type(struct metric_list_reader *reader)
{
    const char *name = read_some_text(reader);
    return strcmp(name, API_COUNTER) == 0     ? METRIC_LIST_COUNTER
           : strcmp(name, API_GAUGE) == 0     ? METRIC_LIST_GAUGE
           : strcmp(name, API_HISTOGRAM) == 0 ? METRIC_LIST_HISTOGRAM
                                            : METRIC_LIST_OTHER;
}

const char *const metric_list_spread_names[METRIC_LIST_SPREAD] = {
    API_SUM, API_MIN, API_MAX, API_MEAN, API_PROGRAMS, API_COUNT, "p50", "p90", "p99",
};

/* Computes count and quantiles from the buckets. */
static void judge_buckets(struct metric_item *item, const double *bounds, const double *counts, size_t count)
{
    static const double shares[] = { 0.5, 0.9, 0.99 };
    for (size_t i = 0; i < 3; i++) {
        double value = histogram_quantile(bounds, counts, count, shares[i]);
        item->spread[METRIC_LIST_P50 + i] = isinf(value) ? NAN : value;
    }
    if (count && counts[count - 1] > 0)
        item->spread[METRIC_LIST_MEAN] = item->spread[METRIC_LIST_SUM] / counts[count - 1];
}

/* [[0.1, 3], [null, 4]]: null is the infinite bound. The sum comes before the buckets. */
static void read_buckets(struct metric_list_reader *reader, struct metric_item *item)
{
    double bounds[BUCKETS_MAX], counts[BUCKETS_MAX];
    size_t count = 0;
    buf_reset(&reader->text);
    buf_add_char(&reader->text, '[');
    json_read_array(&reader->json);
    while (json_read_more(&reader->json)) {
        double pair[2] = { NAN, NAN };
        json_read_array(&reader->json);
        for (size_t i = 0; json_read_more(&reader->json); i++)
            if (i < 2)
                pair[i] = read_number(reader);
            else
                json_read_skip(&reader->json);
        buf_add_text(&reader->text, reader->text.size > 1 ? ", [" : "[");
        python_text_json_float(&reader->text, pair[0]);
        buf_add_text(&reader->text, ", ");
        python_text_json_float(&reader->text, pair[1]);
        buf_add_char(&reader->text, ']');
        if (count == BUCKETS_MAX)
            continue;
        bounds[count] = isnan(pair[0]) ? INFINITY : pair[0];
        counts[count++] = pair[1];
    }
    buf_add_char(&reader->text, ']');
    item->buckets = metric_list_text(reader->list, buf_text(&reader->text));
    if (count < BUCKETS_MAX)
        judge_buckets(item, bounds, counts, count);
}

static bool read_spread(struct metric_list_reader *reader, struct metric_item *item)
{
    for (size_t i = 0; i < METRIC_LIST_SPREAD; i++)
        if (strcmp(buf_text(&reader->key), metric_list_spread_names[i]) == 0) {
            item->spread[i] = read_number(reader);
            return true;
        }
    return false;
}

static void read_field(struct metric_list_reader *reader, struct metric_item *item)
{
    const char *key = buf_text(&reader->key);
    if (strcmp(key, API_NAME) == 0)
        item->name = read_some_text(reader);
    else if (strcmp(key, API_DOC) == 0)
        item->doc = read_some_text(reader);
    else if (strcmp(key, API_UNIT) == 0)
        item->unit = read_some_text(reader);
    else if (strcmp(key, API_JOB) == 0)
        item->job = read_text(reader);
    else if (strcmp(key, API_USER) == 0)
        item->user = read_text(reader);
    else if (strcmp(key, API_TYPE) == 0)
        item->type = read_type(reader);
    else if (strcmp(key, API_VALUE) == 0)
        item->value = read_number(reader);
    else if (strcmp(key, API_TS) == 0)
        item->ts_s = read_number(reader);
    else if (strcmp(key, API_BUCKETS) == 0)
        read_buckets(reader, item);
    else if (!read_spread(reader, item))
        json_read_skip(&reader->json);
}

static enum err read_metrics(struct metric_list_reader *reader)
{
    json_read_array(&reader->json);
    while (json_read_more(&reader->json)) {
        struct metric_item *item = metric_list_add(reader->list);
        if (!item)
            return NOMEM;
        json_read_object(&reader->json);
        while (json_read_key(&reader->json, &reader->key))
            read_field(reader, item);
        if (!*item->name)
            return CORRUPT;
    }
    return OK;
}

enum err metric_list_read(struct metric_list *list, const char *text, size_t size)
{
    struct metric_list_reader reader = { .list = list };
    bool has_metrics = false;
    enum err err = OK;
    buf_init(&reader.key, TEXT_MAX);
    buf_init(&reader.text, TEXT_MAX);
    buf_init(&reader.word, TEXT_MAX);
    json_read_init(&reader.json, text, size);
    json_read_object(&reader.json);
    while (!err && json_read_key(&reader.json, &reader.key))
        if (strcmp(buf_text(&reader.key), API_METRICS) == 0) {
            has_metrics = true;
            err = read_metrics(&reader);
        } else {
            json_read_skip(&reader.json);
        }
    if (!err && (!json_read_end(&reader.json) || !has_metrics))
        err = CORRUPT;
    buf_clear(&reader.key);
    buf_clear(&reader.text);
    buf_clear(&reader.word);
    return err;
}

const char *metric_list_type_name(enum metric_list_type type)
{
    static const char *const names[] = { "TAU_METRIC_NULL", "TAU_METRIC_COUNTER", "TAU_METRIC_GAUGE", "TAU_METRIC_HISTOGRAM" };
    return names[type];
}
