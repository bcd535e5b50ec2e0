/* Converts results of SQLite and of drivers to our error codes and messages. */
#include "store/db.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Our error code for an SQLite result code; system_errno is that of sqlite3_system_errno. */
static enum err err_of(int code, int system_errno)
{
    if ((code & 0xff) == SQLITE_IOERR && (system_errno == ENOSPC || system_errno == EDQUOT))
        return FULL;
    switch (code & 0xff) {
    case SQLITE_OK: case SQLITE_ROW: case SQLITE_DONE: return OK;
    case SQLITE_BUSY: case SQLITE_LOCKED: case SQLITE_PROTOCOL: return AGAIN;
    case SQLITE_CANTOPEN: return system_errno == ENOENT ? ABSENT : DENIED;
    case SQLITE_READONLY: case SQLITE_PERM: case SQLITE_AUTH: return DENIED;
    case SQLITE_CORRUPT: case SQLITE_NOTADB: case SQLITE_FORMAT: return CORRUPT;
    case SQLITE_FULL: return FULL;
    case SQLITE_NOMEM: return NOMEM;
    default: return IO;
    }
}

/* Checked because SQLite does not keep the errno of a failed write (EFBIG). */
static bool is_file_size_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static const char *fix_for(enum err err)
{
    if (err == IO && is_file_size_limited())
        return "File sizes are limited here ('ulimit -f'); if that is the cause, raise the limit";
    switch (err) {
    case FULL: return "Free space on that disk, or choose another job database with SONDE_DB";
    case DENIED: return "Make the file and its directory writable, or choose another job database with SONDE_DB";
    case CORRUPT: return "If it is not a job database, choose another with SONDE_DB. Otherwise move it away, and a new one is "
                         "created; recover its data with: sqlite3 FILE .recover";
    case AGAIN: return "Another process has kept it locked for a minute; try again later";
    default: return "";
    }
}

/* For a driver, err is its error code. */
static enum err fail_as(struct store *store, const char *what, enum err err)
{
    const char *hint = store->driver ? "" : fix_for(err);
    const char *reason = store->driver ? store->driver->message(store->connection) : sqlite3_errmsg(store->db);
    snprintf(store->message, sizeof store->message, "job database %s: cannot %s: %s (%s)%s%s", store->path, what,
             err_text(err), reason, hint[0] ? ". " : "", hint);
    return err;
}

enum err db_fail(struct store *store, const char *what)
{
    enum err err = err_of(sqlite3_extended_errcode(store->db), sqlite3_system_errno(store->db));
    return fail_as(store, what, err == OK ? IO : err);
}

enum err db_error(struct store *store, enum err err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(store->message, sizeof store->message, format, args);
    va_end(args);
    return err;
}

enum err db_exec(struct store *store, const char *what, const char *sql)
{
    if (!store->driver)
        return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? OK : db_fail(store, what);
    enum err err = store->driver->exec(store->connection, sql);
    return err == OK ? OK : fail_as(store, what, err);
}

static enum err prepare_other(struct store *store, struct statement *statement, const char *what, const char *sql,
                              enum driver_use use)
{
    statement->driver = store->driver;
    enum err err = store->driver->prepare(store->connection, &statement->other, sql, use);
    return err == OK ? OK : fail_as(store, what, err);
}

static enum err prepare(struct store *store, struct statement **statement, const char *what, const char *sql,
                        enum driver_use use)
{
    enum err err = OK;
    struct statement *created = *statement = calloc(1, sizeof *created);
    if (!created)
        return db_error(store, NOMEM, "job database %s: cannot %s: %s", store->path, what, err_text(NOMEM));
    if (store->driver)
        err = prepare_other(store, created, what, sql, use);
    else if (sqlite3_prepare_v2(store->db, sql, -1, &created->sqlite, NULL) != SQLITE_OK)
        err = db_fail(store, what);
    if (err != OK) {
        free(created);
        *statement = NULL;
    }
    return err;
}

enum err db_prepare(struct store *store, struct statement **statement, const char *what, const char *sql)
{
    return prepare(store, statement, what, sql, DRIVER_FEW);
}

enum err db_prepare_bulk(struct store *store, struct statement **statement, const char *what, const char *sql)
{
    return prepare(store, statement, what, sql, DRIVER_BULK);
}

enum err db_prepare_many(struct store *store, struct statement **statement, const char *what, const char *sql)
{
    return prepare(store, statement, what, sql, DRIVER_MANY);
}

enum err db_finish(struct store *store, struct statement **statement, const char *what)
{
    enum err err = store->driver && *statement ? store->driver->finish((*statement)->other) : OK;
    if (err != OK)
        fail_as(store, what, err);
    statement_free(*statement);
    *statement = NULL;
    return err;
}

enum err db_step(struct store *store, struct statement *statement, const char *what, bool *row)
{
    if (!statement->sqlite) {
        enum err err = statement->driver->step(statement->other, row);
        return err == OK ? OK : fail_as(store, what, err);
    }
    int code = sqlite3_step(statement->sqlite);
    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? OK : db_fail(store, what);
}

int64_t db_last_id(struct store *store)
{
    int64_t id = 0;
    if (!store->driver)
        return sqlite3_last_insert_rowid(store->db);
    db_number(store, "write", "SELECT lastval()", 0, &id);
    return id;
}

enum err db_run(struct store *store, struct statement *statement, const char *what)
{
    bool row;
    enum err err = db_step(store, statement, what, &row);
    statement_reset(statement);
    return err;
}

enum err db_number(struct store *store, const char *what, const char *sql, int64_t parameter, int64_t *value)
{
    struct statement *statement;
    bool row = false;
    enum err err = db_prepare(store, &statement, what, sql);
    if (err != OK)
        return err;
    statement_bind_i64(statement, 1, parameter); /* harmless if there is no parameter */
    err = db_step(store, statement, what, &row);
    if (row && statement_is_known(statement, 0))
        *value = statement_i64(statement, 0);
    statement_free(statement);
    return err;
}

bool db_read_begin(struct store *store)
{
    if (store->driver)
        return !store->driver->in_transaction(store->connection) && store->driver->begin(store->connection, false) == OK;
    return sqlite3_get_autocommit(store->db) && sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;
}

void db_read_end(struct store *store, bool begun)
{
    if (begun)
        db_exec(store, "read", "COMMIT");
}

/* The random part keeps many waiting processes from retrying at the same time. */
bool db_wait(const struct store *store, uint64_t since_ns, int count)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns - since_ns >= store->wait_max_ns)
        return false;
    unsigned max_us = count < 6 ? 1000u << count : 50000u;
    usleep(max_us / 2 + (unsigned)(now_ns >> 4) % (max_us / 2));
    return true;
}

enum err db_write_begin(struct store *store)
{
    uint64_t since_ns = clock_monotonic_ns();
    if (store->driver) {
        enum err begun = store->driver->begin(store->connection, true);
        return begun == OK ? OK : fail_as(store, "start writing", begun);
    }
    enum err err = db_exec(store, "start writing", "BEGIN IMMEDIATE");
    for (int count = 0; err == AGAIN && db_wait(store, since_ns, count); count++)
        err = db_exec(store, "start writing", "BEGIN IMMEDIATE");
    return err;
}

/* Keeps the message of the error that caused it. */
void db_roll_back(struct store *store)
{
    if (store->driver)
        store->driver->exec(store->connection, "ROLLBACK");
    else
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

void db_checkpoint(struct store *store)
{
    if (!store->db)
        return;
    uint64_t wait_max_ns = store->wait_max_ns;
    store->wait_max_ns = 0;
    sqlite3_wal_checkpoint_v2(store->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    store->wait_max_ns = wait_max_ns;
}
