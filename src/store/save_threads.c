/* Saves threads of processes that had more than one. A single thread is represented by its process. */
#include "store/save.h"

#include "store/columns.h"

#include <string.h>

#define THREAD_SQL \
    "INSERT INTO threads (" COUNTERS_LIST(COLUMNS_COUNTER_NAME) "job, process, number, tid, name, start_ns, end_ns)" \
    " VALUES (" COUNTERS_LIST(COLUMNS_COUNTER_PARAMETER) "?,?,?,?,?,?,?)"

static enum err write_thread(struct saving *saving, struct statement *statement, uint32_t process, uint32_t number,
                             const struct thread *thread)
{
    int at = columns_bind_counters(statement, 1, &thread->counters);
    statement_bind_i64(statement, at++, saving->job);
    statement_bind_i64(statement, at++, saving->first + process);
    statement_bind_i64(statement, at++, number);
    columns_bind_known(statement, at++, thread->tid);
    columns_bind_bytes(statement, at++, (struct bytes){ thread->name, strnlen(thread->name, sizeof thread->name) });
    columns_bind_known(statement, at++, thread->start_ns);
    columns_bind_known(statement, at++, thread->end_ns);
    return db_run(saving->store, statement, "save threads");
}

static enum err write_threads(struct saving *saving, struct statement *statement, struct top_list *top)
{
    const struct run *run = saving->run;
    enum err err = OK;
    for (uint32_t p = 0; p < run->process_count; p++) {
        const struct process *process = &run->processes[p];
        if (process->thread_count < 2)
            continue;
        for (uint32_t t = 0; t < process->thread_count && err == OK; t++) {
            const struct thread *thread = &run->threads[process->thread_first + t];
            top_list_offer(top, counters_cpu_us(&thread->counters), saving->first + p, t);
            err = write_thread(saving, statement, p, t, thread);
        }
    }
    return err;
}

static enum err write_top(struct saving *saving, const struct top_list *top)
{
    struct statement *statement;
    enum err err = db_prepare(saving->store, &statement, "save the top list",
                              "INSERT INTO top_threads VALUES (?1,?2,?3,?4,?5)");
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, saving->job);
    statement_bind_i64(statement, 2, saving->run_row);
    for (size_t i = 0; i < top->count && err == OK; i++) {
        statement_bind_i64(statement, 3, top->items[i].a);
        statement_bind_i64(statement, 4, top->items[i].b);
        statement_bind_u64(statement, 5, (uint64_t)top->items[i].value);
        err = db_run(saving->store, statement, "save the top list");
    }
    statement_free(statement);
    return err;
}

enum err save_threads(struct saving *saving)
{
    struct statement *statement;
    struct top_list top = { 0 };
    enum err err = db_prepare_bulk(saving->store, &statement, "save threads", THREAD_SQL);
    if (err != OK)
        return err;
    err = write_threads(saving, statement, &top);
    if (err == OK)
        err = db_finish(saving->store, &statement, "save threads");
    statement_free(statement);
    return err == OK && top.count ? write_top(saving, &top) : err;
}
