/* Parses responses of Elasticsearch, which are untrusted: the result of each document of _bulk, and the server's
 * version. */
#ifndef SONDE_SINKS_ELASTICSEARCH_RESPONSE_H
#define SONDE_SINKS_ELASTICSEARCH_RESPONSE_H

#include "base/buf.h"

/* The result for document number place (from 0): its HTTP status, and type and reason of an error ("": none). */
typedef void elasticsearch_verdict(void *user, size_t place, unsigned status, const char *type, const char *reason);

/* Calls verdict for each document if any failed; *items: number of documents; *failed: some failed. CORRUPT: not a
 * _bulk response. */
enum err elasticsearch_response_bulk(struct bytes answer, elasticsearch_verdict *verdict, void *user, size_t *items,
                                   bool *failed);

/* The major version. OpenSearch counts as 8. CORRUPT: not Elasticsearch. */
enum err elasticsearch_response_version(struct bytes answer, unsigned *major);

#endif
