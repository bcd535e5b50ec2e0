/* A feed for each stream that came. One that begins in the middle, since the partition was with another collector or this one was
 * started anew, gets its state from earlier messages, which are looked at again. */
#include "collector/kafka_port.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096u
#define TURN_MAX 2000
#define IDLE_NS (600 * NS_PER_S)
#define SWEEP_NS (60 * NS_PER_S)
#define COMPLAIN_NS (60 * NS_PER_S)
#define RETRY_NS NS_PER_S
#define WHERE_MAX 4096
#define GROUP "sonde"

struct kafka_feed {
    struct kafka_feed *next; /* in its bucket */
    struct feed *feed;
};

struct kafka_port {
    struct receiver *receiver;
    const struct kafka_module *module;
    struct kafka_consumer *consumer;
    struct kafka_feed *buckets[BUCKETS];
    uint64_t feeds, bad;
    uint64_t swept_ns, told_ns, retry_ns; /* CLOCK_MONOTONIC; 0: not */
    char told[256];                       /* what was complained of last; "": nothing, or it is mended */
};

/* Cuts the text, which then holds what source points to. */
static enum err read_where(char *text, struct kafka_source *source, struct buf *why)
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
            buf_printf(why, "Kafka has no setting '%.60s': group, options, config", pair);
            return USAGE;
        }
        *value = strchr(pair, '=') + 1;
    }
    if (first && *first && *source->topic && *source->group)
        return OK;
    buf_add_text(why, "say the brokers of Kafka, and the topic: HOST:9092;HOST:9092/TOPIC");
    return USAGE;
}

static enum err copy_where(const char *where, char copy[WHERE_MAX], struct kafka_source *source, struct buf *why)
{
    if (strlen(where) >= WHERE_MAX) {
        buf_add_text(why, "this is too long for the brokers of Kafka");
        return USAGE;
    }
    memcpy(copy, where, strlen(where) + 1);
    return read_where(copy, source, why);
}

enum err kafka_port_check(const char *where, struct buf *why)
{
    struct kafka_source source;
    char copy[WHERE_MAX];
    return copy_where(where, copy, &source, why);
}

/* Before partitions go: what came of them must not come to another collector too. */
static bool make_safe(void *context)
{
    struct kafka_port *port = context;
    struct receiver *receiver = port->receiver;
    return !holes_sync(&receiver->holes) && !journal_sync(receiver->settings.journal);
}

enum err kafka_port_open(struct kafka_port **opened, const char *where, struct receiver *receiver, struct buf *why)
{
    struct kafka_source source;
    char copy[WHERE_MAX], reason[512] = "";
    struct kafka_port *port = *opened = calloc(1, sizeof *port);
    enum err err = port ? copy_where(where, copy, &source, why) : NOMEM;
    if (!err)
        err = kafka_load(&port->module, reason, sizeof reason);
    if (!err) {
        port->receiver = receiver;
        port->swept_ns = clock_monotonic_ns();
        source.make_safe = make_safe;
        source.context = port;
        err = port->module->consumer_open(&port->consumer, &source, reason, sizeof reason);
    }
    if (*reason)
        buf_printf(why, "cannot take from Kafka: %s", reason);
    if (err)
        kafka_port_close(opened);
    return err;
}

/* Those that nothing came through since. */
static void forget(struct kafka_port *port, uint64_t before_ns)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct kafka_feed **at = &port->buckets[i]; *at;) {
            struct kafka_feed *old = *at;
            if (old->feed->taken_ns >= before_ns) {
                at = &old->next;
                continue;
            }
            *at = old->next;
            feed_free(&old->feed);
            free(old);
            port->feeds--;
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
    free(port);
    *closed = NULL;
}

int kafka_port_fd(const struct kafka_port *port)
{
    return port->module->consumer_fd(port->consumer);
}

static struct kafka_feed **bucket_of(struct kafka_port *port, const struct parcel *parcel)
{
    uint64_t hash = hash_add(HASH_START ^ parcel->stream, parcel->host.data, parcel->host.size);
    return &port->buckets[(hash ^ hash >> 32) % BUCKETS];
}

static enum err add_feed(struct kafka_port *port, struct kafka_feed **bucket, const struct parcel *parcel, struct feed **made)
{
    struct origin *origin;
    struct kafka_feed *added = calloc(1, sizeof *added);
    enum err err = added ? origins_get(&port->receiver->origins, parcel->host, &origin) : NOMEM;
    if (!err)
        err = feed_new(&added->feed, NULL, origin, parcel->stream);
    if (err) {
        free(added);
        return err;
    }
    if (!origin->first_ns)
        origin->first_ns = clock_realtime_ns();
    added->next = *bucket;
    *bucket = added;
    *made = added->feed;
    port->feeds++;
    return OK;
}

static enum err find_feed(struct kafka_port *port, const struct parcel *parcel, struct feed **found)
{
    struct kafka_feed **bucket = bucket_of(port, parcel);
    for (struct kafka_feed *at = *bucket; at; at = at->next)
        if (at->feed->stream == parcel->stream && bytes_equal(bytes_of(at->feed->origin->host), parcel->host)) {
            *found = at->feed;
            return OK;
        }
    return add_feed(port, bucket, parcel, found);
}

/* One word in a minute: a topic that holds something else holds much of it. */
static void complain(struct kafka_port *port, const char *what)
{
    uint64_t now_ns = clock_monotonic_ns();
    port->bad++;
    if (port->told_ns && now_ns - port->told_ns < COMPLAIN_NS)
        return;
    port->told_ns = now_ns;
    log_warn("a message from Kafka cannot be taken: %s. It is passed over; %llu so far.", what, (unsigned long long)port->bad);
}

/* Its state is with one of those before: they are looked at again, as long as there are some. False: not now. */
static bool look_back(struct kafka_port *port, struct feed *feed)
{
    enum err err = port->module->consumer_rewind(port->consumer);
    if (err == ABSENT) {
        receiver_miss_parcel(port->receiver, feed);
        complain(port, "the state that its record builds on is not in Kafka any more");
    }
    return !err || err == ABSENT;
}

static bool keep(struct kafka_port *port, struct feed *feed, const struct parcel *parcel)
{
    enum err err = receiver_take_parcel(port->receiver, feed, parcel);
    if (err == ABSENT)
        return look_back(port, feed);
    if (err == CORRUPT)
        complain(port, "its record makes no sense");
    if (err && err != CORRUPT)
        port->module->consumer_take_back(port->consumer);
    return !err || err == CORRUPT;
}

/* False: it could not be kept, and comes again. */
static bool take(struct kafka_port *port, struct bytes message, bool is_old)
{
    struct parcel parcel;
    struct feed *feed;
    enum err err = parcel_read(message, &parcel);
    if (err && is_old)
        return true;
    if (err) {
        complain(port, err == USAGE ? "it is of a newer Sonde" : "it is none of Sonde's: is the topic right?");
        port->receiver->is_dirty = true; /* so that nobody reads it again */
        return true;
    }
    err = find_feed(port, &parcel, &feed);
    if (err) {
        port->module->consumer_take_back(port->consumer);
        return false;
    }
    if (!is_old)
        return keep(port, feed, &parcel);
    receiver_recall_parcel(port->receiver, feed, &parcel);
    return true;
}

static void sweep(struct kafka_port *port, uint64_t now_ns)
{
    if (now_ns - port->swept_ns < SWEEP_NS)
        return;
    port->swept_ns = now_ns;
    forget(port, now_ns > IDLE_NS ? now_ns - IDLE_NS : 0);
}

/* Says once that Kafka is away, and once that it is back. */
static void watch(struct kafka_port *port)
{
    struct kafka_consumer_figures figures;
    port->module->consumer_figures(port->consumer, &figures);
    if (*figures.why && !*port->told)
        log_warn("Kafka: %s. It is tried again.", figures.why);
    else if (!*figures.why && *port->told)
        log_warn("Kafka gives messages again");
    snprintf(port->told, sizeof port->told, "%s", figures.why);
}

bool kafka_port_turn(struct kafka_port *port)
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
            watch(port);
            return false;
        }
        if (!take(port, message, is_old)) {
            port->retry_ns = now_ns + RETRY_NS;
            return false;
        }
    }
    watch(port);
    return true;
}

void kafka_port_mark(struct kafka_port *port)
{
    port->module->consumer_mark(port->consumer);
}

void kafka_port_safe(struct kafka_port *port)
{
    port->module->consumer_safe(port->consumer);
}

void kafka_port_figures(const struct kafka_port *port, struct kafka_port_figures *figures)
{
    port->module->consumer_figures(port->consumer, &figures->consumer);
    figures->bad = port->bad;
    figures->feeds = port->feeds;
}
