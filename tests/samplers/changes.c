/* Changes between two readings of the node's samplers: counters that decrease or wrap, CPUs and devices that come and
 * go, new lines of the kernel; and nodes so large that limits apply. */
#include "samplers/all.h"
#include "samplers/keyed.h"
#include "tools/node.h"
#include "tools/sampling.h"
#include "tools/temp.h"

#include <unistd.h>

/* Counts allocations, unless a sanitizer replaces malloc. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 1
static volatile unsigned allocations;
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
void *malloc(size_t size) { allocations++; return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { allocations++; return __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { allocations++; return __libc_realloc(memory, size); }
#endif

static char root[TEMP_PATH_MAX];
static struct sampling s;

static int make_root(void **state)
{
    (void)state;
    temp_dir(root);
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    sampling_end(&s);
    temp_remove(root);
    return 0;
}

static void put(const char *name, const char *text)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, root, name);
    temp_write(path, text, strlen(text));
}

static void begin(const struct sampler *sampler, const char *name, const char *text)
{
    put(name, text);
    sampling_begin(&s, sampler, root, 0);
    sampling_read(&s);
}

static void next(const char *name, const char *text)
{
    put(name, text);
    sampling_read(&s);
}

#define NET_HEAD "Inter-|   Receive |  Transmit\n face |bytes packets|bytes packets\n"

static void a_reset_counter_leaves_a_gap(void **state)
{
    (void)state;
    begin(&sampler_netdev, "proc/net/dev", NET_HEAD "  eth0: 10000 100 5000 50\n");
    next("proc/net/dev", NET_HEAD "  eth0: 20 1 6000 60\n");
    assert_null(sampling_of(&s, "netdev", "eth0", "rx_bytes"));
    assert_null(sampling_of(&s, "netdev", "eth0", "rx_packets"));
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "tx_bytes"), 6000); /* the others are unaffected */
    next("proc/net/dev", NET_HEAD "  eth0: 30 2 6000 60\n");
    assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "rx_bytes"), 30);
}

static void small_decreases_are_hidden(void **state)
{
    (void)state;
    uint64_t us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    begin(&sampler_stat, "proc/stat", "cpu  1000 0 100 50000 1000 0 0 0 0 0\ncpu0 1000 0 100 50000 1000 0 0 0 0 0\n");
    next("proc/stat", "cpu  1010 0 110 49990 995 0 0 0 0 0\ncpu0 1010 0 110 49990 995 0 0 0 0 0\n");
    assert_int_equal(sampling_u64_of(&s, "stat", "", "idle"), 50000 * us);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "iowait"), 1000 * us);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "user"), 1010 * us);
    assert_int_equal(sampling_u64_of(&s, "stat_cpu", "cpu0", "idle"), 50000 * us);
    next("proc/stat", "cpu  1020 0 120 50010 1001 0 0 0 0 0\n");
    assert_int_equal(sampling_u64_of(&s, "stat", "", "idle"), 50010 * us);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "iowait"), 1001 * us);
}

static void a_gauge_may_decrease(void **state)
{
    (void)state;
    begin(&sampler_vmstat, "proc/vmstat", "nr_free_pages 1000\npgfault 1000\n");
    next("proc/vmstat", "nr_free_pages 10\npgfault 10\n");
    assert_int_equal(sampling_u64(&s, "nr_free_pages"), 10);
    assert_null(sampling_find(&s, "pgfault"));
}

static void disk_times_continue_beyond_32_bits(void **state)
{
    (void)state;
    begin(&sampler_diskstats, "proc/diskstats", "8 0 sda 1 0 8 4294967290 1 0 8 10 0 10 10\n");
    next("proc/diskstats", "8 0 sda 2 0 16 4 1 0 8 10 0 10 10\n");
    assert_int_equal(sampling_u64_of(&s, "diskstats", "sda", "read_time"), (4294967296ull + 4) * 1000);
    next("proc/diskstats", "8 0 sda 3 0 24 9 1 0 8 10 0 10 10\n");
    assert_int_equal(sampling_u64_of(&s, "diskstats", "sda", "read_time"), (4294967296ull + 9) * 1000);
    next("proc/diskstats", "8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n"); /* another disk of the same name */
    assert_null(sampling_of(&s, "diskstats", "sda", "read_time"));
    next("proc/diskstats", "8 0 sda 1 0 8 2 1 0 8 1 0 1 1\n");
    assert_int_equal(sampling_u64_of(&s, "diskstats", "sda", "read_time"), 2000);
}

static void an_offline_cpu_does_not_affect_others(void **state)
{
    (void)state;
    uint64_t us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    static const char all[] = "cpu  300 0 0 0\ncpu0 100 0 0 0\ncpu1 110 0 0 0\ncpu2 90 0 0 0\nctxt 5\n";
    begin(&sampler_stat, "proc/stat", all);
    next("proc/stat", "cpu  310 0 0 0\ncpu0 105 0 0 0\ncpu2 95 0 0 0\nctxt 6\n");
    assert_int_equal(s.batch.count, 3);
    assert_null(sampling_of(&s, "stat_cpu", "cpu1", "user"));
    assert_int_equal(sampling_u64_of(&s, "stat_cpu", "cpu2", "user"), 95 * us);
    assert_int_equal(sampling_u64_of(&s, "stat", "", "context_switches"), 6);
    next("proc/stat", "cpu  330 0 0 0\ncpu0 106 0 0 0\ncpu1 111 0 0 0\ncpu2 96 0 0 0\nctxt 7\n");
    assert_int_equal(sampling_u64_of(&s, "stat_cpu", "cpu1", "user"), 111 * us);
}

static void interrupt_columns_follow_their_cpus(void **state)
{
    (void)state;
    begin(&sampler_interrupts, "proc/interrupts", "     CPU0  CPU1  CPU2\n 1:  10  20  30  timer\nERR:  0\n");
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu2", "irq_1"), 30);
    next("proc/interrupts", "     CPU0  CPU2\n 1:  11  31  timer\nERR:  0\n");
    assert_null(sampling_of(&s, "interrupts", "cpu1", "irq_1"));
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu2", "irq_1"), 31);
    next("proc/interrupts", "     CPU0  CPU1  CPU2\n 1:  12  22  32  timer\nERR:  0\n");
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu1", "irq_1"), 22);
}

static void the_last_cpu_goes_offline_and_comes_back(void **state)
{
    (void)state;
    begin(&sampler_interrupts, "proc/interrupts", "     CPU0  CPU1\n 1:  10  20  timer\nERR:  0\n");
    next("proc/interrupts", "     CPU0\n 1:  11  timer\nERR:  0\n");
    assert_null(sampling_of(&s, "interrupts", "cpu1", "irq_1"));
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu0", "irq_1"), 11);
    next("proc/interrupts", "     CPU0  CPU1\n 1:  12  22  timer\nERR:  0\n");
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu0", "irq_1"), 12);
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu1", "irq_1"), 22);
    next("proc/interrupts", "     CPU0  CPU1  CPU2\n 1:  13  23  3  timer\nERR:  0\n");
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu2", "irq_1"), 3);
}

static void a_later_interrupt_is_added(void **state)
{
    (void)state;
    begin(&sampler_interrupts, "proc/interrupts", "     CPU0\n 1:  10 timer\n 2:  20 disk\n");
    struct metric first = s.batch.samples[0].set->metrics[1];
    next("proc/interrupts", "     CPU0\n 1:  10 timer\n 7: 70 net\n 2:  21 disk\n");
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu0", "irq_2"), 21);
    next("proc/interrupts", "     CPU0\n 1:  10 timer\n 7: 71 net\n 2:  22 disk\n");
    assert_int_equal(sampling_u64_of(&s, "interrupts", "cpu0", "irq_7"), 71);
    assert_int_equal(s.batch.samples[0].set->size, 3);
    assert_string_equal(s.batch.samples[0].set->metrics[1].name, first.name); /* existing metrics keep their place */
}

static void devices_come_and_go(void **state)
{
    (void)state;
    begin(&sampler_netdev, "proc/net/dev", NET_HEAD "  eth0: 1 1 1 1\n veth1: 2 2 2 2\n");
    for (unsigned i = 2; i < 600; i++) { /* more than the limit */
        char text[256];
        snprintf(text, sizeof text, NET_HEAD "  eth0: %u 1 1 1\n veth%u: %u 2 2 2\n", i, i, i);
        next("proc/net/dev", text);
        snprintf(text, sizeof text, "veth%u", i);
        assert_int_equal(s.batch.count, 2);
        assert_int_equal(sampling_u64_of(&s, "netdev", text, "rx_bytes"), i);
        assert_int_equal(sampling_u64_of(&s, "netdev", "eth0", "rx_bytes"), i);
    }
}

static void a_dimm_is_read_after_its_controller_has_counted(void **state)
{
    (void)state;
    put("sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count", "1\n");
    begin(&sampler_edac, "sys/devices/system/edac/mc/mc0/ce_count", "1\n");
    assert_int_equal(sampling_u64_of(&s, "edac_dimm", "mc0/dimm0", "corrected"), 1);
    put("sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count", "2\n");
    next("sys/devices/system/edac/mc/mc0/ce_count", "2\n");
    assert_int_equal(sampling_u64_of(&s, "edac", "mc0", "corrected"), 2);
    assert_int_equal(sampling_u64_of(&s, "edac_dimm", "mc0/dimm0", "corrected"), 2);
}

/* reset_counters was written. */
static void a_dimm_is_read_again_after_a_reset(void **state)
{
    (void)state;
    put("sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count", "7\n");
    put("sys/devices/system/edac/mc/mc0/dimm0/dimm_ue_count", "0\n");
    put("sys/devices/system/edac/mc/mc0/dimm1/dimm_ce_count", "3\n");
    begin(&sampler_edac, "sys/devices/system/edac/mc/mc0/ce_count", "10\n");
    assert_int_equal(sampling_u64_of(&s, "edac_dimm", "mc0/dimm0", "corrected"), 7);
    put("sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count", "0\n");
    put("sys/devices/system/edac/mc/mc0/dimm1/dimm_ce_count", "0\n");
    next("sys/devices/system/edac/mc/mc0/ce_count", "0\n");
    assert_null(sampling_of(&s, "edac_dimm", "mc0/dimm0", "corrected"));
    assert_int_equal(sampling_u64_of(&s, "edac_dimm", "mc0/dimm0", "uncorrected"), 0);
    next("sys/devices/system/edac/mc/mc0/ce_count", "0\n");
    assert_int_equal(sampling_u64_of(&s, "edac", "mc0", "corrected"), 0);
    assert_int_equal(sampling_u64_of(&s, "edac_dimm", "mc0/dimm0", "corrected"), 0);
    assert_int_equal(sampling_u64_of(&s, "edac_dimm", "mc0/dimm1", "corrected"), 0);
    assert_null(sampling_of(&s, "edac_dimm", "mc0/dimm1", "uncorrected")); /* it has none */
    put("sys/devices/system/edac/mc/mc0/dimm1/dimm_ce_count", "1\n"); /* and is not read again */
    next("sys/devices/system/edac/mc/mc0/ce_count", "0\n");
    assert_int_equal(sampling_u64_of(&s, "edac_dimm", "mc0/dimm1", "corrected"), 0);
}

/* Like before Linux 6.2, where the directory has no size. */
static void descriptors_are_counted(void **state)
{
    (void)state;
    put("proc/self/fd/0", "");
    put("proc/self/fd/17", "");
    begin(&sampler_self, "proc/self/statm", "1 1 1\n");
    assert_int_equal(sampling_u64(&s, "fds"), 2);
    next("proc/self/fd/1023", "");
    assert_int_equal(sampling_u64(&s, "fds"), 3);
    assert_null(sampling_find(&s, "threads")); /* without a name */
}

/* --- large nodes --- */

static char *large;
static size_t large_size;
#define LARGE_MAX (16u << 20)

static void add(const char *format, unsigned a, unsigned b)
{
    large_size += (size_t)snprintf(large + large_size, LARGE_MAX - large_size, format, a, b);
}

static void put_large(const char *name)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, root, name);
    temp_write(path, large, large_size);
}

static int begin_large(void **state)
{
    large = calloc(1, LARGE_MAX);
    large_size = 0;
    return make_root(state);
}

static int end_large(void **state)
{
    free(large);
    return remove_root(state);
}

static void many_interrupts_are_summed_up(void **state)
{
    (void)state;
    for (unsigned cpu = 0; cpu < 512; cpu++)
        add(cpu ? " CPU%u" : "   CPU%u", cpu, 0);
    for (unsigned irq = 0; irq < 600; irq++) {
        add("\n%u:", irq, 0);
        for (unsigned cpu = 0; cpu < 512; cpu++)
            add(" %u", irq + cpu % 2, 0);
        add("  PCI-MSI q%u", irq, 0);
    }
    add("\n", 0, 0);
    put_large("proc/interrupts");
    sampling_begin(&s, &sampler_interrupts, root, 0);
    assert_int_equal(sampling_read(&s), 1);
    assert_int_equal(s.batch.samples[0].set->size, 600);
    assert_int_equal(sampling_u64_of(&s, "interrupts", "", "irq_599"), 599 * 512 + 256);
}

static void thousands_of_cpus_are_read(void **state)
{
    (void)state;
    add("cpu  1 2 3 4\n", 0, 0);
    for (unsigned cpu = 0; cpu < 4096; cpu++)
        add("cpu%u %u 0 0 1234567890 0 0 0 0 0 0\n", cpu, cpu);
    add("intr 5", 0, 0);
    for (unsigned i = 0; i < 20000; i++)
        add(" %u", i, 0);
    add("\nctxt 77\n", 0, 0);
    put_large("proc/stat");
    sampling_begin(&s, &sampler_stat, root, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sampling_read(&s), 4097);
        assert_int_equal(sampling_u64_of(&s, "stat", "", "context_switches"), 77);
        assert_int_equal(sampling_u64_of(&s, "stat_cpu", "cpu4095", "user"),
                         4095 * (1000000 / (uint64_t)sysconf(_SC_CLK_TCK)));
    }
}

static void lines_beyond_the_limit_are_left_out(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5000; i++)
        add("key_%u %u\n", i, i);
    put_large("proc/vmstat");
    sampling_begin(&s, &sampler_vmstat, root, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sampling_read(&s), 1);
        assert_int_equal(s.batch.samples[0].set->size, KEYED_KEYS_MAX);
        assert_int_equal(sampling_u64(&s, "key_2047"), 2047);
    }
}

static void an_endless_file_is_truncated(void **state)
{
    (void)state;
    add("MemTotal: 7 kB\n", 0, 0);
    while (large_size < (10u << 20))
        add("x%u y%u z\n", 12345678, 12345678);
    put_large("proc/meminfo");
    sampling_begin(&s, &sampler_meminfo, root, 0);
    assert_int_equal(sampling_read(&s), 1);
    assert_int_equal(sampling_u64(&s, "mem_total"), 7 * 1024);
}

/* --- cost --- */

#ifdef COUNTS_ALLOCATIONS
static const struct sampler *const all[] = {
    &sampler_meminfo, &sampler_vmstat, &sampler_stat, &sampler_interrupts, &sampler_loadavg, &sampler_diskstats,
    &sampler_netdev, &sampler_pressure, &sampler_schedstat, &sampler_numa, &sampler_edac, &sampler_nfs, &sampler_self, NULL,
};
#endif

static void nothing_is_allocated_once_it_is_warm(void **state)
{
    (void)state;
#ifdef COUNTS_ALLOCATIONS
    static const char *const roots[] = { "", "server" };
    for (size_t i = 0; i < 2; i++) {
        struct sampler_context context = { .root = *roots[i] ? node_root(roots[i]) : "" };
        struct samplers *samplers;
        struct batch batch;
        batch_init(&batch);
        assert_int_equal(samplers_open(&samplers, all, &context), OK);
        unsigned before = 0;
        for (int n = 0; n < 50; n++) {
            before = n == 2 ? allocations : before;
            batch_reset(&batch);
            samplers_read(samplers, &batch);
        }
        unsigned after = allocations;
        assert_true(batch.count > 4); /* small nodes have no disk, no pressure, one CPU */
        samplers_close(&samplers);
        batch_clear(&batch);
        assert_int_equal(after, before);
    }
#else
    leave_out("the sanitizer has its own allocator");
#endif
}

#define CHANGE(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)
#define LARGE(test) cmocka_unit_test_setup_teardown(test, begin_large, end_large)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHANGE(a_reset_counter_leaves_a_gap),
        CHANGE(small_decreases_are_hidden),
        CHANGE(a_gauge_may_decrease),
        CHANGE(disk_times_continue_beyond_32_bits),
        CHANGE(an_offline_cpu_does_not_affect_others),
        CHANGE(interrupt_columns_follow_their_cpus),
        CHANGE(the_last_cpu_goes_offline_and_comes_back),
        CHANGE(a_later_interrupt_is_added),
        CHANGE(devices_come_and_go),
        CHANGE(a_dimm_is_read_after_its_controller_has_counted),
        CHANGE(a_dimm_is_read_again_after_a_reset),
        CHANGE(descriptors_are_counted),
        LARGE(many_interrupts_are_summed_up),
        LARGE(thousands_of_cpus_are_read),
        LARGE(lines_beyond_the_limit_are_left_out),
        LARGE(an_endless_file_is_truncated),
        cmocka_unit_test(nothing_is_allocated_once_it_is_warm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
