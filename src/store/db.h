/* The handle of the job database, and helpers to prepare and run SQL. */
#ifndef SONDE_STORE_DB_H
#define SONDE_STORE_DB_H

#include "store/statement.h"
#include "store/store.h"

#define DB_LOG_FRAMES_MAX 8192 /* 32 MB: when many jobs are saved in a row, the log is emptied before store_close */

struct store {
    sqlite3 *db;                 /* NULL: another database, accessed through ... */
    const struct driver *driver; /* ... this */
    struct driver_connection *connection;
    char *url;                   /* of the other database */
    char *path;                  /* or the URL without its password; for messages */
    enum store_mode mode;
    int wal_frames;                      /* in the write-ahead log after our last commit */
    uint64_t busy_since_ns, wait_max_ns; /* waiting for the lock of another writer */
    char message[1024];
};

/* Stores a message from the database's last error for store_message and returns its code. what: "read jobs". */
enum err db_fail(struct store *store, const char *what);

/* The same for an error of our own. */
enum err db_error(struct store *store, enum err err, const char *format, ...) __attribute__((format(printf, 3, 4)));

enum err db_exec(struct store *store, const char *what, const char *sql);
enum err db_prepare(struct store *store, struct statement **statement, const char *what, const char *sql);

/* A SELECT of many rows; all its parameters are numbers. */
enum err db_prepare_many(struct store *store, struct statement **statement, const char *what, const char *sql);

/* An INSERT that is executed for many rows: faster where the database has a way for that. The rows are saved only when
 * db_finish returns OK; it frees the statement. */
enum err db_prepare_bulk(struct store *store, struct statement **statement, const char *what, const char *sql);
enum err db_finish(struct store *store, struct statement **statement, const char *what);

/* The id of the last inserted row. */
int64_t db_last_id(struct store *store);

/* row: there is one. */
enum err db_step(struct store *store, struct statement *statement, const char *what, bool *row);

/* Executes a statement that returns no rows, and resets it. */
enum err db_run(struct store *store, struct statement *statement, const char *what);

/* Reads one number; *value is unchanged if there is no row or it is NULL. parameter is bound to ?1. */
enum err db_number(struct store *store, const char *what, const char *sql, int64_t parameter, int64_t *value);

/* Like store_series, but only the sampled totals of what sonde run monitored (store/series.c). */
enum err db_tree_series(struct store *store, int64_t job_row,
                        enum err (*each)(void *context, const char *host, const struct run_series *series), void *context);

/* Reads between the two see a consistent snapshot and take only one lock. May be nested: then the inner ones do
 * nothing. Returns whether db_read_end must end the transaction. */
bool db_read_begin(struct store *store);
void db_read_end(struct store *store, bool begun);

/* Starts a transaction that writes; waits for other writers. */
enum err db_write_begin(struct store *store);
void db_roll_back(struct store *store);

/* Sleeps, longer with each count; false if wait_max_ns have passed since since_ns. */
bool db_wait(const struct store *store, uint64_t since_ns, int count);

/* Moves the write-ahead log into the database file and empties it, unless another process is reading: then a later call
 * will. SQLite's default, at every last close, costs three syncs for whichever command was the last to read. */
void db_checkpoint(struct store *store);

#endif
