/* The sink `store`: samples and jobs to the job database, SQLite or PostgreSQL. Samples are collected for some
 * seconds, so that a series is stored in blocks that compress well, then saved in one transaction together with the
 * sequence numbers of their batches. */
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "sinks/write_buffer.h"
#include "sinks/sink.h"
#include "sinks/store_streams.h"
#include "sinks/writable.h"
#include "store/driver.h"
#include "store/series_codec.h"
#include "store/share.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX 1024
#define HOST_MAX 256
#define REFRESH_NS (60 * NS_PER_S) /* interval of updates to the totals of a running job */

struct pending_gap {
    char *host, *reason;
    struct batch_gap gap;
    size_t stream;     /* of the batch that reported it */
    uint64_t sequence;
};

struct store_state {
    const char *path, *source, *group;
    uint64_t every_ns, memory_bytes; /* settings */
    char default_source[HOST_MAX];
    struct store *store;
    struct write_buffer buffer;
    struct store_streams streams;
    struct pending_gap *gaps;
    size_t gap_count, gap_capacity;
    uint8_t salt;                  /* makes chunk numbers differ between collectors */
    uint64_t committed_ns;             /* CLOCK_MONOTONIC, of the last commit */
    uint64_t buffered_position, committed_position;
    bool is_last;                  /* no commit may follow: the totals of all jobs are updated */
    char message[MESSAGE_MAX];
};

static const struct setting store_settings[] = {
    { "path", SETTING_TEXT, NULL, offsetof(struct store_state, path),
      "SQLite file, or postgresql://USER@HOST/DATABASE; default: $SONDE_DB, else as for sonde list" },
    { "group", SETTING_TEXT, NULL, offsetof(struct store_state, group),
      "SQLite file: members of this group may read it with sonde list, report and so on; default: the owner only" },
    { "every", SETTING_DURATION, "10s", offsetof(struct store_state, every_ns),
      "interval of transactions: samples are collected in between" },
    { "memory", SETTING_BYTES, "256MiB", offsetof(struct store_state, memory_bytes),
      "commit earlier when samples take this much memory" },
    { "source", SETTING_TEXT, NULL, offsetof(struct store_state, source),
      "name of this collector, if several write to one database; default: the host name" },
    { 0 },
};

/* Failure to share the file with its group does not stop the sink. */
static void share(struct store_state *s)
{
    if (s->group && share_with(s->store, s->group))
        log_warn("%s", store_message(s->store));
}

static enum err connect_store(struct store_state *s)
{
    char *message = NULL;
    if (s->store)
        return OK;
    enum err err = store_open(&s->store, s->path, STORE_WRITE, &message);
    if (err)
        snprintf(s->message, sizeof s->message, "%s", message ? message : err_text(err));
    else
        share(s);
    free(message);
    write_buffer_forget_rows(&s->buffer);
    return err;
}

static enum err store_sink_check(void *state)
{
    struct store_state *s = state;
    const struct driver *driver;
    char default_path[PATH_MAX];
    gid_t gid;
    const char *path = s->path ? s->path : default_path;
    if (!s->path && store_default_path(default_path, sizeof default_path)) {
        snprintf(s->message, sizeof s->message, "no default path, because there is no home directory: set path=FILE");
        return ABSENT;
    }
    if (driver_is_url(path) && s->group) {
        snprintf(s->message, sizeof s->message, "group applies to SQLite files only: in PostgreSQL use GRANT SELECT");
        return USAGE;
    }
    if (driver_is_url(path))
        return driver_load(path, &driver, s->message, sizeof s->message);
    if (s->group && share_group(s->group, &gid)) {
        snprintf(s->message, sizeof s->message, "unknown group %.100s: create it with groupadd --system %.100s", s->group,
                 s->group);
        return ABSENT;
    }
    return writable_check(path, WRITABLE_FILE_BELOW, s->message, sizeof s->message);
}

static enum err store_sink_open(void *state)
{
    struct store_state *s = state;
    write_buffer_init(&s->buffer);
    gethostname(s->default_source, sizeof s->default_source - 1);
    if (!s->source)
        s->source = s->default_source;
    s->committed_ns = clock_monotonic_ns();
    for (const char *at = s->source; *at; at++)
        s->salt = (uint8_t)(s->salt * 31 + *at);
    return connect_store(s);
}

static enum err fail(struct store_state *s, enum err err)
{
    snprintf(s->message, sizeof s->message, "%s", s->store ? store_message(s->store) : err_text(err));
    return err;
}

static enum err save_series(struct store_state *s, struct append *grow, struct write_buffer_series *series)
{
    struct write_buffer_run *run = series->run;
    enum err err = OK;
    if (!series->rows.count)
        return OK;
    if (!series->is_placed) {
        err = append_track(grow, run->row, &series->rows.set, series->rows.instance, &series->place);
        series->is_placed = !err;
    }
    struct run_series part = series->rows;
    size_t size = part.set.size;
    for (size_t first = 0; first < series->rows.count && !err; first += part.count) {
        size_t left = series->rows.count - first;
        part.count = left < SERIES_CHUNK_ROWS ? left : SERIES_CHUNK_ROWS;
        part.times_ns = series->rows.times_ns + first;
        part.values = series->rows.values + first * size;
        part.known = series->rows.known + first * size;
        err = append_chunk(grow, run->job_row, run->row, &series->place, &part, s->salt);
    }
    return err;
}

static bool must_update(const struct store_state *s, const struct write_buffer_run *run)
{
    uint64_t since_ns = run->facts.end_ns - run->written_ns;
    return run->is_dirty || !run->row || since_ns >= REFRESH_NS || (s->is_last && since_ns);
}

static enum err save_run(struct store_state *s, struct append *grow, struct write_buffer_run *run)
{
    enum err err = OK;
    if (must_update(s, run)) {
        run->facts.host = run->host;
        run->facts.job = run->id ? &run->job : NULL;
        err = append_run(grow, &run->facts, &run->job_row, &run->row);
    }
    for (struct write_buffer_series *series = run->series; series && !err; series = series->next_of_run)
        err = save_series(s, grow, series);
    return err;
}

static void free_gap(struct pending_gap *gap)
{
    free(gap->host);
    free(gap->reason);
}

static bool is_saved(const void *state, size_t stream, uint64_t sequence)
{
    return store_streams_is_saved(&((const struct store_state *)state)->streams, stream, sequence);
}

/* Drops what another collector has saved in the meantime. */
static void drop_duplicates(struct store_state *s)
{
    size_t kept = 0;
    write_buffer_drop(&s->buffer, is_saved, s);
    for (size_t i = 0; i < s->gap_count; i++)
        if (is_saved(s, s->gaps[i].stream, s->gaps[i].sequence))
            free_gap(&s->gaps[i]);
        else
            s->gaps[kept++] = s->gaps[i];
    s->gap_count = kept;
}

static enum err save_all(struct store_state *s, struct append *grow)
{
    bool has_duplicates;
    enum err err = store_streams_check(&s->streams, grow, &has_duplicates);
    if (!err && has_duplicates)
        drop_duplicates(s);
    for (struct write_buffer_run *run = s->buffer.runs; run && !err; run = run->next)
        err = save_run(s, grow, run);
    for (size_t i = 0; i < s->gap_count && !err; i++)
        err = append_gap(grow, s->gaps[i].host, &s->gaps[i].gap);
    return err ? err : store_streams_write(&s->streams, grow);
}

static void clear_gaps(struct store_state *s)
{
    for (size_t i = 0; i < s->gap_count; i++)
        free_gap(&s->gaps[i]);
    s->gap_count = 0;
}

static void after_commit(struct store_state *s)
{
    for (struct write_buffer_run *run = s->buffer.runs; run; run = run->next)
        if (must_update(s, run)) {
            run->is_dirty = false;
            run->written_ns = run->facts.end_ns;
        }
    write_buffer_saved(&s->buffer);
    clear_gaps(s);
    store_streams_committed(&s->streams);
    s->committed_position = s->buffered_position;
    s->committed_ns = clock_monotonic_ns();
}

/* After a failure the database is reopened: ids that were created in a transaction that was rolled back are invalid,
 * and a server that restarted has dropped the connection. */
static enum err commit(struct store_state *s)
{
    struct append grow;
    enum err err = connect_store(s);
    if (err)
        return err;
    err = append_begin(&grow, s->store);
    if (!err) {
        err = save_all(s, &grow);
        if (err) {
            fail(s, err);
            append_roll_back(&grow);
        } else {
            err = append_commit(&grow);
        }
    }
    if (!err) {
        after_commit(s);
        return OK;
    }
    if (!s->message[0])
        fail(s, err);
    s->salt += 37; /* avoid a chunk number that already exists, for example after the clock was set back */
    store_close(&s->store);
    return err;
}

static bool has_unsaved(const struct store_state *s)
{
    return s->buffered_position != s->committed_position || s->buffer.bytes || s->gap_count;
}

static enum err commit_when_due(struct store_state *s)
{
    bool is_due = clock_monotonic_ns() - s->committed_ns >= s->every_ns || s->buffer.bytes >= s->memory_bytes;
    s->message[0] = '\0';
    return is_due && has_unsaved(s) ? commit(s) : OK;
}

static enum err find_stream(struct store_state *s, const struct batch *batch, size_t *stream)
{
    *stream = STORE_STREAMS_NONE;
    if (!batch->sequence || store_streams_find(&s->streams, batch, stream))
        return OK;
    enum err err = connect_store(s);
    if (err)
        return err;
    err = store_streams_add(&s->streams, s->store, s->source, batch, stream);
    if (err) {
        fail(s, err);
        store_close(&s->store);
    }
    return err;
}

static enum err add_gap(struct store_state *s, const struct batch *batch, const struct batch_gap *gap, size_t stream)
{
    if (array_reserve(s->gaps, s->gap_capacity, s->gap_count + 1, VEC_MAX))
        return NOMEM;
    struct pending_gap *copy = &s->gaps[s->gap_count];
    *copy = (struct pending_gap){ strdup(batch->host ? batch->host : ""), strdup(gap->reason ? gap->reason : ""), *gap,
                                    stream, batch->sequence };
    if (!copy->host || !copy->reason) {
        free_gap(copy);
        return NOMEM;
    }
    copy->gap.reason = copy->reason;
    s->gap_count++;
    return OK;
}

/* Adds the missing batches to the runs on the host that overlap the gap. */
static void count_gap(struct store_state *s, const struct batch *batch, const struct batch_gap *gap)
{
    for (struct write_buffer_run *run = s->buffer.runs; run; run = run->next)
        if (strcmp(run->host, batch->host ? batch->host : "") == 0 && run->facts.start_ns <= gap->to_ns) {
            run->facts.lost += gap->batches;
            run->is_dirty = true;
        }
}

static enum err add_batch(struct store_state *s, const struct batch *batch, size_t stream)
{
    enum err err = store_streams_reserve(&s->streams, stream);
    if (!err)
        err = write_buffer_add(&s->buffer, batch, stream);
    for (size_t i = 0; i < batch->gap_count && !err; i++) {
        err = add_gap(s, batch, &batch->gaps[i], stream);
        count_gap(s, batch, &batch->gaps[i]);
    }
    if (!err)
        store_streams_add_buffered(&s->streams, stream, batch->sequence);
    return err;
}

/* Commits before it adds the batch: if the commit fails, the batch is delivered again, and must not be in the buffer
 * then. */
static enum err store_sink_write(void *state, const struct batch *batch)
{
    struct store_state *s = state;
    size_t stream;
    enum err err = commit_when_due(s);
    if (!err)
        err = find_stream(s, batch, &stream);
    if (!err && !store_streams_has(&s->streams, stream, batch->sequence))
        err = add_batch(s, batch, stream);
    if (!err)
        s->buffered_position = batch->position;
    return err;
}

/* What is not due yet stays in the journal, see store_sink_durable. Without a deadline this is the last flush. */
static enum err store_sink_flush(void *state, uint64_t deadline_ns)
{
    struct store_state *s = state;
    if (deadline_ns)
        return commit_when_due(s);
    s->message[0] = '\0';
    s->is_last = true;
    enum err err = has_unsaved(s) ? commit(s) : OK;
    s->is_last = false;
    return err;
}

static uint64_t store_sink_durable(const void *state)
{
    return ((const struct store_state *)state)->committed_position;
}

static void store_sink_close(void *state)
{
    struct store_state *s = state;
    if (store_sink_flush(s, 0))
        log_warn("the sink store could not save its buffered samples: %s", s->message);
    write_buffer_clear(&s->buffer);
    clear_gaps(s);
    store_streams_clear(&s->streams);
    free(s->gaps);
    store_close(&s->store);
}

static const char *store_sink_message(const void *state)
{
    return ((const struct store_state *)state)->message;
}

const struct sink sink_store = {
    .name = "store",
    .about = "the job database: SQLite, or PostgreSQL by its URL",
    .settings = store_settings,
    .state_size = sizeof(struct store_state),
    .check = store_sink_check,
    .open = store_sink_open,
    .write = store_sink_write,
    .flush = store_sink_flush,
    .close = store_sink_close,
    .message = store_sink_message,
    .durable = store_sink_durable,
    .may_block = true,
};
