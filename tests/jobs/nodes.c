/* The jobs of captured nodes: user, start, limits. */
#include "base/clock.h"
#include "tools/jobs_fixture.h"
#include "tools/node.h"

static struct fixture f;

static void open_node(const char *name, size_t count)
{
    static char root[4096];
    struct jobs_listener listener = { fixture_take, &f };
    memset(&f, 0, sizeof f);
    snprintf(root, sizeof root, "%s", node_root(name));
    assert_int_equal(jobs_open(&f.jobs, root, JOB_SOURCES_ALL, &listener), OK);
    assert_int_equal(jobs_count(f.jobs), count);
}

static void expect(const char *id, const char *other_id, const char *source, const char *user, uint32_t uid,
                   uint64_t cores_milli, uint64_t memory_bytes)
{
    const struct job *job = jobs_find(f.jobs, id);
    assert_non_null(job);
    assert_string_equal(job->other_id, other_id);
    assert_string_equal(job->source, source);
    assert_string_equal(job->user, user);
    assert_int_equal(job->uid, uid);
    assert_int_equal(job->cores_milli, cores_milli);
    assert_int_equal(job->memory_bytes, memory_bytes);
    assert_int_equal(fixture_count(&f, id, JOB_BEGIN), 1);
}

static void slurm(void **state)
{
    (void)state;
    open_node("slurm-v1", 2);
    expect("4", "", "slurm", "daemon", 1, 1000, 73400320);
    expect("5", "", "slurm", "root", 0, 1000, 62914560);
    assert_false(jobs_find(f.jobs, "4")->unified);
    assert_true(jobs_find(f.jobs, "4")->start_ns < 1800000000 * NS_PER_S); /* the node's time, not that of the
                                                                            * checkout */
    jobs_close(&f.jobs);
    open_node("slurm-v2", 2);
    expect("1", "", "slurm", "root", 0, 1000, 0);
    expect("3", "", "slurm", "root", 0, 1000, 0);
    assert_string_equal(jobs_find(f.jobs, "3")->cgroup, "/system.slice/c2_slurmstepd.scope/job_3");
    assert_true(jobs_find(f.jobs, "3")->unified);
    jobs_close(&f.jobs);
}

static void slurm_with_sluids(void **state)
{
    (void)state;
    open_node("slurm-sluid", 2);
    expect("3385", "sEKNKTV3WPV500", "slurm", "anna", 1000, 4000, 4294967296);
    expect("3386", "sEKNKTV3WPW600", "slurm", "ben", 1001, 2000, 0);
    assert_ptr_equal(jobs_find(f.jobs, "sEKNKTV3WPW600"), jobs_find(f.jobs, "3386"));
    assert_int_equal(jobs_find(f.jobs, "3385")->start_ns, 1750002500 * NS_PER_S); /* start of its oldest process */
    jobs_close(&f.jobs);
}

static void oar(void **state)
{
    (void)state;
    open_node("oar-v1", 2);
    expect("4711", "", "oar", "anna", 1000, 4000, 0);
    expect("4712", "", "oar", "ben", 1001, 1000, 0);
    jobs_close(&f.jobs);
    open_node("oar-v2", 2);
    expect("45670", "", "oar", "anna", 1000, 4000, 4294967296);
    expect("45671", "", "oar", "ben", 1001, 1000, 4294967296);
    jobs_close(&f.jobs);
}

static void pbs(void **state)
{
    (void)state;
    open_node("pbs-v2", 2);
    expect("4711.head", "", "pbs", "anna", 1000, 4000, 0);
    expect("4712[3].head", "", "pbs", "ben", 1001, 4000, 4294967296);
    jobs_close(&f.jobs);
}

static void damaged_files_are_tolerated(void **state)
{
    (void)state;
    open_node("jobs-sick", 1);
    expect("1", "", "slurm", "", UINT32_MAX, 0, 0);
    jobs_close(&f.jobs);
    open_node("vm", 0);
    jobs_close(&f.jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm), cmocka_unit_test(slurm_with_sluids), cmocka_unit_test(oar), cmocka_unit_test(pbs),
        cmocka_unit_test(damaged_files_are_tolerated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
