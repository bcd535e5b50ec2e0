/* The store's handle and the few ways in which its files talk to SQLite. */
#ifndef SONDE_STORE_DB_H
#define SONDE_STORE_DB_H

#include "store/statement.h"
#include "store/store.h"

#define DB_LOG_FRAMES_MAX 8192 /* 32 MB: who files job after job does not wait for store_close to empty the log */

struct store {
    sqlite3 *db;                 /* NULL: another database, in which there is … */
    const struct driver *driver; /* … */
    struct driver_link *link;
    char *url;                   /* of it */
    char *path;                  /* or the URL without its password, for people */
    enum store_mode mode;
    int wal_frames;           /* in the write-ahead log after our last commit */
    uint64_t busy_since_ns, wait_max_ns; /* for the lock of another writer */
    char message[1024];
};

/* Keeps what went wrong, for store_message, and returns the kind. what: "read jobs"; the rest is the database's last error. */
enum err db_fail(struct store *store, const char *what);

/* The same for an error of our own. */
enum err db_say(struct store *store, enum err err, const char *format, ...) __attribute__((format(printf, 3, 4)));

enum err db_exec(struct store *store, const char *what, const char *sql);
enum err db_prepare(struct store *store, struct statement **statement, const char *what, const char *sql);

/* A SELECT of many rows; all its parameters are numbers. */
enum err db_prepare_many(struct store *store, struct statement **statement, const char *what, const char *sql);

/* An INSERT that is run for many rows: quicker where there is a way for that. db_finish must return OK for them to be
 * there, and frees the statement. */
enum err db_prepare_bulk(struct store *store, struct statement **statement, const char *what, const char *sql);
enum err db_finish(struct store *store, struct statement **statement, const char *what);

/* The id that the last INSERT was given. */
int64_t db_last_id(struct store *store);

/* *row: there is one. */
enum err db_step(struct store *store, struct statement *statement, const char *what, bool *row);

/* Steps a statement that returns nothing and resets it. */
enum err db_run(struct store *store, struct statement *statement, const char *what);

/* One number, *value stays as it is when there is no row or it is NULL. parameter: bound to ?1. */
enum err db_number(struct store *store, const char *what, const char *sql, int64_t parameter, int64_t *value);

/* As store_series, of the sampled sums of what sonde run watched alone (store/series.c). */
enum err db_tree_series(struct store *store, int64_t job_row,
                        enum err (*each)(void *context, const char *host, const struct run_series *series), void *context);

/* Between the two, reads see the store as it was at the first, and do not take and give back a lock each. Within one
 * another they do nothing. Returns whether db_read_end has to end it. */
bool db_read_begin(struct store *store);
void db_read_end(struct store *store, bool begun);

/* Begins to write; waits for others. */
enum err db_write_begin(struct store *store);
void db_roll_back(struct store *store);

/* Sleeps a while, longer with each count; false when wait_max_ns have passed since since_ns. */
bool db_wait(const struct store *store, uint64_t since_ns, int count);

/* Moves the log into the file and empties it, unless somebody else is reading: then a later one will. SQLite's own way,
 * at every last close, costs three syncs and makes every command pay that was the last to look. */
void db_checkpoint(struct store *store);

#endif
