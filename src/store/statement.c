/* The parts of a statement that are not called for every value. */
#include "store/statement.h"

#include <stdlib.h>

struct bytes statement_bytes(const struct statement *s, int at)
{
    if (!s->sqlite)
        return s->driver->bytes(s->other, at);
    const char *data = sqlite3_column_blob(s->sqlite, at);
    return (struct bytes){ data, data ? (size_t)sqlite3_column_bytes(s->sqlite, at) : 0 };
}

const char *statement_text(const struct statement *s, int at)
{
    const char *text = s->sqlite ? (const char *)sqlite3_column_text(s->sqlite, at) : s->driver->bytes(s->other, at).data;
    return text ? text : "";
}

int statement_columns(const struct statement *s)
{
    return s->sqlite ? sqlite3_column_count(s->sqlite) : s->driver->columns(s->other);
}

void statement_reset(struct statement *s)
{
    if (s->sqlite)
        sqlite3_reset(s->sqlite);
    else
        s->driver->reset(s->other);
}

void statement_free(struct statement *s)
{
    if (!s)
        return;
    if (s->sqlite)
        sqlite3_finalize(s->sqlite);
    else
        s->driver->free(s->other);
    free(s);
}
