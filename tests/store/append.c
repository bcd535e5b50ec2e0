/* Saving while data is arriving: rows of runs and jobs, series that grow, saved sequences of streams. */
#include "store/append.h"

#include "model/batch.h"
#include "store/db.h"
#include "tools/store_fixture.h"

#define START_NS 1700000000000000000ull
#define SECOND 1000000000ull

static const struct metric metrics[] = {
    { .name = "busy", .unit = "us", .kind = COUNTER, .type = U64, .help = "" },
    { .name = "load", .unit = "1", .kind = GAUGE, .type = F64, .help = "" },
    { .name = "balance", .unit = "1", .kind = GAUGE, .type = I64, .help = "" },
};
static const struct set cpu_set = { .name = "cpu", .metrics = metrics, .size = 3 };

static const struct job running = { .id = "4711", .other_id = "", .source = "slurm", .user = "anna", .uid = 1000,
                                    .start_ns = START_NS, .cores_milli = 4000, .memory_bytes = 1 << 30, .cgroup = "" };

static struct append_run run_of(const struct job *job)
{
    return (struct append_run){ .host = "node7", .job = job, .start_ns = START_NS, .end_ns = START_NS + 9 * SECOND,
                                .period_ns = SECOND, .memory_peak_bytes = 5000, .lost = 2 };
}

static void begin(struct append *append, struct store_fixture *fixture)
{
    assert_int_equal(append_begin(append, fixture->store), OK);
}

/* Saves rows of one series, at these seconds, in a transaction of their own; busy is the second plus more. */
static void save_rows(struct store_fixture *fixture, const struct append_run *run, const char *instance,
                      const uint64_t *seconds, size_t count, uint64_t more, uint8_t salt)
{
    struct append append;
    struct append_track track;
    int64_t job, row;
    uint64_t times_ns[8];
    union value values[24];
    uint8_t known[24];
    for (size_t i = 0; i < count; i++) {
        times_ns[i] = START_NS + seconds[i] * SECOND;
        values[3 * i].u64 = seconds[i] + more;
        values[3 * i + 1].f64 = 0.5;
        values[3 * i + 2].i64 = -3;
        memset(known + 3 * i, 1, 3);
    }
    struct run_series series = { .set = cpu_set, .instance = instance, .count = count, .times_ns = times_ns,
                                 .values = values, .known = known };
    begin(&append, fixture);
    assert_int_equal(append_run(&append, run, &job, &row), OK);
    assert_int_equal(append_track(&append, row, &cpu_set, instance, &track), OK);
    assert_int_equal(append_chunk(&append, job, row, &track, &series, salt), OK);
    assert_int_equal(append_commit(&append), OK);
}

static enum err print_series(void *context, const char *host, const struct run_series *series)
{
    buf_printf(context, "%s/%s%s:", host, series->instance, series->by_agent ? " by agent" : "");
    for (size_t i = 0; i < series->count; i++)
        buf_printf(context, " %d=%d,%.1f,%d", (int)((series->times_ns[i] - START_NS) / SECOND),
                   (int)series->values[3 * i].u64, series->values[3 * i + 1].f64, (int)series->values[3 * i + 2].i64);
    buf_add_text(context, "\n");
    return OK;
}

static void assert_series(struct store *store, const char *node, const char *want)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    struct store_job job = { 0 };
    if (node) {
        assert_int_equal(store_node_series(store, node, print_series, &text), OK);
    } else {
        job = fixture_job(store, "4711");
        assert_int_equal(store_series(store, job.row, print_series, &text), OK);
        store_job_clear(&job);
    }
    assert_string_equal(buf_text(&text), want);
    buf_clear(&text);
}

static void run_is_inserted_and_then_updated(void **state)
{
    struct store_fixture *fixture = *state;
    struct append append;
    int64_t job[2], row[2];
    struct append_run run = run_of(&running);
    begin(&append, fixture);
    assert_int_equal(append_run(&append, &run, &job[0], &row[0]), OK);
    assert_int_equal(append_commit(&append), OK);
    assert_true(job[0] > 0 && row[0] > 0);
    assert_sql(fixture->path, "SELECT ended || ' ' || uid || ' ' || cores_allowed_milli || ' ' || rss_peak_bytes FROM runs",
               "0 1000 4000 5000");
    assert_sql(fixture->path, "SELECT total_usertime IS NULL FROM runs", "1");

    struct job ended = running;
    ended.end_ns = START_NS + 20 * SECOND;
    ended.uid = UINT32_MAX;
    run.job = &ended;
    run.end_ns = ended.end_ns;
    run.memory_peak_bytes = 7000;
    counters_set(&run.total, COUNTER_usertime, 123);
    counters_set(&run.total, COUNTER_write_bytes, 456);
    begin(&append, fixture);
    assert_int_equal(append_run(&append, &run, &job[1], &row[1]), OK);
    assert_int_equal(append_commit(&append), OK);
    assert_int_equal(job[0], job[1]);
    assert_int_equal(row[0], row[1]);
    assert_sql(fixture->path, "SELECT count(*) FROM runs", "1");
    assert_sql(fixture->path, "SELECT run_id || ' ' || ended || ' ' || rss_peak_bytes || ' ' || records_lost FROM runs",
               "agent/node7/4711 1 7000 2");
    assert_sql(fixture->path, "SELECT total_usertime || ' ' || total_write_bytes FROM runs", "123 456");
    assert_sql(fixture->path, "SELECT total_read_bytes IS NULL AND total_systemtime IS NULL AND uid = 1000 FROM runs", "1");
    struct store_job saved = fixture_job(fixture->store, "4711");
    assert_true(saved.ended);
    assert_int_equal(saved.end_ns, ended.end_ns);
    assert_string_equal(saved.user, "anna");
    assert_int_equal(saved.cores_allowed_milli, 4000);
    store_job_clear(&saved);
}

static int64_t append_job(struct store_fixture *fixture, const struct job *job)
{
    struct append append;
    struct append_run run = run_of(job);
    int64_t row, job_row;
    begin(&append, fixture);
    assert_int_equal(append_run(&append, &run, &job_row, &row), OK);
    assert_int_equal(append_commit(&append), OK);
    return job_row;
}

static void save_run_of(struct store_fixture *fixture, const char *run_id, uint32_t uid, const char *user)
{
    struct fake_run fake;
    fake_run_make(&fake, &(struct fake_shape){ .run_id = run_id, .job_id = "4711", .user = user, .processes = 3 });
    fake.run.uid = uid;
    fixture_file(fixture->store, &fake.run);
    fake_run_clear(&fake);
}

/* The same id of another owner is another job, whoever comes first, and nothing of the first one changes. */
static void owners_have_jobs_of_their_own(void **state)
{
    struct store_fixture *fixture = *state;
    struct job theirs = running;
    theirs.uid = 1001;
    theirs.user = "eve";
    save_run_of(fixture, "r1", 1001, "eve");
    int64_t job = append_job(fixture, &running);
    save_run_of(fixture, "r2", 1001, "eve");
    save_run_of(fixture, "r3", 1000, "anna");
    assert_int_not_equal(append_job(fixture, &theirs), job);
    assert_int_equal(append_job(fixture, &running), job);
    assert_sql(fixture->path, "SELECT group_concat(uid || user || processes, ' ') FROM jobs", "1001eve6 1000anna3");
    assert_sql(fixture->path, "SELECT group_concat(run_id, ' ') FROM (SELECT run_id FROM runs WHERE uid = 1001 ORDER BY id)",
               "r1 r2 agent//1001/node7/4711");
    assert_sql(fixture->path, "SELECT group_concat(run_id, ' ') FROM (SELECT run_id FROM runs WHERE uid = 1000 ORDER BY id)",
               "agent/node7/4711 r3");
}

/* An agent finds out late whose job it is: its run joins the job of the owner, with its series. */
static void owner_that_becomes_known(void **state)
{
    struct store_fixture *fixture = *state;
    struct job unknown = running;
    unknown.uid = UINT32_MAX;
    unknown.user = "";
    struct append_run run = run_of(&unknown);
    save_rows(fixture, &run, "0", (uint64_t[]){ 1 }, 1, 0, 0);
    save_run_of(fixture, "r1", 1000, "anna");
    assert_sql(fixture->path, "SELECT group_concat(coalesce(uid, '?'), ' ') FROM jobs", "? 1000");
    run.job = &running;
    save_rows(fixture, &run, "0", (uint64_t[]){ 2 }, 1, 0, 0);
    assert_sql(fixture->path, "SELECT group_concat(coalesce(uid, '?'), ' ') FROM jobs", "1000");
    assert_series(fixture->store, NULL, "node7/0 by agent: 1=1,0.5,-3 2=2,0.5,-3\n");
    save_rows(fixture, &(struct append_run){ .host = "node8", .job = &unknown }, "0", (uint64_t[]){ 1 }, 1, 0, 0);
    assert_sql(fixture->path, "SELECT count(*) FROM jobs", "1"); /* it is the job that another agent knows */
}

/* root may speak for everybody on a node, and its runs belong to the job in which they ran. */
static void run_of_root_joins_the_job_that_an_agent_has_seen(void **state)
{
    struct store_fixture *fixture = *state;
    append_job(fixture, &running);
    save_run_of(fixture, "r1", 0, "root");
    assert_sql(fixture->path, "SELECT group_concat(uid || user || processes, ' ') FROM jobs", "1000anna3");
}

#define FIGURES_SQL \
    "SELECT \"user\" || ' ' || uid || ' ' || ((start_ns - 1700000000000000000) / 1000000000) || ' ' ||" \
    " ((end_ns - 1700000000000000000) / 1000000000) || ' ' || ended || ' ' || cores_allowed_milli || ' ' || rss_peak_bytes" \
    " || ' ' || records_lost || ' ' || total_usertime || ' ' || total_systemtime || ' ' || total_read_bytes FROM jobs"

static void save(struct store_fixture *fixture, const struct append_run *run)
{
    struct append append;
    int64_t job, row;
    begin(&append, fixture);
    assert_int_equal(append_run(&append, run, &job, &row), OK);
    assert_int_equal(append_commit(&append), OK);
}

/* A restarted agent finds the cgroup of a job that has ended, or reports the end of a job of which it has no sample. */
static void a_restart_loses_no_figures(void **state)
{
    struct store_fixture *fixture = *state;
    struct job ended = running, unknown = { .id = "4711", .other_id = "", .source = "slurm", .user = "", .uid = UINT32_MAX,
                                            .start_ns = START_NS + 3 * SECOND, .cgroup = "" };
    struct append_run run = run_of(&ended), again = { .host = "node7", .job = &unknown, .start_ns = START_NS + 3 * SECOND };
    ended.end_ns = START_NS + 9 * SECOND;
    counters_set(&run.total, COUNTER_usertime, 3000);
    counters_set(&run.total, COUNTER_systemtime, 1000);
    counters_set(&run.total, COUNTER_read_bytes, 77);
    save(fixture, &run);
    assert_sql(fixture->path, FIGURES_SQL, "anna 1000 0 9 1 4000 5000 2 3000 1000 77");
    again.end_ns = START_NS + 50 * SECOND;
    save(fixture, &again);
    assert_sql(fixture->path, FIGURES_SQL, "anna 1000 0 9 1 4000 5000 2 3000 1000 77");
    counters_set(&again.total, COUNTER_usertime, 3500); /* a later sample, of a cgroup that was not removed at once */
    counters_set(&again.total, COUNTER_systemtime, 600);
    save(fixture, &again);
    assert_sql(fixture->path, FIGURES_SQL, "anna 1000 0 9 1 4000 5000 2 3500 600 77");
}

/* Jobs may be requeued under the same id: the next one starts from 0. */
static void another_job_with_the_same_id_replaces_it(void **state)
{
    struct store_fixture *fixture = *state;
    struct job ended = running, next = running;
    struct append_run run = run_of(&ended), other = run_of(&next);
    ended.end_ns = START_NS + 9 * SECOND;
    counters_set(&run.total, COUNTER_usertime, 3000);
    counters_set(&run.total, COUNTER_systemtime, 1000);
    counters_set(&run.total, COUNTER_read_bytes, 77);
    save(fixture, &run);
    other.start_ns = next.start_ns = START_NS + 20 * SECOND;
    other.end_ns = START_NS + 21 * SECOND;
    counters_set(&other.total, COUNTER_usertime, 5);
    counters_set(&other.total, COUNTER_systemtime, 6);
    counters_set(&other.total, COUNTER_read_bytes, 7);
    save(fixture, &other);
    assert_sql(fixture->path, FIGURES_SQL, "anna 1000 20 21 0 4000 5000 2 5 6 7");
}

static enum err count_job(void *context, const struct store_job *job)
{
    (void)job;
    ++*(unsigned *)context;
    return OK;
}

static unsigned count_since(struct store_fixture *fixture, uint64_t since_ns)
{
    unsigned count = 0;
    assert_int_equal(store_jobs(fixture->store, &(struct store_filter){ .since_ns = since_ns }, count_job, &count), OK);
    return count;
}

/* Its row is updated once a minute, but it runs until now. */
static void running_job_is_found_by_recent_times(void **state)
{
    struct store_fixture *fixture = *state;
    struct job ended = running;
    struct append_run run = run_of(&running);
    save(fixture, &run);
    assert_int_equal(count_since(fixture, START_NS + 60 * SECOND), 1);
    assert_int_equal(count_since(fixture, START_NS + 600 * SECOND), 0); /* no data for minutes: it was interrupted */
    ended.end_ns = run.end_ns;
    run.job = &ended;
    save(fixture, &run);
    assert_int_equal(count_since(fixture, START_NS + 60 * SECOND), 0);
    assert_int_equal(count_since(fixture, START_NS + 5 * SECOND), 1);
}

static void running_job_has_not_ended(void **state)
{
    struct store_fixture *fixture = *state;
    struct append_run run = run_of(&running);
    save_rows(fixture, &run, "0", (uint64_t[]){ 1 }, 1, 0, 0);
    struct store_job saved = fixture_job(fixture->store, "4711");
    assert_false(saved.ended);
    assert_int_equal(saved.uid, 1000);
    store_job_clear(&saved);
}

static void node_has_no_job(void **state)
{
    struct store_fixture *fixture = *state;
    struct append_run run = run_of(NULL);
    save_rows(fixture, &run, "0", (uint64_t[]){ 1, 2 }, 2, 0, 0);
    assert_sql(fixture->path, "SELECT count(*) FROM jobs", "0");
    assert_series(fixture->store, "node7", "node7/0: 1=1,0.5,-3 2=2,0.5,-3\n");
    assert_series(fixture->store, "node8", "");
}

static void chunks_of_a_series_are_read_as_one(void **state)
{
    struct store_fixture *fixture = *state;
    struct append_run run = run_of(&running);
    save_rows(fixture, &run, "0", (uint64_t[]){ 1, 2, 3 }, 3, 0, 0);
    save_rows(fixture, &run, "1", (uint64_t[]){ 1, 2 }, 2, 10, 0);
    save_rows(fixture, &run, "0", (uint64_t[]){ 4, 5 }, 2, 0, 0);
    assert_series(fixture->store, NULL, "node7/0 by agent: 1=1,0.5,-3 2=2,0.5,-3 3=3,0.5,-3 4=4,0.5,-3 5=5,0.5,-3\n"
                  "node7/1 by agent: 1=11,0.5,-3 2=12,0.5,-3\n");
    assert_sql(fixture->path, "SELECT count(*) FROM tracks", "2");
    assert_sql(fixture->path, "SELECT group_concat(count, ' ') FROM (SELECT count FROM series ORDER BY number, chunk)", "3 2 2");
}

/* Two collectors received the same samples, or parts of them: each row once, in order of time, as saved first. */
static void series_saved_by_two_collectors(void **state)
{
    struct store_fixture *fixture = *state;
    struct append_run run = run_of(&running);
    save_rows(fixture, &run, "0", (uint64_t[]){ 1, 2, 4, 6 }, 4, 0, 1);
    save_rows(fixture, &run, "0", (uint64_t[]){ 1, 3, 4, 5, 7 }, 5, 10, 2);
    assert_series(fixture->store, NULL, "node7/0 by agent: 1=1,0.5,-3 2=2,0.5,-3 3=13,0.5,-3 4=4,0.5,-3 5=15,0.5,-3"
                  " 6=6,0.5,-3 7=17,0.5,-3\n");
}

/* The second chunk starts at the very time at which the first one ends. */
static void chunk_that_repeats_the_last_row(void **state)
{
    struct store_fixture *fixture = *state;
    struct append_run run = run_of(&running);
    save_rows(fixture, &run, "0", (uint64_t[]){ 1, 2 }, 2, 0, 1);
    save_rows(fixture, &run, "0", (uint64_t[]){ 2, 3 }, 2, 0, 2);
    assert_series(fixture->store, NULL, "node7/0 by agent: 1=1,0.5,-3 2=2,0.5,-3 3=3,0.5,-3\n");
}

static void rolled_back_transaction_leaves_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    struct append append;
    struct append_run run = run_of(&running);
    int64_t job, row;
    uint64_t before;
    begin(&append, fixture);
    assert_int_equal(append_run(&append, &run, &job, &row), OK);
    assert_int_equal(append_count(&append, &before), OK);
    append_roll_back(&append);
    assert_sql(fixture->path, "SELECT count(*) FROM runs", "0");
    assert_sql(fixture->path, "SELECT count(*) FROM jobs", "0");
    begin(&append, fixture);
    assert_int_equal(append_count(&append, &before), OK);
    assert_int_equal(before, 0);
    assert_int_equal(append_commit(&append), OK);
}

static void transactions_are_counted(void **state)
{
    struct store_fixture *fixture = *state;
    struct append append;
    uint64_t before;
    for (uint64_t i = 0; i < 12; i++) {
        begin(&append, fixture);
        assert_int_equal(append_count(&append, &before), OK);
        assert_int_equal(before, i);
        assert_int_equal(append_commit(&append), OK);
    }
}

static void add_saved(struct store_fixture *fixture, uint64_t first, uint64_t last, struct ranges *saved)
{
    struct append append;
    begin(&append, fixture);
    assert_int_equal(append_add_saved(&append, "node7", 5, (struct range){ first, last }, saved), OK);
    assert_int_equal(append_commit(&append), OK);
}

/* The ranges in the database are always those in memory. */
static void saved_sequences_are_merged(void **state)
{
    struct store_fixture *fixture = *state;
    struct ranges saved = { 0 }, read = { 0 };
    const char rows[] = "SELECT group_concat(first_sequence || '-' || last_sequence, ' ') FROM"
                        " (SELECT * FROM filed ORDER BY first_sequence)";
    const struct {
        struct range range;
        const char *rows;
    } steps[] = {
        { { 10, 12 }, "10-12" },
        { { 13, 14 }, "10-14" },             /* grows at its end */
        { { 20, 22 }, "10-14 20-22" },       /* after a gap */
        { { 30, 31 }, "10-14 20-22 30-31" },
        { { 19, 19 }, "10-14 19-22 30-31" }, /* grows at its start */
        { { 15, 32 }, "10-32" },             /* closes all gaps */
        { { 11, 12 }, "10-32" },             /* a duplicate */
        { { 1, 2 }, "1-2 10-32" },
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        add_saved(fixture, steps[i].range.first, steps[i].range.last, &saved);
        assert_sql(fixture->path, rows, steps[i].rows);
        assert_int_equal(append_read_saved(fixture->store, "node7", 5, &read), OK);
        assert_int_equal(read.count, saved.count);
        assert_memory_equal(read.list, saved.list, read.count * sizeof *read.list);
    }
    assert_int_equal(append_read_saved(fixture->store, "node7", 6, &read), OK);
    assert_int_equal(read.count, 0);
    assert_int_equal(append_read_saved(fixture->store, "node8", 5, &read), OK);
    assert_int_equal(read.count, 0);
    ranges_clear(&saved);
    ranges_clear(&read);
}

static void last_sequence_of_an_old_schema(void **state)
{
    struct store_fixture *fixture = *state;
    uint64_t sequence = 9;
    assert_int_equal(append_read_old_sequence(fixture->store, "a", "node7", 5, &sequence), OK);
    assert_int_equal(sequence, 0);
    fixture_exec(fixture->path, "INSERT INTO streams (source, host, stream, sequence) VALUES ('a', 'node7', 5, 77)");
    assert_int_equal(append_read_old_sequence(fixture->store, "a", "node7", 5, &sequence), OK);
    assert_int_equal(sequence, 77);
}

static void gaps_are_saved(void **state)
{
    struct store_fixture *fixture = *state;
    struct append append;
    begin(&append, fixture);
    assert_int_equal(append_gap(&append, "node7", &(struct batch_gap){ 0, 20, 3, "damaged" }), OK);
    assert_int_equal(append_commit(&append), OK);
    assert_sql(fixture->path, "SELECT host || ' ' || (from_ns IS NULL) || ' ' || to_ns || ' ' || batches || ' ' || reason"
               " FROM gaps", "node7 1 20 3 damaged");
}

/* The same series and first time saved twice by one collector: the key exists, so the second chunk is an error. */
static void chunk_saved_twice_is_an_error(void **state)
{
    struct store_fixture *fixture = *state;
    struct append append;
    struct append_run run = run_of(&running);
    struct append_track track;
    int64_t job, row;
    uint64_t time_ns = START_NS + SECOND;
    union value values[3] = { { .u64 = 1 } };
    uint8_t known[3] = { 1, 0, 0 };
    struct run_series series = { .set = cpu_set, .instance = "0", .count = 1, .times_ns = &time_ns, .values = values,
                                 .known = known };
    save_rows(fixture, &run, "0", (uint64_t[]){ 1 }, 1, 0, 1);
    begin(&append, fixture);
    assert_int_equal(append_run(&append, &run, &job, &row), OK);
    assert_int_equal(append_track(&append, row, &cpu_set, "0", &track), OK);
    assert_int_not_equal(append_chunk(&append, job, row, &track, &series, 1), OK);
    append_roll_back(&append);
    assert_series(fixture->store, NULL, "node7/0 by agent: 1=1,0.5,-3\n");
}

/* Errors of the database are returned by every function, not only by the commit. */
static void missing_tables_are_errors(void **state)
{
    struct store_fixture *fixture = *state;
    struct append append;
    struct append_run run = run_of(&running);
    struct append_track track;
    struct ranges saved = { 0 };
    int64_t job, row;
    uint64_t sequence;
    begin(&append, fixture);
    for (int i = 0; i < 4; i++)
        assert_int_equal(db_exec(fixture->store, "test", (const char *[]){ "DROP TABLE runs", "DROP TABLE tracks",
                                                                          "DROP TABLE gaps", "DROP TABLE streams" }[i]), OK);
    assert_int_not_equal(append_run(&append, &run, &job, &row), OK);
    assert_int_not_equal(append_track(&append, 1, &cpu_set, "0", &track), OK);
    assert_int_not_equal(append_gap(&append, "node7", &(struct batch_gap){ 0, 20, 3, "damaged" }), OK);
    assert_int_not_equal(append_read_old_sequence(fixture->store, "a", "node7", 5, &sequence), OK);
    assert_int_equal(db_exec(fixture->store, "test", "DROP TABLE filed"), OK);
    assert_int_equal(db_exec(fixture->store, "test", "DROP TABLE meta"), OK);
    assert_int_not_equal(append_add_saved(&append, "node7", 5, (struct range){ 1, 2 }, &saved), OK);
    assert_int_not_equal(append_read_saved(fixture->store, "node7", 5, &saved), OK);
    assert_int_not_equal(append_count(&append, &sequence), OK);
    append_roll_back(&append);
    ranges_clear(&saved);
}

/* A commit that fails is reported, and the store can be used again afterwards. */
static void failed_commit_is_reported(void **state)
{
    struct store_fixture *fixture = *state;
    struct append append;
    uint64_t before;
    begin(&append, fixture);
    assert_int_equal(append_count(&append, &before), OK);
    db_exec(fixture->store, "test", "ROLLBACK"); /* now there is no transaction to commit */
    assert_int_not_equal(append_commit(&append), OK);
    begin(&append, fixture);
    assert_int_equal(append_commit(&append), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(run_is_inserted_and_then_updated),
        STORE_TEST(owners_have_jobs_of_their_own),
        STORE_TEST(owner_that_becomes_known),
        STORE_TEST(run_of_root_joins_the_job_that_an_agent_has_seen),
        STORE_TEST(a_restart_loses_no_figures),
        STORE_TEST(another_job_with_the_same_id_replaces_it),
        STORE_TEST(running_job_has_not_ended),
        STORE_TEST(running_job_is_found_by_recent_times),
        STORE_TEST(node_has_no_job),
        STORE_TEST(chunks_of_a_series_are_read_as_one),
        STORE_TEST(series_saved_by_two_collectors),
        STORE_TEST(chunk_that_repeats_the_last_row),
        STORE_TEST(rolled_back_transaction_leaves_nothing),
        STORE_TEST(transactions_are_counted),
        STORE_TEST(saved_sequences_are_merged),
        STORE_TEST(last_sequence_of_an_old_schema),
        STORE_TEST(gaps_are_saved),
        STORE_TEST(chunk_saved_twice_is_an_error),
        STORE_TEST(missing_tables_are_errors),
        STORE_TEST(failed_commit_is_reported),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
