/* A map by instance, and a list of those that have changed. */
#include "appmetrics/mpi_rank_sums.h"

#include "appmetrics/saved_format.h"

#include <stdlib.h>
#include <string.h>

#define SUMS_MAX (1u << 20)

struct sum_key {
    bool is_peer;
    const char *instance;
};

static bool has_key(const void *item, const void *key)
{
    const struct mpi_rank_sum *sum = item;
    const struct sum_key *wanted = key;
    return sum->is_peer == wanted->is_peer && strcmp(sum->instance, wanted->instance) == 0;
}

void mpi_rank_sums_clear(struct mpi_rank_sums *sums)
{
    struct map_iterator iterator = { 0 };
    for (void *sum; (sum = map_next(&sums->by_instance, &iterator));)
        free(sum);
    map_clear(&sums->by_instance);
    sums->changed = NULL;
}

struct mpi_rank_sum *mpi_rank_sums_get(struct mpi_rank_sums *sums, bool is_peer, const char *instance)
{
    uint64_t hash = map_hash_string(is_peer, instance);
    struct mpi_rank_sum *sum = map_find(&sums->by_instance, hash, has_key, &(struct sum_key){ is_peer, instance });
    if (sum)
        return sum;
    size_t size = strlen(instance) + 1;
    sum = calloc(1, sizeof *sum + size);
    if (!sum || map_add(&sums->by_instance, hash, sum, SUMS_MAX)) {
        free(sum);
        return NULL;
    }
    memcpy(sum->instance, instance, size);
    sum->is_peer = is_peer;
    return sum;
}

static bool is_size(const struct mpi_rank_sum *sum, size_t at)
{
    return !sum->is_peer && (at == MPI_WORLD || at == MPI_THREADS);
}

/* A program may overwrite its segment with smaller numbers: then the difference wraps, and the sum falls. */
void mpi_rank_sums_update(struct mpi_rank_sums *sums, struct mpi_rank_sum *sum, size_t at, uint64_t last, uint64_t value)
{
    uint64_t before = sum->values[at], now = before + value - last;
    if (is_size(sum, at))
        now = value > before ? value : before;
    if (sum->known[at] && now == before)
        return;
    sum->known[at] = 1;
    sum->values[at] = now;
    if (sum->is_changed)
        return;
    sum->is_changed = true;
    sum->next_changed = sums->changed;
    sums->changed = sum;
}

void mpi_rank_sums_leave(struct mpi_rank_sum *sum, size_t at, uint64_t from, uint64_t to)
{
    if (!is_size(sum, at))
        sum->saved[at] += to - from;
    else if (to > sum->saved[at])
        sum->saved[at] = to;
}

bool mpi_rank_sums_save(struct buf *file, const struct mpi_rank_sums *sums)
{
    bool has_any = false;
    struct map_iterator iterator = { 0 };
    for (const struct mpi_rank_sum *sum; (sum = map_next(&sums->by_instance, &iterator));)
        has_any |= saved_add_row(file, sum->is_peer, sum->instance, sum->saved, sum->known);
    saved_add_number(file, 0);
    return has_any;
}

void mpi_rank_sums_read(struct mpi_rank_sums *sums, struct unpacker *u)
{
    for (struct saved_row row; saved_take_row(u, &row);) {
        struct mpi_rank_sum *sum = mpi_rank_sums_get(sums, row.is_peer, row.subject);
        if (!sum)
            continue;
        memcpy(sum->saved, row.values, sizeof sum->saved);
        memcpy(sum->values, row.values, sizeof sum->values);
        memcpy(sum->known, row.known, sizeof sum->known);
    }
}

void mpi_rank_sums_sample(struct mpi_rank_sums *sums, struct batch *batch, uint64_t time_ns, const char *job)
{
    while (sums->changed) {
        struct mpi_rank_sum *sum = sums->changed;
        const struct set *of = sum->is_peer ? &mpi_peer_set : &mpi_set;
        struct sample *sample = batch_add(batch, of, time_ns, sum->instance);
        if (!sample)
            return;
        sample->job = job;
        for (size_t i = 0; i < of->size; i++)
            if (sum->known[i])
                sample_set_u64(sample, i, sum->values[i]);
        sum->is_changed = false;
        sums->changed = sum->next_changed;
    }
}
