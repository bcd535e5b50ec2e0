/* Finds jobs: by a filter, by id, or the last one. */
#include "store/store.h"

#include "store/db.h"
#include "store/filter.h"
#include "store/job_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SQL_MAX 65536

static enum err read_rows(struct store *store, struct statement *statement, bool brief,
                          enum err (*each)(void *context, const struct store_job *job), void *context)
{
    struct store_job job;
    struct buf args;
    bool row = true;
    enum err err = OK;
    buf_init(&args, SIZE_MAX / 2);
    while (err == OK) {
        err = db_step(store, statement, "read jobs", &row);
        if (err != OK || !row)
            break;
        err = job_row_read(statement, brief, &job, &args);
        if (err == OK)
            err = each(context, &job);
    }
    buf_clear(&args);
    return err;
}

/* Sorts only row ids and reads the other columns afterwards, so that the sort does not move them. SQLite never reorders
 * a CROSS JOIN, so the order is kept. */
static void add_sql(const struct store *store, struct buf *sql, const struct store_filter *filter)
{
    buf_add_text(sql, filter->brief ? "SELECT " JOB_ROW_COLUMNS_BRIEF " FROM (" : "SELECT " JOB_ROW_COLUMNS " FROM (");
    filter_add_sql(sql, filter);
    buf_add_text(sql, ") AS chosen CROSS JOIN jobs WHERE jobs.id = found");
    if (store->driver) /* PostgreSQL does not keep the order of a subquery */
        filter_add_order(sql, filter);
}

enum err store_jobs(struct store *store, const struct store_filter *filter,
                    enum err (*each)(void *context, const struct store_job *job), void *context)
{
    struct statement *statement = NULL;
    struct buf sql;
    buf_init(&sql, SQL_MAX);
    add_sql(store, &sql, filter);
    enum err err = buf_err(&sql);
    if (err == OK)
        err = db_prepare(store, &statement, "find jobs", buf_text(&sql));
    else if (err == FULL)
        err = db_error(store, USAGE, "too many tags");
    buf_clear(&sql);
    if (err != OK)
        return err;
    filter_bind(statement, filter);
    err = read_rows(store, statement, filter->brief, each, context);
    statement_free(statement);
    return err;
}

/* At most two rows, to detect ambiguity. */
struct found_jobs {
    int64_t rows[2];
    int count;
};

/* value: of ?2; NULL: there is none. */
static enum err find(struct store *store, const char *sql, struct bytes job_id, struct bytes value, struct found_jobs *found)
{
    struct statement *statement;
    bool row = true;
    enum err err = db_prepare(store, &statement, "find a job", sql);
    if (err != OK)
        return err;
    statement_bind_text(statement, 1, job_id);
    if (value.data)
        statement_bind_text(statement, 2, value);
    while (err == OK && row && found->count < 2) {
        err = db_step(store, statement, "find a job", &row);
        if (row)
            found->rows[found->count++] = statement_i64(statement, 0);
    }
    statement_free(statement);
    return err;
}

/* Several users may have a job of this id: then the caller's own, else the one that an agent has seen on a node. */
static enum err find_whole_id(struct store *store, struct bytes job_id, struct found_jobs *found)
{
    char uid[16];
    snprintf(uid, sizeof uid, "%u", (unsigned)geteuid());
    enum err err = find(store, "SELECT id FROM jobs WHERE job_id = ?1 ORDER BY id LIMIT 2", job_id, (struct bytes){ 0 }, found);
    if (err != OK || found->count < 2)
        return err;
    struct found_jobs best = { .count = 0 };
    err = find(store, "SELECT id FROM jobs WHERE job_id = ?1 AND CAST(uid AS TEXT) = ?2", job_id, bytes_of(uid), &best);
    if (err == OK && !best.count)
        err = find(store, "SELECT DISTINCT jobs.id FROM jobs JOIN runs ON runs.job = jobs.id WHERE job_id = ?1"
                   " AND run_id LIKE 'agent/%' LIMIT 2", job_id, (struct bytes){ 0 }, &best);
    if (best.count == 1)
        *found = best;
    return err;
}

/* "4711@ada", with a name or a uid. */
static enum err find_id_of_user(struct store *store, const char *text, struct found_jobs *found)
{
    const char *at = strrchr(text, '@');
    if (!at)
        return OK;
    return find(store, "SELECT id FROM jobs WHERE job_id = ?1 AND (\"user\" = ?2 OR CAST(uid AS TEXT) = ?2) LIMIT 2",
                (struct bytes){ text, (size_t)(at - text) }, bytes_of(at + 1), found);
}

static enum err find_prefix(struct store *store, const char *job_id, struct found_jobs *found)
{
    struct buf last;
    buf_init(&last, SQL_MAX);
    buf_printf(&last, "%s\xf4\x8f\xbf\xbf", job_id); /* the highest code point */
    enum err err = buf_err(&last);
    if (err == OK)
        err = find(store, "SELECT id FROM jobs WHERE job_id BETWEEN ?1 AND ?2 AND substr(job_id, 1, length(?1)) = ?1 LIMIT 2",
                   bytes_of(job_id), (struct bytes){ last.data, last.size }, found);
    buf_clear(&last);
    return err;
}

static enum err find_by_id(struct store *store, const char *job_id, struct found_jobs *found)
{
    enum err err = find_whole_id(store, bytes_of(job_id), found);
    if (err == OK && found->count > 1)
        return db_error(store, USAGE, "several users have a job %s; select one with %s@USER", job_id, job_id);
    if (err == OK && !found->count)
        err = find_id_of_user(store, job_id, found);
    if (err == OK && !found->count)
        err = find_prefix(store, job_id, found);
    if (err == OK && found->count > 1)
        return db_error(store, USAGE, "job id %s is ambiguous; give more of it", job_id);
    return err;
}

static enum err find_row(struct store *store, const char *job_id, int64_t *row)
{
    struct found_jobs found = { .count = 0 };
    enum err err = job_id ? find_by_id(store, job_id, &found)
                          : db_number(store, "find a job", "SELECT job FROM runs ORDER BY id DESC LIMIT 1", 0, found.rows);
    *row = found.rows[0];
    if (err != OK || *row)
        return err;
    if (job_id)
        return db_error(store, ABSENT, "no job %s in the job database %s; list its jobs with 'sonde list'", job_id,
                        store->path);
    return db_error(store, ABSENT, "the job database %s contains no jobs; record one with 'sonde run -- COMMAND'", store->path);
}

static enum err keep(void *context, const struct store_job *job)
{
    *(struct store_job *)context = *job;
    return job_row_own(context);
}

static enum err read_row(struct store *store, int64_t row, struct store_job *job)
{
    struct statement *statement;
    enum err err = db_prepare(store, &statement, "read a job", "SELECT " JOB_ROW_COLUMNS " FROM jobs WHERE id = ?1");
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, row);
    err = read_rows(store, statement, false, keep, job);
    statement_free(statement);
    return err;
}

enum err store_job(struct store *store, const char *job_id, struct store_job *job)
{
    int64_t row;
    *job = (struct store_job){ 0 };
    bool begun = db_read_begin(store); /* so that the row found still exists when it is read */
    enum err err = find_row(store, job_id, &row);
    if (err == OK)
        err = read_row(store, row, job);
    db_read_end(store, begun);
    if (err != OK)
        store_job_clear(job);
    return err;
}

void store_job_clear(struct store_job *job)
{
    free(job->memory);
    *job = (struct store_job){ 0 };
}
