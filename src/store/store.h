/* The job database. SQLite, one file, WAL: one writer and many readers at a time. Jobs, hosts, processes and threads are
 * plain tables (docs/schema.md); series are compact blobs that store_series decodes. */
#ifndef SONDE_STORE_STORE_H
#define SONDE_STORE_STORE_H

#include "model/run.h"
#include "model/summary.h"

/* One open store is for one thread at a time. */
struct store;

#define STORE_AGENT "agent:" /* in place of a path: no store, but what sonde run files goes to the agent of the node */

enum store_mode { STORE_READ, STORE_WRITE };

/* Where the store is: $SONDE_DB, else $XDG_DATA_HOME/sonde/sonde.db, else ~/.local/share/sonde/sonde.db. USAGE when none
 * can be told. */
enum err store_default_path(char *path, size_t size);

/* Opens; STORE_WRITE makes the file and its folder when missing and migrates an older schema. Waits for other writers.
 * path NULL: the default. On any error *store is NULL unless message explains more through *message (malloc'd, the
 * caller frees): ABSENT (no such store, read mode), DENIED (read-only), CORRUPT (not a database or damaged), USAGE (made
 * by a newer Sonde), FULL, AGAIN (still locked after a minute). */
enum err store_open(struct store **store, const char *path, enum store_mode mode, char **message);
void store_close(struct store **store);

/* What went wrong last, for people; never NULL. */
const char *store_message(const struct store *store);

/* Files a run in one transaction: all of it or nothing. A run filed before (same run.id) is replaced. Several runs with
 * one job id share the job. */
enum err store_file(struct store *store, const struct run *run);

/* A job as listed. Texts are owned by the struct when it comes from store_job, borrowed until return in callbacks. */
struct store_job {
    int64_t row;
    const char *job_id, *name, *user, *cwd, *tags, *hosts; /* hosts: names, blank between */
    struct bytes command; /* NUL after each word */
    uint32_t uid;
    uint64_t start_ns, end_ns;
    bool ended, status_known;
    uint8_t exit_code, exit_signal;
    uint64_t host_count, cores, memory_bytes, cores_allowed_milli, memory_limit_bytes, period_ns;
    struct summary summary;
    char *memory; /* what store_job_clear frees */
};

enum store_order { BY_START, BY_DURATION, BY_CPU, BY_MEMORY, BY_PROCESSES, BY_NAME, BY_USER };

struct store_filter {
    const char *user, *name, *host; /* name: a glob; NULL: any */
    const char *const *tags;        /* "key" or "key:value", all must be there; NULL-terminated, may be NULL */
    uint64_t since_ns, until_ns;    /* jobs that overlap; 0: open */
    enum store_order order;         /* newest or largest first; names from a to z */
    bool reverse;
    bool brief;                     /* three times as fast: of the summary only processes, threads, failed, signalled,
                                       rss_peak_bytes, and of its counters the CPU times and rssmax are filled */
    size_t limit;                   /* 0: all */
};

/* The callbacks return OK to go on; anything else stops and is returned. What they get is borrowed until they return. */
enum err store_jobs(struct store *store, const struct store_filter *filter,
                    enum err (*each)(void *context, const struct store_job *job), void *context);

/* By job id, or a unique beginning of one; NULL: the job that was filed last. ABSENT when there is none, USAGE when the
 * beginning fits several. */
enum err store_job(struct store *store, const char *job_id, struct store_job *job);
void store_job_clear(struct store_job *job);

/* All process images in pre-order (parent before children); process->parent and ->last are the numbers of the table.
 * number is the process's own. Events: process->events is UINT32_MAX; see store_event_counts. */
enum err store_processes(struct store *store, int64_t job_row,
                         enum err (*each)(void *context, uint32_t number, const struct process *process), void *context);

/* Like store_processes, the at most 10 that used most CPU time, most first. Does not walk the job. */
enum err store_top_processes(struct store *store, int64_t job_row,
                             enum err (*each)(void *context, uint32_t number, const struct process *process), void *context);

/* Threads of processes that had more than one (number: the process's). For others the process is its thread. */
enum err store_threads(struct store *store, int64_t job_row,
                       enum err (*each)(void *context, uint32_t number, const struct thread *thread), void *context);

/* The at most 10 threads, of processes with several, that used most CPU time, with the process's number. */
enum err store_top_threads(struct store *store, int64_t job_row,
                           enum err (*each)(void *context, uint32_t number, const struct thread *thread), void *context);

/* Executables of the job, most CPU time first. */
enum err store_executables(struct store *store, int64_t job_row,
                           enum err (*each)(void *context, const struct summary_executable *executable), void *context);

/* Sums of perf events over the job; and of each process (tid is 0), followed by those of its threads where it had
 * several. */
enum err store_events(struct store *store, int64_t job_row,
                      enum err (*each)(void *context, const char *event, uint64_t sum), void *context);
enum err store_event_counts(struct store *store, int64_t job_row,
                            enum err (*each)(void *context, uint32_t number, uint32_t tid, const char *event, uint64_t value),
                            void *context);

/* Of the programs of which events were to be counted, how many have no count of one of them. Looks at all of them. */
enum err store_events_missing(struct store *store, int64_t job_row, uint64_t *missing, uint64_t *all);
enum err store_events_late(struct store *store, int64_t job_row, uint64_t *late); /* how many have EVENTS_LATE */

/* The hosts of the job, by name. What a host did not tell is empty or 0. */
enum err store_hosts(struct store *store, int64_t job_row,
                     enum err (*each)(void *context, const struct host *host), void *context);

/* Series of the job, host by host. */
enum err store_series(struct store *store, int64_t job_row,
                      enum err (*each)(void *context, const char *host, const struct run_series *series), void *context);

/* Series of a node itself, as a collector filed them. */
enum err store_node_series(struct store *store, const char *host,
                           enum err (*each)(void *context, const char *host, const struct run_series *series), void *context);

#endif
