/* One socket, and one stream per sending host. */
#include "collector/colmet_port.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "compat/colmet/jobs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define MESSAGE_BYTES (4u << 20)
#define TURN_MAX 256 /* messages per turn, so that agents get theirs */
#define HOSTS_MAX 100000u
#define ERROR_MAX 256

/* A host that has sent messages. */
struct colmet_node {
    struct feed *feed;
    struct colmet_jobs jobs;
};

struct colmet_port {
    const struct zmq_module *zmq;
    struct zmq_pull *pull;
    struct receiver *receiver;
    struct colmet_records *records;
    struct buf message;
    struct map nodes; /* by host name */
    struct colmet_port_figures figures;
    uint64_t logged_ns; /* CLOCK_MONOTONIC, when an invalid message was last logged; 0: never */
};

enum err colmet_port_open(struct colmet_port **port, const char *address, struct receiver *receiver, struct buf *error)
{
    char reason[ERROR_MAX] = "";
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
        buf_printf(error, "cannot listen for Colmet's nodes on %s: %s", address, reason[0] ? reason : err_text(err));
        colmet_port_close(port);
    }
    return err;
}

static void free_node(struct colmet_node *node)
{
    feed_free(&node->feed);
    colmet_jobs_clear(&node->jobs);
    free(node);
}

void colmet_port_close(struct colmet_port **port)
{
    struct colmet_port *p = *port;
    if (!p)
        return;
    if (p->pull)
        p->zmq->pull_close(&p->pull);
    struct map_iterator at = { 0 };
    for (struct colmet_node *node; (node = map_next(&p->nodes, &at));)
        free_node(node);
    map_clear(&p->nodes);
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

static bool is_host(const void *node, const void *host)
{
    return strcmp(((const struct colmet_node *)node)->feed->known_host->host, host) == 0;
}

/* Creates the host's stream. Its encoder state is lost when the collector stops; then another stream starts. */
static enum err add_node(struct colmet_port *port, const char *host, struct colmet_node **made)
{
    struct known_host *known_host;
    uint64_t stream = 0;
    struct colmet_node *node = calloc(1, sizeof *node);
    if (!node || getrandom(&stream, sizeof stream, 0) != (ssize_t)sizeof stream) {
        free(node);
        return NOMEM;
    }
    enum err err = known_hosts_get(&port->receiver->known_hosts, bytes_of(host), &known_host);
    if (!err)
        err = feed_new(&node->feed, NULL, known_host, stream | 1);
    if (!err)
        err = map_add(&port->nodes, map_hash_string(0, host), node, HOSTS_MAX);
    if (err) {
        feed_free(&node->feed);
        free(node);
        return err;
    }
    if (!known_host->first_ns)
        known_host->first_ns = clock_realtime_ns();
    node->feed->has_state = node->feed->needs_snapshot = true;
    *made = node;
    return OK;
}

static enum err find_node(struct colmet_port *port, const char *host, struct colmet_node **found)
{
    *found = map_find(&port->nodes, map_hash_string(0, host), is_host, host);
    return *found ? OK : add_node(port, host, found);
}

static void take_batch(struct colmet_port *port, const struct batch *received)
{
    struct colmet_node *node;
    struct batch batch = *received;
    enum err err = known_hosts_is_name(bytes_of(received->host)) ? find_node(port, received->host, &node) : USAGE;
    if (!err)
        err = colmet_jobs_note(&node->jobs, &batch);
    if (!err)
        err = receiver_add_batch(port->receiver, node->feed, &batch);
    if (!err) {
        port->figures.samples += batch.count;
        return;
    }
    if (!port->figures.refused++)
        log_error("cannot store the data of Colmet's node %s: %s. It is lost, because Colmet does not send again.",
                  received->host, err_text(err));
}

/* Logs at most once per minute: a broken sender sends invalid messages often. */
static void log_problem(struct colmet_port *port, size_t bad, const char *error)
{
    uint64_t now_ns = clock_monotonic_ns();
    port->figures.bad += bad;
    if (port->logged_ns && now_ns - port->logged_ns < 60 * NS_PER_S)
        return;
    port->logged_ns = now_ns;
    log_warn("invalid message on Colmet's port: %s. Skipped; %llu so far.", error,
             (unsigned long long)port->figures.bad);
}

static void take_message(struct colmet_port *port)
{
    char error[ERROR_MAX] = "";
    size_t bad = 0;
    struct bytes message = { port->message.data, port->message.size };
    port->figures.messages++;
    port->figures.bytes += message.size;
    enum err err = colmet_records_read(port->records, message, &bad, error, sizeof error);
    if (err || bad)
        log_problem(port, bad ? bad : 1, error[0] ? error : err_text(err));
    for (size_t i = 0; i < colmet_records_count(port->records); i++)
        take_batch(port, colmet_records_batch(port->records, i));
}

bool colmet_port_poll(struct colmet_port *port)
{
    for (int i = 0; i < TURN_MAX; i++) {
        enum err err = port->zmq->pull_next(port->pull, &port->message);
        if (err == AGAIN || err == IO)
            return false;
        if (err)
            log_problem(port, 1, "it is too large");
        else
            take_message(port);
    }
    return true;
}
