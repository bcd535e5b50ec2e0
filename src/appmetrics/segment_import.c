/* The order matters at the end: first it is asked whether the program is gone, then it is read, so that nothing can come
 * behind the last reading. */
#include "appmetrics/segment_import.h"

#include "base/clock.h"
#include "proc/pid.h"
#include "appmetrics/cells.h"
#include "appmetrics/state.h"
#include "appmetrics/quota.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_NS (5 * NS_PER_S)

enum err segment_import_open(struct segment_import *board, const char *path)
{
    *board = (struct segment_import){ 0 };
    return segment_reader_open(&board->reader, path);
}

static enum program_kind kind_of(const struct segment_value *value)
{
    return value->kind == SEGMENT_GAUGE ? PROGRAM_GAUGE : value->kind == SEGMENT_HISTOGRAM ? PROGRAM_HISTOGRAM : PROGRAM_COUNTER;
}

static bool begins(struct bytes text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && memcmp(text.data, with, size) == 0;
}

/* Who talked to whom is a matter of ranks: summed over them it means nothing. */
static bool is_for_table(const struct segment_value *value)
{
    return !begins(value->name, "mpi_peer_");
}

static void write_name(struct buf *name, const struct segment_value *value)
{
    buf_reset(name);
    buf_add(name, value->name.data, value->name.size);
    if (!value->labels.size)
        return;
    buf_add_char(name, '{');
    buf_add(name, value->labels.data, value->labels.size);
    buf_add_char(name, '}');
}

static struct program_hold *make_hold(struct program_table *table, struct program_metric *metric, struct program_scope *scope)
{
    struct program_cell *cell = program_cell_of(table, metric, scope);
    struct program_hold *hold = cell ? calloc(1, sizeof *hold) : NULL;
    if (!hold)
        return NULL;
    hold->cell = cell;
    if (metric->kind == PROGRAM_GAUGE)
        program_hold_join(hold, cell);
    size_t buckets = metric->kind == PROGRAM_HISTOGRAM ? metric->bound_count + 1 : 0;
    if (buckets && !(hold->buckets = calloc(3 * buckets, sizeof *hold->buckets))) {
        free(hold);
        return NULL;
    }
    if (buckets) {
        hold->base_buckets = hold->buckets + buckets;
        hold->outside_buckets = hold->base_buckets + buckets;
    }
    program_room_use(table, metric);
    return hold;
}

static uint32_t uid_of(const struct segment_import *board)
{
    const struct segment_info *facts = segment_reader_info(board->reader);
    return facts->subject_pid ? facts->subject_uid : facts->uid;
}

static struct program_hold *take_metric(struct segment_import *board, struct program_table *table,
                                        const struct segment_value *value)
{
    struct program_metric *metric = NULL;
    struct buf name;
    if (!is_for_table(value))
        return NULL;
    buf_init(&name, 2 * (size_t)SEGMENT_STRING_MAX + 8);
    write_name(&name, value);
    struct program_description description = {
        .name = { name.data, name.size }, .doc = value->help, .unit = value->unit, .kind = kind_of(value),
        .bounds = value->bounds, .bound_count = value->bound_count, .scope = board->scope,
    };
    enum err err = program_table_metric(table, &description, &metric);
    buf_clear(&name);
    board->has_refused |= err == USAGE;
    struct program_hold *hold = err ? NULL : make_hold(table, metric, board->scope);
    if (hold && board->base)
        program_base_apply(board->base, table, hold, program_scope_user(table, uid_of(board)));
    return hold;
}

/* What is still refused was counted, and told, when it was the first time. */
static struct program_hold *take_metric_again(struct segment_import *board, struct program_table *table,
                                              const struct segment_value *value)
{
    uint64_t refused = table->figures.refused, left_out = table->figures.left_out;
    struct program_refusal refusal = table->refusal;
    struct program_hold *hold = take_metric(board, table, value);
    if (hold)
        return hold;
    table->figures.refused = refused;
    table->figures.left_out = left_out;
    table->refusal = refusal;
    return NULL;
}

/* Who had the name may have gone since: a job that follows another at once meets what is left of it. */
static bool is_time_to_retry(struct segment_import *board, uint64_t now_ns)
{
    bool is_time = board->has_refused && (board->is_gone || now_ns - board->tried_ns >= RETRY_NS);
    if (is_time || !board->has_refused)
        board->tried_ns = now_ns;
    return is_time;
}

/* Ticks become seconds by a rate that is measured anew at each reading: its last figures say nothing. */
static bool is_rounding(const struct segment_value *value, double before)
{
    return value->type == SEGMENT_TICKS && fabs(value->f64 - before) <= 1e-6 * before;
}

/* What a program wrote over itself may fall: then counting begins anew from there. A sum that became infinite in the program,
 * whose additions were none, says that it is more than any number. */
static void take_counter(struct program_table *table, struct program_hold *hold, const struct segment_value *value,
                         uint64_t now_ns)
{
    double before = hold->value, total = value->f64;
    if (total == before || (isnan(total) && isnan(before)) || is_rounding(value, before))
        return;
    hold->value = total;
    if (program_cell_is_counted(hold->cell))
        return;
    if (isnan(before) || total < before)
        return;
    if (isinf(total))
        program_cell_overflow(table, hold->cell, now_ns);
    else if (!program_cell_add(table, hold->cell, total - before, now_ns))
        table->figures.refused++;
}

static void take_histogram(struct program_table *table, struct program_hold *hold, const struct segment_value *value,
                           uint64_t now_ns)
{
    double fresh[PROGRAM_BOUNDS_MAX + 1];
    bool has_fresh = false;
    for (size_t i = 0; i <= hold->cell->metric->bound_count; i++) {
        double count = (double)value->buckets[i];
        fresh[i] = count > hold->buckets[i] ? count - hold->buckets[i] : 0;
        has_fresh |= fresh[i] > 0;
        hold->buckets[i] = count;
    }
    if (!has_fresh && (value->f64 == hold->value || is_rounding(value, hold->value)))
        return;
    double sum = value->f64 == hold->value ? 0 : value->f64 - hold->value; /* both may be infinite */
    if (!program_cell_observe(table, hold->cell, fresh, sum, now_ns))
        table->figures.refused++;
    hold->value = value->f64;
}

static void take_value(struct program_table *table, struct program_hold *hold, const struct segment_value *value,
                       uint64_t now_ns)
{
    if (value->kind == SEGMENT_COUNTER)
        take_counter(table, hold, value, now_ns);
    else if (value->kind == SEGMENT_HISTOGRAM)
        take_histogram(table, hold, value, now_ns);
    else if (value->is_known)
        program_hold_set(table, hold, value->f64, now_ns);
    else
        program_hold_unset(table, hold, now_ns);
}

static bool grow(struct segment_import *board, size_t count)
{
    if (count <= board->hold_room)
        return true;
    size_t room = count + count / 2;
    struct program_hold **holds = realloc(board->holds, room * sizeof(void *));
    if (!holds)
        return false;
    board->holds = holds;
    board->hold_room = room;
    return true;
}

static void take_values(struct segment_import *board, struct program_table *table, uint64_t now_ns)
{
    size_t count = segment_reader_count(board->reader);
    bool is_retry = is_time_to_retry(board, now_ns);
    if (!grow(board, count))
        return;
    for (size_t i = 0; i < count; i++) {
        struct segment_value value;
        segment_reader_value(board->reader, i, &value);
        if (i == board->hold_count)
            board->holds[board->hold_count++] = take_metric(board, table, &value);
        else if (is_retry && !board->holds[i])
            board->holds[i] = take_metric_again(board, table, &value);
        if (board->holds[i])
            take_value(table, board->holds[i], &value, now_ns);
        program_ranks_take(&board->ranks, i, &value);
    }
    if (board->base)
        program_base_begin(board->base, &board->ranks);
    board->has_base |= board->base != NULL;
    program_base_free(&board->base);
}

/* A program that ended between two readings is where its parent is, if that is still the process that it was. */
static pid_t parent_of(const struct segment_info *facts, const char *root)
{
    uint64_t start_ns;
    bool is_older = facts->parent_pid > 1 && pid_start_ns(root, facts->parent_pid, &start_ns) == OK
                    && start_ns <= facts->realtime_ns;
    return is_older ? facts->parent_pid : 0;
}

/* Whose numbers they are. In another pid namespace its number is that of some other process here. */
static struct program_claim claim_of(const struct segment_import *board, const char *root)
{
    const struct segment_info *facts = segment_reader_info(board->reader);
    bool is_here = segment_reader_is_local(board->reader, root);
    if (facts->subject_pid)
        return (struct program_claim){ .pid = is_here ? facts->subject_pid : 0, .uid = facts->subject_uid, .job = facts->job };
    return (struct program_claim){
        .pid = is_here && !board->is_gone ? facts->pid : 0, .parent = is_here && board->is_gone ? parent_of(facts, root) : 0,
        .uid = facts->uid, .job = facts->job,
    };
}

static bool join(struct segment_import *board, struct program_table *table, const struct program_jobs *jobs, const char *root)
{
    struct program_claim claim = claim_of(board, root);
    board->scope = jobs ? program_jobs_scope(jobs, table, &claim, &board->word) : &table->node;
    if (!board->scope)
        return false;
    if (jobs)
        program_jobs_are_new(jobs, clock_realtime_ns(), &board->asked);
    program_scope_join(board->scope);
    table->figures.boards++;
    return true;
}

/* What it counts from now on is another cell's. */
static void move_hold(struct program_table *table, struct program_hold *hold, struct program_scope *scope, uint64_t now_ns)
{
    program_kept_leave(table, hold);
    program_bases_move(table, hold);
    program_hold_move(table, hold, program_cell_of(table, hold->cell->metric, scope), now_ns);
}

static void move(struct segment_import *board, struct program_table *table, struct program_scope *scope, uint64_t now_ns)
{
    for (size_t i = 0; i < board->hold_count; i++)
        if (board->holds[i])
            move_hold(table, board->holds[i], scope, now_ns);
    program_ranks_move(&board->ranks);
    program_scope_leave(board->scope);
    program_scope_join(scope);
    board->scope = scope;
    board->word = PROGRAM_BY_KERNEL;
    board->has_base = true;
}

/* A job may be told when its programs run already, also one that is nearer to them than theirs, and a process may be moved into
 * its cgroup. What was counted until now stays where it is: it was not the job's. One that is gone stays in its job: its parent,
 * who alone could be asked, may be in another. */
static void follow(struct segment_import *board, struct program_table *table, const struct program_jobs *jobs, const char *root,
                   uint64_t now_ns)
{
    if (!jobs || (board->is_gone && board->scope->is_known)
        || !program_jobs_may_move(jobs, board->scope, board->word, now_ns, &board->asked))
        return;
    struct program_claim claim = claim_of(board, root);
    struct program_scope *scope = program_jobs_placed(jobs, table, &claim);
    if (scope && scope != board->scope && program_holds_fit(table, board->holds, board->hold_count, scope))
        move(board, table, scope, now_ns);
}

void segment_import_leave_job(struct segment_import *board, struct program_table *table)
{
    const struct segment_info *facts = segment_reader_info(board->reader);
    struct program_scope *user = program_scope_user(table, facts->subject_pid ? facts->subject_uid : facts->uid);
    if (user && program_holds_fit(table, board->holds, board->hold_count, user))
        move(board, table, user, clock_realtime_ns());
}

/* Outside of jobs samples do not say whose they are: programs of all users are told apart together. */
static struct program_worlds **worlds_of(struct program_scope *scope, struct program_table *table)
{
    return scope->kind == PROGRAM_JOB ? &scope->worlds : &table->node.worlds;
}

static void tell_lost(struct segment_import *board, struct program_table *table, uint64_t lost)
{
    table->figures.no_room += lost > board->lost ? lost - board->lost : 0;
    board->lost = lost;
}

void segment_import_update(struct segment_import *board, struct program_table *table, const struct program_jobs *jobs,
                        const char *root)
{
    uint64_t now_ns = clock_realtime_ns();
    const struct segment_info *facts = segment_reader_info(board->reader);
    board->is_gone = segment_reader_is_finished(board->reader, root);
    enum err err = segment_reader_read(board->reader);
    bool is_bad = err && err != AGAIN;
    program_table_lock(table);
    table->figures.bad_boards += is_bad && !board->is_bad;
    board->is_bad |= is_bad;
    tell_lost(board, table, facts->lost);
    if (board->scope)
        follow(board, table, jobs, root, now_ns);
    if (board->scope || join(board, table, jobs, root))
        take_values(board, table, now_ns);
    program_table_unlock(table);
    bool is_news = board->scope && !board->is_silent
        && program_ranks_settle(&board->ranks, facts, board->is_gone, worlds_of(board->scope, table));
    if (!is_news || board->scope->kind != PROGRAM_JOB)
        return;
    program_table_lock(table);
    table->has_news_to_keep = true;
    program_table_unlock(table);
}

void segment_import_close(struct segment_import *board, struct program_table *table)
{
    uint64_t now_ns = clock_realtime_ns();
    program_table_lock(table);
    if (board->is_gone)
        program_ranks_leave(&board->ranks);
    program_ranks_clear(&board->ranks);
    for (size_t i = 0; i < board->hold_count; i++) {
        struct program_hold *hold = board->holds[i];
        if (hold && hold->cell->metric->kind == PROGRAM_GAUGE)
            program_hold_leave(table, hold, now_ns);
        if (!hold)
            continue;
        if (board->is_gone)
            program_kept_leave(table, hold);
        program_room_leave(table, hold->cell->metric);
        free(hold->buckets);
        free(hold);
    }
    if (board->scope) {
        program_scope_leave(board->scope);
        table->figures.boards--;
    }
    table->has_news_to_keep |= board->has_base;
    program_table_unlock(table);
    program_base_free(&board->base);
    free(board->holds);
    segment_reader_close(&board->reader);
    *board = (struct segment_import){ 0 };
}
