/* The processes of jobs: exact on a test tree, and live with known work. */
#include "base/clock.h"
#include "samplers/all.h"
#include "tools/group.h"
#include "tools/sensing.h"

#include <pthread.h>
#include <sys/mman.h>

static struct sensing sensing;
static struct group group;

#define MOUNTS \
    "25 20 0:22 / /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n" \
    "26 20 0:23 / /cg/unified rw - cgroup2 cgroup2 rw\n"

static char root[TEMP_PATH_MAX];

static void put(const char *name, const char *text)
{
    sensing_put(root, name, text);
}

static void put_process(unsigned pid, const char *status, const char *io)
{
    char name[64];
    snprintf(name, sizeof name, "proc/%u/status", pid);
    put(name, status);
    snprintf(name, sizeof name, "proc/%u/io", pid);
    put(name, io);
}

#define STATUS(ppid, rss, threads) \
    "Name:\tx\nUmask:\t0022\nState:\tS (sleeping)\nPPid:\t" ppid "\nVmPeak:\t 999 kB\nVmSize:\t 100 kB\nVmRSS:\t " rss \
    " kB\nRssFile:\t 2 kB\nRssShmem:\t 3 kB\nVmSwap:\t 0 kB\nThreads:\t" threads "\nvoluntary_ctxt_switches:\t5\n"
#define IO(rchar, written) \
    "rchar: " rchar "\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: " written "\ncancelled_write_bytes: 7\n"

static const struct job job_v1 = { .id = "9", .other_id = "", .source = "", .user = "", .cgroup = "/oar/x_9", .slot = 2 };
static const struct job job_v2 = { .id = "8", .other_id = "", .source = "", .user = "", .cgroup = "/job_8",
                                   .unified = true, .slot = 5 };

static int make_tree(void **state)
{
    (void)state;
    temp_dir(root);
    put("proc/self/mountinfo", MOUNTS);
    put("cg/cpuacct/oar/x_9/cgroup.procs", "101\n102\n");
    put("cg/unified/job_8/cgroup.procs", "");
    put("cg/unified/job_8/step_0/cgroup.procs", "");
    put("cg/unified/job_8/step_0/user/cgroup.procs", "103\n103\n");
    put_process(101, STATUS("1", "50", "8"), IO("1000", "6"));
    put_process(102, STATUS("101", "20", "1"), IO("10", "60"));
    put_process(103, STATUS("1", "7", "1"), IO("99", "0"));
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    temp_remove(root);
    group_remove(&group);
    return 0;
}

static uint64_t value_of(const char *instance, const char *job, const char *metric)
{
    const union value *v = sensing_find(&sensing, instance, job, metric);
    assert_non_null(v);
    return v->u64;
}

static void begin_tree(bool each)
{
    sensing_init(&sensing, &sampler_process, root);
    sensing_set(&sensing, "each", each ? "yes" : "no");
    assert_int_equal(sensing_open(&sensing), OK);
    assert_int_equal(sensing_job(&sensing, &job_v1, JOB_BEGIN), OK);
    assert_int_equal(sensing_job(&sensing, &job_v2, JOB_BEGIN), OK);
    assert_int_equal(sensing_read(&sensing), OK);
}

static void a_test_tree_adds_up(void **state)
{
    (void)state;
    begin_tree(false);
    assert_int_equal(sensing.batch.count, 2);
    assert_int_equal(value_of("", "9", "rchar"), 1010);
    assert_int_equal(value_of("", "9", "write_bytes"), 66);
    assert_int_equal(value_of("", "9", "cancelled_write_bytes"), 14);
    assert_int_equal(value_of("", "9", "rss"), 70 * 1024);
    assert_int_equal(value_of("", "9", "rss_shared"), 6 * 1024);
    assert_int_equal(value_of("", "9", "vm"), 200 * 1024);
    assert_int_equal(value_of("", "9", "threads"), 9);
    assert_int_equal(value_of("", "9", "processes"), 2);
    assert_null(sensing_find(&sensing, "", "9", "pss"));
    assert_null(sensing_find(&sensing, "", "9", "vol_ctxsw")); /* no kernel to query */
    assert_int_equal(value_of("", "8", "rchar"), 99); /* although it is listed twice */
    assert_int_equal(value_of("", "8", "processes"), 1);
    sensing_end(&sensing);
}

static void each_process_has_a_sample_on_request(void **state)
{
    (void)state;
    begin_tree(true);
    assert_int_equal(sensing.batch.count, 5);
    assert_int_equal(value_of("101", "9", "rss"), 50 * 1024);
    assert_int_equal(value_of("101", "9", "threads"), 8);
    assert_int_equal(value_of("102", "9", "rchar"), 10);
    assert_int_equal(value_of("103", "8", "rchar"), 99);
    sensing_end(&sensing);
}

static void remove_process(unsigned pid)
{
    char command[TEMP_PATH_MAX + 64];
    snprintf(command, sizeof command, "rm -r '%s/proc/%u'", root, pid);
    assert_int_equal(system(command), 0);
}

static void io_of_waited_for_children_is_not_counted_twice(void **state)
{
    (void)state;
    begin_tree(false);
    put("cg/cpuacct/oar/x_9/cgroup.procs", "101\n");
    remove_process(102);
    put_process(101, STATUS("1", "50", "8"), IO("1010", "66")); /* the kernel added the child's to its parent's */
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value_of("", "9", "write_bytes"), 66);
    assert_int_equal(value_of("", "9", "rchar"), 1010);
    assert_int_equal(value_of("", "9", "processes"), 1);
    sensing_end(&sensing);
}

static void io_that_no_parent_inherits_is_kept(void **state)
{
    (void)state;
    begin_tree(false);
    put("cg/cpuacct/oar/x_9/cgroup.procs", "");
    remove_process(101);
    remove_process(102);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sensing_read(&sensing), OK);
        assert_int_equal(value_of("", "9", "rchar"), 1010);
        assert_int_equal(value_of("", "9", "processes"), 0);
        assert_null(sensing_find(&sensing, "", "9", "rss"));
    }
    sensing_end(&sensing);
}

static void a_short_job_has_its_first_values(void **state)
{
    (void)state;
    sensing_init(&sensing, &sampler_process, root);
    assert_int_equal(sensing_open(&sensing), OK);
    assert_int_equal(sensing_job(&sensing, &job_v1, JOB_BEGIN), OK);
    put("cg/cpuacct/oar/x_9/cgroup.procs", "");
    remove_process(101);
    remove_process(102);
    assert_int_equal(sensing_job(&sensing, &job_v1, JOB_END), OK);
    assert_int_equal(value_of("", "9", "rchar"), 1010);
    assert_int_equal(value_of("", "9", "processes"), 0);
    sensing_end(&sensing);
}

static void bad_files_leave_values_unknown(void **state)
{
    (void)state;
    put_process(103, "State:\tR (running)\nVmRSS:\t-5 kB\nThreads:\nVmSize:\t99999999999999999999 kB\n",
                "wchar: 12\nsyscr 3\nrchar:");
    begin_tree(false);
    assert_int_equal(value_of("", "8", "wchar"), 12);
    assert_null(sensing_find(&sensing, "", "8", "rchar"));
    assert_null(sensing_find(&sensing, "", "8", "syscr"));
    assert_null(sensing_find(&sensing, "", "8", "rss"));
    assert_null(sensing_find(&sensing, "", "8", "vm"));
    assert_null(sensing_find(&sensing, "", "8", "threads"));
    sensing_end(&sensing);
}

static void a_job_without_its_cgroup_has_no_processes(void **state)
{
    (void)state;
    const struct job job = { .id = "5", .other_id = "", .source = "", .user = "", .cgroup = "/none", .slot = 600 };
    begin_tree(false);
    assert_int_equal(sensing_job(&sensing, &job, JOB_BEGIN), OK);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(sensing.batch.count, 3);
    assert_int_equal(value_of("", "5", "processes"), 0);
    assert_null(sensing_find(&sensing, "", "5", "rchar"));
    assert_int_equal(sensing_job(&sensing, &job, JOB_END), OK);
    assert_int_equal(sensing.batch.count, 1);
    sensing_end(&sensing);
}

/* Live. */

#define PAGES 2000

static void *wait_here(void *unused)
{
    pause();
    return unused;
}

static void be_large(void *context)
{
    pthread_t thread;
    char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 1, PAGES * 4096);
    for (int i = 0; i < 7; i++)
        pthread_create(&thread, NULL, wait_here, context);
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (read(zero, pages, 123456) != 123456)
        _exit(1);
    raise(SIGSTOP);
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork(); /* lives between two readings */
        if (pid == 0)
            _exit(read(zero, pages, 1000) != 1000);
        waitpid(pid, NULL, 0);
    }
    raise(SIGSTOP);
}

static void begin_live(void)
{
    sensing_init(&sensing, &sampler_process, "");
    sensing_set(&sensing, "each", "yes");
    sensing_set(&sensing, "pss", "yes");
    assert_int_equal(sensing_open(&sensing), OK);
    assert_int_equal(sensing_job(&sensing, &group.job, JOB_BEGIN), OK);
}

static void check_large(const char *instance)
{
    assert_in_range(value_of(instance, group.id, "rchar"), 123456, 123456 + 20000);
    assert_in_range(value_of(instance, group.id, "rss"), PAGES * 4096, PAGES * 4096 + (64u << 20));
    assert_in_range(value_of(instance, group.id, "pss"), PAGES * 4096, value_of(instance, group.id, "rss"));
    assert_int_equal(value_of(instance, group.id, "threads"), 8);
    assert_true(value_of(instance, group.id, "syscr") >= 1);
}

static void a_process_is_not_multiplied_by_its_threads(bool unified)
{
    char name[16];
    if (!group_make(&group, unified, 7))
        leave_out("no cgroup here");
    begin_live();
    pid_t pid = group_start(&group, be_large, NULL);
    snprintf(name, sizeof name, "%d", (int)pid);
    waitpid(pid, NULL, WUNTRACED);
    assert_int_equal(sensing_read(&sensing), OK);
    check_large("");
    check_large(name);
    uint64_t before = value_of("", group.id, "rchar");
    kill(pid, SIGCONT);
    waitpid(pid, NULL, WUNTRACED);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value_of("", group.id, "rchar"), before + 10 * 1000);
    if (getuid() == 0)
        assert_true(value_of("", group.id, "vol_ctxsw") >= 8); /* of all threads */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(sensing_job(&sensing, &group.job, JOB_END), OK);
    assert_int_equal(value_of("", group.id, "rchar"), before + 10 * 1000);
    assert_int_equal(value_of("", group.id, "processes"), 0);
    sensing_end(&sensing);
    group_remove(&group);
}

static void live_in_v1(void **state)
{
    (void)state;
    a_process_is_not_multiplied_by_its_threads(false);
}

static void live_in_v2(void **state)
{
    (void)state;
    a_process_is_not_multiplied_by_its_threads(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_test_tree_adds_up, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(each_process_has_a_sample_on_request, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(io_of_waited_for_children_is_not_counted_twice, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(io_that_no_parent_inherits_is_kept, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(a_short_job_has_its_first_values, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(bad_files_leave_values_unknown, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(a_job_without_its_cgroup_has_no_processes, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(live_in_v1, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(live_in_v2, make_tree, remove_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
