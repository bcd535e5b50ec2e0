/* The job of a process in a captured /proc. */
#include "jobs/pid_job.h"

#include "tools/temp.h"
#include "tools/unit.h"

static char root[TEMP_PATH_MAX];

static void write_file(const char *name, const void *data, size_t size)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, root, name);
    temp_write(path, data, size);
}

/* environment: a string literal, whose final NUL ends the last variable. */
#define write_process(cgroup, environment) write_parts(cgroup, environment, sizeof(environment))
static void write_parts(const char *cgroup, const char *environment, size_t size)
{
    static const char status[] = "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n";
    write_file("proc/7/status", status, sizeof status - 1);
    write_file("proc/7/cgroup", cgroup, strlen(cgroup));
    write_file("proc/7/environ", environment, size);
}

static void the_cgroup_overrides_the_environment(void **state)
{
    struct job_id job;
    (void)state;
    write_process("4:cpu:/\n5:memory:/slurm/uid_1000/job_4711/step_0\n", "A=b\0SLURM_JOB_ID=12\0SLURM_JOB_NAME=ocean");
    assert_int_equal(pid_job(root, 7, false, &job), OK);
    assert_string_equal(job.id, "4711");
    assert_string_equal(job.name, "ocean");
}

static void without_a_cgroup_the_environment_is_used(void **state)
{
    struct job_id job;
    (void)state;
    write_process("0::/user.slice\n", "PBS_JOBID=7.server\0SONDE_JOB=mine");
    assert_int_equal(pid_job(root, 7, false, &job), OK);
    assert_string_equal(job.id, "7.server");
    assert_int_equal(pid_job(root, 7, true, &job), OK);
    assert_string_equal(job.id, "mine");
}

static void a_process_outside_of_jobs_has_none(void **state)
{
    struct job_id job;
    (void)state;
    write_process("0::/\n", "HOME=/");
    assert_int_equal(pid_job(root, 7, true, &job), ABSENT);
    assert_string_equal(job.id, "");
    assert_int_equal(pid_job(root, 8, true, &job), GONE);
}

static void every_job_line_is_found(void **state)
{
    struct job_source_facts facts;
    (void)state;
    const char *at = "1:a:/x\n2:b:/slurm/uid_1/job_3\n3:c:/oar/bob_9\n4:d:/y";
    assert_non_null(at = pid_job_next(at, &facts));
    assert_string_equal(facts.id, "3");
    assert_non_null(at = pid_job_next(at, &facts));
    assert_string_equal(facts.id, "9");
    assert_null(pid_job_next(at, &facts));
}

static void cgroups_match_by_whole_components(void **state)
{
    (void)state;
    assert_true(pid_job_in_group("0::/a/job_1\n", "/a/job_1"));
    assert_true(pid_job_in_group("0::/a/job_1", "/a/job_1"));
    assert_true(pid_job_in_group("1:name=x:/\n4:cpu,cpuacct:/a/job_1/step\n", "/a/job_1"));
    assert_false(pid_job_in_group("0::/a/job_12\n", "/a/job_1"));
    assert_false(pid_job_in_group("0::/a\n", "/a/job_1"));
    assert_false(pid_job_in_group("0::/a/job_1\n", ""));
    assert_false(pid_job_in_group("", "/a"));
    assert_false(pid_job_in_group("nonsense", "/a"));
    assert_true(pid_job_in_group("0::/a/job_1\n", "/a/job_1/")); /* the id that users know */
}

static int make_root(void **state)
{
    (void)state;
    temp_dir(root);
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    temp_remove(root);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cgroup_overrides_the_environment),
        cmocka_unit_test(without_a_cgroup_the_environment_is_used),
        cmocka_unit_test(a_process_outside_of_jobs_has_none),
        cmocka_unit_test(every_job_line_is_found),
        cmocka_unit_test(cgroups_match_by_whole_components),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
