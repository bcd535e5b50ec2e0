/* A batch as documents in Colmet's words: its indexes, its names of fields, its whole seconds. Its dashboards work unchanged. */
#ifndef SONDE_SINKS_ELASTICSEARCH_COLMET_DOCUMENTS_H
#define SONDE_SINKS_ELASTICSEARCH_COLMET_DOCUMENTS_H

#include "compat/colmet/rows.h"
#include "sinks/elasticsearch/index.h"
#include "sinks/outbox.h"

#define ELASTICSEARCH_COLMET_TOLD 4096

struct elasticsearch_colmet {
    struct colmet_rows *rows;
    uint64_t told[ELASTICSEARCH_COLMET_TOLD]; /* hashes of the meanings of counters that were written */
};

enum err elasticsearch_colmet_open(struct elasticsearch_colmet *colmet);
void elasticsearch_colmet_close(struct elasticsearch_colmet *colmet);

/* A document per row, in an index per backend of Colmet; what counter_1 and so on are on a host goes to the index "mapping", once
 * and when it changes. The tags of the items are the numbers of the indexes. On an error some of it is in the outbox. */
enum err elasticsearch_colmet_add(struct elasticsearch_colmet *colmet, struct outbox *outbox, struct elasticsearch_indexes *indexes,
                                  const struct batch *batch);

#endif
