/* What is held now, of one node or of many, as one person may see it: all of it, or the nodes and the jobs of one user.
 * Where it is held (an agent's latest.c, the streams of a collector) is its source's business. */
#ifndef SONDE_MODEL_VIEW_H
#define SONDE_MODEL_VIEW_H

#include "model/batch.h"

#define VIEW_ALL UINT32_MAX
#define VIEW_NODE (UINT32_MAX - 1) /* no job at all */

/* The newest sample of one set of one instance of one job, or of the node. All borrowed. */
struct view_entry {
    const char *host;
    const struct set *set;
    const char *instance;  /* "" : there is but one */
    const char *job;       /* its id; NULL: of the node */
    const struct job *of;  /* NULL: the node, or a job of which no more than its id is known */
    const union value *values;
    const uint8_t *known;  /* set->size of them, 0 or 1 */
    uint64_t time_ns;      /* when it was read */
    uint64_t first_ns, updates, period_ns; /* each 0 where it is not known */
};

/* How far one has come; zeroes at first. */
struct view_position {
    size_t host, entry;
};

/* Both return false at the end. Entries come in any order. */
struct view_source {
    bool (*next)(const void *context, struct view_position *at, struct view_entry *entry);
    bool (*next_job)(const void *context, struct view_position *at, const char **host, const struct job **job);
};

/* Borrowed. */
struct view {
    const struct view_source *source;
    const void *context;
    const char *host; /* where it is held */
    uint32_t uid;     /* whose jobs are shown; VIEW_ALL: everybody's; VIEW_NODE: nobody's */
};

bool view_shows_job(const struct view *view, const struct job *job);

/* The next entry that may be seen, the next job whether it may or not. */
bool view_next(const struct view *view, struct view_position *at, struct view_entry *entry);
bool view_next_job(const struct view *view, struct view_position *at, const char **host, const struct job **job);

#endif
