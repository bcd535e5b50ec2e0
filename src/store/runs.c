/* Reads rows of the table runs into structs that own their strings. */
#include "store/runs.h"

#include "base/vec.h"
#include "store/db.h"
#include "store/shell_quote.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_SQL \
    "SELECT h.name, r.\"user\", r.command, r.uid, r.first_process, r.last_process, r.start_ns, r.end_ns, r.ended, r.exit_code," \
    " r.exit_signal, CASE WHEN r.run_id LIKE 'agent/%' THEN 1 ELSE 0 END" \
    " FROM runs r LEFT JOIN hosts h ON h.id = r.host WHERE r.job = ?1 ORDER BY r.start_ns NULLS FIRST, r.id"

enum run_column { RUN_host, RUN_user, RUN_command, RUN_uid, RUN_first, RUN_last, RUN_start_ns, RUN_end_ns, RUN_ended,
                  RUN_exit_code, RUN_exit_signal, RUN_by_agent };

/* Copies host, user and command into one allocation. */
static enum err copy_strings(struct store_run *run, const struct statement *statement)
{
    struct buf memory;
    const char *host = statement_text(statement, RUN_host), *user = statement_text(statement, RUN_user);
    size_t user_at = strlen(host) + 1, command_at = user_at + strlen(user) + 1;
    buf_init(&memory, SIZE_MAX / 2);
    buf_add(&memory, host, user_at);
    buf_add(&memory, user, command_at - user_at);
    shell_quote_decode(&memory, statement_bytes(statement, RUN_command));
    run->memory = malloc(memory.size);
    if (buf_err(&memory) || !run->memory) {
        buf_clear(&memory);
        return NOMEM;
    }
    size_t size = memory.size - command_at;
    memcpy(run->memory, memory.data, memory.size);
    buf_clear(&memory);
    run->host = run->memory;
    run->user = run->memory + user_at;
    run->command = (struct bytes){ run->memory + command_at, size < STORE_RUN_COMMAND_MAX ? size : STORE_RUN_COMMAND_MAX };
    return OK;
}

static enum err add_run(struct store_runs *runs, const struct statement *statement)
{
    if (array_reserve(runs->list, runs->capacity, runs->count + 1, VEC_MAX))
        return NOMEM;
    struct store_run *run = &runs->list[runs->count++];
    int64_t first = statement_i64(statement, RUN_first), last = statement_i64(statement, RUN_last);
    *run = (struct store_run){
        .uid = (uint32_t)statement_u64(statement, RUN_uid), .first_process = (uint32_t)first,
        .process_count = statement_is_known(statement, RUN_last) && last >= first ? (size_t)(last - first) + 1 : 0,
        .start_ns = statement_u64(statement, RUN_start_ns), .end_ns = statement_u64(statement, RUN_end_ns),
        .ended = statement_u64(statement, RUN_ended), .status_known = statement_is_known(statement, RUN_exit_code),
        .exit_code = (uint8_t)statement_u64(statement, RUN_exit_code),
        .exit_signal = (uint8_t)statement_u64(statement, RUN_exit_signal),
        .by_agent = statement_i64(statement, RUN_by_agent) != 0,
    };
    return copy_strings(run, statement);
}

enum err store_runs_read(struct store_runs *runs, struct store *store, int64_t job_row)
{
    struct statement *statement;
    bool row = true;
    *runs = (struct store_runs){ 0 };
    enum err err = db_prepare(store, &statement, "read runs", RUNS_SQL);
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, job_row);
    while (err == OK) {
        err = db_step(store, statement, "read runs", &row);
        if (err != OK || !row)
            break;
        err = add_run(runs, statement);
    }
    statement_free(statement);
    return err;
}

void store_runs_clear(struct store_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        free(runs->list[i].memory);
    free(runs->list);
    *runs = (struct store_runs){ 0 };
}

static bool has(const struct store_run *run, uint32_t number)
{
    return number - run->first_process < run->process_count; /* a smaller number wraps around to a huge one */
}

const struct store_run *store_runs_find(struct store_runs *runs, uint32_t number)
{
    if (runs->last < runs->count && has(&runs->list[runs->last], number))
        return &runs->list[runs->last];
    for (size_t i = 0; i < runs->count; i++) {
        if (!has(&runs->list[i], number))
            continue;
        runs->last = i;
        return &runs->list[i];
    }
    return NULL;
}

const char *store_run_user(const struct store_run *run, const struct process *process)
{
    bool is_same = run && process->uid_known && process->uid == run->uid;
    return is_same && run->user[0] ? run->user : NULL;
}
