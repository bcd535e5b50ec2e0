/* Listener for the nodes of Colmet. What they push to port 5556 is decoded into batches, one per sending host, which
 * are appended to the journal in a stream of the collector's own. Like Colmet itself, it does not authenticate the
 * senders. */
#ifndef SONDE_COLLECTOR_COLMET_PORT_H
#define SONDE_COLLECTOR_COLMET_PORT_H

#include "collector/receiver.h"

struct colmet_port;

struct colmet_port_figures {
    uint64_t messages, bytes, samples;
    uint64_t bad;     /* records or whole messages that could not be decoded */
    uint64_t refused; /* batches that could not be stored */
};

/* Listens on address, "tcp://0.0.0.0:5556". error gets a message on failure. */
enum err colmet_port_open(struct colmet_port **port, const char *address, struct receiver *receiver, struct buf *error);
int colmet_port_fd(const struct colmet_port *port); /* readable: call colmet_port_poll */
bool colmet_port_poll(struct colmet_port *port);    /* true: there is more */
void colmet_port_close(struct colmet_port **port);  /* before the receiver */

void colmet_port_figures(const struct colmet_port *port, struct colmet_port_figures *figures);

#endif
