/* Interface to databases other than SQLite. Each is a module of its own (store-postgres.so), because most commands do
 * not need it. The driver gets the SQL written for SQLite and translates it into its own dialect. */
#ifndef SONDE_STORE_DRIVER_H
#define SONDE_STORE_DRIVER_H

#include "base/buf.h"

#define DRIVER_VERSION 1
#define DRIVER_SYMBOL "sonde_store_driver"

struct driver_connection;
struct driver_statement; /* prepared; numbered as in SQLite: parameters from 1, columns from 0 */

enum driver_use {
    DRIVER_FEW,  /* ordinary, with few rows */
    DRIVER_BULK, /* an INSERT for many rows: they are sent when finish has returned OK */
    DRIVER_MANY, /* a SELECT of many rows with numeric parameters only: fetched in portions */
};

struct driver {
    uint32_t version; /* DRIVER_VERSION at build time */
    const char *name; /* for messages: "PostgreSQL" */

    /* On an error *connection is NULL, or stays valid for its message. */
    enum err (*open)(struct driver_connection **connection, const char *url);
    void (*close)(struct driver_connection **connection);
    const char *(*message)(const struct driver_connection *connection); /* of the last failure */

    /* One or several statements without parameters and rows. */
    enum err (*exec)(struct driver_connection *connection, const char *sql);
    enum err (*begin)(struct driver_connection *connection, bool to_write); /* to_write: waits for other writers */
    bool (*in_transaction)(const struct driver_connection *connection);

    enum err (*prepare)(struct driver_connection *connection, struct driver_statement **statement, const char *sql,
                        enum driver_use use);
    void (*bind_null)(struct driver_statement *statement, int at);
    void (*bind_i64)(struct driver_statement *statement, int at, int64_t value);
    void (*bind_text)(struct driver_statement *statement, int at, struct bytes text); /* any bytes; read back unchanged */
    void (*bind_blob)(struct driver_statement *statement, int at, struct bytes blob);

    enum err (*step)(struct driver_statement *statement, bool *row);
    void (*reset)(struct driver_statement *statement); /* keeps the bound values */
    enum err (*finish)(struct driver_statement *statement);
    void (*free)(struct driver_statement *statement);

    int (*columns)(const struct driver_statement *statement);
    bool (*is_known)(const struct driver_statement *statement, int at); /* not NULL */
    int64_t (*i64)(const struct driver_statement *statement, int at);
    struct bytes (*bytes)(const struct driver_statement *statement, int at); /* followed by NUL; valid until the next step */
};

/* Is it the URL of such a database rather than a file path? */
bool driver_is_url(const char *path);

/* ABSENT: the module is not installed; CORRUPT: built for another version of Sonde. error gets the message. */
enum err driver_load(const char *url, const struct driver **driver, char *error, size_t error_size);

#endif
