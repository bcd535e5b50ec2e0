/* The format, with numbers and strings as in model/pack.h and doubles as their bits: format name and boot id;
 * segments, ended by an empty name; jobs with their metrics, ended by an empty id and an empty name, each with what is
 * saved and what part of that is in a profile; the baselines of baseline.h; jobs again, with the sums of their ranks
 * and the numbers of their programs. Files of older agents end before the baselines, or before those of ranks. */
#include "appmetrics/saved_state.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/state_file.h"
#include "appmetrics/saved_format.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define FORMAT "sonde kept 4"
#define FORMAT_WITHOUT_RANKS "sonde kept 3"
#define FORMAT_WITHOUT_BASELINES "sonde kept 2"
#define STRING_MAX 256
#define PAUSE_FACTOR 20u /* saving may take a twentieth of the time */

static bool is_saved(const struct cell *cell)
{
    return cell->scope->kind == SCOPE_JOB && cell->metric->kind != PROGRAM_GAUGE && !cell_is_counted_by_kernel(cell);
}

void saved_state_add(struct registry *registry, struct cell *cell, double increment)
{
    if (!is_saved(cell) || !(increment > 0))
        return;
    cell->saved.total += increment;
    registry->has_unsaved = true;
}

/* base: the part of them that is elsewhere; NULL: none. */
static void add_buckets(struct cell *cell, const double *buckets, const double *base)
{
    size_t count = cell->metric->bound_count + 1;
    if (!cell->saved.buckets)
        cell->saved.buckets = calloc(count, sizeof *cell->saved.buckets);
    for (size_t i = 0; cell->saved.buckets && i < count; i++)
        cell->saved.buckets[i] += buckets[i] - (base ? fmin(base[i], buckets[i]) : 0);
}

void saved_state_add_contribution(struct registry *registry, const struct contribution *contribution)
{
    struct cell *cell = contribution->cell;
    double total = contribution->value.total, base = contribution->base.total;
    double own = total == base ? 0 : total - base; /* both may be infinite */
    if (!is_saved(cell))
        return;
    if (cell->metric->kind == PROGRAM_COUNTER) {
        saved_state_add(registry, cell, own);
        return;
    }
    add_buckets(cell, contribution->value.buckets, contribution->base.buckets);
    cell->saved.total += isnan(own) ? 0 : own;
    registry->has_unsaved = true;
}

void saved_state_begin(struct buf *file)
{
    char boot[STATE_FILE_BOOT_ID_MAX];
    state_file_boot_id(boot);
    saved_add_string(file, bytes_of(FORMAT));
    saved_add_string(file, bytes_of(boot));
}

void saved_state_write_segment(struct buf *file, const char *name, uint64_t inode)
{
    saved_add_string(file, bytes_of(name));
    saved_add_number(file, inode);
}

static void add_cell(struct buf *file, const struct cell *cell)
{
    const struct program_metric *metric = cell->metric;
    size_t bounds = metric->kind == PROGRAM_HISTOGRAM ? metric->bound_count : 0;
    saved_add_string(file, (struct bytes){ metric->name.text, metric->name.size });
    saved_add_string(file, bytes_of(metric->doc));
    saved_add_string(file, bytes_of(metric->unit));
    saved_add_number(file, metric->kind);
    saved_add_double(file, cell->saved.total);
    saved_add_double(file, metric->kind == PROGRAM_COUNTER ? fmin(cell->profiled, cell->saved.total) : 0);
    if (metric->kind != PROGRAM_HISTOGRAM)
        return;
    saved_add_number(file, bounds);
    for (size_t i = 0; i < bounds; i++)
        saved_add_double(file, metric->bounds[i]);
    for (size_t i = 0; i <= bounds; i++)
        saved_add_double(file, cell->saved.buckets[i]);
}

static bool has_saved(const struct cell *cell)
{
    return cell->metric->kind == PROGRAM_HISTOGRAM ? cell->saved.buckets != NULL : cell->saved.total > 0;
}

static bool add_scope(struct buf *file, const struct scope *scope)
{
    const struct cell *cell;
    bool is_begun = false;
    LIST_FOREACH(cell, &scope->cells, in_scope) {
        if (!has_saved(cell))
            continue;
        if (!is_begun) {
            saved_add_string(file, bytes_of(scope->id));
            saved_add_number(file, scope->uid);
        }
        is_begun = true;
        add_cell(file, cell);
    }
    if (is_begun)
        saved_add_string(file, (struct bytes){ 0 });
    return is_begun;
}

bool saved_state_write_jobs(struct registry *registry, struct buf *file)
{
    const struct scope *scope;
    bool has_any = false;
    saved_add_string(file, (struct bytes){ 0 });
    LIST_FOREACH(scope, &registry->scopes.list, link)
        if (scope->kind == SCOPE_JOB)
            has_any |= add_scope(file, scope);
    saved_add_string(file, (struct bytes){ 0 });
    registry->has_unsaved = false;
    return has_any;
}

bool saved_state_write_ranks(const struct registry *registry, struct buf *file)
{
    const struct scope *scope;
    bool has_any = false;
    LIST_FOREACH(scope, &registry->scopes.list, link) {
        if (scope->kind != SCOPE_JOB || (!scope->mpi.sums.by_instance.count && !scope->mpi.worlds))
            continue;
        saved_add_string(file, bytes_of(scope->id));
        saved_add_number(file, scope->uid);
        has_any |= mpi_rank_sums_save(file, &scope->mpi.sums);
        has_any |= mpi_worlds_save(file, scope->mpi.worlds);
    }
    saved_add_string(file, (struct bytes){ 0 });
    return has_any;
}

/* Of a histogram in the file. */
struct saved_histogram {
    double bounds[METRIC_BOUNDS_MAX], buckets[METRIC_BOUNDS_MAX + 1];
    size_t bound_count;
};

static void unpack_histogram(struct unpacker *u, struct saved_histogram *histogram)
{
    uint64_t count = unpack_number(u);
    u->bad |= count > METRIC_BOUNDS_MAX;
    histogram->bound_count = u->bad ? 0 : (size_t)count;
    for (size_t i = 0; i < histogram->bound_count; i++) {
        histogram->bounds[i] = saved_take_double(u);
        u->bad |= i ? !(histogram->bounds[i] > histogram->bounds[i - 1]) : isnan(histogram->bounds[i]);
    }
    for (size_t i = 0; i <= histogram->bound_count; i++) {
        histogram->buckets[i] = saved_take_double(u);
        u->bad |= !(histogram->buckets[i] >= 0) || isinf(histogram->buckets[i]);
    }
}

static void add_saved(struct registry *registry, struct cell *cell, double saved, const struct saved_histogram *histogram)
{
    uint64_t now_ns = clock_realtime_ns();
    if (cell->metric->kind == PROGRAM_HISTOGRAM) {
        if (!cell_observe(cell, histogram->buckets, saved, now_ns))
            return;
        add_buckets(cell, histogram->buckets, NULL);
        cell->saved.total += saved;
    } else if (isinf(saved)) {
        cell_overflow(cell, now_ns);
        saved_state_add(registry, cell, saved);
    } else if (cell_add(cell, saved, now_ns)) {
        saved_state_add(registry, cell, saved);
    }
}

/* The profile has it under the names of its aliases. */
static void add_profiled(struct cell *cell, double profiled)
{
    for (struct cell **alias = cell->aliases; alias && *alias; alias++)
        add_profiled(*alias, profiled);
    cell->profiled += profiled;
    cell->scope->job.is_profiled = true;
}

/* A metric over the limits is left out, as it would be if a program reported it. */
static void read_metric(struct registry *registry, struct scope *scope, struct bytes name, struct unpacker *u)
{
    struct saved_histogram histogram = { .bound_count = 0 };
    struct metric_description description = { .name = name, .doc = unpack_text(u), .unit = unpack_text(u), .scope = scope };
    uint64_t kind = unpack_number(u);
    double saved = saved_take_double(u), profiled = saved_take_double(u);
    struct program_metric *metric;
    u->bad |= kind != PROGRAM_COUNTER && kind != PROGRAM_HISTOGRAM;
    u->bad |= profiled != 0 && !(kind == PROGRAM_COUNTER && profiled > 0 && profiled <= saved);
    if (kind == PROGRAM_HISTOGRAM)
        unpack_histogram(u, &histogram);
    description.kind = (enum program_kind)kind;
    description.bounds = histogram.bounds;
    description.bound_count = histogram.bound_count;
    if (u->bad || !scope || registry_metric(registry, &description, &metric))
        return;
    struct cell *cell = registry_cell(registry, metric, scope);
    if (cell)
        add_saved(registry, cell, saved, &histogram);
    if (cell && profiled > 0)
        add_profiled(cell, profiled);
}

/* Without programs it stays for a while, in which the agent discovers the job again. */
static struct scope *find_scope(struct registry *registry, struct bytes id, uint64_t uid)
{
    char job[STRING_MAX];
    if (id.size >= sizeof job || uid > UINT32_MAX || memchr(id.data, '\0', id.size))
        return NULL;
    memcpy(job, id.data, id.size);
    job[id.size] = '\0';
    struct scope *scope = scopes_job(&registry->scopes, job, (uint32_t)uid);
    if (scope && !scope->programs)
        scope->left_ns = clock_monotonic_ns();
    return scope;
}

static void read_segments(struct unpacker *u, saved_state_on_segment *on_segment, void *context)
{
    for (struct bytes name; (name = unpack_text(u)).size && !u->bad;) {
        char text[STRING_MAX];
        uint64_t inode = unpack_number(u);
        if (u->bad || name.size >= sizeof text || memchr(name.data, '\0', name.size))
            continue;
        memcpy(text, name.data, name.size);
        text[name.size] = '\0';
        on_segment(context, text, inode);
    }
}

static void read_ranks(struct registry *registry, struct unpacker *u)
{
    for (struct bytes id; (id = unpack_text(u)).size && !u->bad;) {
        struct scope_mpi ignored = { 0 };
        struct scope *scope = find_scope(registry, id, unpack_number(u));
        struct scope_mpi *mpi = scope ? &scope->mpi : &ignored;
        mpi_rank_sums_read(&mpi->sums, u);
        if (!u->bad)
            mpi_worlds_read(&mpi->worlds, u);
        mpi_rank_sums_clear(&ignored.sums);
        mpi_worlds_free(&ignored.worlds);
    }
}

enum err saved_state_read(struct registry *registry, struct bytes file, struct baselines *baselines,
                          saved_state_on_segment *on_segment, void *context)
{
    struct unpacker u = { (const uint8_t *)file.data, (const uint8_t *)file.data + file.size, false };
    char boot[STATE_FILE_BOOT_ID_MAX];
    state_file_boot_id(boot);
    struct bytes format = unpack_text(&u);
    bool has_ranks = bytes_equal(format, bytes_of(FORMAT));
    bool has_baselines = has_ranks || bytes_equal(format, bytes_of(FORMAT_WITHOUT_RANKS));
    bool is_readable = has_baselines || bytes_equal(format, bytes_of(FORMAT_WITHOUT_BASELINES));
    if (!is_readable || !bytes_equal(unpack_text(&u), bytes_of(boot)))
        return ABSENT;
    read_segments(&u, on_segment, context);
    if (!registry)
        return OK;
    for (struct bytes id; !u.bad && (id = unpack_text(&u)).size;) {
        struct scope *scope = find_scope(registry, id, unpack_number(&u));
        for (struct bytes name; !u.bad && (name = unpack_text(&u)).size;)
            read_metric(registry, scope, name, &u);
    }
    if (has_baselines && !u.bad)
        baselines_read(baselines, &u);
    if (has_ranks && !u.bad)
        baselines_read_ranks(baselines, &u);
    if (has_ranks && !u.bad)
        read_ranks(registry, &u);
    return u.bad ? CORRUPT : OK;
}

/* --- loading and saving --- */

static void ignore_segment(void *context, const char *name, uint64_t inode)
{
    (void)context, (void)name, (void)inode;
}

void saved_state_load(struct saved_state_file *file, const struct saved_state_segments *segments)
{
    struct registry *registry = file->registry;
    struct baselines unused = { 0 };
    const struct saved_state_segments none = { .baselines = &unused, .on_segment = ignore_segment };
    struct buf bytes;
    if (!*file->path)
        return;
    buf_init(&bytes, STATE_FILE_MAX + 1);
    if (!state_file_read(file->path, &bytes)) {
        registry_lock(registry);
        const struct saved_state_segments *to = segments ? segments : &none;
        if (saved_state_read(registry->has_loaded_state ? NULL : registry, (struct bytes){ bytes.data, bytes.size },
                             to->baselines, to->on_segment, to->context) == CORRUPT)
            log_warn("%s is damaged: totals of jobs may lack what programs had counted that have ended", file->path);
        registry_unlock(registry);
    }
    registry->has_loaded_state = true;
    baselines_clear(&unused);
    buf_clear(&bytes);
}

/* False: there is nothing to save. */
static bool write_all(struct registry *registry, const struct saved_state_segments *segments, struct buf *bytes)
{
    saved_state_begin(bytes);
    bool has_any = segments && segments->write(segments->context, bytes);
    registry_lock(registry);
    has_any |= saved_state_write_jobs(registry, bytes);
    if (segments)
        has_any |= segments->write_baselines(segments->context, bytes, false);
    baselines_write_end(bytes);
    if (segments)
        has_any |= segments->write_baselines(segments->context, bytes, true);
    baselines_write_end(bytes);
    has_any |= saved_state_write_ranks(registry, bytes);
    registry_unlock(registry);
    return has_any;
}

static void save(struct saved_state_file *file, const struct saved_state_segments *segments)
{
    struct buf bytes;
    enum err err = OK;
    buf_init(&bytes, STATE_FILE_MAX);
    if (write_all(file->registry, segments, &bytes))
        err = state_file_write(file->path, &bytes);
    else
        unlink(file->path);
    if (err && !file->has_logged_failure)
        log_warn("cannot write %s: %s. What programs have counted in jobs is lost when this agent stops", file->path,
                 err_text(err));
    file->has_logged_failure = err != OK;
    buf_clear(&bytes);
    if (!err)
        return;
    registry_lock(file->registry);
    file->registry->has_unsaved = true; /* try again, even if nothing is counted any more */
    registry_unlock(file->registry);
}

bool saved_state_save(struct saved_state_file *file, const struct saved_state_segments *segments, bool is_last)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (!*file->path)
        return true;
    registry_lock(file->registry);
    bool has_unsaved = file->registry->has_unsaved;
    registry_unlock(file->registry);
    if (!has_unsaved)
        return true;
    if (begin_ns < file->next_save_ns && !is_last)
        return false;
    save(file, segments);
    uint64_t end_ns = clock_monotonic_ns();
    file->next_save_ns = end_ns + PAUSE_FACTOR * (end_ns - begin_ns);
    return true;
}
