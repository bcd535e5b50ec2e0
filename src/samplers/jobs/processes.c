/* The table of processes. A process that is no longer listed may be a zombie, which still has its own I/O. Once it is
 * gone, its parent has it, unless the parent is outside of the job. */
#include "samplers/jobs/processes.h"

#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>

#define INITIAL_CAPACITY 64
#define ANCESTORS_MAX 64

void processes_clear(struct processes *processes, struct cgroup_mounts *mounts)
{
    for (size_t i = 0; i < processes->count + processes->unused; i++) {
        process_files_release(&processes->list[i]->files, mounts);
        free(processes->list[i]);
    }
    free(processes->list);
    free(processes->jobs);
    pid_owners_clear(&processes->by_pid);
    *processes = (struct processes){ 0 };
}

enum err processes_job_begin(struct processes *processes, uint32_t slot)
{
    if (array_reserve_zeroed(processes->jobs, processes->job_capacity, (size_t)slot + 1, VEC_MAX))
        return NOMEM;
    processes->jobs[slot] = (struct process_job){ .is_open = true };
    return OK;
}

void processes_job_end(struct processes *processes, struct cgroup_mounts *mounts, uint32_t slot)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->list[i]->slot == slot) {
            processes->list[i]->is_gone = true;
            process_files_release(&processes->list[i]->files, mounts);
        }
    processes->jobs[slot].is_open = false;
}

/* Drops exited processes and rebuilds the index. */
void processes_begin(struct processes *processes)
{
    size_t kept = 0;
    processes->round++;
    pid_owners_reset(&processes->by_pid);
    for (size_t i = 0; i < processes->count; i++) {
        struct process_entry *process = processes->list[i];
        if (process->is_gone)
            continue;
        processes->list[i] = processes->list[kept];
        processes->list[kept] = process;
        pid_owners_put(&processes->by_pid, process->pid, process->slot, 0, (uint32_t)kept++);
    }
    processes->unused += processes->count - kept;
    processes->count = kept;
}

void processes_begin_job(struct processes *processes, uint32_t slot)
{
    processes->jobs[slot].round = processes->round;
}

static struct process_entry *find(const struct processes *processes, uint32_t slot, uint32_t pid)
{
    const struct pid_owners *owners = &processes->by_pid;
    for (uint32_t i = pid_owners_first(owners, pid); i != PID_OWNERS_NONE; i = owners->list[i].next)
        if (owners->list[i].slot == slot && !processes->list[owners->list[i].value]->is_gone)
            return processes->list[owners->list[i].value];
    return NULL;
}

/* Doubles the table, so that it rarely grows. */
static enum err reserve(struct processes *processes)
{
    if (processes->unused)
        return OK;
    size_t capacity = processes->capacity ? processes->capacity * 2 : INITIAL_CAPACITY;
    if (array_resize(processes->list, capacity))
        return NOMEM;
    struct process_entry **list = processes->list;
    processes->capacity = capacity;
    for (size_t i = processes->count; i < capacity; i++, processes->unused++) {
        list[i] = calloc(1, sizeof **list);
        if (!list[i])
            break;
        process_files_init(&list[i]->files);
    }
    return processes->unused ? OK : NOMEM;
}

static enum err add(struct processes *processes, uint32_t slot, uint32_t pid, struct process_entry **added)
{
    enum err err = reserve(processes);
    if (!err)
        err = pid_owners_put(&processes->by_pid, pid, slot, 0, (uint32_t)processes->count);
    if (err)
        return err;
    struct process_entry *process = processes->list[processes->count++];
    processes->unused--;
    *process = (struct process_entry){ .pid = pid, .slot = slot };
    process_files_init(&process->files);
    snprintf(process->name, sizeof process->name, "%u", pid);
    *added = process;
    return OK;
}

/* Has a live ancestor in the job inherited the I/O of the process? Processes in between may have exited in the same
 * round. */
static bool ancestor_has_usage(const struct processes *processes, const struct process_entry *process)
{
    const struct pid_owners *owners = &processes->by_pid;
    for (int hops = 0; process && hops < ANCESTORS_MAX; hops++) {
        uint32_t ppid = process->values.ppid, slot = process->slot;
        process = NULL;
        for (uint32_t i = pid_owners_first(owners, ppid); i != PID_OWNERS_NONE && !process; i = owners->list[i].next)
            if (owners->list[i].slot == slot)
                process = processes->list[owners->list[i].value];
        if (process && !process->is_gone && process->round == processes->round)
            return true;
    }
    return false;
}

/* Keeps its I/O in the job unless a parent inherited it. */
static void retire(struct processes *processes, struct cgroup_mounts *mounts, struct process_entry *process)
{
    struct process_job *job = &processes->jobs[process->slot];
    bool is_kept = ancestor_has_usage(processes, process);
    for (size_t i = 0; i < PROCESS_IO_FIELDS && !is_kept; i++)
        job->gone_io[i] += process->values.value[i];
    job->gone_switches.voluntary += process->switches.voluntary;
    job->gone_switches.involuntary += process->switches.involuntary;
    job->gone_switches.known |= process->switches.known;
    process_files_release(&process->files, mounts);
    process->is_gone = true;
}

/* Without an open file, another process with the same pid shows only by counters that decreased. */
static bool has_decreased(const struct process_values *before, const struct process_values *now)
{
    for (size_t i = 0; i < PROCESS_IO_FIELDS; i++)
        if (before->known & now->known & 1ull << i && now->value[i] < before->value[i])
            return true;
    return false;
}

static enum err read_process(struct processes *processes, struct cgroup_mounts *mounts, struct process_entry *process)
{
    struct process_values values;
    enum err err = process_files_read(&process->files, mounts, process->pid, processes->with_pss, &values);
    if (err == GONE)
        return GONE; /* handled when the round ends */
    if (err)
        values = (struct process_values){ 0 };
    if (has_decreased(&process->values, &values))
        return GONE;
    process->values = values;
    process->round = processes->round;
    return OK;
}

enum err processes_add(struct processes *processes, struct cgroup_mounts *mounts, uint32_t slot, uint32_t pid)
{
    struct process_entry *process = find(processes, slot, pid);
    if (process && process->round == processes->round)
        return OK; /* listed twice */
    if (process && read_process(processes, mounts, process) == OK)
        return OK;
    if (process)
        retire(processes, mounts, process); /* the pid was reused, or the process is found gone below */
    enum err err = add(processes, slot, pid, &process);
    if (err)
        return err;
    if (read_process(processes, mounts, process) == GONE)
        process->is_gone = true; /* it exited since it was listed: nothing is known of it */
    if (process->is_gone)
        process_files_release(&process->files, mounts);
    return OK;
}

enum err processes_list(const struct processes *processes, struct pidlist *pids, struct pidlist *places)
{
    enum err err = OK;
    for (size_t i = 0; i < processes->count && !err; i++) {
        if (!processes_is_live(processes, processes->list[i]))
            continue;
        err = pidlist_add(pids, processes->list[i]->pid);
        if (!err)
            err = pidlist_add(places, (uint32_t)i);
    }
    return err;
}

void processes_set_switches(struct processes *processes, size_t place, uint64_t voluntary, uint64_t involuntary)
{
    struct process_switches *switches = &processes->list[place]->switches;
    if (voluntary < switches->voluntary || involuntary < switches->involuntary)
        return; /* a thread exited while the kernel added up */
    *switches = (struct process_switches){ voluntary, involuntary, true };
}

bool processes_is_live(const struct processes *processes, const struct process_entry *process)
{
    return !process->is_gone && process->round == processes->round && process->values.state != 'Z';
}

/* A zombie is in no list and keeps its I/O until it is waited for. */
static bool is_zombie(struct processes *processes, struct cgroup_mounts *mounts, struct process_entry *process)
{
    return read_process(processes, mounts, process) == OK && process->values.state == 'Z';
}

static void add_up(struct process_job *job, const struct process_entry *process, bool is_live)
{
    for (size_t i = 0; i < PROCESS_FIELDS_SIZE; i++)
        job->live.value[i] += process->values.value[i];
    job->live.known |= process->values.known;
    job->live_switches.voluntary += process->switches.voluntary;
    job->live_switches.involuntary += process->switches.involuntary;
    job->live_switches.known |= process->switches.known;
    job->count += is_live;
}

static bool is_current(const struct processes *processes, uint32_t slot)
{
    return processes->jobs[slot].is_open && processes->jobs[slot].round == processes->round;
}

enum err processes_end(struct processes *processes, struct cgroup_mounts *mounts)
{
    for (size_t i = 0; i < processes->count; i++) {
        struct process_entry *process = processes->list[i];
        if (process->is_gone || !is_current(processes, process->slot) || process->round == processes->round)
            continue;
        if (!is_zombie(processes, mounts, process))
            retire(processes, mounts, process);
    }
    for (size_t slot = 0; slot < processes->job_capacity; slot++)
        if (is_current(processes, (uint32_t)slot)) {
            processes->jobs[slot].live = (struct process_values){ 0 };
            processes->jobs[slot].live_switches = (struct process_switches){ 0 };
            processes->jobs[slot].count = 0;
        }
    for (size_t i = 0; i < processes->count; i++) {
        const struct process_entry *process = processes->list[i];
        if (!process->is_gone && is_current(processes, process->slot))
            add_up(&processes->jobs[process->slot], process, processes_is_live(processes, process));
    }
    return OK;
}

uint64_t processes_total(struct processes *processes, uint32_t slot, struct process_values *values,
                         struct process_switches *switches)
{
    struct process_job *job = &processes->jobs[slot];
    *values = job->live;
    for (size_t i = 0; i < PROCESS_IO_FIELDS; i++) {
        values->value[i] = monotonic_sum_update(&job->io[i], job->live.value[i] + job->gone_io[i], 0);
        values->known |= values->value[i] ? 1ull << i : 0;
    }
    *switches = (struct process_switches){
        job->live_switches.voluntary + job->gone_switches.voluntary,
        job->live_switches.involuntary + job->gone_switches.involuntary,
        job->live_switches.known || job->gone_switches.known,
    };
    return job->count;
}

enum err processes_pids(const struct processes *processes, uint32_t slot, struct pidlist *pids)
{
    enum err err = OK;
    for (size_t i = 0; i < processes->count && !err; i++)
        if (processes->list[i]->slot == slot && !processes->list[i]->is_gone)
            err = pidlist_add(pids, processes->list[i]->pid);
    return err;
}
