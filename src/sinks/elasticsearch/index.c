/* Without a mapping Elasticsearch guesses types from the first value: strings would be tokenised, and times would be
 * numbers. Colmet only declares its time field; its indexes are created the same way here. */
#include "sinks/elasticsearch/index.h"

#include "base/vec.h"
#include "net/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROPERTIES_MAX (4u << 20)
#define FIELDS_DEFAULT_MAX 900 /* the server's default limit is 1000 */

void elasticsearch_indexes_clear(struct elasticsearch_indexes *indexes)
{
    for (size_t i = 0; i < indexes->count; i++)
        free(indexes->list[i].properties);
    free(indexes->list);
    *indexes = (struct elasticsearch_indexes){ .prefix = indexes->prefix };
}

void elasticsearch_field(char *text, size_t size, const char *name)
{
    snprintf(text, size, "%s", name);
    for (; *text; text++)
        if (*text == '.')
            *text = '_';
}

/* Index names may contain lower-case letters, digits and few other characters. */
static void set_name(char name[ELASTICSEARCH_NAME_MAX], const char *prefix, const char *kind)
{
    snprintf(name, ELASTICSEARCH_NAME_MAX, "%s%s", prefix, kind);
    for (; *name; name++) {
        if (*name >= 'A' && *name <= 'Z')
            *name = (char)(*name + 32);
        else if (!(*name >= 'a' && *name <= 'z') && !(*name >= '0' && *name <= '9') && !strchr("_-.", *name))
            *name = '_';
    }
}

static void add_fields(struct json *json, const struct set *set)
{
    char field[128];
    for (size_t i = 0; i < set->size; i++) {
        elasticsearch_field(field, sizeof field, set->metrics[i].name);
        json_key(json, field);
        json_begin_object(json);
        json_field_text(json, "type", set->metrics[i].type == F64 ? "double" : "long");
        json_end_object(json);
    }
}

/* "meminfo": {"properties": {"mem_total": {"type": "long"}, …}}, allocated; NULL: out of memory. */
static char *build_properties(const struct set *set)
{
    char field[128];
    struct buf out;
    struct json json;
    buf_init(&out, PROPERTIES_MAX);
    json_init_line(&json, &out);
    elasticsearch_field(field, sizeof field, set->name);
    json_key(&json, field);
    json_begin_object(&json);
    json_key(&json, "properties");
    json_begin_object(&json);
    add_fields(&json, set);
    json_end_object(&json);
    json_end_object(&json);
    if (!buf_err(&out))
        return out.data;
    buf_clear(&out);
    return NULL;
}

static enum err add_index(struct elasticsearch_indexes *indexes, const struct elasticsearch_index *index,
                          const struct set *set)
{
    if (array_reserve(indexes->list, indexes->capacity, indexes->count + 1, VEC_MAX))
        return NOMEM;
    struct elasticsearch_index *added = &indexes->list[indexes->count];
    *added = *index;
    if (set && !(added->properties = build_properties(set)))
        return NOMEM;
    indexes->count++;
    return OK;
}

enum err elasticsearch_index_of(struct elasticsearch_indexes *indexes, const char *kind, const struct set *set,
                                bool is_colmet, uint32_t *number)
{
    struct elasticsearch_index index = { .is_colmet = is_colmet, .fields = set ? set->size : 0 };
    set_name(index.name, indexes->prefix, kind);
    for (*number = 0; *number < indexes->count; ++*number)
        if (strcmp(indexes->list[*number].name, index.name) == 0)
            return OK;
    return add_index(indexes, &index, set);
}

static void add_typed(struct json *json, const char *field, const char *type, const char *format)
{
    json_key(json, field);
    json_begin_object(json);
    json_field_text(json, "type", type);
    if (format)
        json_field_text(json, strcmp(type, "date") == 0 ? "format" : "index", format);
    json_end_object(json);
}

static void add_common(struct json *json, bool is_old)
{
    static const char *const strings[] = { "host", "job", "user", "set", "instance", "event", "reason" };
    add_typed(json, "timestamp", "date", "epoch_millis");
    add_typed(json, "time_ns", "long", NULL);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        add_typed(json, strings[i], is_old ? "string" : "keyword", is_old ? "not_analyzed" : NULL);
}

void elasticsearch_index_mapping(struct buf *out, const struct elasticsearch_index *index, const char *type, bool is_old)
{
    struct json json;
    json_init_line(&json, out);
    json_begin_object(&json);
    if (index->fields > FIELDS_DEFAULT_MAX && !is_old) {
        json_key(&json, "settings");
        json_begin_object(&json);
        json_field_u64(&json, "index.mapping.total_fields.limit", index->fields * 2 + 100);
        json_end_object(&json);
    }
    json_key(&json, "mappings");
    json_begin_object(&json);
    if (type) {
        json_key(&json, type);
        json_begin_object(&json);
    }
    json_key(&json, "properties");
    json_begin_object(&json);
    if (index->is_colmet)
        add_typed(&json, "timestamp", "date", "epoch_second");
    else
        add_common(&json, is_old);
    if (index->properties) {
        buf_add_text(out, ", ");
        buf_add_text(out, index->properties);
    }
    json_end_object(&json);
    if (type)
        json_end_object(&json);
    json_end_object(&json);
    json_end_object(&json);
}
