/* The SQL that the store speaks, as PostgreSQL takes it. */
#ifndef SONDE_STORE_POSTGRES_SQL_H
#define SONDE_STORE_POSTGRES_SQL_H

#include "base/buf.h"

/* Adds sql with $1 for ?1 (and for a bare ?, counted), the names of types, IS NOT DISTINCT FROM for an IS before a
 * parameter, DEFAULT for the NULL that SQLite turns into a new id. Texts in quotes, names in quotes and bodies of functions
 * stay as they are. Returns how many parameters there are. */
int postgres_sql_add(struct buf *out, const char *sql);

/* "COPY table (columns) FROM STDIN BINARY" out of an INSERT with all its parameters in order; false: it is none. */
bool postgres_sql_copy(struct buf *out, const char *insert);

#endif
