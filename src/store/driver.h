/* A database other than SQLite, which is a module of its own (store-postgres.so), because most commands do without. The store
 * speaks to it through these calls, with the SQL that it speaks to SQLite; the driver turns it into the dialect of its own. */
#ifndef SONDE_STORE_DRIVER_H
#define SONDE_STORE_DRIVER_H

#include "base/buf.h"

#define DRIVER_VERSION 1
#define DRIVER_SYMBOL "sonde_store_driver"

struct driver_link;      /* a connection */
struct driver_statement; /* prepared; parameters and columns as of SQLite: parameters from 1, columns from 0 */

enum driver_use {
    DRIVER_FEW,  /* as often as it is needed, with a handful of rows */
    DRIVER_BULK, /* an INSERT for many rows: they are on their way when finish has returned OK */
    DRIVER_MANY, /* a SELECT of many rows, by numbers alone: they are not all fetched at once */
};

struct driver {
    uint32_t version; /* DRIVER_VERSION when it was built */
    const char *name; /* for people: "PostgreSQL" */

    /* On an error *link is NULL, or stays to be asked for its message. */
    enum err (*open)(struct driver_link **link, const char *url);
    void (*close)(struct driver_link **link);
    const char *(*message)(const struct driver_link *link); /* of the last failure */

    /* One or several statements without parameters and rows. */
    enum err (*exec)(struct driver_link *link, const char *sql);
    enum err (*begin)(struct driver_link *link, bool to_write); /* to_write: after all other writers */
    bool (*is_within)(const struct driver_link *link);          /* a transaction */

    enum err (*prepare)(struct driver_link *link, struct driver_statement **statement, const char *sql, enum driver_use use);
    void (*bind_null)(struct driver_statement *statement, int at);
    void (*bind_i64)(struct driver_statement *statement, int at, int64_t value);
    void (*bind_text)(struct driver_statement *statement, int at, struct bytes text); /* any bytes; given back as they are */
    void (*bind_blob)(struct driver_statement *statement, int at, struct bytes blob);

    enum err (*step)(struct driver_statement *statement, bool *row);
    void (*reset)(struct driver_statement *statement); /* keeps what is bound */
    enum err (*finish)(struct driver_statement *statement);
    void (*free)(struct driver_statement *statement);

    int (*columns)(const struct driver_statement *statement);
    bool (*is_known)(const struct driver_statement *statement, int at); /* not NULL */
    int64_t (*i64)(const struct driver_statement *statement, int at);
    struct bytes (*bytes)(const struct driver_statement *statement, int at); /* with a NUL behind; until the next step */
};

/* Is it the URL of such a database, and not the path of a file? */
bool driver_is_url(const char *path);

/* ABSENT: the module is not installed; CORRUPT: it is of another version of Sonde. why gets a sentence. */
enum err driver_load(const char *url, const struct driver **driver, char *why, size_t why_size);

/* Takes the password out of a URL, for people. */
void driver_url_mask(char *url);

#endif
