/* First it is found out whether the program has ended, and then the segment is read, so that nothing can be written to
 * it after the last reading. */
#include "appmetrics/segment_import.h"

#include "base/clock.h"
#include "proc/pid.h"
#include "appmetrics/saved_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_NS (5 * NS_PER_S)

enum err segment_import_open(struct segment_import *import, const char *path)
{
    *import = (struct segment_import){ 0 };
    return segment_reader_open(&import->reader, path);
}

/* --- metrics --- */

static enum program_kind kind_of(const struct segment_value *value)
{
    return value->kind == SEGMENT_GAUGE ? PROGRAM_GAUGE : value->kind == SEGMENT_HISTOGRAM ? PROGRAM_HISTOGRAM : PROGRAM_COUNTER;
}

/* Traffic between two ranks means nothing when it is summed over ranks: it is in samples of the ranks only. */
static bool is_for_registry(const struct segment_value *value)
{
    static const char prefix[] = "mpi_peer_";
    return value->name.size < sizeof prefix - 1 || memcmp(value->name.data, prefix, sizeof prefix - 1) != 0;
}

static void write_name(struct buf *name, const struct segment_value *value)
{
    buf_add(name, value->name.data, value->name.size);
    if (!value->labels.size)
        return;
    buf_add_char(name, '{');
    buf_add(name, value->labels.data, value->labels.size);
    buf_add_char(name, '}');
}

static struct contribution *create(struct registry *registry, struct program_metric *metric, struct scope *scope)
{
    size_t buckets = metric->kind == PROGRAM_HISTOGRAM ? metric->bound_count + 1 : 0;
    struct cell *cell = registry_cell(registry, metric, scope);
    struct contribution *new = cell ? calloc(1, sizeof *new) : NULL;
    if (!new)
        return NULL;
    new->cell = cell;
    if (buckets && !(new->value.buckets = calloc(3 * buckets, sizeof *new->value.buckets))) {
        free(new);
        return NULL;
    }
    if (buckets) {
        new->base.buckets = new->value.buckets + buckets;
        new->outside.buckets = new->base.buckets + buckets;
    }
    if (metric->kind == PROGRAM_GAUGE)
        contribution_join(new, cell);
    quota_use(&registry->quota, &metric->quota);
    return new;
}

/* Of whom the numbers are: the owner of the file, or the user that it reports for. */
static uint32_t uid_of(const struct segment_import *import)
{
    const struct segment_info *info = segment_reader_info(import->reader);
    return info->subject_pid ? info->subject_uid : info->uid;
}

static struct contribution *add_metric(struct segment_import *import, struct registry *registry,
                                       const struct segment_value *value)
{
    struct program_metric *metric = NULL;
    struct buf name;
    if (!is_for_registry(value))
        return NULL;
    buf_init(&name, 2 * (size_t)SEGMENT_STRING_MAX + 8);
    write_name(&name, value);
    struct metric_description description = {
        .name = { name.data, name.size }, .doc = value->help, .unit = value->unit, .kind = kind_of(value),
        .bounds = value->bounds, .bound_count = value->bound_count, .scope = import->scope,
    };
    enum err err = registry_metric(registry, &description, &metric);
    buf_clear(&name);
    import->has_conflict |= err == USAGE;
    struct contribution *new = err ? NULL : create(registry, metric, import->scope);
    if (new && import->baseline)
        baseline_apply(import->baseline, registry, new, scopes_user(&registry->scopes, uid_of(import)));
    return new;
}

/* What is refused again was counted and noted the first time. */
static struct contribution *add_metric_again(struct segment_import *import, struct registry *registry,
                                             const struct segment_value *value)
{
    struct registry_stats stats = registry->stats;
    struct registry_conflict conflict = registry->conflict;
    struct contribution *new = add_metric(import, registry, value);
    if (new)
        return new;
    registry->stats = stats;
    registry->conflict = conflict;
    return NULL;
}

/* The program that had the name may have ended since: a job that follows another one finds what is left of it. */
static bool is_time_to_retry(struct segment_import *import, uint64_t now_ns)
{
    bool is_time = import->has_conflict && (import->is_finished || now_ns - import->conflict_tried_ns >= RETRY_NS);
    if (is_time || !import->has_conflict)
        import->conflict_tried_ns = now_ns;
    return is_time;
}

/* --- values --- */

/* Ticks become seconds at a rate that is measured at each reading: its last digits mean nothing. */
static bool is_rounding(const struct segment_value *value, double before)
{
    return value->type == SEGMENT_TICKS && fabs(value->f64 - before) <= 1e-6 * before;
}

/* A program may overwrite its segment with a smaller number: it counts from there on. An infinite total means that the
 * program has added more than a double can hold. */
static void add_counter(struct registry *registry, struct contribution *contribution, const struct segment_value *value,
                        uint64_t now_ns)
{
    double before = contribution->value.total, total = value->f64;
    if (total == before || (isnan(total) && isnan(before)) || is_rounding(value, before))
        return;
    contribution->value.total = total;
    if (cell_is_counted_by_kernel(contribution->cell) || isnan(before) || total < before)
        return;
    if (isinf(total))
        cell_overflow(contribution->cell, now_ns);
    else if (!cell_add(contribution->cell, total - before, now_ns))
        registry->stats.refused++;
}

static void add_histogram(struct registry *registry, struct contribution *contribution, const struct segment_value *value,
                          uint64_t now_ns)
{
    struct tally *last = &contribution->value;
    double grown[METRIC_BOUNDS_MAX + 1];
    bool has_grown = false;
    for (size_t i = 0; i <= contribution->cell->metric->bound_count; i++) {
        double count = (double)value->buckets[i];
        grown[i] = count > last->buckets[i] ? count - last->buckets[i] : 0;
        has_grown |= grown[i] > 0;
        last->buckets[i] = count;
    }
    if (!has_grown && (value->f64 == last->total || is_rounding(value, last->total)))
        return;
    double sum = value->f64 == last->total ? 0 : value->f64 - last->total; /* both may be infinite */
    if (!cell_observe(contribution->cell, grown, sum, now_ns))
        registry->stats.refused++;
    last->total = value->f64;
}

static void add_value(struct registry *registry, struct contribution *contribution, const struct segment_value *value,
                      uint64_t now_ns)
{
    if (value->kind == SEGMENT_COUNTER)
        add_counter(registry, contribution, value, now_ns);
    else if (value->kind == SEGMENT_HISTOGRAM)
        add_histogram(registry, contribution, value, now_ns);
    else if (value->is_known)
        contribution_set(contribution, value->f64, now_ns);
    else
        contribution_unset(contribution, now_ns);
}

static void add_values(struct segment_import *import, struct registry *registry, uint64_t now_ns)
{
    size_t count = segment_reader_count(import->reader);
    bool must_retry = is_time_to_retry(import, now_ns);
    if (array_reserve(import->contributions.items, import->contributions.capacity, count, VEC_MAX))
        return;
    for (size_t i = 0; i < count; i++) {
        struct contribution **contribution = &import->contributions.items[i];
        struct segment_value value;
        segment_reader_value(import->reader, i, &value);
        if (i == import->contributions.count) {
            *contribution = add_metric(import, registry, &value);
            import->contributions.count++;
        } else if (must_retry && !*contribution) {
            *contribution = add_metric_again(import, registry, &value);
        }
        if (*contribution)
            add_value(registry, *contribution, &value, now_ns);
        mpi_ranks_add_value(&import->ranks, i, &value);
    }
    if (import->baseline)
        baseline_apply_ranks(import->baseline, &import->ranks);
    import->has_baseline |= import->baseline != NULL;
    baseline_free(&import->baseline);
}

/* --- the scope --- */

/* A program that ended between two readings is where its parent is, if that is still the same process. */
static pid_t parent_of(const struct segment_info *info, const char *root)
{
    uint64_t start_ns;
    bool is_older = info->parent_pid > 1 && pid_start_ns(root, info->parent_pid, &start_ns) == OK
                    && start_ns <= info->realtime_ns;
    return is_older ? info->parent_pid : 0;
}

/* A pid of another pid namespace would be that of some other process here. */
static struct program_claim claim_of(const struct segment_import *import, const char *root)
{
    const struct segment_info *info = segment_reader_info(import->reader);
    bool is_local = segment_reader_is_local(import->reader, root), is_finished = import->is_finished;
    if (info->subject_pid)
        return (struct program_claim){ .pid = is_local ? info->subject_pid : 0, .uid = info->subject_uid, .job = info->job };
    return (struct program_claim){
        .pid = is_local && !is_finished ? info->pid : 0, .parent = is_local && is_finished ? parent_of(info, root) : 0,
        .uid = info->uid, .job = info->job,
    };
}

static bool join(struct segment_import *import, struct registry *registry, const struct program_jobs *jobs, const char *root)
{
    struct program_claim claim = claim_of(import, root);
    import->scope = jobs ? program_jobs_scope(jobs, registry, &claim, &import->source) : &registry->scopes.node;
    if (!import->scope)
        return false;
    if (jobs)
        program_jobs_have_changed(jobs, clock_realtime_ns(), &import->check);
    scope_join(import->scope);
    registry->stats.segments++;
    return true;
}

/* What was counted so far stays in the scope where it was counted. */
static void move(struct segment_import *import, struct registry *registry, struct scope *scope, uint64_t now_ns)
{
    for (size_t i = 0; i < import->contributions.count; i++) {
        struct contribution *contribution = import->contributions.items[i];
        if (!contribution)
            continue;
        saved_state_add_contribution(registry, contribution);
        baseline_move(registry, contribution);
        contribution_move(contribution, registry_cell(registry, contribution->cell->metric, scope), now_ns);
    }
    mpi_ranks_move(&import->ranks);
    scope_leave(import->scope);
    scope_join(scope);
    import->scope = scope;
    import->source = PROGRAM_JOB_BY_KERNEL;
    import->has_baseline = true;
}

static bool can_move(struct segment_import *import, struct registry *registry, struct scope *scope)
{
    return registry_create_cells(registry, import->contributions.items, import->contributions.count, scope);
}

/* A job may be registered when its programs run already, and a process may be moved into the cgroup of a job. A
 * program that has ended stays in its job: only its parent could be looked up, which may be in another one. */
static void follow(struct segment_import *import, struct registry *registry, const struct program_jobs *jobs,
                   const char *root, uint64_t now_ns)
{
    if (!jobs || (import->is_finished && import->scope->job.is_known)
        || !program_jobs_must_check(jobs, import->scope, import->source, now_ns, &import->check))
        return;
    struct program_claim claim = claim_of(import, root);
    struct scope *scope = program_jobs_kernel_scope(jobs, registry, &claim);
    if (scope && scope != import->scope && can_move(import, registry, scope))
        move(import, registry, scope, now_ns);
}

void segment_import_leave_job(struct segment_import *import, struct registry *registry)
{
    struct scope *user = scopes_user(&registry->scopes, uid_of(import));
    if (user && can_move(import, registry, user))
        move(import, registry, user, clock_realtime_ns());
}

/* --- the whole --- */

enum err segment_import_update(struct segment_import *import, struct registry *registry, const struct program_jobs *jobs,
                               const char *root)
{
    uint64_t now_ns = clock_realtime_ns();
    const struct segment_info *info = segment_reader_info(import->reader);
    import->is_finished = segment_reader_is_finished(import->reader, root);
    enum err err = segment_reader_read(import->reader);
    bool is_bad = err && err != AGAIN && err != FULL;
    registry_lock(registry);
    registry->stats.bad_segments += is_bad && !import->is_bad;
    import->is_bad |= is_bad;
    registry->stats.unpublished += info->lost > import->lost ? info->lost - import->lost : 0;
    import->lost = info->lost;
    if (import->scope)
        follow(import, registry, jobs, root, now_ns);
    if (import->scope || join(import, registry, jobs, root))
        add_values(import, registry, now_ns);
    registry_unlock(registry);
    bool is_news = import->scope && !import->is_sampled_elsewhere
        && mpi_ranks_finish_reading(&import->ranks, info, import->is_finished, &scope_mpi(import->scope)->worlds);
    registry_lock(registry);
    registry->has_unsaved |= is_news && import->scope->kind == SCOPE_JOB;
    registry_unlock(registry);
    return err;
}

static void leave(struct segment_import *import, struct registry *registry, struct contribution *contribution, uint64_t now_ns)
{
    struct program_metric *metric = contribution->cell->metric;
    if (metric->kind == PROGRAM_GAUGE)
        contribution_leave(contribution, now_ns);
    if (import->is_finished)
        saved_state_add_contribution(registry, contribution);
    quota_release(&registry->quota, &metric->quota);
    free(contribution->value.buckets);
    free(contribution);
}

void segment_import_close(struct segment_import *import, struct registry *registry)
{
    uint64_t now_ns = clock_realtime_ns();
    registry_lock(registry);
    if (import->is_finished)
        mpi_ranks_leave(&import->ranks);
    mpi_ranks_clear(&import->ranks);
    for (size_t i = 0; i < import->contributions.count; i++)
        if (import->contributions.items[i])
            leave(import, registry, import->contributions.items[i], now_ns);
    if (import->scope) {
        scope_leave(import->scope);
        registry->stats.segments--;
    }
    registry->has_unsaved |= import->has_baseline;
    registry_unlock(registry);
    baseline_free(&import->baseline);
    vec_clear(&import->contributions);
    segment_reader_close(&import->reader);
    *import = (struct segment_import){ 0 };
}
