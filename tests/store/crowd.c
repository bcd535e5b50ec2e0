/* Many at the same moment: twenty file into a store that is not there yet while others read it. Nobody is refused and
 * nothing is lost or seen by half. */
#include "store/store.h"

#include "tools/store_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 20
#define READERS 6
#define RUNS 5
#define PROCESSES 40

static int told(const char *who, enum err err, const char *message)
{
    fprintf(stderr, "# %s: %s: %s\n", who, err_text(err), message ? message : "");
    return 1;
}

/* Each opens anew for each of its runs; half of the runs share a job. */
static int write_some(const char *path, int who)
{
    for (int i = 0; i < RUNS; i++) {
        struct store *store;
        struct fake_run fake;
        char *message, run_id[32];
        snprintf(run_id, sizeof run_id, "%d-%d", who, i);
        fake_run_make(&fake, &(struct fake_shape){ .run_id = run_id, .job_id = i % 2 ? "shared" : run_id, .processes = PROCESSES,
                                                   .samples = 3, .threads = 2 });
        enum err err = store_open(&store, path, STORE_WRITE, &message);
        if (err != OK)
            return told("writer", err, message);
        err = store_file(store, &fake.run);
        if (err != OK)
            return told("writer", err, store_message(store));
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

/* A job is there with all its processes. It may have grown since its row was read, by whole runs. */
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

/* Reads until all jobs are there. */
static int read_all(const char *path)
{
    for (uint64_t jobs = 0; jobs < WRITERS * 3 + 1;) {
        struct reading reading = { 0 };
        char *message;
        enum err err = store_open(&reading.store, path, STORE_READ, &message);
        if (err == ABSENT) {
            free(message);
            usleep(1000);
            continue;
        }
        if (err != OK)
            return told("reader", err, message);
        err = store_jobs(reading.store, &(struct store_filter){ 0 }, check_job, &reading);
        if (err != OK)
            return told("reader", err, store_message(reading.store));
        jobs = reading.jobs;
        store_close(&reading.store);
    }
    return 0;
}

static void everybody_is_served(void **state)
{
    struct store_fixture *fixture = *state;
    int failed = 0;
    char path[TEMP_PATH_MAX];
    temp_join(path, fixture->dir, "crowd/new/sonde.db");
    fflush(stdout);
    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0)
            _exit(write_some(path, i));
    for (int i = 0; i < READERS; i++)
        if (fork() == 0)
            _exit(read_all(path));
    for (int i = 0; i < WRITERS + READERS; i++) {
        int status;
        wait(&status);
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
    assert_sql(path, "SELECT count(*) FROM runs", "100");
    assert_sql(path, "SELECT count(*) FROM jobs", "61");
    assert_sql(path, "SELECT count(*) FROM processes", "4000");
    assert_sql(path, "SELECT images FROM jobs WHERE job_id = 'shared'", "1600");
    assert_sql(path, "SELECT max(number) FROM processes p JOIN jobs j ON j.id = p.job WHERE j.job_id = 'shared'", "1599");
    assert_sql(path, "PRAGMA integrity_check", "ok");
}

/* One that is killed in the middle of its filing takes nothing with it and leaves nothing. */
static void a_killed_writer_leaves_nothing_by_half(void **state)
{
    struct store_fixture *fixture = *state;
    struct fake_run fake;
    fake_run_make(&fake, &(struct fake_shape){ .run_id = "big", .processes = 30000 });
    fixture_file_shape(fixture->store, (struct fake_shape){ .processes = 10 });
    store_close(&fixture->store);
    for (unsigned ms = 1; ms < 120; ms += 7) {
        pid_t child = fork();
        if (child == 0) {
            struct store *store;
            char *message;
            if (store_open(&store, fixture->path, STORE_WRITE, &message) == OK)
                store_file(store, &fake.run);
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
        STORE_TEST(everybody_is_served),
        STORE_TEST(a_killed_writer_leaves_nothing_by_half),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
