/* One small function per kind of record; docs/merge.md tells the same as a table. All rest on three facts: a pid is not
 * given out again before its process was reaped; only fork, vfork, clone and posix_spawn begin a process; and
 * start_ticks tell two processes with one pid apart. Times of different writers are trusted to a tolerance only. */
#include "merge/match.h"

#include "base/clock.h"

#define SKEW_NS (10 * NS_PER_MS)  /* between the kernel's clock for events and that of programs */
#define PAUSE_NS (1 * NS_PER_S)   /* a writer may be halted between what it did and its look at the clock */
#define FORK_NS (10 * NS_PER_S)   /* from a parent's look at the clock to the child that it forks: large ones take long */
#define LOOK_AHEAD 16u
#define BIT(kind) (1u << RECORD_KIND_##kind)

static bool has(const struct tale *tale, uint32_t bits)
{
    return tale->kinds & bits;
}

static bool only(const struct tale *tale, uint32_t bits)
{
    return !(tale->kinds & ~bits);
}

static bool is_over(const struct tale *tale)
{
    return tale->wait_ns || tale->exited;
}

static const struct event *event_at(const struct fitting *f, uint32_t at)
{
    return &f->events->list[f->order[at]];
}

/* The kernel tells of a fork before the child runs: it comes first, but for skew and for parents that looked at the
 * clock before they forked. */
static enum fit fit_kernel_fork(const struct fitting *f, const struct event *e)
{
    if (e->flags & EVENT_OF_THREAD)
        return f->now.wait_ns ? ANEW : SAME;
    if (has(&f->now, BIT(kernel_fork) | BIT(end)) || is_over(&f->now))
        return ANEW;
    uint64_t limit_ns = only(&f->now, BIT(fork) | BIT(spawn)) ? FORK_NS : SKEW_NS;
    return e->time_ns - f->now.first_ns > limit_ns ? ANEW : SAME;
}

/* Written by the child at once: nothing but the kernel can have spoken of it before. */
static enum fit fit_fork(const struct fitting *f, const struct event *e)
{
    (void)e;
    return only(&f->now, BIT(kernel_fork)) && !is_over(&f->now) ? SAME : ANEW;
}

/* Written by the parent when the child runs already, or has ended. Until the parent waits the pid is the child's. */
static enum fit fit_spawn(const struct fitting *f, const struct event *e)
{
    const struct tale *now = &f->now;
    if (has(now, BIT(spawn) | BIT(fork) | BIT(exec)))
        return ANEW;
    if (now->ppid && now->ppid != e->who && now->ppid != f->run_pid)
        return ANEW;
    return now->wait_ns && e->time_ns - now->wait_ns > PAUSE_NS ? ANEW : SAME;
}

/* With copied = 0 a child of vfork speaks, which has had no image of its own. */
static enum fit fit_exec(const struct fitting *f, const struct event *e)
{
    if (is_over(&f->now))
        return ANEW;
    if (e->flags & EVENT_COPIED)
        return SAME;
    return has(&f->now, BIT(end) | BIT(image) | BIT(fork) | BIT(spawn) | BIT(kernel_exec)) ? ANEW : SAME;
}

/* It began at another time than the life under way, by a clock that is right to some hundredths; the parent must differ
 * too, because the clock may have been set in between. */
static bool began_elsewhere(const struct fitting *f, uint64_t ticks, uint64_t ppid)
{
    uint64_t began_ns = events_ticks_ns(f->events, ticks), first_ns = f->now.first_ns;
    if (!began_ns || !has(&f->now, BIT(fork) | BIT(kernel_fork)) || ppid == f->now.ppid || ppid == f->run_pid)
        return false;
    return began_ns > first_ns + 2 * PAUSE_NS;
}

static enum fit fit_image(const struct fitting *f)
{
    uint64_t ppid = f->numbers.ppid, ticks = f->numbers.start_ticks;
    if (ticks && f->now.ticks)
        return ticks == f->now.ticks ? SAME : ANEW;
    if (is_over(&f->now) || has(&f->now, BIT(end)))
        return ANEW;
    return began_elsewhere(f, ticks, ppid) ? ANEW : SAME;
}

static enum fit fit_kernel_exec(const struct fitting *f)
{
    uint64_t ticks = f->numbers.start_ticks;
    if (ticks && f->now.ticks)
        return ticks == f->now.ticks ? SAME : ANEW;
    return is_over(&f->now) ? ANEW : SAME;
}

/* Looked at in the moment between its exit record and its end, or by one who looked at the clock late: what began before
 * the life was over is that life. */
static enum fit fit_alive(const struct fitting *f)
{
    uint64_t began_ns = events_ticks_ns(f->events, f->numbers.start_ticks);
    if (f->now.ticks || !began_ns || !is_over(&f->now))
        return fit_kernel_exec(f);
    return began_ns <= f->now.last_ns + SKEW_NS ? SAME : ANEW;
}

/* It began while the life before was under way and this one was not. */
static bool is_of_before(const struct fitting *f, uint64_t start_ns)
{
    return f->before.life != NONE && start_ns && start_ns + SKEW_NS < f->now.first_ns
           && start_ns <= f->before.last_ns + SKEW_NS;
}

static enum fit fit_thread(const struct fitting *f)
{
    if (is_of_before(f, f->numbers.start_ns))
        return BEFORE;
    return f->now.wait_ns && f->numbers.start_ns > f->now.wait_ns ? ANEW : SAME;
}

static enum fit fit_end(const struct fitting *f, const struct event *e)
{
    (void)e;
    return is_over(&f->now) ? ANEW : SAME;
}

/* Before the next process with this pid begins, does this one still do something? */
static bool goes_on(const struct fitting *f)
{
    uint32_t begins = BIT(fork) | BIT(kernel_fork) | BIT(spawn);
    uint32_t lives = BIT(end) | BIT(exec) | BIT(image) | BIT(wait) | BIT(kernel_exec) | BIT(kernel_exit);
    for (uint32_t at = f->at + 1; at < f->count && at <= f->at + LOOK_AHEAD; at++) {
        const struct event *e = event_at(f, at);
        if (e->flags & (EVENT_OF_THREAD | EVENT_STOP))
            continue;
        if (begins >> e->kind & 1)
            return false;
        if (lives >> e->kind & 1)
            return true;
    }
    return false;
}

/* The parent looked at the clock so late that its child's pid had been given out again. */
static bool is_late_wait(const struct fitting *f, const struct event *e)
{
    if (f->before.life == NONE || f->before.wait_ns || is_over(&f->now) || has(&f->now, BIT(end)))
        return false;
    if (f->before.ppid && f->before.ppid != e->who && e->who != f->run_pid)
        return false;
    return goes_on(f) || (f->now.ppid && f->now.ppid != e->who && e->who != f->run_pid);
}

/* A tracer is told of the end too, with the same words. */
static bool is_told_twice(const struct fitting *f, const struct event *e)
{
    struct wait_record a, b;
    if (record_unpack_wait(f->now.wait, &a) || record_unpack_wait(event_body(f->events, e), &b))
        return false;
    return a.status == b.status && memcmp(&a.usage, &b.usage, sizeof a.usage) == 0;
}

static enum fit fit_wait(const struct fitting *f, const struct event *e)
{
    if (e->flags & EVENT_STOP)
        return f->now.wait_ns ? ANEW : SAME;
    if (f->now.wait_ns)
        return e->time_ns - f->now.wait_ns < PAUSE_NS && is_told_twice(f, e) ? SAME : ANEW;
    return is_late_wait(f, e) ? BEFORE : SAME;
}

static enum fit fit_kernel_exit(const struct fitting *f, const struct event *e)
{
    const struct tale *now = &f->now;
    bool is_late = now->wait_ns && e->time_ns - now->wait_ns > SKEW_NS;
    if (e->flags & EVENT_OF_THREAD)
        return is_late ? ANEW : SAME;
    return is_late || (has(now, BIT(kernel_exit)) && now->exited) ? ANEW : SAME;
}

/* Its time is when sonde run read it, which may be after the wait; it began when the task did, or later by that much. */
static enum fit fit_taskstats(const struct fitting *f, const struct event *e)
{
    if (is_of_before(f, f->numbers.start_ns))
        return BEFORE;
    if (f->now.exited && f->now.task_told && !(e->flags & EVENT_OF_THREAD))
        return ANEW;
    uint64_t over_ns = f->now.wait_ns ? f->now.wait_ns : f->now.exited ? f->now.last_ns : UINT64_MAX - PAUSE_NS;
    return f->numbers.start_ns > over_ns + PAUSE_NS ? ANEW : SAME;
}

enum fit fit_event(const struct fitting *f)
{
    const struct event *e = event_at(f, f->at);
    if (f->now.life == NONE)
        return ANEW;
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_kernel_fork: return fit_kernel_fork(f, e);
    case RECORD_KIND_fork: return fit_fork(f, e);
    case RECORD_KIND_spawn: return fit_spawn(f, e);
    case RECORD_KIND_exec: return fit_exec(f, e);
    case RECORD_KIND_exec_failed: return is_over(&f->now) ? ANEW : SAME;
    case RECORD_KIND_image: return fit_image(f);
    case RECORD_KIND_kernel_exec: return fit_kernel_exec(f);
    case RECORD_KIND_alive: return fit_alive(f);
    case RECORD_KIND_thread: return fit_thread(f);
    case RECORD_KIND_end: return fit_end(f, e);
    case RECORD_KIND_wait: return fit_wait(f, e);
    case RECORD_KIND_kernel_exit: return fit_kernel_exit(f, e);
    case RECORD_KIND_taskstats: return fit_taskstats(f, e);
    default: return SAME;
    }
}
