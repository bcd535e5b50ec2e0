/* The agent's view (model/view.h): current values of this node and its jobs. */
#ifndef SONDE_AGENT_NODE_VIEW_H
#define SONDE_AGENT_NODE_VIEW_H

#include "jobs/jobs.h"
#include "model/latest.h"
#include "model/view.h"

/* Borrowed, also by views created from it. */
struct node_view {
    const struct latest *live;
    const struct jobs *jobs; /* NULL: no jobs */
    const char *host;
};

struct view node_view_of(const struct node_view *node, uint32_t uid);

#endif
