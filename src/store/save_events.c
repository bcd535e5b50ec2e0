/* Perf counts: of each process, of each thread where there were several, and their sum over the run. */
#include "store/saving.h"

#include "store/columns.h"

struct writer {
    struct filing *filing;
    struct statement *process, *thread, *run;
    int64_t rows[PROCESS_EVENTS_MAX]; /* of the table events */
    struct event_count sum;
};

/* The last two parameters are the event and its value. */
static enum err write_counts(struct writer *writer, struct statement *statement, int at, const struct event_count *count)
{
    enum err err = OK;
    for (size_t i = 0; i < writer->filing->run->event_count && err == OK; i++) {
        if (!(count->known >> i & 1))
            continue;
        statement_bind_i64(statement, at, writer->rows[i]);
        statement_bind_u64(statement, at + 1, (uint64_t)count->value[i]);
        err = db_run(writer->filing->store, statement, "file events");
    }
    return err;
}

/* One that was wanted and that no process has stands there without a value: the report says so. */
static enum err write_sum(struct writer *writer)
{
    enum err err = OK;
    for (size_t i = 0; i < writer->filing->run->event_count && err == OK; i++) {
        statement_bind_i64(writer->run, 3, writer->rows[i]);
        if (writer->sum.known >> i & 1)
            statement_bind_u64(writer->run, 4, (uint64_t)writer->sum.value[i]);
        else
            statement_bind_null(writer->run, 4);
        err = db_run(writer->filing->store, writer->run, "file events");
    }
    return err;
}

static const struct event_count *counts_at(const struct run *run, uint32_t at)
{
    return at < run->counts_count ? &run->counts[at] : NULL;
}

static enum err write_threads(struct writer *writer, uint32_t number, const struct process *process)
{
    const struct run *run = writer->filing->run;
    enum err err = OK;
    for (uint32_t t = 0; process->thread_count > 1 && t < process->thread_count && err == OK; t++) {
        const struct event_count *count = counts_at(run, run->threads[process->thread_first + t].events);
        if (!count)
            continue;
        statement_bind_i64(writer->thread, 2, number);
        statement_bind_i64(writer->thread, 3, t);
        err = write_counts(writer, writer->thread, 4, count);
    }
    return err;
}

static void add(struct event_count *sum, const struct event_count *count)
{
    for (size_t i = 0; i < PROCESS_EVENTS_MAX; i++)
        if (count->known >> i & 1)
            sum->value[i] += count->value[i];
    sum->known |= count->known;
}

static enum err write_process(struct writer *writer, uint32_t p)
{
    const struct process *process = &writer->filing->run->processes[p];
    const struct event_count *count = counts_at(writer->filing->run, process->events);
    enum err err = OK;
    if (count) {
        add(&writer->sum, count);
        statement_bind_i64(writer->process, 2, writer->filing->first + p);
        err = write_counts(writer, writer->process, 3, count);
    }
    return err == OK ? write_threads(writer, writer->filing->first + p, process) : err;
}

static enum err prepare(struct writer *writer)
{
    struct store *store = writer->filing->store;
    enum err err = db_prepare_bulk(store, &writer->process, "file events", "INSERT INTO process_events VALUES (?1,?2,?3,?4)");
    if (err == OK)
        err = db_prepare_bulk(store, &writer->thread, "file events", "INSERT INTO thread_events VALUES (?1,?2,?3,?4,?5)");
    if (err == OK)
        err = db_prepare_bulk(store, &writer->run, "file events", "INSERT INTO run_events VALUES (?1,?2,?3,?4)");
    if (err != OK)
        return err;
    statement_bind_i64(writer->process, 1, writer->filing->job);
    statement_bind_i64(writer->thread, 1, writer->filing->job);
    statement_bind_i64(writer->run, 1, writer->filing->job);
    statement_bind_i64(writer->run, 2, writer->filing->run_row);
    return OK;
}

static enum err finish(struct writer *writer)
{
    struct store *store = writer->filing->store;
    enum err err = db_finish(store, &writer->process, "file events");
    if (err == OK)
        err = db_finish(store, &writer->thread, "file events");
    return err == OK ? db_finish(store, &writer->run, "file events") : err;
}

static enum err find_names(struct writer *writer)
{
    const struct run *run = writer->filing->run;
    struct rows names;
    enum err err = rows_open(&names, writer->filing->store, "SELECT id FROM events WHERE name = ?1",
                             "INSERT INTO events (name) VALUES (?1)");
    for (size_t i = 0; i < run->event_count && err == OK; i++)
        err = rows_id(&names, run->events[i], &writer->rows[i]);
    rows_close(&names);
    return err;
}

enum err file_events(struct filing *filing)
{
    struct writer writer = { .filing = filing };
    if (!filing->run->event_count)
        return OK;
    enum err err = find_names(&writer);
    if (err == OK)
        err = prepare(&writer);
    for (uint32_t p = 0; p < filing->run->process_count && err == OK; p++)
        err = write_process(&writer, p);
    if (err == OK)
        err = write_sum(&writer);
    if (err == OK)
        err = finish(&writer);
    statement_free(writer.process);
    statement_free(writer.thread);
    statement_free(writer.run);
    return err;
}
