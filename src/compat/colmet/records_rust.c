/* One parser for all three generations, which differ in the sizes of their arrays. */
#include "compat/colmet/records_rust.h"

#include "base/clock.h"
#include "net/msgpack.h"

#include <stdio.h>

#define METRICS 67
#define IDS_MAX 256 /* per backend */
#define ENTRIES_MAX COLMET_JOBS_MAX

/* The values of a job, by Colmet's metric ids of version 1. */
struct measures {
    int64_t values[METRICS];
    bool known[METRICS];
};

/* 2019: the same list without three entries about swap, starting at 1. */
static uint64_t id_of_2019(uint64_t id)
{
    if (id == 0 || id > 64)
        return METRICS;
    return id <= 7 ? id - 1 : id <= 17 ? id : id <= 24 ? id + 1 : id + 2;
}

/* A number, or a string of digits. */
static uint64_t read_id(struct msgpack *in, bool is_of_2019)
{
    uint64_t id = 0;
    if (!msgpack_is_text(in))
        id = msgpack_read_u64(in);
    else {
        struct bytes text = msgpack_read_bytes(in);
        for (size_t i = 0; i < text.size && id < METRICS; i++)
            id = text.data[i] >= '0' && text.data[i] <= '9' ? id * 10 + (uint64_t)(text.data[i] - '0') : METRICS;
        id = text.size ? id : METRICS;
    }
    return is_of_2019 ? id_of_2019(id) : id;
}

/* [(job,) backend, [id…], [value…]] */
static void read_measures(struct msgpack *in, bool is_of_2019, struct measures *measures)
{
    uint64_t ids[IDS_MAX] = { 0 };
    size_t items = msgpack_read_array(in);
    if (items != 3 && items != 4)
        in->bad = true;
    if (items == 4)
        msgpack_skip(in);
    msgpack_skip(in); /* the name of the backend: the ids are enough */
    size_t count = msgpack_read_array(in);
    if (count > IDS_MAX)
        in->bad = true;
    for (size_t i = 0; i < count && !in->bad; i++)
        ids[i] = read_id(in, is_of_2019);
    if (msgpack_read_array(in) != count)
        in->bad = true;
    for (size_t i = 0; i < count && !in->bad; i++) {
        int64_t value = msgpack_read_i64(in);
        if (in->bad || ids[i] >= METRICS)
            continue;
        measures->values[ids[i]] = value;
        measures->known[ids[i]] = true;
    }
}

static enum err add_sample(struct colmet_host *host, const char *job, uint64_t time_ns, const struct measures *measures,
                           enum colmet_backend_id backend, size_t first)
{
    const struct set *set = colmet_records_set(&colmet_backends[backend]);
    bool is_any = false;
    for (size_t i = 0; i < set->size; i++)
        is_any |= measures->known[first + i];
    struct sample *sample = is_any ? batch_add(&host->batch, set, time_ns, "") : NULL;
    if (!sample)
        return is_any ? NOMEM : OK;
    sample->job = job;
    for (size_t i = 0; i < set->size; i++)
        if (measures->known[first + i])
            sample_set_u64(sample, i, (uint64_t)measures->values[first + i]);
    return OK;
}

static enum err add_job(struct colmet_records *records, struct bytes name, uint64_t number, uint64_t time_ns,
                        const struct measures *measures)
{
    static const struct { enum colmet_backend_id backend; size_t first; } parts[] = {
        { COLMET_RUST_MEMORY, 0 }, { COLMET_RUST_CPU, 36 }, { COLMET_RUST_PERFHW, 39 },
    };
    enum err err;
    struct colmet_host *host = colmet_hosts_get(records, name, &err);
    if (!host)
        return err;
    const struct colmet_job *job = colmet_hosts_job(host, number, true);
    if (!job)
        return FULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !err; i++)
        err = add_sample(host, job->id, time_ns, measures, parts[i].backend, parts[i].first);
    return err;
}

/* job: [host, ms, (version,) [measures…]] */
static enum err read_job(struct colmet_records *records, struct msgpack *in)
{
    struct measures measures = { 0 };
    int64_t number = msgpack_read_i64(in);
    size_t items = msgpack_read_array(in);
    if (items != 3 && items != 4)
        in->bad = true;
    struct bytes host = msgpack_read_bytes(in);
    int64_t time_ms = msgpack_read_i64(in);
    if (items == 4)
        msgpack_skip(in);
    size_t count = msgpack_read_array(in);
    for (size_t i = 0; i < count && !in->bad; i++)
        read_measures(in, items == 3, &measures);
    if (in->bad || number <= 0 || time_ms < 0 || (uint64_t)time_ms > UINT64_MAX / NS_PER_MS)
        return CORRUPT;
    return add_job(records, host, (uint64_t)number, (uint64_t)time_ms * NS_PER_MS, &measures);
}

enum err colmet_rust_read(struct colmet_records *records, struct bytes message, size_t *bad, char *error, size_t error_size)
{
    struct msgpack in = msgpack_of(message);
    size_t jobs = msgpack_read_map(&in);
    enum err err = jobs > ENTRIES_MAX ? FULL : OK;
    for (size_t i = 0; i < jobs && !in.bad && !err; i++) {
        err = read_job(records, &in);
        if (err != CORRUPT)
            continue;
        if (!(*bad)++)
            snprintf(error, error_size, "an invalid entry of a job");
        err = OK;
    }
    if ((in.bad || in.at != in.end) && !(*bad)++)
        snprintf(error, error_size, "not a Colmet message");
    return err;
}
