/* A hash table that forgets, when it would grow, what nobody asked for in a long time. */
#include "compat/colmet/last_values.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64
#define ROUNDS_KEPT 100000 /* batches: of a host that is silent for longer the next difference is not known */

void colmet_last_clear(struct colmet_last *last)
{
    for (size_t i = 0; i < last->capacity; i++)
        free(last->entries[i].key);
    free(last->entries);
    *last = (struct colmet_last){ 0 };
}

/* kind, host, NUL, job, NUL */
static bool is_key(const char *key, const char *host, const char *job, char kind)
{
    return key[0] == kind && strcmp(key + 1, host) == 0 && strcmp(key + 1 + strlen(host) + 1, job) == 0;
}

static char *make_key(const char *host, const char *job, char kind)
{
    size_t host_size = strlen(host) + 1, job_size = strlen(job) + 1;
    char *key = malloc(1 + host_size + job_size);
    if (!key)
        return NULL;
    key[0] = kind;
    memcpy(key + 1, host, host_size);
    memcpy(key + 1 + host_size, job, job_size);
    return key;
}

static bool grow(struct colmet_last *last)
{
    if (last->capacity && last->count < last->capacity / 2)
        return true;
    struct colmet_last_entry *old = last->entries;
    size_t old_room = last->capacity, capacity = old_room ? old_room * 2 : ROOM_FIRST;
    struct colmet_last_entry *entries = calloc(capacity, sizeof *entries);
    if (!entries)
        return false;
    last->count = 0;
    for (size_t i = 0; i < old_room; i++) {
        if (!old[i].key)
            continue;
        if (last->round - old[i].touched > ROUNDS_KEPT) {
            free(old[i].key);
            continue;
        }
        size_t at = old[i].hash & (capacity - 1);
        while (entries[at].key)
            at = (at + 1) & (capacity - 1);
        entries[at] = old[i];
        last->count++;
    }
    free(old);
    last->entries = entries;
    last->capacity = capacity;
    return true;
}

static void move_on(struct colmet_last_entry *entry, uint64_t stream, uint64_t time_ns)
{
    if (entry->stream != stream)
        entry->now_known = 0;
    else if (entry->time_ns == time_ns)
        return;
    memcpy(entry->before, entry->now, sizeof entry->before);
    entry->before_known = entry->now_known;
    entry->now_known = 0;
    entry->stream = stream;
    entry->time_ns = time_ns;
}

struct colmet_last_entry *colmet_last_find(struct colmet_last *last, const char *host, const char *job, char kind,
                                           uint64_t stream, uint64_t time_ns)
{
    uint64_t hash = hash_add_text(hash_add_text(HASH_START ^ (uint8_t)kind, host), job);
    if (!grow(last))
        return NULL;
    size_t at = hash & (last->capacity - 1);
    while (last->entries[at].key && (last->entries[at].hash != hash || !is_key(last->entries[at].key, host, job, kind)))
        at = (at + 1) & (last->capacity - 1);
    struct colmet_last_entry *entry = &last->entries[at];
    if (!entry->key) {
        *entry = (struct colmet_last_entry){ .key = make_key(host, job, kind), .hash = hash, .stream = stream };
        if (!entry->key)
            return NULL;
        last->count++;
    }
    entry->touched = last->round;
    move_on(entry, stream, time_ns);
    return entry;
}

bool colmet_last_difference(struct colmet_last_entry *entry, size_t i, uint64_t value, uint64_t *difference)
{
    uint32_t bit = 1u << i;
    entry->now[i] = value;
    entry->now_known |= bit;
    if (!(entry->before_known & bit) || value < entry->before[i])
        return false;
    *difference = value - entry->before[i];
    return true;
}
