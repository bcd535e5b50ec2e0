/* Events of the watches on the cgroup tree, how many are handled at once, and that no watch is left behind. */
#include "jobs/cgroup_watch.h"

#include "base/file.h"
#include "tools/jobs_fixture.h"

#include <poll.h>

#define V1 "/sys/fs/cgroup/"

/* The number of watches that the kernel holds for us. */
static size_t watches_held(void)
{
    size_t held = 0;
    for (int fd = 0; fd < 256; fd++) {
        char path[64], text[65536];
        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
        if (file_read(NULL, path, text, sizeof text, NULL))
            continue;
        for (const char *at = text; (at = strstr(at, "inotify wd:")); at++)
            held++;
    }
    return held;
}

/* The kernel keeps the watch of a removed cgroup: it must be removed, or months of jobs exhaust the limit. */
static void watches_of_ended_jobs_are_removed(void **state)
{
    (void)state;
    char way[128], directory[256];
    struct fixture f = { .only = "" };
    snprintf(way, sizeof way, "/sys/fs/cgroup/cpuacct/slurm_watches%d", (int)getpid());
    if (mkdir(way, 0755) != 0)
        leave_out("no cpuacct hierarchy that we may write to");
    snprintf(way + strlen(way), 16, "/uid_0");
    mkdir(way, 0755);
    fixture_open(&f);
    size_t before = watches_held();
    for (int i = 0; i < 50; i++) {
        snprintf(directory, sizeof directory, "%s/job_%d", way, 770000 + i);
        mkdir(directory, 0755);
        jobs_read(f.jobs);
        assert_true(watches_held() > before);
        rmdir(directory);
        jobs_read(f.jobs);
    }
    size_t after = watches_held();
    jobs_close(&f.jobs);
    rmdir(way);
    way[strlen(way) - strlen("/uid_0")] = '\0';
    rmdir(way);
    assert_true(after <= before + 5); /* other processes may have jobs too */
}

/* The work of one call is bounded; the rest is done by later calls, and the descriptor stays readable. */
static void a_flood_is_handled_in_portions(void **state)
{
    (void)state;
    struct fixture f;
    char path[128];
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000");
    fixture_open(&f);
    for (int i = 0; i < 500; i++) {
        snprintf(path, sizeof path, V1 "memory/slurm/uid_1000/job_%d", i);
        fixture_mkdir(&f, path);
    }
    jobs_read_some(f.jobs, 1);
    size_t first = jobs_count(f.jobs), calls = 1;
    assert_true(first < 500);
    for (struct pollfd ready = { .fd = jobs_fd(f.jobs), .events = POLLIN }; calls < 100000
         && jobs_count(f.jobs) < 500; calls++) {
        assert_int_equal(poll(&ready, 1, 60000), 1);
        jobs_read_some(f.jobs, 1000000);
    }
    assert_int_equal(jobs_count(f.jobs), 500);
    fixture_end(&f);
}

/* A process moved into a job is seen at once, not at the next tick: it may have exited by then. */
static void moved_tasks_are_reported(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_open(&f);
    fixture_write(&f, V1 "memory/slurm/uid_1000/job_7/cgroup.procs", "");
    jobs_read(f.jobs);
    size_t before = fixture_count(&f, "7", JOB_CHANGE);
    fixture_write(&f, V1 "memory/slurm/uid_1000/job_7/cgroup.procs", "1\n");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_CHANGE), before + 1);
    fixture_write(&f, V1 "memory/slurm/uid_1000/job_7/notify_on_release", "1\n");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_CHANGE), before + 1);
    for (size_t i = 0; i < 100; i++) { /* and constant moves must not keep us busy */
        fixture_write(&f, V1 "memory/slurm/uid_1000/job_7/cgroup.procs", "1\n");
        jobs_read(f.jobs);
    }
    assert_true(fixture_count(&f, "7", JOB_CHANGE) < 80);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watches_of_ended_jobs_are_removed),
        cmocka_unit_test(a_flood_is_handled_in_portions),
        cmocka_unit_test(moved_tasks_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
