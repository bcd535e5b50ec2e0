/* Turns a spool into a run, one file per step: index the records (record_index), split them into processes
 * (process_instance) and images (process_image), find parents and order (tree), compute usage (usage), fill the result
 * (identity, image_counters, perf). Samples are handled separately (series). Rules: docs/merge.md. */
#include "merge/merge.h"

#include "base/cpu_budget.h"
#include "merge/identity.h"
#include "merge/image_counters.h"
#include "merge/io_total.h"
#include "merge/other_syscalls.h"
#include "merge/pidns_init.h"
#include "merge/series.h"
#include "merge/tracer_waits.h"
#include "merge/tree.h"
#include "spool/spool.h"

#include <stdlib.h>
#include <sys/wait.h>

struct merged_memory {
    struct spool_reader reader;
    bool mapped; /* unmap it in merge_clear */
    struct arena arena;
};

struct merge_state {
    struct run *run;
    struct merged_memory *memory;
    struct arena_strings strings;
    struct spool_pages pages;
    struct record_index records;
    struct series series;
    struct process_instances instances;
    struct process_images images;
    struct usage usage;
    struct io_with_children io;
    uint32_t *order, count;
    uint32_t run_pid;
    bool has_run, has_begun;
};

static struct bytes keep(struct merge_state *m, struct bytes text)
{
    return arena_strings_intern(&m->strings, text);
}

static void split_event_names(struct run *run, struct bytes names)
{
    while (names.size && run->event_count < PROCESS_EVENTS_MAX) {
        size_t size = strnlen(names.data, names.size);
        run->events[run->event_count++] = (struct bytes){ names.data, size };
        size += size < names.size ? 1 : 0;
        names = (struct bytes){ names.data + size, names.size - size };
    }
}

static enum err take_run(struct merge_state *m, struct bytes body)
{
    struct run_record r;
    if (record_unpack_run(body, &r))
        return CORRUPT;
    if (m->has_run)
        return OK;
    struct run *run = m->run;
    run->id = keep(m, r.run_id);
    run->job_id = keep(m, r.job_id);
    run->name = keep(m, r.name);
    run->user = keep(m, r.user);
    run->command = keep(m, r.command);
    run->cwd = keep(m, r.cwd);
    run->tags = keep(m, r.tags);
    run->host = (struct host){ .name = keep(m, r.host), .kernel = keep(m, r.kernel), .cpu_model = keep(m, r.cpu_model),
                               .cores = r.cores, .memory_bytes = r.memory_bytes };
    run->uid = (uint32_t)r.uid;
    run->cores_allowed_milli = r.cores_allowed_milli;
    run->memory_limit_bytes = r.memory_limit_bytes;
    run->boot_ns = r.boot_ns;
    if (r.boot_ns && r.boot_ns < m->records.boot_ns)
        m->records.boot_ns = r.boot_ns;
    run->period_ns = r.period_ns;
    run->start_ns = r.time_ns;
    split_event_names(run, keep(m, r.events));
    m->run_pid = r.pid < NONE ? (uint32_t)r.pid : 0;
    m->has_run = true;
    return OK;
}

static void set_status(struct run *run, int status)
{
    run->status_known = WIFEXITED(status) || WIFSIGNALED(status);
    run->exit_code = WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : 0;
    run->exit_signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0;
}

static enum err take_run_end(struct merge_state *m, struct bytes body)
{
    struct run_end_record r;
    if (record_unpack_run_end(body, &r))
        return CORRUPT;
    m->run->ended = true;
    m->run->end_ns = r.time_ns;
    if (r.total.known) /* unknown if sonde run monitors survivors: they are not its children */
        m->run->total = r.total;
    m->run->gaps.records_lost = r.records_lost;
    m->run->gaps.events_lost = r.events_lost;
    m->run->gaps.ticks_late = r.ticks_late;
    if (r.status_known)
        set_status(m->run, (int)r.status);
    return OK;
}

/* The run starts with its command, not with the preparations of sonde run, which take 0.3 s if it loads BPF programs. */
static enum err take_spawn(struct merge_state *m, struct bytes body)
{
    struct spawn_record r;
    if (!m->has_begun && m->run_pid && !record_unpack_spawn(body, &r) && r.ppid == m->run_pid) {
        m->has_begun = true;
        m->run->start_ns = r.time_ns > m->run->start_ns ? r.time_ns : m->run->start_ns;
    }
    return record_index_add(&m->records, RECORD_KIND_spawn, body);
}

static enum err take_record(struct merge_state *m, enum record_kind kind, struct bytes body)
{
    switch (kind) {
    case RECORD_KIND_run: return take_run(m, body);
    case RECORD_KIND_run_end: return take_run_end(m, body);
    case RECORD_KIND_spawn: return take_spawn(m, body);
    case RECORD_KIND_set: return series_add_set(&m->series, body);
    case RECORD_KIND_sample: return series_add_sample(&m->series, body);
    default: /* OK: unknown kind, from a newer version */
        return kind > RECORD_KIND_run_end ? OK : record_index_add(&m->records, kind, body);
    }
}

/* Ids with a slash are those of nodes and agents in the job database. */
static bool has_slash(struct bytes id)
{
    return id.size && memchr(id.data, '/', id.size);
}

static enum err read_records(struct merge_state *m)
{
    struct spool_reader *reader = &m->memory->reader;
    enum record_kind kind;
    struct bytes body;
    while (spool_next(reader, &kind, &body) == OK) {
        enum err err = cpu_budget_is_spent() ? FULL : take_record(m, kind, body);
        if (err == CORRUPT)
            m->run->gaps.bytes_damaged += FRAME_HEAD + body.size;
        else if (err)
            return err;
        spool_pages_touch(&m->pages, reader->at);
    }
    m->run->gaps.bytes_damaged += reader->damaged_bytes;
    return m->has_run && !has_slash(m->run->id) ? OK : CORRUPT;
}

static enum err find_processes(struct merge_state *m)
{
    enum err err = process_instances_find(&m->instances, &m->records, m->run_pid);
    if (err)
        return err;
    pidns_init_join(&m->instances, &m->records);
    tracer_waits_drop(&m->instances, &m->records);
    err = tree_find_parents(&m->instances, &m->records, m->run_pid);
    if (!err)
        err = process_images_find(&m->images, &m->instances, &m->records);
    if (!err)
        err = tree_order(&m->images, &m->instances, &m->order, &m->count);
    if (!err)
        err = usage_init(&m->usage, &m->records, &m->instances, &m->images, m->order, m->count);
    if (!err)
        err = io_with_children_init(&m->io, &m->records, &m->instances, &m->images);
    return err;
}

static enum err allocate_output(struct merge_state *m)
{
    struct run *run = m->run;
    struct arena *arena = &m->memory->arena;
    run->processes = arena_alloc(arena, m->count, sizeof *run->processes);
    /* Upper bounds. A main thread is listed only beside others, each of which has a record. One more serves as working
     * space. */
    run->threads = arena_alloc(arena, 2 * (size_t)m->records.threads + 1, sizeof *run->threads);
    run->counts = arena_alloc(arena, 2 * (size_t)m->records.perfs, sizeof *run->counts);
    return run->processes && run->threads && run->counts ? OK : NOMEM;
}

static enum err fill_processes(struct merge_state *m)
{
    struct run *run = m->run;
    struct identity identity = { &m->records, &m->instances, &m->images, &m->strings, run };
    struct image_counters numbers = { &m->records, &m->instances, &m->images, &m->usage, &m->io, { 0 }, run };
    enum err err = allocate_output(m);
    for (uint32_t position = 0; position < m->count && !err; position++) {
        struct process *process = &run->processes[position];
        identity_fill(&identity, m->order[position], process);
        err = cpu_budget_is_spent() ? FULL : image_counters_fill(&numbers, m->order[position], process);
        run->process_count = position + 1;
    }
    spool_pages_release(&m->pages);
    threads_scratch_clear(&numbers.scratch);
    return err;
}

/* Backwards: every process is handled before its parent. */
static void sum_up(struct run *run)
{
    for (size_t i = 0; i < run->process_count; i++)
        run->processes[i].last = (uint32_t)i;
    for (size_t i = run->process_count; i-- > 0;) {
        struct process *p = &run->processes[i];
        p->inclusive_cpu_us += counters_cpu_us(&p->counters);
        if (p->parent == PROCESS_NO_PARENT)
            continue;
        struct process *parent = &run->processes[p->parent];
        parent->inclusive_cpu_us += p->inclusive_cpu_us;
        parent->last = parent->last > p->last ? parent->last : p->last;
    }
}

/* The kernel's total at the end of the command lacks processes that outlived it, and children of programs that ignore
 * SIGCHLD: the kernel reaps those without charging anybody. */
static void raise_total(struct run *run)
{
    struct counters sum = { 0 };
    for (size_t i = 0; i < run->process_count; i++)
        counters_add(&sum, &run->processes[i].counters);
    if (!run->total.known || counters_cpu_us(&sum) <= counters_cpu_us(&run->total))
        return;
    counters_set(&run->total, COUNTER_usertime, counters_get(&sum, COUNTER_usertime));
    counters_set(&run->total, COUNTER_systemtime, counters_get(&sum, COUNTER_systemtime));
}

/* The peak memory in the kernel's total includes the forked copy of sonde run that became the command, which is larger
 * than many small programs. If the peak of all processes is known, the largest of them is the run's. */
static void correct_rss(struct run *run)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct counters *counters = &run->processes[i].counters;
        if (!counters_has(counters, COUNTER_rssmax))
            return;
        if (counters->value[COUNTER_rssmax] > largest)
            largest = counters->value[COUNTER_rssmax];
    }
    if (run->process_count && counters_has(&run->total, COUNTER_rssmax))
        counters_set(&run->total, COUNTER_rssmax, largest);
}

/* A computing process writes no records for a long time, but it is sampled. */
static uint64_t last_activity_ns(const struct merge_state *m)
{
    const struct run *run = m->run;
    uint64_t last_ns = m->records.last_ns > run->start_ns ? m->records.last_ns : run->start_ns;
    for (size_t i = 0; i < run->series_count; i++) {
        const struct run_series *one = &run->series[i];
        if (one->count && one->times_ns[one->count - 1] > last_ns)
            last_ns = one->times_ns[one->count - 1];
    }
    return last_ns;
}

static enum err merge_all(struct merge_state *m)
{
    enum err err = read_records(m);
    if (!err)
        err = series_finish(&m->series, m->run);
    if (!err)
        err = find_processes(m);
    if (!err)
        err = fill_processes(m);
    if (err)
        return err;
    sum_up(m->run);
    raise_total(m->run);
    correct_rss(m->run);
    io_total_set(m->run, m->memory->reader.all.size);
    if (!m->run->ended)
        m->run->end_ns = last_activity_ns(m);
    return other_syscalls_add(m->run, &m->memory->arena);
}

static void clear_work(struct merge_state *m)
{
    free(m->order);
    io_with_children_clear(&m->io);
    usage_clear(&m->usage);
    process_images_clear(&m->images);
    process_instances_clear(&m->instances);
    series_clear(&m->series);
    record_index_clear(&m->records);
    arena_strings_clear(&m->strings);
}

static enum err merge_memory(struct merged *merged)
{
    struct merge_state m = { .run = &merged->run, .memory = merged->memory };
    arena_strings_init(&m.strings, &merged->memory->arena);
    spool_pages_init(&m.pages, merged->memory->mapped ? merged->memory->reader.all : (struct bytes){ 0 });
    record_index_init(&m.records, merged->memory->reader.all, &m.pages);
    series_init(&m.series, &merged->memory->arena);
    enum err err = merge_all(&m);
    clear_work(&m);
    if (err)
        merge_clear(merged);
    return err;
}

enum err merge_bytes(struct merged *merged, struct bytes spool)
{
    *merged = (struct merged){ .memory = calloc(1, sizeof *merged->memory) };
    if (!merged->memory)
        return NOMEM;
    merged->memory->reader.all = spool;
    return merge_memory(merged);
}

enum err merge_spool(struct merged *merged, const char *path)
{
    *merged = (struct merged){ .memory = calloc(1, sizeof *merged->memory) };
    if (!merged->memory)
        return NOMEM;
    enum err err = spool_open(&merged->memory->reader, path);
    if (err) {
        merge_clear(merged);
        return err;
    }
    merged->memory->mapped = true;
    return merge_memory(merged);
}

void merge_clear(struct merged *merged)
{
    if (merged->memory) {
        if (merged->memory->mapped)
            spool_close(&merged->memory->reader);
        arena_clear(&merged->memory->arena);
        free(merged->memory);
    }
    *merged = (struct merged){ 0 };
}
