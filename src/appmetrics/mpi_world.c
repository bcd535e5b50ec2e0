/* A seat is a number that programs have one after another. */
#include "appmetrics/mpi_world.h"

#include "base/clock.h"
#include "appmetrics/state_format.h"

#include <stdlib.h>

#define REMEMBERED 16u /* programs of a seat, since ranks of one may be met after those of the next */

struct seat {
    uint64_t programs[REMEMBERED];
    unsigned next;
    size_t ranks;               /* that are alive */
    uint64_t begin_ns, end_ns;  /* of all that ever sat on it; while ranks are alive it has no end */
};

struct program_worlds {
    struct seat seats[PROGRAM_WORLDS_MAX];
    uint32_t seat_count;
};

void program_worlds_free(struct program_worlds **worlds)
{
    free(*worlds);
    *worlds = NULL;
}

/* Those of which nobody knows more are taken for one: 0 is on the first seat. */
static bool knows(const struct seat *seat, uint64_t program)
{
    for (unsigned i = 0; i < REMEMBERED; i++)
        if (seat->programs[i] == program)
            return true;
    return false;
}

/* Those who were there before or came after it do not matter. */
static bool is_free(const struct seat *seat, const struct program_life *life)
{
    uint64_t end_ns = seat->ranks ? UINT64_MAX : seat->end_ns;
    return life->begin_ns >= end_ns || life->end_ns <= seat->begin_ns;
}

static uint32_t find_seat(struct program_worlds *worlds, const struct program_life *life)
{
    for (uint32_t i = 0; i < worlds->seat_count; i++)
        if (knows(&worlds->seats[i], life->program))
            return i;
    for (uint32_t i = 0; i < worlds->seat_count; i++)
        if (is_free(&worlds->seats[i], life))
            return i;
    if (worlds->seat_count == PROGRAM_WORLDS_MAX)
        return PROGRAM_WORLDS_MAX - 1;
    worlds->seats[worlds->seat_count].begin_ns = UINT64_MAX;
    return worlds->seat_count++;
}

uint32_t program_worlds_number(struct program_worlds **worlds, const struct program_life *life)
{
    if (!*worlds && !(*worlds = calloc(1, sizeof **worlds)))
        return 0;
    uint32_t number = find_seat(*worlds, life);
    struct seat *seat = &(*worlds)->seats[number];
    if (!knows(seat, life->program))
        seat->programs[seat->next++ % REMEMBERED] = life->program;
    seat->ranks++;
    seat->begin_ns = life->begin_ns < seat->begin_ns ? life->begin_ns : seat->begin_ns;
    return number + 1;
}

void program_worlds_end(struct program_worlds *worlds, uint32_t number, uint64_t end_ns)
{
    struct seat *seat = &worlds->seats[number - 1];
    seat->ranks--;
    seat->end_ns = end_ns > seat->end_ns ? end_ns : seat->end_ns;
}

/* In the file: how many seats; of each its programs, from when, and until when, 0 where ranks are alive. */
bool program_worlds_keep(struct buf *file, const struct program_worlds *worlds)
{
    uint32_t count = worlds ? worlds->seat_count : 0;
    kept_add_number(file, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct seat *seat = &worlds->seats[i];
        kept_add_number(file, seat->next);
        for (unsigned k = 0; k < REMEMBERED; k++)
            kept_add_number(file, seat->programs[k]);
        kept_add_number(file, seat->begin_ns);
        kept_add_number(file, seat->ranks ? 0 : seat->end_ns);
    }
    return count > 1;
}

/* A seat that was not free is free for those who come from now on, unless its ranks are met again. */
void program_worlds_take(struct program_worlds **worlds, struct unpacker *u)
{
    uint64_t count = unpack_number(u);
    if (count && !*worlds)
        *worlds = calloc(1, sizeof **worlds);
    u->bad |= count > PROGRAM_WORLDS_MAX || (count && (!*worlds || (*worlds)->seat_count));
    for (uint32_t i = 0; i < count && !u->bad; i++) {
        struct seat *seat = &(*worlds)->seats[(*worlds)->seat_count++];
        seat->next = (unsigned)unpack_number(u) % REMEMBERED;
        for (unsigned k = 0; k < REMEMBERED; k++)
            seat->programs[k] = unpack_number(u);
        seat->begin_ns = unpack_number(u);
        uint64_t end_ns = unpack_number(u);
        seat->end_ns = end_ns ? end_ns : clock_realtime_ns();
    }
}
