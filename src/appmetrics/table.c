/* Metrics by name. A hash table with chains, doubled as it fills. A name stays when its programs have gone, since
 * it comes again; quota.c says which go when there are too many. */
#include "appmetrics/table.h"

#include "base/hash.h"
#include "appmetrics/cells.h"
#include "appmetrics/families.h"
#include "appmetrics/page_names.h"
#include "appmetrics/quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_ROOM 1024u

uint64_t program_table_hash(struct bytes text)
{
    return hash_add(HASH_START, text.data, text.size);
}

enum err program_table_open(struct program_table **table, const struct program_table_settings *settings)
{
    struct program_table *new = *table = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    pthread_mutex_init(&new->lock, NULL);
    program_name_init(&new->name);
    new->metrics_max = settings->metrics_max ? settings->metrics_max : PROGRAM_METRICS_MAX;
    new->by_user = settings->by_user;
    new->names_users = settings->names_users;
    new->is_job = settings->is_job;
    new->family_room = new->hash_room = HASH_ROOM;
    new->host = strdup(settings->host ? settings->host : "");
    new->family_hash = calloc(new->family_room, sizeof(void *));
    new->metric_hash = calloc(new->hash_room, sizeof(void *));
    buf_init(&new->node.suffix, PROGRAM_NAME_MAX);
    if (!new->host || !new->family_hash || !new->metric_hash) {
        program_table_close(table);
        return NOMEM;
    }
    program_scope_name(new, &new->node);
    return OK;
}

void program_table_free(struct program_metric *metric)
{
    free(metric->node.aliases);
    free(metric->node.buckets);
    free(metric->parts[0]);
    free(metric->parts[1]);
    for (size_t i = 0; metric->bucket_names && i <= metric->bound_count; i++)
        free(metric->bucket_names[i]);
    free(metric->bucket_names);
    free(metric);
}

void program_table_close(struct program_table **table)
{
    struct program_table *old = *table;
    if (!old)
        return;
    program_room_close(old);
    while (old->scopes)
        program_scope_drop(old, old->scopes);
    for (size_t i = 0; i < old->metric_places; i++)
        if (old->metrics[i])
            program_table_free(old->metrics[i]);
    for (struct program_family *family = old->families, *next; family; family = next) {
        next = family->next;
        free(family->doc);
        free(family);
    }
    free(old->metrics);
    free(old->free_places);
    free(old->metric_hash);
    free(old->family_hash);
    free(old->host);
    program_rank_sums_clear(&old->node.ranks);
    program_worlds_free(&old->node.worlds);
    buf_clear(&old->node.suffix);
    program_name_clear(&old->name);
    pthread_mutex_destroy(&old->lock);
    free(old);
    *table = NULL;
}

void program_table_lock(struct program_table *table) { pthread_mutex_lock(&table->lock); }

void program_table_unlock(struct program_table *table) { pthread_mutex_unlock(&table->lock); }

static struct program_metric *find_exact(const struct program_table *table, struct bytes name, uint64_t hash)
{
    struct program_metric *metric = table->metric_hash[hash & (table->hash_room - 1)];
    while (metric && !(metric->hash == hash && bytes_equal((struct bytes){ metric->name, metric->name_size }, name)))
        metric = metric->next_in_hash;
    return metric;
}

struct program_metric *program_table_exact(const struct program_table *table, struct bytes name)
{
    return find_exact(table, name, program_table_hash(name));
}

struct program_metric *program_table_find(struct program_table *table, struct bytes raw)
{
    struct program_metric *metric = find_exact(table, raw, program_table_hash(raw));
    if (metric || program_name_parse(&table->name, raw))
        return metric;
    return program_table_exact(table, (struct bytes){ table->name.text.data, table->name.text.size });
}

static bool grow_places(struct program_table *table)
{
    if (table->metric_places < table->metric_room)
        return true;
    size_t room = table->metric_room ? table->metric_room * 2 : HASH_ROOM;
    struct program_metric **list = realloc(table->metrics, room * sizeof *list);
    size_t *places = list ? realloc(table->free_places, room * sizeof *places) : NULL;
    table->metrics = list ? list : table->metrics;
    table->free_places = places ? places : table->free_places;
    if (places)
        table->metric_room = room;
    return places != NULL;
}

static bool grow_metrics(struct program_table *table)
{
    if (!table->free_count && !grow_places(table))
        return false;
    if (table->figures.metrics < table->hash_room)
        return true;
    size_t room = table->hash_room ? table->hash_room * 2 : HASH_ROOM;
    struct program_metric **hash = calloc(room, sizeof(void *));
    if (!hash)
        return false;
    for (size_t i = 0; i < table->metric_places; i++) {
        if (!table->metrics[i])
            continue;
        struct program_metric **slot = &hash[table->metrics[i]->hash & (room - 1)];
        table->metrics[i]->next_in_hash = *slot;
        *slot = table->metrics[i];
    }
    free(table->metric_hash);
    table->metric_hash = hash;
    table->hash_room = room;
    return true;
}

static char *put(char **at, struct bytes text)
{
    char *begin = *at;
    if (text.size)
        memcpy(begin, text.data, text.size);
    begin[text.size] = '\0';
    *at += text.size + 1;
    return begin;
}

/* A metric is as large as its texts, and as what it shows: each bucket of a histogram has a line with the whole name. */
static size_t places_of(const struct program_description *description, const struct program_name *name)
{
    size_t texts = name->text.size + name->page.size + description->doc.size + description->unit.size;
    size_t buckets = description->kind == PROGRAM_HISTOGRAM ? description->bound_count : 0;
    return 1 + (texts + buckets * (name->page.size + 4 * sizeof(double))) / PROGRAM_PLACE_BYTES;
}

/* All its texts in one piece of memory, the name first: it is what a message is compared with. */
static struct program_metric *make_metric(const struct program_description *description, const struct program_name *name)
{
    size_t bounds = description->kind == PROGRAM_HISTOGRAM ? description->bound_count : 0;
    size_t texts = name->text.size + name->page.size + description->doc.size + description->unit.size + 4;
    size_t aligned = (sizeof(struct program_metric) + texts + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    struct program_metric *metric = calloc(1, aligned + bounds * sizeof(double));
    if (!metric)
        return NULL;
    char *at = metric->name;
    put(&at, (struct bytes){ name->text.data, name->text.size });
    metric->page = put(&at, (struct bytes){ name->page.data, name->page.size });
    metric->doc = put(&at, description->doc);
    metric->unit = put(&at, description->unit);
    metric->name_size = name->text.size;
    metric->base_size = name->base_size;
    metric->page_size = name->page.size;
    metric->page_base = name->page_base;
    metric->kind = description->kind;
    metric->is_alias = description->is_alias;
    metric->bound_count = bounds;
    if (bounds) {
        double *list = (double *)(void *)((char *)metric + aligned);
        memcpy(list, description->bounds, bounds * sizeof *list);
        metric->bounds = list;
    }
    return metric;
}

static void link_metric(struct program_table *table, struct program_metric *metric, struct program_family *family)
{
    metric->index = table->free_count ? table->free_places[--table->free_count] : table->metric_places++;
    table->metrics[metric->index] = metric;
    table->figures.metrics++;
    table->place_count += metric->places;
    metric->hash = program_table_hash((struct bytes){ metric->name, metric->name_size });
    struct program_metric **slot = &table->metric_hash[metric->hash & (table->hash_room - 1)];
    metric->next_in_hash = *slot;
    *slot = metric;
    program_pages_add(table, metric);
    program_families_add(family, metric);
}

void program_table_unlink(struct program_table *table, struct program_metric *metric)
{
    struct program_metric **at = &table->metric_hash[metric->hash & (table->hash_room - 1)];
    while (*at != metric)
        at = &(*at)->next_in_hash;
    *at = metric->next_in_hash;
    table->metrics[metric->index] = NULL;
    table->free_places[table->free_count++] = metric->index;
    table->figures.metrics--;
    table->place_count -= metric->places;
    program_pages_remove(table, metric);
    program_families_remove(table, metric);
}

static enum err add_metric(struct program_table *table, const struct program_description *description,
                           struct program_metric **metric)
{
    struct program_name *name = &table->name;
    struct program_scope *owner = program_room_owner(table, description->scope);
    size_t places = places_of(description, name);
    if (!owner || !program_room_make(table, owner, places))
        return owner ? FULL : NOMEM;
    struct bytes wanted = { name->page.data, name->page_base };
    bool is_shared = !program_families_find(table, wanted) && program_families_is_shared(table, wanted, description->kind);
    struct program_family *family = program_families_of(table, &name->page, &name->page_base, description->kind);
    if (family && !program_pages_make_own(table, name))
        return FULL;
    struct program_metric *new = family && grow_metrics(table) ? make_metric(description, name) : NULL;
    if (!new)
        return NOMEM;
    new->is_renamed = is_shared;
    new->places = places;
    link_metric(table, new, family);
    program_room_add(new, owner);
    *metric = new;
    enum err err = program_cell_init(table, &new->node, new, &table->node); /* which makes others */
    program_room_leave(table, new);
    return err;
}

static bool is_same(const struct program_metric *metric, const struct program_description *description)
{
    if (metric->kind != description->kind || metric->kind != PROGRAM_HISTOGRAM)
        return metric->kind == description->kind;
    return metric->bound_count == description->bound_count
           && memcmp(metric->bounds, description->bounds, metric->bound_count * sizeof *metric->bounds) == 0;
}

/* The first since somebody looked: whoever it is told to is told seldom. */
static void note_refused(struct program_table *table, const struct program_metric *metric,
                         const struct program_description *description)
{
    struct program_refusal *refusal = &table->refusal;
    if (*refusal->name)
        return;
    snprintf(refusal->name, sizeof refusal->name, "%s", metric->name);
    refusal->uid = description->scope && description->scope->kind != PROGRAM_NODE ? description->scope->uid : geteuid();
    refusal->kind = description->kind;
    refusal->known = metric->kind;
}

/* One of its name is there. An idle one of another type, or with other bounds, makes room: nobody counts in it any more. */
static enum err meet_metric(struct program_table *table, const struct program_description *description,
                            struct program_metric **metric)
{
    enum err err = program_room_claim(table, *metric, description->scope);
    if (err || is_same(*metric, description))
        return err;
    if (program_room_drop(table, *metric))
        return add_metric(table, description, metric);
    note_refused(table, *metric, description);
    return USAGE;
}

enum err program_table_metric(struct program_table *table, const struct program_description *description,
                              struct program_metric **metric)
{
    enum err err = description->bound_count > PROGRAM_BOUNDS_MAX ? USAGE : program_name_parse(&table->name, description->name);
    *metric = NULL;
    if (!err) {
        struct bytes name = { table->name.text.data, table->name.text.size };
        *metric = find_exact(table, name, program_table_hash(name));
        err = *metric ? meet_metric(table, description, metric) : add_metric(table, description, metric);
    }
    table->figures.refused += err == USAGE;
    table->figures.left_out += err == FULL;
    if (err)
        *metric = NULL;
    if (err || description->is_alias)
        return err;
    (*metric)->is_alias = false;
    (*metric)->family->has_told = true;
    return OK;
}

void program_refusal_write(struct buf *out, const struct program_refusal *refusal)
{
    static const char *const kinds[] = { "a counter", "a gauge", "a histogram" };
    bool are_bounds = refusal->kind == refusal->known;
    buf_printf(out, "%s is %s of one program and %s of another", refusal->name, kinds[refusal->kind],
               are_bounds ? "one with other bounds" : kinds[refusal->known]);
}

/* A program that has left is no longer among the holds. */
void program_table_settle(struct program_metric *metric)
{
    if (!metric->is_unsettled)
        return;
    metric->is_unsettled = false;
    metric->node.gauge.programs = 0;
    for (struct program_cell *cell = metric->cells; cell; cell = cell->next)
        cell->gauge.programs = 0;
    for (const struct program_hold *hold = metric->holds; hold; hold = hold->next)
        for (struct program_cell *cell = hold->is_set ? hold->cell : NULL; cell; cell = cell->up)
            program_gauge_add(&cell->gauge, hold->value);
}
