/* Energy of captured nodes: powercap and perf, wraps, resets, shares of jobs. */
#include "sample/all.h"

#include "base/clock.h"
#include "base/log.h"
#include "sample/perf.h"
#include "sample/rapl_meter.h"
#include "tools/node.h"
#include "tools/sensing.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONE "sys/class/powercap/intel-rapl:"
#define RANGE 262143328850ull

/* perf_event_open of a machine with two packages: each event is a file that a test can write. */
static int (*real_perf)(struct perf_event_attr *, pid_t, int, int, unsigned long);
static int perf_errno;
static uint64_t perf_counts[64];

static int fake_perf(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
    (void)group_fd, (void)flags;
    assert_int_equal(pid, -1);
    assert_int_equal(attr->type, 9);
    if (perf_errno) {
        errno = perf_errno;
        return -1;
    }
    int ends[2];
    uint64_t *count = &perf_counts[attr->config + (cpu ? 8 : 0)];
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 3; i++) { /* a pipe gives one at each read: three readings */
        uint64_t value = *count * (uint64_t)(i + 1);
        assert_int_equal(write(ends[1], &value, sizeof value), sizeof value);
    }
    close(ends[1]);
    return ends[0];
}

static int forget(void **state)
{
    (void)state;
    perf_open_call = fake_perf;
    perf_errno = ENOENT;
    memset(perf_counts, 0, sizeof perf_counts);
    return 0;
}

static void zones_are_read_by_name(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_rapl, node_root("sensors")), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 3); /* the mmio zone is package-0 once more */
    assert_int_equal(sensing_u64(&s, "package-0", "package"), 124872633459);
    assert_int_equal(sensing_u64(&s, "package-0", "dram"), 33920498832);
    assert_int_equal(sensing_u64(&s, "package-1", "package"), 262143000000);
    assert_int_equal(sensing_u64(&s, "psys", "psys"), 91448000123);
    assert_null(sensing_find(&s, "package-0", NULL, "core"));
    assert_null(sensing_find(&s, "psys", NULL, "package"));
    assert_int_equal(sensing_u64(&s, "package-1", "package_range"), RANGE);
    assert_int_equal(sensing_u64(&s, "package-0", "dram_range"), 65712999613);
    assert_null(sensing_find(&s, "package-0", NULL, "core_range"));
    sensing_end(&s);
}

static void a_wrap_is_made_good(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    sensing_copy(root, node_root("sensors"));
    assert_int_equal(sensing_begin(&s, &sampler_rapl, root), OK);
    assert_int_equal(sensing_read(&s), OK);
    sensing_put(root, ZONE "1/energy_uj", "171150\n"); /* 328850 to its end, then 171150 more */
    sensing_put(root, ZONE "0/energy_uj", "124872733459\n");
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(sensing_u64(&s, "package-1", "package"), 262143000000 + 500000);
    assert_int_equal(sensing_u64(&s, "package-0", "package"), 124872633459 + 100000);
    sensing_put(root, ZONE "1/energy_uj", "171151\n");
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(sensing_u64(&s, "package-1", "package"), 262143000000 + 500001);
    sensing_end(&s);
    temp_remove(root);
}

static void what_cannot_be_a_wrap_begins_again(void **state)
{
    (void)state;
    struct rapl_meter meter = { .domain = RAPL_PACKAGE, .range_uj = RANGE };
    rapl_meter_take_uj(&meter, 100000000000, 1 * NS_PER_S);
    rapl_meter_take_uj(&meter, 100100000000, 2 * NS_PER_S);
    assert_int_equal(meter.total_uj, 100100000000);
    rapl_meter_take_uj(&meter, 5, 3 * NS_PER_S); /* 162 kJ within a second: it was reset */
    assert_int_equal(meter.total_uj, 0);
    rapl_meter_take_uj(&meter, 1005, 4 * NS_PER_S);
    assert_int_equal(meter.total_uj, 1000);
    rapl_meter_take_uj(&meter, 9000000005, 4000 * NS_PER_S); /* it may have wrapped in an hour, nobody knows how often */
    assert_int_equal(meter.total_uj, 0);
    rapl_meter_take_uj(&meter, UINT64_MAX, 4001 * NS_PER_S);
    assert_int_equal(meter.total_uj, 0);
    rapl_meter_take_uj(&meter, 77, 4002 * NS_PER_S);
    rapl_meter_take_uj(&meter, 177, 4003 * NS_PER_S);
    assert_int_equal(meter.total_uj, 100);
}

static void a_year_of_wraps_adds_up(void **state)
{
    (void)state;
    struct rapl_meter meter = { .domain = RAPL_PACKAGE, .range_uj = RANGE };
    uint64_t uj = 0, now_ns = 0;
    rapl_meter_take_uj(&meter, 0, 0);
    for (int i = 0; i < 3153600; i++) { /* 300 W, each 10 s */
        uj = (uj + 3000000000ull) % RANGE;
        now_ns += 10 * NS_PER_S;
        rapl_meter_take_uj(&meter, uj, now_ns);
    }
    assert_int_equal(meter.total_uj, 3153600 * 3000000000ull);
}

static void bad_zones_are_unknown_and_the_good_one_is_read(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_rapl, node_root("sick")), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_find(&s, "package-0", NULL, "package")); /* negative */
    assert_null(sensing_find(&s, "package-0", NULL, "core"));    /* empty */
    assert_null(sensing_find(&s, "package-0", NULL, "dram"));    /* beyond 64 bits */
    assert_int_equal(sensing_u64(&s, "package-1", "package"), 1000);
    assert_null(sensing_sample(&s, "psys", NULL));
    sensing_end(&s);
}

static void all_of_them_failing_is_a_failure(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    temp_dir(root);
    sensing_put(root, ZONE "0/name", "package-0\n");
    sensing_put(root, ZONE "0/energy_uj", "nonsense\n");
    assert_int_equal(sensing_begin(&s, &sampler_rapl, root), OK);
    assert_int_equal(sensing_read(&s), IO);
    sensing_end(&s);
    temp_remove(root);
}

static void perf_counts_where_powercap_is_not(void **state)
{
    (void)state;
    struct sensing s;
    perf_errno = 0;
    perf_counts[2] = 1ull << 32;              /* 1 J, package 0 */
    perf_counts[8 + 2] = 3ull << 31;          /* 1.5 J, package 1 */
    perf_counts[3] = 1ull << 30;              /* ram of package 0 */
    sensing_init(&s, &sampler_rapl, node_root("sensors"));
    sensing_set(&s, "source", "perf");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 2); /* psys stands still: not shown */
    assert_int_equal(sensing_u64(&s, "package-0", "package"), 2000000);
    assert_int_equal(sensing_u64(&s, "package-1", "package"), 3000000);
    assert_int_equal(sensing_u64(&s, "package-0", "dram"), 500000);
    assert_null(sensing_find(&s, "package-1", NULL, "dram"));
    assert_null(sensing_find(&s, "package-0", NULL, "core"));
    sensing_end(&s);
}

static void perf_adds_what_powercap_does_not_have(void **state)
{
    (void)state;
    struct sensing s;
    perf_errno = 0;
    perf_counts[1] = 1ull << 32; /* cores of package 0 */
    perf_counts[2] = 1ull << 32; /* the package, which powercap has */
    sensing_init(&s, &sampler_rapl, node_root("sensors"));
    sensing_set(&s, "source", "both");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 3);
    assert_int_equal(sensing_u64(&s, "package-0", "package"), 124872633459);
    assert_int_equal(sensing_u64(&s, "package-0", "core"), 2000000);
    assert_null(sensing_find(&s, "package-1", NULL, "core")); /* stands still */
    assert_int_equal(sensing_u64(&s, "psys", "psys"), 91448000123);
    sensing_end(&s);
}

static void dies_that_count_apart_are_told_apart(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    sensing_copy(root, node_root("sensors"));
    sensing_put(root, "sys/devices/system/cpu/cpu24/topology/physical_package_id", "0\n");
    sensing_put(root, "sys/devices/system/cpu/cpu24/topology/die_id", "1\n");
    perf_errno = 0;
    perf_counts[2] = 1ull << 32;
    perf_counts[8 + 2] = 1ull << 33;
    sensing_init(&s, &sampler_rapl, root);
    sensing_set(&s, "source", "perf");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(sensing_u64(&s, "package-0-die-0", "package"), 2000000);
    assert_int_equal(sensing_u64(&s, "package-0-die-1", "package"), 4000000);
    sensing_end(&s);
    temp_remove(root);
}

static void a_perf_count_that_overflows_64_bits_goes_on(void **state)
{
    (void)state;
    struct rapl_meter meter = { .is_perf = true, .uj_per_count = 2.3283064365386962890625e-4 };
    rapl_meter_take_count(&meter, UINT64_MAX - (1ull << 32) + 1);
    meter.total_uj = 7;
    rapl_meter_take_count(&meter, 1ull << 32);
    assert_int_equal(meter.total_uj, 7 + 2000000);
    for (uint64_t i = 1; i <= 10000; i++) /* steps of less than 1 uJ are not lost */
        rapl_meter_take_count(&meter, (1ull << 32) + i * 1000);
    assert_in_range(meter.total_uj, 7 + 2000000 + 2327, 7 + 2000000 + 2329);
}

static void without_any_it_is_absent_or_denied(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_rapl, "/nonexistent"), ABSENT);
    assert_int_equal(sensing_begin(&s, &sampler_rapl, node_root("vm")), ABSENT);
    perf_errno = EACCES;
    sensing_init(&s, &sampler_rapl, node_root("sensors"));
    sensing_set(&s, "source", "perf");
    assert_int_equal(sensing_open(&s), DENIED);
    sensing_init(&s, &sampler_rapl, node_root("sensors"));
    sensing_set(&s, "source", "windmill");
    assert_int_equal(sensing_open(&s), USAGE);
}

static void zones_of_root_are_denied_to_others(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    temp_dir(root);
    chmod(root, 0755);
    sensing_put(root, ZONE "0/name", "package-0\n");
    sensing_put(root, ZONE "0/energy_uj", "5\n");
    temp_join(path, root, ZONE "0/energy_uj");
    chmod(path, 0400);
    bool was_root = geteuid() == 0;
    if (was_root)
        assert_int_equal(seteuid(65534), 0);
    else
        chmod(path, 0);
    enum err err = sensing_begin(&s, &sampler_rapl, root);
    if (was_root)
        assert_int_equal(seteuid(0), 0);
    temp_remove(root);
    assert_int_equal(err, DENIED);
}

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

static void energy_is_shared_out_by_cpu_time(void **state)
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
    assert_int_equal(job_u64(&s, "11", "dram"), 0); /* measured, and did not move */
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

static void a_group_that_vanishes_keeps_what_it_had(void **state)
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

static void many_jobs_share_within_few_files(void **state)
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

/* The node's own energy is read, whatever /proc/stat says; what could not be shared out is in the next round. */
static void without_busy_time_the_node_is_read_all_the_same(void **state)
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
    assert_int_equal(s.batch.count, 0); /* nobody knows what it used last */
    time_goes_on(root, 2);
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_sample(&s, "", "11"));
    assert_int_equal(job_u64(&s, "12", "package"), 0);
    log_set_level(0);
    sensing_end(&s);
    temp_remove(root);
}

static void here_it_is_read_or_absent(void **state)
{
    (void)state;
    struct sensing s;
    perf_open_call = real_perf;
    enum err err = sensing_begin(&s, &sampler_rapl, "");
    if (err) {
        assert_true(err == ABSENT || err == DENIED);
        leave_out("no energy counter on this machine");
    }
    assert_int_equal(sensing_read(&s), OK);
    assert_true(s.batch.count > 0);
    sensing_end(&s);
}

int main(void)
{
    real_perf = perf_open_call;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(zones_are_read_by_name, forget),
        cmocka_unit_test_setup(a_wrap_is_made_good, forget),
        cmocka_unit_test_setup(what_cannot_be_a_wrap_begins_again, forget),
        cmocka_unit_test_setup(a_year_of_wraps_adds_up, forget),
        cmocka_unit_test_setup(bad_zones_are_unknown_and_the_good_one_is_read, forget),
        cmocka_unit_test_setup(all_of_them_failing_is_a_failure, forget),
        cmocka_unit_test_setup(perf_counts_where_powercap_is_not, forget),
        cmocka_unit_test_setup(perf_adds_what_powercap_does_not_have, forget),
        cmocka_unit_test_setup(dies_that_count_apart_are_told_apart, forget),
        cmocka_unit_test_setup(a_perf_count_that_overflows_64_bits_goes_on, forget),
        cmocka_unit_test_setup(without_any_it_is_absent_or_denied, forget),
        cmocka_unit_test_setup(zones_of_root_are_denied_to_others, forget),
        cmocka_unit_test_setup(energy_is_shared_out_by_cpu_time, forget),
        cmocka_unit_test_setup(a_job_that_is_a_process_has_its_share, forget),
        cmocka_unit_test_setup(a_group_that_vanishes_keeps_what_it_had, forget),
        cmocka_unit_test_setup(many_jobs_share_within_few_files, forget),
        cmocka_unit_test_setup(without_busy_time_the_node_is_read_all_the_same, forget),
        cmocka_unit_test(here_it_is_read_or_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
