/* Rows that are brought up to date, and chunks that come behind one another. */
#include "store/append.h"

#include "model/batch.h"
#include "store/columns.h"
#include "store/saving.h"
#include "store/series_codec.h"

#include <stdio.h>

#define RUN_ID_MAX 1024

static void clear(struct grow *grow)
{
    statement_free(grow->chunk);
    statement_free(grow->filed);
    buf_clear(&grow->data);
    grow->chunk = grow->filed = NULL;
}

enum err grow_begin(struct grow *grow, struct store *store)
{
    *grow = (struct grow){ .store = store };
    buf_init(&grow->data, SIZE_MAX / 2);
    enum err err = db_write_begin(store);
    if (err != OK)
        return err;
    err = db_prepare_bulk(store, &grow->chunk, "file series", "INSERT INTO series VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)");
    if (err == OK)
        err = db_prepare(store, &grow->filed, "file a stream",
                         "INSERT INTO filed VALUES (?1,?2,?3,?4) ON CONFLICT (host, stream, first_sequence)"
                         " DO UPDATE SET last_sequence = excluded.last_sequence");
    if (err != OK)
        grow_roll_back(grow);
    return err;
}

enum err grow_commit(struct grow *grow)
{
    struct store *store = grow->store;
    enum err err = db_finish(store, &grow->chunk, "file series");
    if (err == OK)
        err = db_exec(store, "write", "COMMIT");
    if (err != OK)
        db_roll_back(store);
    else if (store->wal_frames >= DB_LOG_FRAMES_MAX)
        db_checkpoint(store);
    clear(grow);
    return err;
}

void grow_roll_back(struct grow *grow)
{
    db_roll_back(grow->store);
    clear(grow);
}

static struct bytes run_id(const struct grow_run *run, char *text)
{
    int size = run->job ? snprintf(text, RUN_ID_MAX, "agent/%s/%s", run->host, run->job->id)
                        : snprintf(text, RUN_ID_MAX, "node/%s", run->host);
    return (struct bytes){ text, (size_t)size < RUN_ID_MAX ? (size_t)size : RUN_ID_MAX - 1 };
}

static void describe(const struct grow_run *grow, struct bytes id, struct run *run)
{
    const struct job *job = grow->job;
    *run = (struct run){
        .id = id, .host.name = bytes_of(grow->host), .uid = UINT32_MAX,
        .start_ns = grow->start_ns, .end_ns = grow->end_ns, .period_ns = grow->period_ns, .total = grow->total,
    };
    if (!job)
        return;
    run->job_id = bytes_of(job->id);
    run->user = bytes_of(job->user);
    run->uid = job->uid;
    run->ended = job->end_ns != 0;
    run->cores_allowed_milli = job->cores_milli;
    run->memory_limit_bytes = job->memory_bytes;
}

static enum err find_run(struct store *store, struct bytes id, int64_t *job, int64_t *row)
{
    struct statement *statement;
    bool found = false;
    enum err err = db_prepare(store, &statement, "look up a run", "SELECT job, id FROM runs WHERE run_id = ?1");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, id);
    err = db_step(store, statement, "look up a run", &found);
    *job = found ? statement_i64(statement, 0) : 0;
    *row = found ? statement_i64(statement, 1) : 0;
    statement_free(statement);
    return err;
}

/* What may have changed since it was made. */
static enum err update_run(struct filing *filing)
{
    static const char sql[] =
        "UPDATE runs SET \"user\" = ?1, uid = ?2, start_ns = ?3, end_ns = ?4, ended = ?5, cores_allowed_milli = ?6,"
        " memory_limit_bytes = ?7, period_ns = ?8, rss_peak_bytes = ?9, records_lost = ?10, total_usertime = ?11,"
        " total_systemtime = ?12, total_read_bytes = ?13, total_write_bytes = ?14 WHERE id = ?15";
    static const enum counter totals[] = { COUNTER_usertime, COUNTER_systemtime, COUNTER_read_bytes, COUNTER_write_bytes };
    const struct run *run = filing->run;
    struct statement *statement;
    enum err err = db_prepare(filing->store, &statement, "file a run", sql);
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, run->user);
    if (run->uid == UINT32_MAX)
        statement_bind_null(statement, 2);
    else
        statement_bind_i64(statement, 2, run->uid);
    columns_bind_known(statement, 3, run->start_ns);
    columns_bind_known(statement, 4, run->end_ns);
    statement_bind_i64(statement, 5, run->ended);
    columns_bind_known(statement, 6, run->cores_allowed_milli);
    columns_bind_known(statement, 7, run->memory_limit_bytes);
    columns_bind_known(statement, 8, run->period_ns);
    columns_bind_known(statement, 9, filing->summary.rss_peak_bytes);
    statement_bind_u64(statement, 10, filing->summary.gaps.records_lost);
    for (int i = 0; i < 4; i++)
        if (counters_has(&run->total, totals[i]))
            statement_bind_u64(statement, 11 + i, run->total.value[totals[i]]);
        else
            statement_bind_null(statement, 11 + i);
    statement_bind_i64(statement, 15, filing->run_row);
    err = db_run(filing->store, statement, "file a run");
    statement_free(statement);
    return err;
}

enum err grow_run(struct grow *grow, const struct grow_run *it, int64_t *job, int64_t *row)
{
    char id[RUN_ID_MAX];
    struct run run;
    struct filing filing = { .store = grow->store, .run = &run };
    describe(it, run_id(it, id), &run);
    enum err err = find_run(grow->store, run.id, &filing.job, &filing.run_row);
    filing.summary.total = it->total;
    filing.summary.rss_peak_bytes = it->memory_peak_bytes;
    filing.summary.gaps.records_lost = it->lost;
    if (err == OK && !filing.run_row)
        err = it->job ? file_run(&filing) : file_run_row(&filing);
    if (err == OK)
        err = update_run(&filing);
    if (err == OK && it->job)
        err = file_job(&filing, filing.job);
    *job = filing.job;
    *row = filing.run_row;
    return err;
}

static enum err find_track(struct store *store, int64_t run, int64_t set, const char *instance, int64_t *number)
{
    struct statement *statement;
    bool found = false;
    enum err err = db_prepare(store, &statement, "look up a series",
                              "SELECT number FROM tracks WHERE run = ?1 AND set_id = ?2 AND instance IS ?3");
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, run);
    statement_bind_i64(statement, 2, set);
    columns_bind_bytes(statement, 3, bytes_of(instance));
    err = db_step(store, statement, "look up a series", &found);
    *number = found ? statement_i64(statement, 0) : -1;
    statement_free(statement);
    return err;
}

static enum err make_track(struct store *store, int64_t run, int64_t set, const char *instance, int64_t *number)
{
    struct statement *statement;
    int64_t last = -1;
    enum err err = db_number(store, "look up a series", "SELECT max(number) FROM tracks WHERE run = ?1", run, &last);
    if (err == OK)
        err = db_prepare(store, &statement, "file a series", "INSERT INTO tracks VALUES (?1,?2,?3,?4)");
    if (err != OK)
        return err;
    *number = last + 1;
    statement_bind_i64(statement, 1, run);
    statement_bind_i64(statement, 2, *number);
    statement_bind_i64(statement, 3, set);
    columns_bind_bytes(statement, 4, bytes_of(instance));
    err = db_run(store, statement, "file a series");
    statement_free(statement);
    return err;
}

enum err grow_track(struct grow *grow, int64_t run, const struct set *set, const char *instance, struct grow_track *track)
{
    struct store *store = grow->store;
    enum err err = file_set(store, set, &track->set);
    if (err == OK)
        err = find_track(store, run, track->set, instance, &track->number);
    if (err == OK && track->number < 0)
        err = make_track(store, run, track->set, instance, &track->number);
    return err;
}

enum err grow_chunk(struct grow *grow, int64_t job, int64_t run, const struct grow_track *track,
                    const struct run_series *series, uint8_t salt)
{
    struct statement *statement = grow->chunk;
    buf_reset(&grow->data);
    enum err err = series_encode(&grow->data, series, 0, series->count);
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, job);
    statement_bind_i64(statement, 2, run);
    statement_bind_i64(statement, 3, track->number);
    statement_bind_u64(statement, 4, (series->times_ns[0] & ~(uint64_t)UINT8_MAX) | salt);
    statement_bind_i64(statement, 5, track->set);
    columns_bind_bytes(statement, 6, bytes_of(series->instance));
    statement_bind_u64(statement, 7, series->count);
    statement_bind_u64(statement, 8, series->times_ns[0]);
    statement_bind_u64(statement, 9, series->times_ns[series->count - 1]);
    statement_bind_blob(statement, 10, (struct bytes){ grow->data.data, grow->data.size });
    return db_run(grow->store, statement, "file series");
}

enum err grow_count(struct grow *grow, uint64_t *before)
{
    struct store *store = grow->store;
    struct statement *statement;
    char text[24];
    int64_t count = 0;
    enum err err = db_number(store, "file a stream", "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'filings'", 0, &count);
    if (err == OK)
        err = db_prepare(store, &statement, "file a stream", "INSERT INTO meta VALUES ('filings', ?1)"
                         " ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    if (err != OK)
        return err;
    *before = (uint64_t)count;
    snprintf(text, sizeof text, "%llu", (unsigned long long)count + 1);
    columns_bind_bytes(statement, 1, bytes_of(text));
    err = db_run(store, statement, "file a stream");
    statement_free(statement);
    return err;
}

enum err grow_filed_read(struct store *store, const char *host, uint64_t stream, struct ranges *filed)
{
    struct statement *statement;
    bool row = true;
    enum err err = db_prepare(store, &statement, "look up a stream",
                              "SELECT first_sequence, last_sequence FROM filed WHERE host = ?1 AND stream = ?2");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, bytes_of(host));
    statement_bind_u64(statement, 2, stream);
    filed->count = 0;
    while (err == OK && row) {
        err = db_step(store, statement, "look up a stream", &row);
        if (err == OK && row)
            err = ranges_add(filed, (struct range){ statement_u64(statement, 0), statement_u64(statement, 1) });
    }
    statement_free(statement);
    return err;
}

static enum err forget_range(struct grow *grow, const char *host, uint64_t stream, uint64_t first)
{
    struct statement *statement;
    enum err err = db_prepare(grow->store, &statement, "file a stream",
                              "DELETE FROM filed WHERE host = ?1 AND stream = ?2 AND first_sequence = ?3");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, bytes_of(host));
    statement_bind_u64(statement, 2, stream);
    statement_bind_u64(statement, 3, first);
    err = db_run(grow->store, statement, "file a stream");
    statement_free(statement);
    return err;
}

/* Usually the last range grows at its end. Rows of those that become one with it go. */
enum err grow_filed_write(struct grow *grow, const char *host, uint64_t stream, struct range range, struct ranges *filed)
{
    size_t from, count = ranges_touching(filed, range, &from);
    enum err err = OK;
    for (size_t i = from; i < from + count && err == OK; i++)
        if (i > from || filed->list[i].first > range.first)
            err = forget_range(grow, host, stream, filed->list[i].first);
    if (err == OK)
        err = ranges_add(filed, range);
    if (err != OK)
        return err;
    columns_bind_bytes(grow->filed, 1, bytes_of(host));
    statement_bind_u64(grow->filed, 2, stream);
    statement_bind_u64(grow->filed, 3, filed->list[from].first);
    statement_bind_u64(grow->filed, 4, filed->list[from].last);
    return db_run(grow->store, grow->filed, "file a stream");
}

enum err grow_old_stream(struct store *store, const char *source, const char *host, uint64_t stream, uint64_t *sequence)
{
    struct statement *statement;
    bool found = false;
    enum err err = db_prepare(store, &statement, "look up a stream",
                              "SELECT sequence FROM streams WHERE source = ?1 AND host = ?2 AND stream = ?3");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, bytes_of(source));
    columns_bind_bytes(statement, 2, bytes_of(host));
    statement_bind_u64(statement, 3, stream);
    err = db_step(store, statement, "look up a stream", &found);
    *sequence = found ? statement_u64(statement, 0) : 0;
    statement_free(statement);
    return err;
}

enum err grow_gap(struct grow *grow, const char *host, const struct batch_gap *gap)
{
    struct store *store = grow->store;
    struct statement *statement;
    enum err err = db_prepare(store, &statement, "file a gap",
                              "INSERT INTO gaps (host, from_ns, to_ns, batches, reason) VALUES (?1,?2,?3,?4,?5)");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, bytes_of(host));
    columns_bind_known(statement, 2, gap->from_ns);
    columns_bind_known(statement, 3, gap->to_ns);
    statement_bind_u64(statement, 4, gap->batches);
    columns_bind_bytes(statement, 5, bytes_of(gap->reason));
    err = db_run(store, statement, "file a gap");
    statement_free(statement);
    return err;
}
