/* The pool of sets: a hash table under a lock, which is taken only when a stream meets or leaves a set. */
#include "wire/set_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u

struct pooled {
    struct set *set;
    struct pooled *next;
    uint64_t users;
    uint32_t hash;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pooled *buckets[BUCKETS];
static size_t count;

static uint32_t hash_text(uint32_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return (hash ^ 0xffu) * 16777619u;
}

static uint32_t hash_of(const struct set *set)
{
    uint32_t hash = hash_text(2166136261u, set->name);
    for (size_t i = 0; i < set->size; i++)
        hash = hash_text(hash, set->metrics[i].name);
    return hash;
}

static struct pooled **find(const struct set *set, uint32_t hash)
{
    struct pooled **place = &buckets[hash % BUCKETS];
    while (*place && ((*place)->hash != hash || !set_equal((*place)->set, set)))
        place = &(*place)->next;
    return place;
}

enum err set_pool_take(struct set *set, const struct set **kept)
{
    uint32_t hash = hash_of(set);
    pthread_mutex_lock(&lock);
    struct pooled **place = find(set, hash);
    bool is_here = *place != NULL;
    if (!is_here && (*place = calloc(1, sizeof **place))) {
        **place = (struct pooled){ .set = set, .hash = hash };
        count++;
    }
    struct pooled *pooled = *place;
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
    uint32_t hash = hash_of(kept);
    struct pooled *gone = NULL;
    pthread_mutex_lock(&lock);
    struct pooled **place = find(kept, hash);
    if (*place && --(*place)->users == 0) {
        gone = *place;
        *place = gone->next;
        count--;
    }
    pthread_mutex_unlock(&lock);
    if (gone)
        free(gone->set);
    free(gone);
}

size_t set_pool_count(void)
{
    pthread_mutex_lock(&lock);
    size_t now = count;
    pthread_mutex_unlock(&lock);
    return now;
}
