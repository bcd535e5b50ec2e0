/* Databases that cannot be opened: missing, read-only, of another program, damaged, newer, locked; each with its error
 * code and a message that says what to do. */
#include "store/store.h"

#include "base/clock.h"
#include "store/db.h"
#include "tools/store_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static void assert_refused(const char *path, enum store_mode mode, enum err want, const char *word)
{
    struct store *store = NULL;
    char *message = NULL;
    assert_int_equal(store_open(&store, path, mode, &message), want);
    assert_null(store);
    assert_non_null(message);
    if (!strstr(message, word) || !strstr(message, path))
        print_error("message: %s\n", message);
    assert_non_null(strstr(message, word));
    assert_non_null(strstr(message, path));
    free(message);
}

/* Calls test in a process of another user, and expects it to return 0. Needs root. */
static void as_nobody(int (*test)(const char *path), const char *path)
{
    int status;
    if (geteuid() != 0)
        skip();
    pid_t child = fork();
    if (child == 0) {
        if (setgid(NOBODY) || setuid(NOBODY))
            _exit(99);
        _exit(test(path));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_default_path_follows_the_environment(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    setenv("SONDE_DB", "/some/where.db", 1);
    setenv("XDG_DATA_HOME", "/data", 1);
    setenv("HOME", "/home/me", 1);
    assert_int_equal(store_default_path(path, sizeof path), OK);
    assert_string_equal(path, "/some/where.db");
    unsetenv("SONDE_DB");
    assert_int_equal(store_default_path(path, sizeof path), OK);
    assert_string_equal(path, "/data/sonde/sonde.db");
    setenv("XDG_DATA_HOME", "not/absolute", 1);
    assert_int_equal(store_default_path(path, sizeof path), OK);
    assert_string_equal(path, "/home/me/.local/share/sonde/sonde.db");
    assert_int_equal(store_default_path(path, 10), USAGE);
    unsetenv("HOME");
    unsetenv("XDG_DATA_HOME");
    assert_int_equal(store_default_path(path, sizeof path), USAGE);
    struct store *store;
    char *message;
    assert_int_equal(store_open(&store, NULL, STORE_READ, &message), USAGE);
    assert_non_null(strstr(message, "SONDE_DB"));
    free(message);
}

/* A saved job must survive a crash of the node, because the spool is deleted afterwards. */
static void saved_runs_are_synced(void **state)
{
    struct store_fixture *fixture = *state;
    int64_t level = 0;
    assert_int_equal(db_number(fixture->store, "look", "PRAGMA synchronous", 0, &level), OK);
    assert_int_equal(level, 3);
    assert_sql(fixture->path, "PRAGMA journal_mode", "wal");
}

static void new_directories_and_files_belong_to_the_owner_only(void **state)
{
    struct store_fixture *fixture = *state;
    char path[TEMP_PATH_MAX + 32], directory[TEMP_PATH_MAX + 32];
    struct stat status;
    snprintf(path, sizeof path, "%s/a/b/c.db", fixture->dir);
    snprintf(directory, sizeof directory, "%s/a/b", fixture->dir);
    assert_refused(path, STORE_READ, ABSENT, "sonde run");
    assert_int_not_equal(stat(directory, &status), 0); /* reading creates nothing */
    struct store *store = fixture_open(path, STORE_WRITE);
    store_close(&store);
    assert_int_equal(stat(directory, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

static void an_empty_file_becomes_a_database(void **state)
{
    struct store_fixture *fixture = *state;
    char path[TEMP_PATH_MAX];
    temp_join(path, fixture->dir, "empty.db");
    temp_write(path, "", 0);
    assert_refused(path, STORE_READ, ABSENT, "empty");
    struct store *store = fixture_open(path, STORE_WRITE);
    fixture_save_run(store, (struct fake_shape){ .processes = 3 });
    store_close(&store);
    store = fixture_open(path, STORE_READ);
    store_close(&store);
}

/* SQLite treats these names specially: jobs would be lost silently. */
static void special_sqlite_names_are_file_names(void **state)
{
    static const char *const names[] = { ":memory:", "file:abc.db", "file::memory:", "%41?mode=memory", "" };
    struct store_fixture *fixture = *state;
    char here[TEMP_PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(fixture->dir), 0);
    for (int i = 0; names[i][0]; i++) {
        struct store *store = fixture_open(names[i], STORE_WRITE);
        fixture_save_run(store, (struct fake_shape){ .processes = 3 });
        store_close(&store);
        store = fixture_open(names[i], STORE_READ);
        store_close(&store);
    }
    assert_int_equal(chdir(here), 0);
}

static void a_file_that_is_no_database_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    static char garbage[20000];
    char path[TEMP_PATH_MAX], back[sizeof garbage];
    memset(garbage, 'g', sizeof garbage);
    temp_join(path, fixture->dir, "garbage.db");
    temp_write(path, garbage, sizeof garbage);
    assert_refused(path, STORE_READ, CORRUPT, "move it away");
    assert_refused(path, STORE_WRITE, CORRUPT, "move it away");
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, back, sizeof back), sizeof garbage);
    assert_memory_equal(back, garbage, sizeof garbage); /* unchanged */
    close(fd);
    assert_refused(fixture->dir, STORE_WRITE, USAGE, "not a file");
}

static void another_programs_database_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    char path[TEMP_PATH_MAX];
    sqlite3 *db;
    temp_join(path, fixture->dir, "other.db");
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE bookmarks (x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_refused(path, STORE_READ, CORRUPT, "another program");
    assert_refused(path, STORE_WRITE, CORRUPT, "another program");
    assert_sql(path, "SELECT count(*) FROM sqlite_schema", "1");
}

static void a_damaged_database_is_reported(void **state)
{
    struct store_fixture *fixture = *state;
    char noise[8192];
    memset(noise, 0x5a, sizeof noise);
    fixture_save_run(fixture->store, (struct fake_shape){ .processes = 2000 });
    store_close(&fixture->store);
    struct stat status;
    assert_int_equal(stat(fixture->path, &status), 0);
    int fd = open(fixture->path, O_WRONLY);
    for (off_t at = 4096; at < status.st_size; at += (off_t)sizeof noise) /* all but the first page */
        assert_int_equal(pwrite(fd, noise, sizeof noise, at), sizeof noise);
    close(fd);
    assert_refused(fixture->path, STORE_WRITE, CORRUPT, ".recover");
    assert_refused(fixture->path, STORE_READ, CORRUPT, ".recover");
}

static void a_newer_database_is_not_changed(void **state)
{
    struct store_fixture *fixture = *state;
    sqlite3 *db;
    fixture_save_run(fixture->store, (struct fake_shape){ .processes = 3 });
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    struct run run = { .id = bytes_of("late") };
    assert_int_equal(store_save_run(fixture->store, &run), USAGE); /* opened before the upgrade */
    assert_non_null(strstr(store_message(fixture->store), "another version"));
    store_close(&fixture->store);
    assert_refused(fixture->path, STORE_WRITE, USAGE, "newer");
    assert_refused(fixture->path, STORE_READ, USAGE, "newer");
    assert_sql(fixture->path, "PRAGMA user_version", "99");
    assert_sql(fixture->path, "SELECT count(*) FROM runs", "1");
}

static int write_is_denied(const char *path)
{
    struct store *store;
    char *message;
    enum err err = store_open(&store, path, STORE_WRITE, &message);
    return err == DENIED && strstr(message, path) && strstr(message, "SONDE_DB") ? 0 : 1;
}

static enum err count_one(void *context, uint32_t number, const struct process *process)
{
    (void)number, (void)process;
    ++*(int *)context;
    return OK;
}

static int reads_ten_processes(const char *path)
{
    struct store *store;
    struct store_job job;
    char *message;
    int count = 0;
    if (store_open(&store, path, STORE_READ, &message) != OK) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    if (store_job(store, NULL, &job) != OK || store_processes(store, job.row, count_one, &count) != OK)
        return 2;
    store_job_clear(&job);
    store_close(&store);
    return count == 10 ? 0 : 3;
}

static int open_is_denied(const char *path)
{
    struct store *store;
    char *message;
    return store_open(&store, path, STORE_READ, &message) == DENIED && strstr(message, path) ? 0 : 1;
}

/* Others may read in a directory where they cannot write; with and without a log. */
static void other_users_can_read_but_not_write(void **state)
{
    struct store_fixture *fixture = *state;
    char log[TEMP_PATH_MAX + 8];
    sqlite3 *db;
    fixture_save_run(fixture->store, (struct fake_shape){ .processes = 10 });
    assert_int_equal(chmod(fixture->dir, 0755), 0);
    as_nobody(open_is_denied, fixture->path);
    assert_int_equal(chmod(fixture->path, 0644), 0);
    snprintf(log, sizeof log, "%s-wal", fixture->path);
    assert_int_equal(chmod(log, 0644), 0);
    snprintf(log, sizeof log, "%s-shm", fixture->path);
    assert_int_equal(chmod(log, 0644), 0);
    as_nobody(write_is_denied, fixture->path);
    as_nobody(reads_ten_processes, fixture->path);
    store_close(&fixture->store);
    as_nobody(reads_ten_processes, fixture->path);
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT * FROM meta", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK); /* the last one to close removes the log */
    assert_int_not_equal(access(log, F_OK), 0);
    as_nobody(write_is_denied, fixture->path);
    as_nobody(reads_ten_processes, fixture->path);
}

static void an_inaccessible_directory_is_reported(void **state)
{
    struct store_fixture *fixture = *state;
    char path[TEMP_PATH_MAX + 32];
    assert_int_equal(chmod(fixture->dir, 0755), 0);
    snprintf(path, sizeof path, "%s/new/sonde.db", fixture->dir);
    as_nobody(write_is_denied, path);
    snprintf(path, sizeof path, "%s/new.db", fixture->dir);
    as_nobody(write_is_denied, path);
}

/* A process that starts writing and keeps the lock for a while. */
static pid_t lock_for(const char *path, unsigned ms)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        sqlite3 *db;
        if (sqlite3_open(path, &db) || sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL))
            _exit(1);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        usleep(ms * 1000);
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void saving_waits_for_another_writer(void **state)
{
    struct store_fixture *fixture = *state;
    uint64_t start_ns = clock_monotonic_ns();
    pid_t child = lock_for(fixture->path, 400);
    struct run run = { .id = bytes_of("r") };
    assert_int_equal(store_save_run(fixture->store, &run), OK);
    assert_true(clock_monotonic_ns() - start_ns >= 390 * NS_PER_MS);
    waitpid(child, NULL, 0);
}

static void waiting_times_out(void **state)
{
    struct store_fixture *fixture = *state;
    pid_t child = lock_for(fixture->path, 1000);
    struct run run = { .id = bytes_of("r") };
    fixture->store->wait_max_ns = 50 * NS_PER_MS;
    assert_int_equal(store_save_run(fixture->store, &run), AGAIN);
    assert_non_null(strstr(store_message(fixture->store), "try again"));
    waitpid(child, NULL, 0);
    assert_int_equal(store_save_run(fixture->store, &run), OK);
}

static void the_log_is_truncated(void **state)
{
    struct store_fixture *fixture = *state;
    char log[TEMP_PATH_MAX + 8];
    snprintf(log, sizeof log, "%s-wal", fixture->path);
    store_close(&fixture->store);
    for (int i = 0; i < 40; i++) {
        char id[16];
        struct stat status;
        snprintf(id, sizeof id, "r%d", i);
        struct store *store = fixture_open(fixture->path, STORE_WRITE);
        fixture_save_run(store, (struct fake_shape){ .processes = i == 20 ? 20000 : 2, .run_id = id, .job_id = id });
        store_close(&store);
        assert_int_equal(stat(log, &status), 0);
        assert_in_range(status.st_size, 0, 1 << 20);
    }
}

static void agent_is_not_a_database(void **state)
{
    (void)state;
    struct store *store;
    char *message;
    assert_int_equal(store_open(&store, STORE_AGENT, STORE_READ, &message), USAGE);
    assert_null(store);
    assert_non_null(strstr(message, "SONDE_DB"));
    free(message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_path_follows_the_environment),
        STORE_TEST(saved_runs_are_synced),
        STORE_TEST(new_directories_and_files_belong_to_the_owner_only),
        STORE_TEST(an_empty_file_becomes_a_database),
        STORE_TEST(special_sqlite_names_are_file_names),
        STORE_TEST(a_file_that_is_no_database_is_refused),
        STORE_TEST(another_programs_database_is_refused),
        STORE_TEST(a_damaged_database_is_reported),
        STORE_TEST(a_newer_database_is_not_changed),
        STORE_TEST(other_users_can_read_but_not_write),
        STORE_TEST(an_inaccessible_directory_is_reported),
        STORE_TEST(saving_waits_for_another_writer),
        STORE_TEST(waiting_times_out),
        STORE_TEST(the_log_is_truncated),
        cmocka_unit_test(agent_is_not_a_database),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
