/* From a spool to a run, in six steps, each in its own file: index the records (events), part them into processes
 * (lives), into images (images), find parents and order (tree), find what each used (usage), write it down (identity,
 * numbers, perf). Samples go their own way (series). What the steps decide by: docs/merge.md. */
#include "merge/merge.h"

#include "merge/syscall_bytes.h"
#include "merge/identity.h"
#include "merge/pidns_init.h"
#include "merge/io_total.h"
#include "merge/image_counters.h"
#include "merge/series.h"
#include "merge/tracer_waits.h"
#include "merge/tree.h"
#include "spool/spool.h"

#include <stdlib.h>
#include <sys/wait.h>

struct merged_memory {
    struct spool_reader reader;
    bool mapped; /* ours to unmap */
    struct arena arena;
};

struct merging {
    struct run *run;
    struct merged_memory *memory;
    struct texts texts;
    struct events_pages pages;
    struct events events;
    struct series series;
    struct lives lives;
    struct images images;
    struct usage usage;
    struct io io;
    uint32_t *order, count;
    uint32_t run_pid;
    bool has_run, has_begun;
};

static struct bytes keep(struct merging *m, struct bytes text)
{
    return texts_keep(&m->texts, text);
}

static void name_events(struct run *run, struct bytes names)
{
    while (names.size && run->event_count < PROCESS_EVENTS_MAX) {
        size_t size = strnlen(names.data, names.size);
        run->events[run->event_count++] = (struct bytes){ names.data, size };
        size += size < names.size ? 1 : 0;
        names = (struct bytes){ names.data + size, names.size - size };
    }
}

static enum err take_run(struct merging *m, struct bytes body)
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
    if (r.boot_ns && r.boot_ns < m->events.boot_ns)
        m->events.boot_ns = r.boot_ns;
    run->period_ns = r.period_ns;
    run->start_ns = r.time_ns;
    name_events(run, keep(m, r.events));
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

static enum err take_run_end(struct merging *m, struct bytes body)
{
    struct run_end_record r;
    if (record_unpack_run_end(body, &r))
        return CORRUPT;
    m->run->ended = true;
    m->run->end_ns = r.time_ns;
    if (r.total.known) /* who stays for the rest is nobody's parent and has no sum */
        m->run->total = r.total;
    m->run->gaps.records_lost = r.records_lost;
    m->run->gaps.events_lost = r.events_lost;
    m->run->gaps.ticks_late = r.ticks_late;
    if (r.status_known)
        set_status(m->run, (int)r.status);
    return OK;
}

/* The run begins with its command, not with what sonde run makes ready before: that is 0.3 s where it loads programs into the
 * kernel. */
static enum err take_spawn(struct merging *m, struct bytes body)
{
    struct spawn_record r;
    if (!m->has_begun && m->run_pid && !record_unpack_spawn(body, &r) && r.ppid == m->run_pid) {
        m->has_begun = true;
        m->run->start_ns = r.time_ns > m->run->start_ns ? r.time_ns : m->run->start_ns;
    }
    return events_add(&m->events, RECORD_KIND_spawn, body);
}

static enum err take_record(struct merging *m, enum record_kind kind, struct bytes body)
{
    switch (kind) {
    case RECORD_KIND_run: return take_run(m, body);
    case RECORD_KIND_run_end: return take_run_end(m, body);
    case RECORD_KIND_spawn: return take_spawn(m, body);
    case RECORD_KIND_set: return series_add_set(&m->series, body);
    case RECORD_KIND_sample: return series_add_sample(&m->series, body);
    default: return kind > RECORD_KIND_run_end ? OK : events_add(&m->events, kind, body); /* OK: of a newer Sonde */
    }
}

static enum err read_records(struct merging *m)
{
    struct spool_reader *reader = &m->memory->reader;
    enum record_kind kind;
    struct bytes body;
    while (spool_next(reader, &kind, &body) == OK) {
        enum err err = take_record(m, kind, body);
        if (err == CORRUPT)
            m->run->gaps.bytes_damaged += FRAME_HEAD + body.size;
        else if (err)
            return err;
        events_pages_touch(&m->pages, reader->at);
    }
    m->run->gaps.bytes_damaged += reader->damaged_bytes;
    return m->has_run ? OK : CORRUPT;
}

static enum err find_processes(struct merging *m)
{
    enum err err = lives_find(&m->lives, &m->events, m->run_pid);
    if (err)
        return err;
    inits_join(&m->lives, &m->events);
    traced_drop(&m->lives, &m->events);
    err = tree_find_parents(&m->lives, &m->events, m->run_pid);
    if (!err)
        err = images_find(&m->images, &m->lives, &m->events);
    if (!err)
        err = tree_order(&m->images, &m->lives, &m->order, &m->count);
    if (!err)
        err = usage_init(&m->usage, &m->events, &m->lives, &m->images, m->order, m->count);
    if (!err)
        err = io_init(&m->io, &m->events, &m->lives, &m->images);
    return err;
}

static enum err make_room(struct merging *m)
{
    struct run *run = m->run;
    struct arena *arena = &m->memory->arena;
    run->processes = arena_alloc(arena, m->count, sizeof *run->processes);
    /* At most; a main thread stands beside others only, of which each has an event. One more is for work in progress. */
    run->threads = arena_alloc(arena, 2 * (size_t)m->events.threads + 1, sizeof *run->threads);
    run->counts = arena_alloc(arena, 2 * (size_t)m->events.perfs, sizeof *run->counts);
    return run->processes && run->threads && run->counts ? OK : NOMEM;
}

static enum err write_down(struct merging *m)
{
    struct run *run = m->run;
    struct identity identity = { &m->events, &m->lives, &m->images, &m->texts, run };
    struct numbers numbers = { &m->events, &m->lives, &m->images, &m->usage, &m->io, { 0 }, run };
    enum err err = make_room(m);
    for (uint32_t place = 0; place < m->count && !err; place++) {
        struct process *process = &run->processes[place];
        identity_fill(&identity, m->order[place], process);
        err = numbers_fill(&numbers, m->order[place], process);
        run->process_count = place + 1;
    }
    events_pages_forget(&m->pages);
    threads_scratch_clear(&numbers.scratch);
    return err;
}

/* From the back: every process is done before its parent. */
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

/* The kernel's sum at the command's end lacks what outlived the command, and children that nobody waited for: the kernel
 * buries those of a program that ignores SIGCHLD, and charges them to nobody. */
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

/* The largest memory in the kernel's sum is also that of our own copy before it became the command, which is more than
 * many a small program has. Where all processes told theirs, the largest of them is the job's. */
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

/* A program that computes tells nothing meanwhile, but samples are taken of it. */
static uint64_t last_seen_ns(const struct merging *m)
{
    const struct run *run = m->run;
    uint64_t last_ns = m->events.last_ns > run->start_ns ? m->events.last_ns : run->start_ns;
    for (size_t i = 0; i < run->series_count; i++) {
        const struct run_series *one = &run->series[i];
        if (one->count && one->times_ns[one->count - 1] > last_ns)
            last_ns = one->times_ns[one->count - 1];
    }
    return last_ns;
}

static enum err merge_all(struct merging *m)
{
    enum err err = read_records(m);
    if (!err)
        err = series_finish(&m->series, m->run);
    if (!err)
        err = find_processes(m);
    if (!err)
        err = write_down(m);
    if (err)
        return err;
    sum_up(m->run);
    raise_total(m->run);
    correct_rss(m->run);
    io_total_set(m->run, m->memory->reader.all.size);
    if (!m->run->ended)
        m->run->end_ns = last_seen_ns(m);
    return calls_floor_add(m->run, &m->memory->arena);
}

static void clear_work(struct merging *m)
{
    free(m->order);
    io_clear(&m->io);
    usage_clear(&m->usage);
    images_clear(&m->images);
    lives_clear(&m->lives);
    series_clear(&m->series);
    events_clear(&m->events);
    texts_clear(&m->texts);
}

static enum err merge_memory(struct merged *merged)
{
    struct merging m = { .run = &merged->run, .memory = merged->memory };
    texts_init(&m.texts, &merged->memory->arena);
    events_pages_init(&m.pages, merged->memory->mapped ? merged->memory->reader.all : (struct bytes){ 0 });
    events_init(&m.events, merged->memory->reader.all, &m.pages);
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
