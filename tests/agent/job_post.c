/* POST /job: valid and invalid requests, from root and from other users. */
#include "agent/job_post.h"

#include "jobs/job_id.h"
#include "proc/pid.h"
#include "tools/jobs_fixture.h"

#define STRANGER 4242u

static struct fixture f;

static enum err post(uint32_t uid, bool is_privileged, const char *text, const char *answer_has)
{
    struct buf answer;
    buf_init(&answer, 4096);
    struct job_requester requester = { .uid = uid, .is_privileged = is_privileged, .has_pid = !is_privileged,
                                       .pid = (uint32_t)getpid() };
    enum err err = job_post(f.jobs, &requester, bytes_of(text), &answer);
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
    struct job_requester requester = { .is_privileged = true, .has_pid = true, .pid = pid };
    buf_init(&answer, 4096);
    enum err err = job_post(f.jobs, &requester, bytes_of(text), &answer);
    buf_clear(&answer);
    return err;
}

/* In its own pid namespace a run may be pid 1, which is another process here, or none. */
static void run_is_the_requesting_process(void **state)
{
    (void)state;
    assert_int_equal(post_from(4711, "{\"begin\": {\"id\": \"r1\", \"source\": \"run\", \"pid\": 1}}"), OK);
    assert_int_equal(jobs_find(f.jobs, "r1")->pid, 4711);
    assert_int_equal(post_from(0, "{\"begin\": {\"id\": \"r2\", \"source\": \"run\", \"pid\": 1}}"), GONE);
    assert_null(jobs_find(f.jobs, "r2"));
    assert_int_equal(post_from((uint32_t)getpid(), "{\"begin\": {\"id\": \"t1\", \"source\": \"told\", \"pid\": 1}}"), OK);
    assert_int_equal(jobs_find(f.jobs, "t1")->pid, 1);
}

static void root_declares_jobs(void **state)
{
    (void)state;
    assert_int_equal(post(0, true,
                          "{\"begin\": {\"id\": \"a\", \"user\": \"zoe\", \"cores_milli\": 2000, \"new\": [1, {}]}}",
                          "\"known\": false"), OK);
    assert_string_equal(jobs_find(f.jobs, "a")->user, "zoe");
    assert_int_equal(jobs_find(f.jobs, "a")->cores_milli, 2000);
    assert_int_equal(post(0, true, "{\"begin\": {\"id\": \"4711\"}}", "\"known\": true"), OK);
    assert_int_equal(post(0, true, "{\"end\": {\"id\": \"a\"}}", "\"ok\": true"), OK);
    assert_int_equal(post(0, true, "{\"end\": {\"id\": \"a\"}}", "no such job"), ABSENT);
    assert_null(jobs_find(f.jobs, "a"));
}

static void invalid_requests_are_refused(void **state)
{
    (void)state;
    static const char *const strings[] = {
        "", "{}", "[]", "{\"begin\": {}}", "{\"begin\": {\"id\": \"\"}}", "{\"begin\": {\"id\": 7}}", "{\"begin\": 7}",
        "{\"begin\": {\"id\": \"a\"}, \"end\": {\"id\": \"a\"}}", "{\"begin\": {\"id\": \"a\", \"uid\": -1}}",
        "{\"begin\": {\"id\": \"a\", \"pid\": 99999999999}}", "{\"begin\": {\"id\": \"a\"}", "{\"begin\": {\"id\": \"a\"}} x",
        "{\"begin\": {\"id\": \"a\", \"cgroup\": \"../x\"}}", "{\"begin\": {\"id\": \"a\\u0007\"}}",
        "{\"stop\": {\"id\": \"a\"}}", "{\"ask\": {\"id\": \"4711\"}}", "{\"ask\": {\"id\": \"4711\", \"syscalls\": \"all\"}}",
        "{\"begin\": {\"id\": \"a\", \"syscalls\": \"read\"}}", "{\"begin\": {\"id\": \"a\", \"syscalls\": \"x\"}}",
    };
    size_t before = f.count;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        assert_int_equal(post(0, true, strings[i], "\"ok\": false"), USAGE);
    assert_int_equal(f.count, before);
}

/* The id that sonde run would generate in this process, or late_s later. */
static void generate(char id[JOB_ID_MAX], uint32_t pid, int late_s)
{
    uint64_t start_ns;
    assert_int_equal(pid_start_ns("", getpid(), &start_ns), OK);
    job_id_generate(start_ns + (uint64_t)late_s * 1000000000ull, pid, id);
}

static enum err begin_run(uint32_t uid, const char *id, uint32_t pid, const char *more, const char *answer_has)
{
    char text[1024];
    snprintf(text, sizeof text, "{\"begin\": {\"id\": \"%s\", \"source\": \"run\", \"pid\": %u%s}}", id, pid, more);
    return post(uid, false, text, answer_has);
}

/* Users may declare the requesting process, with an id that cannot be a batch system's or another run's. */
static void users_declare_only_their_own_runs(void **state)
{
    (void)state;
    char id[JOB_ID_MAX], other[JOB_ID_MAX], text[512];
    uint32_t pid = (uint32_t)getpid();
    generate(id, pid, 0);
    assert_int_equal(post(getuid(), false, "{\"begin\": {\"id\": \"a\"}}", "only root"), DENIED);
    assert_int_equal(begin_run(getuid(), "4712", pid, "", "only root"), DENIED);
    assert_int_equal(begin_run(getuid(), id, pid, ", \"cgroup\": \"/\"", "only root"), DENIED);
    assert_int_equal(begin_run(getuid(), id, 1, "", "only root"), DENIED);
    assert_int_equal(begin_run(STRANGER, id, pid, "", "only root"), DENIED); /* the process belongs to another user */
    snprintf(text, sizeof text, "{\"begin\": {\"id\": \"%s\", \"source\": \"told\", \"pid\": %u}}", id, pid);
    assert_int_equal(post(getuid(), false, text, "only root"), DENIED);
    assert_int_equal(post(getuid(), false, "{\"end\": {\"id\": \"4711\"}}", "only root"), DENIED);
    generate(other, 1, 0); /* the finished run of another process, which the request names */
    assert_int_equal(begin_run(getuid(), other, 1, "", "only root"), DENIED);
    generate(other, pid, -400); /* the run of a process that had this pid before */
    assert_int_equal(begin_run(getuid(), other, pid, "", "only root"), DENIED);
    generate(other, pid, 30 * 3600);
    assert_int_equal(begin_run(getuid(), other, pid, "", "only root"), DENIED);

    assert_int_equal(begin_run(getuid(), id, pid, ", \"start_ns\": 1, \"user\": \"root\", \"uid\": 7", "\"ok\": true"), OK);
    uint64_t start_ns;
    assert_int_equal(pid_start_ns("", getpid(), &start_ns), OK);
    assert_int_equal(jobs_find(f.jobs, id)->uid, getuid());
    assert_in_range(jobs_find(f.jobs, id)->start_ns, start_ns - 1000000000, start_ns + 1000000000);
    assert_string_equal(jobs_find(f.jobs, id)->source, "run");
    snprintf(text, sizeof text, "{\"end\": {\"id\": \"%s\", \"source\": \"run\", \"end_ns\": 1}}", id);
    assert_int_equal(post(STRANGER, false, text, "only root"), DENIED);
    assert_int_equal(post(getuid(), false, text, "\"ok\": true"), OK);
    assert_int_equal(jobs_count(f.jobs), 1);
}

/* A run inside a batch job does not end the job. */
static void end_of_a_run_does_not_end_its_job(void **state)
{
    (void)state;
    assert_int_equal(post(0, true, "{\"end\": {\"id\": \"4711\", \"source\": \"run\"}}", "no such job"), ABSENT);
    assert_non_null(jobs_find(f.jobs, "4711"));
}

static void owner_requests_system_calls(void **state)
{
    (void)state;
    assert_int_equal(post(0, true, "{\"begin\": {\"id\": \"a\", \"uid\": 4242}}", "\"ok\": true"), OK);
    assert_int_equal(post(STRANGER + 1, false, "{\"ask\": {\"id\": \"a\", \"syscalls\": \"count\"}}",
                          "other users' jobs"), DENIED);
    assert_int_equal(post(STRANGER + 1, false, "{\"ask\": {\"id\": \"a\", \"syscalls\": \"read\"}}",
                          "other users' jobs"), DENIED);
    assert_int_equal(jobs_find(f.jobs, "a")->syscalls, JOB_SYSCALLS_NONE);
    assert_int_equal(post(STRANGER, false, "{\"ask\": {\"id\": \"a\", \"syscalls\": \"time\"}}", "\"counts\": false"), OK);
    assert_int_equal(jobs_find(f.jobs, "a")->syscalls, JOB_SYSCALLS_TIME); /* nothing counts here, and the response says so */
    assert_int_equal(post(STRANGER, false, "{\"ask\": {\"id\": \"a\", \"syscalls\": \"read\"}}", "\"samples\": []"), OK);
    assert_int_equal(jobs_find(f.jobs, "a")->syscalls, JOB_SYSCALLS_TIME);
    assert_int_equal(post(0, true, "{\"ask\": {\"id\": \"a\", \"syscalls\": \"no\"}}", "\"ok\": true"), OK);
    assert_int_equal(jobs_find(f.jobs, "a")->syscalls, JOB_SYSCALLS_NONE);
    assert_int_equal(post(0, true, "{\"ask\": {\"id\": \"b\", \"syscalls\": \"no\"}}", "no such job"), ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(run_is_the_requesting_process, setup, teardown),
        cmocka_unit_test_setup_teardown(root_declares_jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(invalid_requests_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(users_declare_only_their_own_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(owner_requests_system_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(end_of_a_run_does_not_end_its_job, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
