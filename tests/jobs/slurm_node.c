/* Several slurmd on one machine: the node of an agent is that of the only one, or of the one with its host name. */
#include "jobs/slurm_node.h"

#include "tools/jobs_fixture.h"

#define V1 "/sys/fs/cgroup/"
#define PARSE(text, name) slurm_node_parse(text, sizeof text, name)

static void names_are_found_in_command_lines(void **state)
{
    (void)state;
    char name[JOB_SOURCE_NAME_MAX];
    assert_true(PARSE("/usr/sbin/slurmd\0-N\0c1", name));
    assert_string_equal(name, "c1");
    assert_true(PARSE("slurmd\0-D\0-f\0N.conf\0-vvNc2", name));
    assert_string_equal(name, "c2");
    assert_true(PARSE("slurmd\0-DN\0c3\0-c", name));
    assert_string_equal(name, "c3");
    assert_false(PARSE("slurmd", name));
    assert_false(PARSE("slurmd\0-D\0--conf-server\0Nowhere\0-f\0N", name));
    assert_false(PARSE("slurmd\0-N", name));
    assert_false(PARSE("slurmd\0-N\0", name));
    assert_false(PARSE("slurmd\0-N\0a\nb", name));
    assert_false(PARSE("vi\0-N\0slurmd", name));
    assert_false(slurm_node_parse("slurmd\0-N\0c1", 11, name)); /* truncated */
    assert_false(slurm_node_parse("", 0, name));
}

static void add_slurmd(const struct fixture *f, int pid, uint32_t uid, const char *cmdline, size_t size)
{
    char path[64], whole[1024];
    fixture_process(f, pid, uid, "", "", 0);
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    fixture_path(f, path, whole);
    temp_write(whole, cmdline, size);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture_begin_v1(&fixture);
    fixture_write(&fixture, "/proc/sys/kernel/hostname", "c2\n");
    fixture_mkdir(&fixture, V1 "memory/slurm_c1/uid_1000/job_7");
    fixture_mkdir(&fixture, V1 "memory/slurm_c2/uid_1000/job_8");
    unsetenv("SONDE_NODE");
    unsetenv("SLURMD_NODENAME");
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    fixture_end(*state);
    unsetenv("SONDE_NODE");
    return 0;
}

static void the_only_slurmd_is_ours(void **state)
{
    struct fixture *f = *state;
    add_slurmd(f, 100, 0, "slurmd\0-N\0c1", 13);
    add_slurmd(f, 101, 0, "slurmd\0-N\0c1", 13); /* a child of it */
    add_slurmd(f, 102, 1000, "slurmd\0-N\0c3", 13); /* a user's program */
    fixture_open(f);
    assert_non_null(jobs_find(f->jobs, "7"));
    assert_int_equal(jobs_count(f->jobs), 1);
}

static void the_one_with_our_host_name_is_ours(void **state)
{
    struct fixture *f = *state;
    add_slurmd(f, 100, 0, "slurmd\0-N\0c1", 13);
    add_slurmd(f, 101, 0, "slurmd\0-N\0c2", 13);
    fixture_open(f);
    assert_non_null(jobs_find(f->jobs, "8"));
    assert_int_equal(jobs_count(f->jobs), 1);
}

static void without_a_name_no_job_is_counted_twice(void **state)
{
    struct fixture *f = *state;
    struct job job = { .id = "9", .other_id = "", .source = "told", .user = "", .cgroup = "", .uid = UINT32_MAX };
    fixture_write(f, "/proc/sys/kernel/hostname", "login\n");
    fixture_mkdir(f, V1 "memory/oar/anna_5");
    add_slurmd(f, 100, 0, "slurmd\0-N\0c1", 13);
    add_slurmd(f, 101, 0, "slurmd\0-N\0c2", 13);
    fixture_open(f);
    assert_non_null(jobs_find(f->jobs, "5")); /* other batch systems are not affected */
    assert_int_equal(jobs_begin(f->jobs, &job), OK);
    assert_int_equal(jobs_count(f->jobs), 2);
    jobs_close(&f->jobs);
    setenv("SONDE_NODE", "c1", 1);
    fixture_open(f);
    assert_non_null(jobs_find(f->jobs, "7"));
    assert_int_equal(jobs_count(f->jobs), 2);
    jobs_close(&f->jobs);
    setenv("SONDE_NODE", "", 1); /* all */
    fixture_open(f);
    assert_int_equal(jobs_count(f->jobs), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_in_command_lines),
        cmocka_unit_test_setup_teardown(the_only_slurmd_is_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_one_with_our_host_name_is_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_name_no_job_is_counted_twice, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
