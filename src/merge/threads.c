/* Collects records about threads (thread records of the probe, the kernel's fork and exit events, taskstats), sorts
 * them by tid and time, and joins those of one thread. A tid can be reused within a process: a second record of the
 * same kind means another thread. */
#include "merge/threads.h"

#include "base/clock.h"
#include "base/cpu_budget.h"
#include "base/vec.h"
#include "merge/io_with_children.h"

#include <stdlib.h>

#define LATE_END_NS (10 * NS_PER_MS)

struct threads_piece {
    uint64_t time_ns;
    uint32_t tid, entry;
};

void threads_scratch_clear(struct threads_scratch *scratch)
{
    free(scratch->pieces);
    *scratch = (struct threads_scratch){ 0 };
}

static bool is_piece(const struct record_entry *e)
{
    return e->kind == RECORD_KIND_thread || e->kind == RECORD_KIND_taskstats || e->kind == RECORD_KIND_kernel_exit
           || e->kind == RECORD_KIND_perf || (e->kind == RECORD_KIND_kernel_fork && e->flags & ENTRY_OF_THREAD);
}

/* A thread's taskstats may be read long after the process exec'd: its start time shows to which image it belongs. */
static uint64_t time_of(const struct record_index *records, const struct record_entry *e)
{
    struct record_numbers n;
    if (e->kind != RECORD_KIND_taskstats || !(e->flags & ENTRY_OF_THREAD) || !record_index_numbers(records, e, &n)
        || !n.start_ns)
        return e->time_ns;
    return n.start_ns;
}

static int by_tid_and_time(const void *left, const void *right)
{
    const struct threads_piece *a = left, *b = right;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->entry < b->entry ? -1 : 1;
}

/* Is there a collected record of this thread, of this kind or, if kind is 0, of any kind? */
static bool has_piece(const struct threads_scratch *scratch, uint32_t count, const struct record_index *records,
                      uint32_t tid,
                      unsigned kind)
{
    for (uint32_t i = 0; i < count && !cpu_budget_is_spent(); i++)
        if (scratch->pieces[i].tid == tid && (!kind || records->list[scratch->pieces[i].entry].kind == kind))
            return true;
    return false;
}

static bool is_within(uint64_t time_ns, uint64_t from_ns, uint64_t length_ns)
{
    return time_ns >= from_ns && time_ns - from_ns < length_ns;
}

/* Perf events may be opened before an exec for the next image. The exit of threads that an exec terminates is reported
 * up to a moment after the exec. */
static bool is_of_image(const struct threads_scratch *scratch, uint32_t count, const struct record_index *records,
                        const struct record_entry *e, const struct threads_window *window)
{
    uint64_t time_ns = time_of(records, e);
    bool is_end = e->kind == RECORD_KIND_kernel_exit && e->flags & ENTRY_OF_THREAD;
    if (e->flags & ENTRY_PERF_ON_EXEC)
        return e->kind == RECORD_KIND_perf && e->time_ns == window->exec_ns;
    if (is_end && window->from_ns && is_within(time_ns, window->from_ns, LATE_END_NS))
        return has_piece(scratch, count, records, e->related_pid, RECORD_KIND_kernel_fork);
    if (is_end && is_within(time_ns, window->until_ns, LATE_END_NS))
        return has_piece(scratch, count, records, e->related_pid, 0)
               && !has_piece(scratch, count, records, e->related_pid, RECORD_KIND_kernel_exit);
    return time_ns >= window->from_ns && time_ns < window->until_ns;
}

static enum err gather(struct threads_scratch *scratch, const struct record_index *records,
                       const struct process_instance *instance,
                       struct threads_window window, uint32_t *count)
{
    *count = 0;
    for (uint32_t i = window.first; i != NONE; i = records->list[i].next) {
        const struct record_entry *e = &records->list[i];
        if (cpu_budget_is_spent())
            return FULL;
        if (window.stops && e->time_ns >= window.until_ns && !is_within(e->time_ns, window.until_ns, LATE_END_NS))
            break;
        if (!is_piece(e) || !is_of_image(scratch, *count, records, e, &window))
            continue;
        if (array_reserve(scratch->pieces, scratch->capacity, *count + 1, VEC_MAX))
            return NOMEM;
        uint32_t tid = e->kind == RECORD_KIND_kernel_fork || e->flags & ENTRY_OF_THREAD ? e->related_pid : instance->pid;
        scratch->pieces[(*count)++] = (struct threads_piece){ e->time_ns, tid, i };
    }
    if (*count > 1)
        qsort(scratch->pieces, *count, sizeof *scratch->pieces, by_tid_and_time);
    return OK;
}

void threads_set_name(struct thread *thread, struct bytes name)
{
    if (!name.size)
        return;
    memset(thread->name, 0, sizeof thread->name);
    memcpy(thread->name, name.data, name.size < sizeof thread->name ? name.size : sizeof thread->name);
}

void threads_join(struct counters *all, const struct counters *probe, const struct counters *kernel)
{
    struct counters joined = *probe, exit_record = *kernel;
    joined.known &= IO_COUNTERS;
    counters_fill(&joined, &exit_record);
    counters_fill(&joined, probe);
    *all = joined;
}

/* joins: the counters so far are from the kernel; otherwise from an earlier record of the probe, which this one
 * replaces. */
static void take_thread(struct bytes body, struct thread *thread, bool joins)
{
    struct thread_record record;
    if (record_unpack_thread(body, &record))
        return;
    thread->start_ns = thread->start_ns ? thread->start_ns : record.start_ns;
    thread->end_ns = record.end_ns; /* the kernel's exit event comes later and has precedence */
    threads_set_name(thread, record.name);
    struct counters kernel = joins ? thread->counters : (struct counters){ 0 };
    threads_join(&thread->counters, &record.counters, &kernel);
}

static void take_taskstats(struct bytes body, struct thread *thread)
{
    struct taskstats_record record;
    if (record_unpack_taskstats(body, &record))
        return;
    thread->start_ns = thread->start_ns ? thread->start_ns : record.start_ns;
    thread->end_ns = thread->end_ns ? thread->end_ns : record.end_ns;
    threads_set_name(thread, record.name);
    struct counters probe = thread->counters;
    threads_join(&thread->counters, &probe, &record.counters);
}

/* kinds: record kinds that the thread already has. */
static void take_piece(const struct record_index *records, const struct threads_piece *piece, uint32_t kinds,
                       struct thread *thread)
{
    const struct record_entry *e = &records->list[piece->entry];
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_kernel_fork: thread->start_ns = e->time_ns; break;
    case RECORD_KIND_kernel_exit: thread->end_ns = e->time_ns; break;
    case RECORD_KIND_thread: take_thread(record_index_body(records, e), thread, kinds >> RECORD_KIND_taskstats & 1); break;
    case RECORD_KIND_taskstats: take_taskstats(record_index_body(records, e), thread); break;
    case RECORD_KIND_perf: thread->events = piece->entry; break;
    default: break;
    }
}

/* A thread that survived a failed exec writes another record at its end. */
static bool is_duplicate(const struct record_index *records, const struct record_entry *e, uint64_t start_ns)
{
    struct record_numbers n;
    return e->kind == RECORD_KIND_thread && record_index_numbers(records, e, &n) && n.start_ns == start_ns;
}

static uint64_t reported_start_ns(const struct record_index *records, const struct threads_piece *piece)
{
    struct record_numbers n;
    return record_index_numbers(records, &records->list[piece->entry], &n) ? n.start_ns : 0;
}

/* The last thread with this tid. */
struct holder {
    struct thread *thread;
    uint32_t tid, kinds;
    uint64_t reported_start_ns; /* from the probe */
};

/* Does the record start another thread than the last one with this tid? */
static bool begins_thread(const struct record_index *records, const struct threads_piece *piece,
                          const struct holder *holder)
{
    const struct record_entry *e = &records->list[piece->entry];
    if (piece->tid != holder->tid)
        return true;
    if (holder->kinds >> e->kind & 1)
        return !is_duplicate(records, e, holder->reported_start_ns);
    return e->kind == RECORD_KIND_kernel_fork && holder->kinds;
}

static int by_start(const void *left, const void *right)
{
    const struct thread *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static struct thread *new_thread(struct thread *out, uint32_t *count, uint32_t tid)
{
    out[*count] = (struct thread){ .tid = tid, .events = UINT32_MAX };
    return &out[(*count)++];
}

enum err threads_of(struct threads_scratch *scratch, const struct record_index *records,
                    const struct process_instance *instance,
                    struct threads_window window, struct thread *out, uint32_t *count)
{
    uint32_t pieces, main_kinds = 0;
    struct holder holder = { .tid = instance->pid };
    *count = 0;
    scratch->perf_count = 0;
    new_thread(out, count, instance->pid);
    enum err err = gather(scratch, records, instance, window, &pieces);
    for (uint32_t i = 0; i < pieces && !err; i++) {
        const struct threads_piece *piece = &scratch->pieces[i];
        bool is_main = piece->tid == instance->pid;
        if (is_main && records->list[piece->entry].kind == RECORD_KIND_perf && out[0].events != UINT32_MAX
            && scratch->perf_count < THREADS_PERF_MAX) { /* of an image that was gone before we got its counters */
            scratch->perf[scratch->perf_count++] = piece->entry;
            continue;
        }
        if (is_main) { /* only one; a second exit record is that of a main thread replaced by an exec */
            take_piece(records, piece, main_kinds, &out[0]);
            main_kinds |= 1u << records->list[piece->entry].kind;
            continue;
        }
        if (begins_thread(records, piece, &holder))
            holder = (struct holder){ .thread = new_thread(out, count, piece->tid), .tid = piece->tid };
        take_piece(records, piece, holder.kinds, holder.thread);
        holder.kinds |= 1u << records->list[piece->entry].kind;
        if (records->list[piece->entry].kind == RECORD_KIND_thread)
            holder.reported_start_ns = reported_start_ns(records, piece);
    }
    if (*count > 2)
        qsort(out + 1, *count - 1, sizeof *out, by_start);
    return err;
}
