/* The cgroups of jobs and of their steps: CPU, memory with its peak, I/O, threads and pressure, in v1, v2 and hybrid
 * setups. The kernel's sums include exited processes. About 2 µs per file; a cgroup has up to 16 (v2) or 22 (v1). */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "samplers/jobs/job_cgroup.h"
#include "samplers/pace.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define KEPT_SHARE 8     /* share of the descriptor limit: other parts need some too */
#define KEPT_MAX 4096
#define ONE_IN 20        /* at most 5 % of a CPU: with very many jobs some ticks are skipped */
#define STEPS_MAX 256    /* steps of one job that have samples of their own */

static const struct metric metrics[] = {
#define X(name, unit, kind, help, source) { #name, unit, kind, U64, help, source },
    CGROUP_METRICS(X)
#undef X
};

static const struct set set = { .name = "cgroup", .metrics = metrics, .size = CGROUP_METRICS_SIZE, .instances = "step" };

struct cgroup_job {
    const struct job *job;
    struct job_cgroup *whole;
    struct job_cgroup *steps;
    size_t step_count;
};

struct cgroup_sampler {
    bool with_steps, keep_open; /* settings */
    struct job_cgroup_context place;
    struct cgroup_job *jobs; /* by job.slot */
    size_t capacity;
    struct job_cgroup *retired; /* samples in flight borrow their names */
    struct pace pace;
};

static const struct setting settings[] = {
    { "steps", SETTING_FLAG, "yes", offsetof(struct cgroup_sampler,
                                             with_steps), "also one sample per step of a job" },
    { "keep_open", SETTING_FLAG, "yes", offsetof(struct cgroup_sampler, keep_open),
      "keep files open between readings, up to a limit" },
    { .key = NULL },
};

static enum err cgroup_sampler_open(void *state, const struct sampler_context *context)
{
    struct cgroup_sampler *sampler = state;
    struct rlimit limit = { .rlim_cur = 1024 };
    getrlimit(RLIMIT_NOFILE, &limit);
    sampler->place.root = context->root;
    sampler->place.devices.root = context->root;
    sampler->place.kept_max = limit.rlim_cur / KEPT_SHARE < KEPT_MAX ? (unsigned)limit.rlim_cur / KEPT_SHARE : KEPT_MAX;
    if (!sampler->keep_open)
        sampler->place.kept_max = 0;
    enum err err = hierarchies_read(&sampler->place.hierarchies, context->root);
    if (err)
        hierarchies_clear(&sampler->place.hierarchies);
    return err;
}

static void retire(struct cgroup_sampler *sampler, struct job_cgroup *group)
{
    group->next = sampler->retired;
    sampler->retired = group;
}

static void free_list(struct job_cgroup **list, struct job_cgroup_context *place)
{
    while (*list) {
        struct job_cgroup *group = *list;
        *list = group->next;
        job_cgroup_free(&group, place);
    }
}

static struct job_cgroup *find_step(const struct cgroup_job *job, const char *step)
{
    struct job_cgroup *group = job->steps;
    while (group && strcmp(group->step, step) != 0)
        group = group->next;
    return group;
}

static void take_step(struct cgroup_job *job, const char *path)
{
    const struct job_source *source;
    struct job_source_facts facts;
    if (job_source_classify(path, &source, &facts) != CGROUP_STEP)
        return;
    struct job_cgroup *group = find_step(job, facts.step);
    if (!group && job->step_count < STEPS_MAX) {
        group = job_cgroup_new(path, job->job->unified, facts.step);
        if (!group)
            return;
        group->next = job->steps;
        job->steps = group;
        job->step_count++;
    }
    if (group)
        group->is_listed = true;
}

static void list_in(struct cgroup_sampler *sampler, struct cgroup_job *job, size_t hierarchy)
{
    char directory[FILE_PATH_MAX], path[CGROUP_PATH_MAX];
    const char *cgroup = job->job->cgroup;
    if (hierarchies_path(&sampler->place.hierarchies, sampler->place.root, hierarchy, cgroup, "", directory,
                         sizeof directory))
        return;
    DIR *dir = opendir(directory);
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int size = snprintf(path, sizeof path, "%s/%s", cgroup, entry->d_name);
        if (size > 0 && (size_t)size < sizeof path)
            take_step(job, path);
    }
    closedir(dir);
}

/* Finds the steps of a job. A batch system need not create a step in every hierarchy. */
static void list_steps(struct cgroup_sampler *sampler, struct cgroup_job *job)
{
    if (!sampler->with_steps || !*job->job->cgroup)
        return;
    for (struct job_cgroup *group = job->steps; group; group = group->next)
        group->is_listed = false;
    for (size_t i = 0; i < sampler->place.hierarchies.count; i++)
        if (sampler->place.hierarchies.list[i].unified == job->job->unified)
            list_in(sampler, job, i);
    for (struct job_cgroup *group = job->steps; group; group = group->next)
        group->is_gone = !group->is_listed;
}

/* Reads all cgroups of a job without adding samples. check_tasks: it may be the last time that they can be read. */
static void read_job(struct cgroup_sampler *sampler, struct cgroup_job *job, bool check_tasks)
{
    bool has_hit_limit = false;
    for (struct job_cgroup *group = job->steps; group; group = group->next)
        if (!group->is_gone && !job_cgroup_read(group, &sampler->place, check_tasks))
            has_hit_limit |= job_cgroup_has_hit_limit(group);
    if (job->whole)
        job_cgroup_read(job->whole, &sampler->place, check_tasks || has_hit_limit);
}

/* A step that is gone reports its last values once. */
static enum err add_steps(struct cgroup_sampler *sampler, struct cgroup_job *job, bool is_last, struct batch *out)
{
    enum err err = OK;
    for (struct job_cgroup **at = &job->steps; *at && err != NOMEM;) {
        struct job_cgroup *group = *at;
        if (is_last || group->is_gone)
            err = job_cgroup_add_last(group, &set, job->job->id, 0, out);
        else
            err = job_cgroup_add(group, &set, job->job->id, out);
        if (!group->is_gone) {
            at = &group->next;
            continue;
        }
        *at = group->next;
        job->step_count--;
        retire(sampler, group);
    }
    return err == NOMEM ? err : OK;
}

static bool find_taskstats_cpu(const struct sample *sample, const char *job, uint64_t *cpu_us)
{
    if (!sample->job || strcmp(sample->job, job) != 0 || strcmp(sample->set->name, "taskstats") != 0)
        return false;
    for (size_t i = 0; i < sample->set->size; i++)
        if (strcmp(sample->set->metrics[i].name, "cpu") == 0 && sample->known[i]) {
            *cpu_us = sample->values[i].u64 / NS_PER_US;
            return true;
        }
    return false;
}

/* CPU time from the taskstats sampler, which ran just before: its exit records outlive the cgroup. 0: unknown. */
static uint64_t taskstats_cpu_us(const struct batch *out, const char *job)
{
    uint64_t cpu_us = 0;
    for (size_t i = out->count; i-- > 0;)
        if (find_taskstats_cpu(&out->samples[i], job, &cpu_us))
            break;
    return cpu_us;
}

static enum err add_whole(const struct cgroup_job *job, bool is_last, struct batch *out)
{
    const char *id = job->job->id;
    if (!job->whole)
        return OK;
    return is_last ? job_cgroup_add_last(job->whole, &set, id, taskstats_cpu_us(out, id), out)
                   : job_cgroup_add(job->whole, &set, id, out);
}

static enum err add_job(struct cgroup_sampler *sampler, struct cgroup_job *job, bool is_last, struct batch *out)
{
    enum err err = add_whole(job, is_last, out);
    return err == NOMEM ? err : add_steps(sampler, job, is_last, out);
}

static enum err reserve(struct cgroup_sampler *sampler, uint32_t slot)
{
    return array_reserve_zeroed(sampler->jobs, sampler->capacity, (size_t)slot + 1, VEC_MAX);
}

/* The cgroup of a job may become known later than the job, or be replaced by a better one. */
static enum err find_group(struct cgroup_sampler *sampler, struct cgroup_job *job)
{
    const struct cgroup_files *files = job->job->unified ? &cgroup_files_v2 : &cgroup_files_v1;
    if (job->whole && (job->whole->files != files || strcmp(job->whole->path, job->job->cgroup) != 0)) {
        retire(sampler, job->whole);
        job->whole = NULL;
    }
    if (!job->whole && *job->job->cgroup) {
        job->whole = job_cgroup_new(job->job->cgroup, job->job->unified, "");
        return job->whole ? OK : NOMEM;
    }
    return OK;
}

static void end_job(struct cgroup_sampler *sampler, struct cgroup_job *job)
{
    if (job->whole)
        retire(sampler, job->whole);
    while (job->steps) {
        struct job_cgroup *group = job->steps;
        job->steps = group->next;
        retire(sampler, group);
    }
    *job = (struct cgroup_job){ 0 };
}

static enum err cgroup_sampler_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct cgroup_sampler *sampler = state;
    enum err err = reserve(sampler, job->slot);
    if (err)
        return err;
    struct cgroup_job *tracked = &sampler->jobs[job->slot];
    tracked->job = job;
    err = find_group(sampler, tracked);
    if (err)
        return err;
    if (tracked->whole)
        job_cgroup_retry_files(tracked->whole);
    list_steps(sampler, tracked);
    for (struct job_cgroup *group = tracked->steps; group; group = group->next)
        job_cgroup_retry_files(group); /* v1 directories are created one hierarchy after another */
    read_job(sampler, tracked, true);
    if (event != JOB_CHANGE && out)
        err = add_job(sampler, tracked, event == JOB_END, out);
    if (event == JOB_END)
        end_job(sampler, tracked);
    return err;
}

static enum err cgroup_read_all(struct cgroup_sampler *sampler, struct batch *out)
{
    for (size_t i = 0; i < sampler->capacity; i++) {
        struct cgroup_job *job = &sampler->jobs[i];
        if (!job->job)
            continue;
        read_job(sampler, job, false);
        enum err err = add_job(sampler, job, false, out);
        if (err)
            return err;
    }
    return OK;
}

static enum err cgroup_sampler_read(void *state, struct batch *out)
{
    struct cgroup_sampler *sampler = state;
    uint64_t now_ns = clock_monotonic_ns();
    free_list(&sampler->retired, &sampler->place);
    if (!pace_is_due(&sampler->pace, now_ns))
        return AGAIN;
    uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    enum err err = cgroup_read_all(sampler, out);
    pace_record(&sampler->pace, now_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns, ONE_IN);
    return err;
}

static void cgroup_sampler_close(void *state)
{
    struct cgroup_sampler *sampler = state;
    for (size_t i = 0; i < sampler->capacity; i++)
        end_job(sampler, &sampler->jobs[i]);
    free_list(&sampler->retired, &sampler->place);
    free(sampler->jobs);
    hierarchies_clear(&sampler->place.hierarchies);
}

const struct sampler sampler_cgroup = {
    .name = "cgroup",
    .about = "CPU, memory, I/O, threads and pressure of each job and step",
    .absent_reason = "No cgroup file system is mounted",
    .absent_fix = "Mount cgroup2 on /sys/fs/cgroup",
    .settings = settings,
    .set = &set,
    .state_size = sizeof(struct cgroup_sampler),
    .open = cgroup_sampler_open,
    .read = cgroup_sampler_read,
    .job = cgroup_sampler_job,
    .close = cgroup_sampler_close,
};
