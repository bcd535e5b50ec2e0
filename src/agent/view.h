/* What the agent holds, as one person may see it: all of it, or the node and the jobs of one user. */
#ifndef SONDE_AGENT_VIEW_H
#define SONDE_AGENT_VIEW_H

#include "agent/live.h"
#include "job/jobs.h"

#define VIEW_ALL UINT32_MAX
#define VIEW_NODE (UINT32_MAX - 1) /* no job at all */

/* Borrowed. */
struct view {
    const struct live *live;
    const struct jobs *jobs; /* NULL: no job is known */
    const char *host;
    uint32_t uid;            /* whose jobs are shown; VIEW_ALL: everybody's; VIEW_NODE: nobody's */
};

bool view_shows_job(const struct view *view, const struct job *job);

/* May the entry be seen? *job is what it belongs to; NULL: the node, or a job of which no more than its id is known. */
bool view_shows(const struct view *view, const struct live_entry *entry, const struct job **job);

#endif
