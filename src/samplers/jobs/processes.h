/* The processes of all jobs from reading to reading: what each uses now, and what exited ones have left.
 *
 * A round: processes_begin; for each job processes_begin_job and processes_add for each of its pids; processes_list and
 * processes_set_switches if context switches are available; processes_end. Then processes_total returns the totals of a
 * job.
 *
 * When a parent waits for a child, the kernel adds the child's I/O to the parent's. So the I/O of a process that lived
 * between two readings is in the job's totals as long as its parent lives. */
#ifndef SONDE_SAMPLERS_JOBS_PROCESSES_H
#define SONDE_SAMPLERS_JOBS_PROCESSES_H

#include "proc/children.h"
#include "proc/monotonic_sum.h"
#include "proc/pid_owners.h"
#include "samplers/jobs/process_files.h"

struct process_switches {
    uint64_t voluntary, involuntary;
    bool known;
};

/* Does not move until the round after the one in which it exited: samples borrow its name. */
struct process_entry {
    uint32_t pid, slot;
    uint32_t round; /* last round in which it was listed */
    bool is_gone;
    char name[12]; /* its pid */
    struct process_files files;
    struct process_values values;
    struct process_switches switches;
};

struct process_job {
    bool is_open;
    uint32_t round;
    uint64_t count;
    struct process_values live; /* sums over live processes */
    struct process_switches live_switches, gone_switches;
    uint64_t gone_io[PROCESS_IO_FIELDS]; /* I/O of exited processes that no process of the job waited for */
    struct monotonic_sum io[PROCESS_IO_FIELDS];
};

/* Zeroed: empty. */
struct processes {
    bool with_pss;
    struct process_entry **list;
    size_t count, capacity, unused; /* after count there are `unused` entries for reuse */
    struct pid_owners by_pid;      /* values are indices in list */
    struct process_job *jobs;  /* by job.slot */
    size_t job_capacity;
    uint32_t round;
};

void processes_clear(struct processes *processes, struct cgroup_mounts *mounts);

enum err processes_job_begin(struct processes *processes, uint32_t slot);
void processes_job_end(struct processes *processes, struct cgroup_mounts *mounts, uint32_t slot);

void processes_begin(struct processes *processes);
void processes_begin_job(struct processes *processes, uint32_t slot);
enum err processes_add(struct processes *processes, struct cgroup_mounts *mounts, uint32_t slot, uint32_t pid);

/* The processes of this round: pid and index of each. processes_set_switches takes the index. */
enum err processes_list(const struct processes *processes, struct pidlist *pids, struct pidlist *places);
void processes_set_switches(struct processes *processes, size_t place, uint64_t voluntary, uint64_t involuntary);

enum err processes_end(struct processes *processes, struct cgroup_mounts *mounts);

/* Is it alive in this round? */
bool processes_is_live(const struct processes *processes, const struct process_entry *process);

/* Returns the number of live processes. values are their sums, counters with those of exited processes. */
uint64_t processes_total(struct processes *processes, uint32_t slot, struct process_values *values,
                         struct process_switches *switches);

/* Adds the processes of the job from the last round. */
enum err processes_pids(const struct processes *processes, uint32_t slot, struct pidlist *pids);

#endif
