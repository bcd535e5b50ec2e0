/* What the tasks of each job have used: those that live, as the kernel answers about them, and those that ended, as its
 * exit records say. Each task is counted once, whatever was seen of it. Knows no kernel itself: it is fed.
 *
 * A round: task_totals_begin; task_totals_add_exit and task_totals_add_fork for all that was heard; for each job task_totals_begin_job, then task_totals_add_live for
 * each of its members; task_totals_end. Then task_totals_get says what a job has used. Exits must be heard before forks, and forks
 * before members are listed: then whoever ended was forked by somebody who is known. */
#ifndef SONDE_PROC_TASK_TOTALS_H
#define SONDE_PROC_TASK_TOTALS_H

#include "proc/children.h"
#include "proc/pid_owners.h"
#include "proc/taskstats.h"

struct tracked_task {
    struct taskstats_usage usage; /* as of the last look; its begin is by the clock that nobody sets */
    uint32_t slot, serial;
    uint32_t round;  /* in which it was seen last; 0: the place is free */
    uint32_t missed; /* rounds since then in which its job was looked at */
    bool has_left;       /* it lives on outside of the job: what it used is with those that ended */
    bool took_over;  /* it exec'd in a thread and has the tid of its leader since */
};

struct task_totals_job {
    bool is_open;
    uint32_t serial;
    uint32_t round; /* in which it was looked at last */
    struct taskstats_usage ended, live, reported;
    uint64_t live_count, ended_count;
};

struct ended_task {
    uint32_t tid, round, full_round;
    bool process_ended, took_over;
    uint64_t begin_s;
};

/* Zeroed, with is_alive and is_exiting set: nothing yet. */
struct task_totals {
    bool (*is_alive)(uint32_t tid); /* asked of the few that vanished without a record */
    bool (*is_exiting)(uint32_t pid); /* of leaders that are still there after their record, and their threads too */
    uint64_t dropped;            /* exit records that nobody could be found for because there were too many */

    struct task_totals_job *jobs; /* by slot */
    size_t job_capacity;
    struct tracked_task *list;
    size_t count, capacity;
    struct pid_owners by_tid;       /* to places in list */
    struct pid_owners processes[2]; /* by pid: this full round's, and the last one's */
    unsigned now;               /* which of the two is this round's */
    struct ended_task *ended;  /* whose record came lately */
    size_t ended_count, ended_capacity;
    struct pidmap ended_index;   /* by tid */
    struct pidmap parents;        /* pid to the pid that forked it: of this round */
    struct taskstats_usage *pending; /* records whose job is not known yet */
    size_t pending_count, pending_capacity;
    uint32_t round, full_round, serial;
    uint64_t offset_s, tolerance_s; /* of this round, for comparing begins */
};

void task_totals_clear(struct task_totals *totals);

enum err task_totals_job_begin(struct task_totals *totals, uint32_t slot);
void task_totals_job_end(struct task_totals *totals, uint32_t slot);

/* offset_s: by how much the clock of begin_s (of the day) is ahead of one that nobody sets (CLOCK_MONOTONIC). When it was
 * set since the last round, the same tasks have begun at another time now. */
void task_totals_begin(struct task_totals *totals, uint64_t offset_s);
enum err task_totals_add_exit(struct task_totals *totals, const struct taskstats_usage *usage);
enum err task_totals_add_fork(struct task_totals *totals, uint32_t pid, uint32_t parent_pid);
void task_totals_begin_job(struct task_totals *totals, uint32_t slot);
enum err task_totals_add_live(struct task_totals *totals, uint32_t slot, const struct taskstats_usage *usage);

/* is_full: all jobs were looked at, not one alone. */
enum err task_totals_end(struct task_totals *totals, bool is_full);

/* Never less than at the last call, save for what is a level. */
void task_totals_get(struct task_totals *totals, uint32_t slot, struct taskstats_usage *total);

/* Adds the processes of the job that were seen last: for a job without a cgroup, whose orphans nobody else knows. */
enum err task_totals_pids(const struct task_totals *totals, uint32_t slot, struct pidlist *pids);

#endif
