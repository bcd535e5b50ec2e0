/* Resource usage of each job's tasks from taskstats: live tasks are queried at each tick, exited ones leave a record,
 * so that a process that lived between two ticks is in the totals. Needs root. About 2 µs per task and 6 µs per job. */
#include "samplers/all.h"

#include "base/clock.h"
#include "proc/proc_connector.h"
#include "proc/task_totals.h"
#include "proc/taskfile.h"
#include "proc/taskstats_queries.h"
#include "samplers/jobs/job_slots.h"
#include "samplers/jobs/job_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

static const struct metric metrics[] = {
#define X(field, name, unit, factor, kind, join, needs, help) { #name, unit, kind, U64, help, #field },
    TASKSTATS_FIELDS(X)
#undef X
    { "tasks", "1", GAUGE, U64, "live threads", NULL },
    { "tasks_ended", "1", COUNTER, U64, "exited threads", NULL },
    { "records_lost", "1", COUNTER, U64, "exit records of the node that were lost; CPU time then comes from the cgroup", NULL },
};

enum { TASKS = TASKSTATS_SIZE, TASKS_ENDED, RECORDS_LOST, METRICS };

static const struct set set = { "taskstats", metrics, METRICS };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

#define FAILURES_MAX 10

struct taskstats_job {
    const struct job *job; /* NULL: the slot is free */
    struct job_tasks totals;
    uint64_t group_cpu_ns; /* CPU time that its cgroup counted, as far as known */
};

struct taskstats_sampler {
    struct taskstats_queries queries;
    struct taskstats_exits exit_records; /* fd -1: not available in this namespace */
    struct proc_connector connector; /* fd -1: not permitted */
    struct taskstats_accounting accounting;
    struct cgroup_mounts mounts;
    struct task_totals totals;
    struct job_slots jobs; /* struct taskstats_job */
    size_t job_count;
    struct pidlist ids;   /* tids of all tasks of this round */
    struct pidlist slots; /* job slot of each */
    struct pidlist known;
    uint64_t records_lost; /* lost by sockets that are closed now */
    unsigned failures;     /* consecutive */
};

static bool is_alive(uint32_t tid)
{
    return kill((pid_t)tid, 0) == 0 || errno == EPERM;
}

/* A task that has disappeared was exiting. */
static bool is_exiting(uint32_t pid)
{
    struct taskfile_stat stat;
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    enum err err = taskfile_read(AT_FDCWD, path, text, sizeof text);
    return err == GONE || (!err && !taskfile_parse_stat(text, &stat) && stat.is_exiting);
}

/* Subscribed only while there are jobs: each event of the node costs CPU time. */
static void start_listening(struct taskstats_sampler *taskstats)
{
    taskstats_accounting_read(&taskstats->accounting, ""); /* delay accounting may have been switched meanwhile */
    if (taskstats_exits_open(&taskstats->exit_records))
        taskstats->exit_records.fd = -1;
    if (proc_connector_open_kinds(&taskstats->connector, 1u << PROC_CONNECTOR_FORK))
        taskstats->connector.fd = -1;
}

static void stop_listening(struct taskstats_sampler *taskstats)
{
    taskstats->records_lost += taskstats->exit_records.lost;
    taskstats->exit_records.lost = 0;
    taskstats_exits_close(&taskstats->exit_records);
    proc_connector_close(&taskstats->connector);
}

static enum err taskstats_open(void *state, const struct sampler_context *context)
{
    struct taskstats_sampler *taskstats = state;
    taskstats->exit_records.fd = taskstats->connector.fd = -1;
    taskstats->totals.is_alive = is_alive;
    taskstats->totals.is_exiting = is_exiting;
    if (*context->root)
        return ABSENT; /* a captured tree has no kernel to query */
    enum err err = taskstats_queries_open(&taskstats->queries);
    if (err)
        return err;
    err = cgroup_mounts_open(&taskstats->mounts, context->root, CGROUP_MOUNTS_THREADS);
    if (err)
        taskstats_queries_close(&taskstats->queries);
    return err;
}

static struct taskstats_job *find_tracked(const struct taskstats_sampler *taskstats, uint32_t slot)
{
    struct taskstats_job *tracked = job_slots_get(&taskstats->jobs, slot);
    return tracked && tracked->job ? tracked : NULL;
}

static enum err begin_job(struct taskstats_sampler *taskstats, const struct job *job)
{
    void *item;
    enum err err = job_slots_add(&taskstats->jobs, job->slot, sizeof(struct taskstats_job), &item);
    if (!err)
        err = task_totals_job_begin(&taskstats->totals, job->slot);
    if (err)
        return err;
    struct taskstats_job *tracked = item;
    *tracked = (struct taskstats_job){ 0 };
    err = job_tasks_open(&taskstats->mounts, &tracked->totals, job);
    if (err)
        return err;
    tracked->job = job;
    if (taskstats->job_count++ == 0)
        start_listening(taskstats);
    return OK;
}

static void end_job(struct taskstats_sampler *taskstats, struct taskstats_job *tracked)
{
    task_totals_job_end(&taskstats->totals, tracked->job->slot);
    job_tasks_close(&taskstats->mounts, &tracked->totals);
    job_slots_drop(&taskstats->jobs, tracked->job->slot);
    if (--taskstats->job_count)
        return;
    stop_listening(taskstats);
    taskstats->records_lost += taskstats->totals.dropped;
    task_totals_clear(&taskstats->totals); /* it may have grown large */
}

static void take_exit(void *context, const struct taskstats_exit *thread)
{
    struct taskstats_sampler *taskstats = context;
    struct taskstats_usage usage;
    if (taskstats_extract(thread->stats, &taskstats->accounting, &usage))
        return;
    usage.process_ended |= thread->process_ended;
    if (!usage.pid)
        usage.pid = thread->pid;
    task_totals_add_exit(&taskstats->totals, &usage);
}

static void take_fork(void *context, const struct proc_connector_event *event)
{
    struct taskstats_sampler *taskstats = context;
    if (event->pid == event->tid)
        task_totals_add_fork(&taskstats->totals, event->pid, event->parent_pid);
}

static void take_usage(void *context, size_t place, struct bytes stats)
{
    struct taskstats_sampler *taskstats = context;
    struct taskstats_usage usage;
    if (taskstats_extract(stats, &taskstats->accounting, &usage))
        return;
    usage.tid = taskstats->ids.ids[place]; /* the kernel's tid is of the initial pid namespace */
    task_totals_add_live(&taskstats->totals, taskstats->slots.ids[place], &usage);
}

/* Starts a round with the events since the last one. */
static enum err listen_to_kernel(struct taskstats_sampler *taskstats)
{
    enum err err = OK;
    task_totals_begin(&taskstats->totals, clock_offset_ns() / NS_PER_S);
    if (taskstats->exit_records.fd >= 0)
        err = taskstats_exits_read_raw(&taskstats->exit_records, take_exit, taskstats);
    if (!err && taskstats->connector.fd >= 0)
        err = proc_connector_read(&taskstats->connector, take_fork, taskstats);
    taskstats->ids.count = taskstats->slots.count = 0;
    return err;
}

/* Lists the tasks of a job. If that fails, the job keeps its values. */
static enum err list_members(struct taskstats_sampler *taskstats, struct taskstats_job *tracked)
{
    uint32_t slot = tracked->job->slot;
    size_t first = taskstats->ids.count;
    enum err err = OK;
    taskstats->known.count = 0;
    if (!*tracked->job->cgroup)
        err = task_totals_pids(&taskstats->totals, slot, &taskstats->known);
    if (!err)
        err = job_tasks_list(&taskstats->mounts, &tracked->totals, &taskstats->known, &taskstats->ids);
    if (err) {
        taskstats->ids.count = first;
        return err == NOMEM ? err : OK;
    }
    task_totals_begin_job(&taskstats->totals, slot);
    for (size_t i = first; i < taskstats->ids.count && !err; i++)
        err = pidlist_add(&taskstats->slots, slot);
    return err;
}

static enum err query_members(struct taskstats_sampler *taskstats)
{
    return taskstats_queries_run(&taskstats->queries, TASKSTATS_SUBJECT_THREAD, taskstats->ids.ids,
                                 taskstats->ids.count, take_usage,
                                 taskstats);
}

/* The cgroup also counts what taskstats misses: the last moments of each task, and lost records. If the cgroup is gone,
 * its last value is used only if tasks of the job were seen. */
static void add_cgroup_cpu(struct taskstats_sampler *taskstats, struct taskstats_job *tracked, bool was_seen,
                           struct taskstats_usage *total)
{
    uint64_t cpu_ns;
    enum err err = job_tasks_cpu_ns(&taskstats->mounts, &tracked->totals, &cpu_ns);
    if (err && !was_seen)
        return;
    if (!err && cpu_ns > tracked->group_cpu_ns)
        tracked->group_cpu_ns = cpu_ns;
    if (tracked->group_cpu_ns > total->value[TASKSTATS_cpu_run_virtual_total]) {
        total->value[TASKSTATS_cpu_run_virtual_total] = tracked->group_cpu_ns;
        total->known |= 1ull << TASKSTATS_cpu_run_virtual_total;
    }
}

static enum err add_sample(struct taskstats_sampler *taskstats, struct taskstats_job *tracked, uint64_t time_ns,
                           struct batch *out)
{
    struct taskstats_usage total;
    const struct task_totals_job *job = &taskstats->totals.jobs[tracked->job->slot];
    struct sample *sample = batch_add(out, &set, time_ns, "");
    if (!sample)
        return NOMEM;
    sample->job = tracked->job->id;
    task_totals_get(&taskstats->totals, tracked->job->slot, &total);
    add_cgroup_cpu(taskstats, tracked, job->latest_count || job->ended_count, &total);
    for (size_t i = 0; i < TASKSTATS_SIZE; i++)
        if (total.known >> i & 1)
            sample_set_u64(sample, i, total.value[i]);
    sample_set_u64(sample, TASKS, job->latest_count);
    if (taskstats->exit_records.fd >= 0) {
        sample_set_u64(sample, TASKS_ENDED, job->ended_count);
        sample_set_u64(sample, RECORDS_LOST,
                       taskstats->records_lost + taskstats->exit_records.lost + taskstats->totals.dropped);
    }
    return OK;
}

/* Reopening the sampler would lose the usage of exited tasks, so a few failures of a socket are tolerated. */
static enum err tolerate(struct taskstats_sampler *taskstats, enum err err)
{
    taskstats->failures = err ? taskstats->failures + 1 : 0;
    return err && err != NOMEM && taskstats->failures < FAILURES_MAX ? AGAIN : err;
}

static enum err taskstats_read(void *state, struct batch *out)
{
    struct taskstats_sampler *taskstats = state;
    uint64_t time_ns = clock_realtime_ns();
    if (taskstats->job_count == 0)
        return OK;
    enum err err = listen_to_kernel(taskstats);
    for (uint32_t slot = 0; slot < taskstats->jobs.capacity && !err; slot++) {
        struct taskstats_job *tracked = find_tracked(taskstats, slot);
        err = tracked ? list_members(taskstats, tracked) : OK;
    }
    if (!err)
        err = query_members(taskstats);
    enum err end_err = task_totals_end(&taskstats->totals, true); /* the events are consumed even after an error */
    err = tolerate(taskstats, err ? err : end_err);
    for (uint32_t slot = 0; slot < taskstats->jobs.capacity && !err; slot++) {
        struct taskstats_job *tracked = find_tracked(taskstats, slot);
        err = tracked ? add_sample(taskstats, tracked, time_ns, out) : OK;
    }
    return err;
}

/* Updates one job between two ticks. */
static enum err update_job(struct taskstats_sampler *taskstats, struct taskstats_job *tracked)
{
    enum err err = listen_to_kernel(taskstats);
    if (!err)
        err = list_members(taskstats, tracked);
    if (!err)
        err = query_members(taskstats);
    enum err end_err = task_totals_end(&taskstats->totals, false);
    return tolerate(taskstats, err ? err : end_err);
}

static enum err finish_job(struct taskstats_sampler *taskstats, struct taskstats_job *tracked, struct batch *out)
{
    uint64_t time_ns = clock_realtime_ns();
    enum err err = update_job(taskstats, tracked);
    if ((!err || err == AGAIN) && out) /* the last sample is added with what is known */
        err = add_sample(taskstats, tracked, time_ns, out);
    end_job(taskstats, tracked);
    return err;
}

/* The tasks found when the job begins or has a new step are the ancestors of all that may live and exit before the next
 * tick. */
static enum err taskstats_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct taskstats_sampler *taskstats = state;
    struct taskstats_job *tracked = find_tracked(taskstats, job->slot);
    enum err err;
    if (event == JOB_END)
        return tracked ? finish_job(taskstats, tracked, out) : OK;
    if (tracked) {
        job_tasks_close(&taskstats->mounts, &tracked->totals);
        err = job_tasks_open(&taskstats->mounts, &tracked->totals, job);
    } else {
        err = begin_job(taskstats, job);
        tracked = find_tracked(taskstats, job->slot);
    }
    if (err || !tracked)
        return err;
    uint64_t time_ns = clock_realtime_ns();
    err = update_job(taskstats, tracked);
    return err || event != JOB_BEGIN || !out ? err : add_sample(taskstats, tracked, time_ns, out);
}

static void taskstats_close(void *state)
{
    struct taskstats_sampler *taskstats = state;
    for (uint32_t slot = 0; slot < taskstats->jobs.capacity; slot++) {
        struct taskstats_job *tracked = find_tracked(taskstats, slot);
        if (tracked)
            end_job(taskstats, tracked);
    }
    job_slots_clear(&taskstats->jobs);
    task_totals_clear(&taskstats->totals);
    cgroup_mounts_close(&taskstats->mounts);
    taskstats_queries_close(&taskstats->queries);
    pidlist_clear(&taskstats->ids);
    pidlist_clear(&taskstats->slots);
    pidlist_clear(&taskstats->known);
}

const struct sampler sampler_taskstats = {
    .name = "taskstats",
    .about = "CPU time, delays, page faults and I/O of each job, from the kernel's accounting of every task",
    .set = &set,
    .state_size = sizeof(struct taskstats_sampler),
    .absent_reason = "This kernel has no taskstats",
    .absent_fix = "It needs a kernel with CONFIG_TASKSTATS",
    .denied_fix = "Run the agent as root, or with CAP_NET_ADMIN",
    .open = taskstats_open,
    .read = taskstats_read,
    .job = taskstats_job,
    .close = taskstats_close,
};
