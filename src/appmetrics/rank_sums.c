/* A table by instance, and a list of those that have changed. */
#include "appmetrics/rank_sums.h"

#include "base/hash.h"
#include "appmetrics/state_format.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64u
#define SUMS_MAX (1u << 20)

void program_rank_sums_clear(struct program_rank_sums *sums)
{
    for (size_t i = 0; i < sums->room; i++)
        for (struct program_rank_sum *sum = sums->hash[i], *next; sum; sum = next) {
            next = sum->next_in_hash;
            free(sum);
        }
    free(sums->hash);
    *sums = (struct program_rank_sums){ 0 };
}

static size_t place_of(const struct program_rank_sums *sums, const char *instance)
{
    uint64_t hash = hash_add_text(HASH_START, instance);
    return (hash ^ hash >> 32) & (sums->room - 1);
}

static void insert(struct program_rank_sums *sums, struct program_rank_sum *sum)
{
    struct program_rank_sum **slot = &sums->hash[place_of(sums, sum->instance)];
    sum->next_in_hash = *slot;
    *slot = sum;
}

static bool grow(struct program_rank_sums *sums)
{
    if (sums->count < sums->room)
        return true;
    struct program_rank_sums larger = *sums;
    larger.room = sums->room ? sums->room * 2 : ROOM_FIRST;
    larger.hash = larger.room <= SUMS_MAX ? calloc(larger.room, sizeof *larger.hash) : NULL;
    if (!larger.hash)
        return false;
    for (size_t i = 0; i < sums->room; i++)
        for (struct program_rank_sum *sum = sums->hash[i], *next; sum; sum = next) {
            next = sum->next_in_hash;
            insert(&larger, sum);
        }
    free(sums->hash);
    *sums = larger;
    return true;
}

struct program_rank_sum *program_rank_sums_get(struct program_rank_sums *sums, bool is_peer, const char *instance)
{
    struct program_rank_sum *sum = sums->room ? sums->hash[place_of(sums, instance)] : NULL;
    while (sum && (sum->is_peer != is_peer || strcmp(sum->instance, instance) != 0))
        sum = sum->next_in_hash;
    if (sum || !grow(sums))
        return sum;
    size_t size = strlen(instance) + 1;
    sum = calloc(1, sizeof *sum + size);
    if (!sum)
        return NULL;
    memcpy(sum->instance, instance, size);
    sum->is_peer = is_peer;
    insert(sums, sum);
    sums->count++;
    return sum;
}

/* Of these the greatest stands. */
static bool is_size(const struct program_rank_sum *sum, size_t at)
{
    return !sum->is_peer && (at == MPI_WORLD || at == MPI_THREADS);
}

/* Differences may wrap: what a program wrote over itself falls. */
void program_rank_sums_move(struct program_rank_sums *sums, struct program_rank_sum *sum, size_t at, uint64_t told,
                            uint64_t value)
{
    uint64_t before = sum->values[at], after = before + value - told;
    if (is_size(sum, at))
        after = value > before ? value : before;
    if (sum->known[at] && after == before)
        return;
    sum->known[at] = 1;
    sum->values[at] = after;
    if (sum->is_changed)
        return;
    sum->is_changed = true;
    sum->next_changed = sums->changed;
    sums->changed = sum;
}

void program_rank_sums_leave(struct program_rank_sum *sum, size_t at, uint64_t from, uint64_t to)
{
    if (!is_size(sum, at))
        sum->kept[at] += to - from;
    else if (to > sum->kept[at])
        sum->kept[at] = to;
}

bool program_rank_sums_keep(struct buf *file, const struct program_rank_sums *sums)
{
    bool has_any = false;
    for (size_t i = 0; i < sums->room; i++)
        for (const struct program_rank_sum *sum = sums->hash[i]; sum; sum = sum->next_in_hash)
            has_any |= kept_add_row(file, sum->is_peer, sum->instance, sum->kept, sum->known);
    kept_add_number(file, 0);
    return has_any;
}

void program_rank_sums_take(struct program_rank_sums *sums, struct unpacker *u)
{
    for (struct kept_row row; kept_take_row(u, &row);) {
        struct program_rank_sum *sum = program_rank_sums_get(sums, row.is_peer, row.what);
        if (!sum)
            continue;
        memcpy(sum->kept, row.values, sizeof sum->kept);
        memcpy(sum->values, row.values, sizeof sum->values);
        memcpy(sum->known, row.known, sizeof sum->known);
    }
}

void program_rank_sums_sample(struct program_rank_sums *sums, struct batch *batch, uint64_t time_ns, const char *job)
{
    while (sums->changed) {
        struct program_rank_sum *sum = sums->changed;
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
