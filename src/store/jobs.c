/* Finds jobs: by what a person asked for, by id, or the last one. */
#include "store/store.h"

#include "store/db.h"
#include "store/job_row.h"

#include <stdlib.h>
#include <string.h>

#define SQL_MAX 65536

/* Largest or newest first, names from a to z; the second is for reverse. */
static const char *const orders[][2] = {
    [BY_START] = { "start_ns DESC, id DESC", "start_ns, id" },
    [BY_DURATION] = { "end_ns - start_ns DESC, id DESC", "end_ns - start_ns, id" },
    [BY_CPU] = { "coalesce(usertime, 0) + coalesce(systemtime, 0) DESC, id DESC",
                 "coalesce(usertime, 0) + coalesce(systemtime, 0), id" },
    [BY_MEMORY] = { "coalesce(rss_peak_bytes, rssmax * 1024) DESC, id DESC",
                    "coalesce(rss_peak_bytes, rssmax * 1024), id" },
    [BY_PROCESSES] = { "processes DESC, id DESC", "processes, id" },
    [BY_NAME] = { "name, start_ns DESC, id DESC", "name DESC, start_ns, id" },
    [BY_USER] = { "user, start_ns DESC, id DESC", "user DESC, start_ns, id" },
};

static void add_tag(struct buf *sql, const char *tag)
{
    buf_add_text(sql, " AND id IN (SELECT job FROM job_tags WHERE key = ?");
    buf_add_text(sql, strchr(tag, ':') ? " AND value = ?)" : ")");
}

static void make_sql(struct buf *sql, const struct store_filter *filter)
{
    buf_add_text(sql, "SELECT id FROM jobs WHERE 1");
    if (filter->user)
        buf_add_text(sql, " AND user = ?");
    if (filter->name)
        buf_add_text(sql, " AND name GLOB ?");
    if (filter->host)
        buf_add_text(sql, " AND id IN (SELECT job FROM runs WHERE host IN (SELECT id FROM hosts WHERE name = ?))");
    for (const char *const *tag = filter->tags; tag && *tag; tag++)
        add_tag(sql, *tag);
    if (filter->since_ns)
        buf_add_text(sql, " AND end_ns >= ?");
    if (filter->until_ns)
        buf_add_text(sql, " AND start_ns <= ?");
    buf_printf(sql, " ORDER BY %s LIMIT %lld", orders[filter->order][filter->reverse],
               filter->limit ? (long long)filter->limit : -1);
}

static void bind_text(sqlite3_stmt *statement, int *at, const char *text)
{
    if (text)
        sqlite3_bind_text(statement, (*at)++, text, -1, SQLITE_STATIC);
}

static void bind_tag(sqlite3_stmt *statement, int *at, const char *tag)
{
    const char *colon = strchr(tag, ':');
    sqlite3_bind_text(statement, (*at)++, tag, colon ? (int)(colon - tag) : -1, SQLITE_STATIC);
    bind_text(statement, at, colon ? colon + 1 : NULL);
}

/* In the order of make_sql. */
static void bind_filter(sqlite3_stmt *statement, const struct store_filter *filter)
{
    int at = 1;
    bind_text(statement, &at, filter->user);
    bind_text(statement, &at, filter->name);
    bind_text(statement, &at, filter->host);
    for (const char *const *tag = filter->tags; tag && *tag; tag++)
        bind_tag(statement, &at, *tag);
    if (filter->since_ns)
        sqlite3_bind_int64(statement, at++, (sqlite3_int64)filter->since_ns);
    if (filter->until_ns)
        sqlite3_bind_int64(statement, at++, (sqlite3_int64)filter->until_ns);
}

struct row_list {
    int64_t *rows;
    size_t count, room;
};

static bool row_list_add(struct row_list *list, int64_t row)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 256;
        int64_t *rows = realloc(list->rows, room * sizeof *rows);
        if (!rows)
            return false;
        list->rows = rows;
        list->room = room;
    }
    list->rows[list->count++] = row;
    return true;
}

static enum err collect(struct store *store, sqlite3_stmt *statement, struct row_list *list)
{
    bool row;
    for (;;) {
        enum err err = db_step(store, statement, "find jobs", &row);
        if (err != OK || !row)
            return err;
        if (!row_list_add(list, sqlite3_column_int64(statement, 0)))
            return NOMEM;
    }
}

static enum err find_rows(struct store *store, const struct store_filter *filter, struct row_list *list)
{
    sqlite3_stmt *statement;
    struct buf sql;
    buf_init(&sql, SQL_MAX);
    make_sql(&sql, filter);
    if (buf_err(&sql) != OK) {
        buf_clear(&sql);
        return db_say(store, USAGE, "too many tags asked for");
    }
    enum err err = db_prepare(store, &statement, "find jobs", buf_text(&sql));
    buf_clear(&sql);
    if (err != OK)
        return err;
    bind_filter(statement, filter);
    err = collect(store, statement, list);
    sqlite3_finalize(statement);
    return err;
}

/* Rows are found and sorted first and read afterwards, so that the sort moves numbers and not whole rows. */
static enum err tell_rows(struct store *store, const struct row_list *list, bool whole,
                          enum err (*each)(void *context, const struct store_job *job), void *context)
{
    sqlite3_stmt *statement;
    struct store_job job;
    struct buf words;
    enum err err = db_prepare(store, &statement, "read jobs",
                              whole ? "SELECT " JOB_ROW_COLUMNS " FROM jobs WHERE id = ?1"
                                    : "SELECT " JOB_ROW_COLUMNS_BRIEF " FROM jobs WHERE id = ?1");
    buf_init(&words, SIZE_MAX / 2);
    for (size_t i = 0; i < list->count && err == OK; i++) {
        bool row;
        sqlite3_bind_int64(statement, 1, list->rows[i]);
        err = db_step(store, statement, "read jobs", &row);
        if (row) {
            job_row_read(statement, whole, &job, &words);
            err = each(context, &job);
        }
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    buf_clear(&words);
    return err;
}

enum err store_jobs(struct store *store, const struct store_filter *filter,
                    enum err (*each)(void *context, const struct store_job *job), void *context)
{
    struct row_list list = { 0 };
    bool begun = db_read_begin(store);
    enum err err = find_rows(store, filter, &list);
    if (err == OK)
        err = tell_rows(store, &list, filter->whole, each, context);
    db_read_end(store, begun);
    free(list.rows);
    return err;
}

/* Id itself, or the jobs whose id begins so: at most two, for to know whether it is one. */
static enum err find_by_id(struct store *store, const char *job_id, struct row_list *list)
{
    static const char *const sql[] = {
        "SELECT id FROM jobs WHERE job_id = ?1",
        "SELECT id FROM jobs WHERE job_id BETWEEN ?1 AND ?1 || char(1114111) AND substr(job_id, 1, length(?1)) = ?1 LIMIT 2",
    };
    enum err err = OK;
    for (int i = 0; i < 2 && err == OK && !list->count; i++) {
        sqlite3_stmt *statement;
        err = db_prepare(store, &statement, "find a job", sql[i]);
        if (err != OK)
            return err;
        sqlite3_bind_text(statement, 1, job_id, -1, SQLITE_STATIC);
        err = collect(store, statement, list);
        sqlite3_finalize(statement);
    }
    return err;
}

static enum err find_last(struct store *store, struct row_list *list)
{
    int64_t row = 0;
    enum err err = db_number(store, "find a job", "SELECT job FROM runs ORDER BY id DESC LIMIT 1", 0, &row);
    if (err == OK && row && !row_list_add(list, row))
        return NOMEM;
    return err;
}

static enum err keep(void *context, const struct store_job *job)
{
    *(struct store_job *)context = *job;
    return job_row_own(context);
}

enum err store_job(struct store *store, const char *job_id, struct store_job *job)
{
    struct row_list list = { 0 };
    enum err err = job_id ? find_by_id(store, job_id, &list) : find_last(store, &list);
    *job = (struct store_job){ 0 };
    if (err == OK && list.count > 1)
        err = db_say(store, USAGE, "several jobs have an id that begins with %s. Give more of it", job_id);
    else if (err == OK && !list.count && job_id)
        err = db_say(store, ABSENT, "there is no job %s in the store %s. See what there is: sonde list", job_id,
                     store->path);
    else if (err == OK && !list.count)
        err = db_say(store, ABSENT, "there is no job in the store %s. Watch something: sonde run -- COMMAND",
                     store->path);
    if (err == OK)
        err = tell_rows(store, &list, true, keep, job);
    free(list.rows);
    return err;
}

void store_job_clear(struct store_job *job)
{
    free(job->memory);
    *job = (struct store_job){ 0 };
}
