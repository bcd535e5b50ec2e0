/* Which job a run belongs to. A job is identified by its id and its owner: users choose the id of a run freely, so that the
 * same id of another user is another job. Agents know the owner from the kernel or the batch system, sometimes only after
 * a while; root's runs join the job that an agent has seen. */
#include "store/save.h"

#include "store/columns.h"

#define UNKNOWN UINT32_MAX

static const char of_owner[] = "SELECT id FROM jobs WHERE job_id = ?1 AND uid = ?2";
static const char without_owner[] = "SELECT id FROM jobs WHERE job_id = ?1 AND uid IS NULL";
static const char seen_by_agent[] =
    "SELECT max(jobs.id) FROM jobs JOIN runs ON runs.job = jobs.id WHERE jobs.job_id = ?1 AND jobs.uid IS NOT NULL"
    " AND runs.run_id LIKE 'agent/%'";

/* Selects by the job's id, and by the owner in of_owner. *row: 0 if there is none. */
static enum err look_up(struct saving *saving, const char *sql, int64_t *row)
{
    const struct run *run = saving->run;
    struct statement *statement;
    bool found = false;
    enum err err = db_prepare(saving->store, &statement, "look up a job", sql);
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, run->job_id.size ? run->job_id : run->id);
    if (sql == of_owner)
        statement_bind_i64(statement, 2, run->uid);
    err = db_step(saving->store, statement, "look up a job", &found);
    *row = found ? statement_i64(statement, 0) : 0;
    statement_free(statement);
    return err;
}

/* Only agents state jobs without an owner, so the row has nobody else's data. */
static enum err set_owner(struct saving *saving, int64_t row)
{
    struct statement *statement;
    enum err err = db_prepare(saving->store, &statement, "save a job", "UPDATE jobs SET uid = ?1 WHERE id = ?2");
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, saving->run->uid);
    statement_bind_i64(statement, 2, row);
    err = db_run(saving->store, statement, "save a job");
    statement_free(statement);
    return err;
}

static enum err insert(struct saving *saving)
{
    const struct run *run = saving->run;
    struct statement *statement;
    enum err err = db_prepare(saving->store, &statement, "save a job", "INSERT INTO jobs (job_id, uid) VALUES (?1, ?2)");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, run->job_id.size ? run->job_id : run->id);
    if (run->uid == UNKNOWN)
        statement_bind_null(statement, 2);
    else
        statement_bind_i64(statement, 2, run->uid);
    err = db_run(saving->store, statement, "save a job");
    saving->job = db_last_id(saving->store);
    statement_free(statement);
    return err;
}

enum err save_job_find(struct saving *saving)
{
    uint32_t uid = saving->run->uid;
    bool is_known = uid != UNKNOWN;
    enum err err = is_known ? look_up(saving, of_owner, &saving->job) : OK;
    if (err == OK && !saving->job && (!is_known || saving->by_agent)) {
        err = look_up(saving, without_owner, &saving->job);
        if (err == OK && saving->job && is_known)
            err = set_owner(saving, saving->job);
    }
    if (err == OK && !saving->job && (uid == 0 || !is_known))
        err = look_up(saving, seen_by_agent, &saving->job);
    return err == OK && !saving->job ? insert(saving) : err;
}
