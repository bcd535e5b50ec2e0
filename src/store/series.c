/* Series out of the store: the chunks of one series are decoded one behind the other and told as one. */
#include "store/store.h"

#include "base/vec.h"
#include "store/columns.h"
#include "store/db.h"
#include "store/series_codec.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MAX (64u << 20) /* of one series: two years at 1 s */

struct reader {
    struct store *store;
    struct statement *chunks, *metrics;
    struct run_series series;
    struct metric *set_metrics;
    char *texts;      /* names of the set, its metrics, the instance and the host */
    const char *host;
    size_t room;      /* rows */
    bool overlaps;    /* a chunk begins before the one before it ends */
    int64_t run, number, set_row;
};

static bool make_room(struct reader *reader, size_t rows)
{
    struct run_series *series = &reader->series;
    if (rows <= reader->room)
        return true;
    if (rows > ROWS_MAX)
        return false;
    size_t room = reader->room * 2 > rows ? reader->room * 2 : rows, columns = series->set.size ? series->set.size : 1;
    if (array_resize(series->times_ns, room) || array_resize(series->values, room * columns)
        || array_resize(series->known, room * columns))
        return false;
    reader->room = room;
    return true;
}

static void forget(struct reader *reader)
{
    free(reader->series.times_ns);
    free(reader->series.values);
    free(reader->series.known);
    free(reader->set_metrics);
    free(reader->texts);
    reader->series = (struct run_series){ 0 };
    reader->set_metrics = NULL;
    reader->texts = NULL;
    reader->room = 0;
    reader->overlaps = false;
}

/* The texts of a description lie behind one another in a buffer that moves while it grows: places first. */
static void add_text(struct buf *texts, const char *text)
{
    buf_add_text(texts, text);
    buf_add_char(texts, '\0');
}

static const char *next_text(const char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

static enum metric_type type_of(const char *name)
{
    return strcmp(name, "f64") == 0 ? F64 : strcmp(name, "i64") == 0 ? I64 : U64;
}

static enum err read_metrics(struct reader *reader, struct buf *texts, size_t *count)
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
            add_text(texts, statement_text(reader->metrics, i));
    }
}

/* What the first chunk of a series tells, and the description of its set. */
static enum err begin_series(struct reader *reader)
{
    struct buf texts;
    size_t count;
    buf_init(&texts, SIZE_MAX / 2);
    reader->run = statement_i64(reader->chunks, 0);
    reader->number = statement_i64(reader->chunks, 1);
    reader->set_row = statement_i64(reader->chunks, 2);
    for (int i = 3; i < 6; i++)
        add_text(&texts, statement_text(reader->chunks, i));
    enum err err = read_metrics(reader, &texts, &count);
    reader->texts = texts.data;
    reader->set_metrics = calloc(count + 1, sizeof *reader->set_metrics);
    if (err != OK || buf_err(&texts) != OK || !reader->set_metrics)
        return err != OK ? err : NOMEM;
    const char *at = reader->texts;
    reader->host = next_text(&at);
    reader->series.instance = next_text(&at);
    reader->series.start_ns = (uint64_t)statement_i64(reader->chunks, 7);
    reader->series.by_agent = statement_i64(reader->chunks, 8) != 0;
    reader->series.set = (struct set){ next_text(&at), reader->set_metrics, count };
    for (size_t i = 0; i < count; i++) {
        struct metric *metric = &reader->set_metrics[i];
        metric->name = next_text(&at);
        metric->unit = next_text(&at);
        metric->kind = strcmp(next_text(&at), "counter") == 0 ? COUNTER : GAUGE;
        metric->type = type_of(next_text(&at));
        metric->help = next_text(&at);
    }
    return OK;
}

static enum err add_chunk(struct reader *reader)
{
    struct run_series *series = &reader->series;
    struct bytes data = statement_bytes(reader->chunks, 6);
    size_t rows, columns, at = series->count;
    enum err err = series_measure(data, &rows, &columns);
    if (err == OK && columns != series->set.size)
        err = CORRUPT;
    if (err == OK && !make_room(reader, at + rows))
        err = NOMEM;
    if (err == OK)
        err = series_decode(data, series->times_ns + at, series->values + at * columns, series->known + at * columns);
    if (err == CORRUPT)
        return db_say(reader->store, CORRUPT, "a series of set %s in the store %s is damaged", series->set.name,
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

/* Two collectors have filed parts of it, perhaps the same ones: rows by their times, each time once. */
static enum err put_in_order(struct reader *reader)
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
    reader->room = series->count;
    *series = in_order;
    return OK;
}

static bool same_series(const struct reader *reader)
{
    return reader->texts && statement_i64(reader->chunks, 0) == reader->run
           && statement_i64(reader->chunks, 1) == reader->number;
}

static enum err tell(struct reader *reader,
                     enum err (*each)(void *context, const char *host, const struct run_series *series), void *context)
{
    bool row = true;
    enum err err = OK;
    while (err == OK && row) {
        err = db_step(reader->store, reader->chunks, "read series", &row);
        if (err == OK && reader->texts && !(row && same_series(reader))) {
            if (reader->overlaps)
                err = put_in_order(reader);
            if (err == OK)
                err = each(context, reader->host, &reader->series);
            forget(reader);
        }
        if (err == OK && row && !reader->texts)
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
    struct reader reader = { .store = store };
    enum err err = db_prepare_many(store, &reader.chunks, "read series", sql);
    if (err == OK)
        err = db_prepare(store, &reader.metrics, "read series",
                         "SELECT name, unit, kind, type, help FROM set_metrics WHERE set_id = ?1 ORDER BY number");
    if (err == OK) {
        statement_bind_i64(reader.chunks, 1, row);
        err = tell(&reader, each, context);
    }
    forget(&reader);
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
    bool found = false;
    enum err err = db_prepare(store, &statement, "find a node", "SELECT id FROM runs WHERE run_id = ?1");
    if (err != OK)
        return err;
    struct buf id;
    buf_init(&id, 4096);
    buf_printf(&id, "node/%s", host);
    columns_bind_bytes(statement, 1, (struct bytes){ id.data, id.size });
    err = db_step(store, statement, "find a node", &found);
    int64_t run = found ? statement_i64(statement, 0) : 0;
    statement_free(statement);
    buf_clear(&id);
    return err == OK && run ? read_by(store, CHUNKS_SELECT "s.job = 0 AND s.run = ?1" CHUNKS_ORDER, run, each, context) : err;
}
