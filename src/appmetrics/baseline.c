/* In the file: boards, which an empty name ends, each with its inode and its metrics, which the hash 0 ends: hash of the name,
 * base and what of it was in no job, then how many buckets, of which each has both. A counter has no buckets. Then boards once
 * more, each with what ranks.c writes. */
#include "appmetrics/baseline.h"

#include "base/clock.h"
#include "appmetrics/state_format.h"
#include "appmetrics/cells.h"

#include <math.h>
#include <stdlib.h>

#define NAME_ROOM 256

struct item {
    uint64_t hash; /* of the metric's name */
    double base, outside;
    size_t bucket_count;
    double *buckets; /* bases, then what of them was in no job; NULL: none */
};

struct program_base {
    struct program_base *next;
    uint64_t inode;
    struct item *items; /* by their hash, once all are there */
    size_t count, room;
    struct program_ranks ranks; /* their bases */
    char name[];
};

void program_base_free(struct program_base **base)
{
    struct program_base *old = *base;
    if (!old)
        return;
    for (size_t i = 0; i < old->count; i++)
        free(old->items[i].buckets);
    free(old->items);
    program_ranks_clear(&old->ranks);
    free(old);
    *base = NULL;
}

void program_bases_clear(struct program_bases *bases)
{
    while (bases->list) {
        struct program_base *first = bases->list;
        bases->list = first->next;
        program_base_free(&first);
    }
}

/* Where the list has that of a board; NULL there: nowhere. */
static struct program_base **place_of(struct program_bases *bases, const char *name, uint64_t inode)
{
    struct program_base **at = &bases->list;
    while (*at && !((*at)->inode == inode && strcmp((*at)->name, name) == 0))
        at = &(*at)->next;
    return at;
}

static size_t buckets_of(const struct program_metric *metric)
{
    return metric->kind == PROGRAM_HISTOGRAM ? metric->bound_count + 1 : 0;
}

/* Both may be infinite, and what a program wrote over itself may have fallen. */
static double grown(double value, double base)
{
    return value == base ? 0 : value - base;
}

void program_bases_move(struct program_table *table, struct program_hold *hold)
{
    size_t buckets = buckets_of(hold->cell->metric);
    bool is_outside = hold->cell->scope->kind != PROGRAM_JOB;
    double fresh = grown(hold->value, hold->base);
    if (is_outside && (buckets ? !isnan(fresh) : fresh > 0))
        hold->outside += fresh;
    for (size_t i = 0; i < buckets; i++) {
        if (is_outside)
            hold->outside_buckets[i] += fmax(0, hold->buckets[i] - hold->base_buckets[i]);
        hold->base_buckets[i] = hold->buckets[i];
    }
    hold->base = hold->value;
    table->has_news_to_keep = true;
}

/* --- the file --- */

static bool has_base(const struct program_hold *hold)
{
    bool has = hold->cell->metric->kind != PROGRAM_GAUGE && hold->base != 0;
    for (size_t i = 0; !has && i < buckets_of(hold->cell->metric); i++)
        has = hold->base_buckets[i] > 0;
    return has && !isnan(hold->base) && !isnan(hold->outside);
}

static void begin_board(struct buf *file, const char *name, uint64_t inode)
{
    kept_add_text(file, bytes_of(name));
    kept_add_number(file, inode);
}

static void add_item(struct buf *file, const struct item *item)
{
    kept_add_number(file, item->hash);
    kept_add_double(file, item->base);
    kept_add_double(file, item->outside);
    kept_add_number(file, item->bucket_count);
    for (size_t i = 0; i < 2 * item->bucket_count; i++)
        kept_add_double(file, item->buckets[i]);
}

/* A counter's part is not more than the whole, though the whole may have fallen since. */
static void add_hold(struct buf *file, const struct program_hold *hold)
{
    const struct program_metric *metric = hold->cell->metric;
    double buckets[2 * (PROGRAM_BOUNDS_MAX + 1)];
    struct item item = { metric->hash, hold->base, hold->outside, buckets_of(metric), buckets };
    if (!item.bucket_count)
        item.outside = fmin(item.outside, item.base);
    for (size_t i = 0; i < item.bucket_count; i++) {
        buckets[i] = hold->base_buckets[i];
        buckets[item.bucket_count + i] = fmin(hold->outside_buckets[i], hold->base_buckets[i]);
    }
    add_item(file, &item);
}

bool program_bases_add(struct buf *file, const char *name, uint64_t inode, struct program_hold *const *holds, size_t count)
{
    bool is_begun = false;
    for (size_t i = 0; i < count; i++) {
        if (!holds[i] || !has_base(holds[i]))
            continue;
        if (!is_begun)
            begin_board(file, name, inode);
        is_begun = true;
        add_hold(file, holds[i]);
    }
    if (is_begun)
        kept_add_number(file, 0);
    return is_begun;
}

bool program_bases_add_all(struct buf *file, const struct program_bases *bases)
{
    for (const struct program_base *base = bases->list; base; base = base->next) {
        begin_board(file, base->name, base->inode);
        for (size_t i = 0; i < base->count; i++)
            add_item(file, &base->items[i]);
        kept_add_number(file, 0);
    }
    return bases->list != NULL;
}

bool program_bases_add_ranks(struct buf *file, const char *name, uint64_t inode, const struct program_ranks *ranks)
{
    begin_board(file, name, inode);
    return program_ranks_keep(file, ranks);
}

bool program_bases_add_all_ranks(struct buf *file, const struct program_bases *bases)
{
    bool has_any = false;
    for (const struct program_base *base = bases->list; base; base = base->next)
        has_any |= program_bases_add_ranks(file, base->name, base->inode, &base->ranks);
    return has_any;
}

void program_bases_end(struct buf *file)
{
    kept_add_text(file, (struct bytes){ 0 });
}

static void take_buckets(struct item *item, struct unpacker *u)
{
    u->bad |= item->bucket_count > PROGRAM_BOUNDS_MAX + 1;
    if (u->bad || !item->bucket_count || !(item->buckets = calloc(2 * item->bucket_count, sizeof *item->buckets)))
        return;
    for (size_t i = 0; i < 2 * item->bucket_count; i++) {
        double most = i < item->bucket_count ? INFINITY : item->buckets[i - item->bucket_count];
        item->buckets[i] = kept_take_double(u);
        u->bad |= !(item->buckets[i] >= 0 && item->buckets[i] <= most) || isinf(item->buckets[i]);
    }
}

static bool grow(struct program_base *base)
{
    if (base->count < base->room)
        return true;
    size_t room = base->room ? 2 * base->room : 16;
    struct item *items = realloc(base->items, room * sizeof *items);
    if (!items)
        return false;
    base->items = items;
    base->room = room;
    return true;
}

static void take_item(struct program_base *base, uint64_t hash, struct unpacker *u)
{
    struct item item = { .hash = hash, .base = kept_take_double(u), .outside = kept_take_double(u) };
    item.bucket_count = (size_t)unpack_number(u);
    u->bad |= isnan(item.base) || isnan(item.outside);
    u->bad |= !item.bucket_count && !(item.outside >= 0 && item.outside <= item.base);
    take_buckets(&item, u);
    if (!u->bad && !item.bucket_count == !item.buckets && grow(base))
        base->items[base->count++] = item;
    else
        free(item.buckets);
}

static int compare(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    return (first->hash > second->hash) - (first->hash < second->hash);
}

static struct program_base *make_base(struct program_bases *bases, const char *name, uint64_t inode)
{
    struct program_base *base = calloc(1, sizeof *base + strlen(name) + 1);
    if (!base)
        return NULL;
    memcpy(base->name, name, strlen(name) + 1);
    base->inode = inode;
    base->next = bases->list;
    bases->list = base;
    return base;
}

/* The board that comes next; NULL: it was the last one, or no memory is left, and nothing behind it can be taken. */
static struct program_base *take_board(struct program_bases *bases, struct unpacker *u)
{
    char name[NAME_ROOM];
    u->bad |= !kept_take_text(u, name, sizeof name);
    if (u->bad || !*name)
        return NULL;
    uint64_t inode = unpack_number(u);
    struct program_base *base = *place_of(bases, name, inode);
    if (!base)
        base = make_base(bases, name, inode);
    u->bad |= !base;
    return base;
}

void program_bases_take(struct program_bases *bases, struct unpacker *u)
{
    for (struct program_base *base; (base = take_board(bases, u));) {
        for (uint64_t hash; (hash = unpack_number(u)) && !u->bad;)
            take_item(base, hash, u);
        if (base->count)
            qsort(base->items, base->count, sizeof *base->items, compare);
    }
}

void program_bases_take_ranks(struct program_bases *bases, struct unpacker *u)
{
    for (struct program_base *base; (base = take_board(bases, u));)
        program_ranks_take_kept(&base->ranks, u);
}

/* --- the board is there again --- */

struct program_base *program_bases_find(struct program_bases *bases, const char *name, uint64_t inode)
{
    struct program_base **at = place_of(bases, name, inode), *found = *at;
    if (found)
        *at = found->next;
    return found;
}

void program_base_begin(const struct program_base *base, struct program_ranks *ranks)
{
    program_ranks_begin(ranks, &base->ranks);
}

static void count_outside(struct program_table *table, struct program_cell *cell, const struct item *item)
{
    uint64_t now_ns = clock_realtime_ns();
    if (item->bucket_count)
        program_cell_observe(table, cell, item->buckets + item->bucket_count, item->outside, now_ns);
    else if (isinf(item->outside))
        program_cell_overflow(table, cell, now_ns);
    else if (item->outside > 0)
        program_cell_add(table, cell, item->outside, now_ns);
}

void program_base_apply(const struct program_base *base, struct program_table *table, struct program_hold *hold,
                        struct program_scope *user)
{
    const struct item key = { .hash = hold->cell->metric->hash };
    const struct item *item = base->count ? bsearch(&key, base->items, base->count, sizeof key, compare) : NULL;
    if (!item || hold->cell->metric->kind == PROGRAM_GAUGE || item->bucket_count != buckets_of(hold->cell->metric))
        return;
    hold->value = hold->base = item->base;
    hold->outside = item->outside;
    for (size_t i = 0; i < item->bucket_count; i++) {
        hold->buckets[i] = hold->base_buckets[i] = item->buckets[i];
        hold->outside_buckets[i] = item->buckets[item->bucket_count + i];
    }
    struct program_cell *cell = user ? program_cell_of(table, hold->cell->metric, user) : NULL;
    if (cell)
        count_outside(table, cell, item);
}
