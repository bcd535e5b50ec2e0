/* System calls of the jobs that request it, counted in the kernel with eBPF (syscalls/ebpf.h). The programs are loaded
 * for the first such job and unloaded with the last, so that other nodes pay nothing. At each reading the job's cgroup
 * is searched for new processes; their descendants are followed in the kernel. */
#include "samplers/jobs/syscalls.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/module.h"
#include "base/scan.h"
#include "samplers/all.h"
#include "samplers/jobs/job_slots.h"
#include "samplers/jobs/job_tasks.h"
#include "syscalls/ebpf.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALLOCATION_TRIES_MAX 100 /* passes over the processes of a job that keeps starting new ones */
#define ERROR_MAX 512

struct syscalls_sampler_job {
    const struct job *job; /* NULL: the slot is free */
    struct ebpf_job *calls;
    struct job_tasks tasks;
};

struct syscalls_sampler {
    struct cgroup_mounts mounts;
    struct ebpf *ebpf; /* NULL: no job requested it */
    struct job_slots jobs;     /* struct syscalls_sampler_job */
    size_t job_count;
    struct pidlist pids;
    char error[ERROR_MAX];        /* why the last attempt failed; "": it did not */
    enum err last;
};

static struct syscalls_sampler *current; /* the open sampler of this process; NULL: none */

static struct syscalls_sampler_job *find_tracked(const struct syscalls_sampler *sampler, uint32_t slot)
{
    struct syscalls_sampler_job *tracked = job_slots_get(&sampler->jobs, slot);
    return tracked && tracked->job ? tracked : NULL;
}

static struct syscalls_sampler_job *find_by_id(const char *id)
{
    for (uint32_t slot = 0; current && current->job_count && slot < current->jobs.capacity; slot++) {
        struct syscalls_sampler_job *tracked = find_tracked(current, slot);
        if (tracked && !strcmp(tracked->job->id, id))
            return tracked;
    }
    return NULL;
}

enum err job_syscalls_read(const char *id, uint64_t *since_ns, struct batch *out)
{
    struct syscalls_sampler_job *tracked = find_by_id(id);
    if (!tracked)
        return ABSENT;
    *since_ns = ebpf_job_begun_ns(tracked->calls);
    return ebpf_job_read(tracked->calls, NULL, out);
}

enum err job_syscalls_state(const char *id, const char **error)
{
    *error = current ? current->error : "the agent's sensor 'syscalls' is off or unavailable. Run 'sonde ctl sensors +syscalls' "
                                   "as root to switch it on; 'sonde doctor' shows what is missing";
    if (!current)
        return ABSENT;
    if (find_by_id(id))
        return OK;
    return current->last ? current->last : ABSENT;
}

/* Checks what can be checked without loading anything. */
static enum err syscalls_open(void *state, const struct sampler_context *context)
{
    struct syscalls_sampler *sampler = state;
    char path[PATH_MAX];
    if (*context->root || module_find("sample-bpf.so", path, sizeof path)
        || access("/sys/kernel/btf/vmlinux", F_OK) != 0 || !ebpf_sees_host_pids())
        return ABSENT;
    if (geteuid() != 0)
        return DENIED;
    enum err err = cgroup_mounts_open(&sampler->mounts, context->root, CGROUP_MOUNTS_PROCESSES);
    if (!err)
        current = sampler;
    return err;
}

static bool has_program(uint32_t pid, struct stat *program)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    return stat(path, program) == 0;
}

/* `sonde run` and its helper are not part of the job. */
static bool is_sonde_run(const struct syscalls_sampler_job *tracked, uint32_t pid)
{
    struct stat run, helper;
    if (strcmp(tracked->job->source, "run") != 0)
        return false;
    return pid == tracked->job->pid || (has_program(tracked->job->pid, &run) && has_program(pid, &helper)
                                        && run.st_ino == helper.st_ino && run.st_dev == helper.st_dev);
}

/* One pass over the processes; *added: how many were new. */
static enum err add_new_processes_once(struct syscalls_sampler *sampler, struct syscalls_sampler_job *tracked,
                                       size_t *added)
{
    *added = 0;
    sampler->pids.count = 0;
    enum err err = job_tasks_list(&sampler->mounts, &tracked->tasks, NULL, &sampler->pids);
    for (size_t i = 0; !err && i < sampler->pids.count; i++) {
        pid_t pid = (pid_t)sampler->pids.ids[i];
        if (ebpf_job_has(tracked->calls, pid) || is_sonde_run(tracked, (uint32_t)pid))
            continue;
        *added += ebpf_job_add(tracked->calls, pid) == OK && ebpf_job_has(tracked->calls, pid);
    }
    return err;
}

/* The id of a v1 hierarchy, whose mount point ends with the name of a controller. False: not found. */
static bool find_hierarchy(const char *mount, uint64_t *number)
{
    char text[8192];
    const char *slash = strrchr(mount, '/');
    if (!slash || file_read("", "/proc/self/cgroup", text, sizeof text, NULL))
        return false;
    size_t size = strcspn(slash + 1, ","); /* "cpu,cpuacct": either will do */
    for (const char *line = text; *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : line + strlen(line)) {
        const char *at = line, *end = strchr(line, '\n');
        if (!scan_u64(&at, number) || *at++ != ':')
            continue;
        for (size_t word = strcspn(at, ",:"); at < end && word; at += word + (at[word] == ','),
             word = strcspn(at, ",:"))
            if (word == size && strncmp(at, slash + 1, size) == 0)
                return true;
    }
    return false;
}

/* Lets the kernel report processes that enter the cgroup, so that none is missed between two passes. */
static void add_cgroup(const struct syscalls_sampler *sampler, struct syscalls_sampler_job *tracked)
{
    struct stat directory;
    uint64_t hierarchy = 0;
    const char *path = tracked->tasks.count ? tracked->tasks.directories[0].path : NULL;
    bool is_found = tracked->tasks.unified;
    for (char **mount = sampler->mounts.v1; path && !is_found && *mount; mount++)
        is_found = strncmp(path, *mount, strlen(*mount)) == 0 && path[strlen(*mount)] == '/'
                   && find_hierarchy(*mount, &hierarchy);
    if (path && is_found && stat(path, &directory) == 0)
        ebpf_job_add_cgroup(tracked->calls, hierarchy, directory.st_ino);
}

/* Repeats until there are no new processes: one that was not counted yet may have started another. */
static enum err poll(struct syscalls_sampler *sampler, struct syscalls_sampler_job *tracked)
{
    size_t added = 1;
    enum err err = OK;
    if (!strcmp(tracked->job->source, "run") && !ebpf_job_has(tracked->calls, (pid_t)tracked->job->pid))
        ebpf_job_add_at_exec(tracked->calls, (pid_t)tracked->job->pid);
    /* at least twice: some may have come before the cgroup was added */
    for (int i = 0; !err && (added || i < 2) && i < ALLOCATION_TRIES_MAX; i++) {
        err = add_new_processes_once(sampler, tracked, &added);
        if (!err && i == 0)
            add_cgroup(sampler, tracked);
    }
    return err == NOMEM ? err : OK;
}

static void log_failure(struct syscalls_sampler *sampler, const struct job *job, enum err err)
{
    sampler->last = err;
    if (!sampler->error[0])
        snprintf(sampler->error, sizeof sampler->error, "%s",
                 err == FULL ? "too many jobs requested it" : err_text(err));
    log_warn("cannot count the system calls of job %s: %s", job->id, sampler->error);
}

static void close_if_idle(struct syscalls_sampler *sampler)
{
    if (!sampler->job_count)
        ebpf_close(&sampler->ebpf);
}

static enum err begin_calls(struct syscalls_sampler *sampler, struct syscalls_sampler_job *tracked,
                            const struct job *job)
{
    sampler->error[0] = '\0';
    enum err err = sampler->ebpf ? OK : ebpf_open(&sampler->ebpf, EBPF_MAY_TIME | EBPF_MAY_WATCH_CGROUPS,
                                                  sampler->error,
                                                  sizeof sampler->error);
    if (!err)
        err = ebpf_job_begin(sampler->ebpf, job->syscalls == JOB_SYSCALLS_TIME, &tracked->calls);
    sampler->last = err;
    return err;
}

/* A failure is logged for the job and does not affect the others. */
static enum err begin_job(struct syscalls_sampler *sampler, const struct job *job)
{
    void *item;
    enum err err = job_slots_add(&sampler->jobs, job->slot, sizeof(struct syscalls_sampler_job), &item);
    struct syscalls_sampler_job *tracked = item;
    if (err)
        return err;
    err = begin_calls(sampler, tracked, job);
    if (!err)
        err = job_tasks_open(&sampler->mounts, &tracked->tasks, job);
    if (err) {
        log_failure(sampler, job, err);
        ebpf_job_end(&tracked->calls);
        job_slots_drop(&sampler->jobs, job->slot);
        close_if_idle(sampler);
        return OK;
    }
    tracked->job = job;
    sampler->job_count++;
    return poll(sampler, tracked);
}

static void end_job(struct syscalls_sampler *sampler, struct syscalls_sampler_job *tracked)
{
    job_tasks_close(&sampler->mounts, &tracked->tasks);
    ebpf_job_end(&tracked->calls);
    job_slots_drop(&sampler->jobs, tracked->job->slot);
    sampler->job_count--;
    close_if_idle(sampler);
}

static enum err finish_job(struct syscalls_sampler *sampler, struct syscalls_sampler_job *tracked, struct batch *out)
{
    ebpf_job_stop(tracked->calls);
    enum err err = out ? ebpf_job_read_from_zero(tracked->calls, tracked->job->id, out) : OK;
    end_job(sampler, tracked);
    return err;
}

static enum err change_job(struct syscalls_sampler *sampler, struct syscalls_sampler_job *tracked,
                           const struct job *job)
{
    if (job->syscalls == JOB_SYSCALLS_TIME && ebpf_job_measure_time(tracked->calls))
        log_warn("cannot measure the system call times of job %s", job->id);
    job_tasks_close(&sampler->mounts, &tracked->tasks);
    enum err err = job_tasks_open(&sampler->mounts, &tracked->tasks, job);
    return err ? err : poll(sampler, tracked);
}

static enum err syscalls_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct syscalls_sampler *sampler = state;
    struct syscalls_sampler_job *tracked = find_tracked(sampler, job->slot);
    bool is_wanted = event != JOB_END && job->syscalls;
    if (tracked)
        return is_wanted ? change_job(sampler, tracked, job) : finish_job(sampler, tracked, out);
    return is_wanted ? begin_job(sampler, job) : OK;
}

static enum err read_job(struct syscalls_sampler *sampler, struct syscalls_sampler_job *tracked, struct batch *out)
{
    enum err err = poll(sampler, tracked);
    return err ? err : ebpf_job_read_from_zero(tracked->calls, tracked->job->id, out);
}

static enum err syscalls_read(void *state, struct batch *out)
{
    struct syscalls_sampler *sampler = state;
    enum err err = OK;
    for (uint32_t slot = 0; slot < sampler->jobs.capacity && !err; slot++) {
        struct syscalls_sampler_job *tracked = find_tracked(sampler, slot);
        err = tracked ? read_job(sampler, tracked, out) : OK;
    }
    return err;
}

static void syscalls_close(void *state)
{
    struct syscalls_sampler *sampler = state;
    for (uint32_t slot = 0; slot < sampler->jobs.capacity; slot++) {
        struct syscalls_sampler_job *tracked = find_tracked(sampler, slot);
        if (tracked)
            end_job(sampler, tracked);
    }
    job_slots_clear(&sampler->jobs);
    cgroup_mounts_close(&sampler->mounts);
    pidlist_clear(&sampler->pids);
    if (current == sampler)
        current = NULL;
}

const struct sampler sampler_syscalls = {
    .name = "syscalls",
    .about = "system calls of the jobs that request it, counted in the kernel with eBPF",
    .state_size = sizeof(struct syscalls_sampler),
    .period_ns = 5 * NS_PER_S,
    .absent_reason = "The module sample-bpf.so is not installed, the kernel has no BTF type information, or this is not the "
                     "initial pid namespace",
    .absent_fix = "Build Sonde with clang and libbpf-dev; use a kernel with CONFIG_DEBUG_INFO_BTF; run the agent in the initial "
                  "pid namespace",
    .denied_fix = "Run the agent as root",
    .open = syscalls_open,
    .read = syscalls_read,
    .job = syscalls_job,
    .loses_counts_on_close = true,
    .close = syscalls_close,
};
