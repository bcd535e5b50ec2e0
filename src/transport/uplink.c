/* The thread of the uplink: one connection after another, with pauses where nobody answers. */
#include "transport/uplink.h"

#include "base/log.h"
#include "base/text.h"
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
#define LOOK_NS NS_PER_S
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

void uplink_say(struct uplink *uplink, enum uplink_state state, const char *why)
{
    if (uplink->now.state != state)
        uplink->now.since_ns = clock_realtime_ns();
    uplink->now.state = state;
    snprintf(uplink->now.why, sizeof uplink->now.why, "%s", why);
    if (state == UPLINK_UP) {
        if (uplink->complaint[0])
            log_warn("the collector %s takes our samples now", uplink->now.collector);
        else
            log_info("the collector %s takes our samples", uplink->now.collector);
        uplink->complaint[0] = '\0';
    }
    uplink_publish(uplink);
}

/* What is acknowledged need not be on our disk; what waits must be when the machine goes down. */
void uplink_look_after(struct uplink *uplink, uint64_t now_ns)
{
    if (now_ns - uplink->synced_ns < SYNC_NS || uplink->now.lag_ns < SYNC_NS / 2)
        return;
    uplink->synced_ns = now_ns;
    journal_sync(uplink->journal);
}

/* Once for each reason. */
static void complain(struct uplink *uplink, const char *why)
{
    if (!strcmp(uplink->complaint, why))
        return;
    snprintf(uplink->complaint, sizeof uplink->complaint, "%s", why);
    log_warn("the collector %s does not take our samples: %s. They are kept, and it is tried again.", uplink->now.collector,
             why);
}

uint64_t uplink_between(struct uplink *uplink, uint64_t least_ns, uint64_t most_ns)
{
    uint64_t x = uplink->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    uplink->random = x;
    return least_ns + x % (most_ns - least_ns);
}

/* Between half of it and all of it, so that ten thousand do not come back in one moment. */
static void pause_for(struct uplink *uplink, uint64_t pause_ns)
{
    uint64_t until_ns = clock_monotonic_ns() + uplink_between(uplink, pause_ns / 2, pause_ns);
    struct pollfd fd = { .fd = uplink->wake_fd, .events = POLLIN };
    uint64_t ignored, now_ns;
    while (!uplink_stop_ns(uplink) && (now_ns = clock_monotonic_ns()) < until_ns) {
        uint64_t left_ns = until_ns - now_ns < LOOK_NS ? until_ns - now_ns : LOOK_NS;
        if (poll(&fd, 1, (int)(left_ns / NS_PER_MS) + 1) > 0 && read(uplink->wake_fd, &ignored, sizeof ignored) > 0
            && atomic_exchange(&uplink->is_reloading, false))
            return;
        uplink_publish(uplink);
        uplink_look_after(uplink, clock_monotonic_ns());
    }
}

static void try_one(struct uplink *uplink, size_t at)
{
    snprintf(uplink->now.collector, sizeof uplink->now.collector, "%s", uplink->collectors[at]);
    if (uplink->now.state != UPLINK_WAITING)
        uplink_say(uplink, UPLINK_CONNECTING, "");
    uplink->look_ns = at ? clock_monotonic_ns() + uplink_between(uplink, uplink->return_ns, uplink->return_ns * 3 / 2) : 0;
    uplink_talk(uplink, uplink->collectors[at], uplink->server_keys[at]);
    if (uplink->end != UPLINK_LOST && uplink->end != UPLINK_NOT_WANTED)
        return;
    complain(uplink, uplink->why);
    uplink_say(uplink, uplink->end == UPLINK_NOT_WANTED ? UPLINK_REFUSED : UPLINK_WAITING, uplink->why);
}

/* The list from one to the next; a pause when all of it was tried in vain. */
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
        if (uplink->end == UPLINK_RETURNS) {
            at = uplink->collector_count - 1; /* the first one, at once */
            continue;
        }
        if (uplink->end == UPLINK_REKEYED || (uplink->end == UPLINK_ANEW && uplink->has_acked)) {
            at += uplink->collector_count - 1; /* the same one, at once */
            continue;
        }
        if (++failed % uplink->collector_count != 0 || uplink->end == UPLINK_STOPPED)
            continue;
        pause_for(uplink, pause_ns);
        pause_ns = pause_ns * 2 < PAUSE_MAX_NS ? pause_ns * 2 : PAUSE_MAX_NS;
    }
    uplink_publish(uplink);
    return NULL;
}

static enum err copy_collector(struct uplink *uplink, const char *text, const char *server_key, struct buf *why)
{
    char address[ADDRESS_MAX];
    size_t at = uplink->collector_count;
    if (at == UPLINK_COLLECTORS_MAX) {
        buf_printf(why, "more than %d collectors", UPLINK_COLLECTORS_MAX);
        return USAGE;
    }
    if (address_complete(text, UPLINK_PORT, address)) {
        buf_printf(why, "'%s' is not the address of a collector: say tcp://HOST:%d", text, UPLINK_PORT);
        return USAGE;
    }
    if (server_key && !uplink->key_file) {
        buf_printf(why, "there is a key for the collector %s, but none of our own", address);
        return USAGE;
    }
    uplink->collectors[at] = strdup(address);
    uplink->server_keys[at] = server_key ? strdup(server_key) : NULL;
    uplink->collector_count++;
    return uplink->collectors[at] && (!server_key || uplink->server_keys[at]) ? OK : NOMEM;
}

static enum err copy_settings(struct uplink *uplink, const struct uplink_settings *settings, struct buf *why)
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
        err = copy_collector(uplink, settings->collectors[i], settings->server_keys ? settings->server_keys[i] : NULL, why);
    if (!err && !uplink->collector_count) {
        buf_add_text(why, "there is no collector");
        err = USAGE;
    }
    return err;
}

/* A key that cannot be read is a mistake that somebody who starts us should see at once. */
static enum err check_keys(const struct uplink *uplink, struct buf *why)
{
    struct keys_pair pair = { 0 };
    char key[ZMQ_KEY_MAX];
    enum err err = OK;
    for (size_t i = 0; !err && i < uplink->collector_count; i++)
        if (uplink->server_keys[i]) {
            err = keys_read(uplink->key_file, &pair, why);
            if (!err)
                err = keys_read_public(uplink->server_keys[i], key, why);
        }
    explicit_bzero(&pair, sizeof pair);
    return err;
}

static enum err prepare(struct uplink *uplink, const struct uplink_settings *settings, struct buf *why)
{
    struct uplink_taker taker = { uplink_send_take, uplink };
    char reason[512] = "";
    pthread_mutex_init(&uplink->lock, NULL);
    buf_init(&uplink->out, MESSAGE_MAX);
    buf_init(&uplink->body, MESSAGE_MAX);
    buf_init(&uplink->message, MESSAGE_MAX);
    buf_init(&uplink->plain, MESSAGE_MAX);
    uplink->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    enum err err = uplink->wake_fd < 0 ? err_from_errno(errno) : copy_settings(uplink, settings, why);
    if (!err)
        err = check_keys(uplink, why);
    if (!err)
        err = uplink_streams_new(&uplink->streams, &taker);
    if (!err)
        err = zmq_load(&uplink->zmq, reason, sizeof reason);
    buf_add_text(why, reason);
    if (!err)
        err = journal_reader_open(uplink->journal, &uplink->reader, uplink->name, true, 0);
    if (getrandom(&uplink->instance, sizeof uplink->instance, 0) < 0)
        uplink->instance = clock_realtime_ns() ^ (uint64_t)getpid() << 40;
    uplink->random = uplink->instance | 1;
    return err;
}

/* Signals are for other threads. */
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

enum err uplink_open(struct uplink **uplink, const struct uplink_settings *settings, struct buf *why)
{
    struct uplink *u = calloc(1, sizeof *u);
    *uplink = NULL;
    if (!u)
        return NOMEM;
    enum err err = prepare(u, settings, why);
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
