/* Saves process images in pre-order, and the executables that they ran. For a big job this is where the time goes: one
 * statement is bound again and again, NULLs are not bound twice, and nothing is allocated per row. */
#include "store/save.h"

#include "store/columns.h"
#include "store/shell_quote.h"

#include <stdlib.h>

#define PROCESS_SQL \
    "INSERT INTO processes (job, number," PROCESS_COLUMNS(COLUMNS_NAME) COUNTERS_LIST(COLUMNS_COUNTER_NAME) "args)" \
    " VALUES (?,?," PROCESS_COLUMNS(COLUMNS_PARAMETER) COUNTERS_LIST(COLUMNS_COUNTER_PARAMETER) "?)"

#define EXECUTABLE_SQL \
    "INSERT INTO run_executables (" EXECUTABLE_COLUMNS(COLUMNS_NAME) "job, run, executable)" \
    " VALUES (" EXECUTABLE_COLUMNS(COLUMNS_PARAMETER) "?,?,?)"

enum parameter {
    PROCESS_none,
    PROCESS_job,
    PROCESS_number,
#define X(name) PROCESS_##name,
    PROCESS_COLUMNS(X)
#undef X
    PROCESS_counters,
    PROCESS_args = PROCESS_counters + COUNTERS_SIZE,
};

struct process_writer {
    struct saving *saving;
    struct statement *statement;
    struct intern directories, tag_sets;
    struct buf args;
    uint64_t bound;   /* counters that are not NULL in the statement now */
    uint32_t *depths; /* per process of the run */
    struct top_list top;
};

static void bind_number(struct process_writer *writer, int at, uint64_t value)
{
    statement_bind_u64(writer->statement, at, (uint64_t)value);
}

static void bind_if(struct process_writer *writer, int at, bool known, uint64_t value)
{
    if (known)
        statement_bind_u64(writer->statement, at, (uint64_t)value);
    else
        statement_bind_null(writer->statement, at);
}

static void bind_position(struct process_writer *writer, uint32_t i, const struct process *process)
{
    uint32_t first = writer->saving->first;
    bool child = process->parent < i;
    writer->depths[i] = child ? writer->depths[process->parent] + 1 : 0;
    bind_number(writer, PROCESS_number, first + i);
    bind_if(writer, PROCESS_parent, child, (uint64_t)first + process->parent);
    bind_number(writer, PROCESS_last, (uint64_t)first + (process->last > i ? process->last : i));
    bind_number(writer, PROCESS_depth, writer->depths[i]);
}

static void bind_facts(struct process_writer *writer, const struct process *process)
{
    bind_number(writer, PROCESS_image, process->image);
    bind_if(writer, PROCESS_pid, process->pid, process->pid);
    bind_if(writer, PROCESS_ppid, process->ppid, process->ppid);
    bind_if(writer, PROCESS_pgid, process->pgid_known, process->pgid);
    bind_if(writer, PROCESS_sid, process->sid_known, process->sid);
    bind_if(writer, PROCESS_uid, process->uid_known, process->uid);
    bind_number(writer, PROCESS_state, process->state);
    bind_if(writer, PROCESS_exit_code, process->status_known, process->exit_code);
    bind_if(writer, PROCESS_exit_signal, process->status_known, process->exit_signal);
    bind_if(writer, PROCESS_start_ns, process->start_ns, process->start_ns);
    bind_if(writer, PROCESS_end_ns, process->end_ns, process->end_ns);
    bind_number(writer, PROCESS_inclusive_cpu_us, process->inclusive_cpu_us);
    bind_number(writer, PROCESS_thread_count, process->thread_count);
    bind_number(writer, PROCESS_sources, process->sources);
}

static void bind_counters(struct process_writer *writer, const struct counters *counters)
{
    uint64_t known = counters->known & ((1ull << COUNTERS_SIZE) - 1), gone = writer->bound & ~known;
    for (uint64_t left = gone; left; left &= left - 1)
        statement_bind_null(writer->statement, PROCESS_counters + __builtin_ctzll(left));
    for (uint64_t left = known; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        statement_bind_u64(writer->statement, PROCESS_counters + i, (uint64_t)counters->value[i]);
    }
    writer->bound = known;
}

static enum err bind_strings(struct process_writer *writer, uint32_t i, const struct process *process)
{
    int64_t directory, tag_set;
    enum err err = intern_id(&writer->directories, process->cwd, &directory);
    if (err == OK)
        err = intern_id(&writer->tag_sets, process->tags, &tag_set);
    if (err != OK)
        return err;
    uint32_t executable = writer->saving->executables.of_process[i];
    bind_number(writer, PROCESS_executable, (uint64_t)writer->saving->executable_rows[executable]);
    bind_if(writer, PROCESS_directory, directory, (uint64_t)directory);
    bind_if(writer, PROCESS_tag_set, tag_set, (uint64_t)tag_set);
    buf_reset(&writer->args);
    shell_quote_encode(&writer->args, process->args);
    if (writer->args.size)
        statement_bind_text(writer->statement, PROCESS_args, (struct bytes){ writer->args.data, writer->args.size });
    else
        statement_bind_null(writer->statement, PROCESS_args);
    return buf_err(&writer->args);
}

static enum err write_process(struct process_writer *writer, uint32_t i)
{
    const struct process *process = &writer->saving->run->processes[i];
    enum err err = bind_strings(writer, i, process);
    if (err != OK)
        return err;
    bind_position(writer, i, process);
    bind_facts(writer, process);
    bind_counters(writer, &process->counters);
    top_list_offer(&writer->top, counters_cpu_us(&process->counters), writer->saving->first + i, 0);
    return db_run(writer->saving->store, writer->statement, "save processes");
}

static enum err write_top(struct process_writer *writer)
{
    struct statement *statement;
    enum err err = db_prepare(writer->saving->store, &statement, "save the top list",
                              "INSERT INTO top_processes VALUES (?1,?2,?3,?4)");
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, writer->saving->job);
    statement_bind_i64(statement, 2, writer->saving->run_row);
    for (size_t i = 0; i < writer->top.count && err == OK; i++) {
        statement_bind_i64(statement, 3, writer->top.items[i].a);
        statement_bind_u64(statement, 4, (uint64_t)writer->top.items[i].value);
        err = db_run(writer->saving->store, statement, "save the top list");
    }
    statement_free(statement);
    return err;
}

static enum err write_all(struct process_writer *writer)
{
    struct saving *saving = writer->saving;
    enum err err = db_prepare_bulk(saving->store, &writer->statement, "save processes", PROCESS_SQL);
    if (err == OK)
        err = intern_open(&writer->directories, saving->store, "SELECT id FROM directories WHERE path = ?1",
                          "INSERT INTO directories (path) VALUES (?1)");
    if (err == OK)
        err = intern_open(&writer->tag_sets, saving->store, "SELECT id FROM tag_sets WHERE tags = ?1",
                          "INSERT INTO tag_sets (tags) VALUES (?1)");
    if (err != OK)
        return err;
    statement_bind_i64(writer->statement, PROCESS_job, saving->job);
    statement_bind_i64(writer->statement, PROCESS_run, saving->run_row);
    for (uint32_t i = 0; i < saving->run->process_count && err == OK; i++)
        err = write_process(writer, i);
    if (err == OK)
        err = db_finish(saving->store, &writer->statement, "save processes");
    return err == OK ? write_top(writer) : err;
}

/* The row of an executable, found or inserted. */
static enum err find_executable(struct saving *saving, const struct summary_executable *executable, int64_t *row)
{
    static const char *const sql[] = { "SELECT id FROM executables WHERE path IS ?1 AND name IS ?2",
                                       "INSERT INTO executables (path, name) VALUES (?1, ?2)" };
    bool found = false;
    enum err err = OK;
    for (int i = 0; i < 2 && !found && err == OK; i++) {
        struct statement *statement;
        err = db_prepare(saving->store, &statement, "save executables", sql[i]);
        if (err != OK)
            return err;
        columns_bind_bytes(statement, 1, executable->path);
        columns_bind_bytes(statement, 2, executable->name);
        err = db_step(saving->store, statement, "save executables", &found);
        *row = found ? statement_i64(statement, 0) : db_last_id(saving->store);
        statement_free(statement);
    }
    return err;
}

static enum err write_executable(struct saving *saving, struct statement *statement, size_t i)
{
    const struct summary_executable *executable = &saving->executables.items[i];
    enum err err = find_executable(saving, executable, &saving->executable_rows[i]);
    int at = 1;
    if (err != OK)
        return err;
#define X(field) statement_bind_u64(statement, at++, (uint64_t)executable->field);
    EXECUTABLE_COLUMNS(X)
#undef X
    statement_bind_i64(statement, at++, saving->job);
    statement_bind_i64(statement, at++, saving->run_row);
    statement_bind_i64(statement, at++, saving->executable_rows[i]);
    return db_run(saving->store, statement, "save executables");
}

static enum err write_executables(struct saving *saving)
{
    struct statement *statement;
    enum err err = db_prepare_bulk(saving->store, &statement, "save executables", EXECUTABLE_SQL);
    for (size_t i = 0; i < saving->executables.count && err == OK; i++)
        err = write_executable(saving, statement, i);
    if (err == OK)
        err = db_finish(saving->store, &statement, "save executables");
    statement_free(statement);
    return err;
}

enum err save_processes(struct saving *saving)
{
    struct process_writer writer = { .saving = saving };
    enum err err = write_executables(saving);
    if (err != OK)
        return err;
    buf_init(&writer.args, SIZE_MAX / 2);
    writer.depths = malloc((saving->run->process_count + 1) * sizeof *writer.depths);
    err = writer.depths ? write_all(&writer) : NOMEM;
    free(writer.depths);
    buf_clear(&writer.args);
    intern_close(&writer.directories);
    intern_close(&writer.tag_sets);
    statement_free(writer.statement);
    return err;
}
