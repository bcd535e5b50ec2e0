/* The worker thread: opens the sink, seeks to its position in the journal, then writes entry by entry and flushes
 * about twice a second. After a failure it waits, longer each time, and delivers the same batch again. */
#include "sinks/sink_worker.h"

#include "base/capabilities.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mask.h"
#include "sinks/stream_decoders.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FLUSH_NS (400 * NS_PER_MS)
#define FLUSH_BATCHES 20000u
#define FLUSH_DEADLINE_NS (30 * NS_PER_S)
#define IDLE_NS NS_PER_S
#define GATHER_MS 50 /* let more entries arrive instead of waking up for each */
#define PAUSE_MIN_NS (250 * NS_PER_MS)
#define PAUSE_MAX_NS (60 * NS_PER_S)
#define TRIES_MAX 4 /* of one call; then the sink is reopened */
#define TURN_MAX 1024
#define RATE_NS (10 * NS_PER_S)
#define STACK_BYTES (1u << 20)
#define NAME_PREFIX "sink-"
#define LABEL_MAX 256

/* What the thread does next. */
enum step { CONTINUE, REOPEN, STOP };

struct sink_worker {
    struct sink_worker_settings settings; /* choice is below */
    struct sink_choice choice;
    char label[LABEL_MAX]; /* for messages: NAME:KEY=VALUE,... without secrets */
    pthread_t thread;
    int wake_fd;
    atomic_bool wants_reopen;
    atomic_ullong stop_ns; /* CLOCK_MONOTONIC, deadline for stopping; 0: keep running */

    /* used by the thread only */
    void *state;
    struct journal_reader *reader;
    struct stream_decoders *decoders;
    uint64_t position;   /* of the last entry written */
    uint64_t done;       /* of the last entry acknowledged to the journal */
    uint64_t counted;    /* of the last entry counted: entries are read again after a failure */
    uint64_t unflushed;  /* batches since the last flush */
    bool is_behind;      /* the sink buffers across flushes: ask again whether it is durable */
    uint64_t flushed_ns; /* CLOCK_MONOTONIC */
    uint64_t first_ns;   /* CLOCK_MONOTONIC, of the first unflushed batch */
    uint64_t pause_ns;
    unsigned tries;
    uint64_t refused;    /* the sink's counter when it was last read */
    bool has_logged;
    struct sink_worker_figures now;
    struct rate_mark { uint64_t time_ns, samples; } marks[2]; /* CLOCK_MONOTONIC; oldest first */

    pthread_mutex_t lock;
    struct sink_worker_figures figures; /* copy of now, for sink_worker_figures */
    struct rate_mark since;        /* start of the interval for the rate */
};

static uint64_t stop_ns(const struct sink_worker *worker)
{
    return atomic_load(&worker->stop_ns);
}

static bool is_past_deadline(const struct sink_worker *worker)
{
    uint64_t until_ns = stop_ns(worker);
    return until_ns && clock_monotonic_ns() >= until_ns;
}

/* The sink counts from its opening. Logged once. */
static void count_refused(struct sink_worker *worker, uint64_t refused)
{
    if (refused && !worker->now.refused)
        log_warn("the sink %s loses samples: %s", worker->label, sink_choice_message(&worker->choice, worker->state, OK));
    worker->now.refused += refused > worker->refused ? refused - worker->refused : 0;
    worker->refused = refused;
}

/* Moves the start of the rate's interval every ten seconds, so that the rate covers the last 10 to 20 s. */
static void update_rate(struct sink_worker *worker)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (worker->marks[1].time_ns && now_ns - worker->marks[1].time_ns < RATE_NS)
        return;
    worker->marks[0] = worker->marks[1].time_ns ? worker->marks[1] : (struct rate_mark){ now_ns, worker->now.samples };
    worker->marks[1] = (struct rate_mark){ now_ns, worker->now.samples };
}

static void publish(struct sink_worker *worker)
{
    struct sink_worker_figures *now = &worker->now;
    now->lag_bytes = worker->reader ? journal_reader_lag_bytes(worker->reader) : 0;
    now->lag_ns = worker->reader ? journal_reader_lag_ns(worker->reader, clock_realtime_ns()) : 0;
    now->streams = stream_decoders_count(worker->decoders);
    if (worker->state && worker->choice.sink->refused)
        count_refused(worker, worker->choice.sink->refused(worker->state));
    update_rate(worker);
    pthread_mutex_lock(&worker->lock);
    worker->figures = *now;
    worker->since = worker->marks[0];
    pthread_mutex_unlock(&worker->lock);
}

/* Waits until the owner wakes the thread, or the timeout. */
static void wait_for_wakeup(struct sink_worker *worker, uint64_t timeout_ns)
{
    struct pollfd fd = { .fd = worker->wake_fd, .events = POLLIN };
    uint64_t ignored;
    if (poll(&fd, 1, (int)(timeout_ns / NS_PER_MS) + 1) > 0)
        (void)!read(worker->wake_fd, &ignored, sizeof ignored);
}

/* Logs the first of a series of failures, and waits before the next attempt. */
static enum step fail(struct sink_worker *worker, const char *what, const char *error)
{
    worker->now.state = SINK_WORKER_FAILING;
    worker->now.failures++;
    char *masked = mask_copy(error);
    snprintf(worker->now.error, sizeof worker->now.error, "%s", masked ? masked : "");
    free(masked);
    if (!worker->has_logged)
        log_error("cannot %s the sink %s: %s. Retrying; its samples stay in the journal until then.", what, worker->label,
                  worker->now.error);
    worker->has_logged = true;
    publish(worker);
    worker->pause_ns = worker->pause_ns ? worker->pause_ns * 2 : PAUSE_MIN_NS;
    if (worker->pause_ns > PAUSE_MAX_NS)
        worker->pause_ns = PAUSE_MAX_NS;
    uint64_t until_ns = clock_monotonic_ns() + worker->pause_ns;
    for (uint64_t now_ns; (now_ns = clock_monotonic_ns()) < until_ns && !atomic_load(&worker->wants_reopen);) {
        if (stop_ns(worker))
            return STOP; /* no time for further attempts */
        wait_for_wakeup(worker, until_ns - now_ns);
    }
    if (atomic_load(&worker->wants_reopen) || ++worker->tries >= TRIES_MAX)
        return REOPEN;
    return CONTINUE;
}

/* Only a flush proves it: a write may just have been buffered. */
static void succeed(struct sink_worker *worker)
{
    if (worker->has_logged)
        log_warn("the sink %s accepts samples again", worker->label);
    worker->has_logged = false;
    worker->now.state = SINK_WORKER_WRITING;
    worker->now.error[0] = '\0';
    worker->pause_ns = worker->tries = 0;
}

static void close_sink(struct sink_worker *worker)
{
    sink_choice_close(&worker->choice, &worker->state);
    worker->refused = 0;
    stream_decoders_reset(worker->decoders);
    worker->unflushed = worker->tries = 0;
}

/* Starts reading at the position stored by the sink, if it has resume, else at the journal's cursor. */
static enum err seek_journal(struct sink_worker *worker)
{
    const struct sink *sink = worker->choice.sink;
    uint64_t from = 0;
    enum err err = sink->resume ? sink->resume(worker->state, &from) : OK;
    journal_reader_close(&worker->reader);
    if (!err)
        err = journal_reader_open(worker->settings.journal, &worker->reader, worker->now.name, true, from);
    worker->position = worker->done = from;
    return err;
}

/* Lets the sink store its position at the destination. */
static void pass_source(const struct sink_worker *worker)
{
    char name[128];
    const struct journal_opening *opening = journal_opening(worker->settings.journal);
    if (!worker->choice.sink->source || !opening->id)
        return;
    snprintf(name, sizeof name, "sonde-%016llx-%s", (unsigned long long)opening->id, worker->now.name);
    struct sink_source source = { name, opening->number, opening->newest };
    worker->choice.sink->source(worker->state, &source);
}

static enum step open_sink(struct sink_worker *worker)
{
    struct buf error;
    enum step step = CONTINUE;
    buf_init(&error, 1024);
    atomic_store(&worker->wants_reopen, false);
    enum err err = sink_choice_open(&worker->choice, &worker->state, &error);
    if (!err) {
        if (worker->choice.sink->watch_stop)
            worker->choice.sink->watch_stop(worker->state, &worker->stop_ns);
        pass_source(worker);
        err = seek_journal(worker);
    }
    if (err) {
        char text[256];
        snprintf(text, sizeof text, "%s", error.size ? buf_text(&error) : sink_choice_message(&worker->choice,
                                                                                              worker->state, err));
        close_sink(worker);
        step = fail(worker, "open", text) == STOP ? STOP : REOPEN;
    }
    buf_clear(&error);
    return step;
}

static void acknowledge(struct sink_worker *worker)
{
    const struct sink *sink = worker->choice.sink;
    uint64_t safe = sink->durable ? sink->durable(worker->state) : worker->position;
    worker->unflushed = 0;
    worker->is_behind = safe < worker->position;
    worker->flushed_ns = clock_monotonic_ns();
    worker->now.success_ns = clock_realtime_ns();
    if (safe <= worker->done)
        return;
    worker->done = safe;
    journal_reader_ack(worker->reader, safe);
}

static enum step flush(struct sink_worker *worker)
{
    for (;;) {
        uint64_t begin_ns = clock_monotonic_ns(), limit_ns = stop_ns(worker);
        enum err err = worker->choice.sink->flush(worker->state, limit_ns ? limit_ns : begin_ns + FLUSH_DEADLINE_NS);
        worker->now.flush_ns += clock_monotonic_ns() - begin_ns;
        worker->now.flushes++;
        if (!err) {
            succeed(worker);
            acknowledge(worker);
            publish(worker);
            return CONTINUE;
        }
        if (err == GONE)
            return STOP;
        enum step step = fail(worker, "write to", sink_choice_message(&worker->choice, worker->state, err));
        if (step != CONTINUE)
            return step;
    }
}

static void count_batch(struct sink_worker *worker, const struct batch *batch)
{
    if (!worker->unflushed++)
        worker->first_ns = clock_monotonic_ns();
    if (batch->position < worker->counted || (batch->position == worker->counted && !batch->gap_count))
        return; /* several gaps may have the same position */
    worker->counted = batch->position;
    worker->now.batches++;
    worker->now.samples += batch->count;
    for (size_t i = 0; i < batch->count; i++)
        worker->now.values += batch->samples[i].set->size;
    for (size_t i = 0; i < batch->gap_count; i++)
        worker->now.gaps += batch->gaps[i].batches;
}

static enum step take_piece(struct sink_worker *worker, const char *host, const struct batch_piece *piece)
{
    struct buf error;
    enum step step = CONTINUE;
    buf_init(&error, sizeof worker->now.error * 4);
    while (step == CONTINUE && worker->settings.take_piece(worker->settings.context, host, piece, &error)) {
        step = fail(worker, "save a run in", buf_text(&error));
        buf_reset(&error);
    }
    buf_clear(&error);
    return step;
}

static enum step write_batch(struct sink_worker *worker, const struct batch *batch)
{
    enum step saved = batch->piece && worker->settings.take_piece ? take_piece(worker, batch->host, batch->piece) : CONTINUE;
    if (saved != CONTINUE)
        return saved;
    for (;;) {
        uint64_t begin_ns = clock_monotonic_ns();
        enum err err = worker->choice.sink->write(worker->state, batch);
        worker->now.write_ns += clock_monotonic_ns() - begin_ns;
        if (!err) {
            if (worker->now.state == SINK_WORKER_WAITING)
                worker->now.state = SINK_WORKER_WRITING;
            count_batch(worker, batch);
            if (log_level() > 1)
                log_debug("%zu counters in %zu samples of %s written to %s", batch_value_count(batch), batch->count,
                          batch->host ? batch->host : "this node", worker->choice.sink->name);
            return CONTINUE;
        }
        if (err == GONE)
            return STOP;
        enum step step = fail(worker, "write to", sink_choice_message(&worker->choice, worker->state, err));
        if (step != CONTINUE)
            return step;
    }
}

/* An entry that cannot be decoded is counted and skipped. */
static enum step handle_entry(struct sink_worker *worker, const struct journal_entry *entry)
{
    const struct batch *batch;
    uint64_t begin_ns = clock_monotonic_ns();
    enum err err = stream_decoders_decode(worker->decoders, entry, &batch);
    worker->now.read_ns += clock_monotonic_ns() - begin_ns;
    if (err && entry->is_new && entry->position > worker->counted) {
        worker->now.unreadable++;
        worker->counted = entry->position;
    }
    enum step step = batch ? write_batch(worker, batch) : CONTINUE;
    if (step == CONTINUE && entry->is_new)
        worker->position = entry->position;
    return step;
}

/* CLOCK_MONOTONIC; UINT64_MAX: nothing to flush. */
static uint64_t flush_due_ns(const struct sink_worker *worker)
{
    uint64_t first_ns = worker->unflushed ? worker->first_ns : UINT64_MAX - FLUSH_NS;
    uint64_t flushed_ns = worker->is_behind ? worker->flushed_ns : UINT64_MAX - FLUSH_NS;
    return (first_ns < flushed_ns ? first_ns : flushed_ns) + FLUSH_NS;
}

static bool is_flush_due(const struct sink_worker *worker)
{
    return worker->unflushed >= FLUSH_BATCHES || clock_monotonic_ns() >= flush_due_ns(worker);
}

/* Handles up to TURN_MAX entries; *has_more: there may be more. */
static enum step read_some(struct sink_worker *worker, bool *has_more)
{
    struct journal_entry entry;
    enum step step = CONTINUE;
    *has_more = true;
    for (size_t i = 0; i < TURN_MAX && step == CONTINUE && *has_more; i++) {
        enum err err = journal_reader_next(worker->reader, &entry);
        *has_more = err != AGAIN;
        if (!err) {
            stream_decoders_enter_segment(worker->decoders, journal_reader_segment(worker->reader));
            step = handle_entry(worker, &entry);
        } else if (err != AGAIN && err != CORRUPT)
            step = fail(worker, "read the journal for", err_text(err));
    }
    return step;
}

static void wait_for_entries(struct sink_worker *worker)
{
    struct pollfd fds[] = { { .fd = worker->wake_fd, .events = POLLIN }, { .fd = journal_reader_fd(worker->reader),
                                                                           .events = POLLIN } };
    uint64_t ignored;
    wait_for_wakeup(worker, GATHER_MS * NS_PER_MS);
    if (stop_ns(worker) || atomic_load(&worker->wants_reopen))
        return;
    uint64_t now_ns = clock_monotonic_ns(), due_ns = flush_due_ns(worker);
    uint64_t left_ns = due_ns <= now_ns ? 0 : due_ns - now_ns < IDLE_NS ? due_ns - now_ns : IDLE_NS;
    if (poll(fds, 2, (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS)) > 0 && fds[0].revents)
        (void)!read(worker->wake_fd, &ignored, sizeof ignored);
}

static enum step run_once(struct sink_worker *worker)
{
    bool has_more = false, stops = stop_ns(worker); /* read first: entries appended before the stop are still written */
    enum step step = read_some(worker, &has_more);
    if (step == CONTINUE && (is_flush_due(worker) || (stops && !has_more && worker->unflushed)))
        step = flush(worker);
    if (step != CONTINUE)
        return step;
    if (is_past_deadline(worker) || (stops && !has_more))
        return STOP;
    if (atomic_load(&worker->wants_reopen) && !worker->unflushed)
        return REOPEN;
    if (!has_more) {
        publish(worker);
        wait_for_entries(worker);
    }
    return CONTINUE;
}

static void limit_thread(const struct sink_worker *worker)
{
    char name[16]; /* the kernel's maximum */
    snprintf(name, sizeof name, NAME_PREFIX "%s", worker->choice.sink->name);
    pthread_setname_np(pthread_self(), name);
    enum err err = worker->choice.sink->is_unprivileged ? capabilities_drop(0) : OK;
    if (err)
        log_warn("the thread of the sink %s keeps its capabilities: %s", worker->label, err_text(err));
}

static void *run(void *argument)
{
    struct sink_worker *worker = argument;
    enum step step = CONTINUE;
    limit_thread(worker);
    while (step != STOP && !is_past_deadline(worker)) {
        step = worker->state ? run_once(worker) : open_sink(worker);
        if (step == REOPEN)
            close_sink(worker);
    }
    if (worker->state && !stop_ns(worker))
        log_info("the reader of the sink %s has closed it: closing the sink", worker->label);
    if (worker->state && worker->unflushed && stop_ns(worker) && worker->now.state != SINK_WORKER_FAILING)
        flush(worker);
    close_sink(worker);
    journal_reader_close(&worker->reader);
    worker->now.state = SINK_WORKER_CLOSED;
    publish(worker);
    return NULL;
}

static enum err start(struct sink_worker *worker)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int number = pthread_create(&worker->thread, &attributes, run, worker);
    pthread_attr_destroy(&attributes);
    return number ? err_from_errno(number) : OK;
}

static void sink_worker_free(struct sink_worker *worker)
{
    stream_decoders_free(&worker->decoders);
    sink_choice_clear(&worker->choice);
    pthread_mutex_destroy(&worker->lock);
    if (worker->wake_fd >= 0)
        close(worker->wake_fd);
    free(worker);
}

static void set_label(struct sink_worker *worker)
{
    struct buf text;
    buf_init(&text, 65536);
    sink_choice_write(&worker->choice, &text);
    snprintf(worker->label, sizeof worker->label, "%s", buf_text(&text));
    buf_clear(&text);
}

static enum err prepare(struct sink_worker *worker, const struct sink_worker_settings *settings)
{
    enum err err = worker->wake_fd < 0 ? err_from_errno(errno) : sink_choice_copy(&worker->choice, settings->choice);
    if (!err)
        err = stream_decoders_new(&worker->decoders);
    if (err)
        return err;
    sink_worker_name(settings->choice, worker->now.name);
    set_label(worker);
    worker->figures = worker->now;
    /* the journal keeps entries for it from now on */
    return journal_reader_open(settings->journal, &worker->reader, worker->now.name, true, 0);
}

enum err sink_worker_start(struct sink_worker **worker, const struct sink_worker_settings *settings)
{
    struct sink_worker *new = *worker = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    pthread_mutex_init(&new->lock, NULL);
    new->settings = *settings;
    new->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum err err = prepare(new, settings);
    if (!err)
        err = start(new);
    if (err) {
        journal_reader_close(&new->reader);
        sink_worker_free(new);
        *worker = NULL;
    }
    return err;
}

static void wake(struct sink_worker *worker)
{
    uint64_t one = 1;
    (void)!write(worker->wake_fd, &one, sizeof one);
}

void sink_worker_begin_stop(struct sink_worker *worker, uint64_t linger_ns)
{
    if (stop_ns(worker))
        return;
    atomic_store(&worker->stop_ns, clock_monotonic_ns() + linger_ns);
    wake(worker);
}

void sink_worker_close(struct sink_worker **worker, uint64_t linger_ns)
{
    if (!*worker)
        return;
    sink_worker_begin_stop(*worker, linger_ns);
    pthread_join((*worker)->thread, NULL);
    sink_worker_free(*worker);
    *worker = NULL;
}

void sink_worker_reopen(struct sink_worker *worker)
{
    atomic_store(&worker->wants_reopen, true);
    wake(worker);
}

const struct sink_choice *sink_worker_choice(const struct sink_worker *worker)
{
    return &worker->choice;
}

const char *sink_worker_cursor_name(const struct sink_worker *worker)
{
    return worker->figures.name; /* set before the worker is visible to others, and constant */
}

void sink_worker_figures(struct sink_worker *worker, struct sink_worker_figures *figures)
{
    pthread_mutex_lock(&worker->lock);
    *figures = worker->figures;
    struct rate_mark since = worker->since;
    pthread_mutex_unlock(&worker->lock);
    uint64_t now_ns = clock_monotonic_ns();
    if (since.time_ns && now_ns > since.time_ns)
        figures->rate = (double)(figures->samples - since.samples) * NS_PER_S / (double)(now_ns - since.time_ns);
}

/* 32-bit FNV-1a; the names are on disk, so it must not change. */
static uint32_t hash_add(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

void sink_worker_name(const struct sink_choice *choice, char name[64])
{
    uint32_t hash = hash_add(2166136261u, choice->sink->name);
    for (size_t i = 0; i < choice->settings.count; i++) {
        const struct setting_pair *pair = &choice->settings.list[i];
        bool is_secret = !strcmp(pair->key, "password") || !strcmp(pair->key, "api_key") || !strcmp(pair->key, "token");
        hash = hash_add(hash_add(hash, i ? "," : ":"), pair->key);
        hash = hash_add(hash_add(hash, "="), is_secret ? "***" : pair->value); /* a new password continues */
    }
    snprintf(name, 64, NAME_PREFIX "%.40s-%08x", choice->sink->name, hash);
}

bool sink_worker_name_is_used(const char *name, const struct sink_choice *choices, size_t count)
{
    char wanted[64];
    for (size_t i = 0; i < count; i++) {
        sink_worker_name(&choices[i], wanted);
        if (strcmp(wanted, name) == 0)
            return true;
    }
    return strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0;
}
