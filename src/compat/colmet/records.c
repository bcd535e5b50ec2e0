/* The Python version: consecutive records, which start with their backend's name. The Rust version is in
 * records_rust.c. */
#include "compat/colmet/records.h"

#include "base/clock.h"
#include "compat/colmet/hosts.h"
#include "compat/colmet/records_rust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB_AT (2 * COLMET_NAME_SIZE)
#define TIME_AT (JOB_AT + 8)

enum err colmet_records_new(struct colmet_records **records)
{
    *records = calloc(1, sizeof **records);
    return *records ? OK : NOMEM;
}

void colmet_records_free(struct colmet_records **records)
{
    if (!*records)
        return;
    colmet_hosts_clear(*records);
    free(*records);
    *records = NULL;
}

size_t colmet_records_count(const struct colmet_records *records)
{
    return records->count;
}

const struct batch *colmet_records_batch(const struct colmet_records *records, size_t i)
{
    return &records->hosts[i]->batch;
}

/* A set per backend, created at the first call: its metrics are the columns. */
const struct set *colmet_records_set(const struct colmet_backend *backend)
{
    static struct metric metrics[COLMET_BACKENDS][COLMET_COLUMNS_MAX];
    static struct set sets[COLMET_BACKENDS];
    struct set *set = &sets[backend->id];
    if (set->name)
        return set;
    for (size_t i = 0; i < backend->count; i++) {
        const struct colmet_column *column = &backend->columns[i];
        metrics[backend->id][i] = (struct metric){ column->name, column->unit, column->kind, colmet_model_type(column->type),
                                                   "as reported by Colmet", NULL };
    }
    *set = (struct set){ backend->name, metrics[backend->id], backend->count, NULL };
    return set;
}

static uint64_t number_at(const char *at, size_t size)
{
    uint64_t number = 0;
    for (size_t i = size; i > 0; i--)
        number = number << 8 | (uint8_t)at[i - 1];
    return number;
}

/* A string padded with NUL. */
static struct bytes text_at(const char *at, size_t size)
{
    return (struct bytes){ at, strnlen(at, size) };
}

static const struct colmet_backend *backend_at(struct bytes rest)
{
    if (rest.size < COLMET_NAME_SIZE)
        return NULL;
    struct bytes name = text_at(rest.data, COLMET_NAME_SIZE);
    for (size_t i = 0; i < COLMET_BACKENDS; i++)
        if (colmet_backends[i].record_size && bytes_equal(bytes_of(colmet_backends[i].name), name))
            return &colmet_backends[i];
    return NULL;
}

/* A missing value is -1, in unsigned fields too. */
static void set_value(struct sample *sample, size_t i, enum colmet_type type, const char *at)
{
    uint64_t raw = number_at(at, colmet_type_size(type));
    uint32_t bits = (uint32_t)raw;
    float real;
    memcpy(&real, &bits, sizeof real);
    if (type == COLMET_F32 && real >= 0)
        sample_set_f64(sample, i, (double)real);
    else if (type == COLMET_U32 ? raw != UINT32_MAX : type != COLMET_F32 && raw != UINT64_MAX)
        sample_set_u64(sample, i, raw);
}

/* "[42, 43]"; the last number of a truncated list may be incomplete, and is ignored. */
static bool add_involved(struct colmet_host *host, struct bytes text)
{
    uint64_t number = 0;
    bool is_in_number = false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c >= '0' && c <= '9' && number < UINT64_MAX / 10 - 1) {
            number = number * 10 + (uint64_t)(c - '0');
            is_in_number = true;
            continue;
        }
        if (is_in_number && number && !colmet_hosts_job(host, number, true))
            return false;
        is_in_number = false;
        number = 0;
    }
    return true;
}

static enum err read_record(struct colmet_records *records, const struct colmet_backend *backend, const char *record)
{
    enum err err;
    uint64_t job_number = number_at(record + JOB_AT, 8), time_s = number_at(record + TIME_AT, 8);
    if (time_s > UINT64_MAX / NS_PER_S || job_number > INT64_MAX)
        return CORRUPT;
    struct colmet_host *host = colmet_hosts_get(records, text_at(record + COLMET_NAME_SIZE, COLMET_NAME_SIZE), &err);
    if (!host)
        return err;
    const struct colmet_job *job = job_number ? colmet_hosts_job(host, job_number, false) : NULL;
    if (job_number && !job)
        return FULL;
    struct sample *sample = batch_add(&host->batch, colmet_records_set(backend), time_s * NS_PER_S, "");
    if (!sample)
        return NOMEM;
    sample->job = job ? job->id : NULL;
    const char *at = record + COLMET_HEAD_SIZE;
    for (size_t i = 0; i < backend->wire_count; i++) {
        set_value(sample, i, backend->columns[i].type, at);
        at += colmet_type_size(backend->columns[i].type);
    }
    return !backend->has_involved || add_involved(host, text_at(at, COLMET_INVOLVED_SIZE)) ? OK : FULL;
}

static void count_bad(size_t *bad, char *error, size_t error_size, const char *what)
{
    if (!(*bad)++)
        snprintf(error, error_size, "%s", what);
}

/* The distance from an unknown record to the next known one. */
static size_t distance_to_next(struct bytes rest)
{
    for (size_t i = 1; i < rest.size; i++)
        if (backend_at((struct bytes){ rest.data + i, rest.size - i }))
            return i;
    return rest.size;
}

static enum err read_python(struct colmet_records *records, struct bytes rest, size_t *bad, char *error, size_t error_size)
{
    while (rest.size) {
        const struct colmet_backend *backend = backend_at(rest);
        size_t size = backend ? backend->record_size : distance_to_next(rest);
        if (!backend)
            count_bad(bad, error, error_size, "a record of an unknown backend");
        else if (size > rest.size) {
            count_bad(bad, error, error_size, "a truncated record");
            size = rest.size;
        } else {
            enum err err = read_record(records, backend, rest.data);
            if (err == FULL || err == NOMEM)
                return err;
            if (err)
                count_bad(bad, error, error_size, "a record with an invalid host or time");
        }
        rest = (struct bytes){ rest.data + size, rest.size - size };
    }
    return OK;
}

enum err colmet_records_read(struct colmet_records *records, struct bytes message, size_t *bad, char *error, size_t error_size)
{
    *bad = 0;
    error[0] = '\0';
    colmet_hosts_reset(records);
    bool is_rust = message.size && (uint8_t)message.data[0] >= 0x80; /* a MessagePack map; backend names are ASCII */
    enum err err = is_rust ? colmet_rust_read(records, message, bad, error, error_size)
                           : read_python(records, message, bad, error, error_size);
    colmet_hosts_finish(records);
    return !err && *bad && !records->count ? CORRUPT : err;
}

static void write_string(char *to, const char *text, size_t size)
{
    memcpy(to, text, strnlen(text, size - 1));
}

/* A missing value is -1 in signed fields only; Colmet's collector rejects it in others. */
static void write_value(char *to, const struct colmet_column *column, union value value, bool is_known)
{
    uint64_t raw = is_known ? value.u64 : column->type == COLMET_I64 ? UINT64_MAX : 0;
    if (column->type == COLMET_F32) {
        float real = is_known ? (float)value.f64 : 0;
        uint32_t bits;
        memcpy(&bits, &real, sizeof bits);
        raw = bits;
    }
    for (size_t i = 0; i < colmet_type_size(column->type); i++)
        to[i] = (char)(raw >> (8 * i));
}

void colmet_records_write(struct buf *out, const struct colmet_backend *backend, const char *host, uint64_t job, uint64_t time_s,
                          const union value *values, const uint8_t *known, const char *involved)
{
    static const struct colmet_column whole = { "", COLMET_U64, GAUGE, "" };
    char *record = backend->record_size ? buf_reserve(out, backend->record_size) : NULL;
    if (!record)
        return;
    memset(record, 0, backend->record_size);
    write_string(record, backend->name, COLMET_NAME_SIZE);
    write_string(record + COLMET_NAME_SIZE, host, COLMET_NAME_SIZE);
    write_value(record + JOB_AT, &whole, (union value){ .u64 = job }, true);
    write_value(record + TIME_AT, &whole, (union value){ .u64 = time_s }, true);
    char *at = record + COLMET_HEAD_SIZE;
    for (size_t i = 0; i < backend->wire_count; i++) {
        write_value(at, &backend->columns[i], values[i], known[i]);
        at += colmet_type_size(backend->columns[i].type);
    }
    if (backend->has_involved)
        write_string(at, involved, COLMET_INVOLVED_SIZE);
    out->size += backend->record_size;
}
