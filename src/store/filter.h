/* A struct store_filter as SQL. */
#ifndef SONDE_STORE_FILTER_H
#define SONDE_STORE_FILTER_H

#include "store/db.h"

/* Appends "SELECT id AS found FROM jobs WHERE … ORDER BY … LIMIT …". */
void filter_add_sql(struct buf *sql, const struct store_filter *filter);

/* Appends only " ORDER BY …". */
void filter_add_order(struct buf *sql, const struct store_filter *filter);

/* Binds the parameters, from the first. Strings are borrowed. */
void filter_bind(struct statement *statement, const struct store_filter *filter);

#endif
