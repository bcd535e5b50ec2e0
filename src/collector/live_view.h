/* The collector's part of a view (model/view.h): what the streams of all hosts hold now, and its own figures. What is old is
 * not in it. */
#ifndef SONDE_COLLECTOR_LIVE_VIEW_H
#define SONDE_COLLECTOR_LIVE_VIEW_H

#include "collector/receiver.h"
#include "model/view.h"

/* Made for one answer: nothing may come in meanwhile. */
struct held_view {
    struct origin **origins; /* by name */
    size_t count;
    const struct batch *own; /* of the collector itself; NULL: none */
    const char *host;        /* its name */
    uint64_t now_ns, monotonic_ns;
};

/* only: a host, or no bytes: all. NOMEM. */
enum err held_view_open(struct held_view *held, const struct receiver *receiver, struct bytes only);
void held_view_close(struct held_view *held);

struct view held_view_of(const struct held_view *held, uint32_t uid);

#endif
