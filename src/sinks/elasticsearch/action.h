/* The line before each document of _bulk: make it, if there is none of this id yet. What is there already is answered with 409,
 * and changes nothing. */
#ifndef SONDE_SINKS_ELASTICSEARCH_ACTION_H
#define SONDE_SINKS_ELASTICSEARCH_ACTION_H

#include "model/batch.h"
#include "base/buf.h"

/* Which document of a batch. All but job are there, if only as "". */
struct elasticsearch_action_name {
    const char *kind; /* of documents, where the places of several kinds are counted apart */
    size_t place;
    const char *job, *instance;
    uint64_t time_ns;
};

/* An id that is the same whenever the batch is delivered: from the batch's own name and the place; straight from the sensors,
 * where it has none, from what was read when. */
void elasticsearch_action_id(struct buf *id, const struct batch *batch, const struct elasticsearch_action_name *name);

void elasticsearch_action_add(struct buf *out, const char *index, const char *id);

#endif
