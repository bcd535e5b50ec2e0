/* What comes over the agent's socket about jobs, good and bad, from root and from others. */
#include "agent/job_post.h"
#include "tools/jobs_fixture.h"

#define STRANGER 4242u

static struct fixture f;

static enum err post(uint32_t uid, bool is_master, const char *text, const char *answer_has)
{
    struct buf answer;
    buf_init(&answer, 4096);
    enum err err = job_post(f.jobs, &(struct job_teller){ .uid = uid, .is_master = is_master }, bytes_of(text), &answer);
    if (!strstr(buf_text(&answer), answer_has))
        fail_msg("%s is not in %s", answer_has, buf_text(&answer));
    buf_clear(&answer);
    return err;
}

static int setup(void **state)
{
    (void)state;
    fixture_begin_v1(&f);
    fixture_mkdir(&f, "/sys/fs/cgroup/memory/slurm/uid_1000/job_4711");
    fixture_open(&f);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fixture_end(&f);
    return 0;
}

static enum err post_from(uint32_t pid, const char *text)
{
    struct buf answer;
    struct job_teller teller = { .is_master = true, .is_here = true, .pid = pid };
    buf_init(&answer, 4096);
    enum err err = job_post(f.jobs, &teller, bytes_of(text), &answer);
    buf_clear(&answer);
    return err;
}

/* In a namespace of its own a run may be process 1, which here is another one, or none at all. */
static void a_run_is_who_tells_of_it(void **state)
{
    (void)state;
    assert_int_equal(post_from(4711, "{\"begin\": {\"id\": \"r1\", \"source\": \"run\", \"pid\": 1}}"), OK);
    assert_int_equal(jobs_find(f.jobs, "r1")->pid, 4711);
    assert_int_equal(post_from(0, "{\"begin\": {\"id\": \"r2\", \"source\": \"run\", \"pid\": 1}}"), GONE);
    assert_null(jobs_find(f.jobs, "r2"));
    assert_int_equal(post_from((uint32_t)getpid(), "{\"begin\": {\"id\": \"t1\", \"source\": \"told\", \"pid\": 1}}"), OK);
    assert_int_equal(jobs_find(f.jobs, "t1")->pid, 1);
}

static void root_tells(void **state)
{
    (void)state;
    assert_int_equal(post(0, true, "{\"begin\": {\"id\": \"a\", \"user\": \"zoe\", \"cores_milli\": 2000, \"new\": [1, {}]}}",
                          "\"known\": false"), OK);
    assert_string_equal(jobs_find(f.jobs, "a")->user, "zoe");
    assert_int_equal(jobs_find(f.jobs, "a")->cores_milli, 2000);
    assert_int_equal(post(0, true, "{\"begin\": {\"id\": \"4711\"}}", "\"known\": true"), OK);
    assert_int_equal(post(0, true, "{\"end\": {\"id\": \"a\"}}", "\"ok\": true"), OK);
    assert_int_equal(post(0, true, "{\"end\": {\"id\": \"a\"}}", "no such job"), ABSENT);
    assert_null(jobs_find(f.jobs, "a"));
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "{}", "[]", "{\"begin\": {}}", "{\"begin\": {\"id\": \"\"}}", "{\"begin\": {\"id\": 7}}", "{\"begin\": 7}",
        "{\"begin\": {\"id\": \"a\"}, \"end\": {\"id\": \"a\"}}", "{\"begin\": {\"id\": \"a\", \"uid\": -1}}",
        "{\"begin\": {\"id\": \"a\", \"pid\": 99999999999}}", "{\"begin\": {\"id\": \"a\"}", "{\"begin\": {\"id\": \"a\"}} x",
        "{\"begin\": {\"id\": \"a\", \"cgroup\": \"../x\"}}", "{\"begin\": {\"id\": \"a\\u0007\"}}",
        "{\"stop\": {\"id\": \"a\"}}", "{\"ask\": {\"id\": \"4711\"}}", "{\"ask\": {\"id\": \"4711\", \"syscalls\": \"all\"}}",
        "{\"begin\": {\"id\": \"a\", \"syscalls\": \"read\"}}", "{\"begin\": {\"id\": \"a\", \"syscalls\": \"x\"}}",
    };
    size_t before = f.count;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(post(0, true, texts[i], "\"ok\": false"), USAGE);
    assert_int_equal(f.count, before);
}

/* Others may tell of a process of their own under an id that is no batch system's. */
static void others_tell_of_their_own_runs_alone(void **state)
{
    (void)state;
    char text[512];
    uint32_t pid = (uint32_t)getpid();
    static const char *const refused[] = {
        "{\"begin\": {\"id\": \"a\"}}",
        "{\"begin\": {\"id\": \"4712\", \"source\": \"run\", \"pid\": %u}}",
        "{\"begin\": {\"id\": \"20261115-201354-1-k7qd\", \"source\": \"run\", \"pid\": %u}}",
        "{\"begin\": {\"id\": \"20261115-201354-%u-k7qd\", \"source\": \"told\", \"pid\": %u}}",
        "{\"begin\": {\"id\": \"20261115-201354-%u-k7qd\", \"source\": \"run\", \"pid\": %u, \"cgroup\": \"/\"}}",
        "{\"begin\": {\"id\": \"20261115-201354-%u\", \"source\": \"run\", \"pid\": %u}}",
        "{\"end\": {\"id\": \"4711\"}}",
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        snprintf(text, sizeof text, refused[i], pid, pid);
        assert_int_equal(post(getuid(), false, text, "only root"), DENIED);
    }
    snprintf(text, sizeof text, "{\"begin\": {\"id\": \"20261115-201354-%u-k7qd\", \"source\": \"run\", \"pid\": %u}}", pid, pid);
    assert_int_equal(post(STRANGER, false, text, "only root"), DENIED); /* the process is another's */
    assert_int_equal(post(getuid(), false, text, "\"ok\": true"), OK);
    snprintf(text, sizeof text, "20261115-201354-%u-k7qd", pid);
    assert_int_equal(jobs_find(f.jobs, text)->uid, getuid());
    assert_string_equal(jobs_find(f.jobs, text)->source, "run");
    snprintf(text, sizeof text, "{\"end\": {\"id\": \"20261115-201354-%u-k7qd\", \"source\": \"run\"}}", pid);
    assert_int_equal(post(STRANGER, false, text, "only root"), DENIED);
    assert_int_equal(post(getuid(), false, text, "\"ok\": true"), OK);
    assert_int_equal(jobs_count(f.jobs), 1);
}

/* A run inside of a batch job does not end that. */
static void the_end_of_a_run_is_not_that_of_its_job(void **state)
{
    (void)state;
    assert_int_equal(post(0, true, "{\"end\": {\"id\": \"4711\", \"source\": \"run\"}}", "no such job"), ABSENT);
    assert_non_null(jobs_find(f.jobs, "4711"));
}

static void who_owns_a_job_may_ask_for_its_system_calls(void **state)
{
    (void)state;
    assert_int_equal(post(0, true, "{\"begin\": {\"id\": \"a\", \"uid\": 4242}}", "\"ok\": true"), OK);
    assert_int_equal(post(STRANGER + 1, false, "{\"ask\": {\"id\": \"a\", \"syscalls\": \"count\"}}", "theirs"), DENIED);
    assert_int_equal(post(STRANGER + 1, false, "{\"ask\": {\"id\": \"a\", \"syscalls\": \"read\"}}", "theirs"), DENIED);
    assert_int_equal(jobs_find(f.jobs, "a")->syscalls, JOB_SYSCALLS_NONE);
    assert_int_equal(post(STRANGER, false, "{\"ask\": {\"id\": \"a\", \"syscalls\": \"time\"}}", "\"counts\": false"), OK);
    assert_int_equal(jobs_find(f.jobs, "a")->syscalls, JOB_SYSCALLS_TIME); /* nobody counts here, and that is said */
    assert_int_equal(post(STRANGER, false, "{\"ask\": {\"id\": \"a\", \"syscalls\": \"read\"}}", "\"samples\": []"), OK);
    assert_int_equal(jobs_find(f.jobs, "a")->syscalls, JOB_SYSCALLS_TIME);
    assert_int_equal(post(0, true, "{\"ask\": {\"id\": \"a\", \"syscalls\": \"no\"}}", "\"ok\": true"), OK);
    assert_int_equal(jobs_find(f.jobs, "a")->syscalls, JOB_SYSCALLS_NONE);
    assert_int_equal(post(0, true, "{\"ask\": {\"id\": \"b\", \"syscalls\": \"no\"}}", "no such job"), ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_is_who_tells_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(root_tells, setup, teardown),
        cmocka_unit_test_setup_teardown(nonsense_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(others_tell_of_their_own_runs_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(who_owns_a_job_may_ask_for_its_system_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_of_a_run_is_not_that_of_its_job, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
