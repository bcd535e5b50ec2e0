/* A job database in its own directory for each test, and common test helpers. */
#ifndef SONDE_TESTS_TOOLS_STORE_FIXTURE_H
#define SONDE_TESTS_TOOLS_STORE_FIXTURE_H

#include "base/file.h"
#include "store/db.h"
#include "store/store.h"
#include "tools/fake_run.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <sqlite3.h>

struct store_fixture {
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct store *store; /* open for writing */
};

static inline struct store *fixture_open(const char *path, enum store_mode mode)
{
    struct store *store;
    char *message;
    enum err err = store_open(&store, path, mode, &message);
    if (err != OK)
        print_error("%s\n", message ? message : err_text(err));
    caller_assert_int_equal(err, OK);
    return store;
}
#define fixture_open(...) (unit_called(__FILE__, __LINE__), (fixture_open)(__VA_ARGS__))

static inline int fixture_set_up(void **state)
{
    struct store_fixture *fixture = calloc(1, sizeof *fixture);
    *state = fixture;
    temp_dir(fixture->dir);
    temp_join(fixture->path, fixture->dir, "sonde.db");
    fixture->store = fixture_open(fixture->path, STORE_WRITE);
    return 0;
}

static inline int fixture_tear_down(void **state)
{
    struct store_fixture *fixture = *state;
    store_close(&fixture->store);
    temp_remove(fixture->dir);
    free(fixture);
    return 0;
}

/* Writes a database without jobs. For tests with thousands of them: creating one takes much longer than copying it. */
static inline void fixture_write_empty(const char *path)
{
    static char empty[1 << 20];
    static size_t size;
    if (!size) {
        struct store *store = fixture_open(path, STORE_WRITE);
        db_checkpoint(store);
        store_close(&store);
        caller_assert_int_equal(file_read("", path, empty, sizeof empty, &size), OK);
    } else {
        temp_write(path, empty, size);
    }
}
#define fixture_write_empty(...) (unit_called(__FILE__, __LINE__), (fixture_write_empty)(__VA_ARGS__))

static inline void fixture_exec(const char *path, const char *sql)
{
    sqlite3 *db;
    caller_assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    caller_assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}
#define fixture_exec(...) (unit_called(__FILE__, __LINE__), (fixture_exec)(__VA_ARGS__))

static inline void fixture_file(struct store *store, const struct run *run)
{
    enum err err = store_save_run(store, run);
    if (err != OK)
        print_error("%s\n", store_message(store));
    caller_assert_int_equal(err, OK);
}
#define fixture_file(...) (unit_called(__FILE__, __LINE__), (fixture_file)(__VA_ARGS__))

/* Saves a generated run. */
static inline void fixture_save_run(struct store *store, struct fake_shape shape)
{
    struct fake_run fake;
    fake_run_make(&fake, &shape);
    fixture_file(store, &fake.run);
    fake_run_clear(&fake);
}

static inline struct store_job fixture_job(struct store *store, const char *job_id)
{
    struct store_job job;
    caller_assert_int_equal(store_job(store, job_id, &job), OK);
    return job;
}
#define fixture_job(...) (unit_called(__FILE__, __LINE__), (fixture_job)(__VA_ARGS__))

/* The first column of the first row, as another program sees it: "" for NULL, "(none)" if there is no row. */
static inline void assert_sql(const char *path, const char *sql, const char *want)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    caller_assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        print_error("%s: %s\n", sql, sqlite3_errmsg(db));
    caller_assert_non_null(statement);
    int code = sqlite3_step(statement);
    caller_assert_true(code == SQLITE_ROW || code == SQLITE_DONE);
    const char *got = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : "(none)";
    caller_assert_string_equal(got ? got : "", want);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}
#define assert_sql(...) (unit_called(__FILE__, __LINE__), (assert_sql)(__VA_ARGS__))

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

#endif
