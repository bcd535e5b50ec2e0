/* Runs round-trip through the job database: alone, with others of their job, and replacing themselves. */
#include "store/store.h"

#include "tools/store_fixture.h"

#include <signal.h>

static void assert_same_bytes(struct bytes a, struct bytes b)
{
    assert_int_equal(a.size, b.size);
    if (a.size)
        assert_memory_equal(a.data, b.data, a.size);
}

static void assert_same_counters(const struct counters *a, const struct counters *b)
{
    assert_int_equal(a->known, b->known);
    for (int i = 0; i < COUNTERS_SIZE; i++)
        if (counters_has(a, (enum counter)i))
            assert_int_equal(a->value[i], b->value[i]);
}

/* What the callback compares with: process i of run is number first + i. */
struct expected {
    const struct run *run;
    uint32_t first;
    size_t seen, others;
};

static void assert_same_facts(const struct process *got, const struct process *want)
{
    assert_int_equal(got->pid, want->pid);
    assert_int_equal(got->ppid, want->ppid);
    assert_int_equal(got->pgid, want->pgid);
    assert_int_equal(got->pgid_known, want->pgid_known);
    assert_int_equal(got->sid, want->sid);
    assert_int_equal(got->sid_known, want->sid_known);
    assert_int_equal(got->uid, want->uid);
    assert_int_equal(got->uid_known, want->uid_known);
    assert_int_equal(got->image, want->image);
    assert_int_equal(got->start_ns, want->start_ns);
    assert_int_equal(got->end_ns, want->end_ns);
    assert_int_equal(got->state, want->state);
    assert_int_equal(got->status_known, want->status_known);
    assert_int_equal(got->exit_code, want->exit_code);
    assert_int_equal(got->exit_signal, want->exit_signal);
    assert_int_equal(got->sources, want->sources);
    assert_int_equal(got->thread_count, want->thread_count);
    assert_int_equal(got->inclusive_cpu_us, want->inclusive_cpu_us);
    assert_same_bytes(got->path, want->path);
    assert_same_bytes(got->name, want->name);
    assert_same_bytes(got->args, want->args);
    assert_same_bytes(got->cwd, want->cwd);
    assert_same_bytes(got->tags, want->tags);
    assert_same_counters(&got->counters, &want->counters);
}

static enum err compare_process(void *context, uint32_t number, const struct process *got)
{
    struct expected *expected = context;
    if (number < expected->first || number - expected->first >= expected->run->process_count) {
        expected->others++;
        return OK;
    }
    const struct process *want = &expected->run->processes[number - expected->first];
    assert_int_equal(number - expected->first, expected->seen++);
    assert_int_equal(got->parent, want->parent == PROCESS_NO_PARENT ? PROCESS_NO_PARENT : want->parent + expected->first);
    assert_int_equal(got->last, want->last + expected->first);
    assert_same_facts(got, want);
    return OK;
}

static void assert_processes(struct store *store, int64_t row, const struct run *run, uint32_t first, size_t others)
{
    struct expected expected = { .run = run, .first = first };
    assert_int_equal(store_processes(store, row, compare_process, &expected), OK);
    assert_int_equal(expected.seen, run->process_count);
    assert_int_equal(expected.others, others);
}

static void a_job_round_trips(void **state)
{
    struct store_fixture *fixture = *state;
    struct fake_run fake;
    fake_run_make(&fake, &(struct fake_shape){ .processes = 500, .threads = 4, .samples = 10 });
    fake.run.gaps = (struct run_gaps){ 1, 2, 3, 4 };
    fixture_file(fixture->store, &fake.run);
    struct store_job job = fixture_job(fixture->store, "job-1");
    assert_string_equal(job.job_id, "job-1");
    assert_string_equal(job.name, "build");
    assert_string_equal(job.user, "somebody");
    assert_string_equal(job.cwd, "/home/somebody/project");
    assert_string_equal(job.tags, "exp:alpha;member:3");
    assert_string_equal(job.hosts, "node01");
    assert_same_bytes(job.command, fake.run.command);
    assert_int_equal(job.uid, 1000);
    assert_int_equal(job.start_ns, fake.run.start_ns);
    assert_int_equal(job.end_ns, fake.run.end_ns);
    assert_true(job.ended && job.status_known);
    assert_int_equal(job.exit_code, 2);
    assert_int_equal(job.exit_signal, 0);
    assert_int_equal(job.host_count, 1);
    assert_int_equal(job.cores, 16);
    assert_int_equal(job.memory_bytes, 64ull << 30);
    assert_int_equal(job.cores_allowed_milli, 4000);
    assert_int_equal(job.memory_limit_bytes, 8ull << 30);
    assert_int_equal(job.period_ns, 1000000000);
    assert_processes(fixture->store, job.row, &fake.run, 0, 0);
    store_job_clear(&job);
    fake_run_clear(&fake);
}

static void the_summary_round_trips(void **state)
{
    struct store_fixture *fixture = *state;
    struct fake_run fake;
    struct summary want;
    fake_run_make(&fake, &(struct fake_shape){ .processes = 500, .threads = 4, .samples = 10 });
    fake.run.gaps = (struct run_gaps){ 1, 2, 3, 4 };
    fixture_file(fixture->store, &fake.run);
    struct store_job job = fixture_job(fixture->store, "job-1");
    summary_of_run(&want, &fake.run);
    assert_true(want.processes && want.failed && want.short_wall_ns && want.live_peak && want.rss_peak_bytes);
#define X(field) assert_int_equal(job.summary.field, want.field);
    SUMMARY_SUMS(X)
    SUMMARY_PEAKS(X)
#undef X
#define X(field) assert_int_equal(job.summary.gaps.field, want.gaps.field);
    SUMMARY_GAPS(X)
#undef X
    assert_same_counters(&job.summary.sum, &want.sum);
    assert_same_counters(&job.summary.total, &want.total);
    store_job_clear(&job);
    fake_run_clear(&fake);
}

static void unknown_values_stay_unknown(void **state)
{
    struct store_fixture *fixture = *state;
    struct process processes[] = { { .parent = PROCESS_NO_PARENT, .last = 1 }, { .parent = 0, .last = 1 } };
    struct run run = { .id = bytes_of("r"), .job_id = bytes_of("j"), .processes = processes, .process_count = 2 };
    counters_set(&processes[1].counters, COUNTER_majflt, 0);
    processes[0].events = processes[1].events = UINT32_MAX;
    fixture_file(fixture->store, &run);
    struct store_job job = fixture_job(fixture->store, "j");
    assert_processes(fixture->store, job.row, &run, 0, 0);
    assert_false(job.status_known || job.ended);
    assert_int_equal(job.start_ns, 0);
    assert_int_equal(job.cores, 0);
    assert_string_equal(job.user, "");
    assert_int_equal(job.command.size, 0);
    assert_int_equal(job.summary.sum.known, 1ull << COUNTER_majflt);
    assert_int_equal(job.summary.total.known, 0);
    store_job_clear(&job);
    assert_sql(fixture->path, "SELECT count(*) FROM processes WHERE pid IS NULL AND pgid IS NULL AND exit_code IS NULL AND"
               " start_ns IS NULL AND usertime IS NULL AND args IS NULL AND directory IS NULL", "2");
    assert_sql(fixture->path, "SELECT majflt FROM processes WHERE number = 0", "");
    assert_sql(fixture->path, "SELECT majflt FROM processes WHERE number = 1", "0");
    assert_sql(fixture->path, "SELECT cores FROM jobs", "");
}

/* Known in one process and unknown in the next: the statement must not keep the value. */
static void values_are_not_carried_over_to_the_next_process(void **state)
{
    struct store_fixture *fixture = *state;
    struct fake_run fake;
    fake_run_make(&fake, &(struct fake_shape){ .processes = 9 });
    for (size_t i = 1; i < 9; i += 2) {
        struct process *process = &fake.run.processes[i];
        process->counters.known = 0x5 << i;
        process->status_known = process->pgid_known = process->uid_known = false;
        process->exit_code = 0;
        process->pgid = process->uid = 0;
        process->args = process->cwd = (struct bytes){ 0 };
        process->tags = bytes_of(i % 4 == 1 ? "a:1" : "a:2");
        process->start_ns = process->end_ns = 0;
    }
    fixture_file(fixture->store, &fake.run);
    struct store_job job = fixture_job(fixture->store, NULL);
    assert_processes(fixture->store, job.row, &fake.run, 0, 0);
    store_job_clear(&job);
    fake_run_clear(&fake);
}

static void any_bytes_are_kept(void **state)
{
    struct store_fixture *fixture = *state;
    struct fake_run fake;
    char *big = malloc(100001);
    memset(big, 'x', 100000);
    big[100000] = '\0';
    fake_run_make(&fake, &(struct fake_shape){ .processes = 4, .job_id = "caf\xc3\xa9", .name = "bad\xffname" });
    fake.run.command = (struct bytes){ "a b\0\xff\0\0it's\n", sizeof "a b\0\xff\0\0it's\n" };
    fake.run.cwd = bytes_of("/tmp/\xfe\nnew");
    fake.run.processes[1].args = (struct bytes){ "x\0\n\0\xff\xfe\0\0$'\\n'", sizeof "x\0\n\0\xff\xfe\0\0$'\\n'" };
    fake.run.processes[1].path = bytes_of("/tmp/\xff/prog");
    fake.run.processes[1].name = bytes_of("\xff");
    fake.run.processes[2].cwd = bytes_of("/tmp/\xff");
    fake.run.processes[2].tags = bytes_of("k:\xff");
    fake.run.processes[3].args = (struct bytes){ big, 100001 };
    fixture_file(fixture->store, &fake.run);
    struct store_job job = fixture_job(fixture->store, "caf\xc3\xa9");
    assert_string_equal(job.name, "bad\xffname");
    assert_string_equal(job.cwd, "/tmp/\xfe\nnew");
    assert_same_bytes(job.command, fake.run.command);
    assert_processes(fixture->store, job.row, &fake.run, 0, 0);
    assert_sql(fixture->path, "SELECT group_concat(typeof(args), ' ') FROM processes", "text text text text");
    assert_sql(fixture->path, "SELECT typeof(path) FROM process WHERE number = 1", "blob");
    store_job_clear(&job);
    fake_run_clear(&fake);
    free(big);
}

static void two_runs_with_one_job_id_share_it(void **state)
{
    struct store_fixture *fixture = *state;
    struct fake_run a, b;
    struct summary sum, more;
    fake_run_make(&a, &(struct fake_shape){ .run_id = "a", .processes = 20, .host = "node02", .tags = "exp:alpha;x:1",
                                            .start_ns = 2000000000000000000ull, .samples = 3 });
    fake_run_make(&b, &(struct fake_shape){ .run_id = "b", .processes = 30, .host = "node01", .tags = "x:2;flag",
                                            .start_ns = 1900000000000000000ull, .samples = 5, .name = "other" });
    b.run.exit_code = 7;
    b.run.host.cores = 8;
    b.run.memory_limit_bytes = 0;
    fixture_file(fixture->store, &a.run);
    fixture_file(fixture->store, &b.run);
    struct store_job job = fixture_job(fixture->store, "job-1");
    assert_processes(fixture->store, job.row, &a.run, 0, 30);
    assert_processes(fixture->store, job.row, &b.run, 20, 20);
    assert_int_equal(job.start_ns, b.run.start_ns);
    assert_int_equal(job.end_ns, a.run.end_ns);
    assert_string_equal(job.hosts, "node01 node02");
    assert_string_equal(job.name, "other"); /* of the run that started first */
    assert_string_equal(job.tags, "exp:alpha;flag;x:1");
    assert_int_equal(job.exit_code, 2);     /* both failed: of the run that ended last */
    assert_int_equal(job.host_count, 2);
    assert_int_equal(job.cores, 24);
    assert_int_equal(job.cores_allowed_milli, 8000);
    assert_int_equal(job.memory_limit_bytes, 0);
    summary_of_run(&sum, &a.run);
    summary_of_run(&more, &b.run);
    summary_add(&sum, &more);
    assert_int_equal(job.summary.images, 50);
    assert_int_equal(job.summary.threads_peak, sum.threads_peak);
    assert_same_counters(&job.summary.sum, &sum.sum);
    assert_sql(fixture->path, "SELECT count(*) FROM jobs", "1");
    a.run.exit_code = 0;
    fixture_file(fixture->store, &a.run);
    assert_sql(fixture->path, "SELECT exit_code FROM jobs", "7"); /* the batch system reports a failure, too */
    b.run.exit_code = 0;
    fixture_file(fixture->store, &b.run);
    assert_sql(fixture->path, "SELECT exit_code FROM jobs", "0");
    store_job_clear(&job);
    fake_run_clear(&a);
    fake_run_clear(&b);
}

/* The contents of all tables, for comparing two databases. */
static void dump(const char *path, struct buf *out)
{
    static const char *const tables[] = { "processes", "threads", "run_executables", "top_processes", "top_threads",
                                          "run_events", "process_events", "thread_events", "series", "jobs", "runs" };
    sqlite3 *db;
    buf_reset(out);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        sqlite3_stmt *statement;
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT * FROM %s", tables[i]);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW)
            for (int column = 0; column < sqlite3_column_count(statement); column++) {
                buf_add(out, sqlite3_column_blob(statement, column), (size_t)sqlite3_column_bytes(statement, column));
                buf_add_char(out, '|');
            }
        sqlite3_finalize(statement);
    }
    sqlite3_close(db);
}

static void saving_again_changes_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    struct fake_run fake;
    struct buf before, after;
    buf_init(&before, 1 << 26);
    buf_init(&after, 1 << 26);
    fake_run_make(&fake, &(struct fake_shape){ .processes = 300, .threads = 3, .samples = 9, .events = 2 });
    fixture_file(fixture->store, &fake.run);
    dump(fixture->path, &before);
    fixture_file(fixture->store, &fake.run);
    dump(fixture->path, &after);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, before.size);
    buf_clear(&before);
    buf_clear(&after);
    fake_run_clear(&fake);
}

static void a_run_saved_again_replaces_only_itself(void **state)
{
    struct store_fixture *fixture = *state;
    struct fake_run early, late, between;
    struct fake_shape shape = { .run_id = "daemons", .processes = 20, .threads = 3, .samples = 4, .events = 2 };
    fake_run_make(&early, &shape);
    shape.run_id = "between";
    shape.processes = 30;
    fake_run_make(&between, &shape);
    fake_run_make(&late, &(struct fake_shape){ .run_id = "daemons", .processes = 25, .threads = 2, .events = 1,
                                               .samples = 6 });
    fixture_file(fixture->store, &early.run);
    fixture_file(fixture->store, &between.run);
    fixture_file(fixture->store, &late.run);
    struct store_job job = fixture_job(fixture->store, "job-1");
    assert_int_equal(job.summary.images, 55);
    assert_processes(fixture->store, job.row, &between.run, 20, 25);
    assert_processes(fixture->store, job.row, &late.run, 50, 30);
    store_job_clear(&job);
    assert_sql(fixture->path, "SELECT count(*) FROM runs", "2");
    assert_sql(fixture->path, "SELECT count(*) FROM processes", "55");
    assert_sql(fixture->path, "SELECT count(*) FROM threads WHERE process < 20", "0");
    assert_sql(fixture->path, "SELECT count(*) FROM process_events", "85"); /* 30 x 2 + 25 */
    assert_sql(fixture->path, "SELECT count(DISTINCT run) FROM series", "2");
    assert_sql(fixture->path, "SELECT sum(count) FROM run_executables", "55");
    assert_sql(fixture->path, "SELECT count(*) FROM top_processes t WHERE NOT EXISTS"
               " (SELECT 1 FROM processes p WHERE p.job = t.job AND p.number = t.process AND p.run = t.run)", "0");
    fake_run_clear(&early);
    fake_run_clear(&between);
    fake_run_clear(&late);
}

static void a_run_may_move_to_another_job(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_job job;
    fixture_save_run(fixture->store, (struct fake_shape){ .run_id = "r", .job_id = "wrong", .processes = 20 });
    fixture_save_run(fixture->store, (struct fake_shape){ .run_id = "r", .job_id = "right", .processes = 20 });
    assert_int_equal(store_job(fixture->store, "wrong", &job), ABSENT);
    job = fixture_job(fixture->store, "right");
    store_job_clear(&job);
    assert_sql(fixture->path, "SELECT count(*) FROM processes", "20");
    assert_sql(fixture->path, "SELECT count(*) FROM job_tags", "2");
}

static void a_run_without_processes_or_job_id_is_saved(void **state)
{
    struct store_fixture *fixture = *state;
    struct run run = { .id = bytes_of("alone") };
    fixture_file(fixture->store, &run);
    fixture_file(fixture->store, &run);
    struct store_job job = fixture_job(fixture->store, "alone");
    assert_int_equal(job.summary.images, 0);
    store_job_clear(&job);
    assert_int_equal(store_save_run(fixture->store, &(struct run){ 0 }), USAGE);
}

static void a_reader_cannot_save(void **state)
{
    struct store_fixture *fixture = *state;
    struct run run = { .id = bytes_of("r") };
    struct store *reader = fixture_open(fixture->path, STORE_READ);
    assert_int_equal(store_save_run(reader, &run), USAGE);
    store_close(&reader);
}

/* Every table in turn refuses new rows: saving fails, and nothing of the run stays. */
static void refused_row_fails_the_save(void **state)
{
    struct store_fixture *fixture = *state;
    const struct fake_shape shape = { .run_id = "a", .processes = 100, .threads = 3, .events = 2, .samples = 50 };
    char names[64][64], sql[5000], path[TEMP_PATH_MAX], *message;
    size_t count = 0, refused = 0;
    struct fake_run fake;
    struct store *store;
    sqlite3 *db;
    sqlite3_stmt *statement;
    fixture_save_run(fixture->store, shape);
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
                                        " AND name <> 'meta'", -1, &statement, NULL), SQLITE_OK);
    while (count < 64 && sqlite3_step(statement) == SQLITE_ROW)
        snprintf(names[count++], sizeof names[0], "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    for (size_t i = 0; i < count; i++) {
        snprintf(sql, sizeof sql, "SELECT 1 FROM %s", names[i]);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        bool is_used = sqlite3_step(statement) == SQLITE_ROW;
        sqlite3_finalize(statement);
        if (!is_used)
            continue;
        temp_join(path, fixture->dir, names[i]);
        assert_int_equal(store_open(&store, path, STORE_WRITE, &message), OK);
        snprintf(sql, sizeof sql, "CREATE TRIGGER refuse BEFORE INSERT ON %s BEGIN SELECT RAISE(ABORT, 'no'); END", names[i]);
        fixture_exec(path, sql);
        fake_run_make(&fake, &shape);
        if (store_save_run(store, &fake.run) == OK)
            fail_msg("saved although table %s refuses rows", names[i]);
        fake_run_clear(&fake);
        assert_sql(path, "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM jobs)", "0");
        store_close(&store);
        refused++;
    }
    sqlite3_close(db);
    assert_true(refused >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_job_round_trips),
        STORE_TEST(the_summary_round_trips),
        STORE_TEST(unknown_values_stay_unknown),
        STORE_TEST(values_are_not_carried_over_to_the_next_process),
        STORE_TEST(any_bytes_are_kept),
        STORE_TEST(two_runs_with_one_job_id_share_it),
        STORE_TEST(saving_again_changes_nothing),
        STORE_TEST(a_run_saved_again_replaces_only_itself),
        STORE_TEST(a_run_may_move_to_another_job),
        STORE_TEST(a_run_without_processes_or_job_id_is_saved),
        STORE_TEST(a_reader_cannot_save),
        STORE_TEST(refused_row_fails_the_save),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
