/* The collector's doors: the router with its keys, the way up, and which cursors of the journal are still wanted. */
#ifndef SONDE_COLLECTOR_ENDPOINTS_H
#define SONDE_COLLECTOR_ENDPOINTS_H

#include "collector/collector.h"

/* Loads the transport, reads keys, binds. */
enum err gateway_open_router(struct collector *collector, struct buf *why);

/* Where the plan has an upstream. */
enum err gateway_open_uplink(struct collector *collector, struct buf *why);
void gateway_close(struct collector *collector);

/* Cursors of sinks that are not in the plan any more hold nothing up. */
void gateway_forget_old(struct journal *journal, const struct collector_plan *plan);

/* Puts what a running collector cannot change into next, and says so where it is another. */
void gateway_keep_fixed(struct collector *collector, struct collector_plan *next);

void gateway_reload(struct collector *collector); /* keys */

/* Binds anew where the collector's own key is another now, or where that could not be done before. True: there is another
 * router. */
bool gateway_rekey(struct collector *collector);
void gateway_tend(struct collector *collector);   /* once a second: who is not in the list of keys any more must go */

#endif
