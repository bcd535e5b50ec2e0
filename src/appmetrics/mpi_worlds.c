/* A slot is a number that programs have one after another. */
#include "appmetrics/mpi_worlds.h"

#include "base/clock.h"
#include "appmetrics/saved_format.h"

#include <stdlib.h>

#define REMEMBERED 16u /* programs of a slot: ranks of one may be read after ranks of the next */

struct world_slot {
    uint64_t programs[REMEMBERED];
    unsigned next;
    size_t ranks;               /* that are running */
    uint64_t begin_ns, end_ns;  /* of all its programs; while ranks are running it has no end */
};

struct mpi_worlds {
    struct world_slot slots[MPI_WORLDS_MAX];
    uint32_t slot_count;
};

void mpi_worlds_free(struct mpi_worlds **worlds)
{
    free(*worlds);
    *worlds = NULL;
}

/* Unknown programs (0) are taken for one, which is in the first slot. */
static bool has_program(const struct world_slot *slot, uint64_t program)
{
    for (unsigned i = 0; i < REMEMBERED; i++)
        if (slot->programs[i] == program)
            return true;
    return false;
}

/* Programs that ended before it began, or began after it ended, do not matter. */
static bool is_free(const struct world_slot *slot, const struct mpi_lifetime *lifetime)
{
    uint64_t end_ns = slot->ranks ? UINT64_MAX : slot->end_ns;
    return lifetime->begin_ns >= end_ns || lifetime->end_ns <= slot->begin_ns;
}

static uint32_t find_slot(struct mpi_worlds *worlds, const struct mpi_lifetime *lifetime)
{
    for (uint32_t i = 0; i < worlds->slot_count; i++)
        if (has_program(&worlds->slots[i], lifetime->program))
            return i;
    for (uint32_t i = 0; i < worlds->slot_count; i++)
        if (is_free(&worlds->slots[i], lifetime))
            return i;
    if (worlds->slot_count == MPI_WORLDS_MAX)
        return MPI_WORLDS_MAX - 1;
    worlds->slots[worlds->slot_count].begin_ns = UINT64_MAX;
    return worlds->slot_count++;
}

uint32_t mpi_worlds_assign(struct mpi_worlds **worlds, const struct mpi_lifetime *lifetime)
{
    if (!*worlds && !(*worlds = calloc(1, sizeof **worlds)))
        return 0;
    uint32_t number = find_slot(*worlds, lifetime);
    struct world_slot *slot = &(*worlds)->slots[number];
    if (!has_program(slot, lifetime->program))
        slot->programs[slot->next++ % REMEMBERED] = lifetime->program;
    slot->ranks++;
    slot->begin_ns = lifetime->begin_ns < slot->begin_ns ? lifetime->begin_ns : slot->begin_ns;
    return number + 1;
}

void mpi_worlds_end_rank(struct mpi_worlds *worlds, uint32_t number, uint64_t end_ns)
{
    struct world_slot *slot = &worlds->slots[number - 1];
    slot->ranks--;
    slot->end_ns = end_ns > slot->end_ns ? end_ns : slot->end_ns;
}

/* In the file: the number of slots; for each its programs, its begin, and its end, which is 0 while ranks are running. */
bool mpi_worlds_save(struct buf *file, const struct mpi_worlds *worlds)
{
    uint32_t count = worlds ? worlds->slot_count : 0;
    saved_add_number(file, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct world_slot *slot = &worlds->slots[i];
        saved_add_number(file, slot->next);
        for (unsigned k = 0; k < REMEMBERED; k++)
            saved_add_number(file, slot->programs[k]);
        saved_add_number(file, slot->begin_ns);
        saved_add_number(file, slot->ranks ? 0 : slot->end_ns);
    }
    return count > 1;
}

/* A slot with running ranks is free from now on, unless these ranks are read again. */
void mpi_worlds_read(struct mpi_worlds **worlds, struct unpacker *u)
{
    uint64_t count = unpack_number(u);
    if (count && !*worlds)
        *worlds = calloc(1, sizeof **worlds);
    u->bad |= count > MPI_WORLDS_MAX || (count && (!*worlds || (*worlds)->slot_count));
    for (uint32_t i = 0; i < count && !u->bad; i++) {
        struct world_slot *slot = &(*worlds)->slots[(*worlds)->slot_count++];
        slot->next = (unsigned)unpack_number(u) % REMEMBERED;
        for (unsigned k = 0; k < REMEMBERED; k++)
            slot->programs[k] = unpack_number(u);
        slot->begin_ns = unpack_number(u);
        uint64_t end_ns = unpack_number(u);
        slot->end_ns = end_ns ? end_ns : clock_realtime_ns();
    }
}
