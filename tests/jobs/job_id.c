/* Job ids of batch systems. */
#include "jobs/job_id.h"

#include "base/clock.h"
#include "tools/unit.h"

#include <time.h>
#include <stdlib.h>

static int forget_all(void **state)
{
    (void)state;
    static const char *const names[] = { "SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "PBS_JOB_ID", "OAR_JOB_ID",
                                         "SLURM_JOB_NAME", "PBS_JOBNAME", "OAR_JOB_NAME" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return 0;
}

static void without_a_batch_system_there_is_no_id(void **state)
{
    (void)state;
    struct job_id id;
    job_id_from_environment(&id);
    assert_string_equal(id.id, "");
    assert_string_equal(id.name, "");
}

static void slurm_has_priority(void **state)
{
    (void)state;
    struct job_id id;
    setenv("PBS_JOBID", "7.server", 1);
    setenv("SLURM_JOB_ID", "4711", 1);
    setenv("SLURM_JOB_NAME", "ocean run", 1);
    job_id_from_environment(&id);
    assert_string_equal(id.id, "4711");
    assert_string_equal(id.name, "ocean run");
}

static void each_batch_system_is_known(void **state)
{
    static const char *const names[] = { "SLURM_JOBID", "PBS_JOBID", "PBS_JOB_ID", "OAR_JOB_ID" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct job_id id;
        forget_all(state);
        setenv(names[i], "12[3].host", 1);
        job_id_from_environment(&id);
        assert_string_equal(id.id, "12[3].host");
    }
}

static void invalid_values_count_as_unset(void **state)
{
    (void)state;
    char longer[JOB_ID_MAX + 1];
    struct job_id id;
    memset(longer, '1', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    setenv("SLURM_JOB_ID", "", 1);
    setenv("SLURM_JOBID", longer, 1);
    setenv("PBS_JOBID", "1\n2", 1);
    setenv("OAR_JOB_ID", "9", 1);
    job_id_from_environment(&id);
    assert_string_equal(id.id, "9");
}

static void a_generated_id_contains_time_and_pid(void **state)
{
    (void)state;
    char id[JOB_ID_MAX];
    setenv("TZ", "UTC", 1);
    job_id_generate(1763237634ull * NS_PER_S, 27013, id);
    assert_memory_equal(id, "20251115-201354-27013-", 22);
    assert_int_equal(strlen(id), 26);
    assert_true(job_id_is_generated(id, 27013));
    job_id_generate(1763237634ull * NS_PER_S, UINT32_MAX, id);
    assert_true(job_id_is_generated(id, UINT32_MAX));
}

/* Two containers in which the pid is the same. */
static void ids_of_the_same_second_and_pid_differ(void **state)
{
    (void)state;
    char first[JOB_ID_MAX], id[JOB_ID_MAX];
    int differ = 0;
    job_id_generate(1763237634ull * NS_PER_S, 7, first);
    for (int i = 0; i < 10; i++) {
        job_id_generate(1763237634ull * NS_PER_S, 7, id);
        differ += strcmp(id, first) != 0;
    }
    assert_in_range(differ, 9, 10); /* a collision has a probability of one in a million */
}

static void other_ids_are_not_generated(void **state)
{
    (void)state;
    static const char *const others[] = { "", "4711", "12.server", "20251115-201354-7", "20251115-201354-7-",
        "20251115-201354-7-k7q", "20251115-201354-7-k7qdd", "20251115-201354-7-K7QD", "20251115-201354-7-k7-d",
        "20251115-201354-77-k7qd", "2025111-5201354-7-k7qd", "20251115 201354-7-k7qd", "20251115-20135x-7-k7qd",
        "20251115-201354_7-k7qd" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(job_id_is_generated(others[i], 7));
    assert_true(job_id_is_generated("20251115-201354-7-k7qd", 7));
}

/* The user's time zone may be another than the agent's. */
static void time_of_a_generated_id(void **state)
{
    (void)state;
    char id[JOB_ID_MAX];
    const uint64_t start_ns = 1795000000ull * 1000000000ull;
    static const char *const zones[] = { "UTC", "UTC+11", "UTC-14", "UTC-5:45" };
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        setenv("TZ", zones[i], 1);
        tzset();
        job_id_generate(start_ns + 3000000000ull, 7, id);
        assert_true(job_id_is_of_time(id, start_ns));
        assert_true(job_id_is_of_time(id, start_ns + 4000000000ull));
        assert_false(job_id_is_of_time(id, start_ns + 100000000000ull));
        assert_false(job_id_is_of_time(id, start_ns - 100000000000ull));
        assert_false(job_id_is_of_time(id, start_ns + 48 * 3600 * 1000000000ull));
    }
    assert_false(job_id_is_of_time("4711", start_ns));
    unsetenv("TZ");
    tzset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_of_a_generated_id),
        cmocka_unit_test_setup(without_a_batch_system_there_is_no_id, forget_all),
        cmocka_unit_test_setup(slurm_has_priority, forget_all),
        cmocka_unit_test_setup(each_batch_system_is_known, forget_all),
        cmocka_unit_test_setup(invalid_values_count_as_unset, forget_all),
        cmocka_unit_test(a_generated_id_contains_time_and_pid),
        cmocka_unit_test(ids_of_the_same_second_and_pid_differ),
        cmocka_unit_test(other_ids_are_not_generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
