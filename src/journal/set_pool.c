/* Two maps behind a lock, which is taken only when a stream adds or drops a set. */
#include "journal/set_pool.h"

#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SETS_MAX (1u << 24)

struct pooled_set {
    struct set *set;
    uint64_t users;
    char *packed; /* NULL: not compressed yet */
    size_t packed_size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map sets, packed_sets;

static uint64_t hash_of(const struct set *set)
{
    uint64_t hash = map_hash_string(0, set->name);
    for (size_t i = 0; i < set->size; i++)
        hash = map_hash_string(hash, set->metrics[i].name);
    return hash;
}

static uint64_t packed_hash_of(const struct pooled_set *pooled)
{
    return map_hash(0, pooled->packed, pooled->packed_size);
}

static bool is_set(const void *pooled, const void *set)
{
    return set_equal(((const struct pooled_set *)pooled)->set, set);
}

static bool is_packed(const void *item, const void *packed)
{
    const struct pooled_set *pooled = item;
    return bytes_equal((struct bytes){ pooled->packed, pooled->packed_size }, *(const struct bytes *)packed);
}

static struct pooled_set *find(const struct set *set, uint64_t hash)
{
    return map_find(&sets, hash, is_set, set);
}

static struct pooled_set *add(struct set *set, uint64_t hash)
{
    struct pooled_set *pooled = calloc(1, sizeof *pooled);
    if (!pooled || map_add(&sets, hash, pooled, SETS_MAX)) {
        free(pooled);
        return NULL;
    }
    pooled->set = set;
    return pooled;
}

enum err set_pool_take(struct set *set, const struct set **kept)
{
    uint64_t hash = hash_of(set);
    pthread_mutex_lock(&lock);
    struct pooled_set *pooled = find(set, hash);
    bool is_here = pooled;
    if (!pooled)
        pooled = add(set, hash);
    if (pooled)
        pooled->users++;
    *kept = pooled ? pooled->set : NULL;
    pthread_mutex_unlock(&lock);
    if (is_here || !pooled)
        free(set);
    return pooled ? OK : NOMEM;
}

void set_pool_release(const struct set *kept)
{
    uint64_t hash = hash_of(kept);
    pthread_mutex_lock(&lock);
    struct pooled_set *gone = find(kept, hash);
    if (gone && --gone->users)
        gone = NULL;
    if (gone)
        map_remove(&sets, hash, gone);
    if (gone && gone->packed)
        map_remove(&packed_sets, packed_hash_of(gone), gone);
    if (gone && !sets.count) { /* the last user frees the tables too */
        map_clear(&sets);
        map_clear(&packed_sets);
    }
    pthread_mutex_unlock(&lock);
    if (!gone)
        return;
    free(gone->set);
    free(gone->packed);
    free(gone);
}

struct bytes set_pool_packed(const struct set *kept, bool *many)
{
    struct bytes packed = { 0 };
    uint64_t hash = hash_of(kept);
    *many = false;
    pthread_mutex_lock(&lock);
    const struct pooled_set *pooled = find(kept, hash);
    if (pooled && pooled->users >= SET_POOL_MANY) {
        packed = (struct bytes){ pooled->packed, pooled->packed_size };
        *many = true;
    }
    pthread_mutex_unlock(&lock);
    return packed;
}

struct bytes set_pool_keep_packed(const struct set *kept, struct bytes packed)
{
    uint64_t hash = hash_of(kept);
    struct bytes ours = { 0 };
    char *copy = malloc(packed.size);
    if (!copy)
        return ours;
    memcpy(copy, packed.data, packed.size);
    pthread_mutex_lock(&lock);
    struct pooled_set *pooled = find(kept, hash);
    if (pooled && !pooled->packed && !map_add(&packed_sets, map_hash(0, copy, packed.size), pooled, SETS_MAX)) {
        pooled->packed = copy;
        pooled->packed_size = packed.size;
        copy = NULL;
    }
    if (pooled)
        ours = (struct bytes){ pooled->packed, pooled->packed_size };
    pthread_mutex_unlock(&lock);
    free(copy);
    return ours;
}

enum err set_pool_take_packed(struct bytes *packed, const struct set **kept)
{
    uint64_t hash = map_hash(0, packed->data, packed->size);
    pthread_mutex_lock(&lock);
    struct pooled_set *pooled = map_find(&packed_sets, hash, is_packed, packed);
    if (pooled) {
        pooled->users++;
        *kept = pooled->set;
        packed->data = pooled->packed;
    }
    pthread_mutex_unlock(&lock);
    return pooled ? OK : ABSENT;
}

size_t set_pool_count(void)
{
    pthread_mutex_lock(&lock);
    size_t now = sets.count;
    pthread_mutex_unlock(&lock);
    return now;
}
