/* Documents with Colmet's indexes, field names and times in seconds, so that its dashboards work unchanged. */
#ifndef SONDE_SINKS_ELASTICSEARCH_COLMET_DOCUMENTS_H
#define SONDE_SINKS_ELASTICSEARCH_COLMET_DOCUMENTS_H

#include "compat/colmet/rows.h"
#include "sinks/elasticsearch/index.h"
#include "sinks/outbox.h"

#define ELASTICSEARCH_COLMET_LABELS 4096

struct elasticsearch_colmet {
    struct colmet_rows *rows;
    uint64_t written[ELASTICSEARCH_COLMET_LABELS]; /* hashes of counter labels that were written */
};

enum err elasticsearch_colmet_open(struct elasticsearch_colmet *colmet);
void elasticsearch_colmet_close(struct elasticsearch_colmet *colmet);

/* A document per row, in an index per Colmet backend; the labels of counter_1 and so on go to the index "mapping"
 * when they change. The tag of an item is the number of its index. On an error part of the batch is in the outbox. */
enum err elasticsearch_colmet_add(struct elasticsearch_colmet *colmet, struct outbox *outbox,
                                  struct elasticsearch_indexes *indexes,
                                  const struct batch *batch);

#endif
