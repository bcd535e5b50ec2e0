/* SQLite's results become our errors and sentences for people. */
#include "store/db.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum err db_err(int code, int system_errno)
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

static const char *remedy(enum err err)
{
    switch (err) {
    case FULL: return "Make room on that disk, or name another store with SONDE_DB";
    case DENIED: return "Allow writing to the file and its folder, or name another store with SONDE_DB";
    case CORRUPT: return "Move it away and a new one is made; what can be saved: sqlite3 FILE .recover";
    case AGAIN: return "Another program has kept it locked for a minute; try again when it has ended";
    default: return "";
    }
}

enum err db_fail(struct store *store, const char *what)
{
    int code = sqlite3_extended_errcode(store->db);
    enum err err = db_err(code, sqlite3_system_errno(store->db));
    const char *help = remedy(err);
    if (err == OK)
        err = IO;
    snprintf(store->message, sizeof store->message, "the store %s: cannot %s: %s (%s)%s%s", store->path, what,
             err_text(err), sqlite3_errmsg(store->db), help[0] ? ". " : "", help);
    return err;
}

enum err db_say(struct store *store, enum err err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(store->message, sizeof store->message, format, args);
    va_end(args);
    return err;
}

enum err db_exec(struct store *store, const char *what, const char *sql)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? OK : db_fail(store, what);
}

enum err db_prepare(struct store *store, sqlite3_stmt **statement, const char *what, const char *sql)
{
    return sqlite3_prepare_v2(store->db, sql, -1, statement, NULL) == SQLITE_OK ? OK : db_fail(store, what);
}

enum err db_step(struct store *store, sqlite3_stmt *statement, const char *what, bool *row)
{
    int code = sqlite3_step(statement);
    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? OK : db_fail(store, what);
}

enum err db_run(struct store *store, sqlite3_stmt *statement, const char *what)
{
    bool row;
    enum err err = db_step(store, statement, what, &row);
    sqlite3_reset(statement);
    return err;
}

enum err db_number(struct store *store, const char *what, const char *sql, int64_t parameter, int64_t *value)
{
    sqlite3_stmt *statement;
    bool row = false;
    enum err err = db_prepare(store, &statement, what, sql);
    if (err != OK)
        return err;
    sqlite3_bind_int64(statement, 1, parameter); /* harmless when there is no parameter */
    err = db_step(store, statement, what, &row);
    if (row && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return err;
}

bool db_read_begin(struct store *store)
{
    return sqlite3_get_autocommit(store->db) && sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;
}

void db_read_end(struct store *store, bool begun)
{
    if (begun)
        sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
}

/* By chance a bit more or less, so that a hundred that wait do not all come at once. */
bool db_wait(const struct store *store, uint64_t since_ns, int count)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns - since_ns >= store->wait_max_ns)
        return false;
    unsigned most_us = count < 6 ? 1000u << count : 50000u;
    usleep(most_us / 2 + (unsigned)(now_ns >> 4) % (most_us / 2));
    return true;
}

enum err db_write_begin(struct store *store)
{
    uint64_t since_ns = clock_monotonic_ns();
    enum err err = db_exec(store, "begin to write", "BEGIN IMMEDIATE");
    for (int count = 0; err == AGAIN && db_wait(store, since_ns, count); count++)
        err = db_exec(store, "begin to write", "BEGIN IMMEDIATE");
    return err;
}

void db_checkpoint(struct store *store)
{
    uint64_t wait_max_ns = store->wait_max_ns;
    store->wait_max_ns = 0;
    sqlite3_wal_checkpoint_v2(store->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    store->wait_max_ns = wait_max_ns;
}
