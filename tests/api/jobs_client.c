/* Reading answers of GET /jobs, and rates between two of them. */
#include "api/jobs_client.h"

#include "tools/unit.h"

#define JOB(id, cpu, cpu_time) \
    "{\"id\": \"" id "\", \"source\": \"told\", \"user\": \"ada\", \"start_ns\": 1000000000, \"cores_milli\": 2000, " \
    "\"memory_bytes\": 2147483648, \"figures\": {\"cpu_us\": [" cpu ", " cpu_time "], \"memory_bytes\": [1073741824, 5], " \
    "\"read_bytes\": [" cpu ", " cpu_time "], \"unheard_of\": [1, 2]}}"
#define ANSWER(jobs) "{\"host\": \"n1\", \"time_ns\": 61000000000, \"jobs\": [" jobs "], \"others\": 2}"

static struct jobs_answer read(const char *text)
{
    struct jobs_answer now;
    assert_int_equal(jobs_client_read(&now, text, strlen(text)), OK);
    return now;
}

static void rates_are_differences(void **state)
{
    (void)state;
    struct jobs_answer first = read(ANSWER(JOB("1", "1000000", "1000000000") "," JOB("2", "5", "1000000000")));
    struct jobs_answer second = read(ANSWER(JOB("2", "4", "2000000000") "," JOB("1", "2500000", "2000000000") ","
                                         JOB("3", "9", "2000000000")));
    jobs_client_set_rates(&second, &first);
    assert_true(second.jobs[1].figures[JOB_FIGURES_cpu_us].has_rate);
    assert_true(second.jobs[1].figures[JOB_FIGURES_cpu_us].rate == 1.5e6);
    assert_false(second.jobs[0].figures[JOB_FIGURES_cpu_us].has_rate); /* it decreased */
    assert_false(second.jobs[2].figures[JOB_FIGURES_cpu_us].has_rate); /* it is new */
    struct jobs_answer third = read(ANSWER(JOB("1", "2500000", "2000000000")));
    jobs_client_set_rates(&third, &second); /* no new samples: the rate stays */
    assert_true(third.jobs[0].figures[JOB_FIGURES_cpu_us].rate == 1.5e6);
    jobs_client_clear(&first);
    jobs_client_clear(&second);
    jobs_client_clear(&third);
}

static void a_reused_id_is_another_job(void **state)
{
    (void)state;
    struct jobs_answer first = read(ANSWER(JOB("1", "1", "1000000000")));
    struct jobs_answer second = read(ANSWER(JOB("1", "9", "2000000000")));
    second.jobs[0].start_ns++;
    jobs_client_set_rates(&second, &first);
    assert_false(second.jobs[0].figures[JOB_FIGURES_cpu_us].has_rate);
    jobs_client_clear(&first);
    jobs_client_clear(&second);
}

static void invalid_answers_are_rejected(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "[]", "{\"jobs\": 5}", "{\"jobs\": [}", "{\"jobs\": [{\"start_ns\": -1}]}", "{} x" };
    struct jobs_answer now;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(jobs_client_read(&now, bad[i], strlen(bad[i])), CORRUPT);
    assert_int_equal(jobs_client_read(&now, "{}", 2), OK);
    jobs_client_clear(&now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_differences),
        cmocka_unit_test(a_reused_id_is_another_job),
        cmocka_unit_test(invalid_answers_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
