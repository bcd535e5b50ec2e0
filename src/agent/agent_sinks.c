/* Opens, writes and closes sinks. Sinks that write files append to them: a restart loses nothing. */
#include "agent/agent_sinks.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>
#include <time.h>

#define FLUSH_NS (5 * NS_PER_S)
/* Sinks with a thread may flush for so long; the rest stays in the journal. */
#define STOP_NS (2 * NS_PER_S)
#define RELOAD_NS (300 * NS_PER_MS)
#define PAUSE_NS (250 * NS_PER_MS)

static void free_sink(struct agent_sink *sink)
{
    sink_choice_clear(&sink->choice);
    *sink = (struct agent_sink){ 0 };
}

static bool is_open(const struct agent_sink *sink)
{
    return sink->state || sink->worker;
}

bool agent_sinks_need_journal(const struct agent_config *config)
{
    for (size_t i = 0; i < config->sink_count; i++)
        if (config->sinks[i].sink->may_block)
            return true;
    return false;
}

static struct journal *journal_of(const struct sink_choice *choice, struct journal *journal)
{
    return choice->sink->may_block ? journal : NULL;
}

static enum err open_state(struct agent_sink *sink, struct buf *error)
{
    struct buf reason;
    buf_init(&reason, 4096);
    enum err err = sink_choice_open(&sink->choice, &sink->state, &reason);
    if (err) {
        buf_add_text(error, "cannot open the sink ");
        sink_choice_write(&sink->choice, error);
        buf_printf(error, ": %s", buf_text(&reason));
    }
    buf_clear(&reason);
    return err;
}

/* A thread opens its sink itself: that may wait for a server, and libraries start threads, which should have the
 * capabilities of that thread only. Invalid settings are reported before anything changes. */
static enum err open_sink(struct agent_sink *sink, const struct sink_choice *choice, struct journal *journal,
                          struct buf *error)
{
    *sink = (struct agent_sink){ .journal = journal_of(choice, journal) };
    enum err err = sink_choice_copy(&sink->choice, choice);
    if (!err)
        err = sink->journal ? sink_choice_check(choice, error) : open_state(sink, error);
    if (!err && sink->journal) {
        struct sink_worker_settings settings = { .journal = journal, .choice = &sink->choice };
        err = sink_worker_start(&sink->worker, &settings);
    }
    if (err) {
        sink_choice_close(&sink->choice, &sink->state);
        free_sink(sink);
    }
    return err;
}

/* Retries for a while: after the agent stops nobody else would. */
static enum err flush(struct agent_sink *sink)
{
    uint64_t until_ns = clock_monotonic_ns() + FLUSH_NS;
    for (;;) {
        enum err err = sink->choice.sink->flush(sink->state, until_ns);
        if (!err || err == GONE || !sink->choice.sink->may_block || clock_monotonic_ns() + PAUSE_NS >= until_ns)
            return err;
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
    }
}

/* What a sink with a thread could not write stays in the journal. */
static bool close_sink(struct agent_sink *sink, uint64_t linger_ns)
{
    enum err err = OK;
    sink_worker_close(&sink->worker, linger_ns);
    if (sink->state) {
        err = flush(sink);
        if (err && err != GONE)
            log_error("cannot flush the sink %s: %s", sink->choice.sink->name,
                      sink_choice_message(&sink->choice, sink->state, err));
        sink_choice_close(&sink->choice, &sink->state);
    }
    free_sink(sink);
    return !err || err == GONE;
}

static struct agent_sink *find(struct agent_sinks *sinks, const struct sink_choice *choice, const struct journal *journal)
{
    for (size_t i = 0; i < sinks->count; i++)
        if (is_open(&sinks->list[i]) && sinks->list[i].journal == journal
            && sink_choice_equal(&sinks->list[i].choice, choice))
            return &sinks->list[i];
    return NULL;
}

/* A sink with another password is another sink with the same cursor: only one of them may be open. */
static void close_same_cursor(struct agent_sinks *sinks, const struct sink_choice *choice)
{
    char name[64];
    sink_worker_name(choice, name);
    for (size_t i = 0; i < sinks->count; i++)
        if (sinks->list[i].worker && !strcmp(sink_worker_cursor_name(sinks->list[i].worker), name))
            close_sink(&sinks->list[i], RELOAD_NS);
}

static enum err open_next(struct agent_sinks *sinks, struct agent_sinks *next, const struct sink_choice *choice,
                          struct journal *journal, struct buf *error)
{
    if (find(next, choice, journal_of(choice, journal)))
        return OK; /* configured twice: one sink */
    if (journal_of(choice, journal))
        close_same_cursor(sinks, choice);
    return open_sink(&next->list[next->count], choice, journal, error);
}

/* A sink that was moved to another list is empty in this one. */
static void close_all(struct agent_sinks *sinks)
{
    for (size_t i = 0; i < sinks->count; i++)
        if (sinks->list[i].choice.sink)
            close_sink(&sinks->list[i], RELOAD_NS);
}

static bool has_path(const struct sink_choice *choice)
{
    return setting_list_find(&choice->settings, "path");
}

enum err agent_sinks_apply(struct agent_sinks *sinks, const struct agent_config *config, struct journal *journal,
                           bool reopen, struct buf *error)
{
    struct agent_sinks next = { 0 };
    struct agent_sink *kept[AGENT_SINKS_MAX] = { NULL };
    for (; next.count < config->sink_count; next.count++) {
        const struct sink_choice *sink = &config->sinks[next.count];
        struct agent_sink *same = find(sinks, sink, journal_of(sink, journal));
        kept[next.count] = same && (same->worker || !reopen || !has_path(sink)) ? same : NULL;
        enum err err = kept[next.count] ? OK : open_next(sinks, &next, sink, journal, error);
        if (err) {
            close_all(&next);
            return err;
        }
    }
    for (size_t i = 0; i < next.count; i++)
        if (kept[i] && kept[i]->choice.sink) { /* configured twice: one sink */
            next.list[i] = *kept[i];
            *kept[i] = (struct agent_sink){ 0 };
            if (reopen && next.list[i].worker && has_path(&next.list[i].choice))
                sink_worker_reopen(next.list[i].worker);
        }
    close_all(sinks);
    *sinks = next;
    return OK;
}

static void handle_result(struct agent_sink *sink, enum err err)
{
    if (!err) {
        if (sink->is_failing)
            log_warn("the sink %s works again; %llu readings were lost", sink->choice.sink->name,
                     (unsigned long long)sink->failures);
        sink->is_failing = false;
        return;
    }
    sink->failures++;
    if (err == GONE) {
        log_info("closed the sink %s: its reader is gone", sink->choice.sink->name);
        sink_choice_close(&sink->choice, &sink->state);
    } else if (!sink->is_failing) {
        log_error("cannot write to the sink %s: %s. Readings are lost until it works again.",
                  sink->choice.sink->name, sink_choice_message(&sink->choice, sink->state, err));
        sink->is_failing = true;
    }
}

void agent_sinks_write(struct agent_sinks *sinks, const struct batch *batch)
{
    for (size_t i = 0; i < sinks->count; i++) {
        struct agent_sink *sink = &sinks->list[i];
        if (!sink->state)
            continue;
        enum err err = sink->choice.sink->write(sink->state, batch);
        if (!err && log_level() > 1)
            log_debug("%zu counters in %zu samples written to %s", batch_value_count(batch), batch->count,
                      sink->choice.sink->name);
        handle_result(sink, err);
    }
}

bool agent_sinks_close(struct agent_sinks *sinks)
{
    bool ok = true;
    for (size_t i = 0; i < sinks->count; i++)
        if (sinks->list[i].worker)
            sink_worker_begin_stop(sinks->list[i].worker, STOP_NS);
    for (size_t i = 0; i < sinks->count; i++)
        if (sinks->list[i].choice.sink)
            ok = close_sink(&sinks->list[i], STOP_NS) && ok;
    *sinks = (struct agent_sinks){ 0 };
    return ok;
}
