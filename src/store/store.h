/* The job database: SQLite in one file, or PostgreSQL. One writer and many readers at a time. Jobs, hosts, processes
 * and threads are plain tables (docs/schema.md); series are compact blobs that store_series decodes. */
#ifndef SONDE_STORE_STORE_H
#define SONDE_STORE_STORE_H

#include "model/run.h"
#include "model/summary.h"

/* For one thread at a time. */
struct store;

#define STORE_AGENT "agent:" /* instead of a path: sonde run sends its jobs to the agent of the node */

enum store_mode { STORE_READ, STORE_WRITE };

/* The default path: $SONDE_DB, else $XDG_DATA_HOME/sonde/sonde.db, else ~/.local/share/sonde/sonde.db. USAGE: none of
 * them is set. */
enum err store_default_path(char *path, size_t size);

/* Opens the database; path NULL: the default. STORE_WRITE creates the file and its directory if they are missing and
 * migrates an older schema. Waits for other writers. On an error *store is NULL and *message explains it (malloc'd, the
 * caller frees; NULL if out of memory): ABSENT (not there, STORE_READ), DENIED (no permission, read-only), CORRUPT (not
 * a job database, or damaged), USAGE (created by a newer version), FULL, AGAIN (still locked after a minute). */
enum err store_open(struct store **store, const char *path, enum store_mode mode, char **message);
void store_close(struct store **store);

/* The last error message; never NULL. */
const char *store_message(const struct store *store);

/* Saves a run in one transaction. A run saved before (same run.id) is replaced; USAGE if it is another user's. Several
 * runs of one user with one job id share the job. */
enum err store_save_run(struct store *store, const struct run *run);

/* A row of the list of jobs. Strings are owned by the struct if it comes from store_job, and borrowed in callbacks. */
struct store_job {
    int64_t row;
    const char *job_id, *name, *user, *cwd, *tags, *hosts; /* hosts: names separated by spaces */
    struct bytes command; /* NUL after each word */
    uint32_t uid; /* UINT32_MAX: unknown */
    uint64_t start_ns, end_ns; /* end_ns of a job that has not ended: of its last data */
    bool ended, status_known;
    bool running; /* as far as agents have reported */
    uint8_t exit_code, exit_signal;
    uint64_t host_count, cores, memory_bytes, cores_allowed_milli, memory_limit_bytes, period_ns;
    struct summary summary;
    char *memory; /* freed by store_job_clear */
};

enum store_order { BY_START, BY_DURATION, BY_CPU, BY_MEMORY, BY_PROCESSES, BY_NAME, BY_USER };

struct store_filter {
    const char *user, *name, *host; /* name: a glob; NULL: any */
    const char *const *tags;        /* "key" or "key:value", all must match; NULL-terminated, may be NULL */
    uint64_t since_ns, until_ns;    /* jobs that overlap; 0: open */
    enum store_order order;         /* newest or largest first; names from a to z */
    bool reverse;
    bool brief;                     /* three times as fast: of the summary only processes, threads, failed, signalled,
                                       rss_peak_bytes, and of its counters the CPU times and rssmax are filled */
    size_t limit;                   /* 0: all */
};

/* Callbacks return OK to continue; anything else stops and is returned. Their arguments are borrowed until they return. */
enum err store_jobs(struct store *store, const struct store_filter *filter,
                    enum err (*each)(void *context, const struct store_job *job), void *context);

/* By job id, ID@USER or a unique prefix of an id; NULL: the job saved last. If several users have a job of this id: that of
 * the caller, else the one that an agent has seen. ABSENT: none; USAGE: ambiguous. */
enum err store_job(struct store *store, const char *job_id, struct store_job *job);
void store_job_clear(struct store_job *job);

/* All process images in pre-order (parents before children); number is the process's own, process->parent and ->last
 * are numbers too. process->events is UINT32_MAX; see store_event_counts. */
enum err store_processes(struct store *store, int64_t job_row,
                         enum err (*each)(void *context, uint32_t number, const struct process *process), void *context);

/* Like store_processes, but only the 10 with most CPU time, in that order. Does not read the whole job. */
enum err store_top_processes(struct store *store, int64_t job_row,
                             enum err (*each)(void *context, uint32_t number, const struct process *process), void *context);

/* Threads of processes that had more than one (number is the process's). Other processes represent their thread. */
enum err store_threads(struct store *store, int64_t job_row,
                       enum err (*each)(void *context, uint32_t number, const struct thread *thread), void *context);

/* The 10 threads with most CPU time, of processes that had several; number is the process's. */
enum err store_top_threads(struct store *store, int64_t job_row,
                           enum err (*each)(void *context, uint32_t number, const struct thread *thread), void *context);

/* Executables of the job, most CPU time first. */
enum err store_executables(struct store *store, int64_t job_row,
                           enum err (*each)(void *context, const struct summary_executable *executable), void *context);

/* Sums of perf events over the job; and counts of each process (tid 0), followed by those of its threads if it had
 * several. */
enum err store_events(struct store *store, int64_t job_row,
                      enum err (*each)(void *context, const char *event, uint64_t sum), void *context);
enum err store_event_counts(struct store *store, int64_t job_row,
                            enum err (*each)(void *context, uint32_t number, uint32_t tid, const char *event, uint64_t value),
                            void *context);

/* Of the process images whose events should be counted, how many lack a count. Reads all of them. */
enum err store_events_missing(struct store *store, int64_t job_row, uint64_t *missing, uint64_t *all);
enum err store_events_late(struct store *store, int64_t job_row, uint64_t *late); /* how many have EVENTS_LATE */

/* The hosts of the job, by name. Unknown facts are empty or 0. */
enum err store_hosts(struct store *store, int64_t job_row,
                     enum err (*each)(void *context, const struct host *host), void *context);

/* Series of the job, host by host. */
enum err store_series(struct store *store, int64_t job_row,
                      enum err (*each)(void *context, const char *host, const struct run_series *series), void *context);

/* Series of a node itself, as saved by a collector. */
enum err store_node_series(struct store *store, const char *host,
                           enum err (*each)(void *context, const char *host, const struct run_series *series), void *context);

#endif
