/* Bookkeeping of tasks. The difficult cases: a task whose exit record came but which is still in its cgroup (a large
 * process takes seconds to free its memory); a thread that calls exec and continues under the tid of its leader; a task
 * that leaves its cgroup; a lost record. */
#include "proc/task_totals.h"

#include "base/vec.h"

#include <stdlib.h>

#define PENDING_MAX 8192
#define PARENTS_MAX 65536
#define ANCESTORS_MAX 64
#define BEGIN_TOLERANCE_S 2

void task_totals_clear(struct task_totals *totals)
{
    pid_owners_clear(&totals->by_tid);
    pid_owners_clear(&totals->processes[0]);
    pid_owners_clear(&totals->processes[1]);
    pidmap_clear(&totals->ended_index);
    pidmap_clear(&totals->parents);
    free(totals->jobs);
    free(totals->list);
    free(totals->ended);
    free(totals->pending);
    *totals = (struct task_totals){ .is_alive = totals->is_alive, .is_exiting = totals->is_exiting };
}

enum err task_totals_job_begin(struct task_totals *totals, uint32_t slot)
{
    if (array_reserve_zeroed(totals->jobs, totals->job_capacity, (size_t)slot + 1, VEC_MAX))
        return NOMEM;
    totals->jobs[slot] = (struct task_totals_job){ .is_open = true, .serial = ++totals->serial };
    return OK;
}

void task_totals_job_end(struct task_totals *totals, uint32_t slot)
{
    for (size_t i = 0; i < totals->count; i++)
        if (totals->list[i].slot == slot)
            totals->list[i].round = 0;
    if (slot < totals->job_capacity)
        totals->jobs[slot].is_open = false;
}

void task_totals_begin(struct task_totals *totals, uint64_t offset_s)
{
    uint64_t step_s = totals->round ? offset_s - totals->offset_s : 0;
    if (step_s > UINT64_MAX / 2)
        step_s = -step_s;
    totals->tolerance_s = BEGIN_TOLERANCE_S + step_s; /* the record uses the clock of the time when the task exited */
    totals->offset_s = offset_s;
    totals->round++;
    totals->pending_count = 0;
    pidmap_reset(&totals->parents);
}

/* NULL: the job has ended, and another may have its slot. */
static struct task_totals_job *job_of(struct task_totals *totals, uint32_t slot, uint32_t serial)
{
    struct task_totals_job *job = slot < totals->job_capacity ? &totals->jobs[slot] : NULL;
    return job && job->is_open && job->serial == serial ? job : NULL;
}

/* Compares a stored start (CLOCK_MONOTONIC) with a reported one (realtime). The differences may wrap. */
static bool is_same_start(const struct task_totals *totals, uint64_t stored_s, uint64_t reported_s)
{
    uint64_t apart_s = stored_s - (reported_s - totals->offset_s);
    return apart_s <= totals->tolerance_s || -apart_s <= totals->tolerance_s;
}

static enum err add_owner(struct task_totals *totals, uint32_t pid, uint32_t slot, uint32_t serial)
{
    return pid ? pid_owners_put(&totals->processes[totals->now], pid, slot, serial, 0) : OK;
}

/* Records before version 12 do not name the process; they count as process exits. */
static bool is_end_of_process(const struct taskstats_usage *usage)
{
    return usage->process_ended || !usage->pid;
}

static enum err record_exit(struct task_totals *totals, const struct taskstats_usage *usage)
{
    uint32_t place = pidmap_get(&totals->ended_index, usage->tid);
    bool took_over = place != PIDMAP_NONE && usage->tid == usage->pid && !totals->ended[place].process_ended;
    if (place == PIDMAP_NONE) {
        enum err err = array_reserve(totals->ended, totals->ended_capacity, totals->ended_count + 1, VEC_MAX);
        place = (uint32_t)totals->ended_count;
        if (!err)
            err = pidmap_put(&totals->ended_index, usage->tid, place);
        if (err)
            return err;
        totals->ended_count++;
    }
    totals->ended[place] = (struct ended_task){ usage->tid, totals->round, totals->full_round, is_end_of_process(usage),
                                                took_over, usage->begin_s - totals->offset_s };
    return OK;
}

/* Moves the task's usage to the job's ended tasks. */
static void retire(struct task_totals *totals, struct tracked_task *task, const struct taskstats_usage *last)
{
    struct task_totals_job *job = job_of(totals, task->slot, task->serial);
    if (job && !task->has_left) {
        taskstats_merge(&job->ended, last);
        job->ended_count++;
    }
    task->round = 0;
}

/* Handles the exit of a tracked task. True: it was tracked. */
static bool finish_tracked(struct task_totals *totals, const struct taskstats_usage *usage)
{
    bool found = false;
    for (uint32_t i = pid_owners_first(&totals->by_tid,
                                       usage->tid); i != PID_OWNERS_NONE; i = totals->by_tid.list[i].next) {
        struct tracked_task *task = &totals->list[totals->by_tid.list[i].value];
        if (!task->round || task->usage.tid != usage->tid)
            continue;
        bool same = is_same_start(totals, task->usage.begin_s, usage->begin_s);
        retire(totals, task, same ? usage : &task->usage);
        found |= same;
        if (same)
            add_owner(totals, usage->pid, task->slot, task->serial);
    }
    return found;
}

/* Adds an exited task to the jobs that own pid. */
static bool charge_jobs(struct task_totals *totals, uint32_t pid, const struct taskstats_usage *usage)
{
    for (unsigned round = 0; pid && round < 2; round++) {
        const struct pid_owners *owners = &totals->processes[round ? !totals->now : totals->now];
        bool found = false;
        for (uint32_t i = pid_owners_first(owners, pid); i != PID_OWNERS_NONE; i = owners->list[i].next) {
            struct pid_owner owner = owners->list[i];
            struct task_totals_job *job = job_of(totals, owner.slot, owner.serial);
            if (!job)
                continue;
            taskstats_merge(&job->ended, usage);
            job->ended_count++;
            add_owner(totals, usage->pid, owner.slot, owner.serial);
            found = true;
        }
        if (found)
            return true;
    }
    return false;
}

static enum err store_pending(struct task_totals *totals, const struct taskstats_usage *usage)
{
    if (totals->pending_count == PENDING_MAX) {
        totals->dropped++;
        return OK;
    }
    enum err err = array_reserve(totals->pending, totals->pending_capacity, totals->pending_count + 1, VEC_MAX);
    if (!err)
        totals->pending[totals->pending_count++] = *usage;
    return err;
}

enum err task_totals_add_exit(struct task_totals *totals, const struct taskstats_usage *usage)
{
    enum err err = record_exit(totals, usage);
    if (err || finish_tracked(totals, usage) || charge_jobs(totals, usage->pid, usage)
        || charge_jobs(totals, usage->ppid, usage))
        return err;
    return store_pending(totals, usage);
}

enum err task_totals_add_fork(struct task_totals *totals, uint32_t pid, uint32_t parent_pid)
{
    bool needed = totals->pending_count && totals->parents.count < PARENTS_MAX;
    return needed ? pidmap_put(&totals->parents, pid, parent_pid) : OK;
}

void task_totals_begin_job(struct task_totals *totals, uint32_t slot)
{
    if (slot >= totals->job_capacity)
        return;
    struct task_totals_job *job = &totals->jobs[slot];
    job->round = totals->round;
    job->live = (struct taskstats_usage){ 0 };
    job->latest_count = 0;
}

static struct tracked_task *find_task(struct task_totals *totals, uint32_t tid, uint32_t slot)
{
    for (uint32_t i = pid_owners_first(&totals->by_tid, tid); i != PID_OWNERS_NONE; i = totals->by_tid.list[i].next) {
        struct tracked_task *task = &totals->list[totals->by_tid.list[i].value];
        if (totals->by_tid.list[i].slot == slot && task->round && task->usage.tid == tid && task->slot == slot)
            return task;
    }
    return NULL;
}

/* A task that still exists after its exit record is one of: exiting, which after the last thread of a process may
 * take long; a leader that waits as a zombie for its threads; a new owner of the tid after a thread called exec,
 * which can only be the leader's tid. The latter also inherits the leader's start time, so only the kernel can tell
 * (is_exiting). */
static bool is_ending(struct task_totals *totals, const struct taskstats_usage *usage, bool *took_over)
{
    uint32_t place = pidmap_get(&totals->ended_index, usage->tid);
    *took_over = false;
    if (place == PIDMAP_NONE)
        return false;
    struct ended_task *ended = &totals->ended[place];
    if (ended->round == totals->round)
        return true;
    bool is_leader = usage->tid == usage->pid || !usage->pid;
    if (is_same_start(totals, ended->begin_s, usage->begin_s)
        && (ended->process_ended || !is_leader || totals->is_exiting(usage->tid))) {
        ended->full_round = totals->full_round;
        return true;
    }
    *took_over = !ended->process_ended && usage->tid == usage->pid;
    return false;
}

/* A leader that appears after its threads is one of them that called exec long after the first leader exited. */
static bool appeared_after_threads(const struct task_totals *totals, uint32_t slot, const struct taskstats_usage *usage)
{
    const struct pid_owners *before = &totals->processes[!totals->now];
    if (usage->tid != usage->pid)
        return false;
    for (uint32_t i = pid_owners_first(before, usage->pid); i != PID_OWNERS_NONE; i = before->list[i].next)
        if (before->list[i].slot == slot && before->list[i].serial == totals->jobs[slot].serial)
            return true;
    return false;
}

static void store_usage(const struct task_totals *totals, struct tracked_task *task,
                        const struct taskstats_usage *usage)
{
    task->usage = *usage;
    task->usage.begin_s -= totals->offset_s;
    task->round = totals->round;
    task->missed = 0;
}

/* A task that had left the job is back: its usage is no longer that of an ended one. */
static void take_back(struct task_totals *totals, struct tracked_task *task)
{
    struct task_totals_job *job = job_of(totals, task->slot, task->serial);
    if (!task->has_left || !job)
        return;
    taskstats_subtract(&job->ended, &task->usage);
    task->has_left = false;
}

static enum err add_task(struct task_totals *totals, uint32_t slot, const struct taskstats_usage *usage, bool took_over)
{
    enum err err = array_reserve(totals->list, totals->capacity, totals->count + 1, VEC_MAX);
    uint32_t serial = totals->jobs[slot].serial;
    if (!err)
        err = pid_owners_put(&totals->by_tid, usage->tid, slot, serial, (uint32_t)totals->count);
    if (err)
        return err;
    struct tracked_task *task = &totals->list[totals->count++];
    *task = (struct tracked_task){ .slot = slot, .serial = serial, .took_over = took_over };
    store_usage(totals, task, usage);
    return OK;
}

enum err task_totals_add_live(struct task_totals *totals, uint32_t slot, const struct taskstats_usage *usage)
{
    bool took_over;
    if (slot >= totals->job_capacity || !totals->jobs[slot].is_open)
        return OK;
    struct tracked_task *task = find_task(totals, usage->tid, slot);
    if (task && is_same_start(totals, task->usage.begin_s, usage->begin_s)) {
        take_back(totals, task);
        store_usage(totals, task, usage);
    } else if (is_ending(totals, usage, &took_over)) {
        return OK;
    } else {
        if (task)
            retire(totals, task, &task->usage); /* its record was lost and the tid was reused */
        else
            took_over |= appeared_after_threads(totals, slot, usage);
        enum err err = add_task(totals, slot, usage, took_over);
        if (err)
            return err;
    }
    return add_owner(totals, usage->pid, slot, totals->jobs[slot].serial);
}

/* Adds the parents named in the pending records. */
static void add_pending_parents(struct task_totals *totals)
{
    for (size_t i = 0; i < totals->pending_count; i++) {
        const struct taskstats_usage *usage = &totals->pending[i];
        uint32_t pid = usage->pid ? usage->pid : usage->tid;
        if (pidmap_get(&totals->parents, pid) == PIDMAP_NONE && totals->parents.count < PARENTS_MAX)
            pidmap_put(&totals->parents, pid, usage->ppid);
    }
}

static void resolve_pending(struct task_totals *totals)
{
    add_pending_parents(totals);
    for (size_t i = 0; i < totals->pending_count; i++) {
        const struct taskstats_usage *usage = &totals->pending[i];
        uint32_t pid = usage->pid ? usage->pid : usage->tid;
        for (int hops = 0; hops < ANCESTORS_MAX && pid && pid != PIDMAP_NONE; hops++) {
            if (charge_jobs(totals, pid, usage))
                break;
            pid = pidmap_get(&totals->parents, pid);
        }
    }
    totals->pending_count = 0;
}

/* The thread continued as the leader of its process, and its usage is counted there. */
static bool was_taken_over(struct task_totals *totals, const struct tracked_task *task)
{
    if (task->usage.tid == task->usage.pid || !task->usage.pid)
        return false;
    uint32_t place = pidmap_get(&totals->ended_index, task->usage.pid);
    if (place != PIDMAP_NONE && totals->ended[place].took_over)
        return true;
    const struct tracked_task *leader = find_task(totals, task->usage.pid, task->slot);
    return leader && leader->took_over && leader->round == totals->round;
}

/* A task that was not listed: its record may still arrive, so it is kept for one more round. */
static void handle_missing(struct task_totals *totals, struct task_totals_job *job, struct tracked_task *task)
{
    task->missed++;
    if (was_taken_over(totals, task)) {
        task->round = 0;
    } else if (task->missed > 1 && !totals->is_alive(task->usage.tid)) {
        retire(totals, task, &task->usage);
    } else if (task->missed > 1 && !task->has_left) {
        taskstats_merge(&job->ended, &task->usage);
        task->has_left = true;
    }
}

static void sweep(struct task_totals *totals)
{
    for (size_t i = 0; i < totals->count; i++) {
        struct tracked_task *task = &totals->list[i];
        struct task_totals_job *job = job_of(totals, task->slot, task->serial);
        if (!job || !task->round || job->round != totals->round)
            continue;
        if (task->round != totals->round)
            handle_missing(totals, job, task);
        if (!task->round || task->has_left)
            continue;
        taskstats_merge(&job->live, &task->usage);
        job->latest_count += task->round == totals->round;
    }
}

/* Removes free entries and rebuilds the index. */
static enum err compact(struct task_totals *totals)
{
    size_t kept = 0;
    enum err err = OK;
    pid_owners_reset(&totals->by_tid);
    for (size_t i = 0; i < totals->count && !err; i++) {
        const struct tracked_task *task = &totals->list[i];
        if (!task->round || !job_of(totals, task->slot, task->serial))
            continue;
        if (kept != i)
            totals->list[kept] = *task;
        task = &totals->list[kept];
        err = pid_owners_put(&totals->by_tid, task->usage.tid, task->slot, task->serial, (uint32_t)kept++);
        if (!err)
            err = add_owner(totals, task->usage.pid, task->slot, task->serial);
    }
    totals->count = kept;
    return err;
}

/* A task that exited two full rounds ago has left its cgroup, or was seen there since. */
static enum err forget_ended(struct task_totals *totals)
{
    size_t kept = 0;
    enum err err = OK;
    pidmap_reset(&totals->ended_index);
    for (size_t i = 0; i < totals->ended_count && !err; i++) {
        if (totals->full_round - totals->ended[i].full_round > 1)
            continue;
        totals->ended[kept] = totals->ended[i];
        err = pidmap_put(&totals->ended_index, totals->ended[kept].tid, (uint32_t)kept);
        kept++;
    }
    totals->ended_count = kept;
    return err;
}

enum err task_totals_end(struct task_totals *totals, bool is_full)
{
    resolve_pending(totals);
    sweep(totals);
    if (!is_full)
        return OK;
    enum err err = compact(totals);
    totals->full_round++;
    if (!err)
        err = forget_ended(totals);
    totals->now = !totals->now; /* the owners found now are the previous ones of the next round */
    pid_owners_reset(&totals->processes[totals->now]);
    return err;
}

void task_totals_get(struct task_totals *totals, uint32_t slot, struct taskstats_usage *total)
{
    struct task_totals_job *job = &totals->jobs[slot];
    *total = job->ended;
    taskstats_merge(total, &job->live);
    taskstats_clamp_counters(total, &job->reported);
    job->reported = *total;
}

enum err task_totals_pids(const struct task_totals *totals, uint32_t slot, struct pidlist *pids)
{
    enum err err = OK;
    for (size_t i = 0; i < totals->count && !err; i++) {
        const struct tracked_task *task = &totals->list[i];
        if (task->round && task->slot == slot && task->usage.pid && (!i || task[-1].usage.pid != task->usage.pid))
            err = pidlist_add(pids, task->usage.pid);
    }
    return err;
}
