/* One feed per stream. A stream that starts in the middle, because the partition was assigned to another collector or
 * this one was restarted, gets its state from earlier messages, which are read again. */
#include "collector/kafka_port.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEEDS_MAX 4000000u
#define TURN_MAX 2000
#define IDLE_NS (600 * NS_PER_S)
#define SWEEP_NS (60 * NS_PER_S)
#define LOG_INTERVAL_NS (60 * NS_PER_S)
#define RETRY_NS NS_PER_S
#define WHERE_MAX 4096
#define GROUP "sonde"

struct kafka_port {
    struct receiver *receiver;
    const struct kafka_module *module;
    struct kafka_consumer *consumer;
    struct map feeds; /* by host and stream */
    uint64_t bad;
    uint64_t swept_ns, logged_ns, retry_ns; /* CLOCK_MONOTONIC; 0: never */
    char logged_error[256];                 /* last logged error; "": none, or resolved */
};

/* Modifies the string, to which source then points. */
static enum err read_where(char *text, struct kafka_source *source, struct buf *error)
{
    char *rest = NULL, *first = strtok_r(text, ",", &rest), *slash = first ? strchr(first, '/') : NULL;
    *source = (struct kafka_source){ .brokers = first, .topic = KAFKA_TOPIC_WIRE, .group = GROUP };
    if (slash) {
        *slash = '\0';
        source->topic = slash + 1;
    }
    for (char *pair = strtok_r(NULL, ",", &rest); pair; pair = strtok_r(NULL, ",", &rest)) {
        const char **value = strncmp(pair, "group=", 6) == 0 ? &source->group
                             : strncmp(pair, "options=", 8) == 0 ? &source->options
                             : strncmp(pair, "config=", 7) == 0 ? &source->config : NULL;
        if (!value) {
            buf_printf(error, "unknown setting '%.60s' for Kafka (expected group, options or config)", pair);
            return USAGE;
        }
        *value = strchr(pair, '=') + 1;
    }
    if (first && *first && *source->topic && *source->group)
        return OK;
    buf_add_text(error, "missing Kafka brokers (expected HOST:9092;HOST:9092/TOPIC)");
    return USAGE;
}

static enum err copy_where(const char *where, char copy[WHERE_MAX], struct kafka_source *source, struct buf *error)
{
    if (strlen(where) >= WHERE_MAX) {
        buf_add_text(error, "list of Kafka brokers is too long");
        return USAGE;
    }
    memcpy(copy, where, strlen(where) + 1);
    return read_where(copy, source, error);
}

enum err kafka_port_check(const char *where, struct buf *error)
{
    struct kafka_source source;
    char copy[WHERE_MAX];
    return copy_where(where, copy, &source, error);
}

/* Before partitions are reassigned: what was received from them must not be delivered to another collector too. */
static bool sync_journal(void *context)
{
    struct kafka_port *port = context;
    struct receiver *receiver = port->receiver;
    return !seq_gaps_sync(&receiver->gaps) && !journal_sync(receiver->settings.journal);
}

enum err kafka_port_open(struct kafka_port **opened, const char *where, struct receiver *receiver, struct buf *error)
{
    struct kafka_source source;
    char copy[WHERE_MAX], reason[512] = "";
    struct kafka_port *port = *opened = calloc(1, sizeof *port);
    enum err err = port ? copy_where(where, copy, &source, error) : NOMEM;
    if (!err)
        err = kafka_load(&port->module, reason, sizeof reason);
    if (!err) {
        port->receiver = receiver;
        port->swept_ns = clock_monotonic_ns();
        source.flush = sync_journal;
        source.context = port;
        err = port->module->consumer_open(&port->consumer, &source, reason, sizeof reason);
    }
    if (*reason)
        buf_printf(error, "cannot consume from Kafka: %s", reason);
    if (err)
        kafka_port_close(opened);
    return err;
}

static uint64_t hash_of(uint64_t stream, struct bytes host)
{
    return map_hash(map_hash(0, &stream, sizeof stream), host.data, host.size);
}

/* Frees the feeds without a record since then. */
static void forget(struct kafka_port *port, uint64_t before_ns)
{
    struct map_iterator at = { 0 };
    for (struct feed *feed; (feed = map_next(&port->feeds, &at));)
        if (feed->last_record_ns < before_ns) {
            map_remove(&port->feeds, hash_of(feed->stream, bytes_of(feed->known_host->host)), feed);
            feed_free(&feed);
        }
}

void kafka_port_close(struct kafka_port **closed)
{
    struct kafka_port *port = *closed;
    if (!port)
        return;
    if (port->consumer)
        port->module->consumer_close(&port->consumer);
    forget(port, UINT64_MAX);
    map_clear(&port->feeds);
    free(port);
    *closed = NULL;
}

int kafka_port_fd(const struct kafka_port *port)
{
    return port->module->consumer_fd(port->consumer);
}

static bool is_feed(const void *item, const void *key)
{
    const struct feed *feed = item;
    const struct kafka_envelope *envelope = key;
    return feed->stream == envelope->stream && bytes_equal(bytes_of(feed->known_host->host), envelope->host);
}

static enum err add_feed(struct kafka_port *port, const struct kafka_envelope *envelope, uint64_t hash, struct feed **added)
{
    struct known_host *known_host;
    enum err err = known_hosts_get(&port->receiver->known_hosts, envelope->host, &known_host);
    if (!err)
        err = feed_new(added, NULL, known_host, envelope->stream);
    if (err)
        return err;
    err = map_add(&port->feeds, hash, *added, FEEDS_MAX);
    if (err)
        feed_free(added);
    else if (!known_host->first_ns)
        known_host->first_ns = clock_realtime_ns();
    return err;
}

static enum err find_feed(struct kafka_port *port, const struct kafka_envelope *envelope, struct feed **found)
{
    uint64_t hash = hash_of(envelope->stream, envelope->host);
    *found = map_find(&port->feeds, hash, is_feed, envelope);
    return *found ? OK : add_feed(port, envelope, hash, found);
}

/* Logs at most once per minute: a topic with other contents has many such messages. */
static void log_problem(struct kafka_port *port, const char *what)
{
    uint64_t now_ns = clock_monotonic_ns();
    port->bad++;
    if (port->logged_ns && now_ns - port->logged_ns < LOG_INTERVAL_NS)
        return;
    port->logged_ns = now_ns;
    log_warn("skipped a message from Kafka: %s; %llu so far", what, (unsigned long long)port->bad);
}

/* The state is in one of the earlier messages: read them again, as long as there are any. False: not now. */
static bool read_earlier(struct kafka_port *port, struct feed *feed)
{
    enum err err = port->module->consumer_rewind(port->consumer);
    if (err == ABSENT) {
        receiver_skip_envelope(port->receiver, feed);
        log_problem(port, "the state that its record depends on is no longer in Kafka");
    }
    return !err || err == ABSENT;
}

static bool keep(struct kafka_port *port, struct feed *feed, const struct kafka_envelope *envelope)
{
    enum err err = receiver_add_envelope(port->receiver, feed, envelope);
    if (err == ABSENT)
        return read_earlier(port, feed);
    if (err == CORRUPT)
        log_problem(port, "cannot decode its record");
    if (err && err != CORRUPT)
        port->module->consumer_unread(port->consumer);
    return !err || err == CORRUPT;
}

/* False: it could not be stored, and will be delivered again. */
static bool take(struct kafka_port *port, struct bytes message, bool is_old)
{
    struct kafka_envelope envelope;
    struct feed *feed;
    enum err err = kafka_envelope_read(message, &envelope);
    if (!err && !known_hosts_is_name(envelope.host))
        err = CORRUPT;
    if (err && is_old)
        return true;
    if (err) {
        log_problem(port, err == USAGE ? "it was written by a newer version of Sonde"
                    : "it was not written by Sonde; is the topic right?");
        port->receiver->is_dirty = true; /* so that its offset is committed */
        return true;
    }
    err = find_feed(port, &envelope, &feed);
    if (err) {
        port->module->consumer_unread(port->consumer);
        return false;
    }
    if (!is_old)
        return keep(port, feed, &envelope);
    receiver_restore_envelope(port->receiver, feed, &envelope);
    return true;
}

static void sweep(struct kafka_port *port, uint64_t now_ns)
{
    if (now_ns - port->swept_ns < SWEEP_NS)
        return;
    port->swept_ns = now_ns;
    forget(port, now_ns > IDLE_NS ? now_ns - IDLE_NS : 0);
}

/* Logs once when Kafka is unavailable, and once when it is back. */
static void log_availability(struct kafka_port *port)
{
    struct kafka_consumer_figures figures;
    port->module->consumer_figures(port->consumer, &figures);
    if (*figures.error && !*port->logged_error)
        log_warn("Kafka: %s. Retrying.", figures.error);
    else if (!*figures.error && *port->logged_error)
        log_warn("Kafka is available again");
    snprintf(port->logged_error, sizeof port->logged_error, "%s", figures.error);
}

bool kafka_port_poll(struct kafka_port *port)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct bytes message;
    bool is_old = false;
    if (port->retry_ns && now_ns < port->retry_ns)
        return false;
    port->retry_ns = 0;
    sweep(port, now_ns);
    for (int i = 0; i < TURN_MAX; i++) {
        if (port->module->consumer_next(port->consumer, &message, &is_old)) {
            log_availability(port);
            return false;
        }
        if (!take(port, message, is_old)) {
            port->retry_ns = now_ns + RETRY_NS;
            return false;
        }
    }
    log_availability(port);
    return true;
}

void kafka_port_begin_sync(struct kafka_port *port)
{
    port->module->consumer_mark(port->consumer);
}

void kafka_port_end_sync(struct kafka_port *port)
{
    port->module->consumer_commit(port->consumer);
}

void kafka_port_figures(const struct kafka_port *port, struct kafka_port_figures *figures)
{
    port->module->consumer_figures(port->consumer, &figures->consumer);
    figures->bad = port->bad;
    figures->feeds = port->feeds.count;
}
