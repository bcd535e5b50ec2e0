/* What Elasticsearch answers, from bytes that somebody else wrote: to _bulk a verdict on each document, to / which version it
 * is. */
#ifndef SONDE_SINKS_ELASTICSEARCH_RESPONSE_H
#define SONDE_SINKS_ELASTICSEARCH_RESPONSE_H

#include "base/buf.h"

/* The verdict on document place (from 0): the status of its own, and for those that failed the kind of the error and the
 * reason ("" where there is none). */
typedef void elasticsearch_verdict(void *user, size_t place, unsigned status, const char *type, const char *reason);

/* Calls verdict for each document, when any failed; *items: how many there were; *failed: the answer says that some did.
 * CORRUPT: it is no such answer. */
enum err elasticsearch_response_bulk(struct bytes answer, elasticsearch_verdict *verdict, void *user, size_t *items,
                                   bool *failed);

/* The major version: 2, 8. CORRUPT: it is no Elasticsearch. What speaks as a new Elasticsearch speaks (OpenSearch) is 8. */
enum err elasticsearch_response_version(struct bytes answer, unsigned *major);

#endif
