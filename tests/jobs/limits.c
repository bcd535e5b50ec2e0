/* Limits on captured nodes and on this one. */
#include "jobs/limits.h"

#include "tools/node.h"
#include "tools/unit.h"

#include <sched.h>
#include <sys/resource.h>

static void a_slurm_job_has_the_smallest_ancestor_limit(void **state)
{
    (void)state;
    struct limits limits;
    limits_read(node_root("big"), &limits);
    assert_int_equal(limits.affinity_cores, 64); /* 192-255 are in the mask but not online */
    assert_int_equal(limits.quota_milli, 16500);
    assert_int_equal(limits.cores_milli, 16500);
    assert_int_equal(limits.memory_bytes, 64ull << 30);
    assert_int_equal(limits.address_space_bytes, 8ull << 30);
}

static void v1_limits_apply_in_a_container(void **state)
{
    (void)state;
    struct limits limits;
    limits_read(node_root("container"), &limits);
    assert_int_equal(limits.quota_milli, 4000);
    assert_int_equal(limits.cores_milli, 4000);
    assert_int_equal(limits.cgroup_memory_bytes, 3ull << 30);
    assert_int_equal(limits.memory_bytes, 3ull << 30);
    assert_int_equal(limits.address_space_bytes, 0);
}

static void without_quota_the_affinity_counts(void **state)
{
    (void)state;
    struct limits limits;
    limits_read(node_root("vm"), &limits);
    assert_int_equal(limits.quota_milli, 0);
    assert_int_equal(limits.cores_milli, 2000);
    assert_int_equal(limits.cgroup_memory_bytes, 2ull << 30);
}

static void without_files_everything_is_unknown(void **state)
{
    (void)state;
    struct limits limits, none = { 0 };
    limits_read("/nonexistent", &limits);
    assert_memory_equal(&limits, &none, sizeof none);
}

static void this_node_agrees_with_its_system_calls(void **state)
{
    (void)state;
    struct limits limits;
    cpu_set_t before, one;
    struct rlimit rlimit, take_smaller;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    limits_read("", &limits);
    assert_int_equal(limits.affinity_cores, CPU_COUNT(&before));

    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    getrlimit(RLIMIT_AS, &rlimit);
    take_smaller = (struct rlimit){ 1ull << 45, rlimit.rlim_max };
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &take_smaller), 0);
    limits_read("", &limits);
    sched_setaffinity(0, sizeof before, &before);
    setrlimit(RLIMIT_AS, &rlimit);
    assert_int_equal(limits.affinity_cores, 1);
    assert_true(limits.cores_milli > 0 && limits.cores_milli <= 1000);
    assert_true(limits.address_space_bytes == 1ull << 45);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slurm_job_has_the_smallest_ancestor_limit),
        cmocka_unit_test(v1_limits_apply_in_a_container),
        cmocka_unit_test(without_quota_the_affinity_counts),
        cmocka_unit_test(without_files_everything_is_unknown),
        cmocka_unit_test(this_node_agrees_with_its_system_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
