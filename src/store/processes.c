/* Reads process images: all of a job in pre-order, or those that used most CPU time. */
#include "store/store.h"

#include "store/columns.h"
#include "store/db.h"
#include "store/strings.h"
#include "store/shell_quote.h"

#include <stdlib.h>

#define PROCESS_SELECT \
    "SELECT p.number," PROCESS_COLUMNS(COLUMNS_NAME) COUNTERS_LIST(COLUMNS_COUNTER_NAME) "p.args FROM "

enum process_column {
    PROCESS_number,
#define X(name) PROCESS_##name,
    PROCESS_COLUMNS(X)
#undef X
    PROCESS_counters,
    PROCESS_args = PROCESS_counters + COUNTERS_SIZE,
};

struct process_reader {
    struct store *store;
    struct statement *statement;
    struct buf args;
    struct strings executables, directories, tag_sets;
};

static uint64_t number_at(const struct process_reader *reader, int at)
{
    return statement_u64(reader->statement, at);
}

static bool known_at(const struct process_reader *reader, int at)
{
    return statement_is_known(reader->statement, at);
}

static void read_facts(const struct process_reader *reader, struct process *process)
{
    *process = (struct process){
        .parent = known_at(reader, PROCESS_parent) ? (uint32_t)number_at(reader, PROCESS_parent) : PROCESS_NO_PARENT,
        .last = (uint32_t)number_at(reader, PROCESS_last),
        .image = (uint32_t)number_at(reader, PROCESS_image),
        .pid = (uint32_t)number_at(reader, PROCESS_pid),
        .ppid = (uint32_t)number_at(reader, PROCESS_ppid),
        .pgid = (uint32_t)number_at(reader, PROCESS_pgid), .pgid_known = known_at(reader, PROCESS_pgid),
        .sid = (uint32_t)number_at(reader, PROCESS_sid), .sid_known = known_at(reader, PROCESS_sid),
        .uid = (uint32_t)number_at(reader, PROCESS_uid), .uid_known = known_at(reader, PROCESS_uid),
        .state = (enum process_state)number_at(reader, PROCESS_state),
        .status_known = known_at(reader, PROCESS_exit_code),
        .exit_code = (uint8_t)number_at(reader, PROCESS_exit_code),
        .exit_signal = (uint8_t)number_at(reader, PROCESS_exit_signal),
        .start_ns = number_at(reader, PROCESS_start_ns), .end_ns = number_at(reader, PROCESS_end_ns),
        .inclusive_cpu_us = number_at(reader, PROCESS_inclusive_cpu_us),
        .thread_count = (uint32_t)number_at(reader, PROCESS_thread_count),
        .sources = (unsigned)number_at(reader, PROCESS_sources),
        .events = UINT32_MAX,
    };
    columns_read_counters(reader->statement, PROCESS_counters, &process->counters);
}

static enum err read_strings(struct process_reader *reader, struct process *process)
{
    const struct strings_entry *executable, *directory, *tag_set;
    enum err err = strings_get(&reader->executables, (int64_t)number_at(reader, PROCESS_executable), &executable);
    if (err == OK)
        err = strings_get(&reader->directories, (int64_t)number_at(reader, PROCESS_directory), &directory);
    if (err == OK)
        err = strings_get(&reader->tag_sets, (int64_t)number_at(reader, PROCESS_tag_set), &tag_set);
    if (err != OK)
        return err;
    process->path = executable->columns[0];
    process->name = executable->columns[1];
    process->cwd = directory->columns[0];
    process->tags = tag_set->columns[0];
    buf_reset(&reader->args);
    shell_quote_decode(&reader->args, statement_bytes(reader->statement, PROCESS_args));
    process->args = (struct bytes){ reader->args.data, reader->args.size };
    return buf_err(&reader->args);
}

static enum err read_rows(struct process_reader *reader,
                          enum err (*each)(void *context, uint32_t number, const struct process *process), void *context)
{
    struct process process;
    bool row;
    for (;;) {
        enum err err = db_step(reader->store, reader->statement, "read processes", &row);
        if (err != OK || !row)
            return err;
        read_facts(reader, &process);
        err = read_strings(reader, &process);
        if (err == OK)
            err = each(context, (uint32_t)number_at(reader, PROCESS_number), &process);
        if (err != OK)
            return err;
    }
}

static enum err open_reader(struct process_reader *reader, const char *sql)
{
    enum err err = db_prepare_many(reader->store, &reader->statement, "read processes", sql);
    if (err == OK)
        err = strings_open(&reader->executables, reader->store, "SELECT path, name FROM executables WHERE id = ?1");
    if (err == OK)
        err = strings_open(&reader->directories, reader->store, "SELECT path FROM directories WHERE id = ?1");
    if (err == OK)
        err = strings_open(&reader->tag_sets, reader->store, "SELECT tags FROM tag_sets WHERE id = ?1");
    return err;
}

static enum err read_by(struct store *store, const char *sql, int64_t job_row,
                        enum err (*each)(void *context, uint32_t number, const struct process *process), void *context)
{
    struct process_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NOMEM;
    reader->store = store;
    buf_init(&reader->args, SIZE_MAX / 2);
    enum err err = open_reader(reader, sql);
    if (err == OK) {
        statement_bind_i64(reader->statement, 1, job_row);
        err = read_rows(reader, each, context);
    }
    statement_free(reader->statement);
    strings_close(&reader->executables);
    strings_close(&reader->directories);
    strings_close(&reader->tag_sets);
    buf_clear(&reader->args);
    free(reader);
    return err;
}

enum err store_processes(struct store *store, int64_t job_row,
                         enum err (*each)(void *context, uint32_t number, const struct process *process), void *context)
{
    return read_by(store, PROCESS_SELECT "processes p WHERE p.job = ?1 ORDER BY p.number", job_row, each, context);
}

enum err store_top_processes(struct store *store, int64_t job_row,
                             enum err (*each)(void *context, uint32_t number, const struct process *process), void *context)
{
    return read_by(store, PROCESS_SELECT "(SELECT process, cpu_us FROM top_processes WHERE job = ?1"
                   " ORDER BY cpu_us DESC, process LIMIT 10) t JOIN processes p ON p.job = ?1 AND p.number = t.process"
                   " ORDER BY t.cpu_us DESC, t.process", job_row, each, context);
}
