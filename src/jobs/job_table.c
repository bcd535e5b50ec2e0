/* A list, an array of slots, and a hash index by each of three names. */
#include "jobs/job_table.h"

#include "base/map.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Chains instead of base/map: several entries can have the same name, and the newest must be found first. */
static size_t bucket_of(const struct job_table *table, const char *name)
{
    return (size_t)map_hash_string(0, name) & (table->bucket_count - 1);
}

static char *name_of(struct job_entry *entry, enum job_table_name kind)
{
    return kind == JOB_TABLE_KEY ? entry->key : kind == JOB_TABLE_ID ? entry->id : entry->other_id;
}

static void link_in(struct job_table *table, struct job_entry *entry, enum job_table_name kind)
{
    const char *name = name_of(entry, kind);
    if (!*name)
        return;
    struct job_entry **bucket = &table->buckets[kind][bucket_of(table, name)];
    entry->next[kind] = *bucket;
    *bucket = entry;
}

static void unlink_from(struct job_table *table, struct job_entry *entry, enum job_table_name kind)
{
    const char *name = name_of(entry, kind);
    if (!*name)
        return;
    struct job_entry **at = &table->buckets[kind][bucket_of(table, name)];
    while (*at != entry)
        at = &(*at)->next[kind];
    *at = entry->next[kind];
}

/* Keeps at least one bucket per entry. */
static enum err grow_buckets(struct job_table *table)
{
    size_t count = table->bucket_count ? table->bucket_count * 2 : 64;
    if (table->count < table->bucket_count)
        return OK;
    struct job_entry **buckets = calloc(count * JOB_TABLE_NAMES, sizeof(struct job_entry *));
    if (!buckets)
        return NOMEM;
    free(table->buckets[0]);
    table->bucket_count = count;
    for (size_t kind = 0; kind < JOB_TABLE_NAMES; kind++)
        table->buckets[kind] = buckets + kind * count;
    for (size_t i = 0; i < table->count; i++)
        for (size_t kind = 0; kind < JOB_TABLE_NAMES; kind++)
            link_in(table, table->all[i], (enum job_table_name)kind);
    return OK;
}

struct job_entry *job_table_add(struct job_table *table, const char *key)
{
    if (array_reserve(table->all, table->capacity, table->count + 1, VEC_MAX) || grow_buckets(table))
        return NULL;
    struct job_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->at = table->count;
    entry->job = (struct job){
        .id = entry->id, .other_id = entry->other_id, .user = entry->user, .source = "told", .cgroup = "",
        .uid = UINT32_MAX, .slot = JOB_TABLE_NO_SLOT,
    };
    table->all[table->count++] = entry;
    table->without_key++;
    job_table_rename(table, entry, JOB_TABLE_KEY, key);
    return entry;
}

void job_table_remove(struct job_table *table, struct job_entry *entry)
{
    job_table_free_slot(table, entry);
    for (size_t kind = 0; kind < JOB_TABLE_NAMES; kind++)
        job_table_rename(table, entry, (enum job_table_name)kind, "");
    table->without_key--;
    table->all[entry->at] = table->all[--table->count];
    table->all[entry->at]->at = entry->at;
    free(entry->cgroup);
    free(entry);
}

void job_table_clear(struct job_table *table)
{
    while (table->count)
        job_table_remove(table, table->all[table->count - 1]);
    free(table->all);
    free(table->slots);
    free(table->buckets[0]);
    *table = (struct job_table){ 0 };
}

void job_table_rename(struct job_table *table, struct job_entry *entry, enum job_table_name kind, const char *name)
{
    char *own = name_of(entry, kind);
    size_t size = strnlen(name, JOB_TABLE_NAME_MAX - 1);
    unlink_from(table, entry, kind);
    if (kind == JOB_TABLE_KEY)
        table->without_key += (size_t)!size - (size_t)!*own;
    memmove(own, name, size); /* name may be another name of the same entry */
    own[size] = '\0';
    link_in(table, entry, kind);
}

struct job_entry *job_table_find_key(const struct job_table *table, const char *key)
{
    struct job_entry *entry = table->bucket_count ? table->buckets[JOB_TABLE_KEY][bucket_of(table, key)] : NULL;
    while (entry && strcmp(entry->key, key) != 0)
        entry = entry->next[JOB_TABLE_KEY];
    return entry;
}

static struct job_entry *find_running(const struct job_table *table, enum job_table_name kind, const char *name)
{
    struct job_entry *entry = table->bucket_count ? table->buckets[kind][bucket_of(table, name)] : NULL;
    while (entry && (entry->has_ended || strcmp(name_of(entry, kind), name) != 0))
        entry = entry->next[kind];
    return entry;
}

struct job_entry *job_table_find_id(const struct job_table *table, const char *id)
{
    struct job_entry *entry = find_running(table, JOB_TABLE_ID, id);
    return entry ? entry : find_running(table, JOB_TABLE_OTHER_ID, id);
}

enum err job_table_take_slot(struct job_table *table, struct job_entry *entry)
{
    size_t slot = 0;
    while (slot < table->slot_capacity && table->slots[slot])
        slot++;
    if (array_reserve_zeroed(table->slots, table->slot_capacity, slot + 1, VEC_MAX))
        return NOMEM;
    table->slots[slot] = entry;
    table->running++;
    entry->job.slot = (uint32_t)slot;
    return OK;
}

void job_table_free_slot(struct job_table *table, struct job_entry *entry)
{
    if (entry->job.slot == JOB_TABLE_NO_SLOT)
        return;
    table->slots[entry->job.slot] = NULL;
    table->running--;
    entry->job.slot = JOB_TABLE_NO_SLOT;
}

struct job_entry *job_table_next(const struct job_table *table, size_t *slot)
{
    while (*slot < table->slot_capacity) {
        struct job_entry *entry = table->slots[(*slot)++];
        if (entry)
            return entry;
    }
    return NULL;
}
