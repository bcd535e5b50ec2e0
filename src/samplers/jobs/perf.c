/* Perf events of each job: counted by the kernel for the job's cgroup, in the v1 hierarchy perf_event or in v2, on
 * every CPU. About 0.5 µs per event and CPU, each of which needs a descriptor. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "proc/cpulist.h"
#include "proc/perf_cgroup.h"
#include "samplers/jobs/cgroup_mounts.h"
#include "samplers/jobs/job_slots.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define EVENTS_MAX 64
#define EVENTS_DEFAULT "instructions,cache_misses,page_faults,cpu_cycles,cache_references"
#define CPUS_MAX 4096
#define DIRECTORY_TRIES_MAX 5         /* readings after which a job without a cgroup directory is taken to have none */
#define DESCRIPTORS_SHARE 2 /* share of the agent's descriptor limit */

struct perf_job {
    const struct job *job; /* NULL: the slot is free */
    struct perf_cgroup group;
    size_t descriptors;
    unsigned directory_tries; /* readings without a cgroup that perf supports */
};

struct perf_sampler {
    const char *events; /* setting */
    struct cgroup_mounts mounts;
    struct perf_event_spec specs[EVENTS_MAX]; /* that are counted */
    size_t places[EVENTS_MAX];                /* their metrics: an event that cannot be counted keeps its place */
    size_t spec_count;
    char names[EVENTS_MAX][64], sources[EVENTS_MAX][64], helps[EVENTS_MAX][128];
    struct metric metrics[EVENTS_MAX];
    struct set set;
    int online_fd;
    char online[1024]; /* the kernel's list of CPUs at the last reading */
    bool cpus[CPUS_MAX];
    size_t cpu_count;
    struct job_slots jobs; /* struct perf_job */
    size_t descriptors, descriptors_max;
    bool has_logged_full, has_logged_absent, has_logged_nowhere;
};

static const struct setting settings[] = {
    { "events", SETTING_TEXT, EVENTS_DEFAULT, offsetof(struct perf_sampler, events),
      "comma-separated events by their names in perf, libpfm4 or Colmet" },
    { .key = NULL },
};

/* The event name in characters that a metric name may have. */
static void name_event(const char *event, char name[64])
{
    size_t size = 0;
    for (; *event && size < 63; event++) {
        bool fits = isalnum((unsigned char)*event);
        if (fits || (size && name[size - 1] != '_'))
            name[size++] = fits ? (char)tolower((unsigned char)*event) : '_';
    }
    while (size && name[size - 1] == '_')
        size--;
    name[size] = '\0';
}

static bool is_named(const struct perf_sampler *perf, const char *name)
{
    for (size_t i = 0; i < perf->set.size; i++)
        if (!strcmp(perf->names[i], name))
            return true;
    return false;
}

static bool is_time(const struct perf_event_spec *spec)
{
    return spec->type == PERF_TYPE_SOFTWARE
           && (spec->config == PERF_COUNT_SW_CPU_CLOCK || spec->config == PERF_COUNT_SW_TASK_CLOCK);
}

static void describe_event(struct perf_sampler *perf, const struct perf_event_spec *spec, bool is_counted)
{
    size_t i = perf->set.size;
    char name[64];
    name_event(spec->name, name);
    if (!name[0] || is_named(perf, name))
        return;
    memcpy(perf->names[i], name, sizeof name);
    memcpy(perf->sources[i], spec->name, sizeof spec->name);
    if (is_counted) {
        perf->places[perf->spec_count] = i;
        perf->specs[perf->spec_count++] = *spec;
    }
    snprintf(perf->helps[i], sizeof perf->helps[i], "perf event %.63s, scaled when multiplexed", spec->name);
    perf->metrics[i] = (struct metric){
        perf->names[i], is_time(spec) ? "ns" : "1", COUNTER, U64, perf->helps[i],
        strcmp(name, spec->name) ? perf->sources[i] : NULL,
    };
    perf->set.size++;
}

/* The user configured events explicitly: log what is missing as a warning. Defaults are logged as info, and by
 * doctor. */
static bool is_asked_for(const struct perf_sampler *perf)
{
    return strcmp(perf->events, EVENTS_DEFAULT) != 0;
}

static void log_missing(const char *name, const struct perf_problem *problem)
{
    log_info("event %s is not counted: %s. Fix: %s.", name, problem->reason, problem->fix);
}

static void warn_of_missing(const char *name, const struct perf_problem *problem)
{
    log_warn("event %s is not counted for jobs: %s. Fix: %s.", name, problem->reason, problem->fix);
}

static enum err choose_events(struct perf_sampler *perf)
{
    struct perf_event_spec specs[EVENTS_MAX];
    char list[4096];
    if (snprintf(list, sizeof list, "%s", perf->events) >= (int)sizeof list)
        return USAGE;
    for (char *at = list; *at; at++)
        if (*at == ' ') /* Colmet separates them with blanks */
            *at = ',';
    bool is_counted[EVENTS_MAX];
    size_t count = perf_resolve_with(list, specs, is_counted, EVENTS_MAX, is_asked_for(perf) ? warn_of_missing : log_missing);
    perf->set = (struct set){ "perf", perf->metrics, 0 };
    for (size_t i = 0; i < count; i++)
        describe_event(perf, &specs[i], is_counted[i]);
    return perf->spec_count ? OK : ABSENT;
}

static enum err read_cpus(struct perf_sampler *perf, bool *changed)
{
    char text[sizeof perf->online];
    enum err err = file_read_fd(perf->online_fd, text, sizeof text, NULL);
    *changed = !err && strcmp(text, perf->online) != 0;
    if (!*changed)
        return err;
    memcpy(perf->online, text, sizeof text);
    text[strcspn(text, "\n")] = '\0';
    perf->cpu_count = cpulist_flags(text, perf->cpus, CPUS_MAX);
    return perf->cpu_count ? OK : CORRUPT;
}

/* Checks whether this user may count for cgroups at all, with one event on one CPU for the root cgroup. Other problems
 * are logged per job. */
static bool is_denied(const struct perf_sampler *perf)
{
    char path[FILE_PATH_MAX];
    const char *mount = cgroup_mounts_perf(&perf->mounts);
    return mount && !file_path(path, perf->mounts.root, mount)
           && perf_cgroup_try(path, perf->specs, perf->cpus, perf->cpu_count) == DENIED;
}

static enum err refuse(struct perf_sampler *perf)
{
    static bool has_logged;
    if (!has_logged && is_asked_for(perf)) {
        log_warn("perf events of jobs are not counted: permission denied. Run the agent as root, or with CAP_PERFMON.");
        has_logged = true;
    }
    cgroup_mounts_close(&perf->mounts);
    return DENIED;
}

static enum err perf_open(void *state, const struct sampler_context *context)
{
    struct perf_sampler *perf = state;
    struct rlimit limit = { 1024, 1024 };
    bool changed;
    enum err err = choose_events(perf);
    if (err)
        return err;
    err = file_open(context->root, "/sys/devices/system/cpu/online", &perf->online_fd);
    if (err)
        return err;
    err = read_cpus(perf, &changed);
    if (!err)
        err = cgroup_mounts_open(&perf->mounts, context->root, CGROUP_MOUNTS_PROCESSES);
    if (!err && is_denied(perf))
        err = refuse(perf);
    if (err)
        close(perf->online_fd);
    getrlimit(RLIMIT_NOFILE, &limit);
    perf->descriptors_max = (size_t)limit.rlim_cur / DESCRIPTORS_SHARE;
    return err;
}

static struct perf_job *find_tracked(const struct perf_sampler *perf, uint32_t slot)
{
    struct perf_job *tracked = job_slots_get(&perf->jobs, slot);
    return tracked && tracked->job ? tracked : NULL;
}

/* The job's directory in the v1 hierarchy perf_event or in v2. */
static bool find_directory(const struct perf_sampler *perf, const struct job *job, char path[FILE_PATH_MAX])
{
    const char *candidates[] = { job->unified ? NULL : perf->mounts.perf_event, perf->mounts.unified };
    for (size_t i = 0; i < 2 && *job->cgroup; i++) {
        if (!candidates[i])
            continue;
        int size = snprintf(path, FILE_PATH_MAX, "%s%s%s", perf->mounts.root, candidates[i], job->cgroup);
        if (size < FILE_PATH_MAX && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static void log_full(struct perf_sampler *perf, const struct job *job)
{
    if (!perf->has_logged_full)
        log_warn("perf events of job %s and possibly others are not counted: they would need more than %zu descriptors, half "
                 "of the limit. Raise it (LimitNOFILE, ulimit -n), or configure fewer events.", job->id,
                 perf->descriptors_max);
    perf->has_logged_full = true;
}

static void log_absent(struct perf_sampler *perf, const struct job *job, enum err err)
{
    const char *fix = err == DENIED ? "Run the agent as root, or with CAP_PERFMON"
                                       : "They need a cgroup of the job in the v1 hierarchy perf_event or in v2";
    if (!perf->has_logged_absent)
        log_warn("perf events of job %s and possibly others are not counted: %s. %s.", job->id, err_text(err), fix);
    perf->has_logged_absent = true;
}

#define NO_CGROUP_MESSAGE \
    "perf events of job %s and possibly others are not counted: it has no cgroup in v2 or in the v1 hierarchy perf_event. " \
    "Configure the batch system to use cgroup v2."

/* A job's cgroup may be created after the job is known. Slurm on v1 creates none for perf_event, and a job declared by
 * its process has none. */
static void wait_for_directory(struct perf_sampler *perf, struct perf_job *tracked)
{
    const struct job *job = tracked->job;
    char path[FILE_PATH_MAX];
    bool has_place = *job->cgroup || job->pid;
    if (!has_place || tracked->directory_tries == DIRECTORY_TRIES_MAX || find_directory(perf, job, path)
        || ++tracked->directory_tries < DIRECTORY_TRIES_MAX)
        return;
    if (!perf->has_logged_nowhere && is_asked_for(perf))
        log_warn(NO_CGROUP_MESSAGE, job->id);
    else if (!perf->has_logged_nowhere)
        log_info(NO_CGROUP_MESSAGE, job->id);
    perf->has_logged_nowhere = true;
}

static enum err open_group(struct perf_sampler *perf, struct perf_job *tracked)
{
    char path[FILE_PATH_MAX];
    size_t needs = perf_cgroup_fd_count(perf->spec_count, perf->cpus, perf->cpu_count);
    if (tracked->group.is_open || !find_directory(perf, tracked->job, path))
        return OK; /* it may appear later */
    enum err err = perf->descriptors + needs > perf->descriptors_max
                       ? FULL : perf_cgroup_open(&tracked->group, path, perf->specs, perf->spec_count, perf->cpus,
                                                 perf->cpu_count);
    if (!err) {
        tracked->descriptors = needs;
        perf->descriptors += needs;
    } else if (err == FULL) {
        log_full(perf, tracked->job);
    } else if (err != NOMEM) {
        log_absent(perf, tracked->job, err);
    }
    return err == NOMEM ? NOMEM : OK;
}

static void close_group(struct perf_sampler *perf, struct perf_job *tracked)
{
    perf_cgroup_close(&tracked->group);
    perf->descriptors -= tracked->descriptors;
    tracked->descriptors = 0;
}

static enum err add_sample(struct perf_sampler *perf, struct perf_job *tracked, struct batch *out)
{
    if (!tracked->group.is_open)
        return OK;
    perf_cgroup_read(&tracked->group);
    struct sample *sample = batch_add(out, &perf->set, clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    sample->job = tracked->job->id;
    for (size_t i = 0; i < perf->spec_count; i++) {
        uint64_t value;
        if (perf_cgroup_total(&tracked->group, i, &value))
            sample_set_u64(sample, perf->places[i], value);
    }
    return OK;
}

/* Opens and closes events of CPUs that went online or offline; their counts are kept. */
static void follow_cpus(struct perf_sampler *perf)
{
    bool changed;
    if (read_cpus(perf, &changed) || !changed)
        return;
    size_t needs = perf_cgroup_fd_count(perf->spec_count, perf->cpus, perf->cpu_count);
    for (uint32_t slot = 0; slot < perf->jobs.capacity; slot++) {
        struct perf_job *tracked = find_tracked(perf, slot);
        if (!tracked || !tracked->group.is_open)
            continue;
        if (perf_cgroup_change_cpus(&tracked->group, perf->specs, perf->cpus, perf->cpu_count))
            log_full(perf, tracked->job);
        perf->descriptors += needs - tracked->descriptors;
        tracked->descriptors = needs;
    }
}

static enum err perf_read(void *state, struct batch *out)
{
    struct perf_sampler *perf = state;
    enum err err = OK;
    follow_cpus(perf);
    for (uint32_t slot = 0; slot < perf->jobs.capacity && !err; slot++) {
        struct perf_job *tracked = find_tracked(perf, slot);
        if (!tracked)
            continue;
        err = open_group(perf, tracked);
        if (!tracked->group.is_open)
            wait_for_directory(perf, tracked);
        if (!err)
            err = add_sample(perf, tracked, out);
    }
    return err;
}

static enum err begin_job(struct perf_sampler *perf, const struct job *job, struct batch *out)
{
    void *item;
    enum err err = job_slots_add(&perf->jobs, job->slot, sizeof(struct perf_job), &item);
    if (err)
        return err;
    struct perf_job *tracked = item;
    *tracked = (struct perf_job){ .job = job };
    err = open_group(perf, tracked);
    return err || !out ? err : add_sample(perf, tracked, out);
}

static enum err finish_job(struct perf_sampler *perf, struct perf_job *tracked, struct batch *out)
{
    enum err err = out ? add_sample(perf, tracked, out) : OK;
    close_group(perf, tracked);
    job_slots_drop(&perf->jobs, tracked->job->slot);
    return err;
}

static enum err perf_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct perf_sampler *perf = state;
    struct perf_job *tracked = find_tracked(perf, job->slot);
    if (event == JOB_END)
        return tracked ? finish_job(perf, tracked, out) : OK;
    return tracked ? open_group(perf, tracked) : begin_job(perf, job, out);
}

static void perf_close(void *state)
{
    struct perf_sampler *perf = state;
    for (uint32_t slot = 0; slot < perf->jobs.capacity; slot++) {
        struct perf_job *tracked = find_tracked(perf, slot);
        if (tracked)
            close_group(perf, tracked);
    }
    job_slots_clear(&perf->jobs);
    cgroup_mounts_close(&perf->mounts);
    close(perf->online_fd);
}

const struct sampler sampler_perf = {
    .name = "perf",
    .about = "perf events of each job, hardware and software",
    .settings = settings,
    .state_size = sizeof(struct perf_sampler),
    .absent_reason = "None of the configured events can be counted on this node",
    .absent_fix = "See 'perf list'; a virtual machine needs a virtual PMU from its hypervisor",
    .denied_fix = "Run the agent as root, or with CAP_PERFMON",
    .open = perf_open,
    .read = perf_read,
    .job = perf_job,
    .close = perf_close,
};
