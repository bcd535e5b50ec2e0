/* Encodes batches and appends them to the journal. A batch that could not be written is counted and reported as a gap
 * in the next one. */
#include "agent/sender.h"

#include "agent/run_queue.h"
#include "base/clock.h"
#include "base/log.h"
#include "journal/stream.h"
#include "sinks/sink_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define READER "uplink"
#define ROLE "agent"
#define PATH_BYTES 4096

struct sender {
    char host[JOURNAL_HOST_MAX], dir[PATH_BYTES];
    struct uplink_config config;
    struct journal *journal;
    struct uplink *uplink;
    struct run_queue *runs; /* of users, waiting to be sent */
    struct delta_stream *stream;
    uint64_t id, sequence, records, dropped;
    struct buf state, record;
    struct batch_gap gap; /* batches 0: none */
    bool needs_state;     /* the encoder state does not follow from what is in the journal */
    char journal_error[128];
};

static enum err open_uplink(struct sender *sender, const struct uplink_config *config, struct buf *error)
{
    const char *keys[UPLINK_COLLECTORS_MAX + 1] = { NULL };
    char key_file[PATH_BYTES];
    if (!config->collector_count)
        return OK;
    enum err err = config->plain ? OK : uplink_config_key_path(config, key_file, sizeof key_file);
    if (err) {
        buf_add_text(error, "no default directory for the key; set --key");
        return err;
    }
    for (size_t i = 0; i < config->collector_count && !config->plain; i++)
        keys[i] = config->collector_keys[config->key_count == 1 ? 0 : i];
    struct uplink_settings settings = {
        .journal = sender->journal, .name = READER, .host = sender->host, .role = ROLE,
        .collectors = (const char *const *)config->collectors, .key_file = config->plain ? NULL
                      : key_file, .server_keys = keys,
        .munge = config->munge,
    };
    err = uplink_open(&sender->uplink, &settings, error);
    if (err && !error->size)
        buf_printf(error, "cannot open the uplink to the collector: %s", err_text(err));
    return err;
}

static void create_parents(const char *path)
{
    char directory[PATH_BYTES];
    snprintf(directory, sizeof directory, "%s", path);
    for (char *slash = strchr(directory + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(directory, 0755);
        *slash = '/';
    }
}

static uint64_t age_of(const struct uplink_config *config)
{
    return config->journal_age_ns ? config->journal_age_ns : UPLINK_CONFIG_JOURNAL_AGE_NS;
}

static enum err open_journal(struct sender *sender, const struct uplink_config *config, struct buf *error)
{
    struct journal_settings settings = { .bytes = config->journal_bytes, .age_ns = age_of(config) };
    enum err err = uplink_config_journal_dir(config, sender->dir, sizeof sender->dir);
    if (err) {
        buf_add_text(error, "no default directory for the journal; set --spool");
        return err;
    }
    create_parents(sender->dir);
    err = journal_open(&sender->journal, sender->dir, &settings, error);
    if (err && !error->size)
        buf_printf(error, "cannot open the journal %s: %s", sender->dir, err_text(err));
    return err;
}

static uint64_t bytes_of_journal(const struct sender *sender)
{
    return sender->config.journal_bytes ? sender->config.journal_bytes : JOURNAL_BYTES;
}

static enum err open_runs(struct sender *sender)
{
    char dir[PATH_BYTES + 8];
    snprintf(dir, sizeof dir, "%s/runs", sender->dir);
    return run_queue_open(&sender->runs, dir, bytes_of_journal(sender));
}

static void make_id(struct sender *sender)
{
    if (getrandom(&sender->id, sizeof sender->id, 0) != (ssize_t)sizeof sender->id || !sender->id)
        sender->id = clock_realtime_ns() ^ (uint64_t)getpid() << 48;
}

enum err sender_open(struct sender **sender, const struct uplink_config *config, const char *host, struct buf *error)
{
    struct sender *s = *sender = calloc(1, sizeof *s);
    if (!s)
        return NOMEM;
    snprintf(s->host, sizeof s->host, "%s", host);
    buf_init(&s->state, STREAM_RECORD_MAX);
    buf_init(&s->record, STREAM_RECORD_MAX);
    make_id(s);
    enum err err = stream_new(&s->stream);
    if (!err)
        err = open_journal(s, config, error);
    if (!err)
        err = open_uplink(s, config, error);
    if (!err)
        err = uplink_config_copy(&s->config, config);
    if (!err)
        err = open_runs(s);
    if (err)
        sender_close(sender, 0);
    return err;
}

void sender_close(struct sender **sender, uint64_t timeout_ns)
{
    struct sender *s = *sender;
    if (!s)
        return;
    if (s->uplink)
        uplink_close(&s->uplink, timeout_ns);
    run_queue_close(&s->runs);
    if (s->journal)
        journal_close(&s->journal);
    stream_free(&s->stream);
    uplink_config_clear(&s->config);
    buf_clear(&s->state);
    buf_clear(&s->record);
    free(s);
    *sender = NULL;
}

bool sender_has_same_journal(const struct sender *sender, const struct uplink_config *config)
{
    char dir[PATH_BYTES];
    return !uplink_config_journal_dir(config, dir, sizeof dir) && !strcmp(dir, sender->dir);
}

enum err sender_apply(struct sender *sender, const struct uplink_config *config, struct buf *error)
{
    struct uplink_config copy;
    struct buf ignored;
    if (uplink_config_equal(config, &sender->config)) {
        if (sender->uplink)
            uplink_reload(sender->uplink);
        return OK;
    }
    enum err err = uplink_config_copy(&copy, config);
    if (err)
        return err;
    if (sender->uplink)
        uplink_close(&sender->uplink, 0);
    err = open_uplink(sender, config, error);
    if (!err) {
        journal_set_limits(sender->journal, config->journal_bytes, age_of(config));
        uplink_config_clear(&sender->config);
        sender->config = copy;
        return OK;
    }
    uplink_config_clear(&copy);
    buf_init(&ignored, PATH_BYTES);
    open_uplink(sender, &sender->config, &ignored);
    buf_clear(&ignored);
    return err;
}

struct journal *sender_journal(const struct sender *sender)
{
    return sender->journal;
}

bool sender_has_uplink(const struct sender *sender)
{
    return sender->uplink;
}

static bool is_wanted(const void *context, const char *name)
{
    const struct agent_config *config = context;
    if (strcmp(name, READER) == 0)
        return config->uplink.collector_count != 0;
    return sink_worker_name_is_used(name, config->sinks, config->sink_count);
}

void sender_remove_old_cursors(const struct sender *sender, const struct agent_config *config)
{
    journal_remove_unwanted_cursors(sender->journal, is_wanted, config);
}

static uint64_t time_of(const struct batch *batch)
{
    uint64_t time_ns = 0;
    for (size_t i = 0; i < batch->count; i++)
        time_ns = batch->samples[i].time_ns > time_ns ? batch->samples[i].time_ns : time_ns;
    return time_ns ? time_ns : clock_realtime_ns();
}

static enum err append(struct sender *sender, enum journal_kind kind, uint64_t time_ns, const struct buf *body)
{
    struct journal_entry entry = {
        .kind = kind, .host = sender->host, .stream = sender->id, .sequence = sender->sequence, .time_ns = time_ns,
        .body = { body->data, body->size },
    };
    return journal_append(sender->journal, &entry);
}

/* Written before the record, which depends on this state. */
static enum err put_state(struct sender *sender, uint64_t time_ns)
{
    if (!sender->needs_state && !journal_needs_snapshot(sender->journal, sender->host, sender->id))
        return OK;
    buf_reset(&sender->state);
    stream_snapshot(sender->stream, &sender->state);
    enum err err = buf_err(&sender->state);
    if (!err)
        err = append(sender, JOURNAL_SNAPSHOT, time_ns, &sender->state);
    sender->needs_state = err != OK;
    return err;
}

/* The encoder state has advanced when the record exists: if it cannot be written, the next one needs a new state. */
static enum err put_record(struct sender *sender, const struct batch *batch, uint64_t time_ns)
{
    struct batch with_gap = *batch;
    if (sender->gap.batches && !batch->piece) {
        with_gap.gaps = &sender->gap;
        with_gap.gap_count = 1;
    }
    buf_reset(&sender->record);
    enum err err = stream_encode(sender->stream, &with_gap, &sender->record);
    if (err)
        return err;
    sender->sequence++;
    err = append(sender, JOURNAL_RECORD, time_ns, &sender->record);
    if (!err)
        return OK;
    sender->sequence--;
    sender->needs_state = true;
    return err;
}

static void note_gap(struct sender *sender, uint64_t time_ns, enum err err)
{
    if (!sender->gap.batches)
        sender->gap = (struct batch_gap){ .from_ns = time_ns };
    sender->gap.to_ns = time_ns;
    sender->gap.batches++;
    sender->gap.reason = err == FULL ? "disk of the journal full" : "cannot write the journal";
    sender->dropped++;
    if (!sender->journal_error[0])
        log_error("cannot write the journal %s: %s. Readings are lost until it works again, and will be reported as a gap.",
                  sender->dir, err_text(err));
    snprintf(sender->journal_error, sizeof sender->journal_error, "cannot write: %s", err_text(err));
}

static void note_success(struct sender *sender)
{
    sender->records++;
    if (sender->gap.batches)
        log_warn("the journal %s works again; %llu readings were lost", sender->dir,
                 (unsigned long long)sender->gap.batches);
    sender->gap = (struct batch_gap){ 0 };
    sender->journal_error[0] = '\0';
}

void sender_add(struct sender *sender, const struct batch *batch)
{
    uint64_t time_ns = time_of(batch);
    enum err err = put_state(sender, time_ns);
    if (!err)
        err = put_record(sender, batch, time_ns);
    if (err)
        note_gap(sender, time_ns, err);
    else
        note_success(sender);
}

enum err sender_add_retryable(struct sender *sender, const struct batch *batch)
{
    uint64_t time_ns = clock_realtime_ns();
    enum err err = put_state(sender, time_ns);
    if (!err)
        err = put_record(sender, batch, time_ns);
    sender->records += !err;
    return err;
}

enum err sender_add_run(struct sender *sender, uint32_t uid, const char *name, int fd, uint64_t size)
{
    enum err err = run_queue_add(sender->runs, uid, name, fd, size);
    if (!err)
        run_queue_send(sender->runs, sender, age_of(&sender->config));
    return err;
}

void sender_maintain(struct sender *sender)
{
    run_queue_send(sender->runs, sender, age_of(&sender->config));
    journal_maintain(sender->journal, clock_realtime_ns());
}

void sender_figures(struct sender *sender, struct sender_figures *figures)
{
    *figures = (struct sender_figures){ .records = sender->records, .dropped = sender->dropped,
                                        .journal_dir = sender->dir, .journal_error = sender->journal_error,
                                        .journal_bytes = bytes_of_journal(sender),
                                        .has_uplink = sender->uplink };
    if (sender->uplink)
        uplink_figures(sender->uplink, &figures->uplink);
    journal_figures(sender->journal, &figures->spool);
}
