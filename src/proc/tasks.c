/* The book-keeping of tasks. The difficult ones are those that are seen in between: a task whose exit record came, but
 * which still stands in its cgroup (a large process takes seconds to give back its memory); a thread that execs and goes
 * on under the tid of its leader; one that leaves its cgroup; a record that was lost. */
#include "proc/tasks.h"

#include <stdlib.h>

#define ROOM_FIRST 64
#define PENDING_MAX 8192
#define PARENTS_MAX 65536
#define ANCESTORS_MAX 64
#define BEGIN_TOLERANCE_S 2

/* One more place in an array, which grows. */
static enum err make_room(void *array, size_t count, size_t *room, size_t item_size)
{
    void **items = array;
    if (count < *room)
        return OK;
    size_t more = *room ? *room * 2 : ROOM_FIRST;
    void *grown = realloc(*items, more * item_size);
    if (!grown)
        return NOMEM;
    *items = grown;
    *room = more;
    return OK;
}

void tasks_clear(struct tasks *tasks)
{
    owners_clear(&tasks->by_tid);
    owners_clear(&tasks->processes[0]);
    owners_clear(&tasks->processes[1]);
    pidmap_clear(&tasks->ended_places);
    pidmap_clear(&tasks->parents);
    free(tasks->jobs);
    free(tasks->list);
    free(tasks->ended);
    free(tasks->pending);
    *tasks = (struct tasks){ .is_alive = tasks->is_alive, .is_exiting = tasks->is_exiting };
}

enum err tasks_job_begin(struct tasks *tasks, uint32_t slot)
{
    if (slot >= tasks->job_room) {
        size_t room = tasks->job_room ? tasks->job_room : ROOM_FIRST;
        while (room <= slot)
            room *= 2;
        struct tasks_job *jobs = realloc(tasks->jobs, room * sizeof *jobs);
        if (!jobs)
            return NOMEM;
        for (size_t i = tasks->job_room; i < room; i++)
            jobs[i] = (struct tasks_job){ 0 };
        tasks->jobs = jobs;
        tasks->job_room = room;
    }
    tasks->jobs[slot] = (struct tasks_job){ .is_open = true, .serial = ++tasks->serial };
    return OK;
}

void tasks_job_end(struct tasks *tasks, uint32_t slot)
{
    for (size_t i = 0; i < tasks->count; i++)
        if (tasks->list[i].slot == slot)
            tasks->list[i].round = 0;
    if (slot < tasks->job_room)
        tasks->jobs[slot].is_open = false;
}

void tasks_begin(struct tasks *tasks, uint64_t offset_s)
{
    uint64_t step_s = tasks->round ? offset_s - tasks->offset_s : 0;
    if (step_s > UINT64_MAX / 2)
        step_s = -step_s;
    tasks->tolerance_s = BEGIN_TOLERANCE_S + step_s; /* a record tells by the clock as it was when the task ended */
    tasks->offset_s = offset_s;
    tasks->round++;
    tasks->pending_count = 0;
    pidmap_reset(&tasks->parents);
}

/* NULL: the job has ended, and another may have its slot. */
static struct tasks_job *job_of(struct tasks *tasks, uint32_t slot, uint32_t serial)
{
    struct tasks_job *job = slot < tasks->job_room ? &tasks->jobs[slot] : NULL;
    return job && job->is_open && job->serial == serial ? job : NULL;
}

/* One by the clock that nobody sets, one as the kernel told it just now. Differences may wrap. */
static bool began_together(const struct tasks *tasks, uint64_t kept_s, uint64_t told_s)
{
    uint64_t apart_s = kept_s - (told_s - tasks->offset_s);
    return apart_s <= tasks->tolerance_s || -apart_s <= tasks->tolerance_s;
}

static enum err own_process(struct tasks *tasks, uint32_t pid, uint32_t slot, uint32_t serial)
{
    return pid ? owners_put(&tasks->processes[tasks->now], pid, slot, serial, 0) : OK;
}

/* Those of before version 12 do not tell the process, and are taken for processes. */
static bool is_end_of_process(const struct taskstats_use *use)
{
    return use->process_ended || !use->pid;
}

static enum err note_ended(struct tasks *tasks, const struct taskstats_use *use)
{
    uint32_t place = pidmap_get(&tasks->ended_places, use->tid);
    bool took_over = place != PIDMAP_NONE && use->tid == use->pid && !tasks->ended[place].process_ended;
    if (place == PIDMAP_NONE) {
        enum err err = make_room(&tasks->ended, tasks->ended_count, &tasks->ended_room, sizeof *tasks->ended);
        place = (uint32_t)tasks->ended_count;
        if (!err)
            err = pidmap_put(&tasks->ended_places, use->tid, place);
        if (err)
            return err;
        tasks->ended_count++;
    }
    tasks->ended[place] = (struct tasks_ended){ use->tid, tasks->round, tasks->full_round, is_end_of_process(use),
                                                took_over, use->begin_s - tasks->offset_s };
    return OK;
}

/* The task's numbers stay with the job for good. */
static void retire(struct tasks *tasks, struct task *task, const struct taskstats_use *last)
{
    struct tasks_job *job = job_of(tasks, task->slot, task->serial);
    if (job && !task->left) {
        taskstats_join(&job->ended, last);
        job->ended_count++;
    }
    task->round = 0;
}

/* True: the task was known, and has been dealt with. */
static bool end_known(struct tasks *tasks, const struct taskstats_use *use)
{
    bool found = false;
    for (uint32_t i = owners_first(&tasks->by_tid, use->tid); i != OWNERS_NONE; i = tasks->by_tid.list[i].next) {
        struct task *task = &tasks->list[tasks->by_tid.list[i].value];
        if (!task->round || task->use.tid != use->tid)
            continue;
        bool same = began_together(tasks, task->use.begin_s, use->begin_s);
        retire(tasks, task, same ? use : &task->use);
        found |= same;
        if (same)
            own_process(tasks, use->pid, task->slot, task->serial);
    }
    return found;
}

/* Charges the jobs that own pid with a task that ended. */
static bool charge_owners(struct tasks *tasks, uint32_t pid, const struct taskstats_use *use)
{
    for (unsigned round = 0; pid && round < 2; round++) {
        const struct owners *owners = &tasks->processes[round ? !tasks->now : tasks->now];
        bool found = false;
        for (uint32_t i = owners_first(owners, pid); i != OWNERS_NONE; i = owners->list[i].next) {
            struct owner owner = owners->list[i];
            struct tasks_job *job = job_of(tasks, owner.slot, owner.serial);
            if (!job)
                continue;
            taskstats_join(&job->ended, use);
            job->ended_count++;
            own_process(tasks, use->pid, owner.slot, owner.serial);
            found = true;
        }
        if (found)
            return true;
    }
    return false;
}

static enum err keep_pending(struct tasks *tasks, const struct taskstats_use *use)
{
    if (tasks->pending_count == PENDING_MAX) {
        tasks->overlooked++;
        return OK;
    }
    enum err err = make_room(&tasks->pending, tasks->pending_count, &tasks->pending_room, sizeof *tasks->pending);
    if (!err)
        tasks->pending[tasks->pending_count++] = *use;
    return err;
}

enum err tasks_exit(struct tasks *tasks, const struct taskstats_use *use)
{
    enum err err = note_ended(tasks, use);
    if (err || end_known(tasks, use) || charge_owners(tasks, use->pid, use) || charge_owners(tasks, use->ppid, use))
        return err;
    return keep_pending(tasks, use);
}

enum err tasks_fork(struct tasks *tasks, uint32_t pid, uint32_t parent_pid)
{
    bool needed = tasks->pending_count && tasks->parents.count < PARENTS_MAX;
    return needed ? pidmap_put(&tasks->parents, pid, parent_pid) : OK;
}

void tasks_look(struct tasks *tasks, uint32_t slot)
{
    if (slot >= tasks->job_room)
        return;
    struct tasks_job *job = &tasks->jobs[slot];
    job->round = tasks->round;
    job->live = (struct taskstats_use){ 0 };
    job->live_count = 0;
}

static struct task *find_task(struct tasks *tasks, uint32_t tid, uint32_t slot)
{
    for (uint32_t i = owners_first(&tasks->by_tid, tid); i != OWNERS_NONE; i = tasks->by_tid.list[i].next) {
        struct task *task = &tasks->list[tasks->by_tid.list[i].value];
        if (tasks->by_tid.list[i].slot == slot && task->round && task->use.tid == tid && task->slot == slot)
            return task;
    }
    return NULL;
}

/* A task that is still there although its record came: it is on its way out, which after the last thread of a process may take
 * long, and any thread may lose its processor there; it is a leader that waits as a zombie for its threads; or its tid is in
 * use again, after a thread of the process exec'd, which can only be the tid of the leader. That one has also taken over when
 * its leader began, so that only the kernel can tell. */
static bool is_ending(struct tasks *tasks, const struct taskstats_use *use, bool *took_over)
{
    uint32_t place = pidmap_get(&tasks->ended_places, use->tid);
    *took_over = false;
    if (place == PIDMAP_NONE)
        return false;
    struct tasks_ended *ended = &tasks->ended[place];
    if (ended->round == tasks->round)
        return true;
    bool is_leader = use->tid == use->pid || !use->pid;
    if (began_together(tasks, ended->begin_s, use->begin_s)
        && (ended->process_ended || !is_leader || tasks->is_exiting(use->tid))) {
        ended->full_round = tasks->full_round;
        return true;
    }
    *took_over = !ended->process_ended && use->tid == use->pid;
    return false;
}

/* A leader that comes after its threads is one of them, which exec'd when the first leader had gone long ago. */
static bool came_after_its_threads(const struct tasks *tasks, uint32_t slot, const struct taskstats_use *use)
{
    const struct owners *before = &tasks->processes[!tasks->now];
    if (use->tid != use->pid)
        return false;
    for (uint32_t i = owners_first(before, use->pid); i != OWNERS_NONE; i = before->list[i].next)
        if (before->list[i].slot == slot && before->list[i].serial == tasks->jobs[slot].serial)
            return true;
    return false;
}

static void keep_use(const struct tasks *tasks, struct task *task, const struct taskstats_use *use)
{
    task->use = *use;
    task->use.begin_s -= tasks->offset_s;
    task->round = tasks->round;
    task->missed = 0;
}

/* One that had left is back in the job: what it used is its own again. */
static void take_back(struct tasks *tasks, struct task *task)
{
    struct tasks_job *job = job_of(tasks, task->slot, task->serial);
    if (!task->left || !job)
        return;
    taskstats_part(&job->ended, &task->use);
    task->left = false;
}

static enum err add_task(struct tasks *tasks, uint32_t slot, const struct taskstats_use *use, bool took_over)
{
    enum err err = make_room(&tasks->list, tasks->count, &tasks->room, sizeof *tasks->list);
    uint32_t serial = tasks->jobs[slot].serial;
    if (!err)
        err = owners_put(&tasks->by_tid, use->tid, slot, serial, (uint32_t)tasks->count);
    if (err)
        return err;
    struct task *task = &tasks->list[tasks->count++];
    *task = (struct task){ .slot = slot, .serial = serial, .took_over = took_over };
    keep_use(tasks, task, use);
    return OK;
}

enum err tasks_seen(struct tasks *tasks, uint32_t slot, const struct taskstats_use *use)
{
    bool took_over;
    if (slot >= tasks->job_room || !tasks->jobs[slot].is_open)
        return OK;
    struct task *task = find_task(tasks, use->tid, slot);
    if (task && began_together(tasks, task->use.begin_s, use->begin_s)) {
        take_back(tasks, task);
        keep_use(tasks, task, use);
    } else if (is_ending(tasks, use, &took_over)) {
        return OK;
    } else {
        if (task)
            retire(tasks, task, &task->use); /* its record was lost, and its tid is another's */
        else
            took_over |= came_after_its_threads(tasks, slot, use);
        enum err err = add_task(tasks, slot, use, took_over);
        if (err)
            return err;
    }
    return own_process(tasks, use->pid, slot, tasks->jobs[slot].serial);
}

/* Parents that nobody told of, from the records themselves. */
static void learn_parents(struct tasks *tasks)
{
    for (size_t i = 0; i < tasks->pending_count; i++) {
        const struct taskstats_use *use = &tasks->pending[i];
        uint32_t pid = use->pid ? use->pid : use->tid;
        if (pidmap_get(&tasks->parents, pid) == PIDMAP_NONE && tasks->parents.count < PARENTS_MAX)
            pidmap_put(&tasks->parents, pid, use->ppid);
    }
}

static void resolve_pending(struct tasks *tasks)
{
    learn_parents(tasks);
    for (size_t i = 0; i < tasks->pending_count; i++) {
        const struct taskstats_use *use = &tasks->pending[i];
        uint32_t pid = use->pid ? use->pid : use->tid;
        for (int hops = 0; hops < ANCESTORS_MAX && pid && pid != PIDMAP_NONE; hops++) {
            if (charge_owners(tasks, pid, use))
                break;
            pid = pidmap_get(&tasks->parents, pid);
        }
    }
    tasks->pending_count = 0;
}

/* The thread went on as the leader of its process: what it used is under that tid. */
static bool was_taken_over(struct tasks *tasks, const struct task *task)
{
    if (task->use.tid == task->use.pid || !task->use.pid)
        return false;
    uint32_t place = pidmap_get(&tasks->ended_places, task->use.pid);
    if (place != PIDMAP_NONE && tasks->ended[place].took_over)
        return true;
    const struct task *leader = find_task(tasks, task->use.pid, task->slot);
    return leader && leader->took_over && leader->round == tasks->round;
}

/* One that was not seen: its record may still be on its way, so that it counts for one round more. */
static void deal_with_missing(struct tasks *tasks, struct tasks_job *job, struct task *task)
{
    task->missed++;
    if (was_taken_over(tasks, task)) {
        task->round = 0;
    } else if (task->missed > 1 && !tasks->is_alive(task->use.tid)) {
        retire(tasks, task, &task->use);
    } else if (task->missed > 1 && !task->left) {
        taskstats_join(&job->ended, &task->use);
        task->left = true;
    }
}

static void sweep(struct tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++) {
        struct task *task = &tasks->list[i];
        struct tasks_job *job = job_of(tasks, task->slot, task->serial);
        if (!job || !task->round || job->round != tasks->round)
            continue;
        if (task->round != tasks->round)
            deal_with_missing(tasks, job, task);
        if (!task->round || task->left)
            continue;
        taskstats_join(&job->live, &task->use);
        job->live_count += task->round == tasks->round;
    }
}

/* Drops what is free, and makes the tables anew. */
static enum err compact(struct tasks *tasks)
{
    size_t kept = 0;
    enum err err = OK;
    owners_reset(&tasks->by_tid);
    for (size_t i = 0; i < tasks->count && !err; i++) {
        const struct task *task = &tasks->list[i];
        if (!task->round || !job_of(tasks, task->slot, task->serial))
            continue;
        if (kept != i)
            tasks->list[kept] = *task;
        task = &tasks->list[kept];
        err = owners_put(&tasks->by_tid, task->use.tid, task->slot, task->serial, (uint32_t)kept++);
        if (!err)
            err = own_process(tasks, task->use.pid, task->slot, task->serial);
    }
    tasks->count = kept;
    return err;
}

/* Who ended two full rounds ago has left its cgroup, or was seen there since. */
static enum err forget_ended(struct tasks *tasks)
{
    size_t kept = 0;
    enum err err = OK;
    pidmap_reset(&tasks->ended_places);
    for (size_t i = 0; i < tasks->ended_count && !err; i++) {
        if (tasks->full_round - tasks->ended[i].full_round > 1)
            continue;
        tasks->ended[kept] = tasks->ended[i];
        err = pidmap_put(&tasks->ended_places, tasks->ended[kept].tid, (uint32_t)kept);
        kept++;
    }
    tasks->ended_count = kept;
    return err;
}

enum err tasks_end(struct tasks *tasks, bool is_full)
{
    resolve_pending(tasks);
    sweep(tasks);
    if (!is_full)
        return OK;
    enum err err = compact(tasks);
    tasks->full_round++;
    if (!err)
        err = forget_ended(tasks);
    tasks->now = !tasks->now; /* what was found now is the past of the next round */
    owners_reset(&tasks->processes[tasks->now]);
    return err;
}

void tasks_total(struct tasks *tasks, uint32_t slot, struct taskstats_use *total)
{
    struct tasks_job *job = &tasks->jobs[slot];
    *total = job->ended;
    taskstats_join(total, &job->live);
    taskstats_keep_counters(total, &job->shown);
    job->shown = *total;
}

enum err tasks_known(const struct tasks *tasks, uint32_t slot, struct pidlist *pids)
{
    enum err err = OK;
    for (size_t i = 0; i < tasks->count && !err; i++) {
        const struct task *task = &tasks->list[i];
        if (task->round && task->slot == slot && task->use.pid && (!i || task[-1].use.pid != task->use.pid))
            err = pidlist_add(pids, task->use.pid);
    }
    return err;
}
