/* Jobs as rows and as JSON. */
#include "report/list.h"

#include "base/clock.h"
#include "tools/unit.h"

#define NOW (1763200000ull * NS_PER_S) /* 2025-11-15 09:46:40 UTC */

static struct store_job a_job(void)
{
    struct store_job job = {
        .job_id = "77", .name = "ocean", .user = "alice", .hosts = "node01", .command = { "sh\0run.sh", 10 },
        .start_ns = NOW - 3600 * NS_PER_S, .end_ns = NOW - 3500 * NS_PER_S, .ended = true, .status_known = true,
        .exit_code = 3, .cores_allowed_milli = 4000,
    };
    counters_set(&job.summary.sum, COUNTER_usertime, 150000000);
    counters_set(&job.summary.sum, COUNTER_rssmax, 2048);
    job.summary.processes = 1998;
    return job;
}

static const char *listed(const struct store_job *job, size_t width)
{
    static char text[4096];
    struct list list;
    struct buf out;
    setenv("TZ", "UTC", 1);
    buf_init(&out, sizeof text - 1);
    list_init(&list, (struct terminal){ .utf8 = true, .width = width }, NOW);
    list_add(&list, job);
    assert_int_equal(list_print(&list, &out), OK);
    strcpy(text, buf_text(&out));
    list_clear(&list);
    buf_clear(&out);
    return text;
}

static void row_contents(void **state)
{
    (void)state;
    struct store_job job = a_job();
    assert_string_equal(listed(&job, 80),
                        "JOB NAME  USER  START  TIME   CPU CORES  MEM PROCS STATUS HOST   COMMAND\n"
                        "77  ocean alice 08:46 1m40s 2m30s 1.5/4 2.0M 1,998 exit 3 node01 sh run.sh\n");
}

static void command_is_shell_quoted(void **state)
{
    (void)state;
    struct store_job job = a_job();
    static char many[4000]; /* "y y y …" */
    job.command = (struct bytes){ "sh\0-c\0a; b 'c'", 15 };
    assert_non_null(strstr(listed(&job, 160), " node01 sh -c 'a; b '\\''c'\\'''\n"));
    for (size_t i = 0; i < sizeof many; i += 2)
        many[i] = 'y';
    job.command = (struct bytes){ many, sizeof many };
    assert_non_null(strstr(listed(&job, 160), " y y y y y"));
    job.command = (struct bytes){ 0 };
    assert_null(strstr(listed(&job, 160), "COMMAND"));
}

static void unknown_is_empty(void **state)
{
    (void)state;
    struct store_job job = { .job_id = "78", .start_ns = NOW - 40 * 86400 * NS_PER_S };
    const char *text = listed(&job, 80);
    assert_null(strstr(text, " 0 ")); /* its processes were not recorded */
    assert_null(strstr(text, "PROCS"));
    assert_non_null(strstr(text, "06 Oct"));
    assert_null(strstr(strchr(text, '\n'), "0s"));
    assert_non_null(strstr(text, "interrupted"));
}

/* An agent's data arrives once a minute, the clock runs on. */
static void a_running_job_lasts_until_now(void **state)
{
    (void)state;
    struct store_job job = a_job();
    struct buf out;
    struct json json;
    job.ended = job.status_known = false;
    job.running = true;
    job.end_ns = NOW - 60 * NS_PER_S;
    const char *text = listed(&job, 80);
    assert_non_null(strstr(text, "1h00m"));
    assert_non_null(strstr(text, "running"));
    buf_init(&out, 10000);
    json_init(&json, &out);
    list_job_json(&json, &job, NOW);
    assert_non_null(strstr(buf_text(&out), "\"duration_s\": 3600"));
    assert_non_null(strstr(buf_text(&out), "\"running\": true"));
    assert_null(strstr(buf_text(&out), "\"end_ns\""));
    buf_clear(&out);
    job.end_ns = NOW - 400 * NS_PER_S; /* the agent no longer reports */
    assert_non_null(strstr(listed(&job, 80), "interrupted"));
    assert_null(strstr(listed(&job, 80), "1h00m"));
    job.period_ns = 200 * NS_PER_S; /* or does so rarely */
    assert_non_null(strstr(listed(&job, 80), "running"));
}

static void larger_value_is_shown(void **state)
{
    (void)state;
    struct store_job job = a_job();
    uint64_t number;
    counters_set(&job.summary.total, COUNTER_usertime, 160000000);
    assert_true(list_cpu_us(&job, &number));
    assert_int_equal(number, 160000000);
    job.summary.rss_peak_bytes = 5 << 20;
    assert_true(list_memory_bytes(&job, &number));
    assert_int_equal(number, 5 << 20);
    assert_true(list_cores_used_milli(&job, &number));
    assert_int_equal(number, 1600);
}

static void json_omits_unknown_values(void **state)
{
    (void)state;
    struct store_job job = { .job_id = "78", .name = "caf\xe9", .uid = UINT32_MAX };
    struct buf out;
    struct json json;
    buf_init(&out, 10000);
    json_init(&json, &out);
    list_job_json(&json, &job, NOW);
    assert_non_null(strstr(buf_text(&out), "\"job\": \"78\""));
    assert_non_null(strstr(buf_text(&out), "\"name_base64\": \"Y2Fm6Q==\""));
    assert_null(strstr(buf_text(&out), "cpu_s"));
    assert_null(strstr(buf_text(&out), "exit_code"));
    assert_null(strstr(buf_text(&out), "start"));
    assert_null(strstr(buf_text(&out), "uid"));
    assert_null(strstr(buf_text(&out), "processes"));
    buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_contents),
        cmocka_unit_test(command_is_shell_quoted),
        cmocka_unit_test(unknown_is_empty),
        cmocka_unit_test(a_running_job_lasts_until_now),
        cmocka_unit_test(larger_value_is_shown),
        cmocka_unit_test(json_omits_unknown_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
