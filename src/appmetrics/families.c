/* A hash table with chains, doubled as it fills. */
#include "appmetrics/families.h"

#include <stdlib.h>
#include <string.h>

#define HASH_ROOM 1024u

struct program_family *program_families_find(const struct program_table *table, struct bytes page_name)
{
    uint64_t hash = program_table_hash(page_name);
    struct program_family *family = table->family_hash[hash & (table->family_room - 1)];
    while (family && !(family->hash == hash && family->size == page_name.size
                       && memcmp(family->name, page_name.data, page_name.size) == 0))
        family = family->next_in_hash;
    return family;
}

static bool grow(struct program_table *table)
{
    size_t room = table->family_room ? table->family_room * 2 : HASH_ROOM;
    struct program_family **hash = calloc(room, sizeof(void *));
    if (!hash)
        return false;
    for (struct program_family *family = table->families; family; family = family->next) {
        family->next_in_hash = hash[family->hash & (room - 1)];
        hash[family->hash & (room - 1)] = family;
    }
    free(table->family_hash);
    table->family_hash = hash;
    table->family_room = room;
    return true;
}

static struct program_family *make(struct program_table *table, struct bytes name, enum program_kind kind)
{
    if (table->figures.families == table->family_room && !grow(table))
        return NULL;
    struct program_family *family = calloc(1, sizeof *family + name.size + 1);
    if (!family)
        return NULL;
    memcpy(family->name, name.data, name.size);
    family->size = name.size;
    family->kind = kind;
    family->hash = program_table_hash(name);
    struct program_family **slot = &table->family_hash[family->hash & (table->family_room - 1)];
    family->next_in_hash = *slot;
    *slot = family;
    family->previous = table->last_family;
    if (table->last_family)
        table->last_family->next = family;
    else
        table->families = family;
    table->last_family = family;
    table->figures.families++;
    return family;
}

/* What a histogram shows beside its own name. */
static const char *const parts[] = { "_bucket", "_sum", "_count" };
#define PARTS (sizeof parts / sizeof *parts)

static bool is_part(const struct program_table *table, struct bytes name)
{
    for (size_t i = 0; i < PARTS; i++) {
        size_t size = strlen(parts[i]);
        if (name.size <= size || memcmp(name.data + name.size - size, parts[i], size) != 0)
            continue;
        const struct program_family *family = program_families_find(table, (struct bytes){ name.data, name.size - size });
        if (family && family->kind == PROGRAM_HISTOGRAM)
            return true;
    }
    return false;
}

bool program_families_has(const struct program_table *table, struct bytes page_name)
{
    return program_families_find(table, page_name) || is_part(table, page_name);
}

/* Would a histogram of this name show series that another family has? */
static bool has_parts(const struct program_table *table, struct bytes name)
{
    char part[PROGRAM_NAME_MAX];
    for (size_t i = 0; i < PARTS; i++) {
        size_t size = strlen(parts[i]);
        if (name.size + size > sizeof part)
            continue;
        memcpy(part, name.data, name.size);
        memcpy(part + name.size, parts[i], size);
        if (program_families_find(table, (struct bytes){ part, name.size + size }))
            return true;
    }
    return false;
}

bool program_families_is_shared(const struct program_table *table, struct bytes page_name, enum program_kind kind)
{
    return is_part(table, page_name) || (kind == PROGRAM_HISTOGRAM && has_parts(table, page_name));
}

/* A family that is there was compared with all others when it was made. */
static bool is_taken(const struct program_table *table, struct bytes name, enum program_kind kind)
{
    const struct program_family *family = program_families_find(table, name);
    if (family)
        return family->kind != kind;
    return program_families_is_shared(table, name, kind);
}

struct program_family *program_families_of(struct program_table *table, struct buf *page, size_t *base, enum program_kind kind)
{
    static const char *const kinds[] = { "_counter", "_gauge", "_histogram" };
    while (is_taken(table, (struct bytes){ page->data, *base }, kind)) {
        size_t more = strlen(kinds[kind]), rest = page->size - *base;
        if (!buf_reserve(page, more))
            return NULL;
        memmove(page->data + *base + more, page->data + *base, rest);
        memcpy(page->data + *base, kinds[kind], more);
        page->size += more;
        *base += more;
    }
    struct bytes name = { page->data, *base };
    struct program_family *family = program_families_find(table, name);
    return family ? family : make(table, name, kind);
}

/* "Total seconds spent for MPI_Send" and "… MPI_Recv" leave "Total seconds spent for": true of both. */
static void agree_on_doc(struct program_family *family, const struct program_metric *metric)
{
    size_t size = 0;
    if (!family->doc) {
        family->doc = strdup(metric->doc);
        family->doc_size = family->doc ? strlen(family->doc) : 0;
        return;
    }
    while (size < family->doc_size && metric->doc[size] == family->doc[size])
        size++;
    if (size == family->doc_size && (!metric->doc[size] || metric->doc[size] == ' '))
        return;
    while (size && family->doc[size] != ' ')
        size--;
    family->doc_size = size;
}

void program_families_add(struct program_family *family, struct program_metric *metric)
{
    metric->family = family;
    metric->previous_in_family = family->last;
    if (family->last)
        family->last->next_in_family = metric;
    else
        family->first = metric;
    family->last = metric;
    family->has_told |= !metric->is_alias;
    family->is_long |= metric->page_size > PROGRAM_PLACE_BYTES;
    agree_on_doc(family, metric);
}

static void drop(struct program_table *table, struct program_family *family)
{
    struct program_family **at = &table->family_hash[family->hash & (table->family_room - 1)];
    while (*at != family)
        at = &(*at)->next_in_hash;
    *at = family->next_in_hash;
    if (family->previous)
        family->previous->next = family->next;
    else
        table->families = family->next;
    if (family->next)
        family->next->previous = family->previous;
    else
        table->last_family = family->previous;
    table->figures.families--;
    free(family->doc);
    free(family);
}

void program_families_remove(struct program_table *table, struct program_metric *metric)
{
    struct program_family *family = metric->family;
    if (metric->previous_in_family)
        metric->previous_in_family->next_in_family = metric->next_in_family;
    else
        family->first = metric->next_in_family;
    if (metric->next_in_family)
        metric->next_in_family->previous_in_family = metric->previous_in_family;
    else
        family->last = metric->previous_in_family;
    metric->family = NULL;
    if (!family->first)
        drop(table, family);
}
