/* The latest samples of one node or many, as one user is allowed to see them: everything, or the nodes and the user's own jobs.
 * The data comes from a source: model/latest.c in an agent, the streams in a collector. */
#ifndef SONDE_MODEL_VIEW_H
#define SONDE_MODEL_VIEW_H

#include "model/batch.h"

#define VIEW_ALL UINT32_MAX
#define VIEW_NODE (UINT32_MAX - 1) /* no jobs */

/* The latest sample of a set, instance and job (or node). All borrowed. */
struct view_entry {
    const char *host;
    const struct set *set;
    const char *instance;  /* "": the set has only one */
    const char *job;       /* id; NULL: the node */
    const struct job *of;  /* NULL: the node, or a job of which only the id is known */
    const union value *values;
    const uint8_t *known;  /* set->size values, 0 or 1 */
    uint64_t time_ns;      /* of the sample */
    uint64_t first_ns, updates, period_ns, read_ns; /* 0: unknown */
};

/* Position of an iteration; begins with zeros. */
struct view_position {
    size_t host, entry;
};

/* Both return false at the end. Entries are in any order. */
struct view_source {
    bool (*next)(const void *context, struct view_position *at, struct view_entry *entry);
    bool (*next_job)(const void *context, struct view_position *at, const char **host, const struct job **job);
};

/* Borrowed. */
struct view {
    const struct view_source *source;
    const void *context;
    const char *host; /* the agent or collector itself */
    uint32_t uid;     /* whose jobs are shown; VIEW_ALL: all; VIEW_NODE: none */
    const char *producer; /* template of LDMS's producer names; NULL: none */
    uint32_t owner_uid, owner_gid; /* of the agent or collector */
};

bool view_shows_job(const struct view *view, const struct job *job);

/* The next entry that may be shown; the next job, whether it may be shown or not. */
bool view_next(const struct view *view, struct view_position *at, struct view_entry *entry);
bool view_next_job(const struct view *view, struct view_position *at, const char **host, const struct job **job);

#endif
