/* Runs of a job: their facts, and which of them a process belongs to. */
#include "store/runs.h"

#include "tools/store_fixture.h"

static void process_belongs_to_its_run(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_runs runs;
    fixture_save_run(fixture->store, (struct fake_shape){ .run_id = "a", .host = "n1", .processes = 3, .start_ns = 1000 });
    fixture_save_run(fixture->store, (struct fake_shape){ .run_id = "b", .host = "n2", .processes = 2, .start_ns = 2000 });
    fixture_save_run(fixture->store, (struct fake_shape){ .run_id = "agent/n3/job-1", .host = "n3", .processes = 1,
                                                          .start_ns = 3000 });
    struct store_job job = fixture_job(fixture->store, "job-1");
    assert_int_equal(store_runs_read(&runs, fixture->store, job.row), OK);
    store_job_clear(&job);
    assert_int_equal(runs.count, 3);
    static const char *const hosts[] = { "n1", "n1", "n1", "n2", "n2", "n3" };
    static const uint32_t order[] = { 4, 0, 2, 3, 5, 1, 4, 4, 0 }; /* back and forth: the last one found is tried first */
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const struct store_run *run = store_runs_find(&runs, order[i]);
        assert_non_null(run);
        assert_string_equal(run->host, hosts[order[i]]);
    }
    assert_null(store_runs_find(&runs, 6));
    assert_null(store_runs_find(&runs, UINT32_MAX));
    assert_true(runs.list[2].by_agent && !runs.list[0].by_agent);
    assert_string_equal(runs.list[0].command.data, "./build.sh");
    store_runs_clear(&runs);
    assert_null(store_runs_find(&runs, 0));
}

static void user_of_a_process(void **state)
{
    (void)state;
    struct store_run run = { .user = "anna", .uid = 1000 };
    struct process process = { .uid = 1000, .uid_known = true };
    assert_string_equal(store_run_user(&run, &process), "anna");
    assert_null(store_run_user(NULL, &process));
    process.uid = 0; /* a set-user-ID program */
    assert_null(store_run_user(&run, &process));
    process.uid = 1000;
    process.uid_known = false;
    assert_null(store_run_user(&run, &process));
    process.uid_known = true;
    run.user = "";
    assert_null(store_run_user(&run, &process));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(process_belongs_to_its_run),
        cmocka_unit_test(user_of_a_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
