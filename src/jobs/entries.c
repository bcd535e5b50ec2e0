/* A list, an array of slots, and a hash by each of three names. */
#include "jobs/entries.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static size_t bucket_of(const struct entries *entries, const char *name)
{
    uint64_t hash = hash_add_text(HASH_START, name);
    return (size_t)((hash ^ hash >> 32) & (entries->bucket_count - 1));
}

static char *name_of(struct entry *entry, enum entries_name kind)
{
    return kind == ENTRIES_KEY ? entry->key : kind == ENTRIES_ID ? entry->id : entry->other_id;
}

static void link_in(struct entries *entries, struct entry *entry, enum entries_name kind)
{
    const char *name = name_of(entry, kind);
    if (!*name)
        return;
    struct entry **bucket = &entries->buckets[kind][bucket_of(entries, name)];
    entry->next[kind] = *bucket;
    *bucket = entry;
}

static void unlink_from(struct entries *entries, struct entry *entry, enum entries_name kind)
{
    const char *name = name_of(entry, kind);
    if (!*name)
        return;
    struct entry **at = &entries->buckets[kind][bucket_of(entries, name)];
    while (*at != entry)
        at = &(*at)->next[kind];
    *at = entry->next[kind];
}

/* One for each entry at least. */
static enum err grow_buckets(struct entries *entries)
{
    size_t count = entries->bucket_count ? entries->bucket_count * 2 : 64;
    if (entries->count < entries->bucket_count)
        return OK;
    struct entry **buckets = calloc(count * ENTRIES_NAMES, sizeof(struct entry *));
    if (!buckets)
        return NOMEM;
    free(entries->buckets[0]);
    entries->bucket_count = count;
    for (size_t kind = 0; kind < ENTRIES_NAMES; kind++)
        entries->buckets[kind] = buckets + kind * count;
    for (size_t i = 0; i < entries->count; i++)
        for (size_t kind = 0; kind < ENTRIES_NAMES; kind++)
            link_in(entries, entries->all[i], (enum entries_name)kind);
    return OK;
}

static enum err grow_list(struct entries *entries)
{
    if (entries->count < entries->room)
        return OK;
    size_t room = entries->room ? entries->room * 2 : 64;
    struct entry **all = realloc(entries->all, room * sizeof(struct entry *));
    if (!all)
        return NOMEM;
    entries->all = all;
    entries->room = room;
    return OK;
}

struct entry *entries_add(struct entries *entries, const char *key)
{
    if (grow_list(entries) || grow_buckets(entries))
        return NULL;
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->at = entries->count;
    entry->job = (struct job){
        .id = entry->id, .other_id = entry->other_id, .user = entry->user, .source = "told", .cgroup = "",
        .uid = UINT32_MAX, .slot = ENTRIES_NO_SLOT,
    };
    entries->all[entries->count++] = entry;
    entries->without_key++;
    entries_rename(entries, entry, ENTRIES_KEY, key);
    return entry;
}

void entries_remove(struct entries *entries, struct entry *entry)
{
    entries_free_slot(entries, entry);
    for (size_t kind = 0; kind < ENTRIES_NAMES; kind++)
        entries_rename(entries, entry, (enum entries_name)kind, "");
    entries->without_key--;
    entries->all[entry->at] = entries->all[--entries->count];
    entries->all[entry->at]->at = entry->at;
    free(entry->cgroup);
    free(entry);
}

void entries_clear(struct entries *entries)
{
    while (entries->count)
        entries_remove(entries, entries->all[entries->count - 1]);
    free(entries->all);
    free(entries->slots);
    free(entries->buckets[0]);
    *entries = (struct entries){ 0 };
}

void entries_rename(struct entries *entries, struct entry *entry, enum entries_name kind, const char *name)
{
    char *own = name_of(entry, kind);
    size_t size = strnlen(name, ENTRIES_NAME_MAX - 1);
    unlink_from(entries, entry, kind);
    if (kind == ENTRIES_KEY)
        entries->without_key += (size_t)!size - (size_t)!*own;
    memmove(own, name, size); /* name may be another of its own */
    own[size] = '\0';
    link_in(entries, entry, kind);
}

struct entry *entries_find_key(const struct entries *entries, const char *key)
{
    struct entry *entry = entries->bucket_count ? entries->buckets[ENTRIES_KEY][bucket_of(entries, key)] : NULL;
    while (entry && strcmp(entry->key, key) != 0)
        entry = entry->next[ENTRIES_KEY];
    return entry;
}

static struct entry *find_running(const struct entries *entries, enum entries_name kind, const char *name)
{
    struct entry *entry = entries->bucket_count ? entries->buckets[kind][bucket_of(entries, name)] : NULL;
    while (entry && (entry->has_ended || strcmp(name_of(entry, kind), name) != 0))
        entry = entry->next[kind];
    return entry;
}

struct entry *entries_find_id(const struct entries *entries, const char *id)
{
    struct entry *entry = find_running(entries, ENTRIES_ID, id);
    return entry ? entry : find_running(entries, ENTRIES_OTHER_ID, id);
}

enum err entries_take_slot(struct entries *entries, struct entry *entry)
{
    size_t slot = 0;
    while (slot < entries->slot_room && entries->slots[slot])
        slot++;
    if (slot == entries->slot_room) {
        size_t room = entries->slot_room ? entries->slot_room * 2 : 64;
        struct entry **slots = realloc(entries->slots, room * sizeof(struct entry *));
        if (!slots)
            return NOMEM;
        memset(slots + entries->slot_room, 0, (room - entries->slot_room) * sizeof(struct entry *));
        entries->slots = slots;
        entries->slot_room = room;
    }
    entries->slots[slot] = entry;
    entries->running++;
    entry->job.slot = (uint32_t)slot;
    return OK;
}

void entries_free_slot(struct entries *entries, struct entry *entry)
{
    if (entry->job.slot == ENTRIES_NO_SLOT)
        return;
    entries->slots[entry->job.slot] = NULL;
    entries->running--;
    entry->job.slot = ENTRIES_NO_SLOT;
}

struct entry *entries_next(const struct entries *entries, size_t *slot)
{
    while (*slot < entries->slot_room) {
        struct entry *entry = entries->slots[(*slot)++];
        if (entry)
            return entry;
    }
    return NULL;
}
