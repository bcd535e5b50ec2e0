/* Colmet's nodes at a collector of ours: what they push to port 5556 becomes batches, one for each sending host, which go into
 * the journal by a stream of the collector's own. Nobody is asked who he is there, as with Colmet. */
#ifndef SONDE_COLLECTOR_COLMET_PORT_H
#define SONDE_COLLECTOR_COLMET_PORT_H

#include "collector/receiver.h"

struct colmet_port;

struct colmet_port_figures {
    uint64_t messages, bytes, samples;
    uint64_t bad; /* records, or whole messages, that could not be read */
    uint64_t refused; /* batches that could not be kept */
};

/* Listens at address, "tcp://0.0.0.0:5556". why gets a sentence when it cannot be. */
enum err colmet_port_open(struct colmet_port **port, const char *address, struct receiver *receiver, struct buf *why);
int colmet_port_fd(const struct colmet_port *port); /* readable: call colmet_port_turn */
bool colmet_port_turn(struct colmet_port *port);    /* true: there is more */
void colmet_port_close(struct colmet_port **port);  /* before the receiver */

void colmet_port_figures(const struct colmet_port *port, struct colmet_port_figures *figures);

#endif
