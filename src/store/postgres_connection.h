/* Shared by the files of the module store-postgres.so: a connection, and conversion of its errors. */
#ifndef SONDE_STORE_POSTGRES_CONNECTION_H
#define SONDE_STORE_POSTGRES_CONNECTION_H

#include "store/driver.h"

#include <libpq-fe.h>

struct driver_connection {
    PGconn *pg;
    unsigned statements; /* created so far: for unique names */
    char message[512];
};

/* Stores the last message of the server or the library, on one line, and returns its error code. result may be NULL. */
enum err postgres_failed(struct driver_connection *connection, const PGresult *result);

/* Frees result; OK if it is the result of a successful command or query. */
enum err postgres_check_take(struct driver_connection *connection, PGresult *result);

enum err postgres_prepare(struct driver_connection *connection, struct driver_statement **statement, const char *sql,
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
