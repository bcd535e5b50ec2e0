/* Saves series: a chunk of rows is one blob; sets and set_metrics describe its columns, once per set. */
#include "base/hash.h"
#include "store/save.h"

#include "store/columns.h"
#include "store/series_codec.h"

#include <string.h>

static const char *const kind_names[] = { [COUNTER] = "counter", [GAUGE] = "gauge" };
static const char *const type_names[] = { [U64] = "u64", [I64] = "i64", [F64] = "f64" };

/* Includes the NUL, as in databases created by old versions. */
static uint64_t hash_string(uint64_t hash, const char *text)
{
    return text ? hash_add(hash, text, strlen(text) + 1) : hash_add(hash, "", 1);
}

/* FNV-1a hash of everything that describes the set. */
static uint64_t hash_set(const struct set *set)
{
    uint64_t hash = hash_string(HASH_START, set->name);
    for (size_t i = 0; i < set->size; i++) {
        const struct metric *metric = &set->metrics[i];
        hash = hash_string(hash, metric->name);
        hash = hash_string(hash, metric->unit);
        hash = hash_string(hash, kind_names[metric->kind]);
        hash = hash_string(hash, type_names[metric->type]);
        hash = hash_string(hash, metric->help);
    }
    return hash;
}

static enum err write_metrics(struct store *store, int64_t set_row, const struct set *set)
{
    struct statement *statement;
    enum err err = db_prepare_bulk(store, &statement, "save series",
                                   "INSERT INTO set_metrics VALUES (?1,?2,?3,?4,?5,?6,?7)");
    for (size_t i = 0; i < set->size && err == OK; i++) {
        const struct metric *metric = &set->metrics[i];
        statement_bind_i64(statement, 1, set_row);
        statement_bind_u64(statement, 2, (uint64_t)i);
        columns_bind_bytes(statement, 3, bytes_of(metric->name));
        columns_bind_bytes(statement, 4, bytes_of(metric->unit));
        columns_bind_bytes(statement, 5, bytes_of(kind_names[metric->kind]));
        columns_bind_bytes(statement, 6, bytes_of(type_names[metric->type]));
        columns_bind_bytes(statement, 7, bytes_of(metric->help));
        err = db_run(store, statement, "save series");
    }
    if (err == OK)
        err = db_finish(store, &statement, "save series");
    statement_free(statement);
    return err;
}

static enum err insert_set(struct store *store, const struct set *set, int64_t hash, int64_t *row)
{
    struct statement *statement;
    enum err err = db_prepare(store, &statement, "save series", "INSERT INTO sets (name, hash) VALUES (?1, ?2)");
    if (err != OK)
        return err;
    columns_bind_bytes(statement, 1, bytes_of(set->name));
    statement_bind_i64(statement, 2, hash);
    err = db_run(store, statement, "save series");
    *row = db_last_id(store);
    statement_free(statement);
    return err == OK ? write_metrics(store, *row, set) : err;
}

enum err save_series_set(struct store *store, const struct set *set, int64_t *row)
{
    int64_t hash = (int64_t)hash_set(set);
    *row = 0;
    enum err err = db_number(store, "save series", "SELECT id FROM sets WHERE hash = ?1", hash, row);
    return err == OK && !*row ? insert_set(store, set, hash, row) : err;
}

static enum err write_chunk(struct saving *saving, struct statement *statement, const struct run_series *series,
                            size_t first, size_t count, struct buf *data)
{
    buf_reset(data);
    enum err err = series_encode(data, series, first, count);
    if (err != OK)
        return err;
    statement_bind_u64(statement, 4, (uint64_t)(first / SERIES_CHUNK_ROWS));
    statement_bind_u64(statement, 7, (uint64_t)count);
    statement_bind_u64(statement, 8, (uint64_t)series->times_ns[first]);
    statement_bind_u64(statement, 9, (uint64_t)series->times_ns[first + count - 1]);
    statement_bind_blob(statement, 10, (struct bytes){ data->data, data->size });
    return db_run(saving->store, statement, "save series");
}

static enum err write_series(struct saving *saving, struct statement *statement, size_t number, struct buf *data)
{
    const struct run_series *series = &saving->run->series[number];
    int64_t set_row;
    enum err err = save_series_set(saving->store, &series->set, &set_row);
    statement_bind_i64(statement, 1, saving->job);
    statement_bind_i64(statement, 2, saving->run_row);
    statement_bind_u64(statement, 3, (uint64_t)number);
    statement_bind_i64(statement, 5, set_row);
    columns_bind_bytes(statement, 6, bytes_of(series->instance));
    for (size_t first = 0; first < series->count && err == OK; first += SERIES_CHUNK_ROWS) {
        size_t left = series->count - first;
        err = write_chunk(saving, statement, series, first, left < SERIES_CHUNK_ROWS ? left : SERIES_CHUNK_ROWS, data);
    }
    return err;
}

enum err save_series(struct saving *saving)
{
    struct statement *statement;
    struct buf data;
    if (!saving->run->series_count)
        return OK;
    enum err err = db_prepare_bulk(saving->store, &statement, "save series",
                                   "INSERT INTO series VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)");
    buf_init(&data, SIZE_MAX / 2);
    for (size_t i = 0; i < saving->run->series_count && err == OK; i++)
        err = write_series(saving, statement, i, &data);
    if (err == OK)
        err = db_finish(saving->store, &statement, "save series");
    statement_free(statement);
    buf_clear(&data);
    return err;
}
