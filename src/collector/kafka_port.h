/* Receives records from Kafka: envelopes (transport/kafka_envelope.h) of a topic are appended to the journal like
 * messages from the router. The consumer group's offset is committed when they are synced. */
#ifndef SONDE_COLLECTOR_KAFKA_PORT_H
#define SONDE_COLLECTOR_KAFKA_PORT_H

#include "collector/receiver.h"
#include "transport/kafka.h"

struct kafka_port;

struct kafka_port_figures {
    struct kafka_consumer_figures consumer;
    uint64_t bad;   /* messages that are no envelopes, or could not be decoded */
    uint64_t feeds; /* streams that currently arrive through it */
};

/* where: "BROKERS[/TOPIC][,group=NAME][,options=NAME=VALUE;...][,config=FILE]". Joins the group; messages arrive later.
 * USAGE, ABSENT: error has a message. */
enum err kafka_port_open(struct kafka_port **port, const char *where, struct receiver *receiver, struct buf *error);
void kafka_port_close(struct kafka_port **port); /* syncs and commits; before the receiver and the journal */

/* Checks the syntax of where, without opening anything. */
enum err kafka_port_check(const char *where, struct buf *error);

int kafka_port_fd(const struct kafka_port *port); /* readable: call kafka_port_poll, and once a second */
bool kafka_port_poll(struct kafka_port *port);    /* true: there is more */

void kafka_port_begin_sync(struct kafka_port *port); /* a sync of the journal starts */
void kafka_port_end_sync(struct kafka_port *port); /* it succeeded */

void kafka_port_figures(const struct kafka_port *port, struct kafka_port_figures *figures);

#endif
