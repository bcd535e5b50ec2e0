/* Two maps: runs by host and job, series by run, metric set and instance. */
#include "sinks/write_buffer.h"

#include "base/map.h"
#include "base/vec.h"
#include "journal/set_pool.h"

#include <stdlib.h>
#include <string.h>

void write_buffer_init(struct write_buffer *buffer)
{
    *buffer = (struct write_buffer){ 0 };
}

static void series_free(struct write_buffer_series *series)
{
    if (series->pooled)
        set_pool_release(series->pooled);
    free((void *)series->rows.instance);
    free(series->rows.times_ns);
    free(series->rows.values);
    free(series->rows.known);
    free(series->batches);
    free(series);
}

static void run_free(struct write_buffer_run *run)
{
    free(run->host);
    free(run->id);
    free(run->strings);
    free(run);
}

void write_buffer_clear(struct write_buffer *buffer)
{
    struct map_iterator at = { 0 };
    for (struct write_buffer_series *series; (series = map_next(&buffer->series, &at));)
        series_free(series);
    for (struct write_buffer_run *run = buffer->runs, *next; run; run = next) {
        next = run->next;
        run_free(run);
    }
    map_clear(&buffer->series);
    map_clear(&buffer->runs_by_job);
    write_buffer_init(buffer);
}

static uint64_t hash_run(const char *host, const char *id)
{
    return map_hash_string(map_hash_string(0, host), id);
}

static bool same_string(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct write_buffer_run *create_run(struct write_buffer *buffer, const char *host, const char *id, uint64_t hash)
{
    struct write_buffer_run *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    run->hash = hash;
    run->host = strdup(host);
    run->id = id ? strdup(id) : NULL;
    if (!run->host || (id && !run->id) || map_add(&buffer->runs_by_job, hash, run, VEC_MAX)) {
        run_free(run);
        return NULL;
    }
    run->job = (struct job){ .id = run->id, .other_id = "", .source = "", .user = "", .cgroup = "", .uid = UINT32_MAX };
    run->is_dirty = true;
    run->next = buffer->runs;
    buffer->runs = run;
    return run;
}

struct run_key {
    const char *host, *id;
};

static bool is_run(const void *item, const void *key)
{
    const struct write_buffer_run *run = item;
    const struct run_key *wanted = key;
    return strcmp(run->host, wanted->host) == 0 && same_string(run->id, wanted->id);
}

static struct write_buffer_run *find_run(struct write_buffer *buffer, const char *host, const char *id)
{
    uint64_t hash = hash_run(host, id);
    struct run_key key = { host, id };
    struct write_buffer_run *run = map_find(&buffer->runs_by_job, hash, is_run, &key);
    return run ? run : create_run(buffer, host, id, hash);
}

static enum err copy_job(struct write_buffer_run *run, const struct job *job)
{
    size_t user = strlen(job->user) + 1, other = strlen(job->other_id) + 1, source = strlen(job->source) + 1;
    char *strings = malloc(user + other + source);
    if (!strings)
        return NOMEM;
    free(run->strings);
    run->strings = strings;
    run->job = *job;
    run->job.id = run->id;
    run->job.cgroup = "";
    run->job.user = memcpy(strings, job->user, user);
    run->job.other_id = memcpy(strings + user, job->other_id, other);
    run->job.source = memcpy(strings + user + other, job->source, source);
    run->facts.start_ns = job->start_ns;
    run->is_dirty = true;
    return OK;
}

static struct write_buffer_series *create_series(struct write_buffer *buffer, struct write_buffer_run *run,
                                                 const struct sample *sample, uint64_t hash)
{
    struct write_buffer_series *series = calloc(1, sizeof *series);
    struct set *copy = series ? set_copy(sample->set) : NULL;
    if (!copy || set_pool_take(copy, &series->pooled)) {
        free(series);
        return NULL;
    }
    series->hash = hash;
    series->run = run;
    series->rows.set = *series->pooled;
    series->rows.instance = strdup(sample->instance);
    if (!series->rows.instance || map_add(&buffer->series, hash, series, VEC_MAX)) {
        series_free(series);
        return NULL;
    }
    series->next_of_run = run->series;
    run->series = series;
    return series;
}

static bool is_of(const struct write_buffer_series *series, const struct write_buffer_run *run, const struct sample *sample)
{
    return series->run == run && strcmp(series->rows.instance, sample->instance) == 0
           && (set_address_equal(&series->address, sample->set) || set_equal(series->pooled, sample->set));
}

struct series_key {
    const struct write_buffer_run *run;
    const struct sample *sample;
};

static bool is_series(const void *series, const void *key)
{
    return is_of(series, ((const struct series_key *)key)->run, ((const struct series_key *)key)->sample);
}

static struct write_buffer_series *find_series(struct write_buffer *buffer, struct write_buffer_run *run,
                                               const struct sample *sample)
{
    uint64_t hash = map_hash_string(map_hash_string(run->hash, sample->set->name), sample->instance) + sample->set->size;
    struct series_key key = { run, sample };
    struct write_buffer_series *series = map_find(&buffer->series, hash, is_series, &key);
    if (!series)
        series = create_series(buffer, run, sample, hash);
    if (series)
        series->address = set_address_of(sample->set);
    return series;
}

static bool reserve_row(struct write_buffer_series *series)
{
    struct run_series *rows = &series->rows;
    if (rows->count < series->capacity)
        return true;
    size_t capacity = vec_capacity(series->capacity, rows->count + 1, VEC_MAX), size = rows->set.size ? rows->set.size : 1;
    if (array_resize(rows->times_ns, capacity) || array_resize(rows->values, capacity * size)
        || array_resize(rows->known, capacity * size) || array_resize(series->batches, capacity))
        return false;
    series->capacity = capacity;
    return true;
}

static enum err add_row(struct write_buffer *buffer, struct write_buffer_series *series, const struct sample *sample,
                        struct write_buffer_batch batch_id)
{
    struct run_series *rows = &series->rows;
    size_t size = rows->set.size;
    if (!reserve_row(series))
        return NOMEM;
    rows->times_ns[rows->count] = sample->time_ns;
    series->batches[rows->count] = batch_id;
    memcpy(rows->values + rows->count * size, sample->values, size * sizeof *rows->values);
    if (sample->known)
        memcpy(rows->known + rows->count * size, sample->known, size);
    else
        memset(rows->known + rows->count * size, 1, size);
    rows->count++;
    buffer->bytes += sizeof sample->time_ns + sizeof batch_id + size * (sizeof *sample->values + 1);
    return OK;
}

/* The totals that the kernel counts for a whole job, from the metric set "cgroup". */
struct totals {
    uint64_t cpu, cpu_user, cpu_system, memory, memory_peak, io_read, io_written;
    unsigned known; /* a bit per field, in this order */
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

/* The total is exact. User and system time may be counted in ticks, and a last sample may lack them: they only determine how it
 * is divided, if necessary as before. */
static void set_cpu(struct counters *counters, const struct totals *totals)
{
    bool has_parts = has(totals, TOTAL_cpu_user) && has(totals, TOTAL_cpu_system);
    if (!has_parts && !has(totals, TOTAL_cpu))
        return;
    uint64_t user = has_parts ? totals->cpu_user : counters->value[COUNTER_usertime];
    uint64_t system = has_parts ? totals->cpu_system : counters->value[COUNTER_systemtime];
    uint64_t parts = user + system, whole = has(totals, TOTAL_cpu) ? totals->cpu : parts;
    system = parts ? (uint64_t)((double)whole * (double)system / (double)parts) : 0;
    counters_set(counters, COUNTER_usertime, whole - system);
    if (has_parts || counters_has(counters, COUNTER_systemtime))
        counters_set(counters, COUNTER_systemtime, system);
}

static void set_totals(struct write_buffer_run *run, const struct sample *sample)
{
    struct totals totals = { 0 };
    if (strcmp(sample->set->name, "cgroup") != 0 || sample->instance[0] || !run->id)
        return;
    for (size_t i = 0; i < sample->set->size; i++)
        if (!sample->known || sample->known[i])
            read_total(&totals, sample->set->metrics[i].name, sample->values[i].u64);
    set_cpu(&run->facts.total, &totals);
    if (has(&totals, TOTAL_io_read))
        counters_set(&run->facts.total, COUNTER_read_bytes, totals.io_read);
    if (has(&totals, TOTAL_io_written))
        counters_set(&run->facts.total, COUNTER_write_bytes, totals.io_written);
    uint64_t peak = totals.memory_peak > totals.memory ? totals.memory_peak : totals.memory;
    if (peak > run->facts.memory_peak_bytes)
        run->facts.memory_peak_bytes = peak;
}

static void set_times(struct write_buffer_run *run, const struct write_buffer_series *series, uint64_t time_ns)
{
    const struct run_series *rows = &series->rows;
    if (!run->facts.start_ns || (!run->id && time_ns < run->facts.start_ns))
        run->facts.start_ns = time_ns;
    if (time_ns > run->facts.end_ns)
        run->facts.end_ns = time_ns;
    if (rows->count > 1 && time_ns > rows->times_ns[rows->count - 2])
        run->facts.period_ns = time_ns - rows->times_ns[rows->count - 2];
}

static enum err add_sample(struct write_buffer *buffer, const struct batch *batch, const struct sample *sample, size_t stream)
{
    struct write_buffer_run *run = find_run(buffer, batch->host ? batch->host : "", sample->job);
    struct write_buffer_series *series = run ? find_series(buffer, run, sample) : NULL;
    struct write_buffer_batch batch_id = { stream, batch->sequence };
    enum err err = series ? add_row(buffer, series, sample, batch_id) : NOMEM;
    if (err)
        return err;
    set_times(run, series, sample->time_ns);
    set_totals(run, sample);
    return OK;
}

static enum err add_job(struct write_buffer *buffer, const struct batch *batch, const struct job *job)
{
    struct write_buffer_run *run = find_run(buffer, batch->host ? batch->host : "", job->id);
    uint64_t time_ns = batch->count ? batch->samples[batch->count - 1].time_ns : 0;
    if (run && !job->end_ns && time_ns > run->facts.end_ns)
        run->facts.end_ns = time_ns; /* it runs, even if no sample is of it */
    bool is_known = run && run->strings && run->job.end_ns == job->end_ns && run->job.uid == job->uid
                    && run->job.cores_milli == job->cores_milli && run->job.memory_bytes == job->memory_bytes;
    return !run ? NOMEM : is_known ? OK : copy_job(run, job);
}

static enum err add_event(struct write_buffer *buffer, const struct batch *batch, const struct batch_event *event)
{
    struct write_buffer_run *run = find_run(buffer, batch->host ? batch->host : "", event->job->id);
    enum err err = run ? copy_job(run, event->job) : NOMEM;
    if (!err)
        run->has_ended = event->event == JOB_END;
    if (err || !run->has_ended)
        return err;
    if (!run->job.end_ns)
        run->job.end_ns = run->facts.end_ns;
    if (run->job.end_ns > run->facts.end_ns)
        run->facts.end_ns = run->job.end_ns;
    return OK;
}

enum err write_buffer_add(struct write_buffer *buffer, const struct batch *batch, size_t stream)
{
    enum err err = OK;
    for (size_t i = 0; i < batch->job_count && !err; i++)
        err = add_job(buffer, batch, batch->jobs[i]);
    for (size_t i = 0; i < batch->count && !err; i++)
        err = add_sample(buffer, batch, &batch->samples[i], stream);
    for (size_t i = 0; i < batch->event_count && !err; i++)
        err = add_event(buffer, batch, &batch->events[i]);
    return err;
}

static void move_row(struct write_buffer_series *series, size_t to, size_t from)
{
    struct run_series *rows = &series->rows;
    size_t size = rows->set.size;
    rows->times_ns[to] = rows->times_ns[from];
    series->batches[to] = series->batches[from];
    memcpy(rows->values + to * size, rows->values + from * size, size * sizeof *rows->values);
    memcpy(rows->known + to * size, rows->known + from * size, size);
}

void write_buffer_drop(struct write_buffer *buffer, bool (*is_saved)(const void *context, size_t stream, uint64_t sequence),
                  const void *context)
{
    for (struct write_buffer_run *run = buffer->runs; run; run = run->next)
        for (struct write_buffer_series *series = run->series; series; series = series->next_of_run) {
            size_t kept = 0;
            for (size_t i = 0; i < series->rows.count; i++) {
                if (is_saved(context, series->batches[i].stream, series->batches[i].sequence))
                    continue;
                if (kept != i)
                    move_row(series, kept, i);
                kept++;
            }
            series->rows.count = kept;
        }
}

static void unlink_series(struct write_buffer *buffer, struct write_buffer_series *series)
{
    map_remove(&buffer->series, series->hash, series);
    series_free(series);
}

static void drop_run(struct write_buffer *buffer, struct write_buffer_run *run)
{
    for (struct write_buffer_series *series = run->series, *next; series; series = next) {
        next = series->next_of_run;
        unlink_series(buffer, series);
    }
    map_remove(&buffer->runs_by_job, run->hash, run);
    run_free(run);
}

/* Frees series that got no row since the last save: an instance may never return. */
static void drop_idle_series(struct write_buffer *buffer, struct write_buffer_run *run)
{
    for (struct write_buffer_series **at = &run->series; *at;) {
        struct write_buffer_series *series = *at;
        if (series->rows.count) {
            series->rows.count = 0;
            at = &series->next_of_run;
        } else {
            *at = series->next_of_run;
            unlink_series(buffer, series);
        }
    }
}

void write_buffer_saved(struct write_buffer *buffer)
{
    for (struct write_buffer_run **at = &buffer->runs; *at;) {
        struct write_buffer_run *run = *at;
        if (run->has_ended) {
            *at = run->next;
            drop_run(buffer, run);
            continue;
        }
        drop_idle_series(buffer, run);
        at = &run->next;
    }
    buffer->bytes = 0;
}

void write_buffer_forget_rows(struct write_buffer *buffer)
{
    for (struct write_buffer_run *run = buffer->runs; run; run = run->next) {
        run->job_row = run->row = 0;
        run->is_dirty = true;
        for (struct write_buffer_series *series = run->series; series; series = series->next_of_run)
            series->is_placed = false;
    }
}
