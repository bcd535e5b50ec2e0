/* The jobs that run on this node: found in the cgroup tree as they come and go, or declared with `sonde job begin` or
 * by `sonde run`. */
#ifndef SONDE_JOBS_JOBS_H
#define SONDE_JOBS_JOBS_H

#include "base/err.h"
#include "model/job.h"

#include <stddef.h>

struct jobs;

/* Receives job events. */
struct jobs_listener {
    void (*event)(void *context, const struct job *job, enum job_event event);
    void *context;
};

/* root: prefix of /sys/fs/cgroup and /proc, "" for this node. sources: a set from jobs/job_source.h. The listener is
 * notified at once of existing jobs. If several nodes of a batch system share a machine, only the jobs of
 * one are monitored (jobs/slurm_node.h). */
enum err jobs_open(struct jobs **jobs, const char *root, uint32_t sources, const struct jobs_listener *listener);

/* Sends no more events; sets *jobs to NULL. */
void jobs_close(struct jobs **jobs);

/* Readable when something changed: then call jobs_read. -1: there is nothing to wait for. */
int jobs_fd(const struct jobs *jobs);

/* Processes changes and notifies the listener. Also checks whether declared jobs still exist. Call it when jobs_fd is
 * readable and at least once a second. */
void jobs_read(struct jobs *jobs);

/* The same, but postpones the rest to the next call after budget_ns: jobs_fd is readable then. */
void jobs_read_some(struct jobs *jobs, uint64_t budget_ns);

/* Declares a job; copies it. AGAIN: it is already known, and unknown facts were filled in. */
enum err jobs_begin(struct jobs *jobs, const struct job *job);
enum err jobs_end(struct jobs *jobs, const char *id, uint64_t end_ns); /* ABSENT: no such job */

/* What was saved about a job before a restart. */
struct jobs_saved {
    bool is_declared, is_gone; /* is_gone: its process has exited, or the node was rebooted */
    uint64_t seen_ns;          /* it was running then */
};

/* Continues a job that was known before a restart. One that has ended meanwhile begins and ends at once, so that its end is
 * reported; job->end_ns: its end was reported before. The tree was scanned by jobs_open. */
enum err jobs_restore(struct jobs *jobs, const struct job *job, const struct jobs_saved *saved);

/* The jobs to be saved for that: running ones, and those that have ended although their cgroup exists. */
const struct job *jobs_next_saved(const struct jobs *jobs, size_t *at, bool *is_declared);

/* Requests that its system calls are counted, or no longer. ABSENT: no such job. */
enum err jobs_request_syscalls(struct jobs *jobs, const char *id, enum job_syscalls mode);

const struct job *jobs_find(const struct jobs *jobs, const char *id); /* by id or other_id; NULL: no such job */
const struct job *jobs_next(const struct jobs *jobs, size_t *at);     /* *at is 0 at first; NULL at the end */
size_t jobs_count(const struct jobs *jobs);

#endif
