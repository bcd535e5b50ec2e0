/* A prepared statement of the store, whichever database it is. SQLite is called straight from here: a big job binds fifty
 * values for each of a million rows. */
#ifndef SONDE_STORE_STATEMENT_H
#define SONDE_STORE_STATEMENT_H

#include "store/driver.h"

#include <sqlite3.h>

struct statement {
    sqlite3_stmt *sqlite; /* NULL: the other one */
    const struct driver *driver;
    struct driver_statement *other;
};

static inline void statement_bind_null(struct statement *s, int at)
{
    if (s->sqlite)
        sqlite3_bind_null(s->sqlite, at);
    else
        s->driver->bind_null(s->other, at);
}

static inline void statement_bind_i64(struct statement *s, int at, int64_t value)
{
    if (s->sqlite)
        sqlite3_bind_int64(s->sqlite, at, value);
    else
        s->driver->bind_i64(s->other, at, value);
}

/* Numbers of 64 bits without sign are kept as ones with sign: only those over 2^63 look negative. */
static inline void statement_bind_u64(struct statement *s, int at, uint64_t value)
{
    statement_bind_i64(s, at, (int64_t)value);
}

/* Neither text nor blob is copied: they must stay until the statement has been stepped. text is UTF-8 without NUL for
 * SQLite; columns_bind_bytes takes any. */
static inline void statement_bind_text(struct statement *s, int at, struct bytes text)
{
    if (s->sqlite)
        sqlite3_bind_text64(s->sqlite, at, text.data ? text.data : "", text.size, SQLITE_STATIC, SQLITE_UTF8);
    else
        s->driver->bind_text(s->other, at, text);
}

static inline void statement_bind_blob(struct statement *s, int at, struct bytes blob)
{
    if (s->sqlite)
        sqlite3_bind_blob64(s->sqlite, at, blob.data, blob.size, SQLITE_STATIC);
    else
        s->driver->bind_blob(s->other, at, blob);
}

static inline bool statement_is_known(const struct statement *s, int at)
{
    return s->sqlite ? sqlite3_column_type(s->sqlite, at) != SQLITE_NULL : s->driver->is_known(s->other, at);
}

/* 0 where it is not known. */
static inline int64_t statement_i64(const struct statement *s, int at)
{
    return s->sqlite ? sqlite3_column_int64(s->sqlite, at) : s->driver->i64(s->other, at);
}

static inline uint64_t statement_u64(const struct statement *s, int at)
{
    return (uint64_t)statement_i64(s, at);
}

/* False: it is not known. */
static inline bool statement_get_u64(const struct statement *s, int at, uint64_t *value)
{
    if (!s->sqlite) {
        *value = (uint64_t)s->driver->i64(s->other, at);
        return s->driver->is_known(s->other, at);
    }
    sqlite3_value *column = sqlite3_column_value(s->sqlite, at);
    *value = (uint64_t)sqlite3_value_int64(column);
    return sqlite3_value_type(column) != SQLITE_NULL;
}

/* Borrowed until the next step; what is not known is empty. The text ends with a NUL. */
struct bytes statement_bytes(const struct statement *s, int at);
const char *statement_text(const struct statement *s, int at);
int statement_columns(const struct statement *s);

void statement_reset(struct statement *s); /* may be stepped again; what is bound stays */
void statement_free(struct statement *s);  /* NULL is taken */

#endif
