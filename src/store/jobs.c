/* Finds jobs: by a filter, by id, or the last one. */
#include "store/store.h"

#include "store/db.h"
#include "store/filter.h"
#include "store/job_row.h"

#include <stdlib.h>

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

/* The row of the job with this id, or else of jobs whose id starts with it: at most two, to detect ambiguity. */
static enum err find_by_id(struct store *store, const char *job_id, int64_t rows[2], int *count)
{
    static const char *const sql[] = {
        "SELECT id FROM jobs WHERE job_id = ?1",
        "SELECT id FROM jobs WHERE job_id BETWEEN ?1 AND ?2 AND substr(job_id, 1, length(?1)) = ?1 LIMIT 2",
    };
    struct buf last;
    buf_init(&last, SQL_MAX);
    buf_printf(&last, "%s\xf4\x8f\xbf\xbf", job_id); /* the highest code point */
    enum err err = buf_err(&last);
    for (int i = 0; i < 2 && err == OK && !*count; i++) {
        struct statement *statement;
        bool row = true;
        err = db_prepare(store, &statement, "find a job", sql[i]);
        if (err != OK)
            break;
        statement_bind_text(statement, 1, bytes_of(job_id));
        if (i == 1)
            statement_bind_text(statement, 2, (struct bytes){ last.data, last.size });
        while (err == OK && row && *count < 2) {
            err = db_step(store, statement, "find a job", &row);
            if (row)
                rows[(*count)++] = statement_i64(statement, 0);
        }
        statement_free(statement);
    }
    buf_clear(&last);
    return err;
}

static enum err find_row(struct store *store, const char *job_id, int64_t *row)
{
    int64_t rows[2] = { 0 };
    int count = 0;
    enum err err = job_id ? find_by_id(store, job_id, rows, &count)
                          : db_number(store, "find a job", "SELECT job FROM runs ORDER BY id DESC LIMIT 1", 0, rows);
    *row = rows[0];
    if (err != OK || (*row && count < 2))
        return err;
    if (count > 1)
        return db_error(store, USAGE, "job id %s is ambiguous: several jobs start with it", job_id);
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
