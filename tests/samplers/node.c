/* The basic samplers on captured nodes and on this one: loadavg, meminfo, stat. */
#include "samplers/all.h"
#include "tools/node.h"
#include "tools/sampling.h"

#include <sys/sysinfo.h>
#include <unistd.h>

static void load_is_read(void **state)
{
    (void)state;
    struct sampling s;
    sampling_begin(&s, &sampler_loadavg, node_root("big"), 0);
    assert_int_equal(sampling_read(&s), 1);
    assert_true(sampling_f64(&s, "load1") > 63.86 && sampling_f64(&s, "load1") < 63.88);
    assert_true(sampling_f64(&s, "load15") > 99.49 && sampling_f64(&s, "load15") < 99.51);
    assert_int_equal(sampling_u64(&s, "runnable"), 65);
    assert_int_equal(sampling_u64(&s, "tasks"), 2113);
    sampling_end(&s);
}

static void memory_is_read_by_name(void **state)
{
    (void)state;
    struct sampling s;
    sampling_begin(&s, &sampler_meminfo, node_root("big"), 0);
    assert_int_equal(sampling_read(&s), 1);
    assert_int_equal(sampling_u64(&s, "mem_total"), 1056563004ull * 1024);
    assert_int_equal(sampling_u64(&s, "mem_available"), 900000000ull * 1024);
    assert_int_equal(sampling_u64(&s, "cached"), 88000000ull * 1024); /* not SwapCached */
    assert_int_equal(sampling_u64(&s, "dirty"), 4096 * 1024);
    assert_int_equal(sampling_u64(&s, "swap_total"), 0);
    assert_false(sampling_has(&s, "slab")); /* not in this kernel */
    sampling_end(&s);
}

static void cpu_time_is_read_in_us(void **state)
{
    (void)state;
    struct sampling s;
    sampling_begin(&s, &sampler_stat, node_root("big"), 0);
    assert_int_equal(sampling_read(&s), 2); /* the total, then cpu0 */
    assert_int_equal(sampling_u64(&s, "user"), 1000 * (1000000ull / (uint64_t)sysconf(_SC_CLK_TCK)));
    assert_int_equal(sampling_u64(&s, "softirq"), 6 * (1000000ull / (uint64_t)sysconf(_SC_CLK_TCK)));
    sampling_end(&s);
}

static void this_node_agrees_with_sysinfo(void **state)
{
    (void)state;
    struct sampling s;
    struct sysinfo info;
    sysinfo(&info);
    sampling_begin(&s, &sampler_meminfo, "", 0);
    assert_int_equal(sampling_read(&s), 1);
    assert_int_equal(sampling_u64(&s, "mem_total"), info.totalram * info.mem_unit);
    sampling_end(&s);
    sampling_begin(&s, &sampler_loadavg, "", 0);
    assert_int_equal(sampling_read(&s), 1);
    double load = (double)info.loads[0] / 65536;
    assert_true(sampling_f64(&s, "load1") > load - 0.5 && sampling_f64(&s, "load1") < load + 0.5);
    sampling_end(&s);
}

static void a_node_without_the_files_has_no_samples(void **state)
{
    (void)state;
    static const struct sampler *const samplers[] = { &sampler_loadavg, &sampler_meminfo, &sampler_stat };
    for (size_t i = 0; i < 3; i++) {
        struct sampling s;
        sampling_begin(&s, samplers[i], "/nonexistent", 0);
        assert_int_equal(sampling_read(&s), 0);
        sampling_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_is_read),
        cmocka_unit_test(memory_is_read_by_name),
        cmocka_unit_test(cpu_time_is_read_in_us),
        cmocka_unit_test(this_node_agrees_with_sysinfo),
        cmocka_unit_test(a_node_without_the_files_has_no_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
