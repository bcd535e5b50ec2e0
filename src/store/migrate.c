/* Migrations: an ordered list, applied in one transaction that takes the write lock first. PRAGMA user_version holds the
 * version; the table meta repeats it for people. */
#include "store/migrate.h"

#include "base/clock.h"
#include "store/schema.h"

#include <stdio.h>

const struct migration migrations[] = {
    { .about = "make the tables", .sql = schema_version_1, .sqlite_after = schema_indexes_1,
      .postgres_before = schema_postgres_functions_1, .postgres_after = schema_postgres_indexes_1 },
    { .about = "make room for what grows", .sql = schema_version_2 },
    { .about = "make room for what is filed of streams", .sql = schema_version_3 },
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
        return db_say(store, CORRUPT, "%s is a database of another program. Name another file with SONDE_DB",
                      store->path);
    *version = (int)user_version;
    return err;
}

/* All at one moment: somebody may be making the tables just now. */
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

enum err migrate_say_newer(struct store *store, int version, int known)
{
    return db_say(store, USAGE, "the store %s was made by a newer Sonde (schema %d, this one knows %d). "
                  "Use that Sonde, or name another store with SONDE_DB", store->path, version, known);
}

static enum err take_step(struct store *store, const struct migration *migration)
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
        return migrate_say_newer(store, version, count);
    for (; version < count && err == OK; version++)
        err = take_step(store, &steps[version]);
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
