/* The module store-postgres.so: the job database in PostgreSQL. Connections and transactions; statements are in
 * postgres_statement.c. */
#include "store/postgres_connection.h"
#include "store/postgres_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQL_MAX (4u << 20)
#define WRITER_LOCK "1399811684" /* "Sond": an advisory lock allows one writer at a time, as with SQLite */

static const struct {
    const char *state; /* SQLSTATE or its prefix */
    enum err err;
} states[] = {
    { "53100", FULL },                   /* disk full */
    { "53200", NOMEM }, { "53", AGAIN }, /* too many connections, … */
    { "28", DENIED }, { "42501", DENIED }, { "25006", DENIED },
    { "3D000", ABSENT }, /* no such database */
    { "40", AGAIN }, { "55P03", AGAIN }, { "57P", AGAIN }, /* shut down, starting up */
    { "08", AGAIN }, { "XX001", CORRUPT }, { "XX002", CORRUPT }, { "22021", CORRUPT },
};

static enum err kind_of(const char *state)
{
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (strncmp(state, states[i].state, strlen(states[i].state)) == 0)
            return states[i].err;
    return IO;
}

/* Messages of libpq have several lines, indented with tabs. */
static void join_lines(char *message)
{
    char *to = message;
    for (const char *from = message; *from;) {
        size_t blanks = strspn(from, " \t\n");
        if (blanks && to > message && from[blanks])
            *to++ = ' ';
        from += blanks;
        if (*from)
            *to++ = *from++;
    }
    *to = '\0';
}

enum err postgres_failed(struct driver_connection *connection, const PGresult *result)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    snprintf(connection->message, sizeof connection->message, "%s", text ? text : PQerrorMessage(connection->pg));
    join_lines(connection->message);
    if (PQstatus(connection->pg) != CONNECTION_OK)
        return AGAIN; /* the server is down: it may come back */
    return state ? kind_of(state) : IO;
}

enum err postgres_check_take(struct driver_connection *connection, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
    enum err err = good ? OK : postgres_failed(connection, result);
    PQclear(result);
    return err;
}

/* Refused or not reachable: do not wait; the caller decides whether to retry. */
static enum err connect_failed(struct driver_connection *connection)
{
    enum err err = postgres_failed(connection, NULL);
    static const char *const final[] = { "authentication failed", "no pg_hba.conf entry", "does not exist", "no password" };
    for (size_t i = 0; i < sizeof final / sizeof final[0]; i++)
        if (strstr(connection->message, final[i]))
            return DENIED;
    return err == AGAIN ? IO : err;
}

static void ignore_notice(void *context, const char *text)
{
    (void)context, (void)text;
}

static enum err open_connection(struct driver_connection **connection, const char *url)
{
    *connection = calloc(1, sizeof **connection);
    if (!*connection)
        return NOMEM;
    /* a server that disappears is noticed within seconds, not after the kernel's 15 minutes */
    const char *keys[] = { "dbname", "connect_timeout", "tcp_user_timeout", "keepalives_idle", "keepalives_interval",
                           "keepalives_count", "application_name", "client_encoding", NULL };
    const char *values[] = { url, "5", "10000", "10", "5", "2", "sonde", "UTF8", NULL };
    (*connection)->pg = PQconnectdbParams(keys, values, 1);
    if (PQstatus((*connection)->pg) != CONNECTION_OK)
        return connect_failed(*connection);
    PQsetNoticeProcessor((*connection)->pg, ignore_notice, NULL);
    return OK;
}

static void close_connection(struct driver_connection **connection)
{
    if (*connection)
        PQfinish((*connection)->pg);
    free(*connection);
    *connection = NULL;
}

static const char *message_of(const struct driver_connection *connection)
{
    return connection->message;
}

static enum err exec(struct driver_connection *connection, const char *sql)
{
    struct buf translated;
    buf_init(&translated, SQL_MAX);
    postgres_sql_add(&translated, sql);
    enum err err = buf_err(&translated);
    if (!err)
        err = postgres_check_take(connection, PQexec(connection->pg, buf_text(&translated)));
    buf_clear(&translated);
    return err;
}

static enum err begin(struct driver_connection *connection, bool to_write)
{
    if (!to_write)
        return exec(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    enum err err = exec(connection, "BEGIN");
    if (!err)
        err = exec(connection, "SELECT pg_advisory_xact_lock(" WRITER_LOCK ")");
    return err;
}

static bool in_transaction(const struct driver_connection *connection)
{
    return PQtransactionStatus(connection->pg) != PQTRANS_IDLE;
}

extern const struct driver sonde_store_driver;
__attribute__((visibility("default"))) const struct driver sonde_store_driver = {
    .version = DRIVER_VERSION,
    .name = "PostgreSQL",
    .open = open_connection,
    .close = close_connection,
    .message = message_of,
    .exec = exec,
    .begin = begin,
    .in_transaction = in_transaction,
    .prepare = postgres_prepare,
    .bind_null = postgres_bind_null,
    .bind_i64 = postgres_bind_i64,
    .bind_text = postgres_bind_text,
    .bind_blob = postgres_bind_blob,
    .step = postgres_step,
    .reset = postgres_reset,
    .finish = postgres_finish,
    .free = postgres_free,
    .columns = postgres_columns,
    .is_known = postgres_is_known,
    .i64 = postgres_i64,
    .bytes = postgres_bytes,
};
