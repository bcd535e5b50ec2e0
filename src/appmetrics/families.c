/* A map by name, and a list in the order of creation. */
#include "appmetrics/families.h"

#include "appmetrics/metric_table.h"

#include <stdlib.h>
#include <string.h>

void families_init(struct families *families)
{
    *families = (struct families){ 0 };
    TAILQ_INIT(&families->list);
}

static void free_family(struct families *families, struct metric_family *family)
{
    TAILQ_REMOVE(&families->list, family, link);
    free(family->doc);
    free(family);
}

void families_clear(struct families *families)
{
    for (struct metric_family *family = TAILQ_FIRST(&families->list), *next; family; family = next) {
        next = TAILQ_NEXT(family, link);
        free(family->doc);
        free(family);
    }
    TAILQ_INIT(&families->list);
    map_clear(&families->by_name);
}

static bool has_name(const void *item, const void *key)
{
    const struct metric_family *family = item;
    return bytes_equal((struct bytes){ family->name, family->name_size }, *(const struct bytes *)key);
}

struct metric_family *families_find(const struct families *families, struct bytes name)
{
    return map_find(&families->by_name, map_hash(0, name.data, name.size), has_name, &name);
}

static struct metric_family *create(struct families *families, struct bytes name, enum program_kind kind)
{
    struct metric_family *family = calloc(1, sizeof *family + name.size + 1);
    if (!family || map_add(&families->by_name, map_hash(0, name.data, name.size), family, METRIC_TABLE_MAX)) {
        free(family);
        return NULL;
    }
    memcpy(family->name, name.data, name.size);
    family->name_size = name.size;
    family->kind = kind;
    TAILQ_INIT(&family->metrics);
    TAILQ_INSERT_TAIL(&families->list, family, link);
    return family;
}

/* What a histogram exposes. */
static const char *const suffixes[] = { "_bucket", "_sum", "_count" };
#define SUFFIXES (sizeof suffixes / sizeof *suffixes)

static bool is_of_histogram(const struct families *families, struct bytes name)
{
    for (size_t i = 0; i < SUFFIXES; i++) {
        size_t size = strlen(suffixes[i]);
        if (name.size <= size || memcmp(name.data + name.size - size, suffixes[i], size) != 0)
            continue;
        const struct metric_family *family = families_find(families, (struct bytes){ name.data, name.size - size });
        if (family && family->kind == PROGRAM_HISTOGRAM)
            return true;
    }
    return false;
}

bool families_has_series(const struct families *families, struct bytes name)
{
    return families_find(families, name) || is_of_histogram(families, name);
}

/* Does another family have a series that a histogram of this name would expose? */
static bool has_suffixed(const struct families *families, struct bytes name)
{
    char series[METRIC_NAME_MAX];
    for (size_t i = 0; i < SUFFIXES; i++) {
        size_t size = strlen(suffixes[i]);
        if (name.size + size > sizeof series)
            continue;
        memcpy(series, name.data, name.size);
        memcpy(series + name.size, suffixes[i], size);
        if (families_find(families, (struct bytes){ series, name.size + size }))
            return true;
    }
    return false;
}

bool families_has_conflict(const struct families *families, struct bytes name, enum program_kind kind)
{
    return is_of_histogram(families, name) || (kind == PROGRAM_HISTOGRAM && has_suffixed(families, name));
}

/* A family that exists was compared with all others when it was created. */
static bool is_taken(const struct families *families, struct bytes name, enum program_kind kind)
{
    const struct metric_family *family = families_find(families, name);
    return family ? family->kind != kind : families_has_conflict(families, name, kind);
}

struct metric_family *families_get(struct families *families, struct buf *page, size_t *base_size, enum program_kind kind)
{
    static const char *const kinds[] = { "_counter", "_gauge", "_histogram" };
    while (is_taken(families, (struct bytes){ page->data, *base_size }, kind)) {
        size_t more = strlen(kinds[kind]), rest = page->size - *base_size;
        if (!buf_reserve(page, more))
            return NULL;
        memmove(page->data + *base_size + more, page->data + *base_size, rest);
        memcpy(page->data + *base_size, kinds[kind], more);
        page->size += more;
        *base_size += more;
    }
    struct bytes name = { page->data, *base_size };
    struct metric_family *family = families_find(families, name);
    return family ? family : create(families, name, kind);
}

/* "Total seconds spent for MPI_Send" and "... MPI_Recv" leave "Total seconds spent for", which is true of both. */
static void merge_doc(struct metric_family *family, const char *doc)
{
    size_t size = 0;
    if (!family->doc) {
        family->doc = strdup(doc);
        family->doc_size = family->doc ? strlen(family->doc) : 0;
        return;
    }
    while (size < family->doc_size && doc[size] == family->doc[size])
        size++;
    if (size == family->doc_size && (!doc[size] || doc[size] == ' '))
        return;
    while (size && family->doc[size] != ' ')
        size--;
    family->doc_size = size;
}

void families_add_metric(struct metric_family *family, struct program_metric *metric)
{
    metric->family = family;
    TAILQ_INSERT_TAIL(&family->metrics, metric, in_family);
    family->is_long |= metric->page.size > METRIC_SLOT_BYTES;
    merge_doc(family, metric->doc);
}

void families_remove_metric(struct families *families, struct program_metric *metric)
{
    struct metric_family *family = metric->family;
    TAILQ_REMOVE(&family->metrics, metric, in_family);
    metric->family = NULL;
    families_remove_empty(families, family);
}

void families_remove_empty(struct families *families, struct metric_family *family)
{
    if (!TAILQ_EMPTY(&family->metrics))
        return;
    map_remove(&families->by_name, map_hash(0, family->name, family->name_size), family);
    free_family(families, family);
}
