/* What the tasks of each job have used, by the kernel's own account of each (taskstats): the living are asked at each
 * tick, the dead leave a record, so that a process that lived between two ticks is in the totals. Needs root. About 2 µs
 * for each task and 6 for each job. */
#include "samplers/all.h"

#include "base/clock.h"
#include "proc/proc_connector.h"
#include "samplers/jobs/slots.h"
#include "samplers/jobs/tasks.h"
#include "proc/taskstats_queries.h"
#include "proc/taskfile.h"
#include "proc/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

static const struct metric metrics[] = {
#define X(field, name, unit, factor, kind, join, needs, help) { #name, unit, kind, U64, help, #field },
    TASKSTATS_FIELDS(X)
#undef X
    { "tasks", "1", GAUGE, U64, "threads that live", NULL },
    { "tasks_ended", "1", COUNTER, U64, "threads that have ended", NULL },
    { "records_lost", "1", COUNTER, U64, "exit records of the node that overflowed: CPU time is the cgroup's then", NULL },
};

enum { TASKS = TASKSTATS_SIZE, TASKS_ENDED, RECORDS_LOST, METRICS };

static const struct set set = { "taskstats", metrics, METRICS };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

#define FAILURES_MAX 10

struct watched {
    const struct job *job; /* NULL: the slot is free */
    struct job_tasks tasks;
    uint64_t group_cpu_ns; /* what its cgroup counted, as far as it is known */
};

struct taskstats {
    struct queries queries;
    struct exits exits; /* fd -1: not in this namespace */
    struct forks forks; /* fd -1: not for us */
    struct exits_meaning meaning;
    struct job_groups groups;
    struct tasks tasks;
    struct job_slots jobs; /* struct watched */
    size_t job_count;
    struct pidlist ids;   /* of all members of this round */
    struct pidlist slots; /* of the job of each */
    struct pidlist known;
    uint64_t records_lost; /* by sockets that are closed */
    unsigned failures;     /* in a row */
};

static bool is_alive(uint32_t tid)
{
    return kill((pid_t)tid, 0) == 0 || errno == EPERM;
}

/* One that has gone meanwhile was on its way. */
static bool is_exiting(uint32_t pid)
{
    struct taskfile_stat stat;
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    enum err err = taskfile_read(AT_FDCWD, path, text, sizeof text);
    return err == GONE || (!err && !taskfile_parse_stat(text, &stat) && stat.is_exiting);
}

/* Listened to only while there are jobs: each exit and each fork on the node costs somebody something. */
static void start_listening(struct taskstats *taskstats)
{
    exits_learn_meaning(&taskstats->meaning, ""); /* somebody may have switched the accounting of delays */
    if (exits_open(&taskstats->exits))
        taskstats->exits.fd = -1;
    if (forks_open_kinds(&taskstats->forks, 1u << FORKS_FORK))
        taskstats->forks.fd = -1;
}

static void stop_listening(struct taskstats *taskstats)
{
    taskstats->records_lost += taskstats->exits.lost;
    taskstats->exits.lost = 0;
    exits_close(&taskstats->exits);
    forks_close(&taskstats->forks);
}

static enum err taskstats_open(void *state, const struct sampler_context *context)
{
    struct taskstats *taskstats = state;
    taskstats->exits.fd = taskstats->forks.fd = -1;
    taskstats->tasks.is_alive = is_alive;
    taskstats->tasks.is_exiting = is_exiting;
    if (*context->root)
        return ABSENT; /* a captured tree has no kernel that could be asked */
    enum err err = queries_open(&taskstats->queries);
    if (err)
        return err;
    err = job_groups_open(&taskstats->groups, context->root, JOB_GROUPS_THREADS);
    if (err)
        queries_close(&taskstats->queries);
    return err;
}

static struct watched *find_watched(const struct taskstats *taskstats, uint32_t slot)
{
    struct watched *watched = job_slots_get(&taskstats->jobs, slot);
    return watched && watched->job ? watched : NULL;
}

static enum err begin_job(struct taskstats *taskstats, const struct job *job)
{
    void *item;
    enum err err = job_slots_make(&taskstats->jobs, job->slot, sizeof(struct watched), &item);
    if (!err)
        err = tasks_job_begin(&taskstats->tasks, job->slot);
    if (err)
        return err;
    struct watched *watched = item;
    *watched = (struct watched){ 0 };
    err = job_tasks_open(&taskstats->groups, &watched->tasks, job);
    if (err)
        return err;
    watched->job = job;
    if (taskstats->job_count++ == 0)
        start_listening(taskstats);
    return OK;
}

static void end_job(struct taskstats *taskstats, struct watched *watched)
{
    tasks_job_end(&taskstats->tasks, watched->job->slot);
    job_tasks_close(&taskstats->groups, &watched->tasks);
    job_slots_drop(&taskstats->jobs, watched->job->slot);
    if (--taskstats->job_count)
        return;
    stop_listening(taskstats);
    taskstats->records_lost += taskstats->tasks.overlooked;
    tasks_clear(&taskstats->tasks); /* there may have been thousands */
}

static void hear_exit(void *context, const struct exits_thread *thread)
{
    struct taskstats *taskstats = context;
    struct taskstats_use use;
    if (taskstats_extract(thread->stats, &taskstats->meaning, &use))
        return;
    use.process_ended |= thread->process_ended;
    if (!use.pid)
        use.pid = thread->pid;
    tasks_exit(&taskstats->tasks, &use);
}

static void hear_fork(void *context, const struct fork_event *event)
{
    struct taskstats *taskstats = context;
    if (event->pid == event->tid)
        tasks_fork(&taskstats->tasks, event->pid, event->parent_pid);
}

static void hear_answer(void *context, size_t place, struct bytes stats)
{
    struct taskstats *taskstats = context;
    struct taskstats_use use;
    if (taskstats_extract(stats, &taskstats->meaning, &use))
        return;
    use.tid = taskstats->ids.ids[place]; /* what the kernel says is of its own namespace */
    tasks_seen(&taskstats->tasks, taskstats->slots.ids[place], &use);
}

/* What happened since the last look. */
static enum err listen_to_kernel(struct taskstats *taskstats)
{
    enum err err = OK;
    tasks_begin(&taskstats->tasks, clock_offset_ns() / NS_PER_S);
    if (taskstats->exits.fd >= 0)
        err = exits_read_threads(&taskstats->exits, hear_exit, taskstats);
    if (!err && taskstats->forks.fd >= 0)
        err = forks_read(&taskstats->forks, hear_fork, taskstats);
    taskstats->ids.count = taskstats->slots.count = 0;
    return err;
}

/* A job whose tasks cannot be listed this time keeps what it has. */
static enum err list_members(struct taskstats *taskstats, struct watched *watched)
{
    uint32_t slot = watched->job->slot;
    size_t first = taskstats->ids.count;
    enum err err = OK;
    taskstats->known.count = 0;
    if (!*watched->job->cgroup)
        err = tasks_known(&taskstats->tasks, slot, &taskstats->known);
    if (!err)
        err = job_tasks_list(&taskstats->groups, &watched->tasks, &taskstats->known, &taskstats->ids);
    if (err) {
        taskstats->ids.count = first;
        return err == NOMEM ? err : OK;
    }
    tasks_look(&taskstats->tasks, slot);
    for (size_t i = first; i < taskstats->ids.count && !err; i++)
        err = pidlist_add(&taskstats->slots, slot);
    return err;
}

static enum err ask_about_members(struct taskstats *taskstats)
{
    return queries_ask(&taskstats->queries, QUERIES_THREAD, taskstats->ids.ids, taskstats->ids.count, hear_answer,
                       taskstats);
}

/* The cgroup has counted what no record tells: the last moments of each task, and those whose record was lost. What it told
 * before it went says nothing of a job in which nobody was seen. */
static void ask_group(struct taskstats *taskstats, struct watched *watched, bool was_seen, struct taskstats_use *total)
{
    uint64_t cpu_ns;
    enum err err = job_tasks_cpu_ns(&taskstats->groups, &watched->tasks, &cpu_ns);
    if (err && !was_seen)
        return;
    if (!err && cpu_ns > watched->group_cpu_ns)
        watched->group_cpu_ns = cpu_ns;
    if (watched->group_cpu_ns > total->value[TASKSTATS_cpu_run_virtual_total]) {
        total->value[TASKSTATS_cpu_run_virtual_total] = watched->group_cpu_ns;
        total->known |= 1ull << TASKSTATS_cpu_run_virtual_total;
    }
}

static enum err give(struct taskstats *taskstats, struct watched *watched, uint64_t time_ns, struct batch *out)
{
    struct taskstats_use total;
    const struct tasks_job *job = &taskstats->tasks.jobs[watched->job->slot];
    struct sample *sample = batch_add(out, &set, time_ns, "");
    if (!sample)
        return NOMEM;
    sample->job = watched->job->id;
    tasks_total(&taskstats->tasks, watched->job->slot, &total);
    ask_group(taskstats, watched, job->live_count || job->ended_count, &total);
    for (size_t i = 0; i < TASKSTATS_SIZE; i++)
        if (total.known >> i & 1)
            sample_set_u64(sample, i, total.value[i]);
    sample_set_u64(sample, TASKS, job->live_count);
    if (taskstats->exits.fd >= 0) {
        sample_set_u64(sample, TASKS_ENDED, job->ended_count);
        sample_set_u64(sample, RECORDS_LOST,
                       taskstats->records_lost + taskstats->exits.lost + taskstats->tasks.overlooked);
    }
    return OK;
}

/* To be opened anew is to forget what the dead have used: not for a socket that fails now and then. */
static enum err forgive(struct taskstats *taskstats, enum err err)
{
    taskstats->failures = err ? taskstats->failures + 1 : 0;
    return err && err != NOMEM && taskstats->failures < FAILURES_MAX ? AGAIN : err;
}

static enum err taskstats_read(void *state, struct batch *out)
{
    struct taskstats *taskstats = state;
    uint64_t time_ns = clock_realtime_ns();
    if (taskstats->job_count == 0)
        return OK;
    enum err err = listen_to_kernel(taskstats);
    for (uint32_t slot = 0; slot < taskstats->jobs.room && !err; slot++) {
        struct watched *watched = find_watched(taskstats, slot);
        err = watched ? list_members(taskstats, watched) : OK;
    }
    if (!err)
        err = ask_about_members(taskstats);
    enum err end_err = tasks_end(&taskstats->tasks, true); /* what was heard is heard once */
    err = forgive(taskstats, err ? err : end_err);
    for (uint32_t slot = 0; slot < taskstats->jobs.room && !err; slot++) {
        struct watched *watched = find_watched(taskstats, slot);
        err = watched ? give(taskstats, watched, time_ns, out) : OK;
    }
    return err;
}

/* One job alone, between two ticks: what ended is heard, and who lives is asked. */
static enum err look_at(struct taskstats *taskstats, struct watched *watched)
{
    enum err err = listen_to_kernel(taskstats);
    if (!err)
        err = list_members(taskstats, watched);
    if (!err)
        err = ask_about_members(taskstats);
    enum err end_err = tasks_end(&taskstats->tasks, false);
    return forgive(taskstats, err ? err : end_err);
}

static enum err finish_job(struct taskstats *taskstats, struct watched *watched, struct batch *out)
{
    uint64_t time_ns = clock_realtime_ns();
    enum err err = look_at(taskstats, watched);
    if ((!err || err == AGAIN) && out) /* the last sample is given, with what is known by then */
        err = give(taskstats, watched, time_ns, out);
    end_job(taskstats, watched);
    return err;
}

/* Who is in the job when it begins or has a new step is the ancestor of all that may come and go before the next tick. */
static enum err taskstats_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct taskstats *taskstats = state;
    struct watched *watched = find_watched(taskstats, job->slot);
    enum err err;
    if (event == JOB_END)
        return watched ? finish_job(taskstats, watched, out) : OK;
    if (watched) {
        job_tasks_close(&taskstats->groups, &watched->tasks);
        err = job_tasks_open(&taskstats->groups, &watched->tasks, job);
    } else {
        err = begin_job(taskstats, job);
        watched = find_watched(taskstats, job->slot);
    }
    if (err || !watched)
        return err;
    uint64_t time_ns = clock_realtime_ns();
    err = look_at(taskstats, watched);
    return err || event != JOB_BEGIN || !out ? err : give(taskstats, watched, time_ns, out);
}

static void taskstats_close(void *state)
{
    struct taskstats *taskstats = state;
    for (uint32_t slot = 0; slot < taskstats->jobs.room; slot++) {
        struct watched *watched = find_watched(taskstats, slot);
        if (watched)
            end_job(taskstats, watched);
    }
    job_slots_clear(&taskstats->jobs);
    tasks_clear(&taskstats->tasks);
    job_groups_close(&taskstats->groups);
    queries_close(&taskstats->queries);
    pidlist_clear(&taskstats->ids);
    pidlist_clear(&taskstats->slots);
    pidlist_clear(&taskstats->known);
}

const struct sampler sampler_taskstats = {
    .name = "taskstats",
    .about = "CPU time, delays, faults and I/O of each job, by the kernel's account of every task",
    .set = &set,
    .state_size = sizeof(struct taskstats),
    .absent = "This kernel has no taskstats",
    .absent_remedy = "It needs a kernel with CONFIG_TASKSTATS",
    .denied_remedy = "Run the agent as root, or with CAP_NET_ADMIN",
    .open = taskstats_open,
    .read = taskstats_read,
    .job = taskstats_job,
    .close = taskstats_close,
};
