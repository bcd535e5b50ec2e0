/* The collector's HTTP interface: status and current values, for sonde collect --status, sonde ls and Prometheus. Paths
 * and keys: api/schema.h. */
#ifndef SONDE_COLLECTOR_COLLECTOR_HTTP_H
#define SONDE_COLLECTOR_COLLECTOR_HTTP_H

#include "base/buf.h"

#define COLLECTOR_HTTP_SERIES_MAX 5000000u /* default limit of one scrape */

struct collector_http;
struct collector;

/* Listens on the addresses in the collector's configuration, which is borrowed. *server is NULL if there are none. */
enum err collector_http_open(struct collector_http **server, struct collector *collector, struct buf *error);
int collector_http_fd(const struct collector_http *server); /* readable: call collector_http_poll */
void collector_http_poll(struct collector_http *server);    /* never blocks */
void collector_http_close(struct collector_http **server);

#endif
