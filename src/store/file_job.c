/* A job's row from the rows of its runs: earliest start, latest end, sums and peaks. Made anew each time, so that a run
 * that is filed again does not count twice. */
#include "store/filing.h"

#include "store/columns.h"

#include <string.h>

/* The statements are longer than what C99 makes every compiler take; ours take them. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

#define AGGREGATE_COUNTER "sum"
#define AGGREGATE_GAUGE "max"
#define SUM_OF(name) "sum(" #name ") AS " #name ","
#define PEAK_OF(name) "max(" #name ") AS " #name ","
#define COUNTER_OF(name, kind, unit, help) AGGREGATE_##kind "(" #name ") AS " #name ","
#define TOTAL_OF(name, kind, unit, help) AGGREGATE_##kind "(total_" #name ") AS total_" #name ","
#define SET(name) #name " = s." #name ","
#define SET_COUNTER(name, kind, unit, help) #name " = s." #name ","
#define SET_TOTAL(name, kind, unit, help) "total_" #name " = s.total_" #name ","

/* s: sums over the runs; f: the first run; l: the last one whose exit status is known; h: the hosts, one row per name,
 * with what several runs on one host were allowed counted once. What one host does not tell is not known of the job. */
#define JOB_SQL \
    "UPDATE jobs SET name = f.name, user = f.user, uid = f.uid, cwd = f.cwd, command = f.command," \
    " period_ns = f.period_ns, exit_code = l.exit_code, exit_signal = l.exit_signal," \
    " hosts = h.names, host_count = h.count, cores = h.cores, memory_bytes = h.memory," \
    " cores_allowed_milli = h.allowed, memory_limit_bytes = h.limited," \
    " tags = (SELECT group_concat(key || coalesce(':' || value, ''), ';') FROM job_tags WHERE job = ?1)," \
    COLUMNS_SUMMARY(SET, SET_COUNTER, SET_TOTAL) \
    " start_ns = s.first_ns, end_ns = s.last_ns, ended = s.all_ended" \
    " FROM (SELECT " SUMMARY_SUMS(SUM_OF) SUMMARY_GAPS(SUM_OF) SUMMARY_PEAKS(PEAK_OF) \
    COUNTERS_LIST(COUNTER_OF) COUNTERS_LIST(TOTAL_OF) \
    " min(start_ns) AS first_ns, max(end_ns) AS last_ns, min(ended) AS all_ended FROM runs WHERE job = ?1) s," \
    " (SELECT * FROM runs WHERE job = ?1 ORDER BY start_ns, id LIMIT 1) f" \
    " LEFT JOIN (SELECT exit_code, exit_signal FROM runs WHERE job = ?1 AND exit_code IS NOT NULL" \
    " ORDER BY end_ns DESC, id DESC LIMIT 1) l," \
    " (SELECT group_concat(name, ' ') AS names, count(*) AS count," \
    " CASE WHEN count(cores) = count(*) THEN sum(cores) END AS cores," \
    " CASE WHEN count(memory) = count(*) THEN sum(memory) END AS memory," \
    " CASE WHEN count(allowed) = count(*) THEN sum(allowed) END AS allowed," \
    " CASE WHEN count(limited) = count(*) THEN sum(limited) END AS limited" \
    " FROM (SELECT hosts.name, max(hosts.cores) AS cores, max(hosts.memory_bytes) AS memory," \
    " max(runs.cores_allowed_milli) AS allowed, max(runs.memory_limit_bytes) AS limited" \
    " FROM runs JOIN hosts ON hosts.id = runs.host WHERE runs.job = ?1 GROUP BY hosts.name)) h" \
    " WHERE jobs.id = ?1"

static enum err run_sql(struct filing *filing, int64_t job, const char *sql)
{
    sqlite3_stmt *statement;
    enum err err = db_prepare(filing->store, &statement, "file a job", sql);
    if (err != OK)
        return err;
    sqlite3_bind_int64(statement, 1, job);
    err = db_run(filing->store, statement, "file a job");
    sqlite3_finalize(statement);
    return err;
}

/* "exp:alpha" or "exp": key and value. */
static enum err write_tag(struct filing *filing, sqlite3_stmt *insert, struct bytes tag)
{
    const char *colon = tag.size ? memchr(tag.data, ':', tag.size) : NULL;
    size_t key_size = colon ? (size_t)(colon - tag.data) : tag.size;
    if (!key_size)
        return OK;
    columns_bind_bytes(insert, 2, (struct bytes){ tag.data, key_size });
    if (colon)
        sqlite3_bind_text64(insert, 3, colon + 1, tag.size - key_size - 1, SQLITE_STATIC, SQLITE_UTF8);
    else
        sqlite3_bind_null(insert, 3);
    return db_run(filing->store, insert, "file tags");
}

static enum err write_tags_of_run(struct filing *filing, sqlite3_stmt *insert, struct bytes tags)
{
    enum err err = OK;
    for (size_t at = 0; at < tags.size && err == OK;) {
        const char *end = memchr(tags.data + at, ';', tags.size - at);
        size_t size = end ? (size_t)(end - tags.data) - at : tags.size - at;
        err = write_tag(filing, insert, (struct bytes){ tags.data + at, size });
        at += size + 1;
    }
    return err;
}

/* Where two runs give one key, the later one's value stays. */
static enum err write_tags(struct filing *filing, int64_t job, sqlite3_stmt *select, sqlite3_stmt *insert)
{
    bool row = true;
    enum err err = OK;
    sqlite3_bind_int64(select, 1, job);
    sqlite3_bind_int64(insert, 1, job);
    while (err == OK) {
        err = db_step(filing->store, select, "file tags", &row);
        if (!row)
            break;
        err = write_tags_of_run(filing, insert, columns_read_bytes(select, 0));
    }
    return err;
}

static enum err file_tags(struct filing *filing, int64_t job)
{
    sqlite3_stmt *select = NULL, *insert = NULL;
    enum err err = run_sql(filing, job, "DELETE FROM job_tags WHERE job = ?1");
    if (err == OK)
        err = db_prepare(filing->store, &select, "file tags",
                         "SELECT tags FROM runs WHERE job = ?1 AND tags IS NOT NULL ORDER BY start_ns, id");
    if (err == OK)
        err = db_prepare(filing->store, &insert, "file tags", "INSERT OR REPLACE INTO job_tags VALUES (?1, ?2, ?3)");
    if (err == OK)
        err = write_tags(filing, job, select, insert);
    sqlite3_finalize(select);
    sqlite3_finalize(insert);
    return err;
}

enum err file_job(struct filing *filing, int64_t job)
{
    int64_t runs = 0;
    enum err err = file_tags(filing, job);
    if (err == OK)
        err = db_number(filing->store, "file a job", "SELECT count(*) FROM runs WHERE job = ?1", job, &runs);
    if (err == OK)
        err = run_sql(filing, job, runs ? JOB_SQL : "DELETE FROM jobs WHERE id = ?1");
    return err;
}
