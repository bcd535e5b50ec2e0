/* Splits the records of each pid into process instances and determines start, end and parent of each.
 * The records of one pid are sorted by time and passed to match_record (merge/match.c), which relies on the facts about
 * pids listed there. Several records may report the same fact. They are ranked by how well the writer can know it (enums
 * below): the kernel's fork and exit events first, then records written at the time by the processes involved, then what
 * was read later from outside (/proc, taskstats for the parent), and last what only follows from a wait. A record replaces
 * a fact if its rank is higher, or equal with an earlier start or a later end. */
#include "merge/process_instance.h"

#include "base/clock.h"
#include "base/cpu_budget.h"
#include "base/vec.h"
#include "merge/match.h"
#include "merge/sort.h"

#include <stdlib.h>

#define AFTER_END_NS NS_PER_S /* a child may be recorded this long after its parent's end */

/* Ranks of evidence, weakest first. A ppid that names sonde run ranks lowest because sonde run is the subreaper and
 * adopts orphans: the process may have had another parent. */
enum start_rank { START_NONE, START_SEEN, START_FORK, START_KERNEL };
enum end_rank { END_NONE, END_WAIT, END_PROBE, END_TASKSTATS, END_KERNEL };
enum parent_rank { PARENT_NONE, PARENT_REAPER, PARENT_WAIT, PARENT_LATE, PARENT_PROC, PARENT_IMAGE, PARENT_EXEC,
                   PARENT_FORK, PARENT_SPAWN, PARENT_KERNEL };

struct ranks {
    uint8_t start, end, parent;
};

struct instance_walk {
    struct process_instances *instances;
    struct record_index *records;
    struct match_state match;
    struct ranks current_ranks, previous_ranks; /* for match.current and match.previous */
};

static void note_start(struct process_instance *instance, struct ranks *ranks, enum start_rank rank, uint64_t time_ns)
{
    if (!time_ns || rank < ranks->start)
        return;
    if (rank > ranks->start || time_ns < instance->start_ns)
        instance->start_ns = time_ns;
    ranks->start = rank;
}

static void note_end(struct process_instance *instance, struct ranks *ranks, enum end_rank rank, uint64_t time_ns)
{
    if (!time_ns || rank < ranks->end)
        return;
    instance->end_ns = time_ns; /* records come in order of time */
    ranks->end = rank;
}

static void note_parent(struct instance_walk *w, struct process_instance *instance, struct ranks *ranks,
                        enum parent_rank rank,
                        uint64_t ppid)
{
    if (!ppid || ppid >= NONE || ppid == instance->pid)
        return;
    if (ppid == w->match.run_pid && rank < PARENT_SPAWN)
        rank = PARENT_REAPER;
    if (rank <= ranks->parent)
        return;
    instance->ppid = (uint32_t)ppid;
    ranks->parent = rank;
}

static void note_exec(struct instance_walk *w, const struct record_entry *e, struct match_candidate *candidate,
                      struct process_instance *instance, struct ranks *ranks)
{
    struct exec_record record;
    candidate->kinds &= ~(1u << RECORD_KIND_end); /* a process that execs has not exited, although its probe wrote an
                                                   * end record */
    if (ranks->end == END_PROBE)
        ranks->end = END_NONE;
    note_start(instance, ranks, START_SEEN, e->time_ns);
    if (ranks->parent >= PARENT_EXEC || record_unpack_exec(record_index_body(w->records, e), &record))
        return;
    note_parent(w, instance, ranks, PARENT_EXEC, record.ppid);
}

static void note_wait(struct instance_walk *w, const struct record_entry *e, struct match_candidate *candidate,
                      struct process_instance *instance, struct ranks *ranks)
{
    note_parent(w, instance, ranks, PARENT_WAIT, e->related_pid);
    if (e->flags & ENTRY_STOP)
        return;
    if (!candidate->wait_ns || e->related_pid == instance->ppid) /* if a tracer waited too, the parent's record counts */
        instance->wait = (uint32_t)(e - w->records->list);
    candidate->wait_ns = e->time_ns ? e->time_ns : 1;
    candidate->wait = record_index_body(w->records, e);
    note_end(instance, ranks, END_WAIT, e->time_ns);
}

static void note_kernel_fork(struct instance_walk *w, const struct record_entry *e, struct match_candidate *candidate,
                             struct process_instance *instance,
                             struct ranks *ranks)
{
    if (e->flags & ENTRY_OF_THREAD) {
        candidate->threads++;
        return;
    }
    note_start(instance, ranks, START_KERNEL, e->time_ns);
    note_parent(w, instance, ranks, PARENT_KERNEL, e->related_pid);
}

static void note_kernel_exit(const struct record_entry *e, struct match_candidate *candidate,
                             struct process_instance *instance, struct ranks *ranks)
{
    candidate->main_exited |= !(e->flags & ENTRY_OF_THREAD);
    if (candidate->threads > !candidate->main_exited) /* the fork of a thread may have been lost: the main thread is
                                                       * still running */
        candidate->threads--;
    candidate->exited = candidate->main_exited && candidate->threads <= 0;
    note_end(instance, ranks, END_KERNEL, e->time_ns);
}

/* Kinds with more than a time: see needs_numbers. */
static void note_numbers(struct instance_walk *w, const struct record_entry *e, struct match_candidate *candidate,
                         struct process_instance *instance, struct ranks *ranks)
{
    const struct record_numbers *n = &w->match.numbers;
    if (e->kind == RECORD_KIND_thread) {
        if (!(e->flags & ENTRY_OF_THREAD))
            note_start(instance, ranks, START_SEEN, n->start_ns);
    } else if (e->kind == RECORD_KIND_taskstats) {
        note_parent(w, instance, ranks, PARENT_LATE, n->ppid);
        if (!(e->flags & ENTRY_OF_THREAD)) {
            note_start(instance, ranks, START_SEEN, n->start_ns);
            candidate->has_main_taskstats = true;
        }
        if (e->flags & ENTRY_LAST_TASK) {
            candidate->exited = true;
            note_end(instance, ranks, END_TASKSTATS, e->time_ns);
        }
    } else {
        candidate->ticks = n->start_ticks ? n->start_ticks : candidate->ticks;
        bool is_image = e->kind == RECORD_KIND_image;
        note_parent(w, instance, ranks, is_image ? PARENT_IMAGE : PARENT_PROC, n->ppid);
        if (e->kind != RECORD_KIND_alive)
            note_start(instance, ranks, START_SEEN, e->time_ns);
        if (e->kind == RECORD_KIND_kernel_exec) { /* exec ends all other threads; the exit was that of the old main thread */
            candidate->threads = 1;
            candidate->kinds &= ~(1u << RECORD_KIND_kernel_exit);
            candidate->exited = candidate->main_exited = candidate->has_main_taskstats = false;
        }
    }
}

static void note(struct instance_walk *w, const struct record_entry *e, struct match_candidate *candidate,
                 struct ranks *ranks)
{
    struct process_instance *instance = &w->instances->list[candidate->instance];
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_fork:
        note_start(instance, ranks, START_FORK, e->time_ns);
        note_parent(w, instance, ranks, PARENT_FORK, e->related_pid);
        break;
    case RECORD_KIND_spawn:
        note_start(instance, ranks, START_SEEN, e->time_ns);
        note_parent(w, instance, ranks, PARENT_SPAWN, e->related_pid);
        break;
    case RECORD_KIND_exec: note_exec(w, e, candidate, instance, ranks); break;
    case RECORD_KIND_end: note_end(instance, ranks, END_PROBE, e->time_ns); break;
    case RECORD_KIND_wait: note_wait(w, e, candidate, instance, ranks); break;
    case RECORD_KIND_kernel_fork: note_kernel_fork(w, e, candidate, instance, ranks); break;
    case RECORD_KIND_kernel_exit: note_kernel_exit(e, candidate, instance, ranks); break;
    case RECORD_KIND_thread: case RECORD_KIND_taskstats: case RECORD_KIND_image: case RECORD_KIND_kernel_exec:
    case RECORD_KIND_alive:
        note_numbers(w, e, candidate, instance, ranks);
        break;
    default:
        break;
    }
    bool of_process = !(e->flags & ENTRY_OF_THREAD) || e->kind == RECORD_KIND_taskstats;
    if (!(e->flags & ENTRY_STOP) && of_process)
        candidate->kinds |= 1u << e->kind;
    candidate->last_ns = e->time_ns > candidate->last_ns ? e->time_ns : candidate->last_ns;
    candidate->ppid = instance->ppid;
}

/* Stores the result when the instance can get no more records. */
static void finish(struct instance_walk *w, const struct match_candidate *candidate, const struct ranks *ranks)
{
    if (candidate->instance == NONE)
        return;
    struct process_instance *instance = &w->instances->list[candidate->instance];
    instance->kinds = candidate->kinds;
    instance->ended = ranks->end == END_KERNEL
                      ? candidate->exited || instance->wait != NONE || candidate->kinds >> RECORD_KIND_end & 1
                                           : ranks->end != END_NONE;
    instance->has_exact_start = ranks->start >= START_FORK;
    if (!instance->ended)
        instance->end_ns = 0;
    if (instance->end_ns && instance->start_ns > instance->end_ns) /* clocks differ a little; avoid negative durations */
        instance->start_ns = instance->end_ns;
}

static struct process_instance *add(struct process_instances *instances, const struct record_index *records,
                                    uint32_t pid, uint64_t time_ns)
{
    if (instances->count == instances->capacity) {
        uint32_t capacity = instances->capacity ? instances->capacity + instances->capacity / 2 : records->pid_count + 16;
        if (array_resize(instances->list, capacity))
            return NULL;
        instances->capacity = capacity;
    }
    struct process_instance *instance = &instances->list[instances->count++];
    *instance = (struct process_instance){
        .first_ns = time_ns, .first_child_ns = UINT64_MAX, .pid = pid, .first = NONE, .last = NONE, .wait = NONE,
        .parent = NONE, .first_image = NONE,
    };
    return instance;
}

static bool begin(struct instance_walk *w, uint32_t pid, uint64_t time_ns)
{
    struct process_instance *instance = add(w->instances, w->records, pid, time_ns);
    if (!instance)
        return false;
    finish(w, &w->match.previous, &w->previous_ranks);
    w->match.previous = w->match.current;
    w->previous_ranks = w->current_ranks;
    w->current_ranks = (struct ranks){ 0 };
    w->match.current = (struct match_candidate){ .instance = w->instances->count - 1, .first_ns = time_ns,
                                             .last_ns = time_ns, .threads = 1 };
    return true;
}

static void append_record(struct instance_walk *w, uint32_t index, struct process_instance *instance)
{
    w->records->list[index].next = NONE;
    if (instance->last == NONE)
        instance->first = index;
    else
        w->records->list[instance->last].next = index;
    instance->last = index;
    instance->thread_records += w->records->list[index].flags & ENTRY_OF_THREAD ? 1 : 0;
}

/* Kinds of which more than the time is needed here. */
static bool needs_numbers(const struct record_entry *e)
{
    const uint32_t kinds = 1u << RECORD_KIND_image | 1u << RECORD_KIND_kernel_exec | 1u << RECORD_KIND_alive
                           | 1u << RECORD_KIND_thread | 1u << RECORD_KIND_taskstats;
    return kinds >> e->kind & 1;
}

static enum err split_pid(struct instance_walk *w, struct pid_entry *pid, uint32_t *order, uint32_t count)
{
    struct match_state *f = &w->match;
    f->current = f->previous = (struct match_candidate){ .instance = NONE };
    f->order = order;
    f->count = count;
    pid->first_instance = w->instances->count;
    for (f->at = 0; f->at < count; f->at++) {
        const struct record_entry *e = &w->records->list[order[f->at]];
        if (cpu_budget_is_spent())
            return FULL;
        if (needs_numbers(e))
            record_index_numbers(w->records, e, &f->numbers);
        enum match_result result = match_record(f);
        if (result == MATCH_NEW && !begin(w, pid->pid, e->time_ns))
            return NOMEM;
        struct match_candidate *candidate = result == MATCH_PREVIOUS ? &f->previous : &f->current;
        note(w, e, candidate, result == MATCH_PREVIOUS ? &w->previous_ranks : &w->current_ranks);
        append_record(w, order[f->at], &w->instances->list[candidate->instance]);
    }
    finish(w, &f->previous, &w->previous_ranks);
    finish(w, &f->current, &w->current_ranks);
    pid->instance_count = w->instances->count - pid->first_instance;
    return OK;
}

/* The chain of a pid as an array; NULL if out of memory. */
static uint32_t *list_records(const struct record_index *records, const struct pid_entry *pid, uint32_t **memory,
                              uint32_t *capacity,
                         uint32_t *count)
{
    uint32_t size = 0;
    for (uint32_t i = pid->first; i != NONE; i = records->list[i].next) {
        if (size == *capacity) {
            uint32_t more = *capacity ? *capacity * 2 : 256;
            if (array_resize(*memory, 2 * (size_t)more))
                return NULL;
            *capacity = more;
        }
        (*memory)[size++] = i;
    }
    *count = size;
    return *memory;
}

enum err process_instances_find(struct process_instances *instances, struct record_index *records, uint32_t run_pid)
{
    struct instance_walk walk = { .instances = instances, .records = records, .match = { .records = records,
                                                                                         .run_pid = run_pid } };
    uint32_t *memory = NULL, capacity = 0, count;
    enum err err = OK;
    *instances = (struct process_instances){ 0 };
    for (uint32_t i = 0; i < records->pid_count && !err; i++) {
        struct pid_entry *pid = &records->pids[i];
        if (pid->pid == run_pid)
            continue;
        uint32_t *order = list_records(records, pid, &memory, &capacity, &count);
        if (!order) {
            err = NOMEM;
        } else {
            sort_by_time(records->list, sizeof *records->list, order, memory + capacity, count);
            err = split_pid(&walk, pid, order, count);
        }
    }
    free(memory);
    return err;
}

void process_instances_clear(struct process_instances *instances)
{
    free(instances->list);
    *instances = (struct process_instances){ 0 };
}

enum err process_instances_add_unrecorded(struct process_instances *instances, struct record_index *records,
                                          uint32_t pid, uint64_t time_ns, uint32_t *index)
{
    struct pid_entry *known = record_index_add_pid(records, pid);
    if (!known)
        return NOMEM;
    if (known->unrecorded == NONE) {
        if (!add(instances, records, pid, time_ns))
            return NOMEM;
        known->unrecorded = instances->count - 1;
    }
    *index = known->unrecorded;
    struct process_instance *instance = &instances->list[known->unrecorded];
    instance->first_ns = time_ns < instance->first_ns ? time_ns : instance->first_ns;
    return OK;
}

static bool may_exist_at(const struct process_instance *instance, uint64_t time_ns)
{
    return !instance->end_ns || instance->end_ns + AFTER_END_NS >= time_ns;
}

uint32_t process_instance_at(const struct process_instances *instances, const struct record_index *records,
                             uint32_t pid, uint64_t time_ns)
{
    const struct pid_entry *known = record_index_find_pid(records, pid);
    if (!known)
        return NONE;
    uint32_t low = 0, high = known->instance_count; /* number of instances whose first record is not later */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (instances->list[known->first_instance + middle].first_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t instance = known->first_instance + low;
    if (low > 0 && may_exist_at(&instances->list[instance - 1], time_ns))
        return instance - 1;
    /* The next instance may have been running before its first record. */
    return low < known->instance_count && !instances->list[instance].has_exact_start ? instance : NONE;
}
