/* Exact values of the samplers of /proc and /sys on captured nodes: a server with everything, and an old one. */
#include "samplers/all.h"
#include "tools/node.h"
#include "tools/sampling.h"

#include <unistd.h>

static struct sampling s;

/* Reads one sampler of a node once. */
static size_t read_node(const struct sampler *sampler, const char *node)
{
    sampling_begin(&s, sampler, node_root(node), 0);
    return sampling_read(&s);
}

static uint64_t us_of_ticks(uint64_t ticks)
{
    return ticks * (1000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

static const struct metric *metric_of(const char *name)
{
    const struct set *set = s.batch.samples[0].set;
    for (size_t i = 0; i < set->size; i++)
        if (!strcmp(set->metrics[i].name, name))
            return &set->metrics[i];
    fail_msg("no metric %s", name);
    return NULL;
}

static void every_line_of_meminfo_is_a_metric(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_meminfo, "server"), 1);
    assert_int_equal(s.batch.samples[0].set->size, 28);
    assert_int_equal(sampling_u64(&s, "mem_total"), 527951452ull * 1024);
    assert_int_equal(sampling_u64(&s, "anonymous"), 60000000ull * 1024); /* our name of AnonPages */
    assert_string_equal(metric_of("anonymous")->source, "AnonPages");
    assert_int_equal(sampling_u64(&s, "active_anon"), 11111111ull * 1024);
    assert_string_equal(metric_of("active_anon")->source, "Active(anon)");
    assert_int_equal(sampling_u64(&s, "k_reclaimable"), 1000000ull * 1024);
    assert_int_equal(sampling_u64(&s, "direct_map4k"), 500000ull * 1024);
    assert_int_equal(sampling_u64(&s, "huge_pages_total"), 16); /* in pages, not kB */
    assert_string_equal(metric_of("huge_pages_total")->unit, "1");
    assert_string_equal(metric_of("mem_total")->unit, "B");
    assert_int_equal(metric_of("mem_total")->kind, GAUGE);
    sampling_end(&s);
}

static void in_a_run_lists_are_short(void **state)
{
    (void)state;
    static const struct { const struct sampler *sampler; size_t metrics; } brief[] = {
        { &sampler_meminfo, 12 }, { &sampler_stat, 8 }, { &sampler_loadavg, 5 },
    };
    for (size_t i = 0; i < 3; i++) {
        s = (struct sampling){ .list = { brief[i].sampler }, .context = { .root = node_root("server"), .is_brief = true } };
        batch_init(&s.batch);
        assert_int_equal(samplers_open(&s.samplers, s.list, &s.context), OK);
        assert_int_equal(sampling_read(&s), 1);
        assert_int_equal(s.batch.samples[0].set->size, brief[i].metrics);
        sampling_end(&s);
    }
}

static void vmstat_distinguishes_gauges_and_counters(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_vmstat, "server"), 1);
    assert_int_equal(s.batch.samples[0].set->size, 12);
    assert_int_equal(sampling_u64(&s, "nr_free_pages"), 100000000);
    assert_int_equal(metric_of("nr_free_pages")->kind, GAUGE);
    assert_int_equal(metric_of("workingset_nodes")->kind, GAUGE);
    assert_int_equal(metric_of("nr_written")->kind, COUNTER);
    assert_int_equal(metric_of("pgfault")->kind, COUNTER);
    assert_int_equal(sampling_u64(&s, "pgfault"), UINT64_MAX);
    assert_int_equal(sampling_u64(&s, "pgpgin"), 1000 * 1024);
    assert_int_equal(sampling_u64(&s, "nr_kernel_stack"), 20480 * 1024);
    sampling_end(&s);
}

static void stat_has_a_total_and_each_cpu(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_stat, "server"), 5);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "user"), us_of_ticks(4000));
    assert_int_equal(sampling_u64_of(&s, "stat", "", "guest_nice"), us_of_ticks(4));
    assert_int_equal(sampling_u64_of(&s, "stat", "", "interrupts"), 70000);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "context_switches"), 9000000000);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "boot_time"), 1794770000);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "forks"), 40001);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "running"), 5);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "blocked"), 2);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "softirqs"), 123456);
    assert_int_equal(sampling_u64_of(&s, "stat_cpu", "cpu3", "user"), us_of_ticks(1003));
    sampling_end(&s);

    assert_int_equal(read_node(&sampler_stat, "old"), 2);
    assert_int_equal(sampling_u64_of(&s, "stat_cpu", "cpu0", "softirq"), us_of_ticks(4));
    assert_null(sampling_of(&s, "stat_cpu", "cpu0", "steal")); /* did not exist */
    assert_null(sampling_of(&s, "stat", "", "blocked"));
    sampling_end(&s);
}

static void interrupts_are_counted_per_cpu(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_interrupts, "server"), 5);
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu0", "irq_0"), 42);
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu1", "irq_125"), 1000);
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu3", "irq_1044"), 8);
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu2", "irq_loc"), 300000);
    assert_int_equal(sampling_u64_of(&s, "interrupts_errors", "", "errors"), 3);
    assert_int_equal(sampling_u64_of(&s, "interrupts_errors", "", "misrouted"), 1);
    assert_string_equal(metric_of("irq_1044")->source, "1044");
    assert_non_null(strstr(metric_of("irq_1044")->help, "nvme0q1"));
    sampling_end(&s);
}

static void block_devices_are_distinguished_from_partitions(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_diskstats, "server"), 2); /* no sda1, loop0, ram0 */
    assert_int_equal(sampling_u64_of(&s, "diskstats", "sda", "reads"), 1000);
    assert_int_equal(sampling_u64_of(&s, "diskstats", "sda", "read"), 80000 * 512);
    assert_int_equal(sampling_u64_of(&s, "diskstats", "sda", "write_time"), 4294967290ull * 1000);
    assert_int_equal(sampling_u64_of(&s, "diskstats", "sda", "in_flight"), 1);
    assert_int_equal(sampling_u64_of(&s, "diskstats", "sda", "flush_time"), 80 * 1000);
    assert_int_equal(sampling_u64_of(&s, "diskstats", "nvme0n1", "written"), 48 * 512);
    assert_int_equal(sampling_u64_of(&s, "diskstats", "sda", "stacked"), 0);
    sampling_end(&s);

    assert_int_equal(read_node(&sampler_diskstats, "old"), 2);
    assert_int_equal(sampling_u64_of(&s, "diskstats", "hda", "queue_time"), 850 * 1000);
    assert_null(sampling_of(&s, "diskstats", "hda", "discards"));
    assert_int_equal(sampling_u64_of(&s, "diskstats", "cciss/c0d0", "reads"), 7);
    assert_int_equal(sampling_u64_of(&s, "diskstats", "cciss/c0d0", "stacked"), 0);
    sampling_end(&s);
}

static void stacked_devices_are_marked(void **state)
{
    (void)state;
    static const char *const lowest[] = { "sda", "sdb", "sdc", "sdd" }, *const above[] = { "md127", "dm-0", "dm-1", "bcache0" };
    assert_int_equal(read_node(&sampler_diskstats, "lvm"), 8);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(sampling_u64_of(&s, "diskstats", lowest[i], "stacked"), 0);
        assert_int_equal(sampling_u64_of(&s, "diskstats", above[i], "stacked"), 1);
    }
    assert_int_equal(sampling_u64_of(&s, "diskstats", "dm-0", "read"), 300 * 512); /* it has its own nevertheless */
    sampling_end(&s);
}

static void network_columns_are_found_by_name(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_netdev, "server"), 3);
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "rx_bytes"), 123456789012);
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "rx_multicast"), 6);
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "tx_bytes"), 987654321098);
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "tx_collisions"), 10);
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "tx_compressed"), 12);
    assert_int_equal(sampling_u64_of(&s, "netdev", "ib0", "rx_bytes"), 2222222222222);
    sampling_end(&s);

    assert_int_equal(read_node(&sampler_netdev, "old"), 1); /* other columns, in another order */
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "rx_dropped"), 2);
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "tx_packets"), 20);
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "tx_bytes"), 2000);
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "tx_collisions"), 5);
    assert_null(sampling_of(&s, "netdev", "eth0", "rx_fifo"));
    sampling_end(&s);
}

static void pressure_has_a_sample_for_each_file(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_pressure, "server"), 4);
    assert_int_equal(sampling_u64_of(&s, "pressure", "cpu", "some"), 9000000);
    assert_null(sampling_of(&s, "pressure", "cpu", "full"));
    assert_int_equal(sampling_u64_of(&s, "pressure", "io", "full"), 17000000000);
    assert_null(sampling_of(&s, "pressure", "irq", "some"));
    assert_int_equal(sampling_u64_of(&s, "pressure", "irq", "full"), 555);
    double average = sampling_of(&s, "pressure", "io", "some_avg300")->f64;
    assert_true(average > 25.249 && average < 25.251);
    sampling_end(&s);
    assert_int_equal(read_node(&sampler_pressure, "old"), 0);
    sampling_end(&s);
}

static void schedstat_is_read_in_its_versions(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_schedstat, "server"), 4);
    assert_int_equal(sampling_u64_of(&s, "schedstat", "cpu2", "yields"), 7);
    assert_int_equal(sampling_u64_of(&s, "schedstat", "cpu2", "schedules"), 2002);
    assert_int_equal(sampling_u64_of(&s, "schedstat", "cpu2", "run_time"), 5000000002);
    assert_int_equal(sampling_u64_of(&s, "schedstat", "cpu2", "timeslices"), 1900);
    sampling_end(&s);
    assert_int_equal(read_node(&sampler_schedstat, "old"), 1);
    assert_int_equal(sampling_u64_of(&s, "schedstat", "cpu0", "wait_time"), 7);
    sampling_end(&s);
}

static void numa_nodes_are_distinguished(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_numa, "server"), 2);
    assert_int_equal(sampling_u64_of(&s, "numa", "node0", "numa_hit"), 9000);
    assert_int_equal(sampling_u64_of(&s, "numa", "node1", "numa_miss"), 5);
    assert_int_equal(sampling_u64_of(&s, "numa", "node1", "mem_free"), 200000001ull * 1024);
    assert_int_equal(sampling_u64_of(&s, "numa", "node1", "active_anon"), 5001ull * 1024);
    assert_int_equal(sampling_u64_of(&s, "numa", "node0", "huge_pages_total"), 8);
    assert_int_equal(metric_of("numa_hit")->kind, COUNTER);
    assert_int_equal(metric_of("mem_free")->kind, GAUGE);
    sampling_end(&s);
    assert_int_equal(read_node(&sampler_numa, "old"), 1); /* no meminfo */
    assert_int_equal(sampling_u64_of(&s, "numa", "node0", "numa_hit"), 5);
    sampling_end(&s);
}

static void memory_errors_are_counted_per_dimm(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_edac, "server"), 2 + 6);
    assert_int_equal(sampling_u64_of(&s, "edac", "mc1", "corrected"), 13);
    assert_int_equal(sampling_u64_of(&s, "edac", "mc1", "uncorrected"), 1);
    assert_int_equal(sampling_u64_of(&s, "edac", "mc0", "corrected_elsewhere"), 2);
    assert_int_equal(sampling_u64_of(&s, "edac_dimm", "mc1/dimm10", "corrected"), 11);
    sampling_end(&s);
    assert_int_equal(read_node(&sampler_edac, "old"), 2);
    assert_int_equal(sampling_u64_of(&s, "edac_dimm", "mc0/csrow0", "corrected"), 4);
    assert_null(sampling_of(&s, "edac", "mc0", "corrected_elsewhere"));
    sampling_end(&s);
}

static void nfs_calls_have_names(void **state)
{
    (void)state;
    assert_int_equal(read_node(&sampler_nfs, "server"), 1);
    assert_int_equal(sampling_u64(&s, "rpc_retransmissions"), 12);
    assert_int_equal(sampling_u64(&s, "v3_read"), 106);
    assert_int_equal(sampling_u64(&s, "v3_commit"), 121);
    assert_int_equal(sampling_u64(&s, "v4_read"), 1001);
    assert_int_equal(sampling_u64(&s, "v4_layoutcommit"), 1046);
    assert_int_equal(sampling_u64(&s, "v4_read_plus"), 1068);
    sampling_end(&s);
    assert_int_equal(read_node(&sampler_nfs, "old"), 1); /* fewer procedures of version 4 */
    assert_int_equal(sampling_u64(&s, "v4_sequence"), 51);
    assert_null(sampling_find(&s, "v4_get_lease_time"));
    sampling_end(&s);
}

static void the_agent_reads_itself(void **state)
{
    (void)state;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(read_node(&sampler_self, "server"), 1);
    assert_int_equal(sampling_u64(&s, "rss"), 1000 * page);
    assert_int_equal(sampling_u64(&s, "virtual"), 2000 * page);
    assert_int_equal(sampling_u64(&s, "wchar"), 600);
    assert_int_equal(sampling_u64(&s, "write_bytes"), 8192);
    assert_true(sampling_u64(&s, "rss_max") > 0);
    sampling_end(&s);
    assert_int_equal(read_node(&sampler_self, "old"), 1);
    assert_null(sampling_find(&s, "rchar")); /* not counted by this kernel */
    sampling_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_of_meminfo_is_a_metric),
        cmocka_unit_test(in_a_run_lists_are_short),
        cmocka_unit_test(vmstat_distinguishes_gauges_and_counters),
        cmocka_unit_test(stat_has_a_total_and_each_cpu),
        cmocka_unit_test(interrupts_are_counted_per_cpu),
        cmocka_unit_test(block_devices_are_distinguished_from_partitions),
        cmocka_unit_test(stacked_devices_are_marked),
        cmocka_unit_test(network_columns_are_found_by_name),
        cmocka_unit_test(pressure_has_a_sample_for_each_file),
        cmocka_unit_test(schedstat_is_read_in_its_versions),
        cmocka_unit_test(numa_nodes_are_distinguished),
        cmocka_unit_test(memory_errors_are_counted_per_dimm),
        cmocka_unit_test(nfs_calls_have_names),
        cmocka_unit_test(the_agent_reads_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
