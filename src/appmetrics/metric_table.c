/* Two maps, by name and by name on the page, and an array for listings. */
#include "appmetrics/metric_table.h"

#include "model/prom_label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_NAME_LABEL "program_name"
#define RENAMES_MAX 8 /* a program can choose names that are taken again and again */

void metric_table_init(struct metric_table *table)
{
    *table = (struct metric_table){ 0 };
    families_init(&table->families);
    metric_name_init(&table->name);
}

void metric_table_free(struct program_metric *metric)
{
    free(metric->sample_names.parts[0]);
    free(metric->sample_names.parts[1]);
    for (size_t i = 0; metric->sample_names.buckets && i <= metric->bound_count; i++)
        free(metric->sample_names.buckets[i]);
    free(metric->sample_names.buckets);
    free(metric);
}

void metric_table_clear(struct metric_table *table)
{
    for (size_t i = 0; i < table->metrics.count; i++)
        if (table->metrics.items[i])
            metric_table_free(table->metrics.items[i]);
    vec_clear(&table->metrics);
    vec_clear(&table->free_indices);
    map_clear(&table->by_name);
    map_clear(&table->by_page);
    families_clear(&table->families);
    metric_name_clear(&table->name);
}

static struct bytes bytes_in(const struct buf *buf) { return (struct bytes){ buf->data, buf->size }; }

static bool has_name(const void *item, const void *key)
{
    const struct program_metric *metric = item;
    return bytes_equal((struct bytes){ metric->name.text, metric->name.size }, *(const struct bytes *)key);
}

static bool has_page(const void *item, const void *key)
{
    const struct program_metric *metric = item;
    return bytes_equal((struct bytes){ metric->page.text, metric->page.size }, *(const struct bytes *)key);
}

struct program_metric *metric_table_find_exact(const struct metric_table *table, struct bytes name)
{
    return map_find(&table->by_name, map_hash(0, name.data, name.size), has_name, &name);
}

enum err metric_table_parse(struct metric_table *table, struct bytes name, struct program_metric **metric)
{
    enum err err = metric_name_parse(&table->name, name);
    *metric = err ? NULL : metric_table_find_exact(table, bytes_in(&table->name.text));
    return err;
}

struct program_metric *metric_table_find(struct metric_table *table, struct bytes name)
{
    struct program_metric *metric = metric_table_find_exact(table, name);
    if (!metric)
        metric_table_parse(table, name, &metric);
    return metric;
}

static size_t bounds_of(const struct metric_description *description)
{
    return description->kind == PROGRAM_HISTOGRAM ? description->bound_count : 0;
}

static size_t string_bytes(const struct metric_table *table, const struct metric_description *description)
{
    return table->name.text.size + table->name.page.size + description->doc.size + description->unit.size;
}

size_t metric_table_slots(const struct metric_table *table, const struct metric_description *description)
{
    size_t per_bucket = table->name.page.size + 4 * sizeof(double);
    return 1 + (string_bytes(table, description) + bounds_of(description) * per_bucket) / METRIC_SLOT_BYTES;
}

bool metric_table_is_same(const struct program_metric *metric, const struct metric_description *description)
{
    if (metric->kind != description->kind || metric->kind != PROGRAM_HISTOGRAM)
        return metric->kind == description->kind;
    return metric->bound_count == description->bound_count
           && memcmp(metric->bounds, description->bounds, metric->bound_count * sizeof *metric->bounds) == 0;
}

/* In label values each quotation mark has a backslash before it: only a label itself can look like this. */
static bool has_label(const struct buf *page, const char *label)
{
    char text[128];
    size_t size = (size_t)snprintf(text, sizeof text, "%s=\"", label);
    for (const char *at = page->data; (at = memmem(at, page->size - (size_t)(at - page->data), text, size)); at++)
        if (at > page->data && strchr("{,", at[-1]))
            return true;
    return false;
}

static void add_whole_name(struct metric_name *name)
{
    char label[RENAMES_MAX * sizeof "program_" + sizeof WHOLE_NAME_LABEL] = WHOLE_NAME_LABEL;
    while (has_label(&name->page, label) && strlen(label) + sizeof "program_" < sizeof label) {
        memmove(label + strlen("program_"), label, strlen(label) + 1);
        memcpy(label, "program_", strlen("program_"));
    }
    bool is_first = name->page.data[name->page.size - 1] == '{';
    name->page.size--; /* the brace or comma is added again */
    prom_label_add(&name->page, is_first, label, buf_text(&name->text));
    buf_add_char(&name->page, ',');
}

/* Two names may become one series on /metrics: some names and labels are reserved there (metric_name.c), and a family
 * has one type. Then the whole name is added as a label. False: no memory, or too many names are taken. */
static bool make_page_unique(struct metric_table *table)
{
    struct buf *page = &table->name.page;
    bool is_taken = true;
    for (int i = 0; i < RENAMES_MAX && !buf_err(page); i++) {
        struct bytes key = bytes_in(page);
        is_taken = map_find(&table->by_page, map_hash(0, key.data, key.size), has_page, &key) != NULL;
        if (!is_taken)
            break;
        add_whole_name(&table->name);
    }
    return !is_taken && !buf_err(page);
}

static char *append(char **at, struct bytes string)
{
    char *begin = *at;
    if (string.size)
        memcpy(begin, string.data, string.size);
    begin[string.size] = '\0';
    *at += string.size + 1;
    return begin;
}

/* Bounds and strings follow the struct in the same piece of memory, the name first: it is compared with each message. */
static struct program_metric *create(const struct metric_table *table, const struct metric_description *description)
{
    const struct metric_name *name = &table->name;
    size_t bounds = bounds_of(description) * sizeof(double);
    struct program_metric *metric = calloc(1, sizeof *metric + bounds + string_bytes(table, description) + 4);
    if (!metric)
        return NULL;
    char *at = (char *)(metric + 1) + bounds;
    if (bounds)
        metric->bounds = memcpy(metric + 1, description->bounds, bounds);
    metric->bound_count = bounds_of(description);
    metric->name = (struct series_name){ append(&at, bytes_in(&name->text)), name->text.size, name->base_size };
    metric->page = (struct series_name){ append(&at, bytes_in(&name->page)), name->page.size, name->page_base_size };
    metric->doc = append(&at, description->doc);
    metric->unit = append(&at, description->unit);
    metric->kind = description->kind;
    metric->is_alias = description->is_alias;
    metric->hash = map_hash(0, name->text.data, name->text.size);
    return metric;
}

static enum err insert(struct metric_table *table, struct program_metric *metric)
{
    uint64_t page_hash = map_hash(0, metric->page.text, metric->page.size);
    enum err err = vec_reserve(&table->metrics, 1, METRIC_TABLE_MAX);
    err = err ? err : array_reserve(table->free_indices.items, table->free_indices.capacity, table->metrics.count + 1,
                                    METRIC_TABLE_MAX); /* so that removing cannot fail */
    err = err ? err : map_add(&table->by_name, metric->hash, metric, METRIC_TABLE_MAX);
    if (err)
        return err;
    err = map_add(&table->by_page, page_hash, metric, METRIC_TABLE_MAX);
    if (err) {
        map_remove(&table->by_name, metric->hash, metric);
        return err;
    }
    bool is_reused = table->free_indices.count > 0;
    metric->index = is_reused ? table->free_indices.items[--table->free_indices.count] : table->metrics.count++;
    table->metrics.items[metric->index] = metric;
    return OK;
}

enum err metric_table_add(struct metric_table *table, const struct metric_description *description,
                          struct program_metric **metric)
{
    struct metric_name *name = &table->name;
    struct families *families = &table->families;
    struct bytes wanted = { name->page.data, name->page_base_size };
    bool is_renamed = !families_find(families, wanted) && families_has_conflict(families, wanted, description->kind);
    struct metric_family *family = families_get(families, &name->page, &name->page_base_size, description->kind);
    if (!family)
        return NOMEM;
    bool is_unique = make_page_unique(table);
    struct program_metric *new = is_unique ? create(table, description) : NULL;
    enum err err = !is_unique ? FULL : new ? insert(table, new) : NOMEM;
    if (err) {
        free(new);
        families_remove_empty(families, family);
        return err;
    }
    new->is_renamed = is_renamed;
    families_add_metric(family, new);
    *metric = new;
    return OK;
}

void metric_table_remove(struct metric_table *table, struct program_metric *metric)
{
    map_remove(&table->by_name, metric->hash, metric);
    map_remove(&table->by_page, map_hash(0, metric->page.text, metric->page.size), metric);
    table->metrics.items[metric->index] = NULL;
    table->free_indices.items[table->free_indices.count++] = metric->index;
    families_remove_metric(&table->families, metric);
}
