/* Texts of the tables that hold each once, by row: asked of the database at the first use and kept. */
#ifndef SONDE_STORE_STRINGS_H
#define SONDE_STORE_STRINGS_H

#include "store/db.h"

#define TEXTS_COLUMNS 2

struct texts_entry {
    int64_t row;
    struct bytes columns[TEXTS_COLUMNS];
    char *memory;
};

/* Remembers the texts of so many rows; a job with more pays for asking again. */
struct texts {
    struct store *store;
    struct statement *select;
    struct texts_entry entries[1024];
};

/* select: one or two text columns by row ?1. texts is big: not for the stack. */
enum err texts_open(struct texts *texts, struct store *store, const char *select);
void texts_close(struct texts *texts);

/* Borrowed until another row is asked for. Row 0, or one that is not there, has empty texts. */
enum err texts_get(struct texts *texts, int64_t row, const struct texts_entry **entry);

#endif
