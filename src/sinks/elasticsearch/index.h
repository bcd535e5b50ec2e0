/* The indexes of the sink elasticsearch: their names, and what each field of theirs is, said when they are made. */
#ifndef SONDE_SINKS_ELASTICSEARCH_INDEX_H
#define SONDE_SINKS_ELASTICSEARCH_INDEX_H

#include "model/batch.h"
#include "base/buf.h"

#define ELASTICSEARCH_NAME_MAX 256

struct elasticsearch_index {
    char name[ELASTICSEARCH_NAME_MAX];
    bool is_colmet;  /* its times are whole seconds, and nothing else is said of its fields */
    bool is_ready;   /* it is known to be there */
    size_t fields;   /* of the set */
    char *properties; /* of the set: "\"meminfo\": {…}"; NULL: none */
};

struct elasticsearch_indexes {
    const char *prefix; /* borrowed */
    struct elasticsearch_index *list;
    size_t count, capacity;
};

void elasticsearch_indexes_clear(struct elasticsearch_indexes *indexes);

/* The index of a kind ("meminfo", "taskstats_default"), made when it is new, with the fields of set (may be NULL). */
enum err elasticsearch_index_of(struct elasticsearch_indexes *indexes, const char *kind, const struct set *set,
                                bool is_colmet, uint32_t *number);

/* The body of the request that makes it. type NULL: without; is_old: before version 5. */
void elasticsearch_index_mapping(struct buf *out, const struct elasticsearch_index *index, const char *type, bool is_old);

/* A field's name: a dot would make an object of it, and versions of old refuse it. */
void elasticsearch_field(char *text, size_t size, const char *name);

#endif
