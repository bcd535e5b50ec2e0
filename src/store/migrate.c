/* Migrations: an ordered list, applied in one transaction that takes the write lock first. The version is in PRAGMA
 * user_version (SQLite) and, for readers of the tables, in meta. */
#include "store/migrate.h"

#include "base/clock.h"
#include "store/schema.h"

#include <stdio.h>

const struct migration migrations[] = {
    { .about = "create the tables", .sql = schema_version_1, .sqlite_after = schema_indexes_1,
      .postgres_before = schema_postgres_functions_1, .postgres_after = schema_postgres_indexes_1 },
    { .about = "add the tables of collectors", .sql = schema_version_2 },
    { .about = "add the table of saved sequences", .sql = schema_version_3 },
    { .about = "identify jobs by id and owner", .sqlite_after = schema_sqlite_version_4,
      .postgres_after = schema_postgres_version_4 },
};
const int migration_count = sizeof migrations / sizeof migrations[0];

static enum err read_other_version(struct store *store, int *version)
{
    int64_t tables = 0, number = 0;
    enum err err = db_number(store, "read it", "SELECT count(*) FROM information_schema.tables WHERE"
                             " table_schema = current_schema() AND table_name IN ('meta', 'jobs', 'processes')", 0, &tables);
    if (err == OK && tables)
        err = db_number(store, "read it", "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'schema'", 0, &number);
    *version = (int)number;
    return err;
}

static enum err read_version(struct store *store, int *version)
{
    if (store->driver)
        return read_other_version(store, version);
    int64_t user_version = 0, application = 0, tables = 0;
    enum err err = db_number(store, "read it", "PRAGMA user_version", 0, &user_version);
    if (err == OK)
        err = db_number(store, "read it", "PRAGMA application_id", 0, &application);
    if (err == OK && application != SCHEMA_APPLICATION_ID)
        err = db_number(store, "read it", "SELECT count(*) FROM sqlite_schema", 0, &tables);
    if (err == OK && application != SCHEMA_APPLICATION_ID && (tables || user_version))
        return db_error(store, CORRUPT, "%s is a database of another program; choose another file with SONDE_DB",
                        store->path);
    *version = (int)user_version;
    return err;
}

/* In one read transaction, because another process may be creating the tables. */
enum err migrate_version(struct store *store, int *version)
{
    *version = 0;
    bool begun = db_read_begin(store);
    enum err err = read_version(store, version);
    db_read_end(store, begun);
    return err;
}

static enum err set_version(struct store *store, int version)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "INSERT INTO meta VALUES ('schema', '%d'), ('written_by', 'sonde " SONDE_VERSION "')"
             " ON CONFLICT (key) DO UPDATE SET value = excluded.value;"
             "INSERT INTO meta VALUES ('made_ns', '%llu') ON CONFLICT (key) DO NOTHING;",
             version, (unsigned long long)clock_realtime_ns());
    enum err err = db_exec(store, "set the version", sql);
    if (err != OK || store->driver)
        return err;
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d; PRAGMA application_id = %d;", version, SCHEMA_APPLICATION_ID);
    return db_exec(store, "set the version", sql);
}

enum err migrate_newer_error(struct store *store, int version, int supported)
{
    return db_error(store, USAGE, "the job database %s was created by a newer version of Sonde (schema %d, this version "
                    "supports %d). Use that version, or choose another job database with SONDE_DB",
                    store->path, version, supported);
}

static enum err apply_step(struct store *store, const struct migration *migration)
{
    const char *const sql[] = { store->driver ? migration->postgres_before : NULL, migration->sql,
                                store->driver ? migration->postgres_after : migration->sqlite_after };
    enum err err = OK;
    for (size_t i = 0; i < sizeof sql / sizeof sql[0] && err == OK; i++)
        if (sql[i])
            err = db_exec(store, migration->about, sql[i]);
    return err == OK && migration->step ? migration->step(store) : err;
}

static enum err apply(struct store *store, const struct migration *steps, int count)
{
    int version;
    enum err err = migrate_version(store, &version);
    if (err != OK || version == count)
        return err;
    if (version > count)
        return migrate_newer_error(store, version, count);
    for (; version < count && err == OK; version++)
        err = apply_step(store, &steps[version]);
    return err == OK ? set_version(store, count) : err;
}

enum err migrate_up(struct store *store, const struct migration *steps, int count)
{
    enum err err = db_write_begin(store);
    if (err != OK)
        return err;
    err = apply(store, steps, count);
    if (err == OK)
        err = db_exec(store, "write", "COMMIT");
    if (err != OK)
        db_roll_back(store);
    return err;
}
