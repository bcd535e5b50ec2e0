/* From batches to the spool. A batch that the disk cannot take is counted, and told as a gap by the next one that it can. */
#include "agent/sender.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "sinks/sink_worker.h"
#include "journal/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define READER "uplink"
#define ROLE "agent"
#define PATH_ROOM 4096

struct sender {
    char host[JOURNAL_HOST_MAX], dir[PATH_ROOM];
    struct uplink_plan plan;
    struct journal *journal;
    struct uplink *uplink;
    struct delta_stream *stream;
    uint64_t id, sequence, records, unspooled;
    struct buf state, record;
    struct batch_gap gap; /* batches 0: none */
    bool needs_state;     /* what the stream says now does not follow from what is in the spool */
    char trouble[128];
};

static enum err open_uplink(struct sender *sender, const struct uplink_plan *plan, struct buf *why)
{
    const char *keys[UPLINK_COLLECTORS_MAX + 1] = { NULL };
    char key_file[PATH_ROOM];
    if (!plan->collector_count)
        return OK;
    enum err err = plan->plain ? OK : uplink_plan_key(plan, key_file, sizeof key_file);
    if (err) {
        buf_add_text(why, "there is no place for our key: give --key");
        return err;
    }
    for (size_t i = 0; i < plan->collector_count && !plan->plain; i++)
        keys[i] = plan->collector_keys[plan->key_count == 1 ? 0 : i];
    struct uplink_settings settings = {
        .journal = sender->journal, .name = READER, .host = sender->host, .role = ROLE,
        .collectors = (const char *const *)plan->collectors, .key_file = plan->plain ? NULL : key_file, .server_keys = keys,
        .munge = plan->munge,
    };
    err = uplink_open(&sender->uplink, &settings, why);
    if (err && !why->size)
        buf_printf(why, "the way to the collector cannot be opened: %s", err_text(err));
    return err;
}

static void make_folders(const char *path)
{
    char folder[PATH_ROOM];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0755);
        *slash = '/';
    }
}

static uint64_t age_of(const struct uplink_plan *plan)
{
    return plan->spool_age_ns ? plan->spool_age_ns : UPLINK_PLAN_SPOOL_AGE_NS;
}

static enum err open_spool(struct sender *sender, const struct uplink_plan *plan, struct buf *why)
{
    struct journal_settings settings = { .bytes = plan->spool_bytes, .age_ns = age_of(plan) };
    enum err err = uplink_plan_spool(plan, sender->dir, sizeof sender->dir);
    if (err) {
        buf_add_text(why, "there is no place for the spool: give --spool");
        return err;
    }
    make_folders(sender->dir);
    err = journal_open(&sender->journal, sender->dir, &settings, why);
    if (err && !why->size)
        buf_printf(why, "the spool %s cannot be opened: %s", sender->dir, err_text(err));
    return err;
}

static void make_id(struct sender *sender)
{
    if (getrandom(&sender->id, sizeof sender->id, 0) != (ssize_t)sizeof sender->id || !sender->id)
        sender->id = clock_realtime_ns() ^ (uint64_t)getpid() << 48;
}

enum err sender_open(struct sender **sender, const struct uplink_plan *plan, const char *host, struct buf *why)
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
        err = open_spool(s, plan, why);
    if (!err)
        err = open_uplink(s, plan, why);
    if (!err)
        err = uplink_plan_copy(&s->plan, plan);
    if (err)
        sender_close(sender, 0);
    return err;
}

void sender_close(struct sender **sender, uint64_t linger_ns)
{
    struct sender *s = *sender;
    if (!s)
        return;
    if (s->uplink)
        uplink_close(&s->uplink, linger_ns);
    if (s->journal)
        journal_close(&s->journal);
    stream_free(&s->stream);
    uplink_plan_clear(&s->plan);
    buf_clear(&s->state);
    buf_clear(&s->record);
    free(s);
    *sender = NULL;
}

bool sender_keeps(const struct sender *sender, const struct uplink_plan *plan)
{
    char dir[PATH_ROOM];
    return !uplink_plan_spool(plan, dir, sizeof dir) && !strcmp(dir, sender->dir);
}

enum err sender_apply(struct sender *sender, const struct uplink_plan *plan, struct buf *why)
{
    struct uplink_plan copy;
    struct buf ignored;
    if (uplink_plan_equal(plan, &sender->plan)) {
        if (sender->uplink)
            uplink_reload(sender->uplink);
        return OK;
    }
    enum err err = uplink_plan_copy(&copy, plan);
    if (err)
        return err;
    if (sender->uplink)
        uplink_close(&sender->uplink, 0);
    err = open_uplink(sender, plan, why);
    if (!err) {
        journal_set_limits(sender->journal, plan->spool_bytes, age_of(plan));
        uplink_plan_clear(&sender->plan);
        sender->plan = copy;
        return OK;
    }
    uplink_plan_clear(&copy);
    buf_init(&ignored, PATH_ROOM);
    open_uplink(sender, &sender->plan, &ignored);
    buf_clear(&ignored);
    return err;
}

struct journal *sender_spool(const struct sender *sender)
{
    return sender->journal;
}

bool sender_has_uplink(const struct sender *sender)
{
    return sender->uplink;
}

static bool is_wanted(const void *context, const char *name)
{
    const struct plan *plan = context;
    return strcmp(name, READER) ? sink_worker_name_is_used(name, plan->sinks, plan->sink_count) : plan->uplink.collector_count != 0;
}

void sender_forget_old(const struct sender *sender, const struct plan *plan)
{
    journal_remove_unwanted_cursors(sender->journal, is_wanted, plan);
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

/* Before the record, since it is the state that the record builds on. */
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

/* The stream has moved on when the record exists: if that cannot be kept, the next one needs a state of its own. */
static enum err put_record(struct sender *sender, const struct batch *batch, uint64_t time_ns)
{
    struct batch told = *batch;
    if (sender->gap.batches && !batch->piece) {
        told.gaps = &sender->gap;
        told.gap_count = 1;
    }
    buf_reset(&sender->record);
    enum err err = stream_encode(sender->stream, &told, &sender->record);
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
    sender->gap.reason = err == FULL ? "disk of the spool full" : "spool could not be written";
    sender->unspooled++;
    if (!sender->trouble[0])
        log_error("the spool %s cannot be written: %s. What is read until it can be is lost, and the gap will be told.",
                  sender->dir, err_text(err));
    snprintf(sender->trouble, sizeof sender->trouble, "it cannot be written: %s", err_text(err));
}

static void note_success(struct sender *sender)
{
    sender->records++;
    if (sender->gap.batches)
        log_warn("the spool %s can be written again; %llu readings are lost", sender->dir,
                 (unsigned long long)sender->gap.batches);
    sender->gap = (struct batch_gap){ 0 };
    sender->trouble[0] = '\0';
}

void sender_take(struct sender *sender, const struct batch *batch)
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

enum err sender_put(struct sender *sender, const struct batch *batch)
{
    uint64_t time_ns = clock_realtime_ns();
    enum err err = put_state(sender, time_ns);
    if (!err)
        err = put_record(sender, batch, time_ns);
    sender->records += !err;
    return err;
}

void sender_tend(struct sender *sender)
{
    journal_maintain(sender->journal, clock_realtime_ns());
}

void sender_figures(struct sender *sender, struct sender_figures *figures)
{
    *figures = (struct sender_figures){ .records = sender->records, .unspooled = sender->unspooled,
                                        .spool_dir = sender->dir, .spool_why = sender->trouble,
                                        .has_uplink = sender->uplink };
    if (sender->uplink)
        uplink_figures(sender->uplink, &figures->uplink);
    journal_figures(sender->journal, &figures->spool);
}
