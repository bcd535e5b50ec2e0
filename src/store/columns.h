/* Column lists of the large tables, defined once: the schema, the SQL statements and the binding of values are
 * generated from them. docs/schema.md explains the columns. Changing a list needs a migration (migrate.c). */
#ifndef SONDE_STORE_COLUMNS_H
#define SONDE_STORE_COLUMNS_H

#include "model/summary.h"
#include "store/statement.h"


/* processes, between (job, number) and the counters; args follow those. */
#define PROCESS_COLUMNS(X) \
    X(run) X(parent) X(last) X(depth) X(executable) X(directory) X(tag_set) X(image) X(pid) X(ppid) X(pgid) X(sid) \
    X(uid) X(state) X(exit_code) X(exit_signal) X(start_ns) X(end_ns) X(inclusive_cpu_us) X(thread_count) X(sources)

/* run_executables, after (job, run, executable): the fields of struct summary_executable. */
#define EXECUTABLE_COLUMNS(X) \
    X(count) X(short_count) X(failed) X(cpu_us) X(wall_ns) X(rss_max_kb) X(read_bytes) X(write_bytes) X(rchar) \
    X(wchar) X(waiting_ns) X(blkio_us)

/* jobs: strings first, then numbers, then the summary. */
#define JOB_STRINGS(X) X(job_id) X(name) X(user) X(cwd) X(command) X(tags) X(hosts)
#define JOB_NUMBERS(X) \
    X(uid) X(start_ns) X(end_ns) X(ended) X(exit_code) X(exit_signal) X(host_count) X(cores) X(memory_bytes) \
    X(cores_allowed_milli) X(memory_limit_bytes) X(period_ns)

/* runs: the same, for one host. */
#define RUN_STRINGS(X) X(run_id) X(name) X(user) X(cwd) X(command) X(tags)
#define RUN_NUMBERS(X) \
    X(job) X(host) X(first_process) X(last_process) X(uid) X(start_ns) X(end_ns) X(ended) X(exit_code) \
    X(exit_signal) X(cores_allowed_milli) X(memory_limit_bytes) X(period_ns)

/* Columns as SQL fragments. Names are quoted because "user" is a keyword in PostgreSQL. */
#define COLUMNS_NAME(name) "\"" #name "\","
#define COLUMNS_PARAMETER(name) "?,"
#define COLUMNS_INTEGER(name) "\"" #name "\" INTEGER,"
#define COLUMNS_TEXT(name) "\"" #name "\" TEXT,"

#define COLUMNS_COUNTER_NAME(name, kind, unit, help) #name ","
#define COLUMNS_COUNTER_PARAMETER(name, kind, unit, help) "?,"
#define COLUMNS_COUNTER_INTEGER(name, kind, unit, help) #name " INTEGER,"
#define COLUMNS_TOTAL_NAME(name, kind, unit, help) "total_" #name ","
#define COLUMNS_TOTAL_INTEGER(name, kind, unit, help) "total_" #name " INTEGER,"

/* The columns of a summary: "processes,threads,…,total_timeslices,". */
#define COLUMNS_SUMMARY(of, of_counter, of_total) \
    SUMMARY_SUMS(of) SUMMARY_GAPS(of) SUMMARY_PEAKS(of) COUNTERS_LIST(of_counter) COUNTERS_LIST(of_total)

/* The part of a summary that a list of jobs shows: numbers, and counters of both sum and total. */
#define BRIEF_NUMBERS(X) X(processes) X(threads) X(failed) X(signalled) X(rss_peak_bytes)
#define BRIEF_COUNTERS(X) X(usertime) X(systemtime) X(rssmax)
#define COLUMNS_SUMMARY_BRIEF \
    BRIEF_NUMBERS(COLUMNS_NAME) BRIEF_COUNTERS(COLUMNS_NAME) BRIEF_COUNTERS(COLUMNS_TOTAL_OF)
#define COLUMNS_TOTAL_OF(name) "total_" #name ","

/* Unknown values are NULL. Each function returns the number of the next parameter or column. */
int columns_bind_counters(struct statement *statement, int at, const struct counters *counters);
int columns_read_counters(struct statement *statement, int at, struct counters *counters);
int columns_bind_summary(struct statement *statement, int at, const struct summary *summary);
int columns_read_summary(struct statement *statement, int at, struct summary *summary);
int columns_read_summary_brief(struct statement *statement, int at, struct summary *summary);

/* A number; 0 means unknown and becomes NULL. */
void columns_bind_known(struct statement *statement, int at, uint64_t value);

/* Any bytes; empty becomes NULL. In SQLite TEXT if they are UTF-8 without NUL, otherwise BLOB. Not copied: they must
 * stay valid until the statement has been stepped. */
void columns_bind_bytes(struct statement *statement, int at, struct bytes bytes);

#endif
