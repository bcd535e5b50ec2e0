/* The thread: opens the sink, goes to where it was, then entry after entry; flushes twice a second; on failures waits a
 * little longer each time. */
#include "sinks/sink_worker.h"

#include "base/clock.h"
#include "base/log.h"
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
#define GATHER_MS 50 /* wait so long for more, in place of waking for each record */
#define PAUSE_MIN_NS (250 * NS_PER_MS)
#define PAUSE_MAX_NS (60 * NS_PER_S)
#define TRIES_MAX 4 /* of one call; then the sink is opened anew */
#define TURN_MAX 1024
#define RATE_NS (10 * NS_PER_S)
#define STACK_BYTES (1u << 20)

enum step { GOES_ON, ANEW, ENDS };

struct outlet {
    struct outlet_settings settings; /* choice and state are below */
    struct sink_choice choice;
    pthread_t thread;
    int wake_fd;
    atomic_bool wants_reopen;
    atomic_ullong stop_ns; /* CLOCK_MONOTONIC; 0: go on */

    /* of the thread */
    void *state;
    struct journal_reader *reader;
    struct channels *channels;
    uint64_t position;   /* of the newest entry that was written */
    uint64_t done;       /* of the newest that is durable */
    uint64_t unflushed;  /* batches */
    bool is_behind;      /* what was flushed is not all durable yet: the sink gathers, and is asked again */
    uint64_t flushed_ns; /* CLOCK_MONOTONIC */
    uint64_t first_ns;   /* CLOCK_MONOTONIC, of the first of them */
    uint64_t pause_ns;
    unsigned tries;
    uint64_t refused;    /* as the sink counted when it was asked last */
    bool was_reported;
    struct outlet_figures now;
    struct rate_mark { uint64_t time_ns, samples; } marks[2]; /* CLOCK_MONOTONIC; the older one first */

    pthread_mutex_t lock;
    struct outlet_figures figures; /* for others */
    struct rate_mark since;        /* its rate is what came after this */
};

static uint64_t stop_ns(const struct outlet *outlet)
{
    return atomic_load(&outlet->stop_ns);
}

static bool is_over(const struct outlet *outlet)
{
    uint64_t until_ns = stop_ns(outlet);
    return until_ns && clock_monotonic_ns() >= until_ns;
}

/* Counted by the sink since it was opened; told once. */
static void note_refused(struct outlet *outlet, uint64_t refused)
{
    if (refused && !outlet->now.refused)
        log_warn("the sink %s loses samples: %s", outlet->choice.sink->name,
                 sink_choice_message(&outlet->choice, outlet->state, OK));
    outlet->now.refused += refused > outlet->refused ? refused - outlet->refused : 0;
    outlet->refused = refused;
}

/* A mark every ten seconds: the older one is at least as old. While nothing comes it grows older, and the rate falls. */
static void mark(struct outlet *outlet)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (outlet->marks[1].time_ns && now_ns - outlet->marks[1].time_ns < RATE_NS)
        return;
    outlet->marks[0] = outlet->marks[1].time_ns ? outlet->marks[1] : (struct rate_mark){ now_ns, outlet->now.samples };
    outlet->marks[1] = (struct rate_mark){ now_ns, outlet->now.samples };
}

static void publish(struct outlet *outlet)
{
    struct outlet_figures *now = &outlet->now;
    now->lag_bytes = outlet->reader ? journal_reader_lag_bytes(outlet->reader) : 0;
    now->lag_ns = outlet->reader ? journal_reader_lag_ns(outlet->reader, clock_realtime_ns()) : 0;
    now->streams = channels_count(outlet->channels);
    if (outlet->state && outlet->choice.sink->refused)
        note_refused(outlet, outlet->choice.sink->refused(outlet->state));
    mark(outlet);
    pthread_mutex_lock(&outlet->lock);
    outlet->figures = *now;
    outlet->since = outlet->marks[0];
    pthread_mutex_unlock(&outlet->lock);
}

/* Waits for a word of the owner, for so long at most. */
static void wait_for_word(struct outlet *outlet, uint64_t timeout_ns)
{
    struct pollfd fd = { .fd = outlet->wake_fd, .events = POLLIN };
    uint64_t ignored;
    if (poll(&fd, 1, (int)(timeout_ns / NS_PER_MS) + 1) > 0)
        (void)!read(outlet->wake_fd, &ignored, sizeof ignored);
}

/* Says once what does not go, and waits. */
static enum step fail(struct outlet *outlet, const char *what, const char *why)
{
    outlet->now.state = OUTLET_FAILS;
    outlet->now.failures++;
    snprintf(outlet->now.why, sizeof outlet->now.why, "%s", why);
    if (!outlet->was_reported)
        log_error("cannot %s the sink %s: %s. It is tried again; until then its samples wait on the disk.", what,
                  outlet->choice.sink->name, why);
    outlet->was_reported = true;
    publish(outlet);
    outlet->pause_ns = outlet->pause_ns ? outlet->pause_ns * 2 : PAUSE_MIN_NS;
    if (outlet->pause_ns > PAUSE_MAX_NS)
        outlet->pause_ns = PAUSE_MAX_NS;
    uint64_t until_ns = clock_monotonic_ns() + outlet->pause_ns;
    for (uint64_t now_ns; (now_ns = clock_monotonic_ns()) < until_ns && !atomic_load(&outlet->wants_reopen);) {
        if (stop_ns(outlet))
            return ENDS; /* what fails now will not go within a few seconds either */
        wait_for_word(outlet, until_ns - now_ns);
    }
    if (atomic_load(&outlet->wants_reopen) || ++outlet->tries >= TRIES_MAX)
        return ANEW;
    return GOES_ON;
}

static void succeed(struct outlet *outlet)
{
    if (outlet->was_reported)
        log_warn("the sink %s takes samples again", outlet->choice.sink->name);
    outlet->was_reported = false;
    outlet->now.state = OUTLET_WRITES;
    outlet->now.why[0] = '\0';
    outlet->pause_ns = outlet->tries = 0;
}

static void close_sink(struct outlet *outlet)
{
    sink_choice_close(&outlet->choice, &outlet->state);
    outlet->refused = 0;
    channels_reset(outlet->channels);
    outlet->unflushed = 0;
}

/* Where the sink says that it was, if it knows; else where the journal says. */
static enum err go_to_place(struct outlet *outlet)
{
    const struct sink *sink = outlet->choice.sink;
    uint64_t from = 0;
    enum err err = sink->resume ? sink->resume(outlet->state, &from) : OK;
    journal_reader_close(&outlet->reader);
    if (!err)
        err = journal_reader_open(outlet->settings.journal, &outlet->reader, outlet->now.name, true, from);
    outlet->position = outlet->done = from;
    return err;
}

/* So that it can keep what it has of the journal where its data is. */
static void tell_source(const struct outlet *outlet)
{
    char name[128];
    const struct journal_opening *opening = journal_opening(outlet->settings.journal);
    if (!outlet->choice.sink->source || !opening->id)
        return;
    snprintf(name, sizeof name, "sonde-%016llx-%s", (unsigned long long)opening->id, outlet->now.name);
    struct sink_source source = { name, opening->number, opening->newest };
    outlet->choice.sink->source(outlet->state, &source);
}

static enum step open_sink(struct outlet *outlet)
{
    struct buf why;
    enum step step = GOES_ON;
    buf_init(&why, 1024);
    atomic_store(&outlet->wants_reopen, false);
    enum err err = OK;
    outlet->state = outlet->settings.state;
    outlet->settings.state = NULL;
    if (!outlet->state)
        err = sink_choice_open(&outlet->choice, &outlet->state, &why);
    if (!err) {
        tell_source(outlet);
        err = go_to_place(outlet);
    }
    if (err) {
        char text[256];
        snprintf(text, sizeof text, "%s", why.size ? buf_text(&why) : sink_choice_message(&outlet->choice, outlet->state, err));
        close_sink(outlet);
        outlet->tries = 0;
        step = fail(outlet, "open", text) == ENDS ? ENDS : ANEW;
    }
    buf_clear(&why);
    return step;
}

static void note_done(struct outlet *outlet)
{
    const struct sink *sink = outlet->choice.sink;
    uint64_t safe = sink->durable ? sink->durable(outlet->state) : outlet->position;
    outlet->unflushed = 0;
    outlet->is_behind = safe < outlet->position;
    outlet->flushed_ns = clock_monotonic_ns();
    outlet->now.success_ns = clock_realtime_ns();
    if (safe <= outlet->done)
        return;
    outlet->done = safe;
    journal_reader_ack(outlet->reader, safe);
}

static enum step flush(struct outlet *outlet)
{
    for (;;) {
        uint64_t begin_ns = clock_monotonic_ns(), limit_ns = stop_ns(outlet);
        enum err err = outlet->choice.sink->flush(outlet->state, limit_ns ? limit_ns : begin_ns + FLUSH_DEADLINE_NS);
        outlet->now.flush_ns += clock_monotonic_ns() - begin_ns;
        outlet->now.flushes++;
        if (!err) {
            succeed(outlet);
            note_done(outlet);
            publish(outlet);
            return GOES_ON;
        }
        if (err == GONE)
            return ENDS;
        enum step step = fail(outlet, "write to", sink_choice_message(&outlet->choice, outlet->state, err));
        if (step != GOES_ON)
            return step;
    }
}

static void count(struct outlet *outlet, const struct batch *batch)
{
    outlet->now.batches++;
    outlet->now.samples += batch->count;
    for (size_t i = 0; i < batch->count; i++)
        outlet->now.values += batch->samples[i].set->size;
    for (size_t i = 0; i < batch->gap_count; i++)
        outlet->now.gaps += batch->gaps[i].batches;
    if (!outlet->unflushed++)
        outlet->first_ns = clock_monotonic_ns();
}

static enum step take_piece(struct outlet *outlet, const struct batch_piece *piece)
{
    struct buf why;
    enum step step = GOES_ON;
    buf_init(&why, sizeof outlet->now.why * 4);
    while (step == GOES_ON && outlet->settings.take_piece(outlet->settings.context, piece, &why)) {
        step = fail(outlet, "file a run in", buf_text(&why));
        buf_reset(&why);
    }
    buf_clear(&why);
    return step;
}

static enum step write_batch(struct outlet *outlet, const struct batch *batch)
{
    enum step filed = batch->piece && outlet->settings.take_piece ? take_piece(outlet, batch->piece) : GOES_ON;
    if (filed != GOES_ON)
        return filed;
    for (;;) {
        uint64_t begin_ns = clock_monotonic_ns();
        enum err err = outlet->choice.sink->write(outlet->state, batch);
        outlet->now.write_ns += clock_monotonic_ns() - begin_ns;
        if (!err) {
            if (outlet->now.state != OUTLET_WRITES)
                succeed(outlet);
            count(outlet, batch);
            return GOES_ON;
        }
        if (err == GONE)
            return ENDS;
        enum step step = fail(outlet, "write to", sink_choice_message(&outlet->choice, outlet->state, err));
        if (step != GOES_ON)
            return step;
    }
}

/* One that cannot be read is counted; the sink hears of what follows. */
static enum step take(struct outlet *outlet, const struct journal_entry *entry)
{
    const struct batch *batch;
    uint64_t begin_ns = clock_monotonic_ns();
    enum err err = channels_take(outlet->channels, entry, &batch);
    outlet->now.read_ns += clock_monotonic_ns() - begin_ns;
    if (err && entry->is_new)
        outlet->now.unreadable++;
    enum step step = batch ? write_batch(outlet, batch) : GOES_ON;
    if (step == GOES_ON && entry->is_new)
        outlet->position = entry->position;
    return step;
}

static bool is_flush_due(const struct outlet *outlet)
{
    return outlet->unflushed >= FLUSH_BATCHES
        || (outlet->unflushed && clock_monotonic_ns() - outlet->first_ns >= FLUSH_NS)
        || (outlet->is_behind && clock_monotonic_ns() - outlet->flushed_ns >= FLUSH_NS);
}

/* As much as there is, up to some; *has_more: there may be more. */
static enum step read_some(struct outlet *outlet, bool *has_more)
{
    struct journal_entry entry;
    enum step step = GOES_ON;
    *has_more = true;
    for (size_t i = 0; i < TURN_MAX && step == GOES_ON && *has_more; i++) {
        enum err err = journal_reader_next(outlet->reader, &entry);
        *has_more = err != AGAIN;
        if (!err) {
            channels_enter(outlet->channels, journal_reader_segment(outlet->reader));
            step = take(outlet, &entry);
        } else if (err != AGAIN && err != CORRUPT)
            step = fail(outlet, "read the journal for", err_text(err));
    }
    return step;
}

static void rest(struct outlet *outlet)
{
    struct pollfd fds[] = { { .fd = outlet->wake_fd, .events = POLLIN }, { .fd = journal_reader_fd(outlet->reader), .events = POLLIN } };
    uint64_t ignored;
    wait_for_word(outlet, GATHER_MS * NS_PER_MS);
    if (outlet->unflushed || stop_ns(outlet) || atomic_load(&outlet->wants_reopen))
        return;
    if (poll(fds, 2, 1000) > 0 && fds[0].revents)
        (void)!read(outlet->wake_fd, &ignored, sizeof ignored);
}

static enum step turn(struct outlet *outlet)
{
    bool has_more = false, stops = stop_ns(outlet); /* asked before: what was appended until then is read */
    enum step step = read_some(outlet, &has_more);
    if (step == GOES_ON && (is_flush_due(outlet) || (stops && !has_more && outlet->unflushed)))
        step = flush(outlet);
    if (step != GOES_ON)
        return step;
    if (is_over(outlet) || (stops && !has_more))
        return ENDS;
    if (atomic_load(&outlet->wants_reopen) && !outlet->unflushed)
        return ANEW;
    if (!has_more) {
        publish(outlet);
        rest(outlet);
    }
    return GOES_ON;
}

static void *run(void *argument)
{
    struct outlet *outlet = argument;
    enum step step = GOES_ON;
    while (step != ENDS && !is_over(outlet)) {
        step = outlet->state ? turn(outlet) : open_sink(outlet);
        if (step == ANEW)
            close_sink(outlet);
    }
    if (outlet->state && !stop_ns(outlet))
        log_info("nobody reads the sink %s any more: it is closed", outlet->choice.sink->name);
    if (outlet->state && outlet->unflushed && stop_ns(outlet))
        flush(outlet);
    close_sink(outlet);
    journal_reader_close(&outlet->reader);
    outlet->now.state = OUTLET_CLOSED;
    publish(outlet);
    return NULL;
}

static enum err start(struct outlet *outlet)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int number = pthread_create(&outlet->thread, &attributes, run, outlet);
    pthread_attr_destroy(&attributes);
    return number ? err_from_errno(number) : OK;
}

static void outlet_free(struct outlet *outlet)
{
    channels_free(&outlet->channels);
    sink_choice_clear(&outlet->choice);
    pthread_mutex_destroy(&outlet->lock);
    if (outlet->wake_fd >= 0)
        close(outlet->wake_fd);
    free(outlet);
}

static enum err prepare(struct outlet *outlet, const struct outlet_settings *settings)
{
    enum err err = outlet->wake_fd < 0 ? err_from_errno(errno) : sink_choice_copy(&outlet->choice, settings->choice);
    if (!err)
        err = channels_new(&outlet->channels);
    if (err)
        return err;
    outlet_name(settings->choice, outlet->now.name);
    outlet->figures = outlet->now;
    return journal_reader_open(settings->journal, &outlet->reader, outlet->now.name, true, 0); /* from now on all is kept for it */
}

enum err outlet_open(struct outlet **outlet, const struct outlet_settings *settings)
{
    struct outlet *new = *outlet = calloc(1, sizeof *new);
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
        outlet_free(new);
        *outlet = NULL;
    }
    return err;
}

static void wake(struct outlet *outlet)
{
    uint64_t one = 1;
    (void)!write(outlet->wake_fd, &one, sizeof one);
}

void outlet_hurry(struct outlet *outlet, uint64_t linger_ns)
{
    if (stop_ns(outlet))
        return;
    atomic_store(&outlet->stop_ns, clock_monotonic_ns() + linger_ns);
    wake(outlet);
}

void outlet_close(struct outlet **outlet, uint64_t linger_ns)
{
    if (!*outlet)
        return;
    outlet_hurry(*outlet, linger_ns);
    pthread_join((*outlet)->thread, NULL);
    outlet_free(*outlet);
    *outlet = NULL;
}

void outlet_reopen(struct outlet *outlet)
{
    atomic_store(&outlet->wants_reopen, true);
    wake(outlet);
}

const struct sink_choice *outlet_choice(const struct outlet *outlet)
{
    return &outlet->choice;
}

const char *outlet_instance(const struct outlet *outlet)
{
    return outlet->figures.name; /* written before anybody could ask, and the same ever since */
}

void outlet_figures(struct outlet *outlet, struct outlet_figures *figures)
{
    pthread_mutex_lock(&outlet->lock);
    *figures = outlet->figures;
    struct rate_mark since = outlet->since;
    pthread_mutex_unlock(&outlet->lock);
    uint64_t now_ns = clock_monotonic_ns();
    if (since.time_ns && now_ns > since.time_ns)
        figures->rate = (double)(figures->samples - since.samples) * NS_PER_S / (double)(now_ns - since.time_ns);
}
