/* The action line before each document of a _bulk request: create the document unless its id exists. A duplicate
 * gets status 409 and changes nothing. */
#ifndef SONDE_SINKS_ELASTICSEARCH_ACTION_H
#define SONDE_SINKS_ELASTICSEARCH_ACTION_H

#include "model/batch.h"
#include "base/buf.h"

/* Identifies a document of a batch. Only job may be NULL. */
struct elasticsearch_action_name {
    const char *kind; /* of document; each kind counts its places separately */
    size_t place;
    const char *job, *instance;
    uint64_t time_ns;
};

/* A document id that is the same each time the batch is delivered: from the ids of the batch and the place of the
 * sample; for a batch straight from the samplers, which has no ids, from kind, job, instance and time. */
void elasticsearch_action_id(struct buf *id, const struct batch *batch, const struct elasticsearch_action_name *name);

void elasticsearch_action_add(struct buf *out, const char *index, const char *id);

#endif
