/* A metric of the segment is recognized by its name once; from then on its index tells which value of which row it is. */
#include "appmetrics/mpi_ranks.h"

#include "base/clock.h"
#include "appmetrics/saved_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_BITS 8u
#define ROWS_MAX (1u << 20)
#define SUBJECT_MAX 128
#define WORLD_MAX 255u /* shared by all that are spawned later, to limit the number of series */

static const struct mpi_field {
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

static void leave_world(struct mpi_ranks *ranks)
{
    if (ranks->worlds && !ranks->has_left)
        mpi_worlds_end_rank(*ranks->worlds, ranks->name.program, ranks->end_ns);
    ranks->has_left = true;
}

void mpi_ranks_clear(struct mpi_ranks *ranks)
{
    leave_world(ranks);
    for (size_t i = 0; i < ranks->rows.count; i++) {
        free(ranks->rows.items[i]->subject);
        free(ranks->rows.items[i]);
    }
    vec_clear(&ranks->rows);
    vec_clear(&ranks->fields);
    *ranks = (struct mpi_ranks){ 0 };
}

static struct mpi_rank_row *add_row(struct mpi_ranks *ranks, bool is_peer, const char *subject)
{
    struct mpi_rank_row *row = calloc(1, sizeof *row);
    if (!row || !(row->subject = strdup(subject)) || vec_push(&ranks->rows, ROWS_MAX, row)) {
        free(row ? row->subject : NULL);
        free(row);
        return NULL;
    }
    row->is_peer = is_peer;
    return row;
}

/* Metrics of one function are adjacent in a segment, so that the search from the end is short. */
static size_t row_of(struct mpi_ranks *ranks, bool is_peer, const char *subject)
{
    if (!ranks->rows.count && !add_row(ranks, false, ""))
        return 0;
    if (!*subject)
        return 0;
    for (size_t i = ranks->rows.count; i > 1; i--)
        if (ranks->rows.items[i - 1]->is_peer == is_peer && strcmp(ranks->rows.items[i - 1]->subject, subject) == 0)
            return i - 1;
    return add_row(ranks, is_peer, subject) ? ranks->rows.count - 1 : 0;
}

/* The value of the only label. False: it is another one, or there is none. */
static bool label_value(struct bytes labels, const char *label, char subject[SUBJECT_MAX])
{
    size_t name = strlen(label);
    subject[0] = '\0';
    if (!*label)
        return labels.size == 0;
    if (labels.size < name + 4 || memcmp(labels.data, label, name) != 0 || memcmp(labels.data + name, "=\"", 2) != 0
        || labels.data[labels.size - 1] != '"')
        return false;
    size_t size = labels.size - name - 3;
    if (size >= SUBJECT_MAX || memchr(labels.data + name + 2, '"', size) || memchr(labels.data + name + 2, '\\', size)
        || memchr(labels.data + name + 2, '\0', size))
        return false;
    memcpy(subject, labels.data + name + 2, size);
    subject[size] = '\0';
    return true;
}

static uint32_t recognize(struct mpi_ranks *ranks, const struct segment_value *value)
{
    char subject[SUBJECT_MAX];
    for (size_t i = 0; value->kind == SEGMENT_COUNTER && i < sizeof fields / sizeof *fields; i++) {
        if (!bytes_equal(value->name, bytes_of(fields[i].name)) || !label_value(value->labels, fields[i].label, subject))
            continue;
        size_t row = row_of(ranks, fields[i].is_peer, subject);
        return row || !*subject ? (uint32_t)(row << FIELD_BITS | (i + 1)) : 0;
    }
    return 0;
}

static void set(struct mpi_rank_row *row, size_t at, uint64_t value)
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

static const struct mpi_field *field_of(uint32_t place)
{
    return &fields[(place & ((1u << FIELD_BITS) - 1)) - 1];
}

void mpi_ranks_add_value(struct mpi_ranks *ranks, size_t index, const struct segment_value *value)
{
    if (index == ranks->fields.count && vec_push(&ranks->fields, VEC_MAX, recognize(ranks, value)))
        return;
    uint32_t place = index < ranks->fields.count ? ranks->fields.items[index] : 0;
    if (!place)
        return;
    const struct mpi_field *field = field_of(place);
    struct mpi_rank_row *row = ranks->rows.items[place >> FIELD_BITS];
    uint64_t number = number_of(value, field->is_time), before = row->values[field->value];
    bool is_rounding = field->is_time && (number > before ? number - before : before - number) <= before / 1000000;
    if ((number || row->known[field->value]) && !is_rounding)
        set(row, field->value, number);
}

/* The number of its program in the scope; looked up once. */
static bool find_name(struct mpi_ranks *ranks, const struct segment_info *info, bool is_finished, struct mpi_worlds **worlds)
{
    uint64_t end_ns = info->ended_ns ? info->ended_ns : ranks->end_ns;
    struct mpi_lifetime lifetime = { info->program, info->realtime_ns, is_finished ? end_ns : UINT64_MAX };
    if (ranks->worlds)
        return true;
    uint32_t program = mpi_worlds_assign(worlds, &lifetime);
    if (!program)
        return false;
    uint32_t world = info->world < WORLD_MAX ? info->world : WORLD_MAX;
    ranks->name = (struct rank_name){ (uint32_t)info->rank, program, world };
    ranks->worlds = worlds;
    return true;
}

static bool counts_lifetime(const struct mpi_ranks *ranks)
{
    for (size_t i = 0; i < ranks->fields.count; i++) {
        const struct mpi_field *field = ranks->fields.items[i] ? field_of(ranks->fields.items[i]) : NULL;
        if (field && field->value == MPI_LIFE && !field->is_peer)
            return true;
    }
    return false;
}

/* The first row is the rank as a whole. If only calls are counted, no function has any time, and nothing else is
 * known. A killed program is assumed to have run until it was found to have ended: else its time in MPI would be too
 * large a part. */
static void sum_up(struct mpi_ranks *ranks, int32_t size)
{
    uint64_t sums[MPI_LIFE] = { 0 };
    struct mpi_rank_row *whole = ranks->rows.items[0];
    for (size_t i = 1; i < ranks->rows.count; i++)
        for (size_t k = 0; !ranks->rows.items[i]->is_peer && k < MPI_LIFE; k++)
            sums[k] += ranks->rows.items[i]->values[k];
    for (size_t k = 0; k < MPI_LIFE; k++)
        if (k == MPI_CALLS || sums[MPI_TIME])
            set(whole, k, sums[k]);
    if (size > 0)
        set(whole, MPI_WORLD, (uint64_t)size);
    if (!counts_lifetime(ranks) && ranks->gone_ns > ranks->begin_ns)
        set(whole, MPI_LIFE, ranks->gone_ns - ranks->begin_ns);
}

bool mpi_ranks_finish_reading(struct mpi_ranks *ranks, const struct segment_info *info, bool is_finished,
                              struct mpi_worlds **worlds)
{
    bool is_new = !ranks->worlds;
    if (!ranks->rows.count || info->rank < 0)
        return false;
    if (!ranks->is_finished)
        ranks->gone_ns = clock_realtime_ns();
    if (!is_finished || !ranks->end_ns)
        ranks->end_ns = ranks->gone_ns;
    ranks->is_finished = is_finished;
    ranks->begin_ns = info->realtime_ns;
    if (!find_name(ranks, info, is_finished, worlds))
        return false;
    sum_up(ranks, info->size);
    if (is_finished && info->ended_ns)
        ranks->end_ns = info->ended_ns;
    if (is_finished)
        leave_world(ranks);
    return is_new && ranks->name.program > 1;
}

void mpi_ranks_leave(struct mpi_ranks *ranks)
{
    for (size_t i = 0; i < ranks->rows.count; i++) {
        struct mpi_rank_row *row = ranks->rows.items[i];
        for (size_t k = 0; row->sum && k < MPI_SIZE; k++)
            if (row->known[k])
                mpi_rank_sums_leave(row->sum, k, row->base[k], row->summed[k]);
    }
}

void mpi_ranks_move(struct mpi_ranks *ranks)
{
    mpi_ranks_leave(ranks);
    leave_world(ranks);
    ranks->worlds = NULL;
    ranks->has_left = false;
    for (size_t i = 0; i < ranks->rows.count; i++) {
        ranks->rows.items[i]->sum = NULL;
        memcpy(ranks->rows.items[i]->summed, ranks->rows.items[i]->values, sizeof ranks->rows.items[i]->summed);
        memcpy(ranks->rows.items[i]->base, ranks->rows.items[i]->values, sizeof ranks->rows.items[i]->base);
    }
}

bool mpi_ranks_save(struct buf *file, const struct mpi_ranks *ranks)
{
    bool has_any = false;
    for (size_t i = 0; i < ranks->rows.count; i++) {
        const struct mpi_rank_row *row = ranks->rows.items[i];
        has_any |= saved_add_row(file, row->is_peer, row->subject, row->base, row->known);
    }
    saved_add_number(file, 0);
    return has_any;
}

void mpi_ranks_read(struct mpi_ranks *base, struct unpacker *u)
{
    for (struct saved_row row; saved_take_row(u, &row);) {
        struct mpi_rank_row *made = add_row(base, row.is_peer, row.subject);
        if (!made)
            continue;
        memcpy(made->base, row.values, sizeof made->base);
        memcpy(made->known, row.known, sizeof made->known);
    }
}

/* The rows of the segment are in the order in which they were saved, with new ones in between. */
void mpi_ranks_apply_baseline(struct mpi_ranks *ranks, const struct mpi_ranks *base)
{
    for (size_t i = 0, next = 0; i < ranks->rows.count && next < base->rows.count; i++) {
        struct mpi_rank_row *row = ranks->rows.items[i];
        const struct mpi_rank_row *saved = base->rows.items[next];
        if (row->is_peer != saved->is_peer || strcmp(row->subject, saved->subject) != 0)
            continue;
        next++;
        memcpy(row->base, saved->base, sizeof row->base);
        memcpy(row->summed, saved->base, sizeof row->summed);
    }
}

/* A peer is a rank of the same world, or all ranks of other worlds together. */
static struct mpi_rank_sum *sum_of(const struct mpi_ranks *ranks, const struct mpi_rank_row *row,
                                       struct mpi_rank_sums *sums)
{
    char instance[2 * sizeof(struct format_text) + SUBJECT_MAX];
    struct rank_name peer = ranks->name;
    struct format_text mine = rank_name_string(ranks->name);
    const char *at = row->subject;
    bool has_number = row->is_peer && strcmp(row->subject, RANK_NAME_ELSEWHERE) != 0;
    if (has_number && !(rank_name_read(&at, &peer) && !*at))
        return NULL;
    peer = (struct rank_name){ peer.rank, ranks->name.program, ranks->name.world };
    snprintf(instance, sizeof instance, row->is_peer ? "%s>%s" : "%s/%s", mine.s,
             has_number ? rank_name_string(peer).s : row->subject);
    return mpi_rank_sums_get(sums, row->is_peer, instance);
}

void mpi_ranks_sum(struct mpi_ranks *ranks, struct mpi_rank_sums *sums)
{
    for (size_t i = 0; ranks->worlds && i < ranks->rows.count; i++) {
        struct mpi_rank_row *row = ranks->rows.items[i];
        if (row->is_changed && !row->sum)
            row->sum = sum_of(ranks, row, sums);
        if (!row->is_changed || !row->sum)
            continue;
        for (size_t k = 0; k < MPI_SIZE; k++) {
            if (row->known[k])
                mpi_rank_sums_update(sums, row->sum, k, row->summed[k], row->values[k]);
            row->summed[k] = row->values[k];
        }
        row->is_changed = false;
    }
}
