/* A map; old entries are dropped each time it has doubled. */
#include "compat/colmet/last_values.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS_KEPT 100000 /* batches; after a longer silence the next difference is unknown */
#define ENTRIES_MAX (1u << 24)
#define DROP_MIN 64

struct key {
    const char *host, *job;
    char kind;
};

static void free_entry(struct colmet_last_entry *entry)
{
    free(entry->key);
    free(entry);
}

void colmet_last_clear(struct colmet_last *last)
{
    struct map_iterator at = { 0 };
    for (struct colmet_last_entry *entry; (entry = map_next(&last->entries, &at));)
        free_entry(entry);
    map_clear(&last->entries);
    *last = (struct colmet_last){ 0 };
}

/* An entry's key: kind, host, NUL, job, NUL */
static bool is_entry(const void *item, const void *key)
{
    const char *own = ((const struct colmet_last_entry *)item)->key;
    const struct key *wanted = key;
    return own[0] == wanted->kind && strcmp(own + 1, wanted->host) == 0
           && strcmp(own + 1 + strlen(wanted->host) + 1, wanted->job) == 0;
}

static char *new_key(const struct key *key)
{
    size_t host_size = strlen(key->host) + 1, job_size = strlen(key->job) + 1;
    char *own = malloc(1 + host_size + job_size);
    if (!own)
        return NULL;
    own[0] = key->kind;
    memcpy(own + 1, key->host, host_size);
    memcpy(own + 1 + host_size, key->job, job_size);
    return own;
}

/* Whenever the number of entries has doubled. */
static void drop_old(struct colmet_last *last)
{
    struct map_iterator at = { 0 };
    if (last->entries.count < last->drop_at)
        return;
    for (struct colmet_last_entry *entry; (entry = map_next(&last->entries, &at));)
        if (last->round - entry->touched > ROUNDS_KEPT) {
            map_remove(&last->entries, entry->hash, entry);
            free_entry(entry);
        }
    last->drop_at = 2 * last->entries.count > DROP_MIN ? 2 * last->entries.count : DROP_MIN;
}

static struct colmet_last_entry *add(struct colmet_last *last, const struct key *key, uint64_t hash, uint64_t stream)
{
    drop_old(last);
    struct colmet_last_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->key = new_key(key);
    entry->hash = hash;
    entry->stream = stream;
    if (!entry->key || map_add(&last->entries, hash, entry, ENTRIES_MAX)) {
        free_entry(entry);
        return NULL;
    }
    return entry;
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
    struct key key = { host, job, kind };
    uint64_t hash = map_hash_string(map_hash_string((uint8_t)kind, host), job);
    struct colmet_last_entry *entry = map_find(&last->entries, hash, is_entry, &key);
    if (!entry)
        entry = add(last, &key, hash, stream);
    if (!entry)
        return NULL;
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
