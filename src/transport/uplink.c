/* The thread of the uplink: connects to one collector after another and pauses when none responds. */
#include "transport/uplink.h"

#include "base/log.h"
#include "transport/address.h"
#include "transport/keys.h"
#include "transport/uplink_state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#define PAUSE_MIN_NS NS_PER_S
#define PAUSE_MAX_NS (60 * NS_PER_S)
#define PUBLISH_NS NS_PER_S
#define RETURN_NS (60 * NS_PER_S)
#define SYNC_NS (5 * NS_PER_S)
#define STACK_BYTES (256u << 10)

uint64_t uplink_stop_ns(const struct uplink *uplink)
{
    return atomic_load(&uplink->stop_ns);
}

void uplink_publish(struct uplink *uplink)
{
    uplink->now.lag_bytes = uplink->reader ? journal_reader_lag_bytes(uplink->reader) : 0;
    uplink->now.lag_ns = uplink->reader ? journal_reader_lag_ns(uplink->reader, clock_realtime_ns()) : 0;
    pthread_mutex_lock(&uplink->lock);
    uplink->figures = uplink->now;
    pthread_mutex_unlock(&uplink->lock);
}

void uplink_set_state(struct uplink *uplink, enum uplink_state state, const char *error)
{
    if (uplink->now.state != state)
        uplink->now.since_ns = clock_realtime_ns();
    uplink->now.state = state;
    snprintf(uplink->now.error, sizeof uplink->now.error, "%s", error);
    if (state == UPLINK_UP) {
        if (uplink->last_warning[0])
            log_warn("collector %s accepts our data again", uplink->now.collector);
        else
            log_info("collector %s accepts our data", uplink->now.collector);
        uplink->last_warning[0] = '\0';
    }
    uplink_publish(uplink);
}

/* Acknowledged entries need not be on disk; those that wait must survive a crash of the node. */
void uplink_sync_journal(struct uplink *uplink, uint64_t now_ns)
{
    if (now_ns - uplink->synced_ns < SYNC_NS || uplink->now.lag_ns < SYNC_NS / 2)
        return;
    uplink->synced_ns = now_ns;
    journal_sync(uplink->journal);
}

/* Logs each reason once. */
static void warn_once(struct uplink *uplink, const char *error)
{
    if (!strcmp(uplink->last_warning, error))
        return;
    snprintf(uplink->last_warning, sizeof uplink->last_warning, "%s", error);
    log_warn("cannot send to collector %s: %s; data is kept in the journal, will retry", uplink->now.collector, error);
}

uint64_t uplink_random_ns(struct uplink *uplink, uint64_t min_ns, uint64_t max_ns)
{
    uint64_t x = uplink->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    uplink->random = x;
    return min_ns + x % (max_ns - min_ns);
}

/* Pauses between half of pause_ns and all of it, so that thousands of agents do not reconnect at the same time. */
static void pause_for(struct uplink *uplink, uint64_t pause_ns)
{
    uint64_t until_ns = clock_monotonic_ns() + uplink_random_ns(uplink, pause_ns / 2, pause_ns);
    struct pollfd fd = { .fd = uplink->wake_fd, .events = POLLIN };
    uint64_t ignored, now_ns;
    while (!uplink_stop_ns(uplink) && (now_ns = clock_monotonic_ns()) < until_ns) {
        uint64_t left_ns = until_ns - now_ns < PUBLISH_NS ? until_ns - now_ns : PUBLISH_NS;
        if (poll(&fd, 1, (int)(left_ns / NS_PER_MS) + 1) > 0 && read(uplink->wake_fd, &ignored, sizeof ignored) > 0
            && atomic_exchange(&uplink->is_reloading, false))
            return;
        uplink_publish(uplink);
        uplink_sync_journal(uplink, clock_monotonic_ns());
    }
}

static void try_one(struct uplink *uplink, size_t at)
{
    snprintf(uplink->now.collector, sizeof uplink->now.collector, "%s", uplink->collectors[at]);
    if (uplink->now.state != UPLINK_WAITING)
        uplink_set_state(uplink, UPLINK_CONNECTING, "");
    uint64_t interval_ns = uplink_random_ns(uplink, uplink->return_ns, uplink->return_ns * 3 / 2);
    uplink->retry_first_ns = at ? clock_monotonic_ns() + interval_ns : 0;
    uplink_connection_run(uplink, uplink->collectors[at], uplink->server_keys[at]);
    if (uplink->end != UPLINK_END_LOST && uplink->end != UPLINK_END_REFUSED)
        return;
    warn_once(uplink, uplink->error);
    uplink_set_state(uplink, uplink->end == UPLINK_END_REFUSED ? UPLINK_REFUSED : UPLINK_WAITING, uplink->error);
}

/* Tries the collectors in turn; pauses when all have failed. */
static void *run(void *argument)
{
    struct uplink *uplink = argument;
    uint64_t pause_ns = PAUSE_MIN_NS;
    for (size_t at = 0, failed = 0; !uplink_stop_ns(uplink); at = (at + 1) % uplink->collector_count) {
        try_one(uplink, at);
        if (uplink->has_acked) {
            pause_ns = PAUSE_MIN_NS;
            failed = 0;
        }
        if (uplink->end == UPLINK_END_RETURN) {
            at = uplink->collector_count - 1; /* the first one, immediately */
            continue;
        }
        if (uplink->end == UPLINK_END_NEW_KEY || (uplink->end == UPLINK_END_RESTART && uplink->has_acked)) {
            at += uplink->collector_count - 1; /* the same one, immediately */
            continue;
        }
        if (++failed % uplink->collector_count != 0 || uplink->end == UPLINK_END_STOPPED)
            continue;
        pause_for(uplink, pause_ns);
        pause_ns = pause_ns * 2 < PAUSE_MAX_NS ? pause_ns * 2 : PAUSE_MAX_NS;
    }
    uplink_publish(uplink);
    return NULL;
}

static enum err copy_collector(struct uplink *uplink, const char *text, const char *server_key, struct buf *error)
{
    char address[ADDRESS_MAX];
    size_t at = uplink->collector_count;
    if (at == UPLINK_COLLECTORS_MAX) {
        buf_printf(error, "too many collectors (at most %d)", UPLINK_COLLECTORS_MAX);
        return USAGE;
    }
    if (address_normalize(text, UPLINK_PORT, address)) {
        buf_printf(error, "invalid collector address '%s' (expected tcp://HOST:%d)", text, UPLINK_PORT);
        return USAGE;
    }
    if (server_key && !uplink->key_file) {
        buf_printf(error, "collector %s has a key, but there is no key of our own; create one with 'sonde keygen'", address);
        return USAGE;
    }
    uplink->collectors[at] = strdup(address);
    uplink->server_keys[at] = server_key ? strdup(server_key) : NULL;
    uplink->collector_count++;
    return uplink->collectors[at] && (!server_key || uplink->server_keys[at]) ? OK : NOMEM;
}

static enum err copy_settings(struct uplink *uplink, const struct uplink_settings *settings, struct buf *error)
{
    uplink->journal = settings->journal;
    uplink->name = strdup(settings->name);
    uplink->host = strdup(settings->host);
    uplink->role = strdup(settings->role);
    uplink->key_file = settings->key_file ? strdup(settings->key_file) : NULL;
    uplink->munge = settings->munge;
    uplink->return_ns = settings->return_ns ? settings->return_ns : RETURN_NS;
    uplink->silence_ns = settings->silence_ns ? settings->silence_ns : UPLINK_SILENCE_NS;
    if (!uplink->name || !uplink->host || !uplink->role || (settings->key_file && !uplink->key_file))
        return NOMEM;
    enum err err = OK;
    for (size_t i = 0; !err && settings->collectors[i]; i++)
        err = copy_collector(uplink, settings->collectors[i], settings->server_keys ? settings->server_keys[i] : NULL, error);
    if (!err && !uplink->collector_count) {
        buf_add_text(error, "no collector given");
        err = USAGE;
    }
    return err;
}

/* An unreadable key is reported at the start, where somebody can fix it. */
static enum err check_keys(const struct uplink *uplink, struct buf *error)
{
    struct keys_pair pair = { 0 };
    char key[ZMQ_KEY_MAX];
    enum err err = OK;
    for (size_t i = 0; !err && i < uplink->collector_count; i++)
        if (uplink->server_keys[i]) {
            err = keys_read(uplink->key_file, &pair, error);
            if (!err)
                err = keys_read_public(uplink->server_keys[i], key, error);
        }
    explicit_bzero(&pair, sizeof pair);
    return err;
}

static enum err prepare(struct uplink *uplink, const struct uplink_settings *settings, struct buf *error)
{
    struct uplink_output output = { uplink_connection_send, uplink };
    char reason[512] = "";
    pthread_mutex_init(&uplink->lock, NULL);
    buf_init(&uplink->out, MESSAGE_MAX);
    buf_init(&uplink->body, MESSAGE_MAX);
    buf_init(&uplink->message, MESSAGE_MAX);
    buf_init(&uplink->plain, MESSAGE_MAX);
    uplink->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    enum err err = uplink->wake_fd < 0 ? err_from_errno(errno) : copy_settings(uplink, settings, error);
    if (!err)
        err = check_keys(uplink, error);
    if (!err)
        err = uplink_streams_new(&uplink->streams, &output);
    if (!err)
        err = zmq_load(&uplink->zmq, reason, sizeof reason);
    buf_add_text(error, reason);
    if (!err)
        err = journal_reader_open(uplink->journal, &uplink->reader, uplink->name, true, 0);
    if (getrandom(&uplink->instance, sizeof uplink->instance, 0) < 0)
        uplink->instance = clock_realtime_ns() ^ (uint64_t)getpid() << 40;
    uplink->random = uplink->instance | 1;
    return err;
}

/* Signals are handled by other threads. */
static enum err start(struct uplink *uplink)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&uplink->thread, &attributes, run, uplink);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return err_from_errno(error);
}

static void free_all(struct uplink *uplink)
{
    for (size_t i = 0; i < uplink->collector_count; i++) {
        free(uplink->collectors[i]);
        free(uplink->server_keys[i]);
    }
    free(uplink->name);
    free(uplink->host);
    free(uplink->role);
    free(uplink->key_file);
    free(uplink->sent);
    uplink_streams_free(&uplink->streams);
    journal_reader_close(&uplink->reader);
    buf_clear(&uplink->out);
    buf_clear(&uplink->body);
    buf_clear(&uplink->message);
    buf_clear(&uplink->plain);
    if (uplink->wake_fd >= 0)
        close(uplink->wake_fd);
    pthread_mutex_destroy(&uplink->lock);
    free(uplink);
}

enum err uplink_open(struct uplink **uplink, const struct uplink_settings *settings, struct buf *error)
{
    struct uplink *u = calloc(1, sizeof *u);
    *uplink = NULL;
    if (!u)
        return NOMEM;
    enum err err = prepare(u, settings, error);
    if (!err)
        err = start(u);
    if (err)
        free_all(u);
    else
        *uplink = u;
    return err;
}

static void wake(const struct uplink *uplink)
{
    uint64_t one = 1;
    while (write(uplink->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

void uplink_close(struct uplink **uplink, uint64_t linger_ns)
{
    if (!*uplink)
        return;
    atomic_store(&(*uplink)->stop_ns, clock_monotonic_ns() + linger_ns);
    wake(*uplink);
    pthread_join((*uplink)->thread, NULL);
    free_all(*uplink);
    *uplink = NULL;
}

void uplink_figures(struct uplink *uplink, struct uplink_figures *figures)
{
    pthread_mutex_lock(&uplink->lock);
    *figures = uplink->figures;
    pthread_mutex_unlock(&uplink->lock);
}

void uplink_reload(struct uplink *uplink)
{
    atomic_store(&uplink->is_reloading, true);
    wake(uplink);
}
