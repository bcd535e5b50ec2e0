/* The module store-postgres.so: a store in PostgreSQL. Connections and transactions; statements are in
 * postgres_statement.c. */
#include "store/postgres_link.h"
#include "store/postgres_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQL_MAX (4u << 20)
#define WRITER_LOCK "1399811684" /* "Sond": one writes at a time, as with SQLite; the rest waits */

static const struct {
    const char *state; /* or its beginning */
    enum err err;
} states[] = {
    { "53100", FULL },   /* disk full */
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

enum err postgres_failed(struct driver_link *link, const PGresult *result)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    snprintf(link->message, sizeof link->message, "%s", text ? text : PQerrorMessage(link->connection));
    for (size_t size = strlen(link->message); size && link->message[size - 1] == '\n'; size--)
        link->message[size - 1] = '\0';
    for (char *at = strchr(link->message, '\n'); at; at = strchr(at, '\n'))
        *at = ' ';
    if (PQstatus(link->connection) != CONNECTION_OK)
        return AGAIN; /* the server has gone: it may come back */
    return state ? kind_of(state) : IO;
}

enum err postgres_check_take(struct driver_link *link, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
    enum err err = good ? OK : postgres_failed(link, result);
    PQclear(result);
    return err;
}

/* Whether the server said no, or did not answer. Neither is waited for: whoever asked decides whether to try again. */
static enum err connect_failed(struct driver_link *link)
{
    enum err err = postgres_failed(link, NULL);
    static const char *const final[] = { "authentication failed", "no pg_hba.conf entry", "does not exist", "no password" };
    for (size_t i = 0; i < sizeof final / sizeof final[0]; i++)
        if (strstr(link->message, final[i]))
            return DENIED;
    return err == AGAIN ? IO : err;
}

static void ignore_notice(void *context, const char *text)
{
    (void)context, (void)text;
}

static enum err open_link(struct driver_link **link, const char *url)
{
    *link = calloc(1, sizeof **link);
    if (!*link)
        return NOMEM;
    const char *keys[] = { "dbname", "connect_timeout", "application_name", "client_encoding", NULL };
    const char *values[] = { url, "10", "sonde", "UTF8", NULL };
    (*link)->connection = PQconnectdbParams(keys, values, 1);
    if (PQstatus((*link)->connection) != CONNECTION_OK)
        return connect_failed(*link);
    PQsetNoticeProcessor((*link)->connection, ignore_notice, NULL);
    return OK;
}

static void close_link(struct driver_link **link)
{
    if (*link)
        PQfinish((*link)->connection);
    free(*link);
    *link = NULL;
}

static const char *message_of(const struct driver_link *link)
{
    return link->message;
}

static enum err exec(struct driver_link *link, const char *sql)
{
    struct buf theirs;
    buf_init(&theirs, SQL_MAX);
    postgres_sql_add(&theirs, sql);
    enum err err = buf_err(&theirs);
    if (!err)
        err = postgres_check_take(link, PQexec(link->connection, buf_text(&theirs)));
    buf_clear(&theirs);
    return err;
}

static enum err begin(struct driver_link *link, bool to_write)
{
    if (!to_write)
        return exec(link, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    enum err err = exec(link, "BEGIN");
    if (!err)
        err = exec(link, "SELECT pg_advisory_xact_lock(" WRITER_LOCK ")");
    return err;
}

static bool is_within(const struct driver_link *link)
{
    return PQtransactionStatus(link->connection) != PQTRANS_IDLE;
}

extern const struct driver sonde_store_driver;
__attribute__((visibility("default"))) const struct driver sonde_store_driver = {
    .version = DRIVER_VERSION,
    .name = "PostgreSQL",
    .open = open_link,
    .close = close_link,
    .message = message_of,
    .exec = exec,
    .begin = begin,
    .is_within = is_within,
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
