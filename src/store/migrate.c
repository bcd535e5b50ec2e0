/* Migrations: an ordered list, applied in one transaction that takes the write lock first. PRAGMA user_version holds the
 * version; the table meta repeats it for people. */
#include "store/migrate.h"

#include "base/clock.h"
#include "store/schema.h"

#include <stdio.h>

const struct migration migrations[] = {
    { "make the tables", schema_version_1, NULL },
};
const int migration_count = sizeof migrations / sizeof migrations[0];

static enum err read_version(struct store *store, int *version)
{
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
             "PRAGMA user_version = %d; PRAGMA application_id = %d;"
             "INSERT OR REPLACE INTO meta VALUES ('schema', '%d'), ('written_by', 'sonde " SONDE_VERSION "');"
             "INSERT OR IGNORE INTO meta VALUES ('made_ns', '%llu');",
             version, SCHEMA_APPLICATION_ID, version, (unsigned long long)clock_realtime_ns());
    return db_exec(store, "set the version", sql);
}

enum err migrate_say_newer(struct store *store, int version, int known)
{
    return db_say(store, USAGE, "the store %s was made by a newer Sonde (schema %d, this one knows %d). "
                  "Use that Sonde, or name another store with SONDE_DB", store->path, version, known);
}

static enum err apply(struct store *store, const struct migration *steps, int count)
{
    int version;
    enum err err = migrate_version(store, &version);
    if (err != OK || version == count)
        return err;
    if (version > count)
        return migrate_say_newer(store, version, count);
    for (; version < count && err == OK; version++) {
        err = db_exec(store, steps[version].about, steps[version].sql);
        if (err == OK && steps[version].step)
            err = steps[version].step(store);
    }
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
