/* The number of a window is the sequence number of its record: a window that is computed again after a crash is
 * recognized as a duplicate. Until a window is in the second journal, its samples stay in the first one. */
#include "collector/rollup.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "collector/known_hosts.h"
#include "collector/rollup_track.h"
#include "journal/stream.h"
#include "sinks/stream_decoders.h"

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
#define MAINTAIN_NS NS_PER_S
#define LATE_WINDOWS 10 /* an older sample means that a clock was set back */
#define EMPTY_WINDOWS_MAX 2000 /* windows without samples are written as empty records, up to this many, so that no
                                * sequence number is skipped */

/* One stream: a host, or all jobs. */
struct rollup_host {
    struct rollup_host *next;
    char *name;
    uint64_t stream, sequence; /* last window written; 0: none */
    struct delta_stream *encoder;
    bool has_state;
    uint64_t window;           /* open window; 0: none */
    uint64_t position;         /* before its first batch */
    uint64_t last_received_ns; /* CLOCK_MONOTONIC */
    struct rollup_tracks tracks;
    unsigned generation;    /* of the stream: a new one starts when the host's clock was set back */
    uint64_t generation_ns; /* CLOCK_MONOTONIC, when it started */
};

struct rollup {
    struct rollup_settings settings;
    pthread_t thread;
    int wake_fd;
    atomic_bool stops;
    struct journal_reader *reader;
    struct stream_decoders *channels;
    struct rollup_set *sets;
    struct rollup_host *hosts, jobs;
    struct map hosts_by_name;
    uint64_t position, done;              /* in the first journal */
    uint64_t maintained_ns;
    struct batch batch;
    struct buf record, snapshot;
    bool was_reported;
    struct rollup_figures now, figures;
    pthread_mutex_t lock;
};

/* The same after a restart, but different for another window length. */
static uint64_t stream_of(const char *host, const char *what, uint64_t window_ns, unsigned generation)
{
    uint64_t hash = hash_add(HASH_START ^ window_ns, host, strlen(host));
    hash = hash_add(hash, what, strlen(what)) + generation;
    return (hash ^ hash >> 29) * 0x9e3779b97f4a7c15u | 1;
}

static enum err rollup_host_init(struct rollup *rollup, struct rollup_host *host, const char *name, const char *what)
{
    host->name = strdup(name);
    host->stream = stream_of(name, what, rollup->settings.window_ns, 0);
    host->sequence = journal_last_sequence(rollup->settings.to, name, host->stream);
    enum err err = host->name ? stream_new(&host->encoder) : NOMEM;
    return err;
}

static void rollup_host_clear(struct rollup_host *host)
{
    rollup_tracks_clear(&host->tracks);
    stream_free(&host->encoder);
    free(host->name);
}

static bool is_host(const void *item, const void *name)
{
    return strcmp(((const struct rollup_host *)item)->name, name) == 0;
}

static struct rollup_host *find_host(struct rollup *rollup, const char *name)
{
    uint64_t hash = map_hash_string(0, name);
    struct rollup_host *host = map_find(&rollup->hosts_by_name, hash, is_host, name);
    if (host)
        return host;
    host = calloc(1, sizeof *host);
    if (!host || rollup_host_init(rollup, host, name, "host")
        || map_add(&rollup->hosts_by_name, hash, host, KNOWN_HOSTS_MAX)) {
        if (host)
            rollup_host_clear(host);
        free(host);
        return NULL;
    }
    host->next = rollup->hosts;
    rollup->hosts = host;
    rollup->now.hosts++;
    return host;
}

/* Retries until it succeeds or the collector stops; the first journal keeps what is not written. */
static enum err append(struct rollup *rollup, const struct journal_entry *entry)
{
    enum err err;
    while ((err = journal_append(rollup->settings.to, entry)) && err != USAGE && !atomic_load(&rollup->stops)) {
        struct pollfd fd = { .fd = rollup->wake_fd, .events = POLLIN };
        if (!rollup->was_reported)
            log_error("cannot write the rollup journal: %s. Retrying.", err_text(err));
        rollup->was_reported = true;
        poll(&fd, 1, 1000);
    }
    rollup->was_reported = false;
    return err;
}

/* Writes rollup->batch as the record of a window. */
static enum err emit(struct rollup *rollup, struct rollup_host *host, uint64_t window)
{
    struct journal_entry entry = {
        .host = host->name, .stream = host->stream, .sequence = window - 1,
        .time_ns = window * rollup->settings.window_ns,
    };
    buf_reset(&rollup->snapshot);
    buf_reset(&rollup->record);
    bool needs_state = !host->has_state || window != host->sequence + 1
        || journal_needs_snapshot(rollup->settings.to, host->name, host->stream);
    if (needs_state)
        stream_snapshot(host->encoder, &rollup->snapshot);
    enum err err = stream_encode(host->encoder, &rollup->batch, &rollup->record);
    if (!err && needs_state) {
        entry.kind = JOURNAL_SNAPSHOT;
        entry.body = (struct bytes){ rollup->snapshot.data, rollup->snapshot.size };
        err = append(rollup, &entry);
    }
    entry.kind = JOURNAL_RECORD;
    entry.sequence = window;
    entry.body = (struct bytes){ rollup->record.data, rollup->record.size };
    if (!err)
        err = append(rollup, &entry);
    host->has_state = !err;
    if (!err) {
        host->sequence = window;
        rollup->now.windows++;
    }
    return err;
}

/* Windows without samples. */
static void emit_empty_windows(struct rollup *rollup, struct rollup_host *host, uint64_t window)
{
    if (!host->sequence || window - host->sequence > EMPTY_WINDOWS_MAX)
        return;
    batch_reset(&rollup->batch);
    for (uint64_t empty = host->sequence + 1; empty < window; empty++)
        if (emit(rollup, host, empty))
            return;
}

/* Adds the job's values on this host to those over all hosts. */
static void merge_into_jobs(struct rollup *rollup, const struct rollup_host *host)
{
    for (const struct rollup_track *track = host->tracks.first; track; track = track->next) {
        struct sample like = { .set = track->set->source, .instance = track->instance, .job = track->job };
        bool is_jobs = track->job && track->samples;
        struct rollup_track *to = is_jobs ? rollup_track_of(&rollup->jobs.tracks, &rollup->sets, &like) : NULL;
        if (to)
            rollup_track_merge(to, track);
    }
}

/* Tracks without a sample in this window are dropped. */
static void collect_tracks(struct rollup *rollup, struct rollup_host *host)
{
    uint64_t end_ns = (host->window + 1) * rollup->settings.window_ns;
    batch_reset(&rollup->batch);
    rollup_tracks_sweep(&host->tracks);
    for (struct rollup_track *track = host->tracks.first; track; track = track->next)
        rollup_track_emit(track, &rollup->batch, end_ns);
}

static void close_window(struct rollup *rollup, struct rollup_host *host, const struct batch *by)
{
    if (!host->window || host->window <= host->sequence) {
        host->window = 0; /* already written before a crash */
        rollup_tracks_clear(&host->tracks);
        return;
    }
    emit_empty_windows(rollup, host, host->window);
    collect_tracks(rollup, host);
    rollup->batch.jobs = by ? by->jobs : NULL;
    rollup->batch.job_count = by ? by->job_count : 0;
    emit(rollup, host, host->window);
    host->window = 0;
}

/* Closes the jobs' window when all active hosts are in a later window, or sent nothing for the length of a window. */
static void close_jobs(struct rollup *rollup, bool is_late)
{
    uint64_t window = rollup->jobs.window, now_ns = clock_monotonic_ns();
    for (const struct rollup_host *host = rollup->hosts; window && !is_late && host; host = host->next)
        if (host->window && host->window <= window && now_ns - host->last_received_ns < rollup->settings.window_ns)
            return;
    if (window)
        close_window(rollup, &rollup->jobs, NULL);
}

/* A host whose clock is ahead must not close the jobs' window for the others. */
static bool is_in_future(const struct rollup *rollup, uint64_t window)
{
    return window > clock_realtime_ns() / rollup->settings.window_ns + 1;
}

static void close_host(struct rollup *rollup, struct rollup_host *host, const struct batch *by)
{
    if (rollup->jobs.window && rollup->jobs.window < host->window && !is_in_future(rollup, host->window))
        close_jobs(rollup, true); /* this host is a whole window ahead of the jobs */
    bool has_jobs = (!rollup->jobs.window || rollup->jobs.window == host->window) && !is_in_future(rollup, host->window);
    if (has_jobs && host->window > rollup->jobs.sequence) {
        if (!rollup->jobs.window)
            rollup->jobs.position = host->position;
        if (host->position < rollup->jobs.position)
            rollup->jobs.position = host->position;
        rollup->jobs.window = host->window;
        merge_into_jobs(rollup, host);
    }
    close_window(rollup, host, by);
}

/* Switches to the stream of a later generation in which the window fits. At most once per window: late records that
 * arrive by another way must not switch it back and forth. */
static void start_new_generation(struct rollup *rollup, struct rollup_host *host, uint64_t window)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (host->generation_ns && now_ns - host->generation_ns < rollup->settings.window_ns)
        return;
    host->generation_ns = now_ns;
    close_host(rollup, host, NULL);
    do {
        host->stream = stream_of(host->name, "host", rollup->settings.window_ns, ++host->generation);
        host->sequence = journal_last_sequence(rollup->settings.to, host->name, host->stream);
    } while (host->sequence > window + LATE_WINDOWS);
    host->has_state = false;
}

/* A window that was written before a crash is computed again if the jobs of that window were not written yet. */
static bool is_late(const struct rollup *rollup, const struct rollup_host *host, uint64_t window)
{
    return (window <= host->sequence && window <= rollup->jobs.sequence) || (host->window && window < host->window);
}

static void take(struct rollup *rollup, const struct batch *batch, uint64_t before)
{
    struct rollup_host *host = find_host(rollup, batch->host);
    rollup->now.records++;
    for (size_t i = 0; host && i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        uint64_t window = sample->time_ns / rollup->settings.window_ns;
        uint64_t newest = host->window ? host->window : host->sequence;
        if (window + LATE_WINDOWS < newest)
            start_new_generation(rollup, host, window);
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
        host->last_received_ns = clock_monotonic_ns();
}

/* Acknowledges the position up to which everything is in the second journal. */
static void note_done(struct rollup *rollup)
{
    uint64_t safe = rollup->position;
    for (const struct rollup_host *host = rollup->hosts; host; host = host->next)
        if (host->window && host->position < safe)
            safe = host->position;
    if (rollup->jobs.window && rollup->jobs.position < safe)
        safe = rollup->jobs.position;
    if (safe <= rollup->done || journal_sync(rollup->settings.to))
        return;
    rollup->done = safe;
    journal_reader_ack(rollup->reader, safe);
}

/* A silent host must not keep its window, and with it the journal, open forever. */
static void maintain(struct rollup *rollup)
{
    uint64_t now_ns = clock_monotonic_ns(), real_ns = clock_realtime_ns(), window_ns = rollup->settings.window_ns;
    if (now_ns - rollup->maintained_ns < MAINTAIN_NS)
        return;
    rollup->maintained_ns = now_ns;
    for (struct rollup_host *host = rollup->hosts; host; host = host->next)
        if (host->window && now_ns - host->last_received_ns > window_ns && real_ns > (host->window + 2) * window_ns)
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
        maintain(rollup);
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
        err = rollup_host_init(new, &new->jobs, settings->host, "jobs");
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
    for (struct rollup_host *host = old->hosts, *next; host; host = next) {
        next = host->next;
        rollup_host_clear(host);
        free(host);
    }
    map_clear(&old->hosts_by_name);
    rollup_host_clear(&old->jobs);
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
