/* Older schemas are upgraded step by step, all or nothing, by one of many processes that try at the same time. */
#include "store/migrate.h"

#include "store/schema.h"
#include "tools/store_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

static enum err fill_energy(struct store *store)
{
    return db_exec(store, "fill energy", "UPDATE jobs SET energy_uj = processes * 10");
}

static enum err refuse(struct store *store)
{
    return db_error(store, IO, "the second step failed");
}

/* Two versions that do not exist yet. */
static const struct migration future[] = {
    { .about = "create the tables", .sql = schema_version_1 },
    { .about = "add the tables of collectors", .sql = schema_version_2 },
    { .about = "add the table of saved sequences", .sql = schema_version_3 },
    { .about = "identify jobs by id and owner", .sqlite_after = schema_sqlite_version_4 },
    { .about = "add energy", .sql = "ALTER TABLE jobs ADD COLUMN energy_uj INTEGER;", .step = fill_energy },
    { .about = "add a table",
      .sql = "CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO models VALUES (1, 'm');" },
};

static const struct migration failing[] = {
    { .about = "create the tables", .sql = schema_version_1 },
    { .about = "add the tables of collectors", .sql = schema_version_2 },
    { .about = "add the table of saved sequences", .sql = schema_version_3 },
    { .about = "identify jobs by id and owner", .sqlite_after = schema_sqlite_version_4 },
    { .about = "add energy", .sql = "ALTER TABLE jobs ADD COLUMN energy_uj INTEGER;" },
    { .about = "fail", .sql = "CREATE TABLE models (id INTEGER PRIMARY KEY);", .step = refuse },
};

static void an_older_schema_is_upgraded(void **state)
{
    struct store_fixture *fixture = *state;
    int version;
    fixture_save_run(fixture->store, (struct fake_shape){ .processes = 7 });
    assert_int_equal(migrate_up(fixture->store, future, 4), OK); /* nothing to do */
    assert_int_equal(migrate_up(fixture->store, future, 6), OK);
    assert_int_equal(migrate_version(fixture->store, &version), OK);
    assert_int_equal(version, 6);
    assert_sql(fixture->path, "SELECT energy_uj FROM jobs", "70");
    assert_sql(fixture->path, "SELECT name FROM models", "m");
    assert_sql(fixture->path, "SELECT value FROM meta WHERE key = 'schema'", "6");
    assert_int_equal(migrate_up(fixture->store, future, 6), OK);
    assert_sql(fixture->path, "SELECT count(*) FROM models", "1"); /* not applied again */
}

static void a_step_that_fails_changes_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    fixture_save_run(fixture->store, (struct fake_shape){ .processes = 7 });
    assert_int_equal(migrate_up(fixture->store, failing, 6), IO);
    assert_string_equal(store_message(fixture->store), "the second step failed");
    assert_sql(fixture->path, "PRAGMA user_version", "4");
    assert_sql(fixture->path, "SELECT count(*) FROM pragma_table_info('jobs') WHERE name = 'energy_uj'", "0");
    fixture_save_run(fixture->store, (struct fake_shape){ .processes = 7 });
}

static void a_newer_schema_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    assert_int_equal(migrate_up(fixture->store, future, 6), OK);
    assert_int_equal(migrate_up(fixture->store, future, 5), USAGE);
    assert_sql(fixture->path, "PRAGMA user_version", "6");
}

/* Opens, reports that it is ready, and migrates when the other end of go is closed. */
static int migrate_on_signal(const char *path, int ready, int go)
{
    struct store *store;
    char *message, byte;
    bool done = store_open(&store, path, STORE_WRITE, &message) == OK;
    done = write(ready, "", 1) == 1 && read(go, &byte, 1) == 0 && done && migrate_up(store, future, 6) == OK;
    store_close(&store);
    return done ? 0 : 1;
}

static void concurrent_migrations(void **state)
{
    struct store_fixture *fixture = *state;
    enum { MANY = 8 };
    int ready[2], go[2], status;
    char byte;
    store_close(&fixture->store);
    assert_int_equal(pipe(ready) | pipe(go), 0);
    for (int i = 0; i < MANY; i++)
        if (fork() == 0) {
            close(go[1]);
            _exit(migrate_on_signal(fixture->path, ready[1], go[0]));
        }
    for (int i = 0; i < MANY; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    close(go[1]);
    for (int i = 0; i < MANY; i++) {
        wait(&status);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    close(ready[0]), close(ready[1]), close(go[0]);
    assert_sql(fixture->path, "SELECT count(*) FROM models", "1");
}

/* The table of jobs as it was until version 3: one job per id. */
#define SCHEMA_3_JOBS \
    "PRAGMA legacy_alter_table = ON; CREATE TABLE old AS SELECT * FROM jobs; DROP TABLE jobs;" \
    "CREATE UNIQUE INDEX old_id ON old (job_id); ALTER TABLE old RENAME TO jobs;"

static void jobs_of_version_3_are_kept(void **state)
{
    struct store_fixture *fixture = *state;
    fixture_save_run(fixture->store, (struct fake_shape){ .job_id = "4711", .processes = 7, .tags = "a:1" });
    struct store_job before = fixture_job(fixture->store, "4711");
    store_close(&fixture->store);
    fixture_exec(fixture->path, SCHEMA_3_JOBS "PRAGMA user_version = 3; UPDATE meta SET value = '3' WHERE key = 'schema'");
    fixture->store = fixture_open(fixture->path, STORE_READ);
    struct store_job read = fixture_job(fixture->store, "4711"); /* not upgraded yet */
    store_job_clear(&read);
    store_close(&fixture->store);
    fixture->store = fixture_open(fixture->path, STORE_WRITE);
    assert_sql(fixture->path, "PRAGMA user_version", "4");
    struct store_job after = fixture_job(fixture->store, "4711");
    assert_int_equal(after.row, before.row);
    assert_int_equal(after.uid, before.uid);
    assert_int_equal(after.summary.processes, 7);
    assert_string_equal(after.user, before.user);
    assert_string_equal(after.tags, "a:1");
    assert_sql(fixture->path, "SELECT count(*) FROM process WHERE job_id = '4711'", "7");
    assert_sql(fixture->path, "SELECT count(*) FROM sqlite_schema WHERE name IN ('jobs_by_start', 'jobs_by_user')", "2");
    store_job_clear(&before);
    store_job_clear(&after);
}

/* Version 2, where each collector kept its own positions: they are kept, and the shared table is created. */
static void streams_of_version_2_are_kept(void **state)
{
    struct store_fixture *fixture = *state;
    store_close(&fixture->store);
    fixture_exec(fixture->path, SCHEMA_3_JOBS "DROP TABLE filed; INSERT INTO streams VALUES ('c1', 'n1', 77, 4);"
                 "PRAGMA user_version = 2; UPDATE meta SET value = '2' WHERE key = 'schema'");
    fixture->store = fixture_open(fixture->path, STORE_WRITE);
    assert_sql(fixture->path, "PRAGMA user_version", "4");
    assert_sql(fixture->path, "SELECT source || host || stream || sequence FROM streams", "c1n1774");
    assert_sql(fixture->path, "SELECT count(*) FROM filed", "0");
}

/* docs/schema.md mentions every table, view and column. */
static void the_schema_is_documented(void **state)
{
    struct store_fixture *fixture = *state;
    const char *source = getenv("SOURCE");
    char path[TEMP_PATH_MAX], text[65536], what[128];
    sqlite3 *db;
    sqlite3_stmt *statement;
    if (!source)
        skip();
    temp_join(path, source, "docs/schema.md");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    static const char sql[] =
        "SELECT s.name FROM sqlite_schema s WHERE s.type IN ('table', 'view') UNION"
        " SELECT c.name FROM sqlite_schema s JOIN pragma_table_info(s.name) c"
        " WHERE s.type = 'table' AND c.name NOT LIKE 'total!_%' ESCAPE '!'";
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        snprintf(what, sizeof what, "`%s`", sqlite3_column_text(statement, 0));
        if (!strstr(text, what))
            fail_msg("docs/schema.md does not mention %s", what);
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(an_older_schema_is_upgraded),
        STORE_TEST(a_step_that_fails_changes_nothing),
        STORE_TEST(a_newer_schema_is_refused),
        STORE_TEST(concurrent_migrations),
        STORE_TEST(jobs_of_version_3_are_kept),
        STORE_TEST(streams_of_version_2_are_kept),
        STORE_TEST(the_schema_is_documented),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
