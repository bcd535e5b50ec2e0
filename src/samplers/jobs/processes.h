/* The processes of all jobs, from look to look: what each has now, and what those that are gone have left.
 *
 * A round: processes_begin; for each job processes_begin_job and processes_add for each of its pids; processes_list and
 * processes_set_switches for whoever can tell those; processes_end. Then processes_total says what a job has.
 *
 * What a process read and wrote moves to its parent when that waits for it (the kernel does so), hence a process that lived
 * between two looks is in the job's I/O as long as its parent lives. */
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

/* Stays where it is in memory until the round after the one in which it went: samples point to its name. */
struct process_entry {
    uint32_t pid, slot;
    uint32_t round; /* in which it was seen last */
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
    struct process_values live; /* sums */
    struct process_switches live_switches, gone_switches;
    uint64_t gone_io[PROCESS_IO_FIELDS]; /* of those that nobody in the job waited for */
    struct monotonic_sum io[PROCESS_IO_FIELDS];
};

/* Zeroed: nothing yet. */
struct processes {
    bool with_pss;
    struct process_entry **list;
    size_t count, capacity, unused; /* behind count there are spare ones, to be used again */
    struct pid_owners by_pid;      /* to places in list */
    struct process_job *jobs;  /* by slot */
    size_t job_capacity;
    uint32_t round;
};

void processes_clear(struct processes *processes, struct cgroup_mounts *groups);

enum err processes_job_begin(struct processes *processes, uint32_t slot);
void processes_job_end(struct processes *processes, struct cgroup_mounts *groups, uint32_t slot);

void processes_begin(struct processes *processes);
void processes_begin_job(struct processes *processes, uint32_t slot);
enum err processes_add(struct processes *processes, struct cgroup_mounts *groups, uint32_t slot, uint32_t pid);

/* Those that were seen in this round: pid and place of each; processes_set_switches takes the place. */
enum err processes_list(const struct processes *processes, struct pidlist *pids, struct pidlist *places);
void processes_set_switches(struct processes *processes, size_t place, uint64_t voluntary, uint64_t involuntary);

enum err processes_end(struct processes *processes, struct cgroup_mounts *groups);

/* Was it seen in this round? */
bool processes_is_live(const struct processes *processes, const struct process_entry *process);

/* How many live; their sums, and with those that are gone what counts. */
uint64_t processes_total(struct processes *processes, uint32_t slot, struct process_values *values,
                         struct process_switches *switches);

/* Adds the processes of the job that were seen last. */
enum err processes_pids(const struct processes *processes, uint32_t slot, struct pidlist *pids);

#endif
