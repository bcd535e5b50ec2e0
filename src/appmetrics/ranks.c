/* A metric of the board is met by its name once; from then on its place says which number of which row it is. */
#include "appmetrics/ranks.h"

#include "base/clock.h"
#include "appmetrics/state_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_BITS 8u
#define ROWS_MAX (1u << 20)
#define WHAT_MAX 128
#define WORLD_MAX 255u /* which all that are spawned later share: names of series must not become more and more */

static const struct field {
    const char *name, *label;
    bool is_peer, is_time;
    size_t value;
} fields[] = {
    { "mpi_calls_total", "function", false, false, MPI_CALLS },
    { "mpi_seconds_total", "function", false, true, MPI_TIME },
    { "mpi_sent_bytes_total", "function", false, false, MPI_BYTES_OUT },
    { "mpi_received_bytes_total", "function", false, false, MPI_BYTES_IN },
    { "mpi_wait_seconds_total", "function", false, true, MPI_WAIT },
    { "mpi_small_messages_total", "function", false, false, MPI_SMALL },
    { "mpi_life_seconds_total", "", false, true, MPI_LIFE },
    { "mpi_threads_total", "", false, false, MPI_THREADS },
    { "mpi_peer_messages_total", "to", true, false, MPI_PEER_MESSAGES },
    { "mpi_peer_bytes_total", "to", true, false, MPI_PEER_BYTES },
};

static void end(struct program_ranks *ranks)
{
    if (ranks->worlds && !ranks->has_ended)
        program_worlds_end(*ranks->worlds, ranks->name.program, ranks->end_ns);
    ranks->has_ended = true;
}

void program_ranks_clear(struct program_ranks *ranks)
{
    end(ranks);
    for (size_t i = 0; i < ranks->count; i++) {
        free(ranks->rows[i]->what);
        free(ranks->rows[i]);
    }
    free(ranks->rows);
    free(ranks->places);
    *ranks = (struct program_ranks){ 0 };
}

static struct program_rank_row *add_row(struct program_ranks *ranks, bool is_peer, const char *what)
{
    if (ranks->count == ranks->room) {
        size_t room = ranks->room ? ranks->room * 2 : 64;
        struct program_rank_row **rows = room <= ROWS_MAX ? realloc(ranks->rows, room * sizeof(void *)) : NULL;
        if (!rows)
            return NULL;
        ranks->rows = rows;
        ranks->room = room;
    }
    struct program_rank_row *row = calloc(1, sizeof *row);
    if (!row || !(row->what = strdup(what))) {
        free(row);
        return NULL;
    }
    row->is_peer = is_peer;
    ranks->rows[ranks->count++] = row;
    return row;
}

/* Metrics of one function stand beside one another on a board, so that the search from behind is short. */
static size_t row_of(struct program_ranks *ranks, bool is_peer, const char *what)
{
    if (!ranks->count && !add_row(ranks, false, ""))
        return 0;
    if (!*what)
        return 0;
    for (size_t i = ranks->count; i > 1; i--)
        if (ranks->rows[i - 1]->is_peer == is_peer && strcmp(ranks->rows[i - 1]->what, what) == 0)
            return i - 1;
    return add_row(ranks, is_peer, what) ? ranks->count - 1 : 0;
}

/* The value of the one label; false: it is another, or none. */
static bool label_value(struct bytes labels, const char *label, char what[WHAT_MAX])
{
    size_t name = strlen(label);
    what[0] = '\0';
    if (!*label)
        return labels.size == 0;
    if (labels.size < name + 4 || memcmp(labels.data, label, name) != 0 || memcmp(labels.data + name, "=\"", 2) != 0
        || labels.data[labels.size - 1] != '"')
        return false;
    size_t size = labels.size - name - 3;
    if (size >= WHAT_MAX || memchr(labels.data + name + 2, '"', size) || memchr(labels.data + name + 2, '\\', size)
        || memchr(labels.data + name + 2, '\0', size))
        return false;
    memcpy(what, labels.data + name + 2, size);
    what[size] = '\0';
    return true;
}

static uint32_t meet(struct program_ranks *ranks, const struct segment_value *value)
{
    char what[WHAT_MAX];
    for (size_t i = 0; value->kind == SEGMENT_COUNTER && i < sizeof fields / sizeof *fields; i++) {
        if (!bytes_equal(value->name, bytes_of(fields[i].name)) || !label_value(value->labels, fields[i].label, what))
            continue;
        size_t row = row_of(ranks, fields[i].is_peer, what);
        return row || !*what ? (uint32_t)(row << FIELD_BITS | (i + 1)) : 0;
    }
    return 0;
}

static bool remember(struct program_ranks *ranks, const struct segment_value *value)
{
    if (ranks->place_count == ranks->place_room) {
        size_t room = ranks->place_room ? ranks->place_room * 2 : 64;
        uint32_t *places = realloc(ranks->places, room * sizeof *places);
        if (!places)
            return false;
        ranks->places = places;
        ranks->place_room = room;
    }
    ranks->places[ranks->place_count++] = meet(ranks, value);
    return true;
}

static void set(struct program_rank_row *row, size_t at, uint64_t value)
{
    row->is_changed |= !row->known[at] || row->values[at] != value;
    row->known[at] = 1;
    row->values[at] = value;
}

static uint64_t number_of(const struct segment_value *value, bool is_time)
{
    double number = is_time ? value->f64 * 1e9 : value->f64;
    if (!is_time && value->is_integer)
        return value->u64;
    return number >= 0 && number < 1.8e19 ? (uint64_t)number : 0;
}

void program_ranks_take(struct program_ranks *ranks, size_t place, const struct segment_value *value)
{
    if (place == ranks->place_count && !remember(ranks, value))
        return;
    uint32_t met = place < ranks->place_count ? ranks->places[place] : 0;
    if (!met)
        return;
    const struct field *field = &fields[(met & ((1u << FIELD_BITS) - 1)) - 1];
    struct program_rank_row *row = ranks->rows[met >> FIELD_BITS];
    uint64_t number = number_of(value, field->is_time), before = row->values[field->value];
    bool is_rounding = field->is_time && (number > before ? number - before : before - number) <= before / 1000000;
    if ((number || row->known[field->value]) && !is_rounding)
        set(row, field->value, number);
}

/* Which one among the programs of the scope it is of; asked once. */
static bool find_name(struct program_ranks *ranks, const struct segment_info *facts, bool is_gone, struct program_worlds **worlds)
{
    uint64_t end_ns = facts->ended_ns ? facts->ended_ns : ranks->end_ns;
    struct program_life life = { facts->program, facts->realtime_ns, is_gone ? end_ns : UINT64_MAX };
    if (ranks->worlds)
        return true;
    uint32_t program = program_worlds_number(worlds, &life);
    if (!program)
        return false;
    uint32_t world = facts->world < WORLD_MAX ? facts->world : WORLD_MAX;
    ranks->name = (struct rank_name){ (uint32_t)facts->rank, program, world };
    ranks->worlds = worlds;
    return true;
}

static bool tells_life(const struct program_ranks *ranks)
{
    for (size_t i = 0; i < ranks->place_count; i++) {
        uint32_t met = ranks->places[i];
        if (met && fields[(met & 0xffu) - 1].value == MPI_LIFE && !fields[(met & 0xffu) - 1].is_peer)
            return true;
    }
    return false;
}

/* The first row is the rank as a whole. Where calls alone are counted, no function has any time, and nothing else is known. One
 * that was killed lived until it was seen to be gone: with less its time in MPI would be too large a part of it. */
static void sum_up(struct program_ranks *ranks, int32_t size)
{
    uint64_t sums[MPI_LIFE] = { 0 };
    struct program_rank_row *whole = ranks->rows[0];
    for (size_t i = 1; i < ranks->count; i++)
        for (size_t k = 0; !ranks->rows[i]->is_peer && k < MPI_LIFE; k++)
            sums[k] += ranks->rows[i]->values[k];
    for (size_t k = 0; k < MPI_LIFE; k++)
        if (k == MPI_CALLS || sums[MPI_TIME])
            set(whole, k, sums[k]);
    if (size > 0)
        set(whole, MPI_WORLD, (uint64_t)size);
    if (!tells_life(ranks) && ranks->gone_ns > ranks->begin_ns)
        set(whole, MPI_LIFE, ranks->gone_ns - ranks->begin_ns);
}

bool program_ranks_settle(struct program_ranks *ranks, const struct segment_info *facts, bool is_gone,
                          struct program_worlds **worlds)
{
    bool is_new = !ranks->worlds;
    if (!ranks->count || facts->rank < 0)
        return false;
    if (!ranks->is_gone)
        ranks->gone_ns = clock_realtime_ns();
    if (!is_gone || !ranks->end_ns)
        ranks->end_ns = ranks->gone_ns;
    ranks->is_gone = is_gone;
    ranks->begin_ns = facts->realtime_ns;
    if (!find_name(ranks, facts, is_gone, worlds))
        return false;
    sum_up(ranks, facts->size);
    if (is_gone && facts->ended_ns)
        ranks->end_ns = facts->ended_ns;
    if (is_gone)
        end(ranks);
    return is_new && ranks->name.program > 1;
}

void program_ranks_leave(struct program_ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++) {
        struct program_rank_row *row = ranks->rows[i];
        for (size_t k = 0; row->sum && k < MPI_SIZE; k++)
            if (row->known[k])
                program_rank_sums_leave(row->sum, k, row->base[k], row->summed[k]);
    }
}

void program_ranks_move(struct program_ranks *ranks)
{
    program_ranks_leave(ranks);
    end(ranks);
    ranks->worlds = NULL;
    ranks->has_ended = false;
    for (size_t i = 0; i < ranks->count; i++) {
        ranks->rows[i]->sum = NULL;
        memcpy(ranks->rows[i]->summed, ranks->rows[i]->values, sizeof ranks->rows[i]->summed);
        memcpy(ranks->rows[i]->base, ranks->rows[i]->values, sizeof ranks->rows[i]->base);
    }
}

bool program_ranks_keep(struct buf *file, const struct program_ranks *ranks)
{
    bool has_any = false;
    for (size_t i = 0; i < ranks->count; i++) {
        const struct program_rank_row *row = ranks->rows[i];
        has_any |= kept_add_row(file, row->is_peer, row->what, row->base, row->known);
    }
    kept_add_number(file, 0);
    return has_any;
}

void program_ranks_take_kept(struct program_ranks *base, struct unpacker *u)
{
    for (struct kept_row row; kept_take_row(u, &row);) {
        struct program_rank_row *made = add_row(base, row.is_peer, row.what);
        if (!made)
            continue;
        memcpy(made->base, row.values, sizeof made->base);
        memcpy(made->known, row.known, sizeof made->known);
    }
}

/* Those of the board are in the order in which they were kept, with new ones between. */
void program_ranks_begin(struct program_ranks *ranks, const struct program_ranks *base)
{
    for (size_t i = 0, next = 0; i < ranks->count && next < base->count; i++) {
        struct program_rank_row *row = ranks->rows[i];
        const struct program_rank_row *kept = base->rows[next];
        if (row->is_peer != kept->is_peer || strcmp(row->what, kept->what) != 0)
            continue;
        next++;
        memcpy(row->base, kept->base, sizeof row->base);
        memcpy(row->summed, kept->base, sizeof row->summed);
    }
}

/* A peer is a rank of the same world, or all of others together. */
static struct program_rank_sum *sum_of(const struct program_ranks *ranks, const struct program_rank_row *row,
                                       struct program_rank_sums *sums)
{
    char instance[2 * sizeof(struct text) + WHAT_MAX];
    struct rank_name peer = ranks->name;
    struct text mine = rank_name_text(ranks->name);
    const char *at = row->what;
    bool has_number = row->is_peer && strcmp(row->what, RANK_NAME_ELSEWHERE) != 0;
    if (has_number && !(rank_name_read(&at, &peer) && !*at))
        return NULL;
    peer = (struct rank_name){ peer.rank, ranks->name.program, ranks->name.world };
    snprintf(instance, sizeof instance, row->is_peer ? "%s>%s" : "%s/%s", mine.s,
             has_number ? rank_name_text(peer).s : row->what);
    return program_rank_sums_get(sums, row->is_peer, instance);
}

void program_ranks_sum(struct program_ranks *ranks, struct program_rank_sums *sums)
{
    for (size_t i = 0; ranks->worlds && i < ranks->count; i++) {
        struct program_rank_row *row = ranks->rows[i];
        if (row->is_changed && !row->sum)
            row->sum = sum_of(ranks, row, sums);
        if (!row->is_changed || !row->sum)
            continue;
        for (size_t k = 0; k < MPI_SIZE; k++) {
            if (row->known[k])
                program_rank_sums_move(sums, row->sum, k, row->summed[k], row->values[k]);
            row->summed[k] = row->values[k];
        }
        row->is_changed = false;
    }
}
