/* Two tables of chains: runs by host and job, tracks by run, set and instance. */
#include "sinks/write_buffer.h"

#include "base/hash.h"
#include "journal/set_pool.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64
#define ROWS_MIN 8

void growing_init(struct growing *growing)
{
    *growing = (struct growing){ 0 };
}

static void track_free(struct growing_track *track)
{
    if (track->pooled)
        set_pool_release(track->pooled);
    free((void *)track->series.instance);
    free(track->series.times_ns);
    free(track->series.values);
    free(track->series.known);
    free(track->marks);
    free(track);
}

static void run_free(struct growing_run *run)
{
    free(run->host);
    free(run->id);
    free(run->texts);
    free(run);
}

void growing_clear(struct growing *growing)
{
    for (size_t i = 0; i < growing->track_slot_count; i++)
        for (struct growing_track *track = growing->track_slots[i], *next; track; track = next) {
            next = track->next_in_slot;
            track_free(track);
        }
    for (struct growing_run *run = growing->runs, *next; run; run = next) {
        next = run->next;
        run_free(run);
    }
    free(growing->track_slots);
    free(growing->run_slots);
    growing_init(growing);
}

static uint64_t hash_run(const char *host, const char *id)
{
    return hash_add_text(hash_add_text(HASH_START, host), id);
}

/* The number of slots that a table of so many should have, or 0: as it is. */
static size_t slots_for(size_t count, size_t slots)
{
    return count < slots ? 0 : slots ? slots * 2 : SLOTS_MIN;
}

static bool grow_runs(struct growing *growing)
{
    size_t slots = slots_for(growing->run_count, growing->run_slot_count);
    struct growing_run **table = slots ? calloc(slots, sizeof(struct growing_run *)) : NULL;
    if (!slots || !table)
        return !slots && growing->run_slot_count;
    for (struct growing_run *run = growing->runs; run; run = run->next) {
        struct growing_run **slot = &table[run->hash % slots];
        run->next_in_slot = *slot;
        *slot = run;
    }
    free(growing->run_slots);
    growing->run_slots = table;
    growing->run_slot_count = slots;
    return true;
}

static bool grow_tracks(struct growing *growing)
{
    size_t slots = slots_for(growing->track_count, growing->track_slot_count);
    struct growing_track **table = slots ? calloc(slots, sizeof(struct growing_track *)) : NULL;
    if (!slots || !table)
        return !slots && growing->track_slot_count;
    for (size_t i = 0; i < growing->track_slot_count; i++)
        for (struct growing_track *track = growing->track_slots[i], *next; track; track = next) {
            next = track->next_in_slot;
            struct growing_track **slot = &table[track->hash % slots];
            track->next_in_slot = *slot;
            *slot = track;
        }
    free(growing->track_slots);
    growing->track_slots = table;
    growing->track_slot_count = slots;
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct growing_run *make_run(struct growing *growing, const char *host, const char *id, uint64_t hash)
{
    struct growing_run *run = grow_runs(growing) ? calloc(1, sizeof *run) : NULL;
    if (!run)
        return NULL;
    run->hash = hash;
    run->host = strdup(host);
    run->id = id ? strdup(id) : NULL;
    if (!run->host || (id && !run->id)) {
        run_free(run);
        return NULL;
    }
    run->job = (struct job){ .id = run->id, .other_id = "", .source = "", .user = "", .cgroup = "", .uid = UINT32_MAX };
    run->is_dirty = true;
    run->next = growing->runs;
    growing->runs = run;
    growing->run_count++;
    struct growing_run **slot = &growing->run_slots[hash % growing->run_slot_count];
    run->next_in_slot = *slot;
    *slot = run;
    return run;
}

static struct growing_run *find_run(struct growing *growing, const char *host, const char *id)
{
    uint64_t hash = hash_run(host, id);
    struct growing_run *run = growing->run_slot_count ? growing->run_slots[hash % growing->run_slot_count] : NULL;
    while (run && (run->hash != hash || strcmp(run->host, host) != 0 || !same_text(run->id, id)))
        run = run->next_in_slot;
    return run ? run : make_run(growing, host, id, hash);
}

static enum err keep_job(struct growing_run *run, const struct job *job)
{
    size_t user = strlen(job->user) + 1, other = strlen(job->other_id) + 1, source = strlen(job->source) + 1;
    char *texts = malloc(user + other + source);
    if (!texts)
        return NOMEM;
    free(run->texts);
    run->texts = texts;
    run->job = *job;
    run->job.id = run->id;
    run->job.cgroup = "";
    run->job.user = memcpy(texts, job->user, user);
    run->job.other_id = memcpy(texts + user, job->other_id, other);
    run->job.source = memcpy(texts + user + other, job->source, source);
    run->facts.start_ns = job->start_ns;
    run->is_dirty = true;
    return OK;
}

static struct growing_track *make_track(struct growing *growing, struct growing_run *run, const struct sample *sample,
                                        uint64_t hash)
{
    struct growing_track *track = grow_tracks(growing) ? calloc(1, sizeof *track) : NULL;
    struct set *copy = track ? set_copy(sample->set) : NULL;
    if (!copy || set_pool_take(copy, &track->pooled)) {
        free(track);
        return NULL;
    }
    track->hash = hash;
    track->run = run;
    track->series.set = *track->pooled;
    track->series.instance = strdup(sample->instance);
    if (!track->series.instance) {
        track_free(track);
        return NULL;
    }
    track->next_of_run = run->tracks;
    run->tracks = track;
    growing->track_count++;
    struct growing_track **slot = &growing->track_slots[hash % growing->track_slot_count];
    track->next_in_slot = *slot;
    *slot = track;
    return track;
}

static bool is_of(const struct growing_track *track, const struct growing_run *run, const struct sample *sample)
{
    return track->run == run && strcmp(track->series.instance, sample->instance) == 0
           && (set_address_equal(&track->address, sample->set) || set_equal(track->pooled, sample->set));
}

static struct growing_track *find_track(struct growing *growing, struct growing_run *run, const struct sample *sample)
{
    uint64_t hash = hash_add_text(hash_add_text(run->hash, sample->set->name), sample->instance) + sample->set->size;
    struct growing_track *track =
        growing->track_slot_count ? growing->track_slots[hash % growing->track_slot_count] : NULL;
    while (track && (track->hash != hash || !is_of(track, run, sample)))
        track = track->next_in_slot;
    if (!track)
        track = make_track(growing, run, sample, hash);
    if (track)
        track->address = set_address_of(sample->set);
    return track;
}

static bool make_room(struct growing_track *track)
{
    struct run_series *series = &track->series;
    if (series->count < track->room)
        return true;
    size_t room = track->room ? track->room * 2 : ROWS_MIN, size = series->set.size ? series->set.size : 1;
    uint64_t *times_ns = realloc(series->times_ns, room * sizeof *times_ns);
    if (times_ns)
        series->times_ns = times_ns;
    union value *values = realloc(series->values, room * size * sizeof *values);
    if (values)
        series->values = values;
    uint8_t *known = realloc(series->known, room * size);
    if (known)
        series->known = known;
    struct growing_mark *marks = realloc(track->marks, room * sizeof *marks);
    if (marks)
        track->marks = marks;
    if (!times_ns || !values || !known || !marks)
        return false;
    track->room = room;
    return true;
}

static enum err add_row(struct growing *growing, struct growing_track *track, const struct sample *sample,
                        struct growing_mark mark)
{
    struct run_series *series = &track->series;
    size_t size = series->set.size;
    if (!make_room(track))
        return NOMEM;
    series->times_ns[series->count] = sample->time_ns;
    track->marks[series->count] = mark;
    memcpy(series->values + series->count * size, sample->values, size * sizeof *series->values);
    if (sample->known)
        memcpy(series->known + series->count * size, sample->known, size);
    else
        memset(series->known + series->count * size, 1, size);
    series->count++;
    growing->bytes += sizeof sample->time_ns + sizeof mark + size * (sizeof *sample->values + 1);
    return OK;
}

/* What the kernel says of a job as a whole, in the set "cgroup". */
struct totals {
    uint64_t cpu, cpu_user, cpu_system, memory, memory_peak, io_read, io_written;
    unsigned known; /* bits in this order */
};
#define TOTALS(X) X(cpu) X(cpu_user) X(cpu_system) X(memory) X(memory_peak) X(io_read) X(io_written)

enum total {
#define X(name) TOTAL_##name,
    TOTALS(X)
#undef X
};

static bool has(const struct totals *totals, enum total total)
{
    return totals->known >> total & 1;
}

static void read_total(struct totals *totals, const char *metric, uint64_t value)
{
#define X(name) \
    if (strcmp(metric, #name) == 0) { \
        totals->name = value; \
        totals->known |= 1u << TOTAL_##name; \
        return; \
    }
    TOTALS(X)
#undef X
}

/* The whole is exact; its parts may be counted in ticks, and are but its shares. */
static void note_cpu(struct counters *counters, const struct totals *totals)
{
    uint64_t parts = totals->cpu_user + totals->cpu_system;
    bool has_parts = has(totals, TOTAL_cpu_user) && has(totals, TOTAL_cpu_system);
    uint64_t whole = has(totals, TOTAL_cpu) ? totals->cpu : parts;
    if (!has_parts && !has(totals, TOTAL_cpu))
        return;
    uint64_t system = has_parts && parts ? (uint64_t)((double)whole * (double)totals->cpu_system / (double)parts) : 0;
    counters_set(counters, COUNTER_usertime, whole - system);
    if (has_parts)
        counters_set(counters, COUNTER_systemtime, system);
}

static void note_totals(struct growing_run *run, const struct sample *sample)
{
    struct totals totals = { 0 };
    if (strcmp(sample->set->name, "cgroup") != 0 || sample->instance[0] || !run->id)
        return;
    for (size_t i = 0; i < sample->set->size; i++)
        if (!sample->known || sample->known[i])
            read_total(&totals, sample->set->metrics[i].name, sample->values[i].u64);
    note_cpu(&run->facts.total, &totals);
    if (has(&totals, TOTAL_io_read))
        counters_set(&run->facts.total, COUNTER_read_bytes, totals.io_read);
    if (has(&totals, TOTAL_io_written))
        counters_set(&run->facts.total, COUNTER_write_bytes, totals.io_written);
    uint64_t peak = totals.memory_peak > totals.memory ? totals.memory_peak : totals.memory;
    if (peak > run->facts.memory_peak_bytes)
        run->facts.memory_peak_bytes = peak;
}

static void note_time(struct growing_run *run, const struct growing_track *track, uint64_t time_ns)
{
    const struct run_series *series = &track->series;
    if (!run->facts.start_ns || (!run->id && time_ns < run->facts.start_ns))
        run->facts.start_ns = time_ns;
    if (time_ns > run->facts.end_ns)
        run->facts.end_ns = time_ns;
    if (series->count > 1 && time_ns > series->times_ns[series->count - 2])
        run->facts.period_ns = time_ns - series->times_ns[series->count - 2];
}

static enum err take_sample(struct growing *growing, const struct batch *batch, const struct sample *sample, size_t stream)
{
    struct growing_run *run = find_run(growing, batch->host ? batch->host : "", sample->job);
    struct growing_track *track = run ? find_track(growing, run, sample) : NULL;
    struct growing_mark mark = { stream, batch->sequence };
    enum err err = track ? add_row(growing, track, sample, mark) : NOMEM;
    if (err)
        return err;
    note_time(run, track, sample->time_ns);
    note_totals(run, sample);
    return OK;
}

static enum err take_job(struct growing *growing, const struct batch *batch, const struct job *job)
{
    struct growing_run *run = find_run(growing, batch->host ? batch->host : "", job->id);
    bool is_known = run && run->texts && run->job.end_ns == job->end_ns && run->job.uid == job->uid
                    && run->job.cores_milli == job->cores_milli && run->job.memory_bytes == job->memory_bytes;
    return !run ? NOMEM : is_known ? OK : keep_job(run, job);
}

static enum err take_event(struct growing *growing, const struct batch *batch, const struct batch_event *event)
{
    struct growing_run *run = find_run(growing, batch->host ? batch->host : "", event->job->id);
    enum err err = run ? keep_job(run, event->job) : NOMEM;
    if (err || event->event != JOB_END)
        return err;
    run->has_ended = true;
    if (!run->job.end_ns)
        run->job.end_ns = run->facts.end_ns;
    if (run->job.end_ns > run->facts.end_ns)
        run->facts.end_ns = run->job.end_ns;
    return OK;
}

enum err growing_take(struct growing *growing, const struct batch *batch, size_t stream)
{
    enum err err = OK;
    for (size_t i = 0; i < batch->job_count && !err; i++)
        err = take_job(growing, batch, batch->jobs[i]);
    for (size_t i = 0; i < batch->count && !err; i++)
        err = take_sample(growing, batch, &batch->samples[i], stream);
    for (size_t i = 0; i < batch->event_count && !err; i++)
        err = take_event(growing, batch, &batch->events[i]);
    return err;
}

static void move_row(struct growing_track *track, size_t to, size_t from)
{
    struct run_series *series = &track->series;
    size_t size = series->set.size;
    series->times_ns[to] = series->times_ns[from];
    track->marks[to] = track->marks[from];
    memcpy(series->values + to * size, series->values + from * size, size * sizeof *series->values);
    memcpy(series->known + to * size, series->known + from * size, size);
}

void growing_drop(struct growing *growing, bool (*is_there)(const void *context, size_t stream, uint64_t sequence),
                  const void *context)
{
    for (struct growing_run *run = growing->runs; run; run = run->next)
        for (struct growing_track *track = run->tracks; track; track = track->next_of_run) {
            size_t kept = 0;
            for (size_t i = 0; i < track->series.count; i++) {
                if (is_there(context, track->marks[i].stream, track->marks[i].sequence))
                    continue;
                if (kept != i)
                    move_row(track, kept, i);
                kept++;
            }
            track->series.count = kept;
        }
}

static void unlink_track(struct growing *growing, struct growing_track *track)
{
    struct growing_track **at = &growing->track_slots[track->hash % growing->track_slot_count];
    while (*at != track)
        at = &(*at)->next_in_slot;
    *at = track->next_in_slot;
    growing->track_count--;
    track_free(track);
}

static void drop_run(struct growing *growing, struct growing_run *run)
{
    for (struct growing_track *track = run->tracks, *next; track; track = next) {
        next = track->next_of_run;
        unlink_track(growing, track);
    }
    struct growing_run **at = &growing->run_slots[run->hash % growing->run_slot_count];
    while (*at != run)
        at = &(*at)->next_in_slot;
    *at = run->next_in_slot;
    growing->run_count--;
    run_free(run);
}

/* A series of which nothing has come since the last time is not held: an instance may never come again. */
static void settle_tracks(struct growing *growing, struct growing_run *run)
{
    for (struct growing_track **at = &run->tracks; *at;) {
        struct growing_track *track = *at;
        if (track->series.count) {
            track->series.count = 0;
            at = &track->next_of_run;
        } else {
            *at = track->next_of_run;
            unlink_track(growing, track);
        }
    }
}

void growing_filed(struct growing *growing)
{
    for (struct growing_run **at = &growing->runs; *at;) {
        struct growing_run *run = *at;
        if (run->has_ended) {
            *at = run->next;
            drop_run(growing, run);
            continue;
        }
        settle_tracks(growing, run);
        at = &run->next;
    }
    growing->bytes = 0;
}

void growing_forget_places(struct growing *growing)
{
    for (struct growing_run *run = growing->runs; run; run = run->next) {
        run->job_row = run->row = 0;
        run->is_dirty = true;
        for (struct growing_track *track = run->tracks; track; track = track->next_of_run)
            track->is_placed = false;
    }
}
