/* Reads series: decodes the chunks of a series in order and delivers them as one. */
#include "store/store.h"

#include "base/vec.h"
#include "store/columns.h"
#include "store/db.h"
#include "store/series_codec.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MAX (64u << 20) /* of one series: two years at 1 s */

struct series_reader {
    struct store *store;
    struct statement *chunks, *metrics;
    struct run_series series;
    struct metric *set_metrics;
    char *strings;     /* names of the set, its metrics, the instance and the host */
    const char *host;
    size_t capacity; /* in rows */
    bool overlaps;   /* a chunk starts before the previous one ends */
    int64_t run, number, set_row;
};

static bool reserve(struct series_reader *reader, size_t rows)
{
    struct run_series *series = &reader->series;
    if (rows <= reader->capacity)
        return true;
    if (rows > ROWS_MAX)
        return false;
    size_t capacity = reader->capacity * 2 > rows ? reader->capacity * 2 : rows;
    size_t columns = series->set.size ? series->set.size : 1;
    if (array_resize(series->times_ns, capacity) || array_resize(series->values, capacity * columns)
        || array_resize(series->known, capacity * columns))
        return false;
    reader->capacity = capacity;
    return true;
}

static void clear(struct series_reader *reader)
{
    free(reader->series.times_ns);
    free(reader->series.values);
    free(reader->series.known);
    free(reader->set_metrics);
    free(reader->strings);
    reader->series = (struct run_series){ 0 };
    reader->set_metrics = NULL;
    reader->strings = NULL;
    reader->capacity = 0;
    reader->overlaps = false;
}

/* All strings of a description are collected in one buffer, which may move while it grows; pointers are set afterwards. */
static void add_string(struct buf *strings, const char *text)
{
    buf_add_text(strings, text);
    buf_add_char(strings, '\0');
}

static const char *next_string(const char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

static enum metric_type type_of(const char *name)
{
    return strcmp(name, "f64") == 0 ? F64 : strcmp(name, "i64") == 0 ? I64 : U64;
}

static enum err read_metrics(struct series_reader *reader, struct buf *strings, size_t *count)
{
    bool row;
    *count = 0;
    statement_bind_i64(reader->metrics, 1, reader->set_row);
    for (;; ++*count) {
        enum err err = db_step(reader->store, reader->metrics, "read series", &row);
        if (err != OK || !row) {
            statement_reset(reader->metrics);
            return err;
        }
        for (int i = 0; i < 5; i++)
            add_string(strings, statement_text(reader->metrics, i));
    }
}

/* Takes the description from the first chunk of a series and from its set. */
static enum err begin_series(struct series_reader *reader)
{
    struct buf strings;
    size_t count;
    buf_init(&strings, SIZE_MAX / 2);
    reader->run = statement_i64(reader->chunks, 0);
    reader->number = statement_i64(reader->chunks, 1);
    reader->set_row = statement_i64(reader->chunks, 2);
    for (int i = 3; i < 6; i++)
        add_string(&strings, statement_text(reader->chunks, i));
    enum err err = read_metrics(reader, &strings, &count);
    reader->strings = strings.data;
    reader->set_metrics = calloc(count + 1, sizeof *reader->set_metrics);
    if (err != OK || buf_err(&strings) != OK || !reader->set_metrics)
        return err != OK ? err : NOMEM;
    const char *at = reader->strings;
    reader->host = next_string(&at);
    reader->series.instance = next_string(&at);
    reader->series.start_ns = (uint64_t)statement_i64(reader->chunks, 7);
    reader->series.by_agent = statement_i64(reader->chunks, 8) != 0;
    reader->series.set = (struct set){ next_string(&at), reader->set_metrics, count };
    for (size_t i = 0; i < count; i++) {
        struct metric *metric = &reader->set_metrics[i];
        metric->name = next_string(&at);
        metric->unit = next_string(&at);
        metric->kind = strcmp(next_string(&at), "counter") == 0 ? COUNTER : GAUGE;
        metric->type = type_of(next_string(&at));
        metric->help = next_string(&at);
    }
    return OK;
}

static enum err add_chunk(struct series_reader *reader)
{
    struct run_series *series = &reader->series;
    struct bytes data = statement_bytes(reader->chunks, 6);
    size_t rows, columns, at = series->count;
    enum err err = series_measure(data, &rows, &columns);
    if (err == OK && columns != series->set.size)
        err = CORRUPT;
    if (err == OK && !reserve(reader, at + rows))
        err = NOMEM;
    if (err == OK)
        err = series_decode(data, series->times_ns + at, series->values + at * columns, series->known + at * columns);
    if (err == CORRUPT)
        return db_error(reader->store, CORRUPT, "a series of set %s in the job database %s is damaged", series->set.name,
                        reader->store->path);
    if (err == OK && at && rows && series->times_ns[at] <= series->times_ns[at - 1])
        reader->overlaps = true;
    series->count += err == OK ? rows : 0;
    return err;
}

static int by_time(const void *a, const void *b, void *times)
{
    const uint64_t *times_ns = times, left = times_ns[*(const size_t *)a], right = times_ns[*(const size_t *)b];
    return left < right ? -1 : left > right ? 1 : *(const size_t *)a < *(const size_t *)b ? -1 : 1;
}

/* Two collectors saved parts of it, possibly the same ones: sorts rows by time and removes duplicates. */
static enum err sort_rows(struct series_reader *reader)
{
    struct run_series *series = &reader->series, in_order = *series;
    size_t columns = series->set.size, *rows = malloc(series->count * sizeof *rows), count = 0;
    in_order.times_ns = malloc(series->count * sizeof *in_order.times_ns);
    in_order.values = malloc((series->count * columns + 1) * sizeof *in_order.values);
    in_order.known = malloc(series->count * columns + 1);
    bool made = rows && in_order.times_ns && in_order.values && in_order.known;
    for (size_t i = 0; made && i < series->count; i++)
        rows[i] = i;
    if (made)
        qsort_r(rows, series->count, sizeof *rows, by_time, series->times_ns);
    for (size_t i = 0; made && i < series->count; i++) {
        if (count && series->times_ns[rows[i]] == in_order.times_ns[count - 1])
            continue;
        in_order.times_ns[count] = series->times_ns[rows[i]];
        memcpy(in_order.values + count * columns, series->values + rows[i] * columns, columns * sizeof *series->values);
        memcpy(in_order.known + count * columns, series->known + rows[i] * columns, columns);
        count++;
    }
    struct run_series *spare = made ? series : &in_order;
    free(spare->times_ns);
    free(spare->values);
    free(spare->known);
    free(rows);
    if (!made)
        return NOMEM;
    in_order.count = count;
    reader->capacity = series->count;
    *series = in_order;
    return OK;
}

static bool same_series(const struct series_reader *reader)
{
    return reader->strings && statement_i64(reader->chunks, 0) == reader->run
           && statement_i64(reader->chunks, 1) == reader->number;
}

static enum err read_all(struct series_reader *reader,
                         enum err (*each)(void *context, const char *host, const struct run_series *series), void *context)
{
    bool row = true;
    enum err err = OK;
    while (err == OK && row) {
        err = db_step(reader->store, reader->chunks, "read series", &row);
        if (err == OK && reader->strings && !(row && same_series(reader))) {
            if (reader->overlaps)
                err = sort_rows(reader);
            if (err == OK)
                err = each(context, reader->host, &reader->series);
            clear(reader);
        }
        if (err == OK && row && !reader->strings)
            err = begin_series(reader);
        if (err == OK && row)
            err = add_chunk(reader);
    }
    return err;
}

#define CHUNKS_SELECT \
    "SELECT s.run, s.number, s.set_id, h.name, s.instance, t.name, s.data, r.start_ns," \
    " CASE WHEN r.run_id LIKE 'agent/%' THEN 1 ELSE 0 END FROM series s" \
    " JOIN runs r ON r.id = s.run JOIN hosts h ON h.id = r.host JOIN sets t ON t.id = s.set_id WHERE "
#define CHUNKS_ORDER " ORDER BY h.name NULLS FIRST, r.start_ns NULLS FIRST, s.run, s.number, s.chunk"

static enum err read_by(struct store *store, const char *sql, int64_t row,
                        enum err (*each)(void *context, const char *host, const struct run_series *series), void *context)
{
    struct series_reader reader = { .store = store };
    enum err err = db_prepare_many(store, &reader.chunks, "read series", sql);
    if (err == OK)
        err = db_prepare(store, &reader.metrics, "read series",
                         "SELECT name, unit, kind, type, help FROM set_metrics WHERE set_id = ?1 ORDER BY number");
    if (err == OK) {
        statement_bind_i64(reader.chunks, 1, row);
        err = read_all(&reader, each, context);
    }
    clear(&reader);
    statement_free(reader.chunks);
    statement_free(reader.metrics);
    return err;
}

enum err store_series(struct store *store, int64_t job_row,
                      enum err (*each)(void *context, const char *host, const struct run_series *series), void *context)
{
    return read_by(store, CHUNKS_SELECT "s.job = ?1" CHUNKS_ORDER, job_row, each, context);
}

enum err db_tree_series(struct store *store, int64_t job_row,
                        enum err (*each)(void *context, const char *host, const struct run_series *series), void *context)
{
    return read_by(store, CHUNKS_SELECT "s.job = ?1 AND t.name = '" SUMMARY_TREE_SET "'" CHUNKS_ORDER, job_row, each, context);
}

enum err store_node_series(struct store *store, const char *host,
                           enum err (*each)(void *context, const char *host, const struct run_series *series), void *context)
{
    struct statement *statement;
    struct buf id;
    int64_t run = 0;
    buf_init(&id, 4096);
    buf_printf(&id, "node/%s", host);
    enum err err = buf_err(&id);
    if (err == OK)
        err = db_prepare(store, &statement, "find a node", "SELECT id FROM runs WHERE run_id = ?1");
    if (err == OK) {
        bool found;
        columns_bind_bytes(statement, 1, (struct bytes){ id.data, id.size });
        err = db_step(store, statement, "find a node", &found);
        run = found ? statement_i64(statement, 0) : 0;
        statement_free(statement);
    }
    buf_clear(&id);
    return err == OK && run ? read_by(store, CHUNKS_SELECT "s.job = 0 AND s.run = ?1" CHUNKS_ORDER, run, each, context) : err;
}
