/* What the tasks of each job have used: those that live, as the kernel answers about them, and those that ended, as its
 * exit records say. Each task is counted once, whatever was seen of it. Knows no kernel itself: it is fed.
 *
 * A round: tasks_begin; tasks_exit and tasks_fork for all that was heard; for each job tasks_look, then tasks_seen for
 * each of its members; tasks_end. Then tasks_total says what a job has used. Exits must be heard before forks, and forks
 * before members are listed: then whoever ended was forked by somebody who is known. */
#ifndef SONDE_PROC_TASKS_H
#define SONDE_PROC_TASKS_H

#include "proc/children.h"
#include "proc/owners.h"
#include "proc/taskstats.h"

struct task {
    struct taskstats_use use; /* as of the last look; its begin is by the clock that nobody sets */
    uint32_t slot, serial;
    uint32_t round;  /* in which it was seen last; 0: the place is free */
    uint32_t missed; /* rounds since then in which its job was looked at */
    bool left;       /* it lives on outside of the job: what it used is with those that ended */
    bool took_over;  /* it exec'd in a thread and has the tid of its leader since */
};

struct tasks_job {
    bool is_open;
    uint32_t serial;
    uint32_t round; /* in which it was looked at last */
    struct taskstats_use ended, live, shown;
    uint64_t live_count, ended_count;
};

struct tasks_ended {
    uint32_t tid, round, full_round;
    bool process_ended, took_over;
    uint64_t begin_s;
};

/* Zeroed, with is_alive and is_exiting set: nothing yet. */
struct tasks {
    bool (*is_alive)(uint32_t tid); /* asked of the few that vanished without a record */
    bool (*is_exiting)(uint32_t pid); /* of leaders that are still there after their record, and their threads too */
    uint64_t overlooked;            /* exit records that nobody could be found for because there were too many */

    struct tasks_job *jobs; /* by slot */
    size_t job_room;
    struct task *list;
    size_t count, room;
    struct owners by_tid;       /* to places in list */
    struct owners processes[2]; /* by pid: this full round's, and the last one's */
    unsigned now;               /* which of the two is this round's */
    struct tasks_ended *ended;  /* whose record came lately */
    size_t ended_count, ended_room;
    struct pidmap ended_places;   /* by tid */
    struct pidmap parents;        /* pid to the pid that forked it: of this round */
    struct taskstats_use *pending; /* records whose job is not known yet */
    size_t pending_count, pending_room;
    uint32_t round, full_round, serial;
    uint64_t offset_s, tolerance_s; /* of this round, for comparing begins */
};

void tasks_clear(struct tasks *tasks);

enum err tasks_job_begin(struct tasks *tasks, uint32_t slot);
void tasks_job_end(struct tasks *tasks, uint32_t slot);

/* offset_s: by how much the clock of begin_s (of the day) is ahead of one that nobody sets (CLOCK_MONOTONIC). When it was
 * set since the last round, the same tasks have begun at another time now. */
void tasks_begin(struct tasks *tasks, uint64_t offset_s);
enum err tasks_exit(struct tasks *tasks, const struct taskstats_use *use);
enum err tasks_fork(struct tasks *tasks, uint32_t pid, uint32_t parent_pid);
void tasks_look(struct tasks *tasks, uint32_t slot);
enum err tasks_seen(struct tasks *tasks, uint32_t slot, const struct taskstats_use *use);

/* is_full: all jobs were looked at, not one alone. */
enum err tasks_end(struct tasks *tasks, bool is_full);

/* Never less than at the last call, save for what is a level. */
void tasks_total(struct tasks *tasks, uint32_t slot, struct taskstats_use *total);

/* Adds the processes of the job that were seen last: for a job without a cgroup, whose orphans nobody else knows. */
enum err tasks_known(const struct tasks *tasks, uint32_t slot, struct pidlist *pids);

#endif
