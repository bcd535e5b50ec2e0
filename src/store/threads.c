/* Reads threads of processes that had several: all, or those that used most CPU time. */
#include "store/store.h"

#include "store/columns.h"
#include "store/db.h"

#include <string.h>

#define THREAD_SELECT \
    "SELECT p.process, p.tid, p.name, p.start_ns, p.end_ns," COUNTERS_LIST(COLUMNS_COUNTER_NAME) "p.number FROM "

enum thread_column { THREAD_process, THREAD_tid, THREAD_name, THREAD_start_ns, THREAD_end_ns, THREAD_counters };

static void read_thread(struct statement *statement, struct thread *thread)
{
    struct bytes name = statement_bytes(statement, THREAD_name);
    *thread = (struct thread){
        .tid = (uint32_t)statement_i64(statement, THREAD_tid),
        .start_ns = statement_u64(statement, THREAD_start_ns),
        .end_ns = statement_u64(statement, THREAD_end_ns),
        .events = UINT32_MAX,
    };
    if (name.size)
        memcpy(thread->name, name.data, name.size < sizeof thread->name ? name.size : sizeof thread->name);
    columns_read_counters(statement, THREAD_counters, &thread->counters);
}

static enum err read_rows(struct store *store, struct statement *statement,
                          enum err (*each)(void *context, uint32_t number, const struct thread *thread), void *context)
{
    struct thread thread;
    bool row;
    for (;;) {
        enum err err = db_step(store, statement, "read threads", &row);
        if (err != OK || !row)
            return err;
        read_thread(statement, &thread);
        err = each(context, (uint32_t)statement_i64(statement, THREAD_process), &thread);
        if (err != OK)
            return err;
    }
}

static enum err read_by(struct store *store, const char *sql, int64_t job_row,
                        enum err (*each)(void *context, uint32_t number, const struct thread *thread), void *context)
{
    struct statement *statement;
    enum err err = db_prepare_many(store, &statement, "read threads", sql);
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, job_row);
    err = read_rows(store, statement, each, context);
    statement_free(statement);
    return err;
}

enum err store_threads(struct store *store, int64_t job_row,
                       enum err (*each)(void *context, uint32_t number, const struct thread *thread), void *context)
{
    return read_by(store, THREAD_SELECT "threads p WHERE p.job = ?1 ORDER BY p.process, p.number", job_row, each,
                   context);
}

enum err store_top_threads(struct store *store, int64_t job_row,
                           enum err (*each)(void *context, uint32_t number, const struct thread *thread), void *context)
{
    return read_by(store, THREAD_SELECT "(SELECT process AS t_process, thread AS t_thread, cpu_us FROM top_threads"
                   " WHERE job = ?1 ORDER BY cpu_us DESC, process, thread LIMIT 10) t"
                   " JOIN threads p ON p.job = ?1 AND p.process = t.t_process AND p.number = t.t_thread"
                   " ORDER BY t.cpu_us DESC, t.t_process, t.t_thread", job_row, each, context);
}
