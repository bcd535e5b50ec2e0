/* System calls of each job that asks for it, counted in the kernel (syscalls.h). The programs are loaded for the first such
 * job and unloaded with the last: a node where nobody asks pays nothing. Of a job with a cgroup those who are in it are
 * looked for at each reading; what they start is known at once. */
#include "samplers/jobs/syscalls.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/scan.h"
#include "base/install_paths.h"
#include "samplers/all.h"
#include "samplers/jobs/slots.h"
#include "samplers/jobs/tasks.h"
#include "syscalls/syscalls.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOKS_MAX 100 /* at the processes of a job that makes new ones all the time */
#define WHY_ROOM 512

struct watched {
    const struct job *job; /* NULL: the slot is free */
    struct syscalls_job *calls;
    struct job_tasks tasks;
};

struct calls_sampler {
    struct job_groups groups;
    struct syscalls *syscalls; /* NULL: no job has asked */
    struct job_slots jobs;     /* struct watched */
    size_t job_count;
    struct pidlist pids;
    char why[WHY_ROOM];        /* the last attempt failed; "": it did not */
    enum err last;
};

static struct calls_sampler *newest; /* of this process; NULL: none is open */

static struct watched *find_watched(const struct calls_sampler *sampler, uint32_t slot)
{
    struct watched *watched = job_slots_get(&sampler->jobs, slot);
    return watched && watched->job ? watched : NULL;
}

static struct watched *find_counted(const char *id)
{
    for (uint32_t slot = 0; newest && newest->job_count && slot < newest->jobs.room; slot++) {
        struct watched *watched = find_watched(newest, slot);
        if (watched && !strcmp(watched->job->id, id))
            return watched;
    }
    return NULL;
}

enum err job_syscalls_read(const char *id, uint64_t *since_ns, struct batch *out)
{
    struct watched *watched = find_counted(id);
    if (!watched)
        return ABSENT;
    *since_ns = syscalls_begun_ns(watched->calls);
    return syscalls_read(watched->calls, NULL, out);
}

enum err job_syscalls_state(const char *id, const char **why)
{
    *why = newest ? newest->why : "the sensor 'syscalls' of the agent is off, or cannot be. 'sonde ctl sensors +syscalls', "
                                   "as root, switches it on; 'sonde doctor' says what is in the way";
    if (!newest)
        return ABSENT;
    if (find_counted(id))
        return OK;
    return newest->last ? newest->last : ABSENT;
}

/* What can be seen without loading anything. */
static enum err calls_open(void *state, const struct sampler_context *context)
{
    struct calls_sampler *sampler = state;
    char path[PATH_MAX];
    if (*context->root || self_find_module("sample-bpf.so", path, sizeof path)
        || access("/sys/kernel/btf/vmlinux", F_OK) != 0 || !syscalls_knows_numbers())
        return ABSENT;
    if (geteuid() != 0)
        return DENIED;
    enum err err = job_groups_open(&sampler->groups, context->root, JOB_GROUPS_PROCESSES);
    if (!err)
        newest = sampler;
    return err;
}

static bool has_program(uint32_t pid, struct stat *program)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    return stat(path, program) == 0;
}

/* sonde run itself and its helper are no part of what it runs. */
static bool is_watcher(const struct watched *watched, uint32_t pid)
{
    struct stat run, other;
    if (strcmp(watched->job->source, "run") != 0)
        return false;
    return pid == watched->job->pid || (has_program(watched->job->pid, &run) && has_program(pid, &other)
                                        && run.st_ino == other.st_ino && run.st_dev == other.st_dev);
}

/* One look at the processes; *added says how many were not counted before. */
static enum err look_once(struct calls_sampler *sampler, struct watched *watched, size_t *added)
{
    *added = 0;
    sampler->pids.count = 0;
    enum err err = job_tasks_list(&sampler->groups, &watched->tasks, NULL, &sampler->pids);
    for (size_t i = 0; !err && i < sampler->pids.count; i++) {
        pid_t pid = (pid_t)sampler->pids.ids[i];
        if (syscalls_has(watched->calls, pid) || is_watcher(watched, (uint32_t)pid))
            continue;
        *added += syscalls_add(watched->calls, pid) == OK && syscalls_has(watched->calls, pid);
    }
    return err;
}

/* The number of a hierarchy of v1, which is mounted where the name of a controller is the last word. False: not found. */
static bool find_hierarchy(const char *mount, uint64_t *number)
{
    char text[8192];
    const char *slash = strrchr(mount, '/');
    if (!slash || file_read("", "/proc/self/cgroup", text, sizeof text, NULL))
        return false;
    size_t size = strcspn(slash + 1, ","); /* "cpu,cpuacct": one of them will do */
    for (const char *line = text; *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : line + strlen(line)) {
        const char *at = line, *end = strchr(line, '\n');
        if (!scan_u64(&at, number) || *at++ != ':')
            continue;
        for (size_t word = strcspn(at, ",:"); at < end && word; at += word + (at[word] == ','), word = strcspn(at, ",:"))
            if (word == size && strncmp(at, slash + 1, size) == 0)
                return true;
    }
    return false;
}

/* So that nobody who comes into its control group and goes between two looks is missed. */
static void watch_group(const struct calls_sampler *sampler, struct watched *watched)
{
    struct stat folder;
    uint64_t hierarchy = 0;
    const char *path = watched->tasks.count ? watched->tasks.folders[0].path : NULL;
    bool is_found = watched->tasks.unified;
    for (char **mount = sampler->groups.mounts; path && !is_found && *mount; mount++)
        is_found = strncmp(path, *mount, strlen(*mount)) == 0 && path[strlen(*mount)] == '/'
                   && find_hierarchy(*mount, &hierarchy);
    if (path && is_found && stat(path, &folder) == 0)
        syscalls_add_group(watched->calls, hierarchy, folder.st_ino);
}

/* Until there is nobody new: who was not counted when we looked may have started another. */
static enum err look(struct calls_sampler *sampler, struct watched *watched)
{
    size_t added = 1;
    enum err err = OK;
    if (!strcmp(watched->job->source, "run") && !syscalls_has(watched->calls, (pid_t)watched->job->pid))
        syscalls_expect(watched->calls, (pid_t)watched->job->pid);
    for (int i = 0; !err && (added || i < 2) && i < LOOKS_MAX; i++) { /* twice: some may have come before the group is watched */
        err = look_once(sampler, watched, &added);
        if (!err && i == 0)
            watch_group(sampler, watched);
    }
    return err == NOMEM ? err : OK;
}

static void tell_failure(struct calls_sampler *sampler, const struct job *job, enum err err)
{
    sampler->last = err;
    if (!sampler->why[0])
        snprintf(sampler->why, sizeof sampler->why, "%s", err == FULL ? "too many jobs have asked" : err_text(err));
    log_warn("cannot count the system calls of job %s: %s", job->id, sampler->why);
}

static void close_if_idle(struct calls_sampler *sampler)
{
    if (!sampler->job_count)
        syscalls_close(&sampler->syscalls);
}

static enum err begin_calls(struct calls_sampler *sampler, struct watched *watched, const struct job *job)
{
    sampler->why[0] = '\0';
    enum err err = sampler->syscalls ? OK : syscalls_open(&sampler->syscalls, SYSCALLS_MAY_TIME | SYSCALLS_MAY_JOIN, sampler->why,
                                                          sizeof sampler->why);
    if (!err)
        err = syscalls_begin(sampler->syscalls, job->syscalls == JOB_SYSCALLS_TIME, &watched->calls);
    sampler->last = err;
    return err;
}

/* A job that cannot be counted is said once, and the sampler goes on for the others. */
static enum err begin_job(struct calls_sampler *sampler, const struct job *job)
{
    void *item;
    enum err err = job_slots_make(&sampler->jobs, job->slot, sizeof(struct watched), &item);
    struct watched *watched = item;
    if (err)
        return err;
    err = begin_calls(sampler, watched, job);
    if (!err)
        err = job_tasks_open(&sampler->groups, &watched->tasks, job);
    if (err) {
        tell_failure(sampler, job, err);
        syscalls_end(&watched->calls);
        job_slots_drop(&sampler->jobs, job->slot);
        close_if_idle(sampler);
        return OK;
    }
    watched->job = job;
    sampler->job_count++;
    return look(sampler, watched);
}

static void end_job(struct calls_sampler *sampler, struct watched *watched)
{
    job_tasks_close(&sampler->groups, &watched->tasks);
    syscalls_end(&watched->calls);
    job_slots_drop(&sampler->jobs, watched->job->slot);
    sampler->job_count--;
    close_if_idle(sampler);
}

static enum err finish_job(struct calls_sampler *sampler, struct watched *watched, struct batch *out)
{
    syscalls_stop(watched->calls);
    enum err err = out ? syscalls_read_on(watched->calls, watched->job->id, out) : OK;
    end_job(sampler, watched);
    return err;
}

static enum err change_job(struct calls_sampler *sampler, struct watched *watched, const struct job *job)
{
    if (job->syscalls == JOB_SYSCALLS_TIME && syscalls_want_time(watched->calls))
        log_warn("cannot measure the time of the system calls of job %s", job->id);
    job_tasks_close(&sampler->groups, &watched->tasks);
    enum err err = job_tasks_open(&sampler->groups, &watched->tasks, job);
    return err ? err : look(sampler, watched);
}

static enum err calls_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct calls_sampler *sampler = state;
    struct watched *watched = find_watched(sampler, job->slot);
    bool is_wanted = event != JOB_END && job->syscalls;
    if (watched)
        return is_wanted ? change_job(sampler, watched, job) : finish_job(sampler, watched, out);
    return is_wanted ? begin_job(sampler, job) : OK;
}

static enum err read_job(struct calls_sampler *sampler, struct watched *watched, struct batch *out)
{
    enum err err = look(sampler, watched);
    return err ? err : syscalls_read_on(watched->calls, watched->job->id, out);
}

static enum err calls_read(void *state, struct batch *out)
{
    struct calls_sampler *sampler = state;
    enum err err = OK;
    for (uint32_t slot = 0; slot < sampler->jobs.room && !err; slot++) {
        struct watched *watched = find_watched(sampler, slot);
        err = watched ? read_job(sampler, watched, out) : OK;
    }
    return err;
}

static void calls_close(void *state)
{
    struct calls_sampler *sampler = state;
    for (uint32_t slot = 0; slot < sampler->jobs.room; slot++) {
        struct watched *watched = find_watched(sampler, slot);
        if (watched)
            end_job(sampler, watched);
    }
    job_slots_clear(&sampler->jobs);
    job_groups_close(&sampler->groups);
    pidlist_clear(&sampler->pids);
    if (newest == sampler)
        newest = NULL;
}

const struct sampler sampler_syscalls = {
    .name = "syscalls",
    .about = "system calls of the jobs that ask for it, counted in the kernel by eBPF",
    .state_size = sizeof(struct calls_sampler),
    .period_ns = 5 * NS_PER_S,
    .absent = "The module sample-bpf.so is not installed, the kernel has no types of its own (BTF), or this is a pid namespace "
              "of its own",
    .absent_remedy = "Build Sonde where clang and libbpf-dev are; use a kernel with CONFIG_DEBUG_INFO_BTF; run the agent in the "
                     "machine's pid namespace",
    .denied_remedy = "Run the agent as root",
    .open = calls_open,
    .read = calls_read,
    .job = calls_job,
    .holds_counts = true,
    .close = calls_close,
};
