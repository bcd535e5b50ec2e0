/* Jobs, and which threads are theirs: numbers of threads are written into memory that the kernel's part reads, and which it
 * keeps up to date as they fork, exec and end. */
#include "syscalls/syscalls.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/install_paths.h"
#include "syscalls/bpf_module.h"
#include "syscalls/syscalls_rows.h"
#include "proc/taskfile.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_PID_NAMESPACE 0xeffffffcu /* as the kernel numbers it, for ever */
#define STAT_ROOM 1024
#define PASSES_MAX 1000 /* over the threads of a process that makes new ones all the time */

struct syscalls {
    const struct bpf_module *module;
    struct bpf *bpf;
    struct bpf_memory memory;
    struct syscalls_job *jobs[SYSCALLS_JOBS]; /* NULL: free; 0 is never used */
    struct syscalls_rows rows;
};

struct syscalls_job {
    struct syscalls *syscalls;
    struct bpf_job bpf;
    struct syscalls_group group; /* id 0: none */
    struct syscalls_rows_told told;
    bool is_stopped;
};

static enum err load_module(const struct bpf_module **module, char *why, size_t why_size)
{
    static const uint32_t version = BPF_MODULE_VERSION;
    const void *found;
    struct self_module wanted = { "sample-bpf.so", BPF_MODULE_SYMBOL, &version, 1,
                                  "build Sonde where clang and libbpf-dev are" };
    enum err err = self_load_module(&wanted, &found, why, why_size);
    if (!err)
        *module = found;
    return err;
}

bool syscalls_knows_numbers(void)
{
    struct stat facts;
    return stat("/proc/self/ns/pid", &facts) == 0 && facts.st_ino == FIRST_PID_NAMESPACE;
}

static enum err check_namespace(char *why, size_t why_size)
{
    if (syscalls_knows_numbers())
        return OK;
    snprintf(why, why_size, "this is a pid namespace of its own: run it in that of the machine");
    return ABSENT;
}

enum err syscalls_open(struct syscalls **syscalls_at, unsigned may, char *why, size_t why_size)
{
    struct syscalls *syscalls = *syscalls_at = calloc(1, sizeof *syscalls);
    if (!syscalls)
        return NOMEM;
    syscalls_rows_init(&syscalls->rows);
    enum err err = check_namespace(why, why_size);
    if (!err)
        err = load_module(&syscalls->module, why, why_size);
    if (!err)
        err = syscalls->module->open(&syscalls->bpf, may, &syscalls->rows.constants, &syscalls->memory, why, why_size);
    if (!err)
        return OK;
    free(syscalls);
    *syscalls_at = NULL;
    return err;
}

void syscalls_close(struct syscalls **syscalls_at)
{
    struct syscalls *syscalls = *syscalls_at;
    if (!syscalls)
        return;
    for (size_t i = 1; i < SYSCALLS_JOBS; i++) { /* the kernel's part adds to numbers that nobody will read, until it has gone */
        if (syscalls->jobs[i])
            syscalls->module->remove(syscalls->bpf, &syscalls->jobs[i]->bpf);
        free(syscalls->jobs[i]);
    }
    syscalls->module->close(&syscalls->bpf);
    free(syscalls);
    *syscalls_at = NULL;
}

enum err syscalls_begin(struct syscalls *syscalls, bool with_time, struct syscalls_job **job)
{
    uint32_t number = 1;
    while (number < SYSCALLS_JOBS && syscalls->jobs[number])
        number++;
    if (number == SYSCALLS_JOBS)
        return FULL;
    *job = calloc(1, sizeof **job);
    if (!*job)
        return NOMEM;
    (*job)->syscalls = syscalls;
    (*job)->told.begun_ns = clock_realtime_ns();
    enum err err = syscalls->module->add(syscalls->bpf, number, with_time, &(*job)->bpf);
    if (err) {
        free(*job);
        *job = NULL;
        return err;
    }
    syscalls->jobs[number] = *job;
    __atomic_store_n(&syscalls->memory.wanted[number], SYSCALLS_ACTIVE | (with_time ? SYSCALLS_TIMED : 0), __ATOMIC_RELEASE);
    return OK;
}

/* Not of a zombie, nor of one on its way there: the kernel's part may have heard of its end before it was ours, and will not
 * again. */
static bool is_alive(pid_t pid, uint32_t thread)
{
    char path[64], text[STAT_ROOM];
    struct taskfile_stat stat;
    snprintf(path, sizeof path, "/proc/%d/task/%u/stat", (int)pid, thread);
    return file_read("", path, text, sizeof text, NULL) == OK && taskfile_parse_stat(text, &stat) == OK && !stat.is_exiting;
}

/* Its time goes with it, so that a call that was under way has none for whoever comes next. */
static void leave_thread(const struct syscalls *syscalls, uint32_t thread)
{
    syscalls->module->forget_clock(syscalls->bpf, thread);
    __atomic_store_n(&syscalls->memory.owners[thread], 0, __ATOMIC_RELEASE);
}

/* False: it was somebody's already, or it has gone. One that ends meanwhile is not left behind for the next of its number. */
static bool take_thread(struct syscalls_job *job, pid_t pid, uint32_t thread)
{
    struct syscalls *syscalls = job->syscalls;
    if (thread >= syscalls->memory.owner_count)
        return false;
    uint16_t *owner = &syscalls->memory.owners[thread], nobody = 0, ours = (uint16_t)(job->bpf.number | SYSCALLS_BORN);
    if (!__atomic_compare_exchange_n(owner, &nobody, ours, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return false;
    if (job->bpf.times)
        syscalls->module->start_clock(syscalls->bpf, thread);
    if (is_alive(pid, thread))
        return true;
    leave_thread(syscalls, thread);
    return false;
}

/* One look at all threads; *taken says how many were new. */
static enum err take_threads(struct syscalls_job *job, pid_t pid, size_t *taken)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    *taken = 0;
    if (!folder)
        return GONE;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            *taken += take_thread(job, pid, (uint32_t)strtoul(entry->d_name, NULL, 10));
    closedir(folder);
    return OK;
}

enum err syscalls_add(struct syscalls_job *job, pid_t pid)
{
    size_t taken = 1;
    enum err err = job->is_stopped ? GONE : OK;
    for (int pass = 0; !err && taken && pass < PASSES_MAX; pass++) /* one that was not ours may have made another */
        err = take_threads(job, pid, &taken);
    return err;
}

static void leave_group(struct syscalls_job *job)
{
    if (job->group.id)
        job->syscalls->module->remove_group(job->syscalls->bpf, &job->group);
    job->group.id = 0;
}

enum err syscalls_add_group(struct syscalls_job *job, uint64_t hierarchy, uint64_t id)
{
    struct syscalls_group group = { .id = id, .hierarchy = hierarchy };
    if (job->is_stopped || (job->group.id == id && job->group.hierarchy == hierarchy))
        return job->is_stopped ? GONE : OK;
    leave_group(job);
    enum err err = job->syscalls->module->add_group(job->syscalls->bpf, job->bpf.number, &group);
    if (!err)
        job->group = group;
    return err;
}

enum err syscalls_expect(struct syscalls_job *job, pid_t pid)
{
    if (pid <= 0 || (uint32_t)pid >= job->syscalls->memory.owner_count || job->is_stopped)
        return GONE;
    __atomic_store_n(&job->syscalls->memory.owners[pid], (uint16_t)(job->bpf.number | SYSCALLS_WAITS), __ATOMIC_RELEASE);
    return OK;
}

void syscalls_expect_no_more(struct syscalls_job *job, pid_t pid)
{
    uint16_t expected = (uint16_t)(job->bpf.number | SYSCALLS_WAITS);
    if (pid > 0 && (uint32_t)pid < job->syscalls->memory.owner_count)
        __atomic_compare_exchange_n(&job->syscalls->memory.owners[pid], &expected, 0, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
}

enum err syscalls_read(struct syscalls_job *job, const char *job_id, struct batch *out)
{
    return syscalls_rows_give(&job->syscalls->rows, &job->syscalls->memory, &job->bpf, job_id, NULL, out);
}

enum err syscalls_read_on(struct syscalls_job *job, const char *job_id, struct batch *out)
{
    return syscalls_rows_give(&job->syscalls->rows, &job->syscalls->memory, &job->bpf, job_id, &job->told, out);
}

uint64_t syscalls_begun_ns(const struct syscalls_job *job)
{
    return job->told.begun_ns;
}

bool syscalls_has(const struct syscalls_job *job, pid_t pid)
{
    const struct bpf_memory *memory = &job->syscalls->memory;
    return pid > 0 && (uint32_t)pid < memory->owner_count
           && (__atomic_load_n(&memory->owners[pid], __ATOMIC_RELAXED) & SYSCALLS_JOB) == job->bpf.number;
}

static bool is_counted(const struct syscalls_job *job, uint32_t thread)
{
    uint16_t owner = __atomic_load_n(&job->syscalls->memory.owners[thread], __ATOMIC_RELAXED);
    return (owner & (SYSCALLS_JOB | SYSCALLS_WAITS)) == job->bpf.number;
}

enum err syscalls_want_time(struct syscalls_job *job)
{
    struct syscalls *syscalls = job->syscalls;
    if (job->bpf.times || job->is_stopped)
        return OK;
    enum err err = syscalls->module->add_time(syscalls->bpf, &job->bpf);
    if (err)
        return err;
    __atomic_store_n(&syscalls->memory.wanted[job->bpf.number], SYSCALLS_ACTIVE | SYSCALLS_TIMED, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < syscalls->memory.owner_count; i++)
        if (is_counted(job, i))
            syscalls->module->start_clock(syscalls->bpf, i);
    return OK;
}

size_t syscalls_alive(const struct syscalls_job *job)
{
    size_t count = 0;
    for (uint32_t i = 0; i < job->syscalls->memory.owner_count; i++)
        count += is_counted(job, i);
    return count;
}

enum err syscalls_processes(const struct syscalls_job *job, struct pidlist *out)
{
    enum err err = OK;
    for (uint32_t i = 1; i < job->syscalls->memory.owner_count && !err; i++)
        if (is_counted(job, i) && syscall(SYS_tgkill, i, i, 0) == 0) /* there is a process of this number, not only a thread */
            err = pidlist_add(out, i);
    return err;
}

/* First nobody may inherit it, then nobody counts for it, then nobody has it. */
void syscalls_stop(struct syscalls_job *job)
{
    const struct bpf_memory *memory = &job->syscalls->memory;
    if (job->is_stopped)
        return;
    job->is_stopped = true;
    __atomic_store_n(&memory->wanted[job->bpf.number], 0, __ATOMIC_RELEASE);
    leave_group(job);
    job->syscalls->module->stop(job->syscalls->bpf, &job->bpf);
    for (uint32_t i = 0; i < memory->owner_count; i++)
        if ((__atomic_load_n(&memory->owners[i], __ATOMIC_RELAXED) & SYSCALLS_JOB) == job->bpf.number)
            leave_thread(job->syscalls, i);
}

void syscalls_end(struct syscalls_job **job_at)
{
    struct syscalls_job *job = *job_at;
    if (!job)
        return;
    syscalls_stop(job);
    job->syscalls->jobs[job->bpf.number] = NULL;
    job->syscalls->module->remove(job->syscalls->bpf, &job->bpf);
    free(job);
    *job_at = NULL;
}
