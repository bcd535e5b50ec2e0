/* Encodes a batch as documents for _bulk: an action line and a document each. The id identifies the sample and its
 * batch, so that sending it again creates no duplicate. */
#ifndef SONDE_SINKS_ELASTICSEARCH_DOCUMENTS_H
#define SONDE_SINKS_ELASTICSEARCH_DOCUMENTS_H

#include "model/batch.h"
#include "sinks/elasticsearch/index.h"
#include "sinks/outbox.h"

/* A document per sample, in an index per metric set; job events go to the index job_events, gaps to gaps. The tag of
 * an item is the number of its index. On an error part of the batch is in the outbox. */
enum err elasticsearch_documents_add(struct outbox *outbox, struct elasticsearch_indexes *indexes, const struct batch *batch);

#endif
