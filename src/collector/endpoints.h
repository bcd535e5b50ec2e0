/* The collector's ZeroMQ connections: the router with its keys, the uplink to another collector, and settings that
 * cannot change while they are open. */
#ifndef SONDE_COLLECTOR_ENDPOINTS_H
#define SONDE_COLLECTOR_ENDPOINTS_H

#include "collector/collector.h"

/* Loads the transport module, reads the keys, binds. */
enum err endpoints_open_router(struct collector *collector, struct buf *error);

/* If an upstream is configured. */
enum err endpoints_open_uplink(struct collector *collector, struct buf *error);
void endpoints_close(struct collector *collector);

/* Removes the cursors of sinks that are no longer configured, which would keep old data in the journal. */
void endpoints_remove_old_cursors(struct journal *journal, const struct collector_config *config);

/* Copies settings that a running collector cannot change to next, and logs each that differs. */
void endpoints_keep_fixed_settings(struct collector *collector, struct collector_config *next);

void endpoints_reload_keys(struct collector *collector);

/* Binds again if the collector's own key has changed, or if binding failed before. True: there is a new router. */
bool endpoints_rekey(struct collector *collector);
void endpoints_maintain(struct collector *collector);   /* once a second: disconnects peers whose key was removed
                                                         * from the list */

#endif
