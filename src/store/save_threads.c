/* Threads of processes that had more than one. The thread of a process with a single one is the process itself. */
#include "store/saving.h"

#include "store/columns.h"

#include <string.h>

#define THREAD_SQL \
    "INSERT INTO threads (" COUNTERS_LIST(COLUMNS_COUNTER_NAME) "job, process, number, tid, name, start_ns, end_ns)" \
    " VALUES (" COUNTERS_LIST(COLUMNS_COUNTER_PARAMETER) "?,?,?,?,?,?,?)"

static enum err write_thread(struct filing *filing, struct statement *statement, uint32_t process, uint32_t number,
                             const struct thread *thread)
{
    int at = columns_bind_counters(statement, 1, &thread->counters);
    statement_bind_i64(statement, at++, filing->job);
    statement_bind_i64(statement, at++, filing->first + process);
    statement_bind_i64(statement, at++, number);
    columns_bind_known(statement, at++, thread->tid);
    columns_bind_bytes(statement, at++, (struct bytes){ thread->name, strnlen(thread->name, sizeof thread->name) });
    columns_bind_known(statement, at++, thread->start_ns);
    columns_bind_known(statement, at++, thread->end_ns);
    return db_run(filing->store, statement, "file threads");
}

static enum err write_threads(struct filing *filing, struct statement *statement, struct top *top)
{
    const struct run *run = filing->run;
    enum err err = OK;
    for (uint32_t p = 0; p < run->process_count; p++) {
        const struct process *process = &run->processes[p];
        if (process->thread_count < 2)
            continue;
        for (uint32_t t = 0; t < process->thread_count && err == OK; t++) {
            const struct thread *thread = &run->threads[process->thread_first + t];
            top_offer(top, counters_cpu_us(&thread->counters), filing->first + p, t);
            err = write_thread(filing, statement, p, t, thread);
        }
    }
    return err;
}

static enum err write_top(struct filing *filing, const struct top *top)
{
    struct statement *statement;
    enum err err = db_prepare(filing->store, &statement, "file the top",
                              "INSERT INTO top_threads VALUES (?1,?2,?3,?4,?5)");
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, filing->job);
    statement_bind_i64(statement, 2, filing->run_row);
    for (size_t i = 0; i < top->count && err == OK; i++) {
        statement_bind_i64(statement, 3, top->items[i].a);
        statement_bind_i64(statement, 4, top->items[i].b);
        statement_bind_u64(statement, 5, (uint64_t)top->items[i].value);
        err = db_run(filing->store, statement, "file the top");
    }
    statement_free(statement);
    return err;
}

enum err file_threads(struct filing *filing)
{
    struct statement *statement;
    struct top top = { 0 };
    enum err err = db_prepare_bulk(filing->store, &statement, "file threads", THREAD_SQL);
    if (err != OK)
        return err;
    err = write_threads(filing, statement, &top);
    if (err == OK)
        err = db_finish(filing->store, &statement, "file threads");
    statement_free(statement);
    return err == OK && top.count ? write_top(filing, &top) : err;
}
