/* A job's row from the rows of its runs: earliest start, latest end, sums and peaks. Made anew each time, so that a run
 * that is filed again does not count twice. */
#include "store/saving.h"

#include "store/columns.h"
#include "store/peak.h"

#include <string.h>

#define SET_NUMBER(name) #name " = ?,"
#define SET_COUNTER(name, kind, unit, help) #name " = ?,"
#define SET_TOTAL(name, kind, unit, help) "total_" #name " = ?,"

/* Texts and facts: of the first run; the status of the last one whose status is known; hosts one by one by name, with
 * what several runs on one host were allowed counted once. What one host does not tell is not known of the job. */
#define FACTS_SQL \
    "UPDATE jobs SET (name, \"user\", uid, cwd, command, period_ns) =" \
    " (SELECT name, \"user\", uid, cwd, command, period_ns FROM runs WHERE job = ?1 ORDER BY start_ns NULLS FIRST, id LIMIT 1)," \
    " (exit_code, exit_signal) = (SELECT exit_code, exit_signal FROM runs WHERE job = ?1 AND exit_code IS NOT NULL" \
    " ORDER BY end_ns DESC NULLS LAST, id DESC LIMIT 1)," \
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

/* The last column: the run is an agent's, and the processes of the job on that host were watched too. */
#define SUMS_SELECT \
    "SELECT " COLUMNS_SUMMARY(COLUMNS_NAME, COLUMNS_COUNTER_NAME, COLUMNS_TOTAL_NAME) \
    "start_ns, end_ns, ended, CASE WHEN images = 0 AND EXISTS (SELECT 1 FROM runs watched JOIN hosts h ON h.id = watched.host" \
    " WHERE watched.job = ?1 AND watched.images > 0 AND h.name = (SELECT name FROM hosts WHERE id = runs.host))" \
    " THEN 1 ELSE 0 END FROM runs WHERE job = ?1 ORDER BY start_ns NULLS FIRST"
#define SUMS_SQL \
    "UPDATE jobs SET " COLUMNS_SUMMARY(SET_NUMBER, SET_COUNTER, SET_TOTAL) \
    "start_ns = ?, end_ns = ?, ended = ? WHERE id = ?"

/* Of runs that come in the order of their starts. */
struct overlap {
    size_t runs;
    uint64_t end_ns; /* of the last of them that ended */
    bool found;      /* two were there at the same time */
};

struct sums {
    struct summary summary;
    uint64_t start_ns, end_ns; /* 0: not known */
    bool ended;
    size_t runs;
    struct overlap watched, nodes; /* of sonde run; of agents */
};

static enum err run_sql(struct filing *filing, int64_t job, const char *sql)
{
    struct statement *statement;
    enum err err = db_prepare(filing->store, &statement, "file a job", sql);
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, job);
    err = db_run(filing->store, statement, "file a job");
    statement_free(statement);
    return err;
}

/* "exp:alpha" or "exp": key and value. */
static enum err write_tag(struct filing *filing, struct statement *insert, struct bytes tag)
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
    return db_run(filing->store, insert, "file tags");
}

static enum err write_tags_of_run(struct filing *filing, struct statement *insert, struct bytes tags)
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
static enum err write_tags(struct filing *filing, int64_t job, struct statement *select, struct statement *insert)
{
    bool row = true;
    enum err err = OK;
    statement_bind_i64(select, 1, job);
    statement_bind_i64(insert, 1, job);
    while (err == OK) {
        err = db_step(filing->store, select, "file tags", &row);
        if (!row)
            break;
        err = write_tags_of_run(filing, insert, statement_bytes(select, 0));
    }
    return err;
}

static enum err file_tags(struct filing *filing, int64_t job)
{
    struct statement *select = NULL, *insert = NULL;
    enum err err = run_sql(filing, job, "DELETE FROM job_tags WHERE job = ?1");
    if (err == OK)
        err = db_prepare(filing->store, &select, "file tags",
                         "SELECT tags FROM runs WHERE job = ?1 AND tags IS NOT NULL ORDER BY start_ns NULLS FIRST, id");
    if (err == OK)
        err = db_prepare(filing->store, &insert, "file tags", "INSERT INTO job_tags VALUES (?1, ?2, ?3)"
                         " ON CONFLICT (job, key) DO UPDATE SET value = excluded.value");
    if (err == OK)
        err = write_tags(filing, job, select, insert);
    statement_free(select);
    statement_free(insert);
    return err;
}

static void look_for_overlap(struct overlap *overlap, uint64_t start_ns, uint64_t end_ns)
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
    if (statement_i64(select, at + 3)) { /* else the same CPU time would be there twice */
        uint64_t lost = summary.gaps.records_lost;
        summary = (struct summary){ .gaps.records_lost = lost };
    }
    summary_add(&sums->summary, &summary);
    look_for_overlap(summary.images ? &sums->watched : &sums->nodes, start_ns, end_ns);
    if (start_ns && (!sums->start_ns || start_ns < sums->start_ns))
        sums->start_ns = start_ns;
    sums->end_ns = end_ns > sums->end_ns ? end_ns : sums->end_ns;
    sums->ended = sums->ended && statement_i64(select, at + 2);
    sums->runs++;
}

static enum err sum_runs(struct filing *filing, int64_t job, struct sums *sums)
{
    struct statement *select;
    bool row = true;
    *sums = (struct sums){ .ended = true };
    enum err err = db_prepare(filing->store, &select, "file a job", SUMS_SELECT);
    if (err != OK)
        return err;
    statement_bind_i64(select, 1, job);
    while (err == OK && row) {
        err = db_step(filing->store, select, "file a job", &row);
        if (row)
            add_run(sums, select);
    }
    statement_free(select);
    return err;
}

/* The peaks of runs at the same time need not have been at the same moment: only their samples tell. Where sonde run watched,
 * what it saw counts, not what agents did. */
static enum err add_peak(struct filing *filing, int64_t job, struct sums *sums)
{
    uint64_t bytes = 0;
    enum err err = OK;
    if (sums->watched.found)
        err = peak_of_runs(filing->store, job, sums->watched.runs, &bytes);
    else if (sums->nodes.found && !sums->watched.runs)
        err = peak_of_nodes(filing->store, job, &bytes);
    if (err == OK && bytes > sums->summary.rss_peak_bytes)
        sums->summary.rss_peak_bytes = bytes;
    return err;
}

static enum err write_sums(struct filing *filing, int64_t job, const struct sums *sums)
{
    struct statement *statement;
    enum err err = db_prepare(filing->store, &statement, "file a job", SUMS_SQL);
    if (err != OK)
        return err;
    int at = columns_bind_summary(statement, 1, &sums->summary);
    columns_bind_known(statement, at++, sums->start_ns);
    columns_bind_known(statement, at++, sums->end_ns);
    statement_bind_i64(statement, at++, sums->ended);
    statement_bind_i64(statement, at++, job);
    err = db_run(filing->store, statement, "file a job");
    statement_free(statement);
    return err;
}

enum err file_job(struct filing *filing, int64_t job)
{
    struct sums sums;
    enum err err = file_tags(filing, job);
    if (err == OK)
        err = sum_runs(filing, job, &sums);
    if (err == OK && !sums.runs)
        return run_sql(filing, job, "DELETE FROM jobs WHERE id = ?1");
    if (err == OK)
        err = add_peak(filing, job, &sums);
    if (err == OK)
        err = write_sums(filing, job, &sums);
    return err == OK ? run_sql(filing, job, FACTS_SQL) : err;
}
