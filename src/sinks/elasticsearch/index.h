/* The indexes of the sink `elasticsearch`: their names, and their mappings (field types), sent when an index is
 * created. */
#ifndef SONDE_SINKS_ELASTICSEARCH_INDEX_H
#define SONDE_SINKS_ELASTICSEARCH_INDEX_H

#include "model/batch.h"
#include "base/buf.h"

#define ELASTICSEARCH_NAME_MAX 256

struct elasticsearch_index {
    char name[ELASTICSEARCH_NAME_MAX];
    bool is_colmet;  /* times in seconds, and no other field is declared */
    bool is_ready;   /* it exists */
    size_t fields;   /* number of fields of the set */
    char *properties; /* mapping of the set: "\"meminfo\": {…}"; NULL: none */
};

struct elasticsearch_indexes {
    const char *prefix; /* borrowed */
    struct elasticsearch_index *list;
    size_t count, capacity;
};

void elasticsearch_indexes_clear(struct elasticsearch_indexes *indexes);

/* The index for a kind ("meminfo", "taskstats_default"), added if it is new, with the fields of set (may be NULL). */
enum err elasticsearch_index_of(struct elasticsearch_indexes *indexes, const char *kind, const struct set *set,
                                bool is_colmet, uint32_t *number);

/* The body of the request that creates it. type NULL: none; is_old: before version 5. */
void elasticsearch_index_mapping(struct buf *out, const struct elasticsearch_index *index, const char *type, bool is_old);

/* A valid field name: dots would make an object, and old versions reject them. */
void elasticsearch_field(char *text, size_t size, const char *name);

#endif
