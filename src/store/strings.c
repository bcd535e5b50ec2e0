/* A direct-mapped cache of strings by row. */
#include "store/strings.h"

#include "store/columns.h"

#include <stdlib.h>
#include <string.h>

enum err strings_open(struct strings *strings, struct store *store, const char *select)
{
    memset(strings, 0, sizeof *strings);
    strings->store = store;
    return db_prepare(store, &strings->select, "read strings", select);
}

void strings_close(struct strings *strings)
{
    statement_free(strings->select);
    for (size_t i = 0; i < sizeof strings->entries / sizeof strings->entries[0]; i++)
        free(strings->entries[i].memory);
}

static enum err copy_columns(struct strings *strings, struct strings_entry *entry)
{
    int columns = statement_columns(strings->select);
    size_t size = 0;
    for (int i = 0; i < columns && i < STRINGS_COLUMNS; i++) {
        entry->columns[i] = statement_bytes(strings->select, i);
        size += entry->columns[i].size;
    }
    char *to = entry->memory = malloc(size + 1);
    if (!to)
        return NOMEM;
    for (int i = 0; i < columns && i < STRINGS_COLUMNS; i++) {
        if (entry->columns[i].size)
            memcpy(to, entry->columns[i].data, entry->columns[i].size);
        entry->columns[i].data = to;
        to += entry->columns[i].size;
    }
    return OK;
}

static enum err load(struct strings *strings, int64_t row, struct strings_entry *entry)
{
    bool found;
    free(entry->memory);
    *entry = (struct strings_entry){ 0 };
    statement_bind_i64(strings->select, 1, row);
    enum err err = db_step(strings->store, strings->select, "read strings", &found);
    if (err == OK && found)
        err = copy_columns(strings, entry);
    statement_reset(strings->select);
    if (err == OK)
        entry->row = row;
    return err;
}

enum err strings_get(struct strings *strings, int64_t row, const struct strings_entry **entry)
{
    static const struct strings_entry none;
    struct strings_entry *at = &strings->entries[(size_t)row % (sizeof strings->entries / sizeof strings->entries[0])];
    *entry = row ? at : &none;
    return !row || at->row == row ? OK : load(strings, row, at);
}
