/* Updates rows and appends chunks to existing series, in the transaction of a collector's sink. */
#include "store/append.h"

#include "model/batch.h"
#include "store/columns.h"
#include "store/save.h"
#include "store/series_codec.h"

#include <stdio.h>

#define RUN_ID_MAX 1024

static void clear(struct append *append)
{
    statement_free(append->chunk);
    statement_free(append->saved);
    buf_clear(&append->data);
    append->chunk = append->saved = NULL;
}

enum err append_begin(struct append *append, struct store *store)
{
    *append = (struct append){ .store = store };
    buf_init(&append->data, SIZE_MAX / 2);
    enum err err = db_write_begin(store);
    if (err != OK)
        return err;
    err = db_prepare_bulk(store, &append->chunk, "save series", "INSERT INTO series VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)");
    if (err == OK)
        err = db_prepare(store, &append->saved, "save a stream",
                         "INSERT INTO filed VALUES (?1,?2,?3,?4) ON CONFLICT (host, stream, first_sequence)"
                         " DO UPDATE SET last_sequence = excluded.last_sequence");
    if (err != OK)
        append_roll_back(append);
    return err;
}

enum err append_commit(struct append *append)
{
    struct store *store = append->store;
    enum err err = db_finish(store, &append->chunk, "save series");
    if (err == OK)
        err = db_exec(store, "write", "COMMIT");
    if (err != OK)
        db_roll_back(store);
    else if (store->wal_frames >= DB_LOG_FRAMES_MAX)
        db_checkpoint(store);
    clear(append);
    return err;
}

void append_roll_back(struct append *append)
{
    db_roll_back(append->store);
    clear(append);
}

/* other: a job of this id and of another owner has the usual name on this host. No host has an empty name. */
static struct bytes run_id(const struct append_run *run, bool other, char *text)
{
    int size = !run->job ? snprintf(text, RUN_ID_MAX, "node/%s", run->host)
               : other   ? snprintf(text, RUN_ID_MAX, "agent//%u/%s/%s", run->job->uid, run->host, run->job->id)
                         : snprintf(text, RUN_ID_MAX, "agent/%s/%s", run->host, run->job->id);
    return (struct bytes){ text, (size_t)size < RUN_ID_MAX ? (size_t)size : RUN_ID_MAX - 1 };
}

static void describe(const struct append_run *append, struct bytes id, struct run *run)
{
    const struct job *job = append->job;
    *run = (struct run){
        .id = id, .host.name = bytes_of(append->host), .uid = UINT32_MAX,
        .start_ns = append->start_ns, .end_ns = append->end_ns, .period_ns = append->period_ns, .total = append->total,
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

/* The saved row of a run. */
struct known_run {
    int64_t job, row; /* 0: not saved yet */
    uint32_t uid;     /* UINT32_MAX: unknown */
    uint64_t start_ns, end_ns, rss_peak_bytes, records_lost;
    bool ended;
    struct counters total;
};

static const enum counter totals[] = { COUNTER_usertime, COUNTER_systemtime, COUNTER_read_bytes, COUNTER_write_bytes };
#define TOTALS (int)(sizeof totals / sizeof *totals)

static void read_run(struct statement *statement, struct known_run *run)
{
    *run = (struct known_run){
        .job = statement_i64(statement, 0), .row = statement_i64(statement, 1), .uid = (uint32_t)statement_i64(statement, 2),
        .start_ns = statement_u64(statement, 3), .end_ns = statement_u64(statement, 4), .ended = statement_i64(statement, 5),
        .rss_peak_bytes = statement_u64(statement, 6), .records_lost = statement_u64(statement, 7),
    };
    for (int i = 0; i < TOTALS; i++)
        if (statement_is_known(statement, 8 + i))
            counters_set(&run->total, totals[i], statement_u64(statement, 8 + i));
}

static enum err find_run(struct store *store, struct bytes id, struct known_run *run)
{
    struct statement *statement;
    bool found = false;
    enum err err = db_prepare(store, &statement, "look up a run",
                              "SELECT job, id, coalesce(uid, 4294967295), start_ns, end_ns, ended, rss_peak_bytes, records_lost,"
                              " total_usertime, total_systemtime, total_read_bytes, total_write_bytes FROM runs"
                              " WHERE run_id = ?1");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, id);
    err = db_step(store, statement, "look up a run", &found);
    *run = (struct known_run){ .uid = UINT32_MAX };
    if (err == OK && found)
        read_run(statement, run);
    statement_free(statement);
    return err;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void keep_larger(struct counters *total, const struct counters *known, enum counter i)
{
    if (counters_has(known, i) && known->value[i] >= counters_get(total, i))
        counters_set(total, i, known->value[i]);
}

/* The counters of a job only grow. User and system time belong together. */
static void merge_totals(struct counters *total, const struct counters *known)
{
    if (counters_cpu_us(known) >= counters_cpu_us(total)) {
        counters_forget(total, COUNTER_usertime);
        counters_forget(total, COUNTER_systemtime);
        keep_larger(total, known, COUNTER_usertime);
        keep_larger(total, known, COUNTER_systemtime);
    }
    keep_larger(total, known, COUNTER_read_bytes);
    keep_larger(total, known, COUNTER_write_bytes);
}

/* An agent or collector that was restarted knows only what happened since: figures do not decrease, and a job that has
 * ended does not run again, unless it is another one with the same id. */
static void merge(struct saving *saving, struct run *run, const struct known_run *known)
{
    struct summary *summary = &saving->summary;
    if (!known->row || (known->ended && run->start_ns > known->end_ns))
        return;
    if (known->start_ns && known->start_ns < run->start_ns)
        run->start_ns = known->start_ns;
    if (known->end_ns > run->end_ns || (known->ended && !run->ended))
        run->end_ns = known->end_ns;
    run->ended |= known->ended;
    summary->rss_peak_bytes = larger(summary->rss_peak_bytes, known->rss_peak_bytes);
    summary->gaps.records_lost = larger(summary->gaps.records_lost, known->records_lost);
    merge_totals(&run->total, &known->total);
    summary->total = run->total;
}

/* Updates the columns that may have changed since the row was inserted. What is unknown now stays as it was. */
static enum err update_run(struct saving *saving)
{
    static const char sql[] =
        "UPDATE runs SET \"user\" = coalesce(?1, \"user\"), uid = coalesce(?2, uid), start_ns = ?3, end_ns = ?4,"
        " ended = ?5, cores_allowed_milli = coalesce(?6, cores_allowed_milli),"
        " memory_limit_bytes = coalesce(?7, memory_limit_bytes), period_ns = coalesce(?8, period_ns),"
        " rss_peak_bytes = ?9, records_lost = ?10, total_usertime = ?11,"
        " total_systemtime = ?12, total_read_bytes = ?13, total_write_bytes = ?14 WHERE id = ?15";
    const struct run *run = saving->run;
    struct statement *statement;
    enum err err = db_prepare(saving->store, &statement, "save a run", sql);
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
    columns_bind_known(statement, 9, saving->summary.rss_peak_bytes);
    statement_bind_u64(statement, 10, saving->summary.gaps.records_lost);
    for (int i = 0; i < TOTALS; i++)
        if (counters_has(&run->total, totals[i]))
            statement_bind_u64(statement, 11 + i, run->total.value[totals[i]]);
        else
            statement_bind_null(statement, 11 + i);
    statement_bind_i64(statement, 15, saving->run_row);
    err = db_run(saving->store, statement, "save a run");
    statement_free(statement);
    return err;
}

/* Both have the job in their key. An agent's run has no other rows. */
static enum err set_job(struct saving *saving, int64_t old_job, const char *sql)
{
    struct statement *statement;
    enum err err = db_prepare(saving->store, &statement, "move a run", sql);
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, saving->job);
    statement_bind_i64(statement, 2, old_job);
    statement_bind_i64(statement, 3, saving->run_row);
    err = db_run(saving->store, statement, "move a run");
    statement_free(statement);
    return err;
}

/* The owner became known: the run belongs to the job of that owner, which may have been saved before. */
static enum err settle_owner(struct saving *saving, int64_t old_job)
{
    saving->job = 0;
    enum err err = save_job_find(saving);
    if (err != OK || saving->job == old_job)
        return err;
    err = set_job(saving, old_job, "UPDATE runs SET job = ?1 WHERE job = ?2 AND id = ?3");
    if (err == OK)
        err = set_job(saving, old_job, "UPDATE series SET job = ?1 WHERE job = ?2 AND run = ?3");
    return err == OK ? save_job(saving, old_job) : err;
}

static enum err find_or_insert(struct saving *saving, const struct append_run *it, struct run *run, char *id)
{
    struct known_run known = { .uid = UINT32_MAX };
    enum err err = find_run(saving->store, run->id, &known);
    if (err == OK && it->job && run->uid != UINT32_MAX && known.uid != UINT32_MAX && known.uid != run->uid) {
        run->id = run_id(it, true, id);
        err = find_run(saving->store, run->id, &known);
    }
    if (err != OK)
        return err;
    merge(saving, run, &known);
    saving->job = known.job;
    saving->run_row = known.row;
    if (known.row && (!it->job || known.uid == run->uid || run->uid == UINT32_MAX))
        return OK;
    if (known.row)
        return settle_owner(saving, known.job);
    return it->job ? save_run_row_with_job(saving) : save_run_row(saving);
}

enum err append_run(struct append *append, const struct append_run *it, int64_t *job, int64_t *row)
{
    char id[RUN_ID_MAX];
    struct run run;
    struct saving saving = { .store = append->store, .run = &run, .by_agent = true };
    describe(it, run_id(it, false, id), &run);
    saving.summary.total = it->total;
    saving.summary.rss_peak_bytes = it->memory_peak_bytes;
    saving.summary.gaps.records_lost = it->lost;
    enum err err = find_or_insert(&saving, it, &run, id);
    if (err == OK)
        err = update_run(&saving);
    if (err == OK && it->job)
        err = save_job(&saving, saving.job);
    *job = saving.job;
    *row = saving.run_row;
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

static enum err insert_track(struct store *store, int64_t run, int64_t set, const char *instance, int64_t *number)
{
    struct statement *statement;
    int64_t last = -1;
    enum err err = db_number(store, "look up a series", "SELECT max(number) FROM tracks WHERE run = ?1", run, &last);
    if (err == OK)
        err = db_prepare(store, &statement, "save a series", "INSERT INTO tracks VALUES (?1,?2,?3,?4)");
    if (err != OK)
        return err;
    *number = last + 1;
    statement_bind_i64(statement, 1, run);
    statement_bind_i64(statement, 2, *number);
    statement_bind_i64(statement, 3, set);
    columns_bind_bytes(statement, 4, bytes_of(instance));
    err = db_run(store, statement, "save a series");
    statement_free(statement);
    return err;
}

enum err append_track(struct append *append, int64_t run, const struct set *set, const char *instance,
                      struct append_track *track)
{
    struct store *store = append->store;
    enum err err = save_series_set(store, set, &track->set);
    if (err == OK)
        err = find_track(store, run, track->set, instance, &track->number);
    if (err == OK && track->number < 0)
        err = insert_track(store, run, track->set, instance, &track->number);
    return err;
}

enum err append_chunk(struct append *append, int64_t job, int64_t run, const struct append_track *track,
                      const struct run_series *series, uint8_t salt)
{
    struct statement *statement = append->chunk;
    buf_reset(&append->data);
    enum err err = series_encode(&append->data, series, 0, series->count);
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
    statement_bind_blob(statement, 10, (struct bytes){ append->data.data, append->data.size });
    return db_run(append->store, statement, "save series");
}

enum err append_count(struct append *append, uint64_t *before)
{
    struct store *store = append->store;
    struct statement *statement;
    char text[24];
    int64_t count = 0;
    enum err err = db_number(store, "save a stream", "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'filings'", 0, &count);
    if (err == OK)
        err = db_prepare(store, &statement, "save a stream", "INSERT INTO meta VALUES ('filings', ?1)"
                         " ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    if (err != OK)
        return err;
    *before = (uint64_t)count;
    snprintf(text, sizeof text, "%llu", (unsigned long long)count + 1);
    columns_bind_bytes(statement, 1, bytes_of(text));
    err = db_run(store, statement, "save a stream");
    statement_free(statement);
    return err;
}

enum err append_read_saved(struct store *store, const char *host, uint64_t stream, struct ranges *saved)
{
    struct statement *statement;
    bool row = true;
    enum err err = db_prepare(store, &statement, "look up a stream",
                              "SELECT first_sequence, last_sequence FROM filed WHERE host = ?1 AND stream = ?2");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, bytes_of(host));
    statement_bind_u64(statement, 2, stream);
    saved->count = 0;
    while (err == OK && row) {
        err = db_step(store, statement, "look up a stream", &row);
        if (err == OK && row)
            err = ranges_add(saved, (struct range){ statement_u64(statement, 0), statement_u64(statement, 1) });
    }
    statement_free(statement);
    return err;
}

static enum err delete_range(struct append *append, const char *host, uint64_t stream, uint64_t first)
{
    struct statement *statement;
    enum err err = db_prepare(append->store, &statement, "save a stream",
                              "DELETE FROM filed WHERE host = ?1 AND stream = ?2 AND first_sequence = ?3");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, bytes_of(host));
    statement_bind_u64(statement, 2, stream);
    statement_bind_u64(statement, 3, first);
    err = db_run(append->store, statement, "save a stream");
    statement_free(statement);
    return err;
}

/* Usually the last range grows at its end. Deletes the rows of ranges that are merged into it. */
enum err append_add_saved(struct append *append, const char *host, uint64_t stream, struct range range, struct ranges *saved)
{
    size_t from, count = ranges_touching(saved, range, &from);
    enum err err = OK;
    for (size_t i = from; i < from + count && err == OK; i++)
        if (i > from || saved->list[i].first > range.first)
            err = delete_range(append, host, stream, saved->list[i].first);
    if (err == OK)
        err = ranges_add(saved, range);
    if (err != OK)
        return err;
    columns_bind_bytes(append->saved, 1, bytes_of(host));
    statement_bind_u64(append->saved, 2, stream);
    statement_bind_u64(append->saved, 3, saved->list[from].first);
    statement_bind_u64(append->saved, 4, saved->list[from].last);
    return db_run(append->store, append->saved, "save a stream");
}

enum err append_read_old_sequence(struct store *store, const char *source, const char *host, uint64_t stream,
                                  uint64_t *sequence)
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

enum err append_gap(struct append *append, const char *host, const struct batch_gap *gap)
{
    struct store *store = append->store;
    struct statement *statement;
    enum err err = db_prepare(store, &statement, "save a gap",
                              "INSERT INTO gaps (host, from_ns, to_ns, batches, reason) VALUES (?1,?2,?3,?4,?5)");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, bytes_of(host));
    columns_bind_known(statement, 2, gap->from_ns);
    columns_bind_known(statement, 3, gap->to_ns);
    statement_bind_u64(statement, 4, gap->batches);
    columns_bind_bytes(statement, 5, bytes_of(gap->reason));
    err = db_run(store, statement, "save a gap");
    statement_free(statement);
    return err;
}
