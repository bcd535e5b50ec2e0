/* Energy of captured nodes: powercap and perf, wraps, resets. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/log.h"
#include "proc/perf.h"
#include "samplers/rapl_meter.h"
#include "tools/node.h"
#include "tools/sensing.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONE "sys/class/powercap/intel-rapl:"
#define RANGE 262143328850ull

/* perf_event_open of a node with two packages: each event is a file that a test can write. */
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
    for (int i = 0; i < 3; i++) { /* a pipe returns one at each read: three readings */
        uint64_t value = *count * (uint64_t)(i + 1);
        assert_int_equal(write(ends[1], &value, sizeof value), sizeof value);
    }
    close(ends[1]);
    return ends[0];
}

static int forget(void **state)
{
    (void)state;
    perf_event_open_call = fake_perf;
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
    assert_int_equal(s.batch.count, 3); /* the mmio zone is package-0 again */
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

static void the_core_counter_of_amd_is_left_out(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    assert_int_equal(sensing_begin(&s, &sampler_rapl, node_root("amd")), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 2);
    assert_int_equal(sensing_u64(&s, "package-0", "package"), 33914207315);
    assert_int_equal(sensing_u64(&s, "package-1", "package_range"), 65532610987);
    assert_null(sensing_find(&s, "package-0", NULL, "core"));
    assert_null(sensing_find(&s, "package-0", NULL, "core_range"));
    sensing_end(&s);

    sensing_copy(root, node_root("amd"));
    sensing_put(root, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
    assert_int_equal(sensing_begin(&s, &sampler_rapl, root), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(sensing_u64(&s, "package-0", "core"), 412093317);
    sensing_end(&s);
    temp_remove(root);
}

static void a_wrap_is_corrected(void **state)
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

/* -1: left out. */
static int64_t take(struct rapl_meter *meter, uint64_t uj, uint64_t at_s)
{
    uint64_t given_uj;
    rapl_meter_take_uj(meter, uj, at_s * NS_PER_S);
    meter->known = true;
    return rapl_meter_value(meter, &given_uj) ? (int64_t)given_uj : -1;
}

static void an_implausible_wrap_restarts_counting(void **state)
{
    (void)state;
    struct rapl_meter meter = { .domain = RAPL_PACKAGE, .range_uj = RANGE };
    assert_int_equal(take(&meter, 100000000000, 1), 100000000000);
    assert_int_equal(take(&meter, 100100000000, 2), 100100000000);
    assert_int_equal(take(&meter, 5, 3), -1); /* 162 kJ within a second: it was reset */
    assert_int_equal(take(&meter, 1005, 4), 1000);
    assert_int_equal(take(&meter, 9000000005, 4000), -1); /* it may have wrapped in an hour, any number of times */
    assert_int_equal(take(&meter, UINT64_MAX, 4001), -1);
    assert_int_equal(take(&meter, 77, 4002), -1);
    assert_int_equal(take(&meter, 177, 4003), 100);
}

/* AMD's counter wraps within 65 s at 1,000 W. */
static void read_too_rarely_it_is_unknown(void **state)
{
    (void)state;
    struct rapl_meter seldom = { .domain = RAPL_PACKAGE, .range_uj = 65532610987 }, often = seldom;
    uint64_t uj;
    assert_int_equal(take(&seldom, 0, 0), 0);
    rapl_meter_take_uj(&often, 0, 0);
    for (uint64_t s = 100; s <= 1000; s += 100)
        assert_int_equal(take(&seldom, s * 300000000 % seldom.range_uj, s), -1); /* 300 W */
    for (uint64_t s = 33; s <= 990; s += 33)
        rapl_meter_take_uj(&often, s * 300000000 % often.range_uj, s * NS_PER_S);
    often.known = true;
    assert_true(rapl_meter_value(&often, &uj));
    assert_int_equal(uj, 990 * 300000000ull);
}

/* A break at a reading without samples leaves a gap in the next sample. */
static void a_break_between_two_samples_is_reported(void **state)
{
    (void)state;
    struct rapl_meter meter = { .domain = RAPL_PACKAGE, .range_uj = RANGE };
    assert_int_equal(take(&meter, 5000, 1), 5000);
    rapl_meter_take_uj(&meter, 0, 2 * NS_PER_S); /* a reset */
    rapl_meter_take_uj(&meter, 1000, 3 * NS_PER_S);
    assert_int_equal(take(&meter, 2000, 4), -1);
    assert_int_equal(take(&meter, 2500, 5), 500);
}

static void a_reset_leaves_a_gap(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    log_set_level(-1);
    sensing_copy(root, node_root("sensors"));
    assert_int_equal(sensing_begin(&s, &sampler_rapl, root), OK);
    assert_int_equal(sensing_read(&s), OK);
    sensing_put(root, ZONE "0/energy_uj", "5\n");
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_find(&s, "package-0", NULL, "package"));
    assert_int_equal(sensing_u64(&s, "package-0", "dram"), 33920498832);
    sensing_put(root, ZONE "0/energy_uj", "1005\n");
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(sensing_u64(&s, "package-0", "package"), 1000);
    log_set_level(0);
    sensing_end(&s);
    temp_remove(root);
}

static void poll_returns_the_next_deadline(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_rapl, node_root("amd")), OK);
    assert_in_range(sampler_rapl.poll(s.state), 32 * NS_PER_S, 33 * NS_PER_S);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(sensing_u64(&s, "package-0", "package"), 33914207315);
    sensing_end(&s);
    assert_int_equal(sensing_begin(&s, &sampler_rapl, node_root("sensors")), OK);
    assert_in_range(sampler_rapl.poll(s.state), 32 * NS_PER_S, 33 * NS_PER_S); /* psys: 262 kJ at 4,000 W */
    sensing_end(&s);
    perf_errno = 0;
    perf_counts[2] = 1ull << 32;
    sensing_init(&s, &sampler_rapl, node_root("sensors"));
    sensing_set(&s, "source", "perf");
    assert_int_equal(sensing_open(&s), OK);
    assert_true(sampler_rapl.poll(s.state) == UINT64_MAX); /* the kernel handles its own overflow */
    sensing_end(&s);
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

static void failure_of_all_meters_is_an_error(void **state)
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

static void perf_is_used_without_powercap(void **state)
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
    assert_int_equal(s.batch.count, 2); /* psys does not move: not reported */
    assert_int_equal(sensing_u64(&s, "package-0", "package"), 2000000);
    assert_int_equal(sensing_u64(&s, "package-1", "package"), 3000000);
    assert_int_equal(sensing_u64(&s, "package-0", "dram"), 500000);
    assert_null(sensing_find(&s, "package-1", NULL, "dram"));
    assert_null(sensing_find(&s, "package-0", NULL, "core"));
    sensing_end(&s);
}

static void perf_adds_missing_domains(void **state)
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
    assert_null(sensing_find(&s, "package-1", NULL, "core")); /* does not move */
    assert_int_equal(sensing_u64(&s, "psys", "psys"), 91448000123);
    sensing_end(&s);
}

static void dies_are_distinguished(void **state)
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

static void a_perf_count_may_overflow_64_bits(void **state)
{
    (void)state;
    struct rapl_meter meter = { .is_perf = true, .uj_per_count = 2.3283064365386962890625e-4 };
    rapl_meter_take_count(&meter, UINT64_MAX - (1ull << 32) + 1, 0);
    meter.total_uj = 7;
    rapl_meter_take_count(&meter, 1ull << 32, NS_PER_S);
    assert_int_equal(meter.total_uj, 7 + 2000000);
    for (uint64_t i = 1; i <= 10000; i++) /* steps of less than 1 uJ are not lost */
        rapl_meter_take_count(&meter, (1ull << 32) + i * 1000, NS_PER_S);
    assert_in_range(meter.total_uj, 7 + 2000000 + 2327, 7 + 2000000 + 2329);
    assert_int_equal(meter.breaks, 0);
}

static void a_decreasing_perf_count_leaves_a_gap(void **state)
{
    (void)state;
    static const uint64_t backwards[] = { 1, 1ull << 31, 50ull << 32 }; /* less than 1 uJ, 0.5 J, 50 J */
    for (size_t i = 0; i < sizeof backwards / sizeof *backwards; i++) {
        struct rapl_meter meter = { .is_perf = true, .known = true, .uj_per_count = 2.3283064365386962890625e-4 };
        uint64_t uj = 0;
        rapl_meter_take_count(&meter, 100ull << 32, 0);
        assert_true(rapl_meter_value(&meter, &uj));
        assert_int_equal(uj, 100000000);
        rapl_meter_take_count(&meter, (100ull << 32) - backwards[i], NS_PER_S);
        assert_false(rapl_meter_value(&meter, &uj));
        rapl_meter_take_count(&meter, (102ull << 32) - backwards[i], 2 * NS_PER_S);
        assert_true(rapl_meter_value(&meter, &uj));
        assert_in_range(uj, 1999999, 2000000); /* restarted */
    }
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

static void zones_are_denied_to_users(void **state)
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

static void here_it_is_read_or_absent(void **state)
{
    (void)state;
    struct sensing s;
    perf_event_open_call = real_perf;
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
    real_perf = perf_event_open_call;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(zones_are_read_by_name, forget),
        cmocka_unit_test_setup(the_core_counter_of_amd_is_left_out, forget),
        cmocka_unit_test_setup(a_wrap_is_corrected, forget),
        cmocka_unit_test_setup(an_implausible_wrap_restarts_counting, forget),
        cmocka_unit_test_setup(read_too_rarely_it_is_unknown, forget),
        cmocka_unit_test_setup(a_break_between_two_samples_is_reported, forget),
        cmocka_unit_test_setup(a_reset_leaves_a_gap, forget),
        cmocka_unit_test_setup(poll_returns_the_next_deadline, forget),
        cmocka_unit_test_setup(a_year_of_wraps_adds_up, forget),
        cmocka_unit_test_setup(bad_zones_are_unknown_and_the_good_one_is_read, forget),
        cmocka_unit_test_setup(failure_of_all_meters_is_an_error, forget),
        cmocka_unit_test_setup(perf_is_used_without_powercap, forget),
        cmocka_unit_test_setup(perf_adds_missing_domains, forget),
        cmocka_unit_test_setup(dies_are_distinguished, forget),
        cmocka_unit_test_setup(a_perf_count_may_overflow_64_bits, forget),
        cmocka_unit_test_setup(a_decreasing_perf_count_leaves_a_gap, forget),
        cmocka_unit_test_setup(without_any_it_is_absent_or_denied, forget),
        cmocka_unit_test_setup(zones_are_denied_to_users, forget),
        cmocka_unit_test(here_it_is_read_or_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
