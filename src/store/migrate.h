/* From any older schema to the newest, step by step. */
#ifndef SONDE_STORE_MIGRATE_H
#define SONDE_STORE_MIGRATE_H

#include "store/db.h"

/* Step i (from 0) makes version i + 1 out of version i: sql, which both databases take; around it what only one of them
 * takes; then step. Any of them may be NULL. */
struct migration {
    const char *about; /* for the message when it fails */
    const char *sql;
    const char *sqlite_after;
    const char *postgres_before, *postgres_after;
    enum err (*step)(struct store *store);
};

extern const struct migration migrations[];
extern const int migration_count; /* the newest version */

/* The version of the open database: 0 for an empty one. CORRUPT when it is another program's. */
enum err migrate_version(struct store *store, int *version);

/* USAGE, with the sentence for people. */
enum err migrate_say_newer(struct store *store, int version, int known);

/* Applies what is missing, all of it or nothing, while others wait. A database that somebody else has brought up in the
 * meantime is left alone. USAGE when it is newer than the last step. */
enum err migrate_up(struct store *store, const struct migration *steps, int count);

#endif
