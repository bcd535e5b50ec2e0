/* The samplers of /proc and /sys on this node: compared with other sources of the same numbers, read before and after;
 * and the number of system calls. */
#include "proc/textfile.h"
#include "samplers/all.h"
#include "samplers/self.h"
#include "tools/sampling.h"

#include "base/file.h"

#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned preads;

/* Replaces libc's function, also for the code under test. */
ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    preads++;
    return syscall(SYS_pread64, fd, data, size, offset);
}

static struct sampling s;
static char text[1 << 20];

static bool begin(const struct sampler *sampler)
{
    sampling_begin(&s, sampler, "", 0);
    if (sampling_read(&s) > 0)
        return true;
    sampling_end(&s);
    return false;
}

/* The number after the first occurrence of a string in a file, read independently. */
static uint64_t number_behind(const char *path, const char *words)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t got = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[got] = '\0';
    char *at = strstr(text, words);
    if (!at)
        fail_msg("no %s in %s", words, path);
    return strtoull(at + strlen(words), NULL, 10);
}

static void touch_memory(size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    madvise(memory, pages * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; i++)
        memory[i * page] = 1;
    munmap(memory, pages * page);
}

static void faults_are_counted(void **state)
{
    (void)state;
    if (!begin(&sampler_vmstat))
        leave_out("no /proc/vmstat");
    uint64_t before = sampling_u64(&s, "pgfault");
    touch_memory(2000);
    uint64_t low = number_behind("/proc/vmstat", "\npgfault ");
    sampling_read(&s);
    uint64_t value = sampling_u64(&s, "pgfault"), high = number_behind("/proc/vmstat", "\npgfault ");
    assert_in_range(value, low, high);
    assert_true(value >= before + 2000);
    sampling_end(&s);
}

static void every_line_of_meminfo_is_read(void **state)
{
    (void)state;
    assert_true(begin(&sampler_meminfo));
    size_t lines = 0;
    assert_int_equal(file_read("", "/proc/meminfo", text, sizeof text, NULL), OK);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(s.batch.samples[0].set->size, lines);
    for (size_t i = 0; i < lines; i++)
        assert_true(s.batch.samples[0].known[i]);
    sampling_end(&s);
}

static void cpus_add_up_to_the_total(void **state)
{
    (void)state;
    assert_true(begin(&sampler_stat));
    assert_int_equal(s.batch.count, 1 + sysconf(_SC_NPROCESSORS_ONLN));
    uint64_t low = number_behind("/proc/stat", "\nctxt ");
    sampling_read(&s);
    uint64_t value = sampling_u64_of(&s, "stat", "", "context_switches");
    assert_in_range(value, low, number_behind("/proc/stat", "\nctxt "));
    uint64_t sum_us = 0;
    for (size_t i = 1; i < s.batch.count; i++)
        sum_us += s.batch.samples[i].values[0].u64;
    uint64_t total_us = sampling_u64_of(&s, "stat", "", "user");
    assert_in_range(total_us, sum_us, sum_us + 20000 * s.batch.count); /* each is rounded down to a tick */
    sampling_end(&s);
}

static void timer_interrupts_are_counted(void **state)
{
    (void)state;
    if (!begin(&sampler_interrupts))
        leave_out("no /proc/interrupts");
    if (!sampling_has(&s, "irq_loc")) {
        sampling_end(&s);
        leave_out("no local timer in /proc/interrupts");
    }
    uint64_t low = number_behind("/proc/interrupts", "LOC:");
    sampling_read(&s);
    assert_in_range(sampling_u64(&s, "irq_loc"), low, number_behind("/proc/interrupts", "LOC:"));
    assert_string_equal(s.batch.samples[0].instance, "cpu0");
    sampling_end(&s);
}

static void send_packets(unsigned count)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof here;
    int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(to, (struct sockaddr *)&here, size), 0);
    assert_int_equal(getsockname(to, (struct sockaddr *)&here, &size), 0);
    for (unsigned i = 0; i < count; i++)
        sendto(from, text, 1000, 0, (struct sockaddr *)&here, size);
    close(to);
    close(from);
}

static void packets_are_counted(void **state)
{
    (void)state;
    if (!begin(&sampler_netdev))
        leave_out("no network");
    uint64_t packets = sampling_u64_of(&s, "netdev", "lo", "tx_packets");
    uint64_t bytes = sampling_u64_of(&s, "netdev", "lo", "rx_bytes");
    send_packets(100);
    sampling_read(&s);
    packets = sampling_u64_of(&s, "netdev", "lo", "tx_packets") - packets;
    bytes = sampling_u64_of(&s, "netdev", "lo", "rx_bytes") - bytes;
    assert_true(packets >= 100 && bytes >= 100 * 1028); /* other processes may send too */
    sampling_end(&s);
}

static void disks_match_sys_block(void **state)
{
    (void)state;
    if (!begin(&sampler_diskstats))
        leave_out("this machine has no disk");
    for (size_t i = 0; i < s.batch.count; i++) {
        char path[256];
        snprintf(path, sizeof path, "/sys/block/%s/stat", s.batch.samples[i].instance);
        assert_int_equal(file_read("", path, text, sizeof text, NULL), OK);
        uint64_t low = s.batch.samples[i].values[0].u64;
        assert_in_range(strtoull(text, NULL, 10), low, low + 100000);
    }
    sampling_end(&s);
}

static void pressure_matches_the_files(void **state)
{
    (void)state;
    if (access("/proc/pressure/cpu", R_OK) != 0 || !begin(&sampler_pressure))
        leave_out("this kernel does not measure pressure");
    uint64_t low = number_behind("/proc/pressure/cpu", "total=");
    sampling_read(&s);
    uint64_t value = sampling_u64_of(&s, "pressure", "cpu", "some");
    assert_in_range(value, low, number_behind("/proc/pressure/cpu", "total="));
    sampling_end(&s);
}

static void numa_memory_adds_up_to_the_node(void **state)
{
    (void)state;
    if (access("/sys/devices/system/node/node0/meminfo", R_OK) != 0)
        leave_out("no NUMA nodes");
    assert_true(begin(&sampler_numa));
    assert_int_equal(sampling_u64_of(&s, "numa", "node0", "mem_total"),
                     1024 * number_behind("/sys/devices/system/node/node0/meminfo", "MemTotal:"));
    sampling_end(&s);
}

static void schedstat_grows_with_run_time(void **state)
{
    (void)state;
    if (access("/proc/schedstat", R_OK) != 0)
        leave_out("no /proc/schedstat");
    assert_true(begin(&sampler_schedstat));
    uint64_t before = sampling_u64_of(&s, "schedstat", "cpu0", "run_time");
    usleep(50000);
    sampling_read(&s);
    assert_true(sampling_u64_of(&s, "schedstat", "cpu0", "run_time") >= before);
    sampling_end(&s);
}

static void self_matches_getrusage(void **state)
{
    (void)state;
    struct rusage usage;
    assert_true(begin(&sampler_self));
    assert_null(sampling_find(&s, "ticks")); /* self_tick was not called */
    uint64_t fds = sampling_find(&s, "fds") ? sampling_u64(&s, "fds") : 0;
    int more[] = { dup(0), dup(0), dup(0) };
    self_tick(5000, 0, 0);
    self_tick(7000, 1, 3);
    self_tick(1000, 0, 0);
    sampling_read(&s);
    getrusage(RUSAGE_SELF, &usage);
    assert_true(sampling_u64(&s,
                             "cpu_user") <= (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec);
    assert_int_equal(sampling_u64(&s, "rss_max"), (uint64_t)usage.ru_maxrss * 1024);
    assert_int_equal(sampling_u64(&s, "threads"), 1);
    if (fds)
        assert_int_equal(sampling_u64(&s, "fds"), fds + 3);
    assert_int_equal(sampling_u64(&s, "ticks"), 3);
    assert_int_equal(sampling_u64(&s, "ticks_missed"), 3);
    assert_int_equal(sampling_u64(&s, "ticks_late"), 1);
    assert_int_equal(sampling_u64(&s, "tick_delay"), 13000);
    assert_int_equal(sampling_u64(&s, "tick_delay_max"), 7000);
    sampling_read(&s);
    assert_int_equal(sampling_u64(&s, "tick_delay_max"), 0);
    for (size_t i = 0; i < 3; i++)
        close(more[i]);
    sampling_end(&s);
}

/* On a node of this size. Files that the kernel returns page by page need one more per page. */
static void each_file_is_read_with_one_pread(void **state)
{
    (void)state;
    static const struct { const struct sampler *sampler; const char *path; unsigned files; } rows[] = {
        { &sampler_meminfo, NULL, 1 }, { &sampler_stat, NULL, 1 }, { &sampler_loadavg, NULL, 1 },
        { &sampler_vmstat, "/proc/vmstat", 1 }, { &sampler_interrupts, "/proc/interrupts", 1 },
        { &sampler_netdev, "/proc/net/dev", 1 }, { &sampler_self, NULL, 3 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = 0;
        if (rows[i].path)
            assert_int_equal(file_read("", rows[i].path, text, sizeof text, &size), OK);
        assert_true(begin(rows[i].sampler));
        preads = 0;
        sampling_read(&s);
        if (preads > rows[i].files + (size > 3500 ? 1 + size / 3500 : 0))
            fail_msg("%s: %u preads", rows[i].sampler->name, preads);
        sampling_end(&s);
    }
}

/* /proc/self/maps is returned page by page like vmstat: many mappings make many pages. */
static void a_file_of_many_pages_is_read_completely(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size, mappings = 400;
    char *memory = mmap(NULL, mappings * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    for (size_t i = 0; i < mappings; i += 2)
        mprotect(memory + i * page, page, PROT_NONE);
    struct textfile file;
    assert_int_equal(textfile_open(&file, "", "/proc/self/maps", TEXTFILE_PAGES), OK);
    for (size_t shown = mappings; shown > 0; shown -= 10) { /* with ends at many positions in a page */
        assert_int_equal(textfile_read(&file), OK);
        assert_int_equal(file_read("", "/proc/self/maps", text, sizeof text, &size), OK);
        assert_int_equal(file.size, size);
        assert_memory_equal(file.text, text, size);
        munmap(memory + (shown - 10) * page, 10 * page);
    }
    textfile_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_counted),
        cmocka_unit_test(every_line_of_meminfo_is_read),
        cmocka_unit_test(cpus_add_up_to_the_total),
        cmocka_unit_test(timer_interrupts_are_counted),
        cmocka_unit_test(packets_are_counted),
        cmocka_unit_test(disks_match_sys_block),
        cmocka_unit_test(pressure_matches_the_files),
        cmocka_unit_test(numa_memory_adds_up_to_the_node),
        cmocka_unit_test(schedstat_grows_with_run_time),
        cmocka_unit_test(self_matches_getrusage),
        cmocka_unit_test(each_file_is_read_with_one_pread),
        cmocka_unit_test(a_file_of_many_pages_is_read_completely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
