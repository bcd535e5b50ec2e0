/* Matches the processes on each card to jobs by their cgroup. */
#include "samplers/gpu_jobs.h"

#include "base/clock.h"
#include "base/file.h"
#include "jobs/pid_job.h"
#include "proc/taskfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDED_READINGS 3
#define ALLOCATION_TRIES_MAX 60 /* attempts to find the allocation of a job */
#define ANCESTORS_MAX 64

static const struct metric metrics[] = {
    { "held", "1", GAUGE, U64, "1: the card is allocated to the job, 0: it is not" },
    { "processes", "1", GAUGE, U64, "processes of the job on the card" },
    { "memory", "B", GAUGE, U64, "memory of the card used by these processes" },
    { "idle", "us", COUNTER, U64, "time that the card was allocated to the job without a process of it on the card" },
    { "utilization", "%", GAUGE, U64, "utilization of the card, if no other job is on it" },
    { "power", "W", GAUGE, F64, "power of the card, if no other job is on it" },
    { "energy", "uJ", COUNTER, U64, "energy of the card since the job began, if no other job was on it" },
};

enum { HELD, PROCESSES, MEMORY, IDLE, UTILIZATION, POWER, ENERGY, METRICS };

static const struct set set = { "gpu_job", metrics, METRICS, "gpu" };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

/* One job on one card. */
struct gpu_usage {
    bool is_used, was_used, alone; /* at the last update; ever; no other job is on the card */
    bool energy_unknown;              /* another job was on the card, or the card's counter was unknown at the
                                       * beginning */
    bool memory_known;
    size_t processes;
    uint64_t memory_bytes, idle_ns, energy_mj, last_mj;
};

struct gpu_job {
    struct gpu_job *next;
    struct job job; /* its strings point to the fields below */
    char *id, *cgroup;
    bool allocation_known, updated; /* updated: it existed at a reading */
    uint32_t allocated;
    unsigned allocation_tries, age; /* age: readings since it ended */
    uint64_t last_ns;    /* CLOCK_MONOTONIC of its last update or its beginning */
    struct gpu_usage uses[];
};

void gpu_jobs_open(struct gpu_jobs *jobs, const char *root, const struct gpu_card *cards, const struct gpu_names *names)
{
    *jobs = (struct gpu_jobs){ .root = root, .cards = cards, .names = names };
}

static void free_job(struct gpu_job *job)
{
    free(job->id);
    free(job->cgroup);
    free(job);
}

static void free_list(struct gpu_job **list, unsigned age)
{
    for (struct gpu_job **at = list; *at;) {
        struct gpu_job *job = *at;
        if (job->age++ < age) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        free_job(job);
    }
}

void gpu_jobs_close(struct gpu_jobs *jobs)
{
    free_list(&jobs->jobs, 0);
    free_list(&jobs->ended, 0);
}

static bool descends(int proc_fd, uint32_t pid, uint32_t ancestor)
{
    struct taskfile_stat stat;
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (pid == ancestor)
            return true;
        if (taskfile_read_stat(proc_fd, pid, &stat))
            return false;
        pid = stat.ppid;
    }
    return false;
}

/* The job that a process belongs to; NULL: none. */
static struct gpu_job *owner_of(struct gpu_jobs *jobs, int proc_fd, uint32_t pid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%u/cgroup", pid);
    if (file_read(jobs->root, path, text, sizeof text, NULL))
        *text = '\0';
    for (struct gpu_job *job = jobs->jobs; job; job = job->next)
        if (pid_job_in_group(text, job->cgroup)
            || (!*job->cgroup && job->job.pid && proc_fd >= 0 && descends(proc_fd, pid, job->job.pid)))
            return job;
    return NULL;
}

static void note_process(struct gpu_job *owner, unsigned card, const struct nvml_process *process)
{
    struct gpu_usage *use = &owner->uses[card];
    use->processes++;
    use->memory_known = (use->processes == 1 || use->memory_known) && process->has_memory;
    use->memory_bytes += process->has_memory ? process->memory_bytes : 0;
    use->is_used = use->was_used = true;
}

/* The number of jobs that a card is allocated to. */
static unsigned holders(const struct gpu_jobs *jobs, unsigned card)
{
    unsigned count = 0;
    for (const struct gpu_job *job = jobs->jobs; job; job = job->next)
        count += job->allocated >> card & 1;
    return count;
}

static void note_card(struct gpu_jobs *jobs, int proc_fd, unsigned card)
{
    size_t count = jobs->cards[card].process_count;
    for (struct gpu_job *job = jobs->jobs; job; job = job->next) {
        struct gpu_usage *use = &job->uses[card];
        use->is_used = use->memory_known = false;
        use->processes = 0;
        use->memory_bytes = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct gpu_job *owner = owner_of(jobs, proc_fd, jobs->cards[card].processes[i].pid);
        if (owner)
            note_process(owner, card, &jobs->cards[card].processes[i]);
    }
    for (struct gpu_job *job = jobs->jobs; job; job = job->next) {
        struct gpu_usage *use = &job->uses[card];
        use->alone = use->is_used ? use->processes == count
                                  : count == 0 && (job->allocated >> card & 1) && holders(jobs, card) == 1;
    }
}

/* Accounts for the time since the last update. */
static void advance(const struct gpu_jobs *jobs, struct gpu_job *job, unsigned card, uint64_t interval_ns)
{
    const struct gpu_card *now = &jobs->cards[card];
    struct gpu_usage *use = &job->uses[card];
    bool is_allocated = job->allocated >> card & 1;
    if (is_allocated && !use->is_used && now->has_processes)
        use->idle_ns += interval_ns;
    if ((is_allocated || use->is_used) && !use->alone)
        use->energy_unknown = true;
    if (!now->has_energy)
        return;
    if (now->energy_mj < use->last_mj) /* the driver was reloaded */
        use->energy_unknown = true;
    else if (use->alone)
        use->energy_mj += now->energy_mj - use->last_mj;
    use->last_mj = now->energy_mj;
}

static enum err add_sample(const struct gpu_jobs *jobs, const struct gpu_job *job, unsigned card, struct batch *out)
{
    const struct gpu_card *now = &jobs->cards[card];
    const struct gpu_usage *use = &job->uses[card];
    struct sample *sample = batch_add(out, &set, clock_realtime_ns(), now->instance);
    if (!sample)
        return NOMEM;
    sample->job = job->id;
    if (job->allocation_known)
        sample_set_u64(sample, HELD, job->allocated >> card & 1);
    if (now->has_processes && job->updated)
        sample_set_u64(sample, PROCESSES, use->processes);
    if (now->has_processes && job->updated && (use->memory_known || !use->processes))
        sample_set_u64(sample, MEMORY, use->memory_bytes);
    if (job->allocation_known && job->updated)
        sample_set_u64(sample, IDLE, use->idle_ns / NS_PER_US);
    if (use->alone && now->has_percent)
        sample_set_u64(sample, UTILIZATION, now->percent);
    if (use->alone && now->has_power)
        sample_set_f64(sample, POWER, now->power_mw / 1000.0);
    if (now->has_energy && !use->energy_unknown)
        sample_set_u64(sample, ENERGY, use->energy_mj * 1000);
    return OK;
}

static enum err add_samples(const struct gpu_jobs *jobs, const struct gpu_job *job, struct batch *out)
{
    enum err err = OK;
    for (unsigned card = 0; !err && card < jobs->names->count; card++)
        if ((job->allocated >> card & 1) || job->uses[card].was_used)
            err = add_sample(jobs, job, card, out);
    return err;
}

/* A job may have no process yet when it begins; then it is tried again. */
static void find_allocation(const struct gpu_jobs *jobs, struct gpu_job *job)
{
    if (job->allocation_known || job->allocation_tries++ >= ALLOCATION_TRIES_MAX)
        return;
    job->allocation_known = gpu_allocation_find(jobs->root, &job->job, jobs->names, &job->allocated) == OK;
    if (!job->allocation_known)
        job->allocated = 0;
}

static enum err begin(struct gpu_jobs *jobs, const struct job *job, uint64_t now_ns, struct batch *out)
{
    unsigned count = jobs->names->count;
    struct gpu_job *made = calloc(1, sizeof *made + count * sizeof *made->uses);
    if (!made)
        return NOMEM;
    made->id = strdup(job->id);
    made->cgroup = strdup(job->cgroup);
    if (!made->id || !made->cgroup) {
        free_job(made);
        return NOMEM;
    }
    made->job = (struct job){ .id = made->id, .cgroup = made->cgroup, .unified = job->unified, .pid = job->pid };
    for (unsigned card = 0; card < count; card++) {
        made->uses[card].energy_unknown = !jobs->cards[card].has_energy;
        made->uses[card].last_mj = jobs->cards[card].energy_mj;
    }
    made->last_ns = now_ns;
    find_allocation(jobs, made);
    made->next = jobs->jobs;
    jobs->jobs = made;
    return out ? add_samples(jobs, made, out) : OK;
}

static struct gpu_job **find(struct gpu_jobs *jobs, const char *id)
{
    struct gpu_job **at = &jobs->jobs;
    while (*at && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

/* A prolog declares a job before its cgroup exists. When the cgroup changes, the allocation is looked up again. */
static enum err change(struct gpu_job *known, const struct job *job)
{
    known->allocation_tries = 0; /* something about it has changed */
    if (!strcmp(known->cgroup, job->cgroup) && known->job.unified == job->unified && known->job.pid == job->pid)
        return OK;
    char *cgroup = strdup(job->cgroup);
    if (!cgroup)
        return NOMEM;
    free(known->cgroup);
    known->job.cgroup = known->cgroup = cgroup;
    known->job.unified = job->unified;
    known->job.pid = job->pid;
    known->allocation_known = false;
    return OK;
}

/* Its processes are gone by now: the time since the last update is accounted as that update found it. */
static enum err end(struct gpu_jobs *jobs, struct gpu_job **at, uint64_t now_ns, struct batch *out)
{
    struct gpu_job *job = *at;
    if (!job)
        return OK;
    find_allocation(jobs, job);
    for (unsigned card = 0; card < jobs->names->count; card++) {
        struct gpu_usage *use = &job->uses[card];
        if (!job->updated)
            use->alone = (job->allocated >> card & 1) && holders(jobs, card) == 1;
        advance(jobs, job, card, now_ns - job->last_ns);
    }
    *at = job->next;
    job->next = jobs->ended;
    jobs->ended = job;
    return out ? add_samples(jobs, job, out) : OK;
}

enum err gpu_jobs_event(struct gpu_jobs *jobs, const struct job *job, enum job_event event, uint64_t now_ns,
                        struct batch *out)
{
    struct gpu_job **at = find(jobs, job->id);
    if (event == JOB_END)
        return end(jobs, at, now_ns, out);
    return *at ? change(*at, job) : begin(jobs, job, now_ns, out);
}

enum err gpu_jobs_update(struct gpu_jobs *jobs, uint64_t now_ns, struct batch *out)
{
    char path[FILE_PATH_MAX];
    enum err err = file_path(path, jobs->root, "/proc");
    int proc_fd = err ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free_list(&jobs->ended, ENDED_READINGS);
    for (struct gpu_job *job = jobs->jobs; job; job = job->next)
        find_allocation(jobs, job);
    for (unsigned card = 0; card < jobs->names->count; card++)
        if (jobs->cards[card].has_processes)
            note_card(jobs, proc_fd, card);
    for (struct gpu_job *job = jobs->jobs; !err && job; job = job->next) {
        for (unsigned card = 0; card < jobs->names->count; card++)
            advance(jobs, job, card, now_ns - job->last_ns);
        job->last_ns = now_ns;
        job->updated = true;
        err = add_samples(jobs, job, out);
    }
    if (proc_fd >= 0)
        close(proc_fd);
    return err;
}
