/* The columns of each table, and the code that fills them. Names are those of docs/schema.md and of papiex. */
#include "report/export.h"

#include "report/process_threads.h"
#include "report/list.h"
#include "report/ps_json.h"
#include "store/runs.h"

#include <string.h>

#define COLUMNS_MAX (64 + COUNTERS_SIZE)

/* A table being written: its own columns, then the counters, then columns that were added later, so that positions
 * never change. */
struct table_export {
    struct row_writer rows;
    const char *names[COLUMNS_MAX];
    const struct store_job *job;
    struct store_runs runs;
};

/* later: column names after those of the counters, NULL-terminated; NULL: neither these nor counters. */
static void begin(struct table_export *table, const struct store_job *job, struct output *stream,
                  enum row_writer_format format, const char *const *names, size_t count, const char *const *later)
{
    memcpy(table->names, names, count * sizeof *names);
    for (size_t i = 0; later && i < COUNTERS_SIZE; i++)
        table->names[count++] = counters_metrics[i].name;
    for (size_t i = 0; later && later[i]; i++)
        table->names[count++] = later[i];
    table->job = job;
    table->runs = (struct store_runs){ 0 };
    row_writer_begin(&table->rows, stream, format, table->names, count);
}

static void add_known(struct row_writer *rows, bool known, uint64_t value)
{
    if (known)
        row_writer_u64(rows, value);
    else
        row_writer_missing(rows);
}

static void add_text(struct row_writer *rows, struct bytes text)
{
    if (text.size)
        row_writer_string(rows, text);
    else
        row_writer_missing(rows);
}

static void add_counters(struct row_writer *rows, const struct counters *counters)
{
    for (int i = 0; i < COUNTERS_SIZE; i++)
        add_known(rows, counters_has(counters, (enum counter)i), counters->value[i]);
}

static void add_status(struct row_writer *rows, bool known, uint8_t exit_code, uint8_t exit_signal)
{
    add_known(rows, known, exit_code);
    add_known(rows, known, exit_signal);
}

static const char *const job_names[] = {
    "job", "name", "user", "uid", "hosts", "command", "cwd", "tags", "start_ns", "end_ns", "ended", "exit_code", "exit_signal",
    "cores", "cores_allowed_milli", "memory_bytes", "memory_limit_bytes", "memory_max_bytes", "period_ns", "processes",
    "images", "threads", "failed", "signalled", "running", "lost", "short_processes", "cpu_us",
};

static enum err write_job(void *context, const struct store_job *job)
{
    struct row_writer *rows = &((struct table_export *)context)->rows;
    const struct summary *summary = &job->summary;
    uint64_t memory, cpu_us;
    bool has_memory = list_memory_bytes(job, &memory), has_cpu = list_cpu_us(job, &cpu_us);
    row_writer_string(rows, bytes_of(job->job_id));
    add_text(rows, bytes_of(job->name));
    add_text(rows, bytes_of(job->user));
    add_known(rows, job->uid != UINT32_MAX, job->uid);
    add_text(rows, bytes_of(job->hosts));
    row_writer_arguments(rows, job->command);
    add_text(rows, bytes_of(job->cwd));
    add_text(rows, bytes_of(job->tags));
    add_known(rows, job->start_ns, job->start_ns);
    add_known(rows, job->end_ns, job->end_ns);
    row_writer_u64(rows, job->ended);
    add_status(rows, job->status_known, job->exit_code, job->exit_signal);
    add_known(rows, job->cores, job->cores);
    add_known(rows, job->cores_allowed_milli, job->cores_allowed_milli);
    add_known(rows, job->memory_bytes, job->memory_bytes);
    add_known(rows, job->memory_limit_bytes, job->memory_limit_bytes);
    add_known(rows, has_memory, memory);
    add_known(rows, job->period_ns, job->period_ns);
    const uint64_t counts[] = { summary->processes, summary->images, summary->threads, summary->failed, summary->signalled,
                                summary->running, summary->lost, summary->short_processes };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        add_known(rows, list_has_processes(job), counts[i]);
    add_known(rows, has_cpu, cpu_us);
    add_counters(rows, &summary->sum);
    return row_writer_write_if_large(rows);
}

enum err export_jobs(struct store *store, const struct store_job *only, struct output *stream, enum row_writer_format format)
{
    struct table_export table;
    begin(&table, only, stream, format, job_names, sizeof job_names / sizeof *job_names, (const char *const[]){ NULL });
    enum err err = only ? write_job(&table, only) : store_jobs(store, &(struct store_filter){ 0 }, write_job, &table);
    return err ? err : row_writer_end(&table.rows);
}

static const char *const process_names[] = {
    "job", "number", "parent", "last", "pid", "ppid", "pgid", "sid", "uid", "image", "name", "path", "args", "cwd", "tags",
    "start_ns", "end_ns", "state", "exit_code", "exit_signal", "sources", "thread_count", "inclusive_cpu_us",
};

/* "probe wait", in the order of enum process_source. */
static void add_sources(struct row_writer *rows, unsigned sources)
{
    static const char *const names[] = { "probe", "wait", "connector", "taskstats", "parent", "proc",
                                         "child", "estimated", "with-others" };
    struct buf text;
    buf_init(&text, 256);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sources >> i & 1)
            buf_printf(&text, "%s%s", text.size ? " " : "", names[i]);
    add_text(rows, (struct bytes){ buf_text(&text), text.size });
    buf_clear(&text);
}

/* Host and user. */
static void add_host_and_user(struct table_export *table, uint32_t number, const struct process *p)
{
    const struct store_run *run = store_runs_find(&table->runs, number);
    const char *user = store_run_user(run, p);
    add_text(&table->rows, bytes_of(run ? run->host : ""));
    add_text(&table->rows, bytes_of(user ? user : ""));
}

static enum err write_process(void *context, uint32_t number, const struct process *p)
{
    struct table_export *table = context;
    struct row_writer *rows = &table->rows;
    row_writer_string(rows, bytes_of(table->job->job_id));
    row_writer_u64(rows, number);
    add_known(rows, p->parent != PROCESS_NO_PARENT, p->parent);
    row_writer_u64(rows, p->last);
    row_writer_u64(rows, p->pid);
    row_writer_u64(rows, p->ppid);
    add_known(rows, p->pgid_known, p->pgid);
    add_known(rows, p->sid_known, p->sid);
    add_known(rows, p->uid_known, p->uid);
    row_writer_u64(rows, p->image);
    add_text(rows, p->name);
    add_text(rows, p->path);
    if (p->args.size)
        row_writer_arguments(rows, p->args);
    else
        row_writer_missing(rows);
    add_text(rows, p->cwd);
    add_text(rows, p->tags);
    add_known(rows, p->start_ns, p->start_ns);
    add_known(rows, p->end_ns, p->end_ns);
    row_writer_string(rows, bytes_of(ps_json_state(p->state)));
    add_status(rows, p->status_known, p->exit_code, p->exit_signal);
    add_sources(rows, p->sources);
    row_writer_u64(rows, p->thread_count);
    row_writer_u64(rows, p->inclusive_cpu_us);
    add_counters(rows, &p->counters);
    add_host_and_user(table, number, p);
    return row_writer_write_if_large(rows);
}

enum err export_processes(struct store *store, const struct store_job *job, struct output *stream, enum row_writer_format format)
{
    struct table_export table;
    begin(&table, job, stream, format, process_names, sizeof process_names / sizeof *process_names,
          (const char *const[]){ "host", "user", NULL });
    enum err err = store_runs_read(&table.runs, store, job->row);
    if (!err)
        err = store_processes(store, job->row, write_process, &table);
    store_runs_clear(&table.runs);
    return err ? err : row_writer_end(&table.rows);
}

static const char *const thread_names[] = { "job", "process", "pid", "image", "tid", "name", "start_ns", "end_ns" };

static void write_thread(struct table_export *table, uint32_t number, const struct process *process, uint32_t tid,
                         struct bytes name, uint64_t start_ns, uint64_t end_ns, const struct counters *counters)
{
    struct row_writer *rows = &table->rows;
    row_writer_string(rows, bytes_of(table->job->job_id));
    row_writer_u64(rows, number);
    row_writer_u64(rows, process->pid);
    row_writer_u64(rows, process->image);
    row_writer_u64(rows, tid);
    add_text(rows, name);
    add_known(rows, start_ns, start_ns);
    add_known(rows, end_ns, end_ns);
    add_counters(rows, counters);
    add_host_and_user(table, number, process);
    add_sources(rows, process->sources); /* for a single thread they say how exact its numbers are */
}

/* A process without threads in the store had one: itself. */
static enum err write_threads(void *context, uint32_t number, const struct process *p, const struct thread *threads,
                              size_t count)
{
    struct table_export *table = context;
    if (count == 0)
        write_thread(table, number, p, p->pid, p->name, p->start_ns, p->end_ns, &p->counters);
    for (size_t i = 0; i < count; i++) {
        const struct thread *t = &threads[i];
        struct bytes name = { t->name, strnlen(t->name, sizeof t->name) };
        write_thread(table, number, p, t->tid, name, t->start_ns, t->end_ns, &t->counters);
    }
    return row_writer_write_if_large(&table->rows);
}

enum err export_threads(struct store *store, const struct store_job *job, struct output *stream, enum row_writer_format format)
{
    struct table_export table;
    begin(&table, job, stream, format, thread_names, sizeof thread_names / sizeof *thread_names,
          (const char *const[]){ "host", "user", "sources", NULL });
    enum err err = store_runs_read(&table.runs, store, job->row);
    if (!err)
        err = process_threads_each(store, job->row, write_threads, &table);
    store_runs_clear(&table.runs);
    return err ? err : row_writer_end(&table.rows);
}

static const char *const event_names[] = { "job", "process", "tid", "event", "value" };

static enum err write_event(void *context, uint32_t number, uint32_t tid, const char *event, uint64_t value)
{
    struct table_export *table = context;
    struct row_writer *rows = &table->rows;
    row_writer_string(rows, bytes_of(table->job->job_id));
    row_writer_u64(rows, number);
    add_known(rows, tid, tid); /* none: the total of the process */
    row_writer_string(rows, bytes_of(event));
    row_writer_u64(rows, value);
    return row_writer_write_if_large(rows);
}

enum err export_events(struct store *store, const struct store_job *job, struct output *stream, enum row_writer_format format)
{
    struct table_export table;
    begin(&table, job, stream, format, event_names, sizeof event_names / sizeof *event_names, NULL);
    enum err err = store_event_counts(store, job->row, write_event, &table);
    return err ? err : row_writer_end(&table.rows);
}
