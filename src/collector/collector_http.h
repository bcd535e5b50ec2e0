/* The collector's answers over HTTP: how it is, what it holds, for sonde collect --status, sonde ls and Prometheus. */
#ifndef SONDE_COLLECTOR_COLLECTOR_HTTP_H
#define SONDE_COLLECTOR_COLLECTOR_HTTP_H

#include "base/buf.h"

#define DESK_SERIES_MAX 5000000u /* of one scrape, unless told otherwise */

struct desk;
struct collector;

/* Listens where the plan of the collector says, which is borrowed. *desk is NULL when it says nowhere. */
enum err desk_open(struct desk **desk, struct collector *collector, struct buf *why);
int desk_fd(const struct desk *desk); /* readable → desk_turn */
void desk_turn(struct desk *desk);    /* never blocks */
void desk_close(struct desk **desk);

#endif
