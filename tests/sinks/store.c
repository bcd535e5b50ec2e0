/* The sink store: jobs and series are saved once, whatever is delivered again. */
#include "sinks/sink.h"

#include "store/store.h"
#include "tools/store_fixture.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct metric load_metrics[] = {
    { "one", "1", GAUGE, F64, "load", NULL },
    { "tasks", "1", GAUGE, U64, "tasks", NULL },
};
static const struct set load_set = { "load", load_metrics, 2, NULL };

static const struct metric cgroup_metrics[] = {
    { "cpu_user", "us", COUNTER, U64, "user", NULL },
    { "cpu_system", "us", COUNTER, U64, "system", NULL },
    { "memory_peak", "B", GAUGE, U64, "peak", NULL },
};
static const struct set cgroup_set = { "cgroup", cgroup_metrics, 3, NULL };

static const struct metric cpu_metrics[] = {
    { "cpu", "us", COUNTER, U64, "CPU time", NULL },
    { "cpu_user", "us", COUNTER, U64, "user", NULL },
    { "cpu_system", "us", COUNTER, U64, "system", NULL },
};
static const struct set cpu_set = { "cgroup", cpu_metrics, 3, NULL };

static struct job job_4711 = { .id = "4711", .other_id = "", .source = "slurm", .user = "ada", .uid = 1000,
                               .start_ns = 1000000000000, .cores_milli = 4000, .memory_bytes = 1 << 30, .cgroup = "" };

static const struct sink *sink;

struct writing {
    void *state;
    struct batch batch;
};

static void begin(struct writing *writing, const char *path, const char *source)
{
    sink = sink_find("store");
    assert_non_null(sink);
    writing->state = calloc(1, sink->state_size);
    batch_init(&writing->batch);
    assert_int_equal(setting_defaults(sink->settings, writing->state), OK);
    assert_int_equal(setting_apply(sink->settings, writing->state, "path", path), OK);
    assert_int_equal(setting_apply(sink->settings, writing->state, "source", source), OK);
    assert_int_equal(setting_apply(sink->settings, writing->state, "every", "1h"), OK);
    assert_int_equal(sink->open(writing->state), OK);
}

static void end(struct writing *writing)
{
    sink->close(writing->state);
    free(writing->state);
    batch_clear(&writing->batch);
}

/* A batch of one tick: the load of the host and the cgroup of its job. */
static void write_tick(struct writing *writing, const char *host, uint64_t tick, const struct batch_event *event)
{
    static const struct job *const jobs[] = { &job_4711 };
    uint64_t time_ns = 1000000000000 + tick * 1000000000;
    batch_reset(&writing->batch);
    struct sample *sample = batch_add(&writing->batch, &load_set, time_ns, "");
    sample_set_f64(sample, 0, (double)tick / 4);
    if (tick != 3) /* missing then */
        sample_set_u64(sample, 1, tick * 10);
    sample = batch_add(&writing->batch, &cgroup_set, time_ns, "");
    sample->job = "4711";
    sample_set_u64(sample, 0, tick * 1000);
    sample_set_u64(sample, 1, tick * 100);
    sample_set_u64(sample, 2, 5 << 20);
    writing->batch.host = host;
    writing->batch.jobs = jobs;
    writing->batch.job_count = 1;
    writing->batch.events = event;
    writing->batch.event_count = event ? 1 : 0;
    writing->batch.stream = 77;
    writing->batch.sequence = tick;
    writing->batch.position = tick * 100;
    assert_int_equal(sink->write(writing->state, &writing->batch), OK);
}

struct seen {
    char text[4096];
};

static enum err see(void *context, const char *host, const struct run_series *series)
{
    struct seen *seen = context;
    size_t at = strlen(seen->text);
    at += (size_t)snprintf(seen->text + at, sizeof seen->text - at, "%s %s:", host, series->set.name);
    for (size_t i = 0; i < series->count; i++) {
        bool known = series->known[i * series->set.size + 1];
        at += (size_t)snprintf(seen->text + at, sizeof seen->text - at, known ? " %llu=%llu" : " %llu",
                               (unsigned long long)(series->times_ns[i] / 1000000000 - 1000),
                               (unsigned long long)series->values[i * series->set.size + 1].u64);
    }
    snprintf(seen->text + at, sizeof seen->text - at, "\n");
    return OK;
}

static void assert_node(struct store *store, const char *host, const char *text)
{
    struct seen seen = { "" };
    assert_int_equal(store_node_series(store, host, see, &seen), OK);
    assert_string_equal(seen.text, text);
}

/* Both sets have this many samples, and all ticks up to it count as saved. */
static void assert_stored(const struct store_fixture *fixture, unsigned ticks)
{
    char number[32], range[64];
    snprintf(number, sizeof number, "%u", ticks * 2);
    snprintf(range, sizeof range, "n1 77 1 %u", ticks);
    assert_sql(fixture->path, "SELECT sum(count) FROM series", number);
    assert_sql(fixture->path, "SELECT group_concat(host || ' ' || stream || ' ' || first_sequence || ' ' || last_sequence)"
               " FROM filed", range);
}

static void a_job_and_its_node_are_saved(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing writing;
    struct seen seen = { "" };
    struct store_job job;
    begin(&writing, fixture->path, "c1");
    for (uint64_t tick = 1; tick <= 4; tick++)
        write_tick(&writing, "n1", tick, NULL);
    assert_int_equal(sink->durable(writing.state), 0);
    assert_int_equal(sink->flush(writing.state, UINT64_MAX), OK); /* not due */
    assert_int_equal(sink->durable(writing.state), 0);
    assert_int_equal(sink->flush(writing.state, 0), OK);
    assert_int_equal(sink->durable(writing.state), 400);
    assert_node(fixture->store, "n1", "n1 load: 1=10 2=20 3 4=40\n");
    assert_int_equal(store_job(fixture->store, "4711", &job), OK);
    assert_string_equal(job.user, "ada");
    assert_string_equal(job.hosts, "n1");
    assert_int_equal(job.cores_allowed_milli, 4000);
    assert_false(job.ended);
    assert_int_equal(job.summary.total.value[COUNTER_usertime], 4000);
    assert_int_equal(job.summary.rss_peak_bytes, 5 << 20);
    assert_int_equal(store_series(fixture->store, job.row, see, &seen), OK);
    assert_string_equal(seen.text, "n1 cgroup: 1=100 2=200 3=300 4=400\n");
    store_job_clear(&job);
    end(&writing);
}

static void the_end_of_a_job_is_saved(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing writing;
    struct store_job job;
    struct job ended = job_4711;
    ended.end_ns = 1009000000000;
    const struct batch_event event = { JOB_END, &ended };
    begin(&writing, fixture->path, "c1");
    write_tick(&writing, "n1", 1, NULL);
    write_tick(&writing, "n2", 1, NULL);
    assert_int_equal(sink->flush(writing.state, 0), OK);
    write_tick(&writing, "n1", 2, &event);
    write_tick(&writing, "n2", 2, &event);
    end(&writing);
    assert_int_equal(store_job(fixture->store, "4711", &job), OK);
    assert_true(job.ended);
    assert_int_equal(job.end_ns, 1009000000000);
    assert_string_equal(job.hosts, "n1 n2");
    assert_int_equal(job.summary.total.value[COUNTER_usertime], 4000); /* of both */
    assert_int_equal(job.summary.processes, 0);
    store_job_clear(&job);
}

/* A sample of the CPU time of job 4711; system_us UINT64_MAX: only the total is known. */
static void write_cpu(struct writing *writing, uint64_t sequence, uint64_t cpu_us, uint64_t system_us)
{
    static const struct job *const jobs[] = { &job_4711 };
    batch_reset(&writing->batch);
    struct sample *sample = batch_add(&writing->batch, &cpu_set, 1000000000000 + sequence * 1000000000, "");
    sample->job = "4711";
    sample_set_u64(sample, 0, cpu_us);
    if (system_us != UINT64_MAX) {
        sample_set_u64(sample, 1, cpu_us - system_us);
        sample_set_u64(sample, 2, system_us);
    }
    writing->batch.host = "n1";
    writing->batch.jobs = jobs;
    writing->batch.job_count = 1;
    writing->batch.stream = 77;
    writing->batch.sequence = sequence;
    writing->batch.position = sequence * 100;
    assert_int_equal(sink->write(writing->state, &writing->batch), OK);
}

#define CPU_SQL "SELECT total_usertime || ' ' || coalesce(total_systemtime, '-') FROM jobs WHERE job_id = '4711'"

/* The cpuacct directory of a v1 job was removed first: the last sample has only the total, from taskstats. */
static void a_total_without_its_parts_is_divided_as_before(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing writing;
    begin(&writing, fixture->path, "c1");
    write_cpu(&writing, 1, 500, UINT64_MAX);
    assert_int_equal(sink->flush(writing.state, 0), OK);
    assert_sql(fixture->path, CPU_SQL, "500 -");
    write_cpu(&writing, 2, 4000, 3000);
    write_cpu(&writing, 3, 6000, UINT64_MAX);
    end(&writing);
    assert_sql(fixture->path, CPU_SQL, "1500 4500");
}

static void duplicates_are_saved_once(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing writing;
    pid_t child = fork();
    if (child == 0) { /* its buffered samples are lost */
        begin(&writing, fixture->path, "c1");
        for (uint64_t tick = 1; tick <= 4; tick++)
            write_tick(&writing, "n1", tick, NULL);
        bool filed = sink->flush(writing.state, 0) == OK;
        for (uint64_t tick = 2; tick <= 6; tick++)
            write_tick(&writing, "n1", tick, NULL);
        _exit(filed ? 7 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_node(fixture->store, "n1", "n1 load: 1=10 2=20 3 4=40\n");
    begin(&writing, fixture->path, "c1");
    for (uint64_t tick = 3; tick <= 7; tick++)
        write_tick(&writing, "n1", tick, NULL);
    end(&writing);
    assert_node(fixture->store, "n1", "n1 load: 1=10 2=20 3 4=40 5=50 6=60 7=70\n");
}

static void two_collectors_save_the_same_stream_once(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing one, two;
    begin(&one, fixture->path, "c1");
    begin(&two, fixture->path, "c2");
    for (uint64_t tick = 1; tick <= 5; tick++)
        write_tick(&one, "n1", tick, NULL);
    for (uint64_t tick = 4; tick <= 8; tick++)
        write_tick(&two, "n1", tick, NULL);
    end(&two);
    end(&one);
    assert_node(fixture->store, "n1", "n1 load: 1=10 2=20 3 4=40 5=50 6=60 7=70 8=80\n");
    assert_stored(fixture, 8);
}

/* A collector dies with unsaved samples in its journal, another continues, then the first returns. */
static void late_batches_of_another_collector_are_saved(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing one, two;
    begin(&one, fixture->path, "c1");
    for (uint64_t tick = 1; tick <= 3; tick++)
        write_tick(&one, "n1", tick, NULL);
    assert_int_equal(sink->flush(one.state, 0), OK);
    begin(&two, fixture->path, "c2");
    for (uint64_t tick = 6; tick <= 8; tick++)
        write_tick(&two, "n1", tick, NULL);
    assert_int_equal(sink->flush(two.state, 0), OK);
    assert_sql(fixture->path, "SELECT group_concat(first_sequence || '-' || last_sequence) FROM filed", "1-3,6-8");
    for (uint64_t tick = 2; tick <= 7; tick++)
        write_tick(&one, "n1", tick, NULL);
    end(&one);
    end(&two);
    assert_stored(fixture, 8);
}

/* Both buffer the same batches before either commits; each finds at its commit what the other has saved. */
static void two_buffers_with_the_same_batches_save_them_once(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing writers[3];
    char name[] = "c0";
    enum { TICKS = 200, WRITERS = 3 };
    uint64_t next[WRITERS] = { 1, 1, 1 };
    srandom(11);
    for (int i = 0; i < WRITERS; i++, name[1]++)
        begin(&writers[i], fixture->path, name);
    for (int turn = 0; turn < 400; turn++) {
        int i = (int)(random() % WRITERS);
        for (long count = random() % 9; count && next[i] <= TICKS; count--)
            write_tick(&writers[i], "n1", next[i]++, NULL);
        if (random() % 3 == 0)
            assert_int_equal(sink->flush(writers[i].state, 0), OK);
        else if (random() % 5 == 0) /* it skips ahead, and delivers the skipped batches later */
            next[i] = next[random() % WRITERS];
    }
    for (int i = 0; i < WRITERS; i++)
        for (uint64_t tick = 1; tick <= TICKS; tick++)
            write_tick(&writers[i], "n1", tick, NULL);
    for (int i = 0; i < WRITERS; i++)
        end(&writers[i]);
    assert_stored(fixture, TICKS);
}

/* A database of an older version has positions per collector. */
static void positions_of_older_versions_are_honoured(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing one, two;
    fixture_exec(fixture->path, "INSERT INTO streams VALUES ('c1', 'n1', 77, 4), ('c2', 'n1', 77, 9)");
    begin(&one, fixture->path, "c1");
    begin(&two, fixture->path, "c2");
    for (uint64_t tick = 3; tick <= 6; tick++)
        write_tick(&one, "n1", tick, NULL);
    for (uint64_t tick = 8; tick <= 11; tick++)
        write_tick(&two, "n1", tick, NULL);
    end(&one);
    end(&two);
    assert_node(fixture->store, "n1", "n1 load: 5=50 6=60 10=100 11=110\n");
}

static void write_gap(struct writing *writing, uint64_t sequence)
{
    const struct batch_gap gap = { 1000000000001, 1005000000000, 12, "damaged" };
    batch_reset(&writing->batch);
    writing->batch.host = "n1";
    writing->batch.gaps = &gap;
    writing->batch.gap_count = 1;
    writing->batch.stream = 77;
    writing->batch.sequence = sequence;
    writing->batch.position = sequence * 100;
    assert_int_equal(sink->write(writing->state, &writing->batch), OK);
}

/* A gap of one collector and the batches of another are both saved once. */
static void a_gap_does_not_count_as_the_missing_batches(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing one, two;
    begin(&one, fixture->path, "c1");
    begin(&two, fixture->path, "c2");
    write_gap(&one, 3);
    write_gap(&one, 3);
    assert_int_equal(sink->flush(one.state, 0), OK);
    for (uint64_t tick = 1; tick <= 3; tick++)
        write_tick(&two, "n1", tick, NULL);
    write_gap(&two, 3);
    end(&two);
    end(&one);
    assert_node(fixture->store, "n1", "n1 load: 1=10 2=20 3\n");
    assert_sql(fixture->path, "SELECT count(*) FROM gaps", "1");
}

static void a_gap_is_saved_and_counted(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing writing;
    const struct batch_gap gap = { 1000000000001, 1005000000000, 12, "spool full" };
    begin(&writing, fixture->path, "c1");
    write_tick(&writing, "n1", 1, NULL);
    batch_reset(&writing.batch);
    writing.batch.host = "n1";
    writing.batch.gaps = &gap;
    writing.batch.gap_count = 1;
    writing.batch.position = 1000;
    assert_int_equal(sink->write(writing.state, &writing.batch), OK);
    end(&writing);
    assert_sql(fixture->path, "SELECT host || ' ' || from_ns || ' ' || to_ns || ' ' || batches || ' ' || reason FROM gaps",
               "n1 1000000000001 1005000000000 12 spool full");
    assert_sql(fixture->path, "SELECT records_lost FROM jobs WHERE job_id = '4711'", "12");
}

static enum err count_host(void *context, const struct host *host)
{
    if (bytes_equal(host->name, bytes_of("n1")))
        assert_true(host->kernel.size > 0); /* from the run, not from the agent */
    ++*(unsigned *)context;
    return OK;
}

static void a_recorded_run_counts_instead_of_the_agents_data(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing writing;
    struct store_job job;
    struct fake_run fake;
    fake_run_make(&fake, &(struct fake_shape){ .processes = 7 });
    fake.run.job_id = bytes_of("4711");
    fake.run.host.name = bytes_of("n1");
    fixture_file(fixture->store, &fake.run);
    assert_int_equal(store_job(fixture->store, "4711", &job), OK);
    uint64_t user_us = counters_get(&job.summary.total, COUNTER_usertime);
    store_job_clear(&job);
    fake_run_clear(&fake);
    begin(&writing, fixture->path, "c1");
    write_tick(&writing, "n1", 4, NULL);
    write_tick(&writing, "n2", 5, NULL);
    end(&writing);
    assert_int_equal(store_job(fixture->store, "4711", &job), OK);
    assert_int_equal(counters_get(&job.summary.total, COUNTER_usertime), user_us + 5000); /* n2 has no recorded run */
    assert_int_equal(job.summary.processes, 7);
    unsigned hosts = 0;
    assert_int_equal(store_hosts(fixture->store, job.row, count_host, &hosts), OK);
    assert_int_equal(hosts, 2); /* n1, reported by two collectors, and n2 */
    store_job_clear(&job);
}

/* The agent has seen the job earlier, and commits before and after the run is saved. */
static void a_recorded_run_names_the_job(void **state)
{
    static const char *const sql = "SELECT name || ' ' || command || ' ' || exit_code FROM jobs WHERE job_id = '4711'";
    struct store_fixture *fixture = *state;
    struct writing writing;
    struct store_job job;
    struct fake_run fake;
    fake_run_make(&fake, &(struct fake_shape){ .processes = 7, .job_id = "4711", .name = "ocean", .host = "n1" });
    assert_true(fake.run.start_ns > job_4711.start_ns);
    begin(&writing, fixture->path, "c1");
    write_tick(&writing, "n1", 1, NULL);
    assert_int_equal(sink->flush(writing.state, 0), OK);
    assert_int_equal(store_job(fixture->store, "4711", &job), OK);
    assert_true(job.running);
    store_job_clear(&job);
    fixture_file(fixture->store, &fake.run);
    assert_sql(fixture->path, sql, "ocean ./build.sh --all 2");
    write_tick(&writing, "n1", 2, NULL);
    end(&writing);
    assert_sql(fixture->path, sql, "ocean ./build.sh --all 2");
    fake_run_clear(&fake);
}

/* A chunk number is its time and a salt from the source's name. An existing number, for example after the clock was
 * set back, must not block saving for ever. */
static void an_existing_chunk_number_is_skipped(void **state)
{
    struct store_fixture *fixture = *state;
    struct writing writing;
    const uint64_t chunk = (1002000000000 & ~255ull) | (uint8_t)('c' * 31 + '1');
    char sql[256];
    begin(&writing, fixture->path, "c1");
    write_tick(&writing, "n1", 1, NULL);
    assert_int_equal(sink->flush(writing.state, 0), OK);
    snprintf(sql, sizeof sql, "INSERT INTO series SELECT job, run, number, %llu, set_id, instance, count, start_ns, end_ns, data"
             " FROM series", (unsigned long long)chunk);
    fixture_exec(fixture->path, sql);
    write_tick(&writing, "n1", 2, NULL);
    assert_int_equal(sink->flush(writing.state, 0), IO);
    assert_non_null(strstr(sink->message(writing.state), "UNIQUE"));
    assert_int_equal(sink->durable(writing.state), 100);
    assert_int_equal(sink->flush(writing.state, 0), OK);
    assert_int_equal(sink->durable(writing.state), 200);
    end(&writing);
    assert_node(fixture->store, "n1", "n1 load: 1=10 2=20\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_and_its_node_are_saved, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_a_job_is_saved, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_total_without_its_parts_is_divided_as_before, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(duplicates_are_saved_once, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(two_collectors_save_the_same_stream_once, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(late_batches_of_another_collector_are_saved, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(two_buffers_with_the_same_batches_save_them_once, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(positions_of_older_versions_are_honoured, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_gap_does_not_count_as_the_missing_batches, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_gap_is_saved_and_counted, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_recorded_run_counts_instead_of_the_agents_data, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_recorded_run_names_the_job, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(an_existing_chunk_number_is_skipped, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
