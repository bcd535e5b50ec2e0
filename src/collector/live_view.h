/* The collector's view (model/view.h): current values of all hosts and the collector's own metrics. Stale values are
 * left out. */
#ifndef SONDE_COLLECTOR_LIVE_VIEW_H
#define SONDE_COLLECTOR_LIVE_VIEW_H

#include "collector/receiver.h"
#include "model/view.h"

/* Created for one response: no message may be handled meanwhile. */
struct live_view {
    struct known_host **known_hosts; /* sorted by name */
    size_t count;
    const struct batch *own; /* metrics of the collector itself; NULL: none */
    const char *host;        /* its name */
    uint64_t now_ns, monotonic_ns;
};

/* only: name of a host; empty: all. NOMEM. */
enum err live_view_open(struct live_view *live, const struct receiver *receiver, struct bytes only);
void live_view_close(struct live_view *live);

struct view live_view_as_view(const struct live_view *live, uint32_t uid);

#endif
