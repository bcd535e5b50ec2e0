/* Samples and jobs into the job database, SQLite or PostgreSQL: gathered for a while, so that a series is stored in blocks
 * that compress well, then filed in one transaction, together with how far each stream has come. */
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
#define REFRESH_NS (60 * NS_PER_S) /* of the rows of a job that goes on: its sums so far */

struct pending_gap {
    char *host, *reason;
    struct batch_gap gap;
    size_t stream;     /* of the batch that told it */
    uint64_t sequence;
};

struct store_state {
    const char *path, *source, *group;
    uint64_t every_ns, memory_bytes; /* settings */
    char source_usual[HOST_MAX];
    struct store *store;
    struct growing growing;
    struct store_streams streams;
    struct pending_gap *gaps;
    size_t gap_count, gap_room;
    uint8_t salt;                  /* of the numbers of chunks */
    uint64_t filed_ns;             /* CLOCK_MONOTONIC, of the last transaction */
    uint64_t taken_position, filed_position;
    char message[MESSAGE_MAX];
};

static const struct setting store_settings[] = {
    { "path", SETTING_TEXT, NULL, offsetof(struct store_state, path),
      "a file, or postgresql://USER@HOST/DATABASE; $SONDE_DB or the usual place when it is not given" },
    { "group", SETTING_TEXT, NULL, offsetof(struct store_state, group),
      "of a file: who is in this group may read all of it with sonde list, report and the others; nobody else when not given" },
    { "every", SETTING_DURATION, "10s", offsetof(struct store_state, every_ns),
      "gather samples for so long before they are filed" },
    { "memory", SETTING_BYTES, "256MiB", offsetof(struct store_state, memory_bytes), "file them earlier when they take so much" },
    { "source", SETTING_TEXT, NULL, offsetof(struct store_state, source),
      "a name for this collector, which its chunks are numbered by where several file in one database; the host's when it is not"
      " given" },
    { 0 },
};

/* That a group cannot read it keeps nobody from filing. */
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
    growing_forget_places(&s->growing);
    return err;
}

static enum err store_sink_check(void *state)
{
    struct store_state *s = state;
    const struct driver *driver;
    char usual[PATH_MAX];
    gid_t gid;
    const char *path = s->path ? s->path : usual;
    if (!s->path && store_default_path(usual, sizeof usual)) {
        snprintf(s->message, sizeof s->message, "there is no usual place without a home: say path=FILE");
        return ABSENT;
    }
    if (driver_is_url(path) && s->group) {
        snprintf(s->message, sizeof s->message, "group is for a file: in PostgreSQL say who may read with GRANT SELECT");
        return USAGE;
    }
    if (driver_is_url(path))
        return driver_load(path, &driver, s->message, sizeof s->message);
    if (s->group && share_group(s->group, &gid)) {
        snprintf(s->message, sizeof s->message, "there is no group %.100s: groupadd --system %.100s", s->group, s->group);
        return ABSENT;
    }
    return writable_check(path, WRITABLE_FILE_BELOW, s->message, sizeof s->message);
}

static enum err store_sink_open(void *state)
{
    struct store_state *s = state;
    growing_init(&s->growing);
    gethostname(s->source_usual, sizeof s->source_usual - 1);
    if (!s->source)
        s->source = s->source_usual;
    s->filed_ns = clock_monotonic_ns();
    for (const char *at = s->source; *at; at++)
        s->salt = (uint8_t)(s->salt * 31 + *at);
    return connect_store(s);
}

static enum err fail(struct store_state *s, enum err err)
{
    snprintf(s->message, sizeof s->message, "%s", s->store ? store_message(s->store) : err_text(err));
    return err;
}

static enum err file_track(struct store_state *s, struct grow *grow, struct growing_track *track)
{
    struct growing_run *run = track->run;
    enum err err = OK;
    if (!track->series.count)
        return OK;
    if (!track->is_placed) {
        err = grow_track(grow, run->row, &track->series.set, track->series.instance, &track->place);
        track->is_placed = !err;
    }
    struct run_series part = track->series;
    size_t size = part.set.size;
    for (size_t first = 0; first < track->series.count && !err; first += part.count) {
        size_t left = track->series.count - first;
        part.count = left < SERIES_CHUNK_ROWS ? left : SERIES_CHUNK_ROWS;
        part.times_ns = track->series.times_ns + first;
        part.values = track->series.values + first * size;
        part.known = track->series.known + first * size;
        err = grow_chunk(grow, run->job_row, run->row, &track->place, &part, s->salt);
    }
    return err;
}

static enum err file_run(struct store_state *s, struct grow *grow, struct growing_run *run)
{
    enum err err = OK;
    if (run->is_dirty || !run->row || run->facts.end_ns - run->written_ns >= REFRESH_NS) {
        run->facts.host = run->host;
        run->facts.job = run->id ? &run->job : NULL;
        err = grow_run(grow, &run->facts, &run->job_row, &run->row);
    }
    for (struct growing_track *track = run->tracks; track && !err; track = track->next_of_run)
        err = file_track(s, grow, track);
    return err;
}

static void forget_gap(struct pending_gap *gap)
{
    free(gap->host);
    free(gap->reason);
}

static bool is_there(const void *state, size_t stream, uint64_t sequence)
{
    return store_streams_filed(&((const struct store_state *)state)->streams, stream, sequence);
}

/* What others have filed meanwhile. */
static void drop_doubles(struct store_state *s)
{
    size_t kept = 0;
    growing_drop(&s->growing, is_there, s);
    for (size_t i = 0; i < s->gap_count; i++)
        if (is_there(s, s->gaps[i].stream, s->gaps[i].sequence))
            forget_gap(&s->gaps[i]);
        else
            s->gaps[kept++] = s->gaps[i];
    s->gap_count = kept;
}

static enum err file_all(struct store_state *s, struct grow *grow)
{
    bool has_doubles;
    enum err err = store_streams_check(&s->streams, grow, &has_doubles);
    if (!err && has_doubles)
        drop_doubles(s);
    for (struct growing_run *run = s->growing.runs; run && !err; run = run->next)
        err = file_run(s, grow, run);
    for (size_t i = 0; i < s->gap_count && !err; i++)
        err = grow_gap(grow, s->gaps[i].host, &s->gaps[i].gap);
    return err ? err : store_streams_write(&s->streams, grow);
}

static void clear_gaps(struct store_state *s)
{
    for (size_t i = 0; i < s->gap_count; i++)
        forget_gap(&s->gaps[i]);
    s->gap_count = 0;
}

static void settle(struct store_state *s)
{
    for (struct growing_run *run = s->growing.runs; run; run = run->next)
        if (run->is_dirty || run->facts.end_ns - run->written_ns >= REFRESH_NS) {
            run->is_dirty = false;
            run->written_ns = run->facts.end_ns;
        }
    growing_filed(&s->growing);
    clear_gaps(s);
    store_streams_settle(&s->streams);
    s->filed_position = s->taken_position;
    s->filed_ns = clock_monotonic_ns();
}

/* After a failure the connection is made anew: what was placed in a transaction that was taken back is not there, and a
 * server that was away has forgotten us. */
static enum err commit(struct store_state *s)
{
    struct grow grow;
    enum err err = connect_store(s);
    if (err)
        return err;
    err = grow_begin(&grow, s->store);
    if (!err) {
        err = file_all(s, &grow);
        if (err) {
            fail(s, err);
            grow_roll_back(&grow);
        } else {
            err = grow_commit(&grow);
        }
    }
    if (!err) {
        settle(s);
        return OK;
    }
    if (!s->message[0])
        fail(s, err);
    s->salt += 37; /* should a chunk of this number be there already, as after a clock was set back */
    store_close(&s->store);
    return err;
}

static bool has_news(const struct store_state *s)
{
    return s->taken_position != s->filed_position || s->growing.bytes || s->gap_count;
}

static enum err commit_when_due(struct store_state *s)
{
    bool is_due = clock_monotonic_ns() - s->filed_ns >= s->every_ns || s->growing.bytes >= s->memory_bytes;
    s->message[0] = '\0';
    return is_due && has_news(s) ? commit(s) : OK;
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

static enum err keep_gap(struct store_state *s, const struct batch *batch, const struct batch_gap *gap, size_t stream)
{
    if (array_reserve(s->gaps, s->gap_room, s->gap_count + 1, VEC_MAX))
        return NOMEM;
    struct pending_gap *kept = &s->gaps[s->gap_count];
    *kept = (struct pending_gap){ strdup(batch->host ? batch->host : ""), strdup(gap->reason ? gap->reason : ""), *gap,
                                    stream, batch->sequence };
    if (!kept->host || !kept->reason) {
        forget_gap(kept);
        return NOMEM;
    }
    kept->gap.reason = kept->reason;
    s->gap_count++;
    return OK;
}

/* The runs on the host that a gap touches: so many batches are missing in them. */
static void note_gap(struct store_state *s, const struct batch *batch, const struct batch_gap *gap)
{
    for (struct growing_run *run = s->growing.runs; run; run = run->next)
        if (strcmp(run->host, batch->host ? batch->host : "") == 0 && run->facts.start_ns <= gap->to_ns) {
            run->facts.lost += gap->batches;
            run->is_dirty = true;
        }
}

static enum err take(struct store_state *s, const struct batch *batch, size_t stream)
{
    enum err err = store_streams_make_room(&s->streams, stream);
    if (!err)
        err = growing_take(&s->growing, batch, stream);
    for (size_t i = 0; i < batch->gap_count && !err; i++) {
        err = keep_gap(s, batch, &batch->gaps[i], stream);
        note_gap(s, batch, &batch->gaps[i]);
    }
    if (!err)
        store_streams_take(&s->streams, stream, batch->sequence);
    return err;
}

/* What is due is filed before the batch is taken: one that is refused is delivered again, and must not be here then. */
static enum err store_sink_write(void *state, const struct batch *batch)
{
    struct store_state *s = state;
    size_t stream;
    enum err err = commit_when_due(s);
    if (!err)
        err = find_stream(s, batch, &stream);
    if (!err && !store_streams_has(&s->streams, stream, batch->sequence))
        err = take(s, batch, stream);
    if (!err)
        s->taken_position = batch->position;
    return err;
}

/* What is not due yet is safe in the journal (store_sink_durable). Without a deadline it is the end. */
static enum err store_sink_flush(void *state, uint64_t deadline_ns)
{
    struct store_state *s = state;
    if (deadline_ns)
        return commit_when_due(s);
    s->message[0] = '\0';
    return has_news(s) ? commit(s) : OK;
}

static uint64_t store_sink_durable(const void *state)
{
    return ((const struct store_state *)state)->filed_position;
}

static void store_sink_close(void *state)
{
    struct store_state *s = state;
    if (has_news(s) && commit(s))
        log_warn("the sink store could not file what it had gathered: %s", s->message);
    growing_clear(&s->growing);
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
