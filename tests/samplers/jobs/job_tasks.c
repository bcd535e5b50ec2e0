/* Lists of a job's tasks: on test trees, with steps that come and go, few descriptors and many jobs. */
#include "samplers/jobs/job_tasks.h"

#include "tools/node.h"
#include "tools/sensing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOUNTS \
    "25 20 0:22 / /cg/freezer rw - cgroup cgroup rw,freezer\n" \
    "26 20 0:23 / /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n" \
    "27 20 0:24 / /cg/unified rw - cgroup2 cgroup2 rw\n"

static char root[TEMP_PATH_MAX];
static struct cgroup_mounts mounts;
static struct pidlist list;

static const struct job v1 = { .id = "9", .cgroup = "/oar/x_9" };
static const struct job v2 = { .id = "8", .cgroup = "/job_8", .unified = true };
static const struct job frozen = { .id = "7", .cgroup = "/slurm/job_7" };

static int begin(void **state)
{
    (void)state;
    temp_dir(root);
    sensing_put(root, "proc/self/mountinfo", MOUNTS);
    sensing_put(root, "cg/cpuacct/oar/x_9/tasks", "101\n102\n103\n");
    sensing_put(root, "cg/cpuacct/oar/x_9/cgroup.procs", "101\n");
    sensing_put(root, "cg/cpuacct/oar/x_9/cpuacct.usage", "123456789\n");
    sensing_put(root, "cg/unified/job_8/cgroup.threads", "");
    sensing_put(root, "cg/unified/job_8/cpu.stat", "usage_usec 77\nuser_usec 70\nsystem_usec 7\n");
    sensing_put(root, "cg/unified/job_8/step_0/user/cgroup.threads", "201\n");
    sensing_put(root, "cg/unified/job_8/step_0/cgroup.threads", "202\n");
    sensing_put(root, "cg/freezer/slurm/job_7/tasks", "301\n");
    list.count = 0;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    temp_remove(root);
    pidlist_clear(&list);
    return 0;
}

static void expect_count(struct job_tasks *tasks, size_t wanted)
{
    list.count = 0;
    assert_int_equal(job_tasks_list(&mounts, tasks, NULL, &list), OK);
    assert_int_equal(list.count, wanted);
}

static bool has(uint32_t id)
{
    for (size_t i = 0; i < list.count; i++)
        if (list.ids[i] == id)
            return true;
    return false;
}

static void threads_and_processes_are_listed(void **state)
{
    (void)state;
    struct job_tasks tasks;
    uint64_t cpu_ns;
    assert_int_equal(cgroup_mounts_open(&mounts, root, CGROUP_MOUNTS_THREADS), OK);
    assert_int_equal(job_tasks_open(&mounts, &tasks, &v1), OK);
    expect_count(&tasks, 3);
    assert_true(has(103));
    assert_int_equal(job_tasks_cpu_ns(&mounts, &tasks, &cpu_ns), OK);
    assert_int_equal(cpu_ns, 123456789);
    job_tasks_close(&mounts, &tasks);
    assert_int_equal(job_tasks_open(&mounts, &tasks, &v2), OK);
    expect_count(&tasks, 2);
    assert_true(has(201) && has(202));
    assert_int_equal(job_tasks_cpu_ns(&mounts, &tasks, &cpu_ns), OK);
    assert_int_equal(cpu_ns, 77000);
    job_tasks_close(&mounts, &tasks);
    assert_int_equal(job_tasks_open(&mounts, &tasks, &frozen), OK); /* in another hierarchy than cpuacct */
    expect_count(&tasks, 1);
    assert_int_equal(job_tasks_cpu_ns(&mounts, &tasks, &cpu_ns), GONE);
    job_tasks_close(&mounts, &tasks);
    assert_int_equal(mounts.kept, 0);
    cgroup_mounts_close(&mounts);
    assert_int_equal(cgroup_mounts_open(&mounts, root, CGROUP_MOUNTS_PROCESSES), OK);
    assert_int_equal(job_tasks_open(&mounts, &tasks, &v1), OK);
    expect_count(&tasks, 1);
    job_tasks_close(&mounts, &tasks);
    cgroup_mounts_close(&mounts);
}

/* Captured trees: several steps, slurmstepd next to the tasks, hierarchies of which only some have the job. */
static void the_jobs_of_captured_nodes_are_listed(void **state)
{
    (void)state;
    static const struct {
        const char *node;
        struct job job;
        size_t processes;
        uint32_t one_of_them;
    } cases[] = {
        { "slurm-v2", { .cgroup = "/system.slice/c1_slurmstepd.scope/job_1", .unified = true }, 4, 860 },
        { "slurm-v1", { .cgroup = "/slurm_c1/uid_1/job_4" }, 4, 32235 },
        { "oar-v1", { .cgroup = "/oar/anna_4711" }, 2, 400 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job_tasks tasks;
        assert_int_equal(cgroup_mounts_open(&mounts, node_root(cases[i].node), CGROUP_MOUNTS_PROCESSES), OK);
        assert_int_equal(job_tasks_open(&mounts, &tasks, &cases[i].job), OK);
        expect_count(&tasks, cases[i].processes);
        assert_true(has(cases[i].one_of_them));
        job_tasks_close(&mounts, &tasks);
        cgroup_mounts_close(&mounts);
    }
}

static void remove_path(const char *name)
{
    char command[TEMP_PATH_MAX + 64];
    snprintf(command, sizeof command, "rm -r '%s/%s'", root, name);
    assert_int_equal(system(command), 0);
}

static bool links_are_counted(void)
{
    struct stat st;
    char path[TEMP_PATH_MAX];
    temp_join(path, root, "cg/unified/job_8/step_0");
    return stat(path, &st) == 0 && st.st_nlink == 3;
}

static void steps_come_and_go(unsigned kept_max)
{
    struct job_tasks tasks;
    if (!links_are_counted())
        leave_out("this file system does not count links of directories, as cgroups do");
    assert_int_equal(cgroup_mounts_open(&mounts, root, CGROUP_MOUNTS_THREADS), OK);
    mounts.kept_max = kept_max;
    assert_int_equal(job_tasks_open(&mounts, &tasks, &v2), OK);
    expect_count(&tasks, 2);
    sensing_put(root, "cg/unified/job_8/step_1/cgroup.threads", "203\n204\n");
    expect_count(&tasks, 4);
    remove_path("cg/unified/job_8/step_0");
    expect_count(&tasks, 2);
    sensing_put(root, "cg/unified/job_8/step_1/cgroup.threads", "205\n");
    expect_count(&tasks, 1);
    remove_path("cg/unified/job_8");
    expect_count(&tasks, 0);
    sensing_put(root, "cg/unified/job_8/cgroup.threads", "206\n"); /* a job of the same name may come again */
    expect_count(&tasks, 1);
    assert_true(mounts.kept <= kept_max);
    job_tasks_close(&mounts, &tasks);
    assert_int_equal(mounts.kept, 0);
    cgroup_mounts_close(&mounts);
}

static void steps_are_followed(void **state)
{
    (void)state;
    steps_come_and_go(1000);
}

static void steps_are_followed_without_descriptors(void **state)
{
    (void)state;
    steps_come_and_go(0);
}

static void a_list_longer_than_the_buffer_is_read_completely(void **state)
{
    (void)state;
    struct job_tasks tasks;
    char *text = malloc(1 << 20), *at = text;
    for (unsigned i = 0; i < 50000; i++)
        at += sprintf(at, "%u\n", 1 + i * 83);
    sensing_put(root, "cg/cpuacct/oar/x_9/tasks", text);
    free(text);
    assert_int_equal(cgroup_mounts_open(&mounts, root, CGROUP_MOUNTS_THREADS), OK);
    assert_int_equal(job_tasks_open(&mounts, &tasks, &v1), OK);
    expect_count(&tasks, 50000);
    for (unsigned i = 0; i < 50000; i++)
        assert_int_equal(list.ids[i], 1 + i * 83);
    job_tasks_close(&mounts, &tasks);
    cgroup_mounts_close(&mounts);
}

static void a_malformed_list_is_corrupt(void **state)
{
    (void)state;
    static const char *const bad[] = { "abc\n", "12\nx\n", "12 13\n", "-5\n", "99999999999999999999999999\n", "12\n\n13\n" };
    static const char *const cut[] = { "12\n13", "1" };
    struct job_tasks tasks;
    assert_int_equal(cgroup_mounts_open(&mounts, root, CGROUP_MOUNTS_THREADS), OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sensing_put(root, "cg/cpuacct/oar/x_9/tasks", bad[i]);
        assert_int_equal(job_tasks_open(&mounts, &tasks, &v1), OK);
        assert_int_equal(job_tasks_list(&mounts, &tasks, NULL, &list), CORRUPT);
        job_tasks_close(&mounts, &tasks);
    }
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        sensing_put(root, "cg/cpuacct/oar/x_9/tasks", cut[i]);
        assert_int_equal(job_tasks_open(&mounts, &tasks, &v1), OK);
        assert_int_equal(job_tasks_list(&mounts, &tasks, NULL, &list), CORRUPT);
        job_tasks_close(&mounts, &tasks);
    }
    sensing_put(root, "cg/cpuacct/oar/x_9/tasks", "0\n0\n5\n"); /* in another pid namespace */
    assert_int_equal(job_tasks_open(&mounts, &tasks, &v1), OK);
    expect_count(&tasks, 1);
    job_tasks_close(&mounts, &tasks);
    cgroup_mounts_close(&mounts);
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

#define MANY 5000

static void five_thousand_jobs_need_few_descriptors(void **state)
{
    (void)state;
    static struct job jobs[MANY];
    static struct job_tasks tasks[MANY];
    static char names[MANY][32];
    struct rlimit before, small;
    getrlimit(RLIMIT_NOFILE, &before);
    small = (struct rlimit){ 1024, before.rlim_max };
    setrlimit(RLIMIT_NOFILE, &small);
    assert_int_equal(cgroup_mounts_open(&mounts, root, CGROUP_MOUNTS_THREADS), OK);
    for (unsigned i = 0; i < MANY; i++) {
        char path[96], text[16];
        snprintf(names[i], sizeof names[i], "/job_%u", i);
        snprintf(path, sizeof path, "cg/unified/job_%u/cgroup.threads", i);
        snprintf(text, sizeof text, "%u\n", 1000 + i);
        sensing_put(root, path, text);
        jobs[i] = (struct job){ .id = "", .cgroup = names[i], .unified = true, .slot = i };
        assert_int_equal(job_tasks_open(&mounts, &tasks[i], &jobs[i]), OK);
    }
    for (int round = 0; round < 2; round++) {
        list.count = 0;
        for (unsigned i = 0; i < MANY; i++)
            assert_int_equal(job_tasks_list(&mounts, &tasks[i], NULL, &list), OK);
        assert_int_equal(list.count, MANY + 2); /* job_8 has steps too */
    }
    assert_int_equal(mounts.kept, 128);
    assert_true(open_descriptors() < 200);
    for (unsigned i = 0; i < MANY; i++)
        job_tasks_close(&mounts, &tasks[i]);
    assert_int_equal(mounts.kept, 0);
    cgroup_mounts_close(&mounts);
    setrlimit(RLIMIT_NOFILE, &before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(threads_and_processes_are_listed),
        TEST(the_jobs_of_captured_nodes_are_listed),
        TEST(steps_are_followed),
        TEST(steps_are_followed_without_descriptors),
        TEST(a_list_longer_than_the_buffer_is_read_completely),
        TEST(a_malformed_list_is_corrupt),
        TEST(five_thousand_jobs_need_few_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
