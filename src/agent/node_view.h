/* The agent's part of a view (model/view.h): what live.c holds of this node, and its jobs. */
#ifndef SONDE_AGENT_NODE_VIEW_H
#define SONDE_AGENT_NODE_VIEW_H

#include "jobs/jobs.h"
#include "model/live.h"
#include "model/view.h"

/* Borrowed, also by the views of it. */
struct node_view {
    const struct live *live;
    const struct jobs *jobs; /* NULL: no job is known */
    const char *host;
};

struct view node_view_of(const struct node_view *node, uint32_t uid);

#endif
