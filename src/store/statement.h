/* A prepared statement of either database. SQLite is called directly and inline, because a big job binds fifty values
 * for each of a million rows. */
#ifndef SONDE_STORE_STATEMENT_H
#define SONDE_STORE_STATEMENT_H

#include "store/driver.h"

#include <sqlite3.h>

struct statement {
    sqlite3_stmt *sqlite; /* NULL: the driver's */
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

/* Unsigned 64-bit numbers are stored as signed ones: values of 2^63 and more look negative. */
static inline void statement_bind_u64(struct statement *s, int at, uint64_t value)
{
    statement_bind_i64(s, at, (int64_t)value);
}

/* Strings and blobs are not copied: they must stay valid until the statement has been stepped. For SQLite text must be
 * UTF-8 without NUL; columns_bind_bytes accepts any bytes. */
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

/* 0 if NULL. */
static inline int64_t statement_i64(const struct statement *s, int at)
{
    return s->sqlite ? sqlite3_column_int64(s->sqlite, at) : s->driver->i64(s->other, at);
}

static inline uint64_t statement_u64(const struct statement *s, int at)
{
    return (uint64_t)statement_i64(s, at);
}

/* false: NULL. */
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

/* Borrowed until the next step; empty if NULL. Followed by a NUL. */
struct bytes statement_bytes(const struct statement *s, int at);
const char *statement_text(const struct statement *s, int at);
int statement_columns(const struct statement *s);

void statement_reset(struct statement *s); /* can be stepped again; keeps the bound values */
void statement_free(struct statement *s);  /* accepts NULL */

#endif
