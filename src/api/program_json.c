/* Parses the query into a filter, and compares every cell with it. */
#include "api/program_json.h"

#include "net/json.h"
#include "appmetrics/registry.h"
#include "api/program_page.h"
#include "api/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRINGS_MAX 65536 /* of a query, decoded */
#define NAMES_MAX 1024

struct program_query {
    bool is_list, has_tau, has_aliases, is_all;
    const char *job, *user;     /* NULL: any */
    double since_s;             /* only what has changed after it */
    struct program_metric *names[NAMES_MAX];
    size_t name_count;
    bool has_names;
    struct buf strings;           /* decoded values, to which job and user point */
};

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "%7B" is '{'. Returns the offset of the decoded value. */
static size_t decode(struct buf *strings, struct bytes text)
{
    size_t begin = strings->size;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i] == '+' ? ' ' : text.data[i];
        if (c == '%' && i + 2 < text.size && hex(text.data[i + 1]) >= 0 && hex(text.data[i + 2]) >= 0) {
            c = (char)(hex(text.data[i + 1]) * 16 + hex(text.data[i + 2]));
            i += 2;
        }
        buf_add_char(strings, c);
    }
    buf_add_char(strings, '\0');
    return begin;
}

static void add_name(struct program_query *filter, struct registry *registry, const char *name)
{
    struct program_metric *metric = metric_table_find(&registry->metrics, bytes_of(name));
    filter->has_names = true;
    if (metric && filter->name_count < NAMES_MAX)
        filter->names[filter->name_count++] = metric;
}

static enum err add_parameter(struct program_query *filter, struct registry *registry, struct bytes parameter)
{
    const char *equals = memchr(parameter.data, '=', parameter.size);
    struct bytes key = { parameter.data, equals ? (size_t)(equals - parameter.data) : parameter.size };
    struct bytes value = { equals ? equals + 1 : "", equals ? parameter.size - key.size - 1 : 0 };
    if (filter->strings.size + parameter.size + 1 >= STRINGS_MAX)
        return USAGE;
    const char *text = filter->strings.data + decode(&filter->strings, value);
    if (bytes_equal(key, bytes_of(API_QUERY_LIST)))
        filter->is_list = true;
    else if (bytes_equal(key, bytes_of(API_QUERY_TAU)))
        filter->has_tau = true;
    else if (bytes_equal(key, bytes_of(API_QUERY_ALIASES)))
        filter->has_aliases = true;
    else if (bytes_equal(key, bytes_of(API_QUERY_ALL)))
        filter->is_all = true;
    else if (bytes_equal(key, bytes_of(API_QUERY_JOB)))
        filter->job = text;
    else if (bytes_equal(key, bytes_of(API_QUERY_USER)))
        filter->user = text;
    else if (bytes_equal(key, bytes_of(API_QUERY_NAME)))
        add_name(filter, registry, text);
    else if (bytes_equal(key, bytes_of(API_QUERY_SINCE)))
        filter->since_s = strtod(text, NULL);
    else
        return USAGE;
    return OK;
}

static enum err read_query(struct program_query *filter, struct registry *registry, struct bytes query)
{
    if (!buf_reserve(&filter->strings, STRINGS_MAX)) /* so that it never moves */
        return NOMEM;
    while (query.size) {
        const char *end = memchr(query.data, '&', query.size);
        size_t size = end ? (size_t)(end - query.data) : query.size;
        enum err err = size ? add_parameter(filter, registry, (struct bytes){ query.data, size }) : OK;
        if (err)
            return err;
        size += end ? 1 : 0;
        query = (struct bytes){ query.data + size, query.size - size };
    }
    return OK;
}

/* Several users may have jobs of the same id. */
static bool matches_scope(const struct program_query *filter, const struct scope *scope)
{
    char number[SCOPE_NUMBER_MAX];
    if (filter->is_all)
        return true;
    if (scope->kind != (filter->job ? SCOPE_JOB : filter->user ? SCOPE_USER : SCOPE_NODE))
        return false;
    return (!filter->job || strcmp(scope->id, filter->job) == 0)
           && (!filter->user || strcmp(scope_user_name(scope, number), filter->user) == 0);
}

/* JSON has no number for infinity, which a gauge or a sum may be: it is a string then. NaN is null. */
static void add_number(struct json *json, const char *key, double value)
{
    if (isinf(value))
        json_field_text(json, key, value > 0 ? "inf" : "-inf");
    else
        json_field_f64(json, key, value);
}

static void add_gauge(struct json *json, const struct gauge_sum *gauge, bool is_mean)
{
    double mean = gauge->sum / (double)gauge->programs;
    add_number(json, API_VALUE, is_mean ? mean : gauge->sum);
    add_number(json, API_SUM, gauge->sum);
    add_number(json, API_MIN, gauge->min);
    add_number(json, API_MAX, gauge->max);
    add_number(json, API_MEAN, mean);
    json_field_u64(json, API_PROGRAMS, gauge->programs);
}

static void add_histogram(struct json *json, const struct cell *cell)
{
    double count = 0;
    add_number(json, API_VALUE, cell->total);
    add_number(json, API_SUM, cell->total);
    json_key(json, API_BUCKETS);
    json_begin_array(json);
    for (size_t i = 0; i <= cell->metric->bound_count; i++) {
        json_begin_array(json);
        if (i < cell->metric->bound_count)
            json_f64(json, cell->metric->bounds[i]);
        else
            json_null(json);
        count += cell->buckets[i];
        json_f64(json, count);
        json_end_array(json);
    }
    json_end_array(json);
    json_field_f64(json, API_COUNT, count);
}

static void add_value(struct json *json, const struct cell *cell, const struct program_query *filter)
{
    if (cell->metric->kind == PROGRAM_COUNTER)
        add_number(json, API_VALUE, cell->total);
    else if (cell->metric->kind == PROGRAM_GAUGE)
        add_gauge(json, &cell->gauge, filter->has_tau);
    else
        add_histogram(json, cell);
    json_field_f64(json, API_TS, (double)cell->changed_ns / 1e9);
}

static void add_cell(struct json *json, const struct cell *cell, const struct program_query *filter)
{
    static const char *const kinds[] = { API_COUNTER, API_GAUGE, API_HISTOGRAM };
    const struct program_metric *metric = cell->metric;
    const struct scope *scope = cell->scope;
    char number[SCOPE_NUMBER_MAX];
    bool is_unset = metric->kind == PROGRAM_GAUGE && cell->gauge.programs == 0;
    if (!matches_scope(filter, scope) || (!filter->is_list && (is_unset || (double)cell->changed_ns / 1e9 <= filter->since_s)))
        return;
    json_begin_object(json);
    json_key(json, API_NAME);
    json_bytes(json, (struct bytes){ metric->name.text, metric->name.size });
    json_field_text(json, API_TYPE, kinds[metric->kind]);
    json_field_text(json, API_UNIT, metric->unit);
    json_field_text(json, API_DOC, metric->doc);
    json_field_text(json, API_JOB, scope->id);
    json_field_text(json, API_USER, scope->kind == SCOPE_NODE ? NULL : scope_user_name(scope, number));
    if (!filter->is_list)
        add_value(json, cell, filter);
    json_end_object(json);
}

static void add_metric(struct json *json, struct program_metric *metric, const struct program_query *filter, uint32_t viewer)
{
    cells_refresh_gauges(metric);
    add_cell(json, metric->values.node, filter);
    const struct cell *cell;
    LIST_FOREACH(cell, &metric->values.cells, in_metric)
        if (program_page_shows(viewer, cell->scope))
            add_cell(json, cell, filter);
}

static void write_metrics(struct buf *out, struct registry *registry, const struct program_query *filter, uint32_t viewer)
{
    struct json json;
    json_init(&json, out);
    json_begin_object(&json);
    json_key(&json, API_METRICS);
    json_begin_array(&json);
    for (size_t i = 0; i < filter->name_count; i++)
        add_metric(&json, filter->names[i], filter, viewer);
    for (size_t i = 0; !filter->has_names && i < registry->metrics.metrics.count; i++) {
        struct program_metric *metric = registry->metrics.metrics.items[i];
        if (metric && (filter->has_tau || filter->has_aliases || !metric->is_alias))
            add_metric(&json, metric, filter, viewer);
    }
    json_end_array(&json);
    json_end_object(&json);
    json_end(&json);
}

enum err program_json_write(struct buf *out, struct registry *registry, struct bytes query, uint32_t viewer)
{
    struct program_query *filter = calloc(1, sizeof *filter);
    if (!filter)
        return NOMEM;
    buf_init(&filter->strings, STRINGS_MAX + 1);
    registry_lock(registry);
    enum err err = read_query(filter, registry, query);
    if (!err)
        write_metrics(out, registry, filter, viewer);
    registry_unlock(registry);
    if (err)
        buf_add_text(out, "{\"error\": \"unknown query parameter; expected list, name=, job=, user=, all, since=, tau or "
                          "aliases\"}\n");
    buf_clear(&filter->strings);
    free(filter);
    return err;
}
