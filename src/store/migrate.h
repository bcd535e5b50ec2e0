/* Upgrades any older schema to the newest, step by step. */
#ifndef SONDE_STORE_MIGRATE_H
#define SONDE_STORE_MIGRATE_H

#include "store/db.h"

/* Step i (from 0) upgrades version i to i + 1: sql, which both databases understand; before and after it what only one
 * of them understands; then step. Any of them may be NULL. */
struct migration {
    const char *about; /* for the error message */
    const char *sql;
    const char *sqlite_after;
    const char *postgres_before, *postgres_after;
    enum err (*step)(struct store *store);
};

extern const struct migration migrations[];
extern const int migration_count; /* the newest version */

/* The schema version of the open database: 0 for an empty one. CORRUPT: a database of another program. */
enum err migrate_version(struct store *store, int *version);

/* Sets the message for a database that is newer than this program. Returns USAGE. */
enum err migrate_newer_error(struct store *store, int version, int supported);

/* Applies the missing steps in one transaction, while other writers wait. Does nothing if another process has done so
 * meanwhile. USAGE: it is newer than the last step. */
enum err migrate_up(struct store *store, const struct migration *steps, int count);

#endif
