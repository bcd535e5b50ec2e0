/* Reads interned strings by row: each is fetched at its first use and cached. */
#ifndef SONDE_STORE_STRINGS_H
#define SONDE_STORE_STRINGS_H

#include "store/db.h"

#define STRINGS_COLUMNS 2

struct strings_entry {
    int64_t row;
    struct bytes columns[STRINGS_COLUMNS];
    char *memory;
};

/* The cache; a job with more strings than entries fetches some repeatedly. */
struct strings {
    struct store *store;
    struct statement *select;
    struct strings_entry entries[1024];
};

/* select: one or two string columns by row ?1. struct strings is too big for the stack. */
enum err strings_open(struct strings *strings, struct store *store, const char *select);
void strings_close(struct strings *strings);

/* Borrowed until another row is requested. Row 0 and missing rows have empty strings. */
enum err strings_get(struct strings *strings, int64_t row, const struct strings_entry **entry);

#endif
