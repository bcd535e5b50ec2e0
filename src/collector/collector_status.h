/* GET /status: state of the collector, its hosts and its sinks as JSON, for sonde collect --status. Keys: api/schema.h. */
#ifndef SONDE_COLLECTOR_COLLECTOR_STATUS_H
#define SONDE_COLLECTOR_COLLECTOR_STATUS_H

#include "base/buf.h"

struct collector;

/* with_settings: with the settings of sinks and of Kafka, for operators; passwords are never shown. */
void collector_status(struct buf *out, struct collector *collector, bool with_settings);

#endif
