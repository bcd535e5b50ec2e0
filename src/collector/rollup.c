/* The number of a window is the sequence of its record: a window that is made again, after a crash, is there already. Until
 * a window is in the second journal its samples stay in the first. */
#include "collector/rollup.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "sinks/stream_decoders.h"
#include "collector/rollup_track.h"
#include "journal/stream.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NAME "rollup"
#define TURN_MAX 4096
#define TEND_NS NS_PER_S
#define BUCKETS 4096u
#define LATE_WINDOWS 10 /* a sample that is older than this means that a clock was set back */
#define FILL_MAX 2000 /* windows without a sample that are told one by one, so that no sequence is jumped over */

/* Those of one name: a host, or all jobs. */
struct roller {
    struct roller *next, *chain; /* of all; of its bucket */
    char *host;
    uint64_t stream, sequence; /* the window that was given last; 0: none */
    struct delta_stream *encoder;
    bool has_state;
    uint64_t window;   /* that is open; 0: none */
    uint64_t position; /* before its first batch */
    uint64_t heard_ns; /* CLOCK_MONOTONIC */
    struct rollup_tracks tracks;
    unsigned generation; /* of the stream: a clock that was set back begins a new one */
    uint64_t turned_ns;  /* CLOCK_MONOTONIC, when it began */
};

struct rollup {
    struct rollup_settings settings;
    pthread_t thread;
    int wake_fd;
    atomic_bool stops;
    struct journal_reader *reader;
    struct stream_decoders *channels;
    struct rollup_set *sets;
    struct roller *hosts, jobs;
    struct roller *buckets[BUCKETS]; /* the hosts by name */
    uint64_t position, done; /* in the first journal */
    uint64_t tended_ns;
    struct batch batch;
    struct buf record, snapshot;
    bool was_reported;
    struct rollup_figures now, figures;
    pthread_mutex_t lock;
};

/* The same after a restart, and another for another window. */
static uint64_t stream_of(const char *host, const char *what, uint64_t window_ns, unsigned generation)
{
    uint64_t hash = hash_add(HASH_START ^ window_ns, host, strlen(host));
    hash = hash_add(hash, what, strlen(what)) + generation;
    return (hash ^ hash >> 29) * 0x9e3779b97f4a7c15u | 1;
}

static enum err roller_init(struct rollup *rollup, struct roller *roller, const char *host, const char *what)
{
    roller->host = strdup(host);
    roller->stream = stream_of(host, what, rollup->settings.window_ns, 0);
    roller->sequence = journal_last_sequence(rollup->settings.to, host, roller->stream);
    enum err err = roller->host ? stream_new(&roller->encoder) : NOMEM;
    return err;
}

static void roller_clear(struct roller *roller)
{
    rollup_tracks_clear(&roller->tracks);
    stream_free(&roller->encoder);
    free(roller->host);
}

static struct roller *host_from_facts(struct rollup *rollup, const char *host)
{
    struct roller **bucket = &rollup->buckets[hash_add_text(HASH_START, host) % BUCKETS];
    for (struct roller *roller = *bucket; roller; roller = roller->chain)
        if (strcmp(roller->host, host) == 0)
            return roller;
    struct roller *roller = calloc(1, sizeof *roller);
    if (!roller || roller_init(rollup, roller, host, "host")) {
        if (roller)
            roller_clear(roller);
        free(roller);
        return NULL;
    }
    roller->next = rollup->hosts;
    rollup->hosts = roller;
    roller->chain = *bucket;
    *bucket = roller;
    rollup->now.hosts++;
    return roller;
}

/* Full, or broken: it is tried until it goes, or we end; the first journal keeps what is not done. */
static enum err append(struct rollup *rollup, const struct journal_entry *entry)
{
    enum err err;
    while ((err = journal_append(rollup->settings.to, entry)) && err != USAGE && !atomic_load(&rollup->stops)) {
        struct pollfd fd = { .fd = rollup->wake_fd, .events = POLLIN };
        if (!rollup->was_reported)
            log_error("what is rolled up cannot be written: %s. It is tried again.", err_text(err));
        rollup->was_reported = true;
        poll(&fd, 1, 1000);
    }
    rollup->was_reported = false;
    return err;
}

/* One record of rollup->batch, of a window. */
static enum err give(struct rollup *rollup, struct roller *roller, uint64_t window)
{
    struct journal_entry entry = {
        .host = roller->host, .stream = roller->stream, .sequence = window - 1,
        .time_ns = window * rollup->settings.window_ns,
    };
    buf_reset(&rollup->snapshot);
    buf_reset(&rollup->record);
    bool wants_state = !roller->has_state || window != roller->sequence + 1
        || journal_needs_snapshot(rollup->settings.to, roller->host, roller->stream);
    if (wants_state)
        stream_snapshot(roller->encoder, &rollup->snapshot);
    enum err err = stream_encode(roller->encoder, &rollup->batch, &rollup->record);
    if (!err && wants_state) {
        entry.kind = JOURNAL_SNAPSHOT;
        entry.body = (struct bytes){ rollup->snapshot.data, rollup->snapshot.size };
        err = append(rollup, &entry);
    }
    entry.kind = JOURNAL_RECORD;
    entry.sequence = window;
    entry.body = (struct bytes){ rollup->record.data, rollup->record.size };
    if (!err)
        err = append(rollup, &entry);
    roller->has_state = !err;
    if (!err) {
        roller->sequence = window;
        rollup->now.windows++;
    }
    return err;
}

/* Nothing was read in them. */
static void fill_up(struct rollup *rollup, struct roller *roller, uint64_t window)
{
    if (!roller->sequence || window - roller->sequence > FILL_MAX)
        return;
    batch_reset(&rollup->batch);
    for (uint64_t empty = roller->sequence + 1; empty < window; empty++)
        if (give(rollup, roller, empty))
            return;
}

/* What a job has on this host becomes part of what it has on all. */
static void fold_jobs(struct rollup *rollup, const struct roller *host)
{
    for (const struct rollup_track *track = host->tracks.first; track; track = track->next) {
        struct sample like = { .set = track->set->source, .instance = track->instance, .job = track->job };
        bool is_jobs = track->job && track->samples;
        struct rollup_track *to = is_jobs ? rollup_track_of(&rollup->jobs.tracks, &rollup->sets, &like) : NULL;
        if (to)
            rollup_track_fold(to, track);
    }
}

/* Tracks that had nothing in this window are over. */
static void collect_tracks(struct rollup *rollup, struct roller *roller)
{
    uint64_t end_ns = (roller->window + 1) * rollup->settings.window_ns;
    batch_reset(&rollup->batch);
    rollup_tracks_sweep(&roller->tracks);
    for (struct rollup_track *track = roller->tracks.first; track; track = track->next)
        rollup_track_give(track, &rollup->batch, end_ns);
}

static void close_window(struct rollup *rollup, struct roller *roller, const struct batch *by)
{
    if (!roller->window || roller->window <= roller->sequence) {
        roller->window = 0; /* given before a crash */
        rollup_tracks_clear(&roller->tracks);
        return;
    }
    fill_up(rollup, roller, roller->window);
    collect_tracks(rollup, roller);
    rollup->batch.jobs = by ? by->jobs : NULL;
    rollup->batch.job_count = by ? by->job_count : 0;
    give(rollup, roller, roller->window);
    roller->window = 0;
}

/* All hosts that speak have gone on to a later window, or have said nothing for a window's time. */
static void close_jobs(struct rollup *rollup, bool is_late)
{
    uint64_t window = rollup->jobs.window, now_ns = clock_monotonic_ns();
    for (const struct roller *host = rollup->hosts; window && !is_late && host; host = host->next)
        if (host->window && host->window <= window && now_ns - host->heard_ns < rollup->settings.window_ns)
            return;
    if (window)
        close_window(rollup, &rollup->jobs, NULL);
}

/* A host whose clock is ahead must not take the others' jobs along. */
static bool is_of_the_future(const struct rollup *rollup, uint64_t window)
{
    return window > clock_realtime_ns() / rollup->settings.window_ns + 1;
}

static void close_host(struct rollup *rollup, struct roller *host, const struct batch *by)
{
    if (rollup->jobs.window && rollup->jobs.window < host->window && !is_of_the_future(rollup, host->window))
        close_jobs(rollup, true); /* one host is a whole window ahead of what the jobs are at */
    bool has_jobs = (!rollup->jobs.window || rollup->jobs.window == host->window) && !is_of_the_future(rollup, host->window);
    if (has_jobs && host->window > rollup->jobs.sequence) {
        if (!rollup->jobs.window)
            rollup->jobs.position = host->position;
        if (host->position < rollup->jobs.position)
            rollup->jobs.position = host->position;
        rollup->jobs.window = host->window;
        fold_jobs(rollup, host);
    }
    close_window(rollup, host, by);
}

/* The stream of a later generation in which the window has its place. Once per window at most: what comes late by another
 * way, beside what is new, must not turn it to and fro. */
static void turn_back(struct rollup *rollup, struct roller *host, uint64_t window)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (host->turned_ns && now_ns - host->turned_ns < rollup->settings.window_ns)
        return;
    host->turned_ns = now_ns;
    close_host(rollup, host, NULL);
    do {
        host->stream = stream_of(host->host, "host", rollup->settings.window_ns, ++host->generation);
        host->sequence = journal_last_sequence(rollup->settings.to, host->host, host->stream);
    } while (host->sequence > window + LATE_WINDOWS);
    host->has_state = false;
}

/* One that was given before a crash is made again where the jobs of that window were not given yet. */
static bool is_late(const struct rollup *rollup, const struct roller *host, uint64_t window)
{
    return (window <= host->sequence && window <= rollup->jobs.sequence) || (host->window && window < host->window);
}

static void take(struct rollup *rollup, const struct batch *batch, uint64_t before)
{
    struct roller *host = host_from_facts(rollup, batch->host);
    rollup->now.records++;
    for (size_t i = 0; host && i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        uint64_t window = sample->time_ns / rollup->settings.window_ns;
        uint64_t newest = host->window ? host->window : host->sequence;
        if (window + LATE_WINDOWS < newest)
            turn_back(rollup, host, window);
        if (is_late(rollup, host, window)) {
            rollup->now.late++;
            continue;
        }
        if (host->window && window > host->window)
            close_host(rollup, host, batch);
        if (!host->window) {
            host->window = window;
            host->position = before;
        }
        struct rollup_track *track = rollup_track_of(&host->tracks, &rollup->sets, sample);
        if (track)
            rollup_track_add(track, sample);
        rollup->now.samples++;
    }
    if (host)
        host->heard_ns = clock_monotonic_ns();
}

/* Up to where all is in the second journal. */
static void note_done(struct rollup *rollup)
{
    uint64_t safe = rollup->position;
    for (const struct roller *host = rollup->hosts; host; host = host->next)
        if (host->window && host->position < safe)
            safe = host->position;
    if (rollup->jobs.window && rollup->jobs.position < safe)
        safe = rollup->jobs.position;
    if (safe <= rollup->done || journal_sync(rollup->settings.to))
        return;
    rollup->done = safe;
    journal_reader_ack(rollup->reader, safe);
}

/* A host that has fallen silent does not keep its window, nor the journal, open for ever. */
static void tend(struct rollup *rollup)
{
    uint64_t now_ns = clock_monotonic_ns(), real_ns = clock_realtime_ns(), window_ns = rollup->settings.window_ns;
    if (now_ns - rollup->tended_ns < TEND_NS)
        return;
    rollup->tended_ns = now_ns;
    for (struct roller *host = rollup->hosts; host; host = host->next)
        if (host->window && now_ns - host->heard_ns > window_ns && real_ns > (host->window + 2) * window_ns)
            close_host(rollup, host, NULL);
    close_jobs(rollup, false);
    note_done(rollup);
    journal_maintain(rollup->settings.to, real_ns);
    rollup->now.lag_bytes = journal_reader_lag_bytes(rollup->reader);
    pthread_mutex_lock(&rollup->lock);
    rollup->figures = rollup->now;
    pthread_mutex_unlock(&rollup->lock);
}

static bool read_some(struct rollup *rollup)
{
    struct journal_entry entry;
    const struct batch *batch;
    for (size_t i = 0; i < TURN_MAX; i++) {
        enum err err = journal_reader_next(rollup->reader, &entry);
        if (err == AGAIN)
            return false;
        if (err)
            continue;
        uint64_t before = rollup->position;
        stream_decoders_enter_segment(rollup->channels, journal_reader_segment(rollup->reader));
        if (!stream_decoders_decode(rollup->channels, &entry, &batch) && batch)
            take(rollup, batch, before);
        if (entry.is_new)
            rollup->position = entry.position;
    }
    return true;
}

static void *run(void *argument)
{
    struct rollup *rollup = argument;
    while (!atomic_load(&rollup->stops)) {
        bool has_more = read_some(rollup);
        tend(rollup);
        struct pollfd fd = { .fd = rollup->wake_fd, .events = POLLIN };
        if (!has_more)
            poll(&fd, 1, 200);
    }
    note_done(rollup);
    return NULL;
}

enum err rollup_open(struct rollup **rollup, const struct rollup_settings *settings)
{
    struct rollup *new = *rollup = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->settings = *settings;
    pthread_mutex_init(&new->lock, NULL);
    batch_init(&new->batch);
    buf_init(&new->record, STREAM_RECORD_MAX);
    buf_init(&new->snapshot, STREAM_RECORD_MAX);
    new->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum err err = new->wake_fd < 0 ? err_from_errno(errno) : stream_decoders_new(&new->channels);
    if (!err)
        err = roller_init(new, &new->jobs, settings->host, "jobs");
    if (!err)
        err = journal_reader_open(settings->from, &new->reader, NAME, true, 0);
    if (!err)
        err = err_from_errno(pthread_create(&new->thread, NULL, run, new));
    if (err) {
        atomic_store(&new->stops, true);
        new->thread = 0;
        rollup_close(rollup);
    }
    return err;
}

void rollup_close(struct rollup **rollup)
{
    struct rollup *old = *rollup;
    uint64_t one = 1;
    if (!old)
        return;
    atomic_store(&old->stops, true);
    (void)!write(old->wake_fd, &one, sizeof one);
    if (old->thread)
        pthread_join(old->thread, NULL);
    journal_reader_close(&old->reader);
    stream_decoders_free(&old->channels);
    for (struct roller *host = old->hosts, *next; host; host = next) {
        next = host->next;
        roller_clear(host);
        free(host);
    }
    roller_clear(&old->jobs);
    rollup_sets_clear(&old->sets);
    batch_clear(&old->batch);
    buf_clear(&old->record);
    buf_clear(&old->snapshot);
    pthread_mutex_destroy(&old->lock);
    if (old->wake_fd >= 0)
        close(old->wake_fd);
    free(old);
    *rollup = NULL;
}

void rollup_figures(struct rollup *rollup, struct rollup_figures *figures)
{
    pthread_mutex_lock(&rollup->lock);
    *figures = rollup->figures;
    pthread_mutex_unlock(&rollup->lock);
}
