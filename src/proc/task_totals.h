/* Totals of taskstats per job: live tasks as queried, and exited ones from their exit records. Each task is counted
 * once, whatever was seen of it. Pure bookkeeping: the caller passes in what the kernel reports.
 *
 * A round: task_totals_begin; task_totals_add_exit and task_totals_add_fork for all events; for each job
 * task_totals_begin_job, then task_totals_add_live for each of its tasks; task_totals_end. Then task_totals_get returns
 * the totals of a job. Exit records must be read before forks, and forks before tasks are listed: then the parent of
 * every exited task is known. */
#ifndef SONDE_PROC_TASK_TOTALS_H
#define SONDE_PROC_TASK_TOTALS_H

#include "proc/children.h"
#include "proc/pid_owners.h"
#include "proc/taskstats.h"

struct tracked_task {
    struct taskstats_usage usage; /* as of the last query; begin_s converted to CLOCK_MONOTONIC */
    uint32_t slot, serial;
    uint32_t round;  /* last round in which it was seen; 0: the entry is free */
    uint32_t missed; /* rounds since then in which its job was listed */
    bool has_left;       /* it left the job alive; its usage is part of `ended` */
    bool took_over;  /* a thread that called exec and took over the tid of its leader */
};

struct task_totals_job {
    bool is_open;
    uint32_t serial;
    uint32_t round; /* last round in which it was listed */
    struct taskstats_usage ended, live, reported;
    uint64_t latest_count, ended_count;
};

struct ended_task {
    uint32_t tid, round, full_round;
    bool process_ended, took_over;
    uint64_t begin_s;
};

/* Zeroed, with is_alive and is_exiting set: empty. */
struct task_totals {
    bool (*is_alive)(uint32_t tid); /* called for the few that vanished without a record */
    bool (*is_exiting)(uint32_t pid); /* called for leaders that still exist after their record, and their threads
                                       * too */
    uint64_t dropped;            /* exit records dropped because too many were pending */

    struct task_totals_job *jobs; /* by job.slot */
    size_t job_capacity;
    struct tracked_task *list;
    size_t count, capacity;
    struct pid_owners by_tid;       /* values are indices in list */
    struct pid_owners processes[2]; /* by pid: of this full round and the last one */
    unsigned now;               /* which of the two is of this round */
    struct ended_task *ended;  /* tasks whose exit record came recently */
    size_t ended_count, ended_capacity;
    struct pidmap ended_index;   /* index in ended, by tid */
    struct pidmap parents;        /* pid to parent pid, of this round */
    struct taskstats_usage *pending; /* exit records whose job is not known yet */
    size_t pending_count, pending_capacity;
    uint32_t round, full_round, serial;
    uint64_t offset_s, tolerance_s; /* of this round, for comparing start times */
};

void task_totals_clear(struct task_totals *totals);

enum err task_totals_job_begin(struct task_totals *totals, uint32_t slot);
void task_totals_job_end(struct task_totals *totals, uint32_t slot);

/* offset_s: realtime minus CLOCK_MONOTONIC. If the clock was set since the last round, the same tasks have another
 * begin_s now. */
void task_totals_begin(struct task_totals *totals, uint64_t offset_s);
enum err task_totals_add_exit(struct task_totals *totals, const struct taskstats_usage *usage);
enum err task_totals_add_fork(struct task_totals *totals, uint32_t pid, uint32_t parent_pid);
void task_totals_begin_job(struct task_totals *totals, uint32_t slot);
enum err task_totals_add_live(struct task_totals *totals, uint32_t slot, const struct taskstats_usage *usage);

/* is_full: all jobs were listed, not just one. */
enum err task_totals_end(struct task_totals *totals, bool is_full);

/* Counters never decrease between calls. */
void task_totals_get(struct task_totals *totals, uint32_t slot, struct taskstats_usage *total);

/* Adds the processes of the job from the last round: for jobs without a cgroup, whose orphans cannot be found
 * otherwise. */
enum err task_totals_pids(const struct task_totals *totals, uint32_t slot, struct pidlist *pids);

#endif
