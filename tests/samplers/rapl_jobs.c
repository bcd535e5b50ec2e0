/* Energy of a captured node attributed to its jobs by CPU time, in rounds, and failures. */
#include "samplers/all.h"

#include "base/log.h"
#include "tools/node.h"
#include "tools/sensing.h"

#include <unistd.h>

#define ZONE "sys/class/powercap/intel-rapl:"

static const struct job job_11 = { .id = "11", .cgroup = "/slurm/uid_1000/job_11", .slot = 0 };
static const struct job job_12 = { .id = "12", .cgroup = "/system.slice/slurmstepd.scope/job_12", .unified = true,
                                   .slot = 20 };
static const struct job job_13 = { .id = "13", .cgroup = "", .slot = 3 };
#define USAGE_11 "sys/fs/cgroup/cpu,cpuacct/slurm/uid_1000/job_11/cpuacct.usage"
#define USAGE_12 "sys/fs/cgroup/unified/system.slice/slurmstepd.scope/job_12/cpu.stat"

/* The node uses 60 mJ and 10 s of CPU time. */
static void time_goes_on(const char *root, unsigned step)
{
    char text[128];
    snprintf(text, sizeof text, "%llu\n", 124872633459ull + step * 60000);
    sensing_put(root, ZONE "0/energy_uj", text);
    snprintf(text, sizeof text, "cpu  %lu 100 900 500000 300 40 60 0 0 0\n", 4000 + step * 10 * sysconf(_SC_CLK_TCK));
    sensing_put(root, "proc/stat", text);
}

static uint64_t job_u64(const struct sensing *s, const char *job, const char *metric)
{
    const union value *value = sensing_find(s, "", job, metric);
    assert_non_null(value);
    return value->u64;
}

static void energy_is_attributed_by_cpu_time(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    sensing_copy(root, node_root("sensors"));
    sensing_init(&s, &sampler_rapl, root);
    sensing_set(&s, "share_period", "0s");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_job(&s, &job_11, JOB_BEGIN), OK);
    assert_int_equal(s.batch.count, 1);
    assert_int_equal(job_u64(&s, "11", "package"), 0); /* its first sample */
    assert_int_equal(sensing_job(&s, &job_12, JOB_BEGIN), OK);
    assert_int_equal(sensing_job(&s, &job_13, JOB_BEGIN), OK); /* has no cgroup */
    assert_int_equal(s.batch.count, 0);
    assert_int_equal(sensing_job(&s, &job_11, JOB_CHANGE), OK);
    time_goes_on(root, 1);
    sensing_put(root, USAGE_11, "9000000000\n");                      /* 4 of 10 s */
    sensing_put(root, USAGE_12, "system_usec 5\nusage_usec 8000000\n"); /* 1 of 10 s */
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 3 + 2);
    assert_string_equal(sensing_sample(&s, "", "11")->set->name, "energy");
    assert_in_range(job_u64(&s, "11", "package"), 23999, 24000);
    assert_in_range(job_u64(&s, "12", "package"), 5999, 6000);
    assert_int_equal(job_u64(&s, "11", "dram"), 0); /* measured, but did not move */
    assert_null(sensing_find(&s, "", "11", "core"));

    time_goes_on(root, 2);
    sensing_put(root, USAGE_11, "14000000000\n"); /* 5 of 10 s, then it ends */
    assert_int_equal(sensing_job(&s, &job_11, JOB_END), OK);
    assert_int_equal(s.batch.count, 1);
    assert_in_range(job_u64(&s, "11", "package"), 53999, 54000);
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_sample(&s, "", "11"));
    assert_in_range(job_u64(&s, "12", "package"), 5999, 6000);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sensing_read(&s), OK);
    sensing_end(&s);
    temp_remove(root);
}

static void between_two_rounds_a_reading_is_partial(void **state)
{
    (void)state;
    struct sensing s;
    sensing_init(&s, &sampler_rapl, node_root("sensors"));
    sensing_set(&s, "share_period", "1h");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_false(s.batch.is_part); /* there are no jobs */
    assert_int_equal(sensing_job(&s, &job_11, JOB_BEGIN), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_non_null(sensing_sample(&s, "", "11"));
    assert_false(s.batch.is_part);
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_sample(&s, "", "11"));
    assert_true(s.batch.is_part);
    sensing_end(&s);
}

/* Before it is reopened with other settings. */
static void the_last_reading_distributes_everything(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    sensing_copy(root, node_root("sensors"));
    sensing_init(&s, &sampler_rapl, root);
    sensing_set(&s, "share_period", "1h");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_job(&s, &job_11, JOB_BEGIN), OK);
    assert_int_equal(sensing_read(&s), OK); /* the first round */
    time_goes_on(root, 1);
    sensing_put(root, USAGE_11, "9000000000\n"); /* 4 of 10 s */
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_sample(&s, "", "11"));
    sampler_rapl.before_last_read(s.state);
    assert_int_equal(sensing_read(&s), OK);
    assert_in_range(job_u64(&s, "11", "package"), 23999, 24000);
    sensing_end(&s);
    temp_remove(root);
}

static void a_job_that_is_a_process_has_its_share(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    static const struct job job = { .id = "p", .cgroup = "", .pid = 50, .slot = 7 };
    long ticks = sysconf(_SC_CLK_TCK);
    char text[256];
    sensing_copy(root, node_root("sensors"));
    sensing_put(root, "proc/1/task/1/children", "");
    sensing_put(root, "proc/50/task/50/children", "");
    sensing_put(root, "proc/50/stat", "50 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 1 1 1\n");
    sensing_init(&s, &sampler_rapl, root);
    sensing_set(&s, "share_period", "0s");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_job(&s, &job, JOB_BEGIN), OK);
    time_goes_on(root, 1);
    snprintf(text, sizeof text, "50 (x) S 1 1 1 0 -1 0 0 0 0 0 %ld %ld 0 0 20 0 1 0 9 1 1 1\n", 3 * ticks, 2 * ticks);
    sensing_put(root, "proc/50/stat", text); /* 5 of 10 s */
    assert_int_equal(sensing_read(&s), OK);
    assert_in_range(job_u64(&s, "p", "package"), 29999, 30000);
    assert_int_equal(sensing_job(&s, &job, JOB_END), OK);
    sensing_end(&s);
    temp_remove(root);
}

static void a_vanished_cgroup_keeps_its_energy(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    sensing_copy(root, node_root("sensors"));
    sensing_init(&s, &sampler_rapl, root);
    sensing_set(&s, "share_period", "0s");
    assert_int_equal(sensing_open(&s), OK);
    temp_join(path, root, USAGE_12);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sensing_job(&s, &job_12, JOB_BEGIN), OK);
    time_goes_on(root, 1);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(job_u64(&s, "12", "package"), 0);
    assert_int_equal(sensing_job(&s, &job_12, JOB_END), OK);
    assert_int_equal(s.batch.count, 1);
    assert_int_equal(sensing_job(&s, &job_12, JOB_END), OK); /* once */
    assert_int_equal(s.batch.count, 0);
    sensing_end(&s);
    temp_remove(root);
}

static void many_jobs_need_few_files(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX], name[128], id[16];
    sensing_copy(root, node_root("sensors"));
    sensing_init(&s, &sampler_rapl, root);
    sensing_set(&s, "share_period", "0s");
    assert_int_equal(sensing_open(&s), OK);
    for (uint32_t i = 0; i < 600; i++) {
        snprintf(id, sizeof id, "%u", 1000 + i);
        snprintf(name, sizeof name, "/j/job_%u", i);
        struct job job = { .id = id, .cgroup = name, .slot = i };
        char file[256];
        snprintf(file, sizeof file, "sys/fs/cgroup/cpu,cpuacct%s/cpuacct.usage", name);
        sensing_put(root, file, "1\n");
        assert_int_equal(sensing_job(&s, &job, JOB_BEGIN), OK);
    }
    int before = dup(0);
    assert_in_range(before, 0, 400); /* descriptors are scarce */
    close(before);
    time_goes_on(root, 1);
    for (uint32_t i = 0; i < 600; i++) {
        snprintf(name, sizeof name, "sys/fs/cgroup/cpu,cpuacct/j/job_%u/cpuacct.usage", i);
        sensing_put(root, name, "10000001\n"); /* 10 ms of 10 s each */
    }
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 603);
    assert_in_range(job_u64(&s, "1599", "package"), 59, 60);
    sensing_end(&s);
    temp_remove(root);
}

/* The node's own energy is read even without /proc/stat; what could not be attributed is in the next round. */
static void without_busy_time_the_node_is_still_read(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "cpux 1\n", "cpu  4000 100 900\n", "cpu  -1\n" };
    struct sensing s;
    char root[TEMP_PATH_MAX];
    log_set_level(-1);
    sensing_copy(root, node_root("sensors"));
    sensing_init(&s, &sampler_rapl, root);
    sensing_set(&s, "share_period", "0s");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_job(&s, &job_11, JOB_BEGIN), OK);
    time_goes_on(root, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sensing_put(root, "proc/stat", bad[i]);
        assert_int_equal(sensing_read(&s), OK);
        assert_int_equal(sensing_u64(&s, "package-0", "package"), 124872633459ull + 60000);
        assert_int_equal(s.batch.count, 3);
    }
    assert_int_equal(sensing_job(&s, &job_12, JOB_BEGIN), OK);
    assert_int_equal(s.batch.count, 1);
    time_goes_on(root, 1);
    sensing_put(root, USAGE_11, "9000000000\n"); /* 4 of 10 s */
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 3 + 2);
    assert_in_range(job_u64(&s, "11", "package"), 23999, 24000);
    sensing_put(root, "proc/stat", "");
    assert_int_equal(sensing_job(&s, &job_11, JOB_END), OK);
    assert_int_equal(s.batch.count, 0); /* its final usage is unknown */
    time_goes_on(root, 2);
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_sample(&s, "", "11"));
    assert_int_equal(job_u64(&s, "12", "package"), 0);
    log_set_level(0);
    sensing_end(&s);
    temp_remove(root);
}

static void energy_of_a_break_is_not_attributed(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    log_set_level(-1);
    sensing_copy(root, node_root("sensors"));
    sensing_init(&s, &sampler_rapl, root);
    sensing_set(&s, "share_period", "0s");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_job(&s, &job_11, JOB_BEGIN), OK);
    assert_int_equal(sensing_job(&s, &job_12, JOB_BEGIN), OK);
    time_goes_on(root, 1);
    sensing_put(root, USAGE_11, "9000000000\n"); /* 4 of 10 s */
    assert_int_equal(sensing_read(&s), OK);
    assert_in_range(job_u64(&s, "11", "package"), 23999, 24000);
    sensing_put(root, ZONE "0/energy_uj", "5\n"); /* it was reset */
    assert_int_equal(sensing_job(&s, &job_12, JOB_END), OK);
    assert_null(sensing_find(&s, "", "12", "package"));
    assert_int_equal(job_u64(&s, "12", "dram"), 0);
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_find(&s, "", "11", "package"));
    assert_int_equal(job_u64(&s, "11", "dram"), 0);
    time_goes_on(root, 2);
    sensing_put(root, ZONE "0/energy_uj", "10005\n");
    sensing_put(root, USAGE_11, "14000000000\n"); /* 5 of 10 s */
    assert_int_equal(sensing_read(&s), OK);
    assert_in_range(job_u64(&s, "11", "package"), 4999, 5000);
    log_set_level(0);
    sensing_end(&s);
    temp_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_is_attributed_by_cpu_time),
        cmocka_unit_test(between_two_rounds_a_reading_is_partial),
        cmocka_unit_test(the_last_reading_distributes_everything),
        cmocka_unit_test(a_job_that_is_a_process_has_its_share),
        cmocka_unit_test(a_vanished_cgroup_keeps_its_energy),
        cmocka_unit_test(many_jobs_need_few_files),
        cmocka_unit_test(without_busy_time_the_node_is_still_read),
        cmocka_unit_test(energy_of_a_break_is_not_attributed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
