/* A socket, and a stream for each host that was heard. */
#include "collector/colmet_port.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "compat/colmet/jobs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define MESSAGE_BYTES (4u << 20)
#define TURN_MAX 256 /* messages at a time, so that agents get their turn */
#define HOSTS_MAX 100000u
#define WHY_MAX 256

/* A host that was heard. */
struct sender {
    struct feed *feed;
    struct sender *next; /* in its bucket */
    struct colmet_jobs jobs;
};

struct colmet_port {
    const struct zmq_module *zmq;
    struct zmq_pull *pull;
    struct receiver *receiver;
    struct colmet_records *records;
    struct buf message;
    struct sender *buckets[4096];
    size_t count;
    struct colmet_port_figures figures;
    uint64_t told_ns; /* CLOCK_MONOTONIC, when somebody was last told of what cannot be read; 0: never */
};

enum err colmet_port_open(struct colmet_port **port, const char *address, struct receiver *receiver, struct buf *why)
{
    char reason[WHY_MAX] = "";
    struct colmet_port *p = *port = calloc(1, sizeof *p);
    if (!p)
        return NOMEM;
    p->receiver = receiver;
    buf_init(&p->message, MESSAGE_BYTES);
    enum err err = colmet_records_new(&p->records);
    if (!err)
        err = zmq_load(&p->zmq, reason, sizeof reason);
    if (!err)
        err = p->zmq->pull_open(&p->pull, address, reason, sizeof reason);
    if (err) {
        buf_printf(why, "cannot listen for the nodes of Colmet at %s: %s", address, reason[0] ? reason : err_text(err));
        colmet_port_close(port);
    }
    return err;
}

static void free_sender(struct sender *sender)
{
    feed_free(&sender->feed);
    colmet_jobs_clear(&sender->jobs);
    free(sender);
}

void colmet_port_close(struct colmet_port **port)
{
    struct colmet_port *p = *port;
    if (!p)
        return;
    if (p->pull)
        p->zmq->pull_close(&p->pull);
    for (size_t i = 0; i < sizeof p->buckets / sizeof *p->buckets; i++)
        for (struct sender *sender = p->buckets[i], *next; sender; sender = next) {
            next = sender->next;
            free_sender(sender);
        }
    colmet_records_free(&p->records);
    buf_clear(&p->message);
    free(p);
    *port = NULL;
}

int colmet_port_fd(const struct colmet_port *port)
{
    return port->zmq->pull_fd(port->pull);
}

void colmet_port_figures(const struct colmet_port *port, struct colmet_port_figures *figures)
{
    *figures = port->figures;
}

static size_t bucket_of(const char *host)
{
    return (hash_add_text(HASH_START, host) >> 20) & 4095;
}

/* A stream of its own, made now: what it holds is lost with the collector, and then another one begins. */
static enum err add_sender(struct colmet_port *port, const char *host, struct sender **made)
{
    struct origin *origin;
    uint64_t stream = 0;
    if (port->count >= HOSTS_MAX)
        return FULL;
    struct sender *sender = calloc(1, sizeof *sender);
    if (!sender || getrandom(&stream, sizeof stream, 0) != (ssize_t)sizeof stream) {
        free(sender);
        return NOMEM;
    }
    enum err err = origins_get(&port->receiver->origins, bytes_of(host), &origin);
    if (!err)
        err = feed_new(&sender->feed, NULL, origin, stream | 1);
    if (err) {
        free(sender);
        return err;
    }
    if (!origin->first_ns)
        origin->first_ns = clock_realtime_ns();
    sender->feed->has_state = sender->feed->is_fresh = true;
    sender->next = port->buckets[bucket_of(host)];
    port->buckets[bucket_of(host)] = *made = sender;
    port->count++;
    return OK;
}

static enum err find_sender(struct colmet_port *port, const char *host, struct sender **found)
{
    for (struct sender *sender = port->buckets[bucket_of(host)]; sender; sender = sender->next)
        if (strcmp(sender->feed->origin->host, host) == 0) {
            *found = sender;
            return OK;
        }
    return add_sender(port, host, found);
}

static void take_batch(struct colmet_port *port, const struct batch *told)
{
    struct sender *sender;
    struct batch batch = *told;
    enum err err = find_sender(port, told->host, &sender);
    if (!err)
        err = colmet_jobs_note(&sender->jobs, &batch);
    if (!err)
        err = receiver_put(port->receiver, sender->feed, &batch);
    if (!err) {
        port->figures.samples += batch.count;
        return;
    }
    if (!port->figures.refused++)
        log_error("what the node %s of Colmet sends cannot be kept: %s. It is lost: such a node does not send again.",
                  told->host, err_text(err));
}

/* One word in a minute: whoever sends rubbish sends it often. */
static void complain(struct colmet_port *port, size_t bad, const char *why)
{
    uint64_t now_ns = clock_monotonic_ns();
    port->figures.bad += bad;
    if (port->told_ns && now_ns - port->told_ns < 60 * NS_PER_S)
        return;
    port->told_ns = now_ns;
    log_warn("a message to Colmet's port was not understood: %s. It is passed over; %llu so far.", why,
             (unsigned long long)port->figures.bad);
}

static void take_message(struct colmet_port *port)
{
    char why[WHY_MAX] = "";
    size_t bad = 0;
    struct bytes message = { port->message.data, port->message.size };
    port->figures.messages++;
    port->figures.bytes += message.size;
    enum err err = colmet_records_read(port->records, message, &bad, why, sizeof why);
    if (err || bad)
        complain(port, bad ? bad : 1, why[0] ? why : err_text(err));
    for (size_t i = 0; i < colmet_records_count(port->records); i++)
        take_batch(port, colmet_records_batch(port->records, i));
}

bool colmet_port_turn(struct colmet_port *port)
{
    for (int i = 0; i < TURN_MAX; i++) {
        enum err err = port->zmq->pull_next(port->pull, &port->message);
        if (err == AGAIN || err == IO)
            return false;
        if (err)
            complain(port, 1, "it is too large");
        else
            take_message(port);
    }
    return true;
}
