/* Computes a job's row from the rows of its runs: earliest start, latest end, sums and peaks. Recomputed each time, so
 * that a run that is saved again does not count twice. */
#include "store/save.h"

#include "store/columns.h"
#include "store/peak.h"

#include <string.h>

#define SET_NUMBER(name) #name " = ?,"
#define SET_COUNTER(name, kind, unit, help) #name " = ?,"
#define SET_TOTAL(name, kind, unit, help) "total_" #name " = ?,"

/* The name of the user is the one stated first: later runs cannot change it. Strings and facts come from the first run that
 * has a command: those of agents have none. The status is that of the last run that failed, otherwise of the last one that
 * has a status. Hosts are listed by name, and the allocation of several runs on one host counts once. A total is unknown if
 * one host lacks it. */
#define FACTS_SQL \
    "UPDATE jobs SET \"user\" = (SELECT \"user\" FROM runs WHERE job = ?1 AND \"user\" IS NOT NULL" \
    " ORDER BY CASE WHEN uid = (SELECT uid FROM jobs WHERE id = ?1) THEN 0 ELSE 1 END, id LIMIT 1)," \
    " (name, cwd, command, period_ns) = (SELECT name, cwd, command, period_ns FROM runs WHERE job = ?1" \
    " ORDER BY command IS NULL, start_ns NULLS FIRST, id LIMIT 1)," \
    " (exit_code, exit_signal) = (SELECT exit_code, exit_signal FROM runs WHERE job = ?1 AND exit_code IS NOT NULL" \
    " ORDER BY exit_code = 0 AND exit_signal = 0, end_ns DESC NULLS LAST, id DESC LIMIT 1)," \
    " (hosts, host_count, cores, memory_bytes, cores_allowed_milli, memory_limit_bytes) =" \
    " (SELECT group_concat(name, ' '), count(*), CASE WHEN count(cores) = count(*) THEN sum(cores) END," \
    " CASE WHEN count(memory) = count(*) THEN sum(memory) END," \
    " CASE WHEN count(allowed) = count(*) THEN sum(allowed) END," \
    " CASE WHEN count(limited) = count(*) THEN sum(limited) END" \
    " FROM (SELECT hosts.name, max(hosts.cores) AS cores, max(hosts.memory_bytes) AS memory," \
    " max(runs.cores_allowed_milli) AS allowed, max(runs.memory_limit_bytes) AS limited" \
    " FROM runs JOIN hosts ON hosts.id = runs.host WHERE runs.job = ?1 GROUP BY hosts.name ORDER BY hosts.name)" \
    " AS host)," \
    " tags = (SELECT group_concat(key || coalesce(':' || value, ''), ';') FROM" \
    " (SELECT key, value FROM job_tags WHERE job = ?1 ORDER BY key) AS tag)" \
    " WHERE id = ?1"

/* Last column: the run is an agent's, and the job's processes on that host were recorded by sonde run too. */
#define SUMS_SELECT \
    "SELECT " COLUMNS_SUMMARY(COLUMNS_NAME, COLUMNS_COUNTER_NAME, COLUMNS_TOTAL_NAME) \
    "start_ns, end_ns, ended, CASE WHEN images = 0 AND EXISTS (SELECT 1 FROM runs watched JOIN hosts h ON h.id = watched.host" \
    " WHERE watched.job = ?1 AND watched.images > 0 AND h.name = (SELECT name FROM hosts WHERE id = runs.host))" \
    " THEN 1 ELSE 0 END FROM runs WHERE job = ?1 ORDER BY start_ns NULLS FIRST"
#define SUMS_SQL \
    "UPDATE jobs SET " COLUMNS_SUMMARY(SET_NUMBER, SET_COUNTER, SET_TOTAL) \
    "start_ns = ?, end_ns = ?, ended = ? WHERE id = ?"

/* For runs in order of their start. */
struct overlap {
    size_t runs;
    uint64_t end_ns; /* latest so far */
    bool found;      /* two ran at the same time */
};

struct sums {
    struct summary summary;
    uint64_t start_ns, end_ns; /* 0: unknown */
    bool ended;
    size_t runs;
    struct overlap recorded, nodes; /* of sonde run; of agents */
};

static enum err run_sql(struct saving *saving, int64_t job, const char *sql)
{
    struct statement *statement;
    enum err err = db_prepare(saving->store, &statement, "save a job", sql);
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, job);
    err = db_run(saving->store, statement, "save a job");
    statement_free(statement);
    return err;
}

/* "exp:alpha" or "exp": key and value. */
static enum err write_tag(struct saving *saving, struct statement *insert, struct bytes tag)
{
    const char *colon = tag.size ? memchr(tag.data, ':', tag.size) : NULL;
    size_t key_size = colon ? (size_t)(colon - tag.data) : tag.size;
    if (!key_size)
        return OK;
    columns_bind_bytes(insert, 2, (struct bytes){ tag.data, key_size });
    if (colon)
        statement_bind_text(insert, 3, (struct bytes){ colon + 1, tag.size - key_size - 1 });
    else
        statement_bind_null(insert, 3);
    return db_run(saving->store, insert, "save tags");
}

static enum err write_tags_of_run(struct saving *saving, struct statement *insert, struct bytes tags)
{
    enum err err = OK;
    for (size_t at = 0; at < tags.size && err == OK;) {
        const char *end = memchr(tags.data + at, ';', tags.size - at);
        size_t size = end ? (size_t)(end - tags.data) - at : tags.size - at;
        err = write_tag(saving, insert, (struct bytes){ tags.data + at, size });
        at += size + 1;
    }
    return err;
}

/* If two runs set the same key, the later value is kept. */
static enum err write_tags(struct saving *saving, int64_t job, struct statement *select, struct statement *insert)
{
    bool row = true;
    enum err err = OK;
    statement_bind_i64(select, 1, job);
    statement_bind_i64(insert, 1, job);
    while (err == OK) {
        err = db_step(saving->store, select, "save tags", &row);
        if (!row)
            break;
        err = write_tags_of_run(saving, insert, statement_bytes(select, 0));
    }
    return err;
}

static enum err save_tags(struct saving *saving, int64_t job)
{
    struct statement *select = NULL, *insert = NULL;
    enum err err = run_sql(saving, job, "DELETE FROM job_tags WHERE job = ?1");
    if (err == OK)
        err = db_prepare(saving->store, &select, "save tags",
                         "SELECT tags FROM runs WHERE job = ?1 AND tags IS NOT NULL ORDER BY start_ns NULLS FIRST, id");
    if (err == OK)
        err = db_prepare(saving->store, &insert, "save tags", "INSERT INTO job_tags VALUES (?1, ?2, ?3)"
                         " ON CONFLICT (job, key) DO UPDATE SET value = excluded.value");
    if (err == OK)
        err = write_tags(saving, job, select, insert);
    statement_free(select);
    statement_free(insert);
    return err;
}

static void update_overlap(struct overlap *overlap, uint64_t start_ns, uint64_t end_ns)
{
    overlap->runs++;
    overlap->found = overlap->found || start_ns < overlap->end_ns;
    overlap->end_ns = end_ns > overlap->end_ns ? end_ns : overlap->end_ns;
}

static void add_run(struct sums *sums, struct statement *select)
{
    struct summary summary;
    int at = columns_read_summary(select, 0, &summary);
    uint64_t start_ns = statement_u64(select, at);
    uint64_t end_ns = statement_u64(select, at + 1);
    if (statement_i64(select, at + 3)) { /* otherwise the same CPU time would count twice */
        uint64_t lost = summary.gaps.records_lost;
        summary = (struct summary){ .gaps.records_lost = lost };
    }
    summary_add(&sums->summary, &summary);
    update_overlap(summary.images ? &sums->recorded : &sums->nodes, start_ns, end_ns);
    if (start_ns && (!sums->start_ns || start_ns < sums->start_ns))
        sums->start_ns = start_ns;
    sums->end_ns = end_ns > sums->end_ns ? end_ns : sums->end_ns;
    sums->ended = sums->ended && statement_i64(select, at + 2);
    sums->runs++;
}

static enum err sum_runs(struct saving *saving, int64_t job, struct sums *sums)
{
    struct statement *select;
    bool row = true;
    *sums = (struct sums){ .ended = true };
    enum err err = db_prepare(saving->store, &select, "save a job", SUMS_SELECT);
    if (err != OK)
        return err;
    statement_bind_i64(select, 1, job);
    while (err == OK && row) {
        err = db_step(saving->store, select, "save a job", &row);
        if (row)
            add_run(sums, select);
    }
    statement_free(select);
    return err;
}

/* Runs that overlap may have had their peaks at different times, so their samples decide. Where sonde run recorded the
 * job, the agents' values are not used. */
static enum err add_peak(struct saving *saving, int64_t job, struct sums *sums)
{
    uint64_t bytes = 0;
    enum err err = OK;
    if (sums->recorded.found)
        err = peak_of_runs(saving->store, job, sums->recorded.runs, &bytes);
    else if (sums->nodes.found && !sums->recorded.runs)
        err = peak_of_nodes(saving->store, job, &bytes);
    if (err == OK && bytes > sums->summary.rss_peak_bytes)
        sums->summary.rss_peak_bytes = bytes;
    return err;
}

static enum err write_sums(struct saving *saving, int64_t job, const struct sums *sums)
{
    struct statement *statement;
    enum err err = db_prepare(saving->store, &statement, "save a job", SUMS_SQL);
    if (err != OK)
        return err;
    int at = columns_bind_summary(statement, 1, &sums->summary);
    columns_bind_known(statement, at++, sums->start_ns);
    columns_bind_known(statement, at++, sums->end_ns);
    statement_bind_i64(statement, at++, sums->ended);
    statement_bind_i64(statement, at++, job);
    err = db_run(saving->store, statement, "save a job");
    statement_free(statement);
    return err;
}

enum err save_job(struct saving *saving, int64_t job)
{
    struct sums sums;
    enum err err = save_tags(saving, job);
    if (err == OK)
        err = sum_runs(saving, job, &sums);
    if (err == OK && !sums.runs)
        return run_sql(saving, job, "DELETE FROM jobs WHERE id = ?1");
    if (err == OK)
        err = add_peak(saving, job, &sums);
    if (err == OK)
        err = write_sums(saving, job, &sums);
    return err == OK ? run_sql(saving, job, FACTS_SQL) : err;
}
