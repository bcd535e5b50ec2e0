/* Matches records to process instances. A pid can be used by several processes during a run, and the writers of records
 * (probe, parent, kernel, /proc scan) know only the pid. Three facts about pids decide which process a record is about:
 * 1. The kernel reuses a pid only after its process was reaped: after a wait record, or the exit of all its threads, a
 * record that shows activity is about a new process.
 * 2. Only fork, vfork, clone and posix_spawn start a process: a second start record means a second process.
 * 3. start_ticks stay the same over exec and differ between two processes with the same pid.
 * Evidence counts in this order: start_ticks when both sides have them (3); records that can occur only once per
 * process, such as fork, spawn, wait (2); activity after the end (1); times, and only beyond a tolerance, because the
 * writers read different clocks and may be descheduled before they do. Records that may be written late (wait, thread,
 * taskstats) can belong to the previous process although the pid is in use again. There is one function per record
 * kind; docs/merge.md has the same rules as a table. */
#include "merge/match.h"

#include "base/clock.h"

#define SKEW_NS (10 * NS_PER_MS)    /* difference between the clocks of kernel events and of programs */
#define DELAY_MAX_NS (1 * NS_PER_S) /* delay between an action and the writer's clock_gettime: it may be descheduled */
#define FORK_MAX_NS (10 * NS_PER_S)   /* from the parent's clock_gettime to the start of its child: forking a large
                                       * process is slow */
#define LOOK_AHEAD 16u
#define BIT(kind) (1u << RECORD_KIND_##kind)

static bool has(const struct match_candidate *candidate, uint32_t bits)
{
    return candidate->kinds & bits;
}

static bool only(const struct match_candidate *candidate, uint32_t bits)
{
    return !(candidate->kinds & ~bits);
}

static bool is_over(const struct match_candidate *candidate)
{
    return candidate->wait_ns || candidate->exited;
}

static const struct record_entry *entry_at(const struct match_state *f, uint32_t at)
{
    return &f->records->list[f->order[at]];
}

/* The kernel reports a fork before the child runs, so this record comes first, except for clock differences and for
 * parents that read the clock before they forked. */
static enum match_result match_kernel_fork(const struct match_state *f, const struct record_entry *e)
{
    if (e->flags & ENTRY_OF_THREAD)
        return f->current.wait_ns ? MATCH_NEW : MATCH_CURRENT;
    if (has(&f->current, BIT(kernel_fork) | BIT(end)) || is_over(&f->current))
        return MATCH_NEW;
    uint64_t limit_ns = only(&f->current, BIT(fork) | BIT(spawn)) ? FORK_MAX_NS : SKEW_NS;
    return e->time_ns - f->current.first_ns > limit_ns ? MATCH_NEW : MATCH_CURRENT;
}

/* The child writes this first: only the kernel can have reported it earlier. */
static enum match_result match_fork(const struct match_state *f, const struct record_entry *e)
{
    (void)e;
    return only(&f->current, BIT(kernel_fork)) && !is_over(&f->current) ? MATCH_CURRENT : MATCH_NEW;
}

/* The parent writes this when the child is already running or has exited. Until the parent waits, the pid is still the
 * child's. */
static enum match_result match_spawn(const struct match_state *f, const struct record_entry *e)
{
    const struct match_candidate *current = &f->current;
    if (has(current, BIT(spawn) | BIT(fork) | BIT(exec)))
        return MATCH_NEW;
    if (current->ppid && current->ppid != e->related_pid && current->ppid != f->run_pid)
        return MATCH_NEW;
    return current->wait_ns && e->time_ns - current->wait_ns > DELAY_MAX_NS ? MATCH_NEW : MATCH_CURRENT;
}

/* Without ENTRY_EXEC_COPIED the writer is a vfork child, which had no image of its own. */
static enum match_result match_exec(const struct match_state *f, const struct record_entry *e)
{
    if (is_over(&f->current))
        return MATCH_NEW;
    if (e->flags & ENTRY_EXEC_COPIED)
        return MATCH_CURRENT;
    return has(&f->current, BIT(end) | BIT(image) | BIT(fork) | BIT(spawn) | BIT(kernel_exec)) ? MATCH_NEW : MATCH_CURRENT;
}

/* Started clearly later than the current instance. start_ticks are converted with the estimated boot time, so the
 * parent must differ as well: the clock may have been set in between. */
static bool began_later(const struct match_state *f, uint64_t ticks, uint64_t ppid)
{
    uint64_t began_ns = record_index_ticks_ns(f->records, ticks), first_ns = f->current.first_ns;
    if (!began_ns || !has(&f->current, BIT(fork) | BIT(kernel_fork)) || ppid == f->current.ppid || ppid == f->run_pid)
        return false;
    return began_ns > first_ns + 2 * DELAY_MAX_NS;
}

static enum match_result match_image(const struct match_state *f)
{
    uint64_t ppid = f->numbers.ppid, ticks = f->numbers.start_ticks;
    if (ticks && f->current.ticks)
        return ticks == f->current.ticks ? MATCH_CURRENT : MATCH_NEW;
    if (is_over(&f->current) || has(&f->current, BIT(end)))
        return MATCH_NEW;
    return began_later(f, ticks, ppid) ? MATCH_NEW : MATCH_CURRENT;
}

static enum match_result match_kernel_exec(const struct match_state *f)
{
    uint64_t ticks = f->numbers.start_ticks;
    if (ticks && f->current.ticks)
        return ticks == f->current.ticks ? MATCH_CURRENT : MATCH_NEW;
    return is_over(&f->current) ? MATCH_NEW : MATCH_CURRENT;
}

/* The /proc scan may find a process between its exit record and its exit, or read the clock late: what started before
 * the current instance ended is that instance. */
static enum match_result match_alive(const struct match_state *f)
{
    uint64_t began_ns = record_index_ticks_ns(f->records, f->numbers.start_ticks);
    if (f->current.ticks || !began_ns || !is_over(&f->current))
        return match_kernel_exec(f);
    return began_ns <= f->current.last_ns + SKEW_NS ? MATCH_CURRENT : MATCH_NEW;
}

/* It started while the previous instance was running and before the current one. */
static bool belongs_to_previous(const struct match_state *f, uint64_t start_ns)
{
    return f->previous.instance != NONE && start_ns && start_ns + SKEW_NS < f->current.first_ns
           && start_ns <= f->previous.last_ns + SKEW_NS;
}

static enum match_result match_thread(const struct match_state *f)
{
    if (belongs_to_previous(f, f->numbers.start_ns))
        return MATCH_PREVIOUS;
    return f->current.wait_ns && f->numbers.start_ns > f->current.wait_ns ? MATCH_NEW : MATCH_CURRENT;
}

static enum match_result match_end(const struct match_state *f, const struct record_entry *e)
{
    (void)e;
    return is_over(&f->current) ? MATCH_NEW : MATCH_CURRENT;
}

/* Does this instance do anything before the next process with this pid starts? */
static bool has_later_activity(const struct match_state *f)
{
    uint32_t begins = BIT(fork) | BIT(kernel_fork) | BIT(spawn);
    uint32_t instances = BIT(end) | BIT(exec) | BIT(image) | BIT(wait) | BIT(kernel_exec) | BIT(kernel_exit);
    for (uint32_t at = f->at + 1; at < f->count && at <= f->at + LOOK_AHEAD; at++) {
        const struct record_entry *e = entry_at(f, at);
        if (e->flags & (ENTRY_OF_THREAD | ENTRY_STOP))
            continue;
        if (begins >> e->kind & 1)
            return false;
        if (instances >> e->kind & 1)
            return true;
    }
    return false;
}

/* The parent read the clock so late after wait() that the pid was already in use again. */
static bool is_late_wait(const struct match_state *f, const struct record_entry *e)
{
    if (f->previous.instance == NONE || f->previous.wait_ns || is_over(&f->current) || has(&f->current, BIT(end)))
        return false;
    if (f->previous.ppid && f->previous.ppid != e->related_pid && e->related_pid != f->run_pid)
        return false;
    return has_later_activity(f) || (f->current.ppid && f->current.ppid != e->related_pid && e->related_pid != f->run_pid);
}

/* A tracer's wait returns the same status and usage as the parent's. */
static bool is_duplicate_wait(const struct match_state *f, const struct record_entry *e)
{
    struct wait_record a, b;
    if (record_unpack_wait(f->current.wait, &a) || record_unpack_wait(record_index_body(f->records, e), &b))
        return false;
    return a.status == b.status && memcmp(&a.usage, &b.usage, sizeof a.usage) == 0;
}

static enum match_result match_wait(const struct match_state *f, const struct record_entry *e)
{
    if (e->flags & ENTRY_STOP)
        return f->current.wait_ns ? MATCH_NEW : MATCH_CURRENT;
    if (f->current.wait_ns)
        return e->time_ns - f->current.wait_ns < DELAY_MAX_NS && is_duplicate_wait(f, e) ? MATCH_CURRENT : MATCH_NEW;
    return is_late_wait(f, e) ? MATCH_PREVIOUS : MATCH_CURRENT;
}

static enum match_result match_kernel_exit(const struct match_state *f, const struct record_entry *e)
{
    const struct match_candidate *current = &f->current;
    bool is_late = current->wait_ns && e->time_ns - current->wait_ns > SKEW_NS;
    if (e->flags & ENTRY_OF_THREAD)
        return is_late ? MATCH_NEW : MATCH_CURRENT;
    return is_late || (has(current, BIT(kernel_exit)) && current->exited) ? MATCH_NEW : MATCH_CURRENT;
}

/* The record's time is when sonde run read it, possibly after the wait. Its start time is that of the task or up to
 * this delay later. */
static enum match_result match_taskstats(const struct match_state *f, const struct record_entry *e)
{
    if (belongs_to_previous(f, f->numbers.start_ns))
        return MATCH_PREVIOUS;
    if (f->current.exited && f->current.has_main_taskstats && !(e->flags & ENTRY_OF_THREAD))
        return MATCH_NEW;
    uint64_t over_ns = f->current.wait_ns ? f->current.wait_ns : f->current.exited ? f->current.last_ns
                       : UINT64_MAX - DELAY_MAX_NS;
    return f->numbers.start_ns > over_ns + DELAY_MAX_NS ? MATCH_NEW : MATCH_CURRENT;
}

enum match_result match_record(const struct match_state *f)
{
    const struct record_entry *e = entry_at(f, f->at);
    if (f->current.instance == NONE)
        return MATCH_NEW;
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_kernel_fork: return match_kernel_fork(f, e);
    case RECORD_KIND_fork: return match_fork(f, e);
    case RECORD_KIND_spawn: return match_spawn(f, e);
    case RECORD_KIND_exec: return match_exec(f, e);
    case RECORD_KIND_exec_failed: return is_over(&f->current) ? MATCH_NEW : MATCH_CURRENT;
    case RECORD_KIND_image: return match_image(f);
    case RECORD_KIND_kernel_exec: return match_kernel_exec(f);
    case RECORD_KIND_alive: return match_alive(f);
    case RECORD_KIND_thread: return match_thread(f);
    case RECORD_KIND_end: return match_end(f, e);
    case RECORD_KIND_wait: return match_wait(f, e);
    case RECORD_KIND_kernel_exit: return match_kernel_exit(f, e);
    case RECORD_KIND_taskstats: return match_taskstats(f, e);
    default: return MATCH_CURRENT;
    }
}
