/* The CPU time of a job's cgroup: captured, and of this kernel compared with wait4. */
#include "samplers/jobs/cgroup_cpu.h"

#include "base/file.h"
#include "tools/burn.h"
#include "tools/node.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void hierarchies_are_found(void **state)
{
    (void)state;
    struct cgroup_cpu_mounts mounts;
    cgroup_cpu_find_mounts(node_root("sensors"), &mounts);
    assert_string_equal(mounts.cpuacct, "/sys/fs/cgroup/cpu,cpuacct");
    assert_string_equal(mounts.unified, "/sys/fs/cgroup/unified");
    cgroup_cpu_find_mounts("/nonexistent", &mounts);
    assert_string_equal(mounts.cpuacct, "");
    assert_string_equal(mounts.unified, "");
}

static void a_job_without_group_or_hierarchy_has_no_file(void **state)
{
    (void)state;
    char path[4096];
    struct cgroup_cpu_mounts none = { "", "" }, both = { "/c", "/u" };
    struct job job = { .id = "1", .cgroup = "/job_1" };
    assert_int_equal(cgroup_cpu_path(&none, &job, path, sizeof path), ABSENT);
    assert_int_equal(cgroup_cpu_path(&both, &job, path, sizeof path), OK);
    assert_string_equal(path, "/c/job_1/cpuacct.usage");
    job.unified = true;
    assert_int_equal(cgroup_cpu_path(&both, &job, path, sizeof path), OK);
    assert_string_equal(path, "/u/job_1/cpu.stat");
    assert_int_equal(cgroup_cpu_path(&both, &job, path, 8), FULL);
    job.cgroup = "";
    assert_int_equal(cgroup_cpu_path(&both, &job, path, sizeof path), ABSENT);
}

static enum err read_text(const char *text, bool unified, uint64_t *cpu_ns)
{
    char directory[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    temp_dir(directory);
    temp_join(path, directory, "file");
    temp_write(path, text, strlen(text));
    int fd = open(path, O_RDONLY);
    enum err err = cgroup_cpu_read(fd, unified, cpu_ns);
    close(fd);
    temp_remove(directory);
    return err;
}

static void files_are_parsed_and_bad_ones_rejected(void **state)
{
    (void)state;
    uint64_t cpu_ns = 0;
    assert_int_equal(read_text("user_usec 1\nusage_usec 5\n", true, &cpu_ns), OK);
    assert_int_equal(cpu_ns, 5000);
    assert_int_equal(read_text("123\n", false, &cpu_ns), OK);
    assert_int_equal(cpu_ns, 123);
    assert_int_equal(read_text("", true, &cpu_ns), CORRUPT);
    assert_int_equal(read_text("usage_usec 18446744073709551615\n", true, &cpu_ns), CORRUPT);
    assert_int_equal(read_text("usage_usec -4\n", true, &cpu_ns), CORRUPT);
    assert_int_equal(read_text("-4\n", false, &cpu_ns), CORRUPT);
}

/* The CPU time in ns of a child that worked in the cgroup; 0: it could not be moved there. */
static uint64_t work_in(const char *group)
{
    char path[4096 + 32];
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(path, O_WRONLY);
        bool in = write(fd, "0", 1) == 1;
        if (in)
            burn(CLOCK_PROCESS_CPUTIME_ID, 200);
        _exit(in ? 0 : 1);
    }
    int status;
    struct rusage usage;
    wait4(pid, &status, 0, &usage);
    return status ? 0
                  : (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000
                        + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* False: not permitted on this node. */
static bool agrees_live(bool unified)
{
    char name[64], group[4096], path[4096];
    struct cgroup_cpu_mounts mounts;
    struct job job = { .id = "1", .cgroup = name, .unified = unified };
    snprintf(name, sizeof name, "/sonde-test-%d", getpid());
    cgroup_cpu_find_mounts("", &mounts);
    if (cgroup_cpu_path(&mounts, &job, path, sizeof path))
        return false;
    snprintf(group, sizeof group, "%.2000s%s", unified ? mounts.unified : mounts.cpuacct, name);
    if (mkdir(group, 0755))
        return false;
    int fd = open(path, O_RDONLY);
    uint64_t used_ns = work_in(group), cpu_ns = 0;
    enum err err = cgroup_cpu_read(fd, unified, &cpu_ns);
    assert_int_equal(rmdir(group), 0);
    uint64_t last_ns;
    enum err gone = cgroup_cpu_read(fd, unified, &last_ns);
    close(fd);
    if (!used_ns)
        return false;
    assert_int_equal(err, OK);
    assert_in_range(cpu_ns, 195000000, used_ns + 20000000); /* CPU time before it was moved is not counted in the
                                                             * cgroup */
    assert_true(gone == GONE || gone == OK);
    return true;
}

static void a_v1_group_of_this_kernel_agrees(void **state)
{
    (void)state;
    if (!agrees_live(false))
        leave_out("no v1 hierarchy that we may write to");
}

static void a_v2_group_of_this_kernel_agrees(void **state)
{
    (void)state;
    if (!agrees_live(true))
        leave_out("no v2 hierarchy that we may write to");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hierarchies_are_found),
        cmocka_unit_test(a_job_without_group_or_hierarchy_has_no_file),
        cmocka_unit_test(files_are_parsed_and_bad_ones_rejected),
        cmocka_unit_test(a_v1_group_of_this_kernel_agrees),
        cmocka_unit_test(a_v2_group_of_this_kernel_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
