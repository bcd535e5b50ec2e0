/* Walks over each pid's records in the order of time, hands them to lives, and notes what they tell of beginning, end
 * and parent. */
#include "merge/process_instance.h"

#include "base/clock.h"
#include "merge/match.h"
#include "merge/sort.h"

#include <stdlib.h>

#define AFTER_END_NS NS_PER_S /* a child may be noted this late after its parent's end */

/* Whose word counts more. A word about the parent that names sonde run may come from an orphan: it counts least. */
enum start_rank { START_NONE, START_SEEN, START_FORK, START_KERNEL };
enum end_rank { END_NONE, END_WAIT, END_PROBE, END_TASKSTATS, END_KERNEL };
enum parent_rank { PARENT_NONE, PARENT_REAPER, PARENT_WAIT, PARENT_LATE, PARENT_PROC, PARENT_IMAGE, PARENT_EXEC,
                   PARENT_FORK, PARENT_SPAWN, PARENT_KERNEL };

struct ranks {
    uint8_t start, end, parent;
};

struct walk {
    struct lives *lives;
    struct events *events;
    struct fitting fitting;
    struct ranks now, before; /* beside fitting.now and .before */
};

static void note_start(struct life *life, struct ranks *ranks, enum start_rank rank, uint64_t time_ns)
{
    if (!time_ns || rank < ranks->start)
        return;
    if (rank > ranks->start || time_ns < life->start_ns)
        life->start_ns = time_ns;
    ranks->start = rank;
}

static void note_end(struct life *life, struct ranks *ranks, enum end_rank rank, uint64_t time_ns)
{
    if (!time_ns || rank < ranks->end)
        return;
    if (rank > ranks->end || time_ns > life->end_ns)
        life->end_ns = time_ns;
    ranks->end = rank;
}

static void note_parent(struct walk *w, struct life *life, struct ranks *ranks, enum parent_rank rank, uint64_t ppid)
{
    if (!ppid || ppid >= NONE || ppid == life->pid)
        return;
    if (ppid == w->fitting.run_pid && rank < PARENT_SPAWN)
        rank = PARENT_REAPER;
    if (rank <= ranks->parent)
        return;
    life->ppid = (uint32_t)ppid;
    ranks->parent = rank;
}

static void note_exec(struct walk *w, const struct event *e, struct tale *tale, struct life *life, struct ranks *ranks)
{
    struct exec_record record;
    tale->kinds &= ~(1u << RECORD_KIND_end); /* who execs has not ended, whatever it thought before */
    if (ranks->end == END_PROBE)
        ranks->end = END_NONE;
    note_start(life, ranks, START_SEEN, e->time_ns);
    if (ranks->parent >= PARENT_EXEC || record_unpack_exec(event_body(w->events, e), &record))
        return;
    note_parent(w, life, ranks, PARENT_EXEC, record.ppid);
}

static void note_wait(struct walk *w, const struct event *e, struct tale *tale, struct life *life, struct ranks *ranks)
{
    note_parent(w, life, ranks, PARENT_WAIT, e->who);
    if (e->flags & EVENT_STOP)
        return;
    if (!tale->wait_ns || e->who == life->ppid) /* of two that were told, the parent has the word */
        life->wait = (uint32_t)(e - w->events->list);
    tale->wait_ns = e->time_ns ? e->time_ns : 1;
    tale->wait = event_body(w->events, e);
    note_end(life, ranks, END_WAIT, e->time_ns);
}

static void note_kernel_fork(struct walk *w, const struct event *e, struct tale *tale, struct life *life,
                             struct ranks *ranks)
{
    if (e->flags & EVENT_OF_THREAD) {
        tale->threads++;
        return;
    }
    note_start(life, ranks, START_KERNEL, e->time_ns);
    note_parent(w, life, ranks, PARENT_KERNEL, e->who);
}

static void note_kernel_exit(const struct event *e, struct tale *tale, struct life *life, struct ranks *ranks)
{
    bool is_main = !(e->flags & EVENT_OF_THREAD);
    tale->main_exited |= is_main;
    if (is_main || tale->threads > !tale->main_exited) /* the fork of a thread may have been lost: main is still there */
        tale->threads--;
    tale->exited = tale->main_exited && tale->threads <= 0;
    note_end(life, ranks, END_KERNEL, e->time_ns);
}

/* Kinds that say more than their time. */
static void note_numbers(struct walk *w, const struct event *e, struct tale *tale, struct life *life, struct ranks *ranks)
{
    const struct event_numbers *n = &w->fitting.numbers;
    if (e->kind == RECORD_KIND_thread) {
        if (!(e->flags & EVENT_OF_THREAD))
            note_start(life, ranks, START_SEEN, n->start_ns);
    } else if (e->kind == RECORD_KIND_taskstats) {
        note_parent(w, life, ranks, PARENT_LATE, n->ppid);
        if (!(e->flags & EVENT_OF_THREAD)) {
            note_start(life, ranks, START_SEEN, n->start_ns);
            tale->task_told = true;
        }
        if (e->flags & EVENT_LAST) {
            tale->exited = true;
            note_end(life, ranks, END_TASKSTATS, e->time_ns);
        }
    } else { /* image, kernel_exec, alive */
        tale->ticks = n->start_ticks ? n->start_ticks : tale->ticks;
        bool is_image = e->kind == RECORD_KIND_image;
        note_parent(w, life, ranks, is_image ? PARENT_IMAGE : PARENT_PROC, n->ppid);
        if (e->kind != RECORD_KIND_alive)
            note_start(life, ranks, START_SEEN, e->time_ns);
        if (e->kind == RECORD_KIND_kernel_exec) { /* no other thread survives it; what exited was the main one before */
            tale->threads = 1;
            tale->kinds &= ~(1u << RECORD_KIND_kernel_exit);
            tale->exited = tale->main_exited = tale->task_told = false;
        }
    }
}

static void note(struct walk *w, const struct event *e, struct tale *tale, struct ranks *ranks)
{
    struct life *life = &w->lives->list[tale->life];
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_fork:
        note_start(life, ranks, START_FORK, e->time_ns);
        note_parent(w, life, ranks, PARENT_FORK, e->who);
        break;
    case RECORD_KIND_spawn:
        note_start(life, ranks, START_SEEN, e->time_ns);
        note_parent(w, life, ranks, PARENT_SPAWN, e->who);
        break;
    case RECORD_KIND_exec: note_exec(w, e, tale, life, ranks); break;
    case RECORD_KIND_end: note_end(life, ranks, END_PROBE, e->time_ns); break;
    case RECORD_KIND_wait: note_wait(w, e, tale, life, ranks); break;
    case RECORD_KIND_kernel_fork: note_kernel_fork(w, e, tale, life, ranks); break;
    case RECORD_KIND_kernel_exit: note_kernel_exit(e, tale, life, ranks); break;
    case RECORD_KIND_thread: case RECORD_KIND_taskstats: case RECORD_KIND_image: case RECORD_KIND_kernel_exec:
    case RECORD_KIND_alive:
        note_numbers(w, e, tale, life, ranks);
        break;
    default:
        break;
    }
    bool of_process = !(e->flags & EVENT_OF_THREAD) || e->kind == RECORD_KIND_taskstats;
    if (!(e->flags & EVENT_STOP) && of_process)
        tale->kinds |= 1u << e->kind;
    tale->last_ns = e->time_ns > tale->last_ns ? e->time_ns : tale->last_ns;
    tale->ppid = life->ppid;
}

/* Copies what the walk learnt into the life, when nothing more can come. */
static void finish(struct walk *w, const struct tale *tale, const struct ranks *ranks)
{
    if (tale->life == NONE)
        return;
    struct life *life = &w->lives->list[tale->life];
    life->kinds = tale->kinds;
    life->ended = ranks->end == END_KERNEL ? tale->exited || life->wait != NONE || tale->kinds >> RECORD_KIND_end & 1
                                           : ranks->end != END_NONE;
    life->start_exact = ranks->start >= START_FORK;
    if (!life->ended)
        life->end_ns = 0;
    if (life->end_ns && life->start_ns > life->end_ns) /* clocks differ a little; a life is not negative */
        life->start_ns = life->end_ns;
}

static struct life *add(struct lives *lives, const struct events *events, uint32_t pid, uint64_t time_ns)
{
    if (lives->count == lives->room) {
        uint32_t room = lives->room ? lives->room + lives->room / 2 : events->pid_count + 16;
        struct life *list = realloc(lives->list, room * sizeof *list);
        if (!list)
            return NULL;
        lives->list = list;
        lives->room = room;
    }
    struct life *life = &lives->list[lives->count++];
    *life = (struct life){
        .first_ns = time_ns, .first_child_ns = UINT64_MAX, .pid = pid, .first = NONE, .last = NONE, .wait = NONE,
        .parent = NONE, .image = NONE,
    };
    return life;
}

static bool begin(struct walk *w, uint32_t pid, uint64_t time_ns)
{
    struct life *life = add(w->lives, w->events, pid, time_ns);
    if (!life)
        return false;
    finish(w, &w->fitting.before, &w->before);
    w->fitting.before = w->fitting.now;
    w->before = w->now;
    w->now = (struct ranks){ 0 };
    w->fitting.now = (struct tale){ .life = w->lives->count - 1, .first_ns = time_ns, .last_ns = time_ns, .threads = 1 };
    return true;
}

static void give(struct walk *w, uint32_t index, struct life *life)
{
    w->events->list[index].next = NONE;
    if (life->last == NONE)
        life->first = index;
    else
        w->events->list[life->last].next = index;
    life->last = index;
    life->thread_events += w->events->list[index].flags & EVENT_OF_THREAD ? 1 : 0;
}

/* Kinds of which more than the time matters here. */
static bool has_numbers(const struct event *e)
{
    const uint32_t kinds = 1u << RECORD_KIND_image | 1u << RECORD_KIND_kernel_exec | 1u << RECORD_KIND_alive
                           | 1u << RECORD_KIND_thread | 1u << RECORD_KIND_taskstats;
    return kinds >> e->kind & 1;
}

static enum err part_pid(struct walk *w, struct pid *pid, uint32_t *order, uint32_t count)
{
    struct fitting *f = &w->fitting;
    f->now = f->before = (struct tale){ .life = NONE };
    f->order = order;
    f->count = count;
    pid->life = w->lives->count;
    for (f->at = 0; f->at < count; f->at++) {
        const struct event *e = &w->events->list[order[f->at]];
        if (has_numbers(e))
            event_read(w->events, e, &f->numbers);
        enum fit fit = fit_event(f);
        if (fit == ANEW && !begin(w, pid->pid, e->time_ns))
            return NOMEM;
        struct tale *tale = fit == BEFORE ? &f->before : &f->now;
        note(w, e, tale, fit == BEFORE ? &w->before : &w->now);
        give(w, order[f->at], &w->lives->list[tale->life]);
    }
    finish(w, &f->before, &w->before);
    finish(w, &f->now, &w->now);
    pid->lives = w->lives->count - pid->life;
    return OK;
}

/* The chain of a pid as an array; NULL when memory ran out. */
static uint32_t *unchain(const struct events *events, const struct pid *pid, uint32_t **memory, uint32_t *room,
                         uint32_t *count)
{
    uint32_t size = 0;
    for (uint32_t i = pid->first; i != NONE; i = events->list[i].next) {
        if (size == *room) {
            uint32_t more = *room ? *room * 2 : 256;
            uint32_t *moved = realloc(*memory, 2 * (size_t)more * sizeof *moved);
            if (!moved)
                return NULL;
            *memory = moved;
            *room = more;
        }
        (*memory)[size++] = i;
    }
    *count = size;
    return *memory;
}

enum err lives_find(struct lives *lives, struct events *events, uint32_t run_pid)
{
    struct walk walk = { .lives = lives, .events = events, .fitting = { .events = events, .run_pid = run_pid } };
    uint32_t *memory = NULL, room = 0, count;
    enum err err = OK;
    *lives = (struct lives){ 0 };
    for (uint32_t i = 0; i < events->pid_count && !err; i++) {
        struct pid *pid = &events->pids[i];
        if (pid->pid == run_pid)
            continue;
        uint32_t *order = unchain(events, pid, &memory, &room, &count);
        if (!order) {
            err = NOMEM;
        } else {
            sort_by_time(events->list, sizeof *events->list, order, memory + room, count);
            err = part_pid(&walk, pid, order, count);
        }
    }
    free(memory);
    return err;
}

void lives_clear(struct lives *lives)
{
    free(lives->list);
    *lives = (struct lives){ 0 };
}

enum err lives_add_unseen(struct lives *lives, struct events *events, uint32_t pid, uint64_t time_ns, uint32_t *index)
{
    struct pid *known = events_pid(events, pid);
    if (!known)
        return NOMEM;
    if (known->unseen == NONE) {
        if (!add(lives, events, pid, time_ns))
            return NOMEM;
        known->unseen = lives->count - 1;
    }
    *index = known->unseen;
    struct life *life = &lives->list[known->unseen];
    life->first_ns = time_ns < life->first_ns ? time_ns : life->first_ns;
    return OK;
}

static bool could_be_at(const struct life *life, uint64_t time_ns)
{
    return !life->end_ns || life->end_ns + AFTER_END_NS >= time_ns;
}

uint32_t lives_at(const struct lives *lives, const struct events *events, uint32_t pid, uint64_t time_ns)
{
    const struct pid *known = events_find(events, pid);
    if (!known || known->lives == 0)
        return NONE;
    uint32_t low = 0, high = known->lives; /* how many began before */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (lives->list[known->life + middle].first_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t life = known->life + low;
    if (low > 0 && could_be_at(&lives->list[life - 1], time_ns))
        return life - 1;
    /* The next may have run already when it was first heard of. */
    return low < known->lives && !lives->list[life].start_exact ? life : NONE;
}
