/* Saves perf event counts: of each process, of each thread if there are several, and their sum over the run. */
#include "store/save.h"

#include "store/columns.h"

struct event_writer {
    struct saving *saving;
    struct statement *process, *thread, *run;
    int64_t rows[PROCESS_EVENTS_MAX]; /* in the table events */
    struct event_count sum;
};

/* The last two parameters are the event and its value. */
static enum err write_counts(struct event_writer *writer, struct statement *statement, int at, const struct event_count *count)
{
    enum err err = OK;
    for (size_t i = 0; i < writer->saving->run->event_count && err == OK; i++) {
        if (!(count->known >> i & 1))
            continue;
        statement_bind_i64(statement, at, writer->rows[i]);
        statement_bind_u64(statement, at + 1, (uint64_t)count->value[i]);
        err = db_run(writer->saving->store, statement, "save events");
    }
    return err;
}

/* An event without counts is saved as NULL, so that the report can mention it. */
static enum err write_sum(struct event_writer *writer)
{
    enum err err = OK;
    for (size_t i = 0; i < writer->saving->run->event_count && err == OK; i++) {
        statement_bind_i64(writer->run, 3, writer->rows[i]);
        if (writer->sum.known >> i & 1)
            statement_bind_u64(writer->run, 4, (uint64_t)writer->sum.value[i]);
        else
            statement_bind_null(writer->run, 4);
        err = db_run(writer->saving->store, writer->run, "save events");
    }
    return err;
}

static const struct event_count *counts_at(const struct run *run, uint32_t at)
{
    return at < run->counts_count ? &run->counts[at] : NULL;
}

static enum err write_threads(struct event_writer *writer, uint32_t number, const struct process *process)
{
    const struct run *run = writer->saving->run;
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

static enum err write_process(struct event_writer *writer, uint32_t p)
{
    const struct process *process = &writer->saving->run->processes[p];
    const struct event_count *count = counts_at(writer->saving->run, process->events);
    enum err err = OK;
    if (count) {
        add(&writer->sum, count);
        statement_bind_i64(writer->process, 2, writer->saving->first + p);
        err = write_counts(writer, writer->process, 3, count);
    }
    return err == OK ? write_threads(writer, writer->saving->first + p, process) : err;
}

static enum err prepare(struct event_writer *writer)
{
    struct store *store = writer->saving->store;
    enum err err = db_prepare_bulk(store, &writer->process, "save events", "INSERT INTO process_events VALUES (?1,?2,?3,?4)");
    if (err == OK)
        err = db_prepare_bulk(store, &writer->thread, "save events", "INSERT INTO thread_events VALUES (?1,?2,?3,?4,?5)");
    if (err == OK)
        err = db_prepare_bulk(store, &writer->run, "save events", "INSERT INTO run_events VALUES (?1,?2,?3,?4)");
    if (err != OK)
        return err;
    statement_bind_i64(writer->process, 1, writer->saving->job);
    statement_bind_i64(writer->thread, 1, writer->saving->job);
    statement_bind_i64(writer->run, 1, writer->saving->job);
    statement_bind_i64(writer->run, 2, writer->saving->run_row);
    return OK;
}

static enum err finish(struct event_writer *writer)
{
    struct store *store = writer->saving->store;
    enum err err = db_finish(store, &writer->process, "save events");
    if (err == OK)
        err = db_finish(store, &writer->thread, "save events");
    return err == OK ? db_finish(store, &writer->run, "save events") : err;
}

static enum err find_names(struct event_writer *writer)
{
    const struct run *run = writer->saving->run;
    struct intern names;
    enum err err = intern_open(&names, writer->saving->store, "SELECT id FROM events WHERE name = ?1",
                               "INSERT INTO events (name) VALUES (?1)");
    for (size_t i = 0; i < run->event_count && err == OK; i++)
        err = intern_id(&names, run->events[i], &writer->rows[i]);
    intern_close(&names);
    return err;
}

enum err save_events(struct saving *saving)
{
    struct event_writer writer = { .saving = saving };
    if (!saving->run->event_count)
        return OK;
    enum err err = find_names(&writer);
    if (err == OK)
        err = prepare(&writer);
    for (uint32_t p = 0; p < saving->run->process_count && err == OK; p++)
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
