/* A batch becomes documents for _bulk: two lines each, what to do and the document itself. The id says which sample of which
 * batch it is: a document that is sent again is the same one. */
#ifndef SONDE_SINKS_ELASTICSEARCH_DOCUMENTS_H
#define SONDE_SINKS_ELASTICSEARCH_DOCUMENTS_H

#include "model/batch.h"
#include "sinks/elasticsearch/index.h"
#include "sinks/outbox.h"

/* One document per sample in an index per set, what happened to jobs in job_events, what is missing for good in gaps. The
 * tags of the items are the numbers of the indexes. On an error some of it is in the outbox. */
enum err elasticsearch_documents_add(struct outbox *outbox, struct elasticsearch_indexes *indexes, const struct batch *batch);

#endif
