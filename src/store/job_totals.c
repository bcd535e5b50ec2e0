/* Reads what was summed up when the runs of a job were saved: its executables, perf events and hosts. */
#include "store/store.h"

#include "store/columns.h"
#include "store/db.h"

#include <stdio.h>

/* A query on one job; read is called with the statement at each row. */
struct job_query {
    struct store *store;
    const char *sql, *what;
    enum err (*read)(const struct job_query *query, struct statement *statement);
    void *context;
    union {
        enum err (*executable)(void *context, const struct summary_executable *executable);
        enum err (*event)(void *context, const char *event, uint64_t sum);
        enum err (*count)(void *context, uint32_t number, uint32_t tid, const char *event, uint64_t value);
        enum err (*host)(void *context, const struct host *host);
    } each;
};

static enum err run_query(const struct job_query *query, int64_t job_row)
{
    struct statement *statement;
    bool row = true;
    enum err err = db_prepare(query->store, &statement, query->what, query->sql);
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, job_row);
    while (err == OK) {
        err = db_step(query->store, statement, query->what, &row);
        if (err != OK || !row)
            break;
        err = query->read(query, statement);
    }
    statement_free(statement);
    return err;
}

static enum err read_executable(const struct job_query *query, struct statement *statement)
{
    struct summary_executable executable = {
        .path = statement_bytes(statement, 0),
        .name = statement_bytes(statement, 1),
    };
    int at = 2;
#define X(field) executable.field = statement_u64(statement, at++);
    EXECUTABLE_COLUMNS(X)
#undef X
    return query->each.executable(query->context, &executable);
}

enum err store_executables(struct store *store, int64_t job_row,
                           enum err (*each)(void *context, const struct summary_executable *executable), void *context)
{
    static const char sql[] =
        "SELECT e.path, e.name, x.* FROM (SELECT sum(count), sum(short_count), sum(failed), sum(cpu_us) AS cpu_us,"
        " sum(wall_ns), max(rss_max_kb), sum(read_bytes), sum(write_bytes), sum(rchar), sum(wchar), sum(waiting_ns),"
        " sum(blkio_us), executable FROM run_executables WHERE job = ?1 GROUP BY executable) x"
        " JOIN executables e ON e.id = x.executable ORDER BY x.cpu_us DESC, e.name, e.path";
    struct job_query query = { store, sql, "read executables", read_executable, context, { .executable = each } };
    return run_query(&query, job_row);
}

static enum err read_event(const struct job_query *query, struct statement *statement)
{
    return query->each.event(query->context, statement_text(statement, 0), statement_u64(statement, 1));
}

enum err store_events(struct store *store, int64_t job_row,
                      enum err (*each)(void *context, const char *event, uint64_t sum), void *context)
{
    struct job_query query = { store, "SELECT e.name, sum(r.value) FROM run_events r JOIN events e ON e.id = r.event"
                                " WHERE r.job = ?1 AND r.value IS NOT NULL GROUP BY e.id ORDER BY e.id",
                         "read events", read_event, context, { .event = each } };
    return run_query(&query, job_row);
}

struct missing {
    uint64_t missing, all;
};

static enum err read_missing(const struct job_query *query, struct statement *statement)
{
    struct missing *missing = query->context;
    *missing = (struct missing){ statement_u64(statement, 0), statement_u64(statement, 1) };
    return OK;
}

enum err store_events_missing(struct store *store, int64_t job_row, uint64_t *missing, uint64_t *all)
{
    static const char sql[] =
        "SELECT w.programs - coalesce(c.programs, 0) AS missing, w.programs FROM"
        " (SELECT e.event, sum(r.last_process - r.first_process + 1) AS programs FROM run_events e JOIN runs r ON r.id = e.run"
        " WHERE e.job = ?1 GROUP BY e.event) w LEFT JOIN"
        " (SELECT event, count(*) AS programs FROM process_events WHERE job = ?1 GROUP BY event) c ON c.event = w.event"
        " ORDER BY missing DESC LIMIT 1";
    struct missing found = { 0 };
    struct job_query query = { store, sql, "read events", read_missing, &found, { 0 } };
    enum err err = run_query(&query, job_row);
    *missing = found.missing;
    *all = found.all;
    return err;
}

enum err store_events_late(struct store *store, int64_t job_row, uint64_t *late)
{
    int64_t count = 0;
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM processes WHERE job = ?1 AND (sources & %d) <> 0", EVENTS_LATE);
    enum err err = db_number(store, "read events", sql, job_row, &count);
    *late = (uint64_t)count;
    return err;
}

static enum err read_count(const struct job_query *query, struct statement *statement)
{
    return query->each.count(query->context, (uint32_t)statement_u64(statement, 0), (uint32_t)statement_u64(statement, 1),
                             statement_text(statement, 2), statement_u64(statement, 3));
}

enum err store_event_counts(struct store *store, int64_t job_row,
                            enum err (*each)(void *context, uint32_t number, uint32_t tid, const char *event, uint64_t value),
                            void *context)
{
    static const char sql[] =
        "SELECT p.process, 0, e.name, p.value, -1 AS thread, e.id AS id FROM process_events p"
        " JOIN events e ON e.id = p.event WHERE p.job = ?1 UNION ALL"
        " SELECT p.process, t.tid, e.name, p.value, p.thread, e.id FROM thread_events p"
        " JOIN events e ON e.id = p.event JOIN threads t"
        " ON t.job = p.job AND t.process = p.process AND t.number = p.thread WHERE p.job = ?1 ORDER BY 1, 5, 6";
    struct job_query query = { store, sql, "read events", read_count, context, { .count = each } };
    return run_query(&query, job_row);
}

static enum err read_host(const struct job_query *query, struct statement *statement)
{
    struct host host = {
        .name = statement_bytes(statement, 0),
        .kernel = statement_bytes(statement, 1),
        .cpu_model = statement_bytes(statement, 2),
        .cores = statement_u64(statement, 3),
        .memory_bytes = statement_u64(statement, 4),
    };
    return query->each.host(query->context, &host);
}

enum err store_hosts(struct store *store, int64_t job_row,
                     enum err (*each)(void *context, const struct host *host), void *context)
{
    /* A host may have several rows: those of agents lack the kernel. Prefer one with a kernel, and the newest. */
    static const char sql[] =
        "SELECT name, kernel, cpu_model, cores, memory_bytes FROM hosts h WHERE id IN (SELECT host FROM runs WHERE job = ?1)"
        " AND NOT EXISTS (SELECT 1 FROM hosts o WHERE o.name = h.name AND o.id IN (SELECT host FROM runs WHERE job = ?1)"
        " AND CASE WHEN o.kernel IS NULL THEN -o.id ELSE o.id END > CASE WHEN h.kernel IS NULL THEN -h.id ELSE h.id END)"
        " ORDER BY name, id";
    struct job_query query = { store, sql, "read hosts", read_host, context, { .host = each } };
    return run_query(&query, job_row);
}
