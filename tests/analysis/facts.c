/* Reads facts from a real store: a fake run is saved and read back. */
#include "analysis/facts.h"

#include "analysis/advice.h"
#include "tools/fake_run.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <math.h>

static char dir[TEMP_PATH_MAX];
static struct store *store;

static int begin(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    temp_dir(dir);
    temp_join(path, dir, "facts.db");
    return store_open(&store, path, STORE_WRITE, &(char *){ NULL });
}

static int end(void **state)
{
    (void)state;
    store_close(&store);
    temp_remove(dir);
    return 0;
}

static struct facts *file_and_read(struct fake_run *fake, const struct fake_shape *timeline, struct store_job *job)
{
    struct facts *facts = NULL;
    fake_run_make(fake, timeline);
    assert_int_equal(store_save_run(store, &fake->run), OK);
    assert_int_equal(store_job(store, timeline->job_id, job), OK);
    assert_int_equal(facts_read(&facts, store, job), OK);
    return facts;
}

static void everything_saved_is_read(void **state)
{
    (void)state;
    struct fake_run fake;
    struct store_job job;
    struct facts *facts = file_and_read(&fake, &(struct fake_shape){ .run_id = "a", .job_id = "a", .processes = 200,
        .threads = 4, .events = 2, .samples = 100 }, &job);
    struct summary summary;
    summary_of_run(&summary, &fake.run);
    assert_int_equal(facts->job.summary.processes, summary.processes);
    assert_int_equal(facts->host_count, 1);
    assert_true(bytes_equal(facts->host.kernel, fake.run.host.kernel));
    assert_int_equal(facts->process_count, FACTS_TOP);
    assert_int_equal(facts->thread_count, FACTS_TOP);
    assert_int_equal(facts->event_count, 2);
    assert_true(facts->timeline.samples >= 100);
    assert_float_equal(facts_cpu_s(facts),
                       (double)counters_cpu_us(&summary.total) / 1e6, 1e-6);

    uint64_t count = facts->rest.count, cpu_us = facts->rest.cpu_us;
    for (size_t i = 0; i < facts->executable_count; i++) {
        count += facts->executables[i].count;
        cpu_us += facts->executables[i].cpu_us;
    }
    assert_int_equal(count, summary.images);
    assert_int_equal(cpu_us, counters_cpu_us(&summary.sum));

    for (size_t i = 1; i < facts->process_count; i++)
        assert_true(counters_cpu_us(&facts->processes[i - 1].counters) >=
                    counters_cpu_us(&facts->processes[i].counters));
    const struct process *first = &facts->processes[0], *filed = &fake.run.processes[facts->process_number[0]];
    assert_true(bytes_equal(first->name, filed->name));
    assert_true(bytes_equal(first->args, filed->args));
    assert_int_equal(first->pid, filed->pid);
    assert_int_equal(counters_cpu_us(&first->counters), counters_cpu_us(&filed->counters));
    facts_free(&facts);
    assert_null(facts);
    store_job_clear(&job);
    fake_run_clear(&fake);
}

static void no_samples_no_timeline(void **state)
{
    (void)state;
    struct fake_run fake;
    struct store_job job;
    struct facts *facts =
        file_and_read(&fake, &(struct fake_shape){ .run_id = "b", .job_id = "b", .processes = 1 }, &job);
    assert_int_equal(facts->timeline.samples, 0);
    assert_true(isnan(timeline_peak(&facts->timeline, TIMELINE_CPU)));
    assert_int_equal(facts->thread_count, 0);
    assert_int_equal(facts->event_count, 0);
    assert_int_equal(facts->process_count, 1);
    facts_free(&facts);
    facts_free(&facts); /* harmless if repeated */
    store_job_clear(&job);
    fake_run_clear(&fake);
}

static void rules_work_on_real_facts(void **state)
{
    (void)state;
    struct fake_run fake;
    struct store_job job;
    static struct advice_list list;
    struct facts *facts = file_and_read(&fake, &(struct fake_shape){ .run_id = "c", .job_id = "c", .processes = 5000,
        .threads = 2, .samples = 50 }, &job);
    advice_find(&list, facts);
    assert_true(list.count > 0); /* the fake build consists of short processes and fails */
    facts_free(&facts);
    store_job_clear(&job);
    fake_run_clear(&fake);
}

#define SAMPLES 5

/* A run of the job "m" on a host, ten seconds, with one busy core; the node has three busy cores. */
static void file_run_on(const char *id, const char *host)
{
    static const struct metric of_tree[] = { { "cpu", "us", COUNTER, U64, "" } };
    static const struct metric of_stat[] = { { "user", "us", COUNTER, U64, "" } };
    uint64_t start_ns = 1700000000000000000ull, times_ns[SAMPLES];
    union value tree[SAMPLES], stat[SAMPLES];
    uint8_t known[SAMPLES] = { 1, 1, 1, 1, 1 };
    for (uint64_t i = 0; i < SAMPLES; i++) {
        times_ns[i] = start_ns + i * 2500000000;
        tree[i].u64 = i * 2500000;
        stat[i].u64 = i * 7500000;
    }
    struct run_series series[] = {
        { .set = { "tree", of_tree, 1 }, .instance = "", .count = SAMPLES, .times_ns = times_ns, .values = tree,
         .known = known },
        { .set = { "stat", of_stat, 1 }, .instance = "", .count = SAMPLES, .times_ns = times_ns, .values = stat,
         .known = known },
    };
    assert_int_equal(store_save_run(store, &(struct run){ .id = bytes_of(id), .job_id = bytes_of("m"),
                                                         .host.name = bytes_of(host),
        .start_ns = start_ns, .end_ns = start_ns + 10000000000, .ended = true, .series = series, .series_count = 2 }),
            OK);
}

static double others_of(const char *job_id)
{
    struct store_job job;
    struct facts *facts = NULL;
    assert_int_equal(store_job(store, job_id, &job), OK);
    assert_int_equal(facts_read(&facts, store, &job), OK);
    double others = facts_cores_of_other_processes(facts);
    facts_free(&facts);
    store_job_clear(&job);
    return others;
}

static void concurrent_runs_share_a_node(void **state)
{
    (void)state;
    file_run_on("m1", "here");
    assert_float_equal(others_of("m"), 2, 1e-6);
    file_run_on("m2", "here");
    assert_float_equal(others_of("m"), 1, 1e-6);
    file_run_on("m3", "there");
    assert_float_equal(others_of("m"), 3, 1e-6);
}

/* A job that only an agent recorded: the timeline is that of its cgroup. Steps are part of it; and sonde run recorded the same
 * if there are processes. */
static void timeline_of_a_job_recorded_by_an_agent(void **state)
{
    (void)state;
    static const struct metric metrics[] = { { "cpu", "us", COUNTER, U64, "" } };
    uint64_t start_ns = 1700000000000000000ull, times_ns[SAMPLES];
    union value values[SAMPLES];
    uint8_t known[SAMPLES] = { 1, 1, 1, 1, 1 };
    for (uint64_t i = 0; i < SAMPLES; i++) {
        times_ns[i] = start_ns + i * 2500000000;
        values[i].u64 = i * 5000000;
    }
    struct run_series series[2];
    for (size_t i = 0; i < 2; i++)
        series[i] = (struct run_series){ .set = { "cgroup", metrics, 1 }, .instance = i ? "step_0" : "", .count = SAMPLES,
                                         .times_ns = times_ns, .values = values, .known = known };
    struct process process = { .pid = 10, .parent = PROCESS_NO_PARENT, .thread_count = 1 };
    struct run run = { .id = bytes_of("agent/n/s"), .job_id = bytes_of("s"), .host.name = bytes_of("n"), .start_ns = start_ns,
                       .end_ns = start_ns + 10000000000, .ended = true, .series = series, .series_count = 2 };
    for (size_t processes = 0; processes < 2; processes++) {
        struct store_job job;
        struct facts *facts = NULL;
        run.processes = &process;
        run.process_count = processes;
        assert_int_equal(store_save_run(store, &run), OK);
        assert_int_equal(store_job(store, "s", &job), OK);
        assert_int_equal(facts_read(&facts, store, &job), OK);
        if (processes)
            assert_int_equal(facts->timeline.samples, 0);
        else
            assert_float_equal(timeline_mean(&facts->timeline, TIMELINE_CPU), 2, 1e-6);
        facts_free(&facts);
        store_job_clear(&job);
    }
}

/* The kernel's total lacks processes that are still running or were not waited for, and ends with sonde run; the sum
 * lacks processes that were not recorded. */
static void cpu_time_is_maximum_of_total_and_sum(void **state)
{
    (void)state;
    static struct facts facts;
    assert_true(isnan(facts_cpu_s(&facts)));
    counters_set(&facts.job.summary.sum, COUNTER_usertime, 3000000);
    assert_float_equal(facts_cpu_s(&facts), 3, 1e-9);
    counters_set(&facts.job.summary.total, COUNTER_usertime, 2000000);
    assert_float_equal(facts_cpu_s(&facts), 3, 1e-9);
    facts.job.ended = true;
    assert_float_equal(facts_cpu_s(&facts), 3, 1e-9);
    counters_set(&facts.job.summary.total, COUNTER_systemtime, 2000000);
    assert_float_equal(facts_cpu_s(&facts), 4, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_saved_is_read),
        cmocka_unit_test(no_samples_no_timeline),
        cmocka_unit_test(rules_work_on_real_facts),
        cmocka_unit_test(concurrent_runs_share_a_node),
        cmocka_unit_test(timeline_of_a_job_recorded_by_an_agent),
        cmocka_unit_test(cpu_time_is_maximum_of_total_and_sum),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
