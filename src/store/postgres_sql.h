/* Translates the SQL written for SQLite to PostgreSQL. */
#ifndef SONDE_STORE_POSTGRES_SQL_H
#define SONDE_STORE_POSTGRES_SQL_H

#include "base/buf.h"

/* Appends sql with $1 for ?1 (and for a plain ?, numbered), type names, IS NOT DISTINCT FROM for IS before a parameter,
 * and DEFAULT for the NULL that SQLite replaces by a new id. Quoted strings, quoted names and function bodies are
 * copied. Returns the number of parameters. */
int postgres_sql_add(struct buf *out, const char *sql);

/* Turns an INSERT with all its parameters in order into "COPY table (columns) FROM STDIN BINARY"; false: it is not one. */
bool postgres_sql_copy(struct buf *out, const char *insert);

#endif
