/* Reads the facts of a job from the job database into one struct of bounded size. Strings are copied, since the store's
 * are only valid during its callbacks. */
#include "analysis/facts.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 4096 /* of a path or a command line; more is never printed */

struct facts_text {
    struct facts_text *next;
    char data[];
};

static const char *keep(struct facts *facts, const char *data, size_t size)
{
    if (size > TEXT_MAX)
        size = TEXT_MAX;
    struct facts_text *text = malloc(sizeof *text + size + 1);
    if (!text)
        return "";
    if (size)
        memcpy(text->data, data, size);
    text->data[size] = '\0';
    text->next = facts->strings;
    facts->strings = text;
    return text->data;
}

static struct bytes keep_bytes(struct facts *facts, struct bytes bytes)
{
    if (bytes.size > TEXT_MAX)
        bytes.size = TEXT_MAX;
    return (struct bytes){ keep(facts, bytes.data, bytes.size), bytes.size };
}

static enum err each_host(void *context, const struct host *host)
{
    struct facts *facts = context;
    if (facts->host_count++ == 0) {
        facts->host = *host;
        facts->host.name = keep_bytes(facts, host->name);
        facts->host.kernel = keep_bytes(facts, host->kernel);
        facts->host.cpu_model = keep_bytes(facts, host->cpu_model);
    }
    return OK;
}

static struct summary_executable keep_executable(struct facts *facts, const struct summary_executable *executable)
{
    struct summary_executable kept = *executable;
    kept.name = keep_bytes(facts, executable->name);
    kept.path = keep_bytes(facts, executable->path);
    return kept;
}

void facts_add_executable(struct summary_executable *rest, const struct summary_executable *more)
{
    rest->count += more->count;
    rest->short_count += more->short_count;
    rest->failed += more->failed;
    rest->cpu_us += more->cpu_us;
    rest->wall_ns += more->wall_ns;
    rest->read_bytes += more->read_bytes;
    rest->write_bytes += more->write_bytes;
    rest->rchar += more->rchar;
    rest->wchar += more->wchar;
    rest->waiting_ns += more->waiting_ns;
    rest->blkio_us += more->blkio_us;
    if (more->rss_max_kb > rest->rss_max_kb)
        rest->rss_max_kb = more->rss_max_kb;
}

static enum err each_executable(void *context, const struct summary_executable *executable)
{
    struct facts *facts = context;
    facts->executables_all++;
    if (facts->executable_count < FACTS_TOP)
        facts->executables[facts->executable_count++] = keep_executable(facts, executable);
    else
        facts_add_executable(&facts->rest, executable);
    if (executable->short_count > facts->shortest.short_count)
        facts->shortest = keep_executable(facts, executable);
    if (executable->failed > facts->failing.failed)
        facts->failing = keep_executable(facts, executable);
    return OK;
}

static enum err each_process(void *context, uint32_t number, const struct process *process)
{
    struct facts *facts = context;
    if (facts->process_count == FACTS_TOP)
        return OK;
    struct process *kept = &facts->processes[facts->process_count];
    *kept = *process;
    kept->name = keep_bytes(facts, process->name);
    kept->path = keep_bytes(facts, process->path);
    kept->args = keep_bytes(facts, process->args);
    kept->cwd = kept->tags = (struct bytes){ 0 };
    facts->process_number[facts->process_count++] = number;
    return OK;
}

static enum err each_thread(void *context, uint32_t number, const struct thread *thread)
{
    struct facts *facts = context;
    if (facts->thread_count == FACTS_TOP)
        return OK;
    struct facts_thread *kept = &facts->threads[facts->thread_count++];
    *kept = (struct facts_thread){ .process = number, .thread = *thread };
    memcpy(kept->name, thread->name, sizeof thread->name);
    return OK;
}

static enum err each_event(void *context, const char *event, uint64_t sum)
{
    struct facts *facts = context;
    if (facts->event_count < PROCESS_EVENTS_MAX)
        facts->events[facts->event_count++] = (struct facts_event){ keep(facts, event, strlen(event)), sum };
    return OK;
}

/* Sums of resident sizes are kept in runs of older versions. */
static void note_memory_source(struct facts *facts, const struct run_series *series)
{
    enum facts_memory_source *source = &facts->sampled_memory;
    if (strcmp(series->set.name, "cgroup") == 0) {
        *source = FACTS_MEMORY_CGROUP;
    } else if (strcmp(series->set.name, SUMMARY_TREE_SET) == 0 && *source != FACTS_MEMORY_RSS) {
        size_t column = summary_memory_column(series);
        uint64_t peak = facts->job.summary.rss_peak_bytes;
        bool is_cgroup = summary_peak_of(series, SUMMARY_CGROUP_METRIC) >= peak && column != SUMMARY_NO_COLUMN
                         && summary_peak_of(series, series->set.metrics[column].name) < peak;
        if (is_cgroup)
            *source = FACTS_MEMORY_CGROUP;
        else if (column != SUMMARY_NO_COLUMN && *source != FACTS_MEMORY_CGROUP)
            *source = strcmp(series->set.metrics[column].name, SUMMARY_PSS_METRIC) == 0 ? FACTS_MEMORY_PSS : FACTS_MEMORY_RSS;
    }
}

/* The counter of each node's cgroup of the job. */
static void add_oom_kills(struct facts *facts, const struct run_series *series)
{
    uint64_t kills = 0;
    size_t size = series->set.size, column = 0;
    while (column < size && strcmp(series->set.metrics[column].name, "oom_kills") != 0)
        column++;
    for (size_t i = 0; column < size && i < series->count; i++) {
        size_t at = i * size + column;
        if (series->known[at] && series->values[at].u64 > kills)
            kills = series->values[at].u64;
    }
    facts->oom_kills += kills;
}

static enum err each_series(void *context, const char *host, const struct run_series *series)
{
    struct facts *facts = context;
    if (!facts->series_host || strcmp(host, facts->series_host) != 0) {
        timeline_end_host(&facts->timeline);
        facts->series_host = keep(facts, host, strlen(host));
    }
    bool by_agent = strcmp(series->set.name, "cgroup") == 0;
    if (by_agent && !series->instance[0])
        add_oom_kills(facts, series);
    if (by_agent && (facts->job.summary.images || series->instance[0]))
        return OK; /* sonde run recorded the same; a job step is part of the whole */
    note_memory_source(facts, series);
    timeline_add(&facts->timeline, series);
    syscall_stats_gap_add(&facts->syscall_stats_gap, series);
    return job_metrics_add(&facts->metrics, host, series);
}

static enum err gather(struct facts *facts, struct store *store)
{
    int64_t row = facts->job.row;
    enum err err = store_runs_read(&facts->runs, store, row);
    if (!err)
        err = store_hosts(store, row, each_host, facts);
    if (!err)
        err = store_executables(store, row, each_executable, facts);
    if (!err)
        err = store_top_processes(store, row, each_process, facts);
    if (!err)
        err = store_top_threads(store, row, each_thread, facts);
    if (!err)
        err = store_events(store, row, each_event, facts);
    if (!err)
        err = store_events_missing(store, row, &facts->uncounted, &facts->countable);
    if (!err && facts->event_count)
        err = store_events_late(store, row, &facts->counted_late);
    timeline_init(&facts->timeline, facts->job.start_ns, facts->job.end_ns);
    if (!err)
        err = store_series(store, row, each_series, facts);
    timeline_end_host(&facts->timeline);
    timeline_limit(&facts->timeline, TIMELINE_CPU, (double)facts->job.cores);
    if (!err)
        err = mpi_read(&facts->mpi, &facts->metrics);
    if (!err)
        err = syscall_stats_read(&facts->calls, &facts->metrics);
    return err;
}

enum err facts_read(struct facts **facts, struct store *store, const struct store_job *job)
{
    *facts = calloc(1, sizeof **facts);
    if (!*facts)
        return NOMEM;
    (*facts)->job = *job;
    job_metrics_init(&(*facts)->metrics);
    enum err err = gather(*facts, store);
    if (err)
        facts_free(facts);
    return err;
}

void facts_free(struct facts **facts)
{
    if (!*facts)
        return;
    while ((*facts)->strings) {
        struct facts_text *text = (*facts)->strings;
        (*facts)->strings = text->next;
        free(text);
    }
    store_runs_clear(&(*facts)->runs);
    mpi_clear(&(*facts)->mpi);
    syscall_stats_clear(&(*facts)->calls);
    job_metrics_clear(&(*facts)->metrics);
    free(*facts);
    *facts = NULL;
}
