/* The jobs that are on this node now: found in the cgroup tree as they come and go, or told by a prolog or by sonde run. */
#ifndef SONDE_JOBS_JOBS_H
#define SONDE_JOBS_JOBS_H

#include "base/err.h"
#include "model/job.h"

#include <stddef.h>

struct jobs;

/* Who wants to hear of jobs. */
struct jobs_listener {
    void (*event)(void *context, const struct job *job, enum job_event event);
    void *context;
};

/* root: of /sys/fs/cgroup and /proc, "" for this machine. sources: a set of jobs/job_source.h. The jobs that are there already
 * are told at once. Where several nodes of a batch system share a machine, $SONDE_NODE names the one whose jobs are
 * wanted; without it all are. */
enum err jobs_open(struct jobs **jobs, const char *root, uint32_t sources, const struct jobs_listener *listener);

/* Tells no more; sets *jobs to NULL. */
void jobs_close(struct jobs **jobs);

/* Readable when something changed in the tree: then call jobs_read. -1: there is nothing to wait for. */
int jobs_fd(const struct jobs *jobs);

/* Takes in what changed and tells the listener; also looks whether those that nobody tells of (told ones) have gone.
 * Called whenever jobs_fd is readable and at least once a second. */
void jobs_read(struct jobs *jobs);

/* The same, and leaves the rest for the next call when it has taken budget_ns: jobs_fd is then readable. */
void jobs_read_some(struct jobs *jobs, uint64_t budget_ns);

/* Told from outside: copies what job holds. AGAIN: it is there already, and what was not known of it is filled in. */
enum err jobs_begin(struct jobs *jobs, const struct job *job);
enum err jobs_end(struct jobs *jobs, const char *id, uint64_t end_ns); /* ABSENT: no such job */

/* Is this cgroup there? */
bool jobs_has_cgroup(const struct jobs *jobs, const char *path);

/* Somebody wants its system calls counted, or no longer. ABSENT: no such job. */
enum err jobs_request_syscalls(struct jobs *jobs, const char *id, enum job_syscalls mode);

const struct job *jobs_find(const struct jobs *jobs, const char *id); /* by id or other_id; NULL: not here */
const struct job *jobs_next(const struct jobs *jobs, size_t *at);     /* *at is 0 at first; NULL at the end */
size_t jobs_count(const struct jobs *jobs);

#endif
