/* The job database while one call fails, each in turn: allocations of Sonde and of SQLite, reads and writes. Creating, saving and
 * appending either succeed or change nothing; reading either returns everything or an error. What was saved before stays. */
#include "store/store.h"

#include "store/append.h"
#include "store/migrate.h"
#include "store/schema.h"
#include "tools/faults.h"
#include "tools/store_fixture.h"

#include <errno.h>
#include <unistd.h>

#define INTEGRITY_SQL "(SELECT ' ' || integrity_check FROM pragma_integrity_check)"
#define VERSION_SQL "SELECT value FROM meta WHERE key = 'schema'"

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];

/* What is in a database. Not a struct buf, whose allocations would fail too. */
struct contents {
    char text[1 << 18];
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void print(struct contents *contents, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int size = vsnprintf(contents->text + contents->size, sizeof contents->text - contents->size, format, list);
    va_end(list);
    contents->size += (size_t)size;
    assert_true(contents->size < sizeof contents->text);
}

static enum err print_job(void *context, const struct store_job *job)
{
    print(context, "job %s: %s %s %s %s %s %llu\n", job->job_id, job->name, job->user, job->hosts, job->tags,
          job->command.size ? job->command.data : "", (unsigned long long)job->summary.images);
    return OK;
}

static enum err print_process(void *context, uint32_t number, const struct process *process)
{
    print(context, "process %u: %u %.*s %.*s %llu us\n", number, process->pid, (int)process->path.size, process->path.data,
          (int)process->args.size, process->args.data, (unsigned long long)counters_cpu_us(&process->counters));
    return OK;
}

static enum err print_thread(void *context, uint32_t number, const struct thread *thread)
{
    print(context, "thread %u: %u %s %llu us\n", number, thread->tid, thread->name,
          (unsigned long long)counters_cpu_us(&thread->counters));
    return OK;
}

static enum err print_executable(void *context, const struct summary_executable *executable)
{
    print(context, "executable %.*s: %llu\n", (int)executable->path.size, executable->path.data,
          (unsigned long long)executable->count);
    return OK;
}

static enum err print_event(void *context, const char *event, uint64_t sum)
{
    print(context, "event %s: %llu\n", event, (unsigned long long)sum);
    return OK;
}

static enum err print_host(void *context, const struct host *host)
{
    print(context, "host %.*s: %.*s\n", (int)host->name.size, host->name.data, (int)host->cpu_model.size,
          host->cpu_model.data);
    return OK;
}

static enum err print_series(void *context, const char *host, const struct run_series *series)
{
    print(context, "series of %s: %s %s:", host, series->set.name, series->instance);
    for (size_t i = 0; i < series->count; i++)
        print(context, " %llu=%llu", (unsigned long long)series->times_ns[i],
              (unsigned long long)series->values[i * series->set.size].u64);
    print(context, "\n");
    return OK;
}

static enum err print_details(struct store *store, int64_t row, struct contents *contents)
{
    enum err err = store_processes(store, row, print_process, contents);
    if (err == OK)
        err = store_top_processes(store, row, print_process, contents);
    if (err == OK)
        err = store_threads(store, row, print_thread, contents);
    if (err == OK)
        err = store_top_threads(store, row, print_thread, contents);
    if (err == OK)
        err = store_executables(store, row, print_executable, contents);
    if (err == OK)
        err = store_events(store, row, print_event, contents);
    if (err == OK)
        err = store_hosts(store, row, print_host, contents);
    if (err == OK)
        err = store_series(store, row, print_series, contents);
    return err;
}

/* All jobs, the details of job-1, which every database here has, and the series of a node. */
static enum err read_all(struct contents *contents)
{
    struct store *store;
    struct store_job job;
    char *message;
    contents->size = 0;
    enum err err = store_open(&store, path, STORE_READ, &message);
    assert_true(err == OK || err == NOMEM || (message && *message));
    free(message);
    if (err != OK)
        return err;
    err = store_jobs(store, &(struct store_filter){ 0 }, print_job, contents);
    if (err == OK && (err = store_job(store, "job-1", &job)) == OK) {
        err = print_details(store, job.row, contents);
        store_job_clear(&job);
    }
    if (err == OK)
        err = store_node_series(store, "node7", print_series, contents);
    assert_true(err == OK || err == NOMEM || *store_message(store));
    store_close(&store);
    return err;
}

static struct fake_run first, second;

static enum err save(struct store *store)
{
    return store_save_run(store, &second.run);
}

static enum err save_again(struct store *store)
{
    return store_save_run(store, &first.run);
}

static enum err append_series(struct append *append, const struct append_run *run)
{
    static const struct metric metrics[] = { { .name = "busy", .unit = "us", .kind = COUNTER, .type = U64, .help = "" } };
    static const struct set set = { .name = "cpu", .metrics = metrics, .size = 1 };
    struct run_series series = { .set = set, .instance = "0", .count = 2, .times_ns = (uint64_t[]){ 100, 200 },
                                 .values = (union value[]){ { .u64 = 5 }, { .u64 = 6 } }, .known = (uint8_t[]){ 1, 1 } };
    struct append_track track;
    int64_t job, row;
    enum err err = append_run(append, run, &job, &row);
    if (err == OK)
        err = append_track(append, row, &set, "0", &track);
    return err == OK ? append_chunk(append, job, row, &track, &series, 7) : err;
}

/* Batches 1 to 9 of a stream, unless they are saved: series of a node and of a job. */
static enum err append_batches(struct append *append, struct ranges *saved)
{
    static const struct job running = { .id = "4711", .other_id = "", .source = "slurm", .user = "anna", .uid = 1000,
                                        .start_ns = 100, .cgroup = "" };
    struct append_run run = { .host = "node7", .start_ns = 100, .end_ns = 200, .period_ns = 10 };
    uint64_t before;
    enum err err = append_read_saved(append->store, "node7", 42, saved);
    if (err != OK || saved->count)
        return err;
    err = append_count(append, &before);
    if (err == OK)
        err = append_series(append, &run);
    run.job = &running;
    if (err == OK)
        err = append_series(append, &run);
    return err == OK ? append_add_saved(append, "node7", 42, (struct range){ 1, 9 }, saved) : err;
}

static enum err append(struct store *store)
{
    struct append append;
    enum err err = append_begin(&append, store);
    if (err != OK)
        return err;
    struct ranges saved = { 0 };
    err = append_batches(&append, &saved);
    ranges_clear(&saved);
    if (err == OK)
        return append_commit(&append);
    append_roll_back(&append);
    return err;
}

static enum err open_and_run(struct store **store, enum err (*operation)(struct store *store))
{
    char *message;
    enum err err = store_open(store, path, STORE_WRITE, &message);
    assert_true(err == OK || err == NOMEM || (message && *message));
    free(message);
    if (err == OK && operation) {
        err = operation(*store);
        assert_true(err == OK || err == NOMEM || *store_message(*store));
    }
    return err;
}

/* Opens the database for an operation, if there is one, and closes it. */
static enum err run_operation(enum err (*operation)(struct store *store))
{
    struct store *store;
    enum err err = open_and_run(&store, operation);
    store_close(&store);
    return err;
}

/* Nothing has changed after an error. If the write-ahead log could not be synced, the transaction is in the log all the same, and
 * the next process to open the database finds it. That loses nothing: saving it again replaces it. */
static void assert_contents(const struct contents *before, const struct contents *after, enum err err, enum fault_kind kind)
{
    static struct contents got;
    assert_int_equal(read_all(&got), OK);
    if (err == OK || (kind == FAULT_WRITE && strcmp(got.text, after->text) == 0))
        before = after;
    assert_string_equal(got.text, before->text);
}

/* Creating a database takes much longer than copying one. */
struct copy {
    char bytes[1 << 20];
    size_t size;
};

static void set_up_copy(struct copy *copy, void (*create)(void))
{
    temp_dir(dir);
    temp_join(path, dir, "sonde.db");
    if (copy->size) {
        temp_write(path, copy->bytes, copy->size);
        return;
    }
    create();
    assert_int_equal(file_read("", path, copy->bytes, sizeof copy->bytes, &copy->size), OK);
    assert_true(copy->size < sizeof copy->bytes - 1);
}

static void create_with_first_run(void)
{
    struct store *store = fixture_open(path, STORE_WRITE);
    fixture_file(store, &first.run);
    db_checkpoint(store);
    store_close(&store);
}

static void set_up_database(void)
{
    static struct copy copy;
    set_up_copy(&copy, create_with_first_run);
}

static void try_writing(struct fault fault, enum err (*operation)(struct store *store))
{
    static struct contents before, after;
    set_up_database();
    assert_int_equal(read_all(&before), OK);
    assert_int_equal(run_operation(operation), OK);
    assert_int_equal(read_all(&after), OK);
    for (temp_remove(dir), set_up_database(); faults_next(&fault); temp_remove(dir), set_up_database()) {
        struct store *store;
        enum err err = open_and_run(&store, operation);
        if (!faults_end(&fault))
            assert_int_equal(err, OK);
        assert_contents(&before, &after, err, fault.kind);
        if (store)
            assert_int_equal(operation(store), OK); /* again with the same connection, as collectors do after an error */
        else
            assert_int_equal(run_operation(operation), OK);
        store_close(&store);
        assert_contents(&before, &after, OK, fault.kind);
        if (fault.kind == FAULT_WRITE)
            assert_sql(path, "SELECT " INTEGRITY_SQL, " ok");
    }
    temp_remove(dir);
    assert_true(fault.number > 5);
}

static const struct fault faults[] = {
    { .kind = FAULT_MEMORY },
    { .kind = FAULT_READ },
    { .kind = FAULT_WRITE },
    { .kind = FAULT_WRITE, .error = ENOSPC, .halves = true, .lasts = true },
    { .kind = FAULT_SQLITE_MEMORY, .step = 499 },
};
#define FAULT_COUNT (sizeof faults / sizeof *faults)

static void save_while_calls_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAULT_COUNT; i++)
        try_writing(faults[i], save);
}

static void save_again_while_calls_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAULT_COUNT; i++)
        try_writing(faults[i], save_again);
}

static void append_while_calls_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAULT_COUNT; i++)
        try_writing(faults[i], append);
}

static void read_while_calls_fail(void **state)
{
    (void)state;
    static struct contents want, got;
    set_up_database();
    assert_int_equal(run_operation(append), OK);
    assert_int_equal(read_all(&want), OK);
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        if (faults[i].kind == FAULT_WRITE)
            continue;
        struct fault fault = faults[i];
        while (faults_next(&fault)) {
            enum err err = read_all(&got);
            if (!faults_end(&fault))
                assert_int_equal(err, OK);
            if (err == OK)
                assert_string_equal(got.text, want.text);
        }
            assert_true(fault.number > 5);
    }
    temp_remove(dir);
}

/* A database that could not be created is created by the next try. */
static void create_while_calls_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        struct fault fault = faults[i];
        for (temp_dir(dir); faults_next(&fault); temp_remove(dir), temp_dir(dir)) {
            temp_join(path, dir, "new/sonde.db");
            enum err err = run_operation(NULL);
            if (!faults_end(&fault))
                assert_int_equal(err, OK);
            assert_int_equal(run_operation(save_again), OK);
            assert_sql(path, "SELECT count(*) || " INTEGRITY_SQL " FROM jobs", "1 ok");
        }
        temp_remove(dir);
            assert_true(fault.number > 5);
    }
}

/* With one job. */
static void create_version_3(void)
{
    char sql[512];
    snprintf(sql, sizeof sql, "INSERT INTO jobs (id, job_id, \"user\") VALUES (7, 'old', 'anna'); PRAGMA user_version = 3;"
             "PRAGMA application_id = %d; INSERT INTO meta VALUES ('schema', '3')", SCHEMA_APPLICATION_ID);
    const char *const steps[] = { schema_version_1, schema_indexes_1, schema_version_2, schema_version_3, sql };
    fixture_exec(path, "PRAGMA journal_mode = WAL");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        fixture_exec(path, steps[i]);
}

static void set_up_version_3(void)
{
    static struct copy copy;
    set_up_copy(&copy, create_version_3);
}

/* An upgrade is complete, or has not happened. */
static void upgrade_while_calls_fail(void **state)
{
    (void)state;
    char version[8];
    snprintf(version, sizeof version, "%d", migration_count);
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        struct fault fault = faults[i];
        for (set_up_version_3(); faults_next(&fault); temp_remove(dir), set_up_version_3()) {
            enum err err = run_operation(NULL);
            if (!faults_end(&fault))
                assert_int_equal(err, OK);
            if (err == OK)
                assert_sql(path, VERSION_SQL, version);
            assert_sql(path, "SELECT user FROM jobs WHERE job_id = 'old' AND id = 7", "anna");
            assert_int_equal(run_operation(save_again), OK);
            assert_sql(path, VERSION_SQL, version);
            assert_sql(path, "SELECT group_concat(job_id, ' ') || " INTEGRITY_SQL " FROM (SELECT job_id FROM jobs ORDER BY id)",
                       "old job-1 ok");
        }
        temp_remove(dir);
        assert_true(fault.number > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_while_calls_fail),
        cmocka_unit_test(create_while_calls_fail),
        cmocka_unit_test(upgrade_while_calls_fail),
        cmocka_unit_test(save_while_calls_fail),
        cmocka_unit_test(save_again_while_calls_fail),
        cmocka_unit_test(append_while_calls_fail),
    };
    faults_init_sqlite();
    fake_run_make(&first, &(struct fake_shape){ .processes = 12, .threads = 2, .events = 2, .samples = 3 });
    fake_run_make(&second, &(struct fake_shape){ .run_id = "run-2", .job_id = "job-2", .processes = 12, .threads = 2,
                                                 .events = 2, .samples = 3 });
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fake_run_clear(&first);
    fake_run_clear(&second);
    return failed;
}
