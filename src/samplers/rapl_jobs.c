/* Distribution rounds: the node's busy time from /proc/stat, each job's CPU time from its cgroup or processes. */
#include "samplers/rapl_jobs.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 256 /* jobs whose file is kept open; others are opened in each round */
#define ENDED_READINGS 3
#define SLOTS_MAX 65536

static const struct metric metrics[] = {
    { "package", "uJ", COUNTER, U64, "energy of the processors, by the job's share of their busy time" },
    { "core", "uJ", COUNTER, U64, "the part used by the cores" },
    { "uncore", "uJ", COUNTER, U64, "the part used by the built-in graphics unit" },
    { "dram", "uJ", COUNTER, U64, "energy of memory, by the job's share of the busy time" },
    { "psys", "uJ", COUNTER, U64, "energy of the whole node as measured by its processors, attributed likewise" },
};

static const struct set set = { "energy", metrics, RAPL_DOMAINS };
_Static_assert(sizeof metrics / sizeof *metrics == RAPL_DOMAINS && ENERGY_SHARE_DOMAINS == RAPL_DOMAINS,
               "one for each domain");

struct rapl_job {
    struct energy_share_job share;
    struct rapl_job *next; /* next ended job */
    unsigned age;          /* readings since it ended */
    bool unified;
    uint32_t pid;          /* first process of a job without a cgroup, else 0 */
    int fd;                /* -1: opened in each round */
    char *id;              /* after path, in the same allocation */
    char path[];
};

void rapl_jobs_open(struct rapl_jobs *jobs, const char *root, const struct rapl_meters *meters)
{
    jobs->root = root;
    cgroup_cpu_find_mounts(root, &jobs->mounts);
    if (file_open(root, "/proc/stat", &jobs->stat_fd))
        jobs->stat_fd = -1;
    for (size_t i = 0; i < meters->count; i++)
        jobs->counted[meters->meters[i].domain] = true;
}

static void close_file(struct rapl_jobs *jobs, struct rapl_job *job)
{
    if (job->fd < 0)
        return;
    close(job->fd);
    job->fd = -1;
    jobs->open_files--;
}

/* Removes the job from the table. It is freed later, because a batch may borrow its id. */
static void retire(struct rapl_jobs *jobs, size_t slot)
{
    struct rapl_job *job = jobs->slots[slot];
    if (!job)
        return;
    close_file(jobs, job);
    jobs->slots[slot] = NULL;
    jobs->count--;
    job->next = jobs->ended;
    jobs->ended = job;
}

/* Frees the jobs that ended at least age readings ago. */
static void free_ended(struct rapl_jobs *jobs, unsigned age)
{
    for (struct rapl_job **at = &jobs->ended; *at;) {
        struct rapl_job *job = *at;
        if (job->age++ < age) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        free(job);
    }
}

void rapl_jobs_close(struct rapl_jobs *jobs)
{
    for (size_t i = 0; i < jobs->capacity; i++)
        retire(jobs, i);
    free_ended(jobs, 0);
    free(jobs->slots);
    if (jobs->has_pid_cpu)
        pid_cpu_close(&jobs->pid_cpu);
    if (jobs->stat_fd >= 0)
        close(jobs->stat_fd);
}

/* Busy CPU time: user, nice, system, irq, softirq. Steal time is not ours, guest time is part of user. */
static enum err read_busy(const struct rapl_jobs *jobs, uint64_t *busy_ns)
{
    char text[512];
    uint64_t ticks[7];
    size_t count = 0;
    enum err err = jobs->stat_fd < 0 ? ABSENT : file_read_fd(jobs->stat_fd, text, sizeof text, NULL);
    const char *at = err ? NULL : scan_line(text, "cpu ");
    if (err || !at)
        return err ? err : CORRUPT;
    while (count < 7 && scan_u64(&at, &ticks[count]))
        count++;
    if (count < 7) /* a truncated line would look like time going back and forth */
        return CORRUPT;
    long per_second = sysconf(_SC_CLK_TCK);
    *busy_ns = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6])
               * (NS_PER_S / (uint64_t)(per_second > 0 ? per_second : 100));
    return OK;
}

/* Adds what the node used since the last call to the pool. */
static enum err fill_pool(struct rapl_jobs *jobs, const struct rapl_meters *meters)
{
    uint64_t busy_ns;
    enum err err = read_busy(jobs, &busy_ns);
    if (err)
        return err;
    if (jobs->began && busy_ns > jobs->busy_ns)
        jobs->pool.busy_ns += busy_ns - jobs->busy_ns;
    jobs->busy_ns = busy_ns;
    for (size_t i = 0; i < meters->count; i++) {
        const struct rapl_meter *meter = &meters->meters[i];
        if (jobs->began) {
            jobs->pool.energy_uj[meter->domain] += (double)(meter->total_uj - jobs->totals_uj[i]);
            jobs->lost[meter->domain] |= meter->breaks != jobs->breaks[i];
        }
        jobs->totals_uj[i] = meter->total_uj;
        jobs->breaks[i] = meter->breaks;
    }
    jobs->began = true;
    return OK;
}

static enum err read_tree(struct rapl_jobs *jobs, uint32_t pid, uint64_t *cpu_ns)
{
    enum err err = jobs->has_pid_cpu ? OK : pid_cpu_open(&jobs->pid_cpu, jobs->root);
    jobs->has_pid_cpu = !err;
    return err ? err : pid_cpu_read(&jobs->pid_cpu, pid, cpu_ns);
}

static enum err read_cpu(struct rapl_jobs *jobs, struct rapl_job *job, uint64_t *cpu_ns)
{
    if (job->pid)
        return read_tree(jobs, job->pid, cpu_ns);
    int fd = job->fd;
    enum err err = fd < 0 ? file_open(jobs->root, job->path, &fd) : OK;
    if (err)
        return err;
    err = cgroup_cpu_read(fd, job->unified, cpu_ns);
    if (job->fd >= 0)
        return err;
    if (!err && jobs->open_files < FILES_MAX) {
        job->fd = fd;
        jobs->open_files++;
    } else {
        close(fd);
    }
    return err;
}

static void note_cpu(struct rapl_jobs *jobs, struct rapl_job *job)
{
    uint64_t cpu_ns;
    if (read_cpu(jobs, job, &cpu_ns) == OK) /* a removed cgroup keeps its last value */
        energy_share_update(&job->share, cpu_ns);
}

static enum err add_sample(const struct rapl_jobs *jobs, const struct rapl_job *job, struct batch *out)
{
    struct sample *sample = batch_add(out, &set, clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    sample->job = job->id;
    for (size_t i = 0; i < RAPL_DOMAINS; i++)
        if (jobs->counted[i] && !jobs->lost[i])
            sample_set_u64(sample, i, (uint64_t)job->share.energy_uj[i]);
    return OK;
}

static enum err reserve(struct rapl_jobs *jobs, size_t slot)
{
    return array_reserve_zeroed(jobs->slots, jobs->capacity, slot + 1, SLOTS_MAX);
}

static enum err begin(struct rapl_jobs *jobs, const struct job *job, struct batch *out)
{
    char path[2 * CGROUP_PATH_MAX] = "";
    if (cgroup_cpu_path(&jobs->mounts, job, path, sizeof path) != OK && !job->pid)
        return OK; /* its CPU time is unknown: no energy rather than a wrong one */
    enum err err = reserve(jobs, job->slot);
    if (err)
        return err;
    retire(jobs, job->slot);
    size_t path_size = strlen(path) + 1, id_size = strlen(job->id) + 1;
    struct rapl_job *made = calloc(1, sizeof *made + path_size + id_size);
    if (!made)
        return NOMEM;
    made->fd = -1;
    made->unified = job->unified;
    made->pid = *path ? 0 : job->pid;
    memcpy(made->path, path, path_size);
    made->id = memcpy(made->path + path_size, job->id, id_size);
    jobs->slots[job->slot] = made;
    jobs->count++;
    note_cpu(jobs, made);
    made->share.pending_ns = 0; /* its earlier usage belongs to earlier energy */
    return out ? add_sample(jobs, made, out) : OK;
}

static enum err end(struct rapl_jobs *jobs, size_t slot, const struct rapl_meters *meters, struct batch *out)
{
    struct rapl_job *job = slot < jobs->capacity ? jobs->slots[slot] : NULL;
    if (!job)
        return OK;
    enum err err = fill_pool(jobs, meters);
    if (!err) {
        note_cpu(jobs, job);
        energy_share_end(&jobs->pool, &job->share);
    }
    retire(jobs, slot);
    return err || !out ? err : add_sample(jobs, job, out); /* without its last interval the value would be too low */
}

static bool is_known(const struct rapl_jobs *jobs, const struct job *job)
{
    const struct rapl_job *kept = job->slot < jobs->capacity ? jobs->slots[job->slot] : NULL;
    return kept && !strcmp(kept->id, job->id);
}

enum err rapl_jobs_event(struct rapl_jobs *jobs, const struct job *job, enum job_event event,
                         const struct rapl_meters *meters, struct batch *out)
{
    if (jobs->stat_fd < 0)
        return OK;
    if (event == JOB_END)
        return end(jobs, job->slot, meters, out);
    if (is_known(jobs, job))
        return OK;
    enum err unfilled = fill_pool(jobs, meters), err = begin(jobs, job, out);
    return err ? err : unfilled;
}

/* Domains that were left out of this round because a meter broke off restart at 0: a gap, then a smaller value. */
static void reset_lost(struct rapl_jobs *jobs)
{
    for (size_t domain = 0; domain < RAPL_DOMAINS; domain++) {
        for (size_t i = 0; jobs->lost[domain] && i < jobs->capacity; i++)
            if (jobs->slots[i])
                jobs->slots[i]->share.energy_uj[domain] = 0;
        jobs->lost[domain] = false;
    }
}

enum err rapl_jobs_round(struct rapl_jobs *jobs, const struct rapl_meters *meters, uint64_t now_ns, uint64_t period_ns,
                         struct batch *out)
{
    uint64_t pending_ns = 0;
    free_ended(jobs, ENDED_READINGS);
    if (!jobs->count)
        return OK;
    if (jobs->round_ns && now_ns - jobs->round_ns < period_ns - period_ns / 16) { /* ticks are not exact */
        out->is_part = true;
        return OK;
    }
    jobs->round_ns = now_ns;
    enum err err = fill_pool(jobs, meters);
    if (err)
        return err; /* the pool is distributed in the next round */
    for (size_t i = 0; i < jobs->capacity; i++)
        if (jobs->slots[i]) {
            note_cpu(jobs, jobs->slots[i]);
            pending_ns += jobs->slots[i]->share.pending_ns;
        }
    for (size_t i = 0; i < jobs->capacity; i++)
        if (jobs->slots[i]) {
            energy_share_assign(&jobs->pool, pending_ns, &jobs->slots[i]->share);
            err = err ? err : add_sample(jobs, jobs->slots[i], out);
        }
    energy_share_reset(&jobs->pool);
    reset_lost(jobs);
    return err;
}
