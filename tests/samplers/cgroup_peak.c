/* The maximum of a cgroup counts for a run only if the run has the cgroup to itself, and only what rose during the run. */
#include "samplers/cgroup_peak.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define MIB (1ull << 20)
#define DIR "sys/fs/cgroup/memory/job/"

static char root[TEMP_PATH_MAX];
static int proc_fd;
static struct cgroup_peak peak;

static void put(const char *name, const char *text)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, root, name);
    temp_write(path, text, strlen(text));
}

static void put_mib(const char *name, uint64_t mib)
{
    char text[32];
    snprintf(text, sizeof text, "%ju\n", (uintmax_t)(mib * MIB));
    put(name, text);
}

static void put_process(unsigned pid, unsigned ppid)
{
    char name[64], text[256];
    snprintf(name, sizeof name, "proc/%u/stat", pid);
    snprintf(text, sizeof text, "%u (x) S %u 1 1 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 100 1 1 1\n", pid, ppid);
    put(name, text);
}

/* A shell (5), sonde run (10) and its command (11) in a v1 cgroup; 20 is outside. */
static int set_up(void **state)
{
    (void)state;
    temp_dir(root);
    put("proc/self/cgroup", "4:memory:/job\n");
    put("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    put_process(5, 1);
    put_process(10, 5);
    put_process(11, 10);
    put_process(20, 1);
    put(DIR "cgroup.procs", "5\n10\n");
    put_mib(DIR "memory.max_usage_in_bytes", 100);
    put_mib(DIR "memory.usage_in_bytes", 30);
    put_mib(DIR "memory.kmem.usage_in_bytes", 2);
    put(DIR "memory.stat", "cache 1\ntotal_cache 20971520\ntotal_shmem 0\n");
    char path[TEMP_PATH_MAX];
    temp_join(path, root, "proc");
    proc_fd = open(path, O_PATH | O_DIRECTORY);
    cgroup_peak_open(&peak, root, proc_fd, 10);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(proc_fd);
    temp_remove(root);
    return 0;
}

static bool read_peak(uint64_t *bytes)
{
    return cgroup_peak_read(&peak, proc_fd, NULL, bytes);
}

/* 30 MiB of which 20 were cache and 2 the kernel's: 8 are of the shell and sonde. */
static void only_what_rose_during_the_run(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    assert_true(peak.is_usable);
    put(DIR "cgroup.procs", "5\n10\n11\n");
    assert_false(read_peak(&bytes)); /* the maximum was before */
    put_mib(DIR "memory.max_usage_in_bytes", 500);
    put(DIR "memory.stat", "total_cache 41943040\ntotal_shmem 10485760\n"); /* 10 MiB of it cannot be reclaimed */
    assert_true(read_peak(&bytes));
    assert_int_equal(bytes, (500 - 30 - 2 - 8) * MIB);
    put(DIR "memory.stat", "total_cache 0\ntotal_shmem 0\n"); /* the cache may have been larger at the peak */
    assert_true(read_peak(&bytes));
    assert_int_equal(bytes, (500 - 30 - 2 - 8) * MIB);
}

static void another_process_ends_it(void **state)
{
    (void)state;
    uint64_t bytes;
    put_mib(DIR "memory.max_usage_in_bytes", 500);
    assert_true(read_peak(&bytes));
    put(DIR "cgroup.procs", "5\n10\n20\n");
    assert_false(read_peak(&bytes));
    put(DIR "cgroup.procs", "5\n10\n");
    assert_false(read_peak(&bytes)); /* its memory is part of the maximum */
}

static void a_shared_cgroup_is_not_used(void **state)
{
    (void)state;
    static const char *const lists[] = { "5\n10\n20\n", "0\n10\n" }; /* 0: in another pid namespace */
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        put(DIR "cgroup.procs", lists[i]);
        cgroup_peak_open(&peak, root, proc_fd, 10);
        assert_false(peak.is_usable);
    }
    put(DIR "cgroup.procs", "5\n10\n77\n"); /* exited since */
    cgroup_peak_open(&peak, root, proc_fd, 10);
    assert_true(peak.is_usable);
    put("proc/self/cgroup", "4:memory:/\n");
    cgroup_peak_open(&peak, root, proc_fd, 10);
    assert_false(peak.is_usable);
}

static void version_2(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    put("proc/self/cgroup", "0::/task\n");
    put("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/task/cgroup.procs", "10\n");
    put_mib("sys/fs/cgroup/task/memory.peak", 40);
    put_mib("sys/fs/cgroup/task/memory.current", 40);
    put("sys/fs/cgroup/task/memory.stat", "anon 10485760\nfile 31457280\nkernel 1048576\nshmem 1048576\n");
    cgroup_peak_open(&peak, root, proc_fd, 10);
    assert_true(peak.is_usable);
    put_mib("sys/fs/cgroup/task/memory.peak", 200);
    assert_true(read_peak(&bytes));
    assert_int_equal(bytes, (200 - 30 - 10) * MIB);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(only_what_rose_during_the_run), T(another_process_ends_it), T(a_shared_cgroup_is_not_used), T(version_2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
