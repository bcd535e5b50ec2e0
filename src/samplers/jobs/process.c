/* The processes of each job, from /proc: I/O, memory, threads, context switches; per job, and on request per process.
 * Each process is read once, whatever its number of threads: about 8 µs. Context switches come from taskstats and need
 * root. */
#include "samplers/all.h"

#include "base/clock.h"
#include "proc/taskstats.h"
#include "proc/taskstats_queries.h"
#include "samplers/jobs/job_slots.h"
#include "samplers/jobs/job_tasks.h"
#include "samplers/jobs/pid_cpu.h"
#include "samplers/jobs/processes.h"

static const struct metric metrics[] = {
#define X(file, key, name, unit, factor, kind, source, help) { #name, unit, kind, U64, help, source },
    PROCESS_FIELDS(X)
#undef X
    { "vol_ctxsw", "1", COUNTER, U64, "voluntary context switches", "nvcsw" },
    { "invol_ctxsw", "1", COUNTER, U64, "involuntary context switches", "nivcsw" },
    { "processes", "1", GAUGE, U64, "live processes", NULL },
    { "cpu", "ns", COUNTER, U64, "CPU time, if neither a cgroup nor taskstats has it", "utime, stime, cutime, cstime" },
};

enum { VOL_CTXSW = PROCESS_FIELDS_SIZE, INVOL_CTXSW, PROCESSES, CPU, METRICS };

/* A set of its own, so that a sum over one set counts nothing twice. */
static const struct set set = { "process", metrics, METRICS, "process" };
static const struct set each_set = { "process_each", metrics, PROCESSES, "process" };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

struct process_sampler_job {
    const struct job *job; /* NULL: the slot is free */
    struct job_tasks tasks;
    uint64_t cpu_ns; /* the maximum so far: CPU time of a child that nobody waited for disappears */
};

struct process_sampler {
    bool each, pss; /* settings */
    struct cgroup_mounts mounts;
    struct taskstats_queries queries; /* fd -1: not permitted */
    struct processes processes;
    struct pid_cpu pid_cpu;
    bool has_pid_cpu;
    struct job_slots jobs; /* struct process_sampler_job */
    size_t job_count;
    struct pidlist pids, known, queried, places;
};

static const struct setting settings[] = {
    { "each", SETTING_FLAG, "no", offsetof(struct process_sampler, each), "also one sample per process" },
    { "pss", SETTING_FLAG, "no", offsetof(struct process_sampler, pss),
      "proportional set size; about 20 us per process, more for large ones" },
    { .key = NULL },
};

static enum err process_open(void *state, const struct sampler_context *context)
{
    struct process_sampler *sampler = state;
    enum err err = cgroup_mounts_open(&sampler->mounts, context->root, CGROUP_MOUNTS_PROCESSES);
    if (err)
        return err;
    if (*context->root || taskstats_queries_open(&sampler->queries))
        sampler->queries.fd = -1;
    sampler->processes.with_pss = sampler->pss;
    return OK;
}

static struct process_sampler_job *find_tracked(const struct process_sampler *sampler, uint32_t slot)
{
    struct process_sampler_job *tracked = job_slots_get(&sampler->jobs, slot);
    return tracked && tracked->job ? tracked : NULL;
}

static enum err begin_job(struct process_sampler *sampler, const struct job *job)
{
    void *item;
    enum err err = job_slots_add(&sampler->jobs, job->slot, sizeof(struct process_sampler_job), &item);
    if (!err)
        err = processes_job_begin(&sampler->processes, job->slot);
    if (err)
        return err;
    struct process_sampler_job *tracked = item;
    err = job_tasks_open(&sampler->mounts, &tracked->tasks, job);
    tracked->job = err ? NULL : job;
    sampler->job_count += err ? 0 : 1;
    return err;
}

static void end_job(struct process_sampler *sampler, struct process_sampler_job *tracked)
{
    processes_job_end(&sampler->processes, &sampler->mounts, tracked->job->slot);
    job_tasks_close(&sampler->mounts, &tracked->tasks);
    job_slots_drop(&sampler->jobs, tracked->job->slot);
    sampler->job_count--;
}

/* Releases memory after the last job, not when it ends: samples in flight borrow the names of its processes. */
static void release_memory(struct process_sampler *sampler)
{
    if (!sampler->job_count)
        processes_clear(&sampler->processes, &sampler->mounts);
}

/* Reads the processes of a job. A job that cannot be listed this time keeps its values. */
static enum err update_job(struct process_sampler *sampler, struct process_sampler_job *tracked)
{
    uint32_t slot = tracked->job->slot;
    enum err err = OK;
    sampler->pids.count = sampler->known.count = 0;
    if (!*tracked->job->cgroup)
        err = processes_pids(&sampler->processes, slot, &sampler->known);
    if (!err)
        err = job_tasks_list(&sampler->mounts, &tracked->tasks, &sampler->known, &sampler->pids);
    if (err)
        return err == NOMEM ? err : OK;
    processes_begin_job(&sampler->processes, slot);
    for (size_t i = 0; i < sampler->pids.count && !err; i++)
        err = processes_add(&sampler->processes, &sampler->mounts, slot, sampler->pids.ids[i]);
    return err;
}

static void take_switches(void *context, size_t place, struct bytes stats)
{
    struct process_sampler *sampler = context;
    struct taskstats_usage use;
    static const struct taskstats_accounting no_accounting = { 0 };
    if (taskstats_extract(stats, &no_accounting, &use) == OK)
        processes_set_switches(&sampler->processes, sampler->places.ids[place], use.value[TASKSTATS_nvcsw],
                               use.value[TASKSTATS_nivcsw]);
}

static enum err query_switches(struct process_sampler *sampler)
{
    sampler->queried.count = sampler->places.count = 0;
    if (sampler->queries.fd < 0)
        return OK;
    enum err err = processes_list(&sampler->processes, &sampler->queried, &sampler->places);
    return err ? err : taskstats_queries_run(&sampler->queries, TASKSTATS_SUBJECT_PROCESS, sampler->queried.ids,
                                             sampler->queried.count,
                                             take_switches, sampler);
}

static void set_values(struct sample *sample, const struct process_values *values,
                       const struct process_switches *switches)
{
    for (size_t i = 0; i < PROCESS_FIELDS_SIZE; i++)
        if (values->known >> i & 1)
            sample_set_u64(sample, i, values->value[i]);
    if (switches->known) {
        sample_set_u64(sample, VOL_CTXSW, switches->voluntary);
        sample_set_u64(sample, INVOL_CTXSW, switches->involuntary);
    }
}

/* For an agent without root, which has no taskstats, and jobs without a cgroup. */
static void set_cpu(struct process_sampler *sampler, struct process_sampler_job *tracked, struct sample *sample)
{
    uint64_t cpu_ns;
    const struct job *job = tracked->job;
    if (sampler->queries.fd >= 0 || !job->pid || *job->cgroup)
        return;
    if (!sampler->has_pid_cpu)
        sampler->has_pid_cpu = !pid_cpu_open(&sampler->pid_cpu, sampler->mounts.root);
    if (!sampler->has_pid_cpu || pid_cpu_read(&sampler->pid_cpu, job->pid, &cpu_ns))
        return;
    if (cpu_ns > tracked->cpu_ns)
        tracked->cpu_ns = cpu_ns;
    sample_set_u64(sample, CPU, tracked->cpu_ns);
}

static enum err add_job_sample(struct process_sampler *sampler, struct process_sampler_job *tracked, uint64_t time_ns,
                               struct batch *out)
{
    struct process_values values;
    struct process_switches switches;
    struct sample *sample = batch_add(out, &set, time_ns, "");
    if (!sample)
        return NOMEM;
    sample->job = tracked->job->id;
    uint64_t count = processes_total(&sampler->processes, tracked->job->slot, &values, &switches);
    set_values(sample, &values, &switches);
    sample_set_u64(sample, PROCESSES, count);
    set_cpu(sampler, tracked, sample);
    return OK;
}

static enum err add_process_samples(struct process_sampler *sampler, uint64_t time_ns, struct batch *out)
{
    for (size_t i = 0; i < sampler->processes.count; i++) {
        const struct process_entry *process = sampler->processes.list[i];
        const struct process_sampler_job *tracked = find_tracked(sampler, process->slot);
        if (!tracked || !processes_is_live(&sampler->processes, process))
            continue;
        struct sample *sample = batch_add(out, &each_set, time_ns, process->name);
        if (!sample)
            return NOMEM;
        sample->job = tracked->job->id;
        set_values(sample, &process->values, &process->switches);
    }
    return OK;
}

static enum err process_read(void *state, struct batch *out)
{
    struct process_sampler *sampler = state;
    uint64_t time_ns = clock_realtime_ns();
    enum err err = OK;
    release_memory(sampler);
    processes_begin(&sampler->processes);
    for (uint32_t slot = 0; slot < sampler->jobs.capacity && !err; slot++) {
        struct process_sampler_job *tracked = find_tracked(sampler, slot);
        err = tracked ? update_job(sampler, tracked) : OK;
    }
    if (!err)
        err = query_switches(sampler);
    if (!err)
        err = processes_end(&sampler->processes, &sampler->mounts);
    for (uint32_t slot = 0; slot < sampler->jobs.capacity && !err; slot++) {
        struct process_sampler_job *tracked = find_tracked(sampler, slot);
        err = tracked ? add_job_sample(sampler, tracked, time_ns, out) : OK;
    }
    return err || !sampler->each ? err : add_process_samples(sampler, time_ns, out);
}

/* Reads one job between two ticks, for its first or last sample. */
static enum err read_job(struct process_sampler *sampler, struct process_sampler_job *tracked, struct batch *out)
{
    uint64_t time_ns = clock_realtime_ns();
    processes_begin(&sampler->processes);
    enum err err = update_job(sampler, tracked);
    if (!err)
        err = query_switches(sampler);
    if (!err)
        err = processes_end(&sampler->processes, &sampler->mounts);
    return err || !out ? err : add_job_sample(sampler, tracked, time_ns, out);
}

static enum err finish_job(struct process_sampler *sampler, struct process_sampler_job *tracked, struct batch *out)
{
    enum err err = read_job(sampler, tracked, out);
    end_job(sampler, tracked);
    return err;
}

/* A job that ends before the next tick has the values of its beginning, or of the beginning of a step. */
static enum err process_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct process_sampler *sampler = state;
    struct process_sampler_job *tracked = find_tracked(sampler, job->slot);
    enum err err;
    if (event == JOB_END)
        return tracked ? finish_job(sampler, tracked, out) : OK;
    if (tracked) {
        job_tasks_close(&sampler->mounts, &tracked->tasks);
        err = job_tasks_open(&sampler->mounts, &tracked->tasks, job);
    } else {
        err = begin_job(sampler, job);
        tracked = find_tracked(sampler, job->slot);
    }
    return err || !tracked ? err : read_job(sampler, tracked, event == JOB_BEGIN ? out : NULL);
}

static void process_close(void *state)
{
    struct process_sampler *sampler = state;
    for (uint32_t slot = 0; slot < sampler->jobs.capacity; slot++) {
        struct process_sampler_job *tracked = find_tracked(sampler, slot);
        if (tracked)
            end_job(sampler, tracked);
    }
    job_slots_clear(&sampler->jobs);
    processes_clear(&sampler->processes, &sampler->mounts);
    cgroup_mounts_close(&sampler->mounts);
    taskstats_queries_close(&sampler->queries);
    if (sampler->has_pid_cpu)
        pid_cpu_close(&sampler->pid_cpu);
    pidlist_clear(&sampler->pids);
    pidlist_clear(&sampler->known);
    pidlist_clear(&sampler->queried);
    pidlist_clear(&sampler->places);
}

const struct sampler sampler_process = {
    .name = "process",
    .about = "I/O, memory, threads and context switches of each job's processes",
    .settings = settings,
    .set = &set,
    .state_size = sizeof(struct process_sampler),
    .root_only = "context switches, and I/O of other users' processes",
    .open = process_open,
    .read = process_read,
    .job = process_job,
    .close = process_close,
};
