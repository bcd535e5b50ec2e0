/* Concurrency: twenty processes save into a job database that does not exist yet while others read it. No one is
 * refused, and nothing is lost or partially visible. */
#include "store/store.h"

#include "base/clock.h"
#include "tools/store_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 40

/* This many processes; each writer saves this many runs, every other one under the shared job. */
struct crowd {
    const char *path;
    unsigned writers, readers, runs;
};

static unsigned shared_runs(const struct crowd *crowd)
{
    return crowd->writers * (crowd->runs / 2);
}

static unsigned jobs_in_all(const struct crowd *crowd)
{
    return crowd->writers * crowd->runs - shared_runs(crowd) + 1;
}

static int fail_with(const char *who, enum err err, const char *message)
{
    fprintf(stderr, "# %s: %s: %s\n", who, err_text(err), message ? message : "");
    return 1;
}

/* Opens the database again for each run. */
static int write_some(const struct crowd *crowd, unsigned who)
{
    for (unsigned i = 0; i < crowd->runs; i++) {
        struct store *store;
        struct fake_run fake;
        char *message, run_id[32];
        snprintf(run_id, sizeof run_id, "%u-%u", who, i);
        fake_run_make(&fake, &(struct fake_shape){ .run_id = run_id, .job_id = i % 2 ? "shared" : run_id,
                                                   .processes = PROCESSES, .samples = 3, .threads = 2 });
        enum err err = store_open(&store, crowd->path, STORE_WRITE, &message);
        if (err != OK)
            return fail_with("writer", err, message);
        err = store_save_run(store, &fake.run);
        if (err != OK)
            return fail_with("writer", err, store_message(store));
        store_close(&store);
        fake_run_clear(&fake);
    }
    return 0;
}

static enum err count_process(void *context, uint32_t number, const struct process *process)
{
    (void)number, (void)process;
    ++*(uint64_t *)context;
    return OK;
}

struct reading {
    struct store *store;
    uint64_t jobs;
};

/* A job has all its processes. It may have grown by whole runs since its row was read. */
static enum err check_job(void *context, const struct store_job *job)
{
    struct reading *reading = context;
    uint64_t processes = 0;
    enum err err = store_processes(reading->store, job->row, count_process, &processes);
    reading->jobs++;
    if (err != OK)
        return err;
    return processes % PROCESSES == 0 && processes >= job->summary.images ? OK : CORRUPT;
}

/* Reads until all jobs are there, or a minute has passed. */
static int read_all(const struct crowd *crowd)
{
    uint64_t start_ns = clock_monotonic_ns();
    for (uint64_t jobs = 0; jobs < jobs_in_all(crowd);) {
        if (clock_monotonic_ns() - start_ns > 60 * NS_PER_S)
            return fail_with("reader", AGAIN, "the jobs do not come");
        struct reading reading = { 0 };
        char *message;
        enum err err = store_open(&reading.store, crowd->path, STORE_READ, &message);
        if (err == ABSENT) {
            free(message);
            usleep(1000);
            continue;
        }
        if (err != OK)
            return fail_with("reader", err, message);
        err = store_jobs(reading.store, &(struct store_filter){ 0 }, check_job, &reading);
        if (err != OK)
            return fail_with("reader", err, store_message(reading.store));
        jobs = reading.jobs;
        store_close(&reading.store);
    }
    return 0;
}

static void assert_number(const char *path, const char *sql, unsigned want)
{
    char text[16];
    snprintf(text, sizeof text, "%u", want);
    assert_sql(path, sql, text);
}

static void let_them_come(const struct crowd *crowd)
{
    int failed = 0;
    fflush(stdout);
    for (unsigned i = 0; i < crowd->writers; i++)
        if (fork() == 0)
            _exit(write_some(crowd, i));
    for (unsigned i = 0; i < crowd->readers; i++)
        if (fork() == 0)
            _exit(read_all(crowd));
    for (unsigned i = 0; i < crowd->writers + crowd->readers; i++) {
        int status;
        wait(&status);
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
    unsigned runs = crowd->writers * crowd->runs, shared = shared_runs(crowd) * PROCESSES;
    assert_number(crowd->path, "SELECT count(*) FROM runs", runs);
    assert_number(crowd->path, "SELECT count(*) FROM jobs", jobs_in_all(crowd));
    assert_number(crowd->path, "SELECT count(*) FROM processes", runs * PROCESSES);
    assert_number(crowd->path, "SELECT images FROM jobs WHERE job_id = 'shared'", shared);
    assert_number(crowd->path, "SELECT max(number) + 1 FROM process WHERE job_id = 'shared'", shared);
    assert_sql(crowd->path, "PRAGMA integrity_check", "ok");
}

static void concurrent_readers_and_writers(void **state)
{
    struct store_fixture *fixture = *state;
    char path[TEMP_PATH_MAX];
    temp_join(path, fixture->dir, "crowd/new/sonde.db");
    let_them_come(&(struct crowd){ path, 20, 6, 5 });
    assert_sql(path, "PRAGMA journal_mode", "wal");
}

/* As on a file system shared between nodes. */
static void concurrent_readers_and_writers_without_wal(void **state)
{
    struct store_fixture *fixture = *state;
    sqlite3 *db;
    store_close(&fixture->store);
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    let_them_come(&(struct crowd){ fixture->path, 8, 2, 2 });
    assert_sql(fixture->path, "PRAGMA journal_mode", "delete");
}

/* Waits until the other end of go is closed; then even ones open for writing, odd ones for reading. */
static int open_on_signal(const char *path, int go, int who)
{
    struct store *store;
    char *message, byte;
    if (read(go, &byte, 1) != 0)
        return 1;
    enum err err = store_open(&store, path, who % 2 ? STORE_READ : STORE_WRITE, &message);
    if (err != OK && !(who % 2 && err == ABSENT))
        return fail_with("opener", err, message);
    free(message);
    store_close(&store);
    return 0;
}

static void concurrent_creation(void **state)
{
    struct store_fixture *fixture = *state;
    enum { ROUNDS = 40, MANY = 8 };
    char path[TEMP_PATH_MAX + 32];
    for (int round = 0; round < ROUNDS; round++) {
        int go[2], failed = 0, status;
        snprintf(path, sizeof path, "%s/%d/sonde.db", fixture->dir, round);
        assert_int_equal(pipe(go), 0);
        for (int i = 0; i < MANY; i++)
            if (fork() == 0) {
                close(go[1]);
                _exit(open_on_signal(path, go[0], i));
            }
        close(go[1]);
        for (int i = 0; i < MANY; i++)
            failed += wait(&status) < 0 || status != 0;
        close(go[0]);
        assert_int_equal(failed, 0);
        assert_sql(path, "PRAGMA user_version", "4");
    }
}

/* A process that is killed while saving neither loses nor leaves anything. */
static void a_killed_writer_leaves_no_partial_run(void **state)
{
    struct store_fixture *fixture = *state;
    struct fake_run fake;
    fake_run_make(&fake, &(struct fake_shape){ .run_id = "big", .processes = 30000 });
    fixture_save_run(fixture->store, (struct fake_shape){ .processes = 10 });
    store_close(&fixture->store);
    for (unsigned ms = 1; ms < 120; ms += 7) {
        pid_t child = fork();
        assert_true(child >= 0); /* kill(-1) would hit every process */
        if (child == 0) {
            struct store *store;
            char *message;
            if (store_open(&store, fixture->path, STORE_WRITE, &message) == OK)
                store_save_run(store, &fake.run);
            store_close(&store);
            _exit(0);
        }
        usleep(ms * 1000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct store *store = fixture_open(fixture->path, STORE_WRITE);
        assert_sql(fixture->path, "SELECT count(*) IN (10, 30010) FROM processes", "1");
        store_close(&store);
    }
    assert_sql(fixture->path, "PRAGMA integrity_check", "ok");
    fake_run_clear(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(concurrent_readers_and_writers),
        STORE_TEST(concurrent_readers_and_writers_without_wal),
        STORE_TEST(concurrent_creation),
        STORE_TEST(a_killed_writer_leaves_no_partial_run),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
