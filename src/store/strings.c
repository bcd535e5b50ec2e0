/* A direct-mapped cache of texts by row. */
#include "store/strings.h"

#include "store/columns.h"

#include <stdlib.h>
#include <string.h>

enum err texts_open(struct texts *texts, struct store *store, const char *select)
{
    memset(texts, 0, sizeof *texts);
    texts->store = store;
    return db_prepare(store, &texts->select, "read texts", select);
}

void texts_close(struct texts *texts)
{
    statement_free(texts->select);
    for (size_t i = 0; i < sizeof texts->entries / sizeof texts->entries[0]; i++)
        free(texts->entries[i].memory);
}

static enum err keep(struct texts *texts, struct texts_entry *entry)
{
    int columns = statement_columns(texts->select);
    size_t size = 0;
    for (int i = 0; i < columns && i < TEXTS_COLUMNS; i++) {
        entry->columns[i] = statement_bytes(texts->select, i);
        size += entry->columns[i].size;
    }
    char *to = entry->memory = malloc(size + 1);
    if (!to)
        return NOMEM;
    for (int i = 0; i < columns && i < TEXTS_COLUMNS; i++) {
        if (entry->columns[i].size)
            memcpy(to, entry->columns[i].data, entry->columns[i].size);
        entry->columns[i].data = to;
        to += entry->columns[i].size;
    }
    return OK;
}

static enum err ask(struct texts *texts, int64_t row, struct texts_entry *entry)
{
    bool found;
    free(entry->memory);
    *entry = (struct texts_entry){ 0 };
    statement_bind_i64(texts->select, 1, row);
    enum err err = db_step(texts->store, texts->select, "read texts", &found);
    if (err == OK && found)
        err = keep(texts, entry);
    statement_reset(texts->select);
    if (err == OK)
        entry->row = row;
    return err;
}

enum err texts_get(struct texts *texts, int64_t row, const struct texts_entry **entry)
{
    static const struct texts_entry none;
    struct texts_entry *at = &texts->entries[(size_t)row % (sizeof texts->entries / sizeof texts->entries[0])];
    *entry = row ? at : &none;
    return !row || at->row == row ? OK : ask(texts, row, at);
}
