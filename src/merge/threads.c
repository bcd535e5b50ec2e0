/* Pieces of evidence (the probe's thread records, the kernel's forks, exits and taskstats), sorted by tid and time and
 * joined. A tid is given out again within one process, so that a second piece of a kind means another thread. */
#include "merge/threads.h"

#include "base/clock.h"
#include "merge/io.h"

#include <stdlib.h>

#define LATE_END_NS (10 * NS_PER_MS)

struct threads_piece {
    uint64_t time_ns;
    uint32_t tid, event;
};

void threads_scratch_clear(struct threads_scratch *scratch)
{
    free(scratch->pieces);
    *scratch = (struct threads_scratch){ 0 };
}

static bool is_piece(const struct event *e)
{
    return e->kind == RECORD_KIND_thread || e->kind == RECORD_KIND_taskstats || e->kind == RECORD_KIND_kernel_exit
           || e->kind == RECORD_KIND_perf || (e->kind == RECORD_KIND_kernel_fork && e->flags & EVENT_OF_THREAD);
}

/* A thread's exit record may be read long after the process exec'd: its beginning tells which image it was of. */
static uint64_t time_of(const struct events *events, const struct event *e)
{
    struct event_numbers n;
    if (e->kind != RECORD_KIND_taskstats || !(e->flags & EVENT_OF_THREAD) || !event_read(events, e, &n) || !n.start_ns)
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
    return a->event < b->event ? -1 : 1;
}

/* Is there a piece of this thread among those gathered; of this kind, or, with 0, of any? */
static bool has_piece(const struct threads_scratch *scratch, uint32_t count, const struct events *events, uint32_t tid,
                      unsigned kind)
{
    for (uint32_t i = 0; i < count; i++)
        if (scratch->pieces[i].tid == tid && (!kind || events->list[scratch->pieces[i].event].kind == kind))
            return true;
    return false;
}

static bool is_within(uint64_t time_ns, uint64_t from_ns, uint64_t length_ns)
{
    return time_ns >= from_ns && time_ns - from_ns < length_ns;
}

/* Events of perf may be opened before an exec for the image to come; and the kernel tells of the end of threads that an exec
 * ended up to a moment after it tells of the exec. */
static bool is_of_image(const struct threads_scratch *scratch, uint32_t count, const struct events *events,
                        const struct event *e, const struct threads_window *window)
{
    uint64_t time_ns = time_of(events, e);
    bool is_end = e->kind == RECORD_KIND_kernel_exit && e->flags & EVENT_OF_THREAD;
    if (e->flags & EVENT_ON_EXEC)
        return e->kind == RECORD_KIND_perf && e->time_ns == window->exec_ns;
    if (is_end && window->from_ns && is_within(time_ns, window->from_ns, LATE_END_NS))
        return has_piece(scratch, count, events, e->who, RECORD_KIND_kernel_fork);
    if (is_end && is_within(time_ns, window->until_ns, LATE_END_NS))
        return has_piece(scratch, count, events, e->who, 0)
               && !has_piece(scratch, count, events, e->who, RECORD_KIND_kernel_exit);
    return time_ns >= window->from_ns && time_ns < window->until_ns;
}

static enum err gather(struct threads_scratch *scratch, const struct events *events, const struct life *life,
                       struct threads_window window, uint32_t *count)
{
    *count = 0;
    for (uint32_t i = window.first; i != NONE; i = events->list[i].next) {
        const struct event *e = &events->list[i];
        if (window.stops && e->time_ns >= window.until_ns && !is_within(e->time_ns, window.until_ns, LATE_END_NS))
            break;
        if (!is_piece(e) || !is_of_image(scratch, *count, events, e, &window))
            continue;
        if (*count == scratch->room) {
            uint32_t room = scratch->room ? scratch->room * 2 : 64;
            struct threads_piece *pieces = realloc(scratch->pieces, room * sizeof *pieces);
            if (!pieces)
                return NOMEM;
            scratch->pieces = pieces;
            scratch->room = room;
        }
        uint32_t tid = e->kind == RECORD_KIND_kernel_fork || e->flags & EVENT_OF_THREAD ? e->who : life->pid;
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

/* joins: what stands there is the kernel's; else it is an earlier word of the probe, which this one replaces. */
static void take_thread(struct bytes body, struct thread *thread, bool joins)
{
    struct thread_record record;
    if (record_unpack_thread(body, &record))
        return;
    thread->start_ns = thread->start_ns ? thread->start_ns : record.start_ns;
    thread->end_ns = record.end_ns; /* the kernel's word comes later and counts more */
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

/* kinds: of the pieces that the thread has already. */
static void take_piece(const struct events *events, const struct threads_piece *piece, uint32_t kinds,
                       struct thread *thread)
{
    const struct event *e = &events->list[piece->event];
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_kernel_fork: thread->start_ns = e->time_ns; break;
    case RECORD_KIND_kernel_exit: thread->end_ns = e->time_ns; break;
    case RECORD_KIND_thread: take_thread(event_body(events, e), thread, kinds >> RECORD_KIND_taskstats & 1); break;
    case RECORD_KIND_taskstats: take_taskstats(event_body(events, e), thread); break;
    case RECORD_KIND_perf: thread->events = piece->event; break;
    default: break;
    }
}

/* A thread that lived through an exec which failed tells of itself again at its end. */
static bool is_told_again(const struct events *events, const struct event *e, uint64_t start_ns)
{
    struct event_numbers n;
    return e->kind == RECORD_KIND_thread && event_read(events, e, &n) && n.start_ns == start_ns;
}

static uint64_t told_start_ns(const struct events *events, const struct threads_piece *piece)
{
    struct event_numbers n;
    return event_read(events, &events->list[piece->event], &n) ? n.start_ns : 0;
}

/* What is known of the thread that had the tid last. */
struct holder {
    struct thread *thread;
    uint32_t tid, kinds;
    uint64_t told_start_ns; /* by the probe */
};

/* Does the piece begin another thread than the one that had the tid before? */
static bool begins_thread(const struct events *events, const struct threads_piece *piece, const struct holder *holder)
{
    const struct event *e = &events->list[piece->event];
    if (piece->tid != holder->tid)
        return true;
    if (holder->kinds >> e->kind & 1)
        return !is_told_again(events, e, holder->told_start_ns);
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

enum err threads_of(struct threads_scratch *scratch, const struct events *events, const struct life *life,
                    struct threads_window window, struct thread *out, uint32_t *count)
{
    uint32_t pieces, main_kinds = 0;
    struct holder holder = { .tid = life->pid };
    *count = 0;
    scratch->perf_count = 0;
    new_thread(out, count, life->pid);
    enum err err = gather(scratch, events, life, window, &pieces);
    for (uint32_t i = 0; i < pieces && !err; i++) {
        const struct threads_piece *piece = &scratch->pieces[i];
        bool is_main = piece->tid == life->pid;
        if (is_main && events->list[piece->event].kind == RECORD_KIND_perf && out[0].events != UINT32_MAX
            && scratch->perf_count < THREADS_PERF_MAX) { /* of an image that was gone before its counters came to us */
            scratch->perf[scratch->perf_count++] = piece->event;
            continue;
        }
        if (is_main) { /* always one; a second exit record is that of a leader which was replaced in an exec */
            take_piece(events, piece, main_kinds, &out[0]);
            main_kinds |= 1u << events->list[piece->event].kind;
            continue;
        }
        if (begins_thread(events, piece, &holder))
            holder = (struct holder){ .thread = new_thread(out, count, piece->tid), .tid = piece->tid };
        take_piece(events, piece, holder.kinds, holder.thread);
        holder.kinds |= 1u << events->list[piece->event].kind;
        if (events->list[piece->event].kind == RECORD_KIND_thread)
            holder.told_start_ns = told_start_ns(events, piece);
    }
    if (*count > 2)
        qsort(out + 1, *count - 1, sizeof *out, by_start);
    return err;
}
