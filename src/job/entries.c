/* A list, an array of slots, and a hash by key. */
#include "job/entries.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static size_t bucket_of(const struct entries *entries, const char *key)
{
    uint64_t hash = 14695981039346656037ull;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 1099511628211ull;
    return (size_t)(hash & (entries->bucket_count - 1));
}

static void link_in(struct entries *entries, struct entry *entry)
{
    struct entry **bucket = &entries->buckets[bucket_of(entries, entry->key)];
    entry->next = *bucket;
    *bucket = entry;
    entries->without_key += !*entry->key;
}

static void unlink_from(struct entries *entries, struct entry *entry)
{
    struct entry **at = &entries->buckets[bucket_of(entries, entry->key)];
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    entries->without_key -= !*entry->key;
}

static enum err grow_buckets(struct entries *entries)
{
    size_t count = entries->bucket_count ? entries->bucket_count * 2 : 64;
    if (entries->count < entries->bucket_count)
        return OK;
    struct entry **buckets = calloc(count, sizeof(struct entry *));
    if (!buckets)
        return NOMEM;
    free(entries->buckets);
    entries->buckets = buckets;
    entries->bucket_count = count;
    entries->without_key = 0;
    for (size_t i = 0; i < entries->count; i++)
        link_in(entries, entries->all[i]);
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
    snprintf(entry->key, sizeof entry->key, "%s", key);
    entry->at = entries->count;
    entry->job = (struct job){
        .id = entry->id, .other_id = entry->other_id, .user = entry->user, .source = "told", .cgroup = "",
        .uid = UINT32_MAX, .slot = ENTRIES_NO_SLOT,
    };
    entries->all[entries->count++] = entry;
    link_in(entries, entry);
    return entry;
}

void entries_remove(struct entries *entries, struct entry *entry)
{
    entries_free_slot(entries, entry);
    unlink_from(entries, entry);
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
    free(entries->buckets);
    *entries = (struct entries){ 0 };
}

void entries_rekey(struct entries *entries, struct entry *entry, const char *key)
{
    unlink_from(entries, entry);
    snprintf(entry->key, sizeof entry->key, "%s", key);
    link_in(entries, entry);
}

struct entry *entries_find_key(const struct entries *entries, const char *key)
{
    struct entry *entry = entries->bucket_count ? entries->buckets[bucket_of(entries, key)] : NULL;
    while (entry && strcmp(entry->key, key) != 0)
        entry = entry->next;
    return entry;
}

struct entry *entries_find_id(const struct entries *entries, const char *id)
{
    for (size_t i = 0; i < entries->count; i++) {
        struct entry *entry = entries->all[i];
        if (!entry->has_ended && (!strcmp(entry->id, id) || (*entry->other_id && !strcmp(entry->other_id, id))))
            return entry;
    }
    return NULL;
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
