/* Kafka as a way between agents or collectors and this one: parcels (transport/kafka_envelope.h) of a topic go into
 * the journal, as what came by the router does; the group's place in the topic moves on when they are safe there. */
#ifndef SONDE_COLLECTOR_KAFKA_PORT_H
#define SONDE_COLLECTOR_KAFKA_PORT_H

#include "collector/receiver.h"
#include "transport/kafka.h"

struct kafka_port;

struct kafka_port_figures {
    struct kafka_consumer_figures consumer;
    uint64_t bad;   /* messages that were no parcels, or could not be read */
    uint64_t feeds; /* streams that come through it now */
};

/* "BROKERS[/TOPIC][,group=NAME][,options=NAME=VALUE;…][,config=FILE]". Joins the group; what is there comes later. USAGE,
 * ABSENT: why gets a sentence. */
enum err kafka_port_open(struct kafka_port **port, const char *where, struct receiver *receiver, struct buf *why);
void kafka_port_close(struct kafka_port **port); /* makes safe what came; before the receiver and the journal */

/* Is the text one? For whoever wants to know before anything is opened. */
enum err kafka_port_check(const char *where, struct buf *why);

int kafka_port_fd(const struct kafka_port *port); /* readable: call kafka_port_turn, and once a second */
bool kafka_port_turn(struct kafka_port *port);    /* true: there is more */

void kafka_port_mark(struct kafka_port *port); /* a sync of the journal begins */
void kafka_port_safe(struct kafka_port *port); /* it has ended well */

void kafka_port_figures(const struct kafka_port *port, struct kafka_port_figures *figures);

#endif
