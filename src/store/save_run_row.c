/* Saves the rows of a run, its host and its job, and deletes what was saved before for the same run. */
#include "store/save.h"

#include "store/columns.h"
#include "store/shell_quote.h"

#define RUN_SQL \
    "INSERT INTO runs (" RUN_STRINGS(COLUMNS_NAME) RUN_NUMBERS(COLUMNS_NAME) \
    COLUMNS_SUMMARY(COLUMNS_NAME, COLUMNS_COUNTER_NAME, COLUMNS_TOTAL_NAME) "id) VALUES (" \
    RUN_STRINGS(COLUMNS_PARAMETER) RUN_NUMBERS(COLUMNS_PARAMETER) \
    COLUMNS_SUMMARY(COLUMNS_PARAMETER, COLUMNS_COUNTER_PARAMETER, COLUMNS_COUNTER_PARAMETER) "NULL)"

enum run_parameter {
    RUN_none,
#define X(name) RUN_##name,
    RUN_STRINGS(X) RUN_NUMBERS(X)
#undef X
    RUN_summary,
};

/* The tables with rows of a run, selected by run or by process numbers. */
static const char *const by_run[] = {
    "DELETE FROM run_executables WHERE job = ?1 AND run = ?2",
    "DELETE FROM top_processes WHERE job = ?1 AND run = ?2",
    "DELETE FROM top_threads WHERE job = ?1 AND run = ?2",
    "DELETE FROM run_events WHERE job = ?1 AND run = ?2",
    "DELETE FROM series WHERE job = ?1 AND run = ?2",
    "DELETE FROM processes WHERE job = ?1 AND number BETWEEN ?3 AND ?4",
    "DELETE FROM threads WHERE job = ?1 AND process BETWEEN ?3 AND ?4",
    "DELETE FROM process_events WHERE job = ?1 AND process BETWEEN ?3 AND ?4",
    "DELETE FROM thread_events WHERE job = ?1 AND process BETWEEN ?3 AND ?4",
    "DELETE FROM runs WHERE id = ?2 AND job = ?1",
};

struct saved_run {
    int64_t job, run, first, last;
};

static enum err remove_rows(struct store *store, const struct saved_run *range)
{
    enum err err = OK;
    for (size_t i = 0; i < sizeof by_run / sizeof by_run[0] && err == OK; i++) {
        struct statement *statement;
        err = db_prepare(store, &statement, "replace a run", by_run[i]);
        if (err != OK)
            return err;
        statement_bind_i64(statement, 1, range->job);
        statement_bind_i64(statement, 2, range->run);
        statement_bind_i64(statement, 3, range->first);
        statement_bind_i64(statement, 4, range->last);
        err = db_run(store, statement, "replace a run");
        statement_free(statement);
    }
    return err;
}

enum err save_run_row_remove(struct saving *saving, int64_t *old_job)
{
    struct statement *statement;
    struct saved_run range = { 0 };
    bool found;
    uint32_t uid = saving->run->uid;
    enum err err = db_prepare(saving->store, &statement, "look up a run",
                              "SELECT job, id, first_process, last_process, coalesce(uid, 4294967295) FROM runs"
                              " WHERE run_id = ?1");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, saving->run->id);
    err = db_step(saving->store, statement, "look up a run", &found);
    if (found)
        range = (struct saved_run){ statement_i64(statement, 0), statement_i64(statement, 1),
                                statement_i64(statement, 2), statement_i64(statement, 3) };
    bool is_foreign = found && (uint32_t)statement_i64(statement, 4) != uid;
    statement_free(statement);
    if (err != OK || !found)
        return err;
    if (is_foreign)
        return db_error(saving->store, USAGE, "another user has saved a run with the same id");
    *old_job = range.job;
    return remove_rows(saving->store, &range);
}

static void bind_host(struct statement *statement, const struct host *host)
{
    columns_bind_bytes(statement, 1, host->name);
    columns_bind_bytes(statement, 2, host->kernel);
    columns_bind_bytes(statement, 3, host->cpu_model);
    columns_bind_known(statement, 4, host->cores);
    columns_bind_known(statement, 5, host->memory_bytes);
}

/* A host has one row as long as it does not change: a new kernel or more memory adds another. */
static enum err find_host(struct saving *saving, const char *sql, int64_t *row)
{
    struct statement *statement;
    bool found;
    enum err err = db_prepare(saving->store, &statement, "save a host", sql);
    if (err != OK)
        return err;
    bind_host(statement, &saving->run->host);
    err = db_step(saving->store, statement, "save a host", &found);
    *row = found ? statement_i64(statement, 0) : 0;
    statement_free(statement);
    return err;
}

static enum err save_host(struct saving *saving, int64_t *row)
{
    enum err err = find_host(saving, "SELECT id FROM hosts WHERE name IS ?1 AND kernel IS ?2 AND cpu_model IS ?3 AND"
                             " cores IS ?4 AND memory_bytes IS ?5", row);
    if (err != OK || *row)
        return err;
    err = find_host(saving, "INSERT INTO hosts (name, kernel, cpu_model, cores, memory_bytes)"
                    " VALUES (?1,?2,?3,?4,?5)", row);
    *row = db_last_id(saving->store);
    return err;
}

static void bind_run(struct statement *statement, const struct saving *saving, int64_t host, struct bytes command)
{
    const struct run *run = saving->run;
    columns_bind_bytes(statement, RUN_run_id, run->id);
    columns_bind_bytes(statement, RUN_name, run->name);
    columns_bind_bytes(statement, RUN_user, run->user);
    columns_bind_bytes(statement, RUN_cwd, run->cwd);
    columns_bind_bytes(statement, RUN_command, command);
    columns_bind_bytes(statement, RUN_tags, run->tags);
    statement_bind_i64(statement, RUN_job, saving->job);
    statement_bind_i64(statement, RUN_host, host);
    statement_bind_i64(statement, RUN_first_process, saving->first);
    statement_bind_i64(statement, RUN_last_process, (int64_t)saving->first + (int64_t)run->process_count - 1);
    if (run->uid != UINT32_MAX)
        statement_bind_i64(statement, RUN_uid, run->uid);
    columns_bind_known(statement, RUN_start_ns, run->start_ns);
    columns_bind_known(statement, RUN_end_ns, run->end_ns);
    statement_bind_i64(statement, RUN_ended, run->ended);
    if (run->status_known) {
        statement_bind_i64(statement, RUN_exit_code, run->exit_code);
        statement_bind_i64(statement, RUN_exit_signal, run->exit_signal);
    }
    columns_bind_known(statement, RUN_cores_allowed_milli, run->cores_allowed_milli);
    columns_bind_known(statement, RUN_memory_limit_bytes, run->memory_limit_bytes);
    columns_bind_known(statement, RUN_period_ns, run->period_ns);
    columns_bind_summary(statement, RUN_summary, &saving->summary);
}

static enum err insert_run(struct saving *saving, int64_t host)
{
    struct statement *statement;
    struct buf command;
    enum err err = db_prepare(saving->store, &statement, "save a run", RUN_SQL);
    if (err != OK)
        return err;
    buf_init(&command, SIZE_MAX / 2);
    shell_quote_encode(&command, saving->run->command);
    bind_run(statement, saving, host, (struct bytes){ command.data, command.size });
    err = buf_err(&command) == OK ? db_run(saving->store, statement, "save a run") : NOMEM;
    saving->run_row = db_last_id(saving->store);
    statement_free(statement);
    buf_clear(&command);
    return err;
}

enum err save_run_row(struct saving *saving)
{
    int64_t host = 0;
    enum err err = save_host(saving, &host);
    return err == OK ? insert_run(saving, host) : err;
}

enum err save_run_row_with_job(struct saving *saving)
{
    int64_t last = -1;
    enum err err = save_job_find(saving);
    if (err == OK)
        err = db_number(saving->store, "look up runs", "SELECT max(last_process) FROM runs WHERE job = ?1",
                        saving->job, &last);
    if (err == OK && last + (int64_t)saving->run->process_count >= UINT32_MAX)
        return db_error(saving->store, FULL, "the job has reached the limit of 4,294,967,294 processes");
    saving->first = (uint32_t)(last + 1);
    return err == OK ? save_run_row(saving) : err;
}
