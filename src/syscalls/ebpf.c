/* Jobs and their threads: the owner of each tid is stored in memory that the kernel part reads, and keeps up to date on
 * fork, exec and exit. */
#include "syscalls/ebpf.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/module.h"
#include "proc/taskfile.h"
#include "syscalls/ebpf_module.h"
#include "syscalls/ebpf_rows.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_PID_NAMESPACE 0xeffffffcu /* fixed by the kernel's ABI */
#define STAT_MAX 1024
#define PASSES_MAX 1000 /* passes over the threads of a process that keeps starting new ones */

struct ebpf {
    const struct ebpf_module *module;
    struct ebpf_programs *programs;
    struct ebpf_memory memory;
    struct ebpf_job *jobs[EBPF_JOBS_MAX]; /* NULL: free; index 0 is not used */
    struct ebpf_rows rows;
};

struct ebpf_job {
    struct ebpf *ebpf;
    struct ebpf_job_memory counts;
    struct ebpf_cgroup group; /* id 0: none */
    struct ebpf_rows_reported reported;
    bool is_stopped;
};

static enum err load_module(const struct ebpf_module **module, char *error, size_t error_size)
{
    static const uint32_t version = EBPF_MODULE_VERSION;
    const void *found;
    struct module wanted = { "sample-bpf.so", EBPF_MODULE_SYMBOL, &version, 1,
                                  "build Sonde with clang and libbpf-dev" };
    enum err err = module_load(&wanted, &found, error, error_size);
    if (!err)
        *module = found;
    return err;
}

bool ebpf_sees_host_pids(void)
{
    struct stat facts;
    return stat("/proc/self/ns/pid", &facts) == 0 && facts.st_ino == FIRST_PID_NAMESPACE;
}

static enum err check_namespace(char *error, size_t error_size)
{
    if (ebpf_sees_host_pids())
        return OK;
    snprintf(error, error_size, "this is not the initial pid namespace: run it there");
    return ABSENT;
}

enum err ebpf_open(struct ebpf **ebpf_at, unsigned may, char *error, size_t error_size)
{
    struct ebpf *ebpf = *ebpf_at = calloc(1, sizeof *ebpf);
    if (!ebpf)
        return NOMEM;
    ebpf_rows_init(&ebpf->rows);
    enum err err = check_namespace(error, error_size);
    if (!err)
        err = load_module(&ebpf->module, error, error_size);
    if (!err)
        err = ebpf->module->open(&ebpf->programs, may, &ebpf->rows.constants, &ebpf->memory, error, error_size);
    if (!err)
        return OK;
    free(ebpf);
    *ebpf_at = NULL;
    return err;
}

void ebpf_close(struct ebpf **ebpf_at)
{
    struct ebpf *ebpf = *ebpf_at;
    if (!ebpf)
        return;
    for (size_t i = 1; i < EBPF_JOBS_MAX; i++) { /* the kernel part may still add to the counts, which nobody reads */
        if (ebpf->jobs[i])
            ebpf->module->remove(ebpf->programs, &ebpf->jobs[i]->counts);
        free(ebpf->jobs[i]);
    }
    ebpf->module->close(&ebpf->programs);
    free(ebpf);
    *ebpf_at = NULL;
}

enum err ebpf_job_begin(struct ebpf *ebpf, bool with_time, struct ebpf_job **job)
{
    uint32_t number = 1;
    while (number < EBPF_JOBS_MAX && ebpf->jobs[number])
        number++;
    if (number == EBPF_JOBS_MAX)
        return FULL;
    *job = calloc(1, sizeof **job);
    if (!*job)
        return NOMEM;
    (*job)->ebpf = ebpf;
    (*job)->reported.begun_ns = clock_realtime_ns();
    enum err err = ebpf->module->add(ebpf->programs, number, with_time, &(*job)->counts);
    if (err) {
        free(*job);
        *job = NULL;
        return err;
    }
    ebpf->jobs[number] = *job;
    __atomic_store_n(&ebpf->memory.wanted[number], EBPF_JOB_ACTIVE | (with_time ? EBPF_JOB_TIMED : 0),
                     __ATOMIC_RELEASE);
    return OK;
}

/* False for zombies and exiting tasks: the kernel part may have seen the exit before the task was ours, and will not
 * see it again. */
static bool is_alive(pid_t pid, uint32_t thread)
{
    char path[64], text[STAT_MAX];
    struct taskfile_stat stat;
    snprintf(path, sizeof path, "/proc/%d/task/%u/stat", (int)pid, thread);
    return file_read("", path, text, sizeof text, NULL) == OK && taskfile_parse_stat(text, &stat) == OK
           && !stat.is_exiting;
}

/* Also clears its clock, so that a call in progress has no time for the next owner. */
static void release_thread(const struct ebpf *ebpf, uint32_t thread)
{
    ebpf->module->forget_clock(ebpf->programs, thread);
    __atomic_store_n(&ebpf->memory.owners[thread], 0, __ATOMIC_RELEASE);
}

/* False: it has an owner or has exited. A task that exits meanwhile is released, so that the next one with its tid is
 * not ours. */
static bool claim_thread(struct ebpf_job *job, pid_t pid, uint32_t thread)
{
    struct ebpf *ebpf = job->ebpf;
    if (thread >= ebpf->memory.owner_count)
        return false;
    uint16_t *owner = &ebpf->memory.owners[thread], nobody = 0, ours = (uint16_t)(job->counts.number | EBPF_OWNER_NEW);
    if (!__atomic_compare_exchange_n(owner, &nobody, ours, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return false;
    if (job->counts.times)
        ebpf->module->start_clock(ebpf->programs, thread);
    if (is_alive(pid, thread))
        return true;
    release_thread(ebpf, thread);
    return false;
}

/* One pass over all threads; *taken: how many were new. */
static enum err claim_threads(struct ebpf_job *job, pid_t pid, size_t *taken)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    *taken = 0;
    if (!directory)
        return GONE;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            *taken += claim_thread(job, pid, (uint32_t)strtoul(entry->d_name, NULL, 10));
    closedir(directory);
    return OK;
}

enum err ebpf_job_add(struct ebpf_job *job, pid_t pid)
{
    size_t taken = 1;
    enum err err = job->is_stopped ? GONE : OK;
    for (int pass = 0; !err && taken && pass < PASSES_MAX; pass++) /* a thread that was not ours may have started
                                                                    * another */
        err = claim_threads(job, pid, &taken);
    return err;
}

static void remove_cgroup(struct ebpf_job *job)
{
    if (job->group.id)
        job->ebpf->module->remove_group(job->ebpf->programs, &job->group);
    job->group.id = 0;
}

enum err ebpf_job_add_cgroup(struct ebpf_job *job, uint64_t hierarchy, uint64_t id)
{
    struct ebpf_cgroup group = { .id = id, .hierarchy = hierarchy };
    if (job->is_stopped || (job->group.id == id && job->group.hierarchy == hierarchy))
        return job->is_stopped ? GONE : OK;
    remove_cgroup(job);
    enum err err = job->ebpf->module->add_group(job->ebpf->programs, job->counts.number, &group);
    if (!err)
        job->group = group;
    return err;
}

enum err ebpf_job_add_at_exec(struct ebpf_job *job, pid_t pid)
{
    if (pid <= 0 || (uint32_t)pid >= job->ebpf->memory.owner_count || job->is_stopped)
        return GONE;
    __atomic_store_n(&job->ebpf->memory.owners[pid], (uint16_t)(job->counts.number | EBPF_OWNER_AT_EXEC),
                     __ATOMIC_RELEASE);
    return OK;
}

void ebpf_job_remove_at_exec(struct ebpf_job *job, pid_t pid)
{
    uint16_t expected = (uint16_t)(job->counts.number | EBPF_OWNER_AT_EXEC);
    if (pid > 0 && (uint32_t)pid < job->ebpf->memory.owner_count)
        __atomic_compare_exchange_n(&job->ebpf->memory.owners[pid], &expected, 0, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
}

enum err ebpf_job_read(struct ebpf_job *job, const char *job_id, struct batch *out)
{
    return ebpf_rows_sample(&job->ebpf->rows, &job->ebpf->memory, &job->counts, job_id, NULL, out);
}

enum err ebpf_job_read_from_zero(struct ebpf_job *job, const char *job_id, struct batch *out)
{
    return ebpf_rows_sample(&job->ebpf->rows, &job->ebpf->memory, &job->counts, job_id, &job->reported, out);
}

uint64_t ebpf_job_begun_ns(const struct ebpf_job *job)
{
    return job->reported.begun_ns;
}

bool ebpf_job_has(const struct ebpf_job *job, pid_t pid)
{
    const struct ebpf_memory *memory = &job->ebpf->memory;
    return pid > 0 && (uint32_t)pid < memory->owner_count
           && (__atomic_load_n(&memory->owners[pid], __ATOMIC_RELAXED) & EBPF_OWNER_JOB) == job->counts.number;
}

static bool is_counted(const struct ebpf_job *job, uint32_t thread)
{
    uint16_t owner = __atomic_load_n(&job->ebpf->memory.owners[thread], __ATOMIC_RELAXED);
    return (owner & (EBPF_OWNER_JOB | EBPF_OWNER_AT_EXEC)) == job->counts.number;
}

enum err ebpf_job_measure_time(struct ebpf_job *job)
{
    struct ebpf *ebpf = job->ebpf;
    if (job->counts.times || job->is_stopped)
        return OK;
    enum err err = ebpf->module->add_time(ebpf->programs, &job->counts);
    if (err)
        return err;
    __atomic_store_n(&ebpf->memory.wanted[job->counts.number], EBPF_JOB_ACTIVE | EBPF_JOB_TIMED, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < ebpf->memory.owner_count; i++)
        if (is_counted(job, i))
            ebpf->module->start_clock(ebpf->programs, i);
    return OK;
}

size_t ebpf_job_alive(const struct ebpf_job *job)
{
    size_t count = 0;
    for (uint32_t i = 0; i < job->ebpf->memory.owner_count; i++)
        count += is_counted(job, i);
    return count;
}

enum err ebpf_job_processes(const struct ebpf_job *job, struct pidlist *out)
{
    enum err err = OK;
    for (uint32_t i = 1; i < job->ebpf->memory.owner_count && !err; i++)
        if (is_counted(job, i) && syscall(SYS_tgkill, i, i, 0) == 0) /* a process has this id, not only a thread */
            err = pidlist_add(out, i);
    return err;
}

/* In this order: no task inherits the job, no call is counted for it, no task has it. */
void ebpf_job_stop(struct ebpf_job *job)
{
    const struct ebpf_memory *memory = &job->ebpf->memory;
    if (job->is_stopped)
        return;
    job->is_stopped = true;
    __atomic_store_n(&memory->wanted[job->counts.number], 0, __ATOMIC_RELEASE);
    remove_cgroup(job);
    job->ebpf->module->stop(job->ebpf->programs, &job->counts);
    for (uint32_t i = 0; i < memory->owner_count; i++)
        if ((__atomic_load_n(&memory->owners[i], __ATOMIC_RELAXED) & EBPF_OWNER_JOB) == job->counts.number)
            release_thread(job->ebpf, i);
}

void ebpf_job_end(struct ebpf_job **job_at)
{
    struct ebpf_job *job = *job_at;
    if (!job)
        return;
    ebpf_job_stop(job);
    job->ebpf->jobs[job->counts.number] = NULL;
    job->ebpf->module->remove(job->ebpf->programs, &job->counts);
    free(job);
    *job_at = NULL;
}
