/* What a person asked for as SQL. */
#ifndef SONDE_STORE_FILTER_H
#define SONDE_STORE_FILTER_H

#include "store/db.h"

/* Adds "SELECT id AS found FROM jobs WHERE … ORDER BY … LIMIT …". */
void filter_add_sql(struct buf *sql, const struct store_filter *filter);

/* Adds the " ORDER BY …" alone. */
void filter_add_order(struct buf *sql, const struct store_filter *filter);

/* Binds its parameters, from the first. Texts are borrowed. */
void filter_bind(struct statement *statement, const struct store_filter *filter);

#endif
