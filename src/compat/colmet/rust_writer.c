/* {job: [host, ms, (1,) [[backend, [id…], [value…]], …]]}. Metric ids are places in the columns of the three backends. */
#include "compat/colmet/rust_writer.h"

#include "base/clock.h"
#include "base/vec.h"
#include "net/msgpack.h"

#include <string.h>

#define METRICS 67
#define ORDER_VERSION 1 /* of Colmet's metrics_order.yml */

struct colmet_rust_job {
    uint64_t job, time_ms;
    int64_t values[METRICS];
    bool known[METRICS];
};

static const struct rust_part {
    enum colmet_backend_id backend;
    const char *name_2019;
    size_t first;
} parts[] = { { COLMET_RUST_MEMORY, "Memory", 0 }, { COLMET_RUST_CPU, "Cpu", 36 }, { COLMET_RUST_PERFHW, "Perfhw", 39 } };
#define PARTS (sizeof parts / sizeof *parts)

/* Metrics of the set cgroup, which are those of the whole hierarchy, so that Colmet's total_ are the same. */
static const struct { const char *metric, *column; uint64_t factor; } sources[] = {
    { "memory_file", "cache", 1 }, { "memory_file", "total_cache", 1 }, { "memory_anonymous", "rss", 1 },
    { "memory_anonymous", "total_rss", 1 }, { "memory_shared", "shmem", 1 }, { "memory_shared", "total_shmem", 1 },
    { "swap", "swap", 1 }, { "swap", "total_swap", 1 }, { "page_faults", "pgfault", 1 }, { "page_faults", "total_pgfault", 1 },
    { "major_page_faults", "pgmajfault", 1 }, { "major_page_faults", "total_pgmajfault", 1 },
    { "memory_limit", "hierarchical_memory_limit", 1 }, { "cpu_periods", "nr_periods", 1 },
    { "cpu_throttled_periods", "nr_throttled", 1 }, { "cpu_throttled", "throttled_time", 1000 },
};

void colmet_rust_writer_clear(struct colmet_rust_writer *writer)
{
    free(writer->jobs);
    *writer = (struct colmet_rust_writer){ 0 };
}

static struct colmet_rust_job *job_of(struct colmet_rust_writer *writer, uint64_t number, uint64_t time_ns)
{
    for (size_t i = 0; i < writer->count; i++)
        if (writer->jobs[i].job == number)
            return &writer->jobs[i];
    if (array_reserve(writer->jobs, writer->capacity, writer->count + 1, VEC_MAX))
        return NULL;
    struct colmet_rust_job *job = &writer->jobs[writer->count++];
    *job = (struct colmet_rust_job){ .job = number, .time_ms = time_ns / NS_PER_MS };
    return job;
}

/* METRICS: none of this name. */
static size_t id_of(const char *name)
{
    for (size_t p = 0; p < PARTS; p++)
        for (size_t i = 0; i < colmet_backends[parts[p].backend].count; i++)
            if (strcmp(colmet_backends[parts[p].backend].columns[i].name, name) == 0)
                return parts[p].first + i;
    return METRICS;
}

static void set_value(struct colmet_rust_job *job, size_t id, int64_t value)
{
    if (id == METRICS)
        return;
    job->values[id] = value;
    job->known[id] = true;
}

static enum err add_cgroup(struct colmet_rust_writer *writer, const struct sample *sample)
{
    struct colmet_rust_job *job = job_of(writer, colmet_rows_job(sample->job), sample->time_ns);
    if (!job)
        return NOMEM;
    for (size_t i = 0; i < sample->set->size; i++)
        for (size_t k = 0; k < sizeof sources / sizeof *sources; k++)
            if ((!sample->known || sample->known[i]) && strcmp(sample->set->metrics[i].name, sources[k].metric) == 0
                && sample->values[i].u64 <= INT64_MAX / sources[k].factor)
                set_value(job, id_of(sources[k].column), (int64_t)(sample->values[i].u64 * sources[k].factor));
    return OK;
}

/* Rows of Rust nodes have the columns already; those of perf events the names as labels. */
static enum err add_row(struct colmet_rust_writer *writer, const struct colmet_row *row)
{
    bool is_perf = row->backend->id == COLMET_PERFHW && row->labels;
    if (!row->job || (!is_perf && row->backend->id < COLMET_RUST_MEMORY))
        return OK;
    struct colmet_rust_job *job = job_of(writer, row->job, row->time_ns);
    if (!job)
        return NOMEM;
    for (size_t i = 0; i < row->backend->count; i++) {
        const char *name = is_perf ? row->labels[i] : row->backend->columns[i].name;
        if (row->known[i] && name)
            set_value(job, id_of(name), row->values[i].i64);
    }
    return OK;
}

/* 2019: numbered from 1, without three entries about swap. 0: there is none. */
static uint64_t number_of(enum colmet_rust_generation generation, size_t id)
{
    if (generation == COLMET_RUST_2020)
        return id;
    return id <= 6 ? id + 1 : id >= 8 && id <= 17 ? id : id >= 19 && id <= 25 ? id - 1 : id >= 27 ? id - 2 : 0;
}

static bool is_sent(const struct colmet_rust_job *job, enum colmet_rust_generation generation, size_t id)
{
    return job->known[id] && (generation == COLMET_RUST_2020 || number_of(generation, id));
}

static size_t count_of(const struct colmet_rust_job *job, enum colmet_rust_generation generation, const struct rust_part *part)
{
    size_t count = 0;
    for (size_t i = 0; i < colmet_backends[part->backend].count; i++)
        count += is_sent(job, generation, part->first + i);
    return count;
}

/* The collector of 2019 calls decode() on names: with today's msgpack for Python they must be bytes, not strings. */
static void add_name(struct buf *out, enum colmet_rust_generation generation, const char *name)
{
    if (generation == COLMET_RUST_2019)
        msgpack_bytes(out, bytes_of(name));
    else
        msgpack_text(out, bytes_of(name));
}

static void add_part(struct buf *out, const struct colmet_rust_job *job, enum colmet_rust_generation generation,
                     const struct rust_part *part)
{
    const struct colmet_backend *backend = &colmet_backends[part->backend];
    size_t count = count_of(job, generation, part);
    if (!count)
        return;
    msgpack_array(out, 3);
    add_name(out, generation, generation == COLMET_RUST_2019 ? part->name_2019 : backend->name);
    msgpack_array(out, count);
    for (size_t i = 0; i < backend->count; i++)
        if (is_sent(job, generation, part->first + i))
            msgpack_u64(out, number_of(generation, part->first + i));
    msgpack_array(out, count);
    for (size_t i = 0; i < backend->count; i++)
        if (is_sent(job, generation, part->first + i))
            msgpack_i64(out, job->values[part->first + i]);
}

static void add_job(struct buf *out, const struct colmet_rust_job *job, enum colmet_rust_generation generation, const char *host)
{
    size_t count = 0;
    for (size_t p = 0; p < PARTS; p++)
        count += count_of(job, generation, &parts[p]) > 0;
    msgpack_u64(out, job->job);
    msgpack_array(out, generation == COLMET_RUST_2019 ? 3 : 4);
    add_name(out, generation, host);
    msgpack_u64(out, job->time_ms);
    if (generation == COLMET_RUST_2020)
        msgpack_u64(out, ORDER_VERSION);
    msgpack_array(out, count);
    for (size_t p = 0; p < PARTS; p++)
        add_part(out, job, generation, &parts[p]);
}

enum err colmet_rust_write(struct colmet_rust_writer *writer, enum colmet_rust_generation generation, const struct batch *batch,
                           const struct colmet_row *rows, size_t row_count, struct buf *out)
{
    enum err err = OK;
    writer->count = 0;
    for (size_t i = 0; i < batch->count && !err; i++)
        if (batch->samples[i].job && !*batch->samples[i].instance && strcmp(batch->samples[i].set->name, "cgroup") == 0)
            err = add_cgroup(writer, &batch->samples[i]);
    for (size_t i = 0; i < row_count && !err; i++)
        err = add_row(writer, &rows[i]);
    if (err || !writer->count)
        return err;
    msgpack_map(out, writer->count);
    for (size_t i = 0; i < writer->count; i++)
        add_job(out, &writer->jobs[i], generation, batch->host ? batch->host : "");
    return buf_err(out);
}
