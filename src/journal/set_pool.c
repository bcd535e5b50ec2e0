/* A hash table behind a lock, which is taken only when a stream adds or drops a set. */
#include "journal/set_pool.h"

#include "base/hash.h"
#include "journal/checksum.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u

struct pooled_set {
    struct set *set;
    struct pooled_set *next;
    uint64_t users;
    uint32_t hash;
    char *packed; /* NULL: not compressed yet */
    size_t packed_size;
    uint64_t packed_hash;
    struct pooled_set *packed_next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pooled_set *buckets[BUCKETS], *packed_buckets[BUCKETS];
static size_t count;

static uint32_t hash_of(const struct set *set)
{
    uint64_t hash = hash_add_text(HASH_START, set->name);
    for (size_t i = 0; i < set->size; i++)
        hash = hash_add_text(hash, set->metrics[i].name);
    return (uint32_t)hash;
}

static struct pooled_set **find(const struct set *set, uint32_t hash)
{
    struct pooled_set **place = &buckets[hash % BUCKETS];
    while (*place && ((*place)->hash != hash || !set_equal((*place)->set, set)))
        place = &(*place)->next;
    return place;
}

enum err set_pool_take(struct set *set, const struct set **kept)
{
    uint32_t hash = hash_of(set);
    pthread_mutex_lock(&lock);
    struct pooled_set **place = find(set, hash);
    bool is_here = *place != NULL;
    if (!is_here && (*place = calloc(1, sizeof **place))) {
        **place = (struct pooled_set){ .set = set, .hash = hash };
        count++;
    }
    struct pooled_set *pooled = *place;
    if (pooled)
        pooled->users++;
    *kept = pooled ? pooled->set : NULL;
    pthread_mutex_unlock(&lock);
    if (is_here || !pooled)
        free(set);
    return pooled ? OK : NOMEM;
}

static void unlink_packed(struct pooled_set *pooled)
{
    struct pooled_set **place = &packed_buckets[pooled->packed_hash % BUCKETS];
    while (pooled->packed && *place && *place != pooled)
        place = &(*place)->packed_next;
    if (pooled->packed && *place)
        *place = pooled->packed_next;
}

void set_pool_release(const struct set *kept)
{
    uint32_t hash = hash_of(kept);
    struct pooled_set *gone = NULL;
    pthread_mutex_lock(&lock);
    struct pooled_set **place = find(kept, hash);
    if (*place && --(*place)->users == 0) {
        gone = *place;
        *place = gone->next;
        unlink_packed(gone);
        count--;
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
    uint32_t hash = hash_of(kept);
    *many = false;
    pthread_mutex_lock(&lock);
    const struct pooled_set *pooled = *find(kept, hash);
    if (pooled && pooled->users >= SET_POOL_MANY) {
        packed = (struct bytes){ pooled->packed, pooled->packed_size };
        *many = true;
    }
    pthread_mutex_unlock(&lock);
    return packed;
}

struct bytes set_pool_keep_packed(const struct set *kept, struct bytes packed)
{
    uint32_t hash = hash_of(kept);
    struct bytes ours = { 0 };
    char *copy = malloc(packed.size);
    if (!copy)
        return ours;
    memcpy(copy, packed.data, packed.size);
    pthread_mutex_lock(&lock);
    struct pooled_set *pooled = *find(kept, hash);
    if (pooled && !pooled->packed) {
        pooled->packed_hash = checksum_add(CHECKSUM_START, packed.data, packed.size);
        pooled->packed_next = packed_buckets[pooled->packed_hash % BUCKETS];
        packed_buckets[pooled->packed_hash % BUCKETS] = pooled;
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
    uint64_t hash = checksum_add(CHECKSUM_START, packed->data, packed->size);
    pthread_mutex_lock(&lock);
    struct pooled_set *pooled = packed_buckets[hash % BUCKETS];
    while (pooled && (pooled->packed_hash != hash || pooled->packed_size != packed->size
                      || memcmp(pooled->packed, packed->data, packed->size) != 0))
        pooled = pooled->packed_next;
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
    size_t now = count;
    pthread_mutex_unlock(&lock);
    return now;
}
