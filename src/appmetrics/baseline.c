/* In the file: segments, ended by an empty name, each with its inode and its metrics, ended by the hash 0. A metric is
 * the hash of its name, the baseline and what part of it was in no job, the number of buckets (of a counter 0), and
 * both for each bucket. Then the segments again, each with what mpi_ranks.c writes. */
#include "appmetrics/baseline.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "appmetrics/saved_format.h"

#include <math.h>
#include <stdlib.h>

#define NAME_SIZE 256

struct baseline_metric {
    uint64_t hash; /* of its name: base/hash.h */
    double base, outside;
    size_t bucket_count;
    double *buckets; /* baselines, then the parts of them in no job; NULL: none */
};

struct baseline {
    struct baseline *next;
    uint64_t inode;
    VEC(struct baseline_metric) metrics; /* sorted by hash, once all were read */
    struct mpi_ranks ranks; /* only their baselines */
    char name[];
};

void baseline_free(struct baseline **base)
{
    struct baseline *old = *base;
    if (!old)
        return;
    for (size_t i = 0; i < old->metrics.count; i++)
        free(old->metrics.items[i].buckets);
    vec_clear(&old->metrics);
    mpi_ranks_clear(&old->ranks);
    free(old);
    *base = NULL;
}

void baselines_clear(struct baselines *baselines)
{
    while (baselines->list) {
        struct baseline *first = baselines->list;
        baselines->list = first->next;
        baseline_free(&first);
    }
}

/* Where the list has that of a segment; *NULL: nowhere. */
static struct baseline **find(struct baselines *baselines, const char *name, uint64_t inode)
{
    struct baseline **at = &baselines->list;
    while (*at && !((*at)->inode == inode && strcmp((*at)->name, name) == 0))
        at = &(*at)->next;
    return at;
}

static uint64_t hash_of(const struct program_metric *metric)
{
    return hash_add(HASH_START, metric->name.text, metric->name.size);
}

static size_t buckets_of(const struct program_metric *metric)
{
    return metric->kind == PROGRAM_HISTOGRAM ? metric->bound_count + 1 : 0;
}

/* Both may be infinite; and a program may have overwritten its total with a smaller one. */
static double grown(double value, double base)
{
    return value == base ? 0 : value - base;
}

void baseline_move(struct registry *registry, struct contribution *contribution)
{
    size_t buckets = buckets_of(contribution->cell->metric);
    bool is_outside = contribution->cell->scope->kind != SCOPE_JOB;
    double fresh = grown(contribution->value.total, contribution->base.total);
    if (is_outside && (buckets ? !isnan(fresh) : fresh > 0))
        contribution->outside.total += fresh;
    for (size_t i = 0; i < buckets; i++) {
        if (is_outside)
            contribution->outside.buckets[i] += fmax(0, contribution->value.buckets[i] - contribution->base.buckets[i]);
        contribution->base.buckets[i] = contribution->value.buckets[i];
    }
    contribution->base.total = contribution->value.total;
    registry->has_unsaved = true;
}

/* --- the file --- */

static bool has_baseline(const struct contribution *contribution)
{
    bool has = contribution->cell->metric->kind != PROGRAM_GAUGE && contribution->base.total != 0;
    for (size_t i = 0; !has && i < buckets_of(contribution->cell->metric); i++)
        has = contribution->base.buckets[i] > 0;
    return has && !isnan(contribution->base.total) && !isnan(contribution->outside.total);
}

static void begin_segment(struct buf *file, const char *name, uint64_t inode)
{
    saved_add_string(file, bytes_of(name));
    saved_add_number(file, inode);
}

static void add_metric(struct buf *file, const struct baseline_metric *item)
{
    saved_add_number(file, item->hash);
    saved_add_double(file, item->base);
    saved_add_double(file, item->outside);
    saved_add_number(file, item->bucket_count);
    for (size_t i = 0; i < 2 * item->bucket_count; i++)
        saved_add_double(file, item->buckets[i]);
}

/* The part of a counter is not more than the whole, which may have become smaller since. */
static void add_contribution(struct buf *file, const struct contribution *contribution)
{
    const struct program_metric *metric = contribution->cell->metric;
    double buckets[2 * (METRIC_BOUNDS_MAX + 1)];
    struct baseline_metric item = {
        hash_of(metric), contribution->base.total, contribution->outside.total, buckets_of(metric), buckets,
    };
    if (!item.bucket_count)
        item.outside = fmin(item.outside, item.base);
    for (size_t i = 0; i < item.bucket_count; i++) {
        buckets[i] = contribution->base.buckets[i];
        buckets[item.bucket_count + i] = fmin(contribution->outside.buckets[i], contribution->base.buckets[i]);
    }
    add_metric(file, &item);
}

bool baselines_write(struct buf *file, const char *name, uint64_t inode, struct contribution *const *contributions,
                     size_t count)
{
    bool is_begun = false;
    for (size_t i = 0; i < count; i++) {
        if (!contributions[i] || !has_baseline(contributions[i]))
            continue;
        if (!is_begun)
            begin_segment(file, name, inode);
        is_begun = true;
        add_contribution(file, contributions[i]);
    }
    if (is_begun)
        saved_add_number(file, 0);
    return is_begun;
}

bool baselines_write_all(struct buf *file, const struct baselines *baselines)
{
    for (const struct baseline *baseline = baselines->list; baseline; baseline = baseline->next) {
        begin_segment(file, baseline->name, baseline->inode);
        for (size_t i = 0; i < baseline->metrics.count; i++)
            add_metric(file, &baseline->metrics.items[i]);
        saved_add_number(file, 0);
    }
    return baselines->list != NULL;
}

bool baselines_write_ranks(struct buf *file, const char *name, uint64_t inode, const struct mpi_ranks *ranks)
{
    begin_segment(file, name, inode);
    return mpi_ranks_save(file, ranks);
}

bool baselines_write_all_ranks(struct buf *file, const struct baselines *baselines)
{
    bool has_any = false;
    for (const struct baseline *base = baselines->list; base; base = base->next)
        has_any |= baselines_write_ranks(file, base->name, base->inode, &base->ranks);
    return has_any;
}

void baselines_write_end(struct buf *file)
{
    saved_add_string(file, (struct bytes){ 0 });
}

static void read_buckets(struct baseline_metric *item, struct unpacker *u)
{
    u->bad |= item->bucket_count > METRIC_BOUNDS_MAX + 1;
    if (u->bad || !item->bucket_count || !(item->buckets = calloc(2 * item->bucket_count, sizeof *item->buckets)))
        return;
    for (size_t i = 0; i < 2 * item->bucket_count; i++) {
        double most = i < item->bucket_count ? INFINITY : item->buckets[i - item->bucket_count];
        item->buckets[i] = saved_take_double(u);
        u->bad |= !(item->buckets[i] >= 0 && item->buckets[i] <= most) || isinf(item->buckets[i]);
    }
}

static void read_metric(struct baseline *baseline, uint64_t hash, struct unpacker *u)
{
    struct baseline_metric item = { .hash = hash, .base = saved_take_double(u), .outside = saved_take_double(u) };
    item.bucket_count = (size_t)unpack_number(u);
    u->bad |= isnan(item.base) || isnan(item.outside);
    u->bad |= !item.bucket_count && !(item.outside >= 0 && item.outside <= item.base);
    read_buckets(&item, u);
    if (u->bad || !item.bucket_count != !item.buckets || vec_push(&baseline->metrics, VEC_MAX, item))
        free(item.buckets);
}

static int compare(const void *a, const void *b)
{
    const struct baseline_metric *first = a, *second = b;
    return (first->hash > second->hash) - (first->hash < second->hash);
}

static struct baseline *create(struct baselines *baselines, const char *name, uint64_t inode)
{
    struct baseline *base = calloc(1, sizeof *base + strlen(name) + 1);
    if (!base)
        return NULL;
    memcpy(base->name, name, strlen(name) + 1);
    base->inode = inode;
    base->next = baselines->list;
    baselines->list = base;
    return base;
}

/* The next segment; NULL: there is none, or no memory is left and nothing after it can be read. */
static struct baseline *read_segment(struct baselines *baselines, struct unpacker *u)
{
    char name[NAME_SIZE];
    u->bad |= !saved_take_string(u, name, sizeof name);
    if (u->bad || !*name)
        return NULL;
    uint64_t inode = unpack_number(u);
    struct baseline *base = *find(baselines, name, inode);
    if (!base)
        base = create(baselines, name, inode);
    u->bad |= !base;
    return base;
}

void baselines_read(struct baselines *baselines, struct unpacker *u)
{
    for (struct baseline *baseline; (baseline = read_segment(baselines, u));) {
        for (uint64_t hash; (hash = unpack_number(u)) && !u->bad;)
            read_metric(baseline, hash, u);
        if (baseline->metrics.count)
            qsort(baseline->metrics.items, baseline->metrics.count, sizeof *baseline->metrics.items, compare);
    }
}

void baselines_read_ranks(struct baselines *baselines, struct unpacker *u)
{
    for (struct baseline *baseline; (baseline = read_segment(baselines, u));)
        mpi_ranks_read(&baseline->ranks, u);
}

/* --- the segment is opened again --- */

struct baseline *baselines_take(struct baselines *baselines, const char *name, uint64_t inode)
{
    struct baseline **at = find(baselines, name, inode), *found = *at;
    if (found)
        *at = found->next;
    return found;
}

void baseline_apply_ranks(const struct baseline *baseline, struct mpi_ranks *ranks)
{
    mpi_ranks_apply_baseline(ranks, &baseline->ranks);
}

static void count_outside(struct cell *cell, const struct baseline_metric *item)
{
    uint64_t now_ns = clock_realtime_ns();
    if (item->bucket_count)
        cell_observe(cell, item->buckets + item->bucket_count, item->outside, now_ns);
    else if (isinf(item->outside))
        cell_overflow(cell, now_ns);
    else if (item->outside > 0)
        cell_add(cell, item->outside, now_ns);
}

void baseline_apply(const struct baseline *baseline, struct registry *registry, struct contribution *contribution,
                    struct scope *user)
{
    struct program_metric *metric = contribution->cell->metric;
    const struct baseline_metric key = { .hash = hash_of(metric) }, *item = NULL;
    if (baseline->metrics.count)
        item = bsearch(&key, baseline->metrics.items, baseline->metrics.count, sizeof key, compare);
    if (!item || metric->kind == PROGRAM_GAUGE || item->bucket_count != buckets_of(metric))
        return;
    contribution->value.total = contribution->base.total = item->base;
    contribution->outside.total = item->outside;
    for (size_t i = 0; i < item->bucket_count; i++) {
        contribution->value.buckets[i] = contribution->base.buckets[i] = item->buckets[i];
        contribution->outside.buckets[i] = item->buckets[item->bucket_count + i];
    }
    struct cell *cell = user ? registry_cell(registry, metric, user) : NULL;
    if (cell)
        count_outside(cell, item);
}
