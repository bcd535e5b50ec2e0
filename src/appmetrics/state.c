/* Numbers and texts as in model/pack.h: what it is, which start of the machine it is of; boards, which an empty name ends; jobs
 * with their metrics, which an empty id and an empty name end: of each what is kept, and what of that is in a profile; the bases
 * of baseline.h; jobs once more, with the sums of their ranks and the numbers of their programs. Files of older agents end
 * before the bases, or before those of ranks. Doubles are their bits. */
#include "appmetrics/state.h"

#include "base/clock.h"
#include "base/state_file.h"
#include "appmetrics/state_format.h"
#include "appmetrics/cells.h"

#include <math.h>
#include <stdlib.h>

#define KIND "sonde kept 4"
#define KIND_WITHOUT_RANKS "sonde kept 3"
#define KIND_WITHOUT_BASES "sonde kept 2"
#define TEXT_MAX 256

static bool is_kept(const struct program_cell *cell)
{
    return cell->scope->kind == PROGRAM_JOB && cell->metric->kind != PROGRAM_GAUGE && !program_cell_is_counted(cell);
}

void program_kept_add(struct program_table *table, struct program_cell *cell, double increment)
{
    if (!is_kept(cell) || !(increment > 0))
        return;
    cell->kept += increment;
    table->has_news_to_keep = true;
}

/* base: what of them is elsewhere; NULL: nothing. */
static void keep_buckets(struct program_cell *cell, const double *buckets, const double *base)
{
    size_t count = cell->metric->bound_count + 1;
    if (!cell->kept_buckets)
        cell->kept_buckets = calloc(count, sizeof *cell->kept_buckets);
    for (size_t i = 0; cell->kept_buckets && i < count; i++)
        cell->kept_buckets[i] += buckets[i] - (base ? fmin(base[i], buckets[i]) : 0);
}

void program_kept_leave(struct program_table *table, const struct program_hold *hold)
{
    struct program_cell *cell = hold->cell;
    double own = hold->value == hold->base ? 0 : hold->value - hold->base; /* both may be infinite */
    if (!is_kept(cell))
        return;
    if (cell->metric->kind == PROGRAM_COUNTER) {
        program_kept_add(table, cell, own);
        return;
    }
    keep_buckets(cell, hold->buckets, hold->base_buckets);
    cell->kept += isnan(own) ? 0 : own;
    table->has_news_to_keep = true;
}

void program_kept_begin(struct buf *file)
{
    char boot[KEEP_BOOT_MAX];
    keep_boot(boot);
    kept_add_text(file, bytes_of(KIND));
    kept_add_text(file, bytes_of(boot));
}

void program_kept_board(struct buf *file, const char *name, uint64_t inode)
{
    kept_add_text(file, bytes_of(name));
    kept_add_number(file, inode);
}

static void add_cell(struct buf *file, const struct program_cell *cell)
{
    const struct program_metric *metric = cell->metric;
    size_t bounds = metric->kind == PROGRAM_HISTOGRAM ? metric->bound_count : 0;
    kept_add_text(file, (struct bytes){ metric->name, metric->name_size });
    kept_add_text(file, bytes_of(metric->doc));
    kept_add_text(file, bytes_of(metric->unit));
    kept_add_number(file, metric->kind);
    kept_add_double(file, cell->kept);
    kept_add_double(file, metric->kind == PROGRAM_COUNTER ? fmin(cell->dumped, cell->kept) : 0);
    if (metric->kind != PROGRAM_HISTOGRAM)
        return;
    kept_add_number(file, bounds);
    for (size_t i = 0; i < bounds; i++)
        kept_add_double(file, metric->bounds[i]);
    for (size_t i = 0; i <= bounds; i++)
        kept_add_double(file, cell->kept_buckets[i]);
}

static bool has_kept(const struct program_cell *cell)
{
    return cell->metric->kind == PROGRAM_HISTOGRAM ? cell->kept_buckets != NULL : cell->kept > 0;
}

static bool add_scope(struct buf *file, const struct program_scope *scope)
{
    bool is_begun = false;
    for (const struct program_cell *cell = scope->cells; cell; cell = cell->next_in_scope) {
        if (!has_kept(cell))
            continue;
        if (!is_begun) {
            kept_add_text(file, bytes_of(scope->job));
            kept_add_number(file, scope->uid);
        }
        is_begun = true;
        add_cell(file, cell);
    }
    if (is_begun)
        kept_add_text(file, (struct bytes){ 0 });
    return is_begun;
}

bool program_kept_end(struct program_table *table, struct buf *file)
{
    bool has_any = false;
    kept_add_text(file, (struct bytes){ 0 });
    for (const struct program_scope *scope = table->scopes; scope; scope = scope->next)
        if (scope->kind == PROGRAM_JOB)
            has_any |= add_scope(file, scope);
    kept_add_text(file, (struct bytes){ 0 });
    table->has_news_to_keep = false;
    return has_any;
}

bool program_kept_ranks(const struct program_table *table, struct buf *file)
{
    bool has_any = false;
    for (const struct program_scope *scope = table->scopes; scope; scope = scope->next) {
        if (scope->kind != PROGRAM_JOB || (!scope->ranks.count && !scope->worlds))
            continue;
        kept_add_text(file, bytes_of(scope->job));
        kept_add_number(file, scope->uid);
        has_any |= program_rank_sums_keep(file, &scope->ranks);
        has_any |= program_worlds_keep(file, scope->worlds);
    }
    kept_add_text(file, (struct bytes){ 0 });
    return has_any;
}

/* Of a histogram as it stands in the file. */
struct histogram {
    double bounds[PROGRAM_BOUNDS_MAX], buckets[PROGRAM_BOUNDS_MAX + 1];
    size_t bound_count;
};

static void unpack_histogram(struct unpacker *u, struct histogram *histogram)
{
    uint64_t count = unpack_number(u);
    u->bad |= count > PROGRAM_BOUNDS_MAX;
    histogram->bound_count = u->bad ? 0 : (size_t)count;
    for (size_t i = 0; i < histogram->bound_count; i++) {
        histogram->bounds[i] = kept_take_double(u);
        u->bad |= i ? !(histogram->bounds[i] > histogram->bounds[i - 1]) : isnan(histogram->bounds[i]);
    }
    for (size_t i = 0; i <= histogram->bound_count; i++) {
        histogram->buckets[i] = kept_take_double(u);
        u->bad |= !(histogram->buckets[i] >= 0) || isinf(histogram->buckets[i]);
    }
}

static void put(struct program_table *table, struct program_cell *cell, double kept, const struct histogram *histogram)
{
    uint64_t now_ns = clock_realtime_ns();
    if (cell->metric->kind == PROGRAM_HISTOGRAM) {
        if (!program_cell_observe(table, cell, histogram->buckets, kept, now_ns))
            return;
        keep_buckets(cell, histogram->buckets, NULL);
        cell->kept += kept;
    } else if (isinf(kept)) {
        program_cell_overflow(table, cell, now_ns);
        program_kept_add(table, cell, kept);
    } else if (program_cell_add(table, cell, kept, now_ns)) {
        program_kept_add(table, cell, kept);
    }
}

/* Its other names have it in the profile. */
static void put_dumped(struct program_cell *cell, double dumped)
{
    for (struct program_cell **alias = cell->aliases; alias && *alias; alias++)
        put_dumped(*alias, dumped);
    cell->dumped += dumped;
    cell->scope->is_dumped = true;
}

/* What has no room here is left out, as it would be if a program told it. */
static void take_metric(struct program_table *table, struct program_scope *scope, struct bytes name, struct unpacker *u)
{
    struct histogram histogram = { .bound_count = 0 };
    struct program_description description = { .name = name, .doc = unpack_text(u), .unit = unpack_text(u), .scope = scope };
    uint64_t kind = unpack_number(u);
    double kept = kept_take_double(u), dumped = kept_take_double(u);
    struct program_metric *metric;
    u->bad |= kind != PROGRAM_COUNTER && kind != PROGRAM_HISTOGRAM;
    u->bad |= dumped != 0 && !(kind == PROGRAM_COUNTER && dumped > 0 && dumped <= kept);
    if (kind == PROGRAM_HISTOGRAM)
        unpack_histogram(u, &histogram);
    description.kind = (enum program_kind)kind;
    description.bounds = histogram.bounds;
    description.bound_count = histogram.bound_count;
    if (u->bad || !scope || program_table_metric(table, &description, &metric))
        return;
    struct program_cell *cell = program_cell_of(table, metric, scope);
    if (cell)
        put(table, cell, kept, &histogram);
    if (cell && dumped > 0)
        put_dumped(cell, dumped);
}

/* It stays for a while, in which the agent finds the job again. */
static struct program_scope *find_scope(struct program_table *table, struct bytes id, uint64_t uid)
{
    char job[TEXT_MAX];
    if (id.size >= sizeof job || uid > UINT32_MAX || memchr(id.data, '\0', id.size))
        return NULL;
    memcpy(job, id.data, id.size);
    job[id.size] = '\0';
    struct program_scope *scope = program_scope_job(table, job, (uint32_t)uid);
    if (scope && !scope->programs)
        scope->left_ns = clock_monotonic_ns();
    return scope;
}

static void take_boards(struct unpacker *u, program_kept_hear *hear, void *context)
{
    for (struct bytes name; (name = unpack_text(u)).size && !u->bad;) {
        char text[TEXT_MAX];
        uint64_t inode = unpack_number(u);
        if (u->bad || name.size >= sizeof text || memchr(name.data, '\0', name.size) || memchr(name.data, '/', name.size))
            continue;
        memcpy(text, name.data, name.size);
        text[name.size] = '\0';
        hear(context, text, inode);
    }
}

static void take_ranks(struct program_table *table, struct unpacker *u)
{
    for (struct bytes id; (id = unpack_text(u)).size && !u->bad;) {
        struct program_scope nobody = { 0 }, *scope = find_scope(table, id, unpack_number(u));
        scope = scope ? scope : &nobody;
        program_rank_sums_take(&scope->ranks, u);
        if (!u->bad)
            program_worlds_take(&scope->worlds, u);
        program_rank_sums_clear(&nobody.ranks);
        program_worlds_free(&nobody.worlds);
    }
}

enum err program_kept_take(struct program_table *table, struct bytes file, struct program_bases *bases, program_kept_hear *hear,
                         void *context)
{
    struct unpacker u = { (const uint8_t *)file.data, (const uint8_t *)file.data + file.size, false };
    char boot[KEEP_BOOT_MAX];
    keep_boot(boot);
    struct bytes kind = unpack_text(&u);
    bool has_ranks = bytes_equal(kind, bytes_of(KIND)), has_bases = has_ranks || bytes_equal(kind, bytes_of(KIND_WITHOUT_RANKS));
    if ((!has_bases && !bytes_equal(kind, bytes_of(KIND_WITHOUT_BASES))) || !bytes_equal(unpack_text(&u), bytes_of(boot)))
        return ABSENT;
    take_boards(&u, hear, context);
    for (struct bytes id; !u.bad && (id = unpack_text(&u)).size;) {
        struct program_scope *scope = find_scope(table, id, unpack_number(&u));
        for (struct bytes name; !u.bad && (name = unpack_text(&u)).size;)
            take_metric(table, scope, name, &u);
    }
    if (has_bases && !u.bad)
        program_bases_take(bases, &u);
    if (has_ranks && !u.bad)
        program_bases_take_ranks(bases, &u);
    if (has_ranks && !u.bad)
        take_ranks(table, &u);
    return u.bad ? CORRUPT : OK;
}
