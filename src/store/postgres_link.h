/* What the files of the module store-postgres.so share: a connection, and its failures as ours. */
#ifndef SONDE_STORE_POSTGRES_LINK_H
#define SONDE_STORE_POSTGRES_LINK_H

#include "store/driver.h"

#include <libpq-fe.h>

struct driver_link {
    PGconn *connection;
    unsigned statements; /* made so far: gives each a name */
    char message[512];
};

/* Keeps what the server or the library said last, without the line's end, and tells its kind. result may be NULL. */
enum err postgres_failed(struct driver_link *link, const PGresult *result);

/* Clears result; OK when it is what a command without rows, or a query, gives. */
enum err postgres_check_take(struct driver_link *link, PGresult *result);

enum err postgres_prepare(struct driver_link *link, struct driver_statement **statement, const char *sql,
                          enum driver_use use);
void postgres_bind_null(struct driver_statement *statement, int at);
void postgres_bind_i64(struct driver_statement *statement, int at, int64_t value);
void postgres_bind_text(struct driver_statement *statement, int at, struct bytes text);
void postgres_bind_blob(struct driver_statement *statement, int at, struct bytes blob);
enum err postgres_step(struct driver_statement *statement, bool *row);
void postgres_reset(struct driver_statement *statement);
enum err postgres_finish(struct driver_statement *statement);
void postgres_free(struct driver_statement *statement);
int postgres_columns(const struct driver_statement *statement);
bool postgres_is_known(const struct driver_statement *statement, int at);
int64_t postgres_i64(const struct driver_statement *statement, int at);
struct bytes postgres_bytes(const struct driver_statement *statement, int at);

#endif
