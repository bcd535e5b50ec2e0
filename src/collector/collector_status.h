/* GET /status: how the collector, each of its hosts and each of its sinks are, as JSON, for sonde collect --status. */
#ifndef SONDE_COLLECTOR_COLLECTOR_STATUS_H
#define SONDE_COLLECTOR_COLLECTOR_STATUS_H

#include "base/buf.h"

struct collector;

/* {"host", "time_ns", "version", "since_ns", "listen": […], "encrypted",
 *  "journal": {"dir", "bytes", "segments", "entries", "oldest_ns", "lost_records", "is_full"},
 *  "stages": {"read": {"count", "ns"}, "append", "sync", "loop"},
 *  "hosts": [{"host", "state": "up"|"silent", "role", "address", "software", "since_ns", "heard_ns", "sample_ns", "lag_ns",
 *             "clock_ahead_ns", "records", "samples", "bytes", "doubles", "missing", "lost", "gap": {…}}],
 *  "refused": [{"host", "address", "why"}],
 *  "sinks": [{"name", "sink", "state", "waiting_bytes", "waiting_ns", "batches", "samples", "values", "samples_per_s", "gaps",
 *             "failures", "success_ns", "why", …}],
 *  "upstream": {"collector", "state", "why", "lag_bytes", "lag_ns", "records_sent", "records_acked", "bytes_sent"}} */
void collector_status(struct buf *out, struct collector *collector);

#endif
