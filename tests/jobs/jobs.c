/* Jobs that come and go in a test cgroup tree, with inotify. */
#include "base/clock.h"
#include "tools/jobs_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

#define V1 "/sys/fs/cgroup/"
#define V2 "/sys/fs/cgroup"
#define SCOPE V2 "/system.slice/slurmstepd.scope"

/* Reads until the expected event has come, for at most a minute. */
static const struct fixture_event *wait_for(struct fixture *fixture, const char *id, enum job_event event, size_t n)
{
    uint64_t until_ns = clock_monotonic_ns() + 60 * NS_PER_S;
    while (fixture_count(fixture, id, event) < n && clock_monotonic_ns() < until_ns) {
        struct pollfd poll_fd = { .fd = jobs_fd(fixture->jobs), .events = POLLIN };
        poll(&poll_fd, 1, 100);
        jobs_read(fixture->jobs);
    }
    assert_int_equal(fixture_count(fixture, id, event), n);
    return fixture_find(fixture, id, event);
}

static void a_job_comes_and_goes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_open(&f);
    assert_int_equal(jobs_count(f.jobs), 0);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7/step_0");
    jobs_read(f.jobs);
    const struct fixture_event *begin = fixture_find(&f, "7", JOB_BEGIN);
    assert_non_null(begin);
    assert_string_equal(begin->user, "anna");
    assert_int_equal(begin->uid, 1000);
    assert_string_equal(begin->cgroup, "/slurm/uid_1000/job_7");
    assert_string_equal(begin->source, "slurm");
    assert_false(begin->unified);
    assert_true(begin->start_ns > clock_realtime_ns() - 5 * NS_PER_S && begin->start_ns <= clock_realtime_ns());
    assert_non_null(jobs_find(f.jobs, "7"));
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    const struct fixture_event *end = fixture_find(&f, "7", JOB_END);
    assert_non_null(end);
    assert_true(end->end_ns >= end->start_ns);
    assert_null(jobs_find(f.jobs, "7"));
    assert_int_equal(jobs_count(f.jobs), 0);
    fixture_end(&f);
}

static void parent_cgroups_may_appear_later(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_open(&f);
    fixture_mkdir(&f, V1 "memory/slurm");
    jobs_read(f.jobs);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000");
    jobs_read(f.jobs);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_1");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "1", JOB_BEGIN), 1);
    fixture_end(&f);
}

static void existing_jobs_are_reported_at_once(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_1");
    fixture_mkdir(&f, V1 "freezer/slurm/uid_1000/job_1");
    fixture_mkdir(&f, V1 "freezer/oar/ben_b_2");
    fixture_open(&f);
    assert_int_equal(jobs_count(f.jobs), 2);
    assert_int_equal(fixture_count(&f, "1", JOB_BEGIN), 1);
    assert_string_equal(fixture_find(&f, "2", JOB_BEGIN)->user, "ben_b");
    fixture_end(&f);
}

/* It is in several hierarchies, one of which is removed first. */
static void it_ends_with_its_last_cgroup(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_open(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    fixture_mkdir(&f, V1 "cpuset/slurm/uid_1000/job_7");
    fixture_mkdir(&f, V1 "freezer/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_BEGIN), 1);
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_7");
    fixture_remove(&f, V1 "freezer/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_END), 0);
    fixture_mkdir(&f, V1 "cpuset/slurm/uid_1000/job_7/step_3"); /* steps are watched in the remaining one */
    size_t changes = fixture_count(&f, "7", JOB_CHANGE);
    jobs_read(f.jobs);
    assert_true(fixture_count(&f, "7", JOB_CHANGE) > changes);
    fixture_remove(&f, V1 "cpuset/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_END), 1);
    fixture_end(&f);
}

static void a_job_that_ends_before_we_read_is_reported(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000");
    fixture_open(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_9");
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_9");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "9", JOB_BEGIN), 1);
    assert_int_equal(fixture_count(&f, "9", JOB_END), 1);
    assert_string_equal(fixture_find(&f, "9", JOB_END)->user, "anna");
    fixture_end(&f);
}

/* The batch system creates the cgroup first and sets its limits later. */
static void later_limits_are_a_change(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_open(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    fixture_mkdir(&f, V1 "cpuset/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_int_equal(fixture_find(&f, "7", JOB_BEGIN)->memory_bytes, 0);
    fixture_write(&f, V1 "memory/slurm/uid_1000/job_7/memory.limit_in_bytes", "1073741824\n");
    fixture_write(&f, V1 "cpuset/slurm/uid_1000/job_7/cpuset.cpus", "0-2,5\n");
    const struct fixture_event *change = wait_for(&f, "7", JOB_CHANGE, 1);
    assert_int_equal(change->memory_bytes, 1 << 30);
    assert_int_equal(change->cores_milli, 4000);
    fixture_end(&f);
}

static void steps_are_changes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v2(&f);
    fixture_open(&f);
    fixture_mkdir(&f, SCOPE "/job_7");
    jobs_read(f.jobs);
    assert_true(fixture_find(&f, "7", JOB_BEGIN)->unified);
    assert_int_equal(fixture_count(&f, "7", JOB_CHANGE), 0);
    fixture_mkdir(&f, SCOPE "/job_7/step_0");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_CHANGE), 1);
    fixture_remove(&f, SCOPE "/job_7/step_0");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_CHANGE), 2);
    fixture_end(&f);
}

#define ENVIRONMENT(text) text, sizeof(text) - 1

static void a_sluid_gets_its_number_from_slurmstepd(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v2(&f);
    fixture_open(&f);
    fixture_mkdir(&f, SCOPE "/sEKNKTV3WPV500/step_0/slurm");
    jobs_read(f.jobs);
    assert_int_equal(jobs_count(f.jobs), 0); /* it waits for the id that users know */
    fixture_process(&f, 100, 0, "slurmstepd: [3385.0]", ENVIRONMENT("SLURM_JOB_ID=1\0"));
    fixture_write(&f, SCOPE "/sEKNKTV3WPV500/step_0/slurm/cgroup.procs", "100\n");
    const struct fixture_event *begin = wait_for(&f, "3385", JOB_BEGIN, 1);
    assert_string_equal(begin->other_id, "sEKNKTV3WPV500");
    assert_ptr_equal(jobs_find(f.jobs, "3385"), jobs_find(f.jobs, "sEKNKTV3WPV500"));
    fixture_end(&f);
}

static void a_sluid_gets_its_number_from_the_environment(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v2(&f);
    fixture_mkdir(&f, SCOPE "/sEKNKTV3WPV500/step_0/user/task_0");
    fixture_process(&f, 100, 1000, "sleep", ENVIRONMENT("PATH=/\0SLURM_JOB_ID=3386\0SLURM_JOB_USER=anna\0"
                                                        "SLURM_CPUS_ON_NODE=4\0"));
    fixture_write(&f, SCOPE "/sEKNKTV3WPV500/step_0/user/task_0/cgroup.procs", "100\n");
    fixture_open(&f);
    const struct fixture_event *begin = fixture_find(&f, "3386", JOB_BEGIN);
    assert_non_null(begin);
    assert_string_equal(begin->other_id, "sEKNKTV3WPV500");
    assert_string_equal(begin->user, "anna");
    assert_int_equal(begin->uid, 1000);
    assert_int_equal(begin->cores_milli, 4000);
    fixture_end(&f);
}

/* Its number is unknown: then the secondary id is used. */
static void a_sluid_without_a_number_begins_anyway(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v2(&f);
    fixture_open(&f);
    fixture_mkdir(&f, SCOPE "/sEKNKTV3WPV500");
    jobs_read(f.jobs);
    fixture_mkdir(&f, SCOPE "/sEKNKTV3WPV501");
    jobs_read(f.jobs);
    fixture_remove(&f, SCOPE "/sEKNKTV3WPV501"); /* ended before it was known */
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "sEKNKTV3WPV501", JOB_BEGIN), 1);
    assert_int_equal(fixture_count(&f, "sEKNKTV3WPV501", JOB_END), 1);
    wait_for(&f, "sEKNKTV3WPV500", JOB_BEGIN, 1);
    fixture_end(&f);
}

/* Two slurmd on this machine, and a job on both. */
static void several_nodes_on_one_machine(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_open(&f);
    fixture_mkdir(&f, V1 "memory/slurm_c1/uid_1000/job_7");
    jobs_read(f.jobs);
    fixture_mkdir(&f, V1 "memory/slurm_c2/uid_1000/job_7");
    fixture_mkdir(&f, V1 "memory/slurm_c2/uid_1000/job_8");
    jobs_read(f.jobs);
    assert_int_equal(jobs_count(f.jobs), 3);
    assert_string_equal(jobs_find(f.jobs, "7")->cgroup, "/slurm_c1/uid_1000/job_7");
    assert_string_equal(jobs_find(f.jobs, "7@c2")->cgroup, "/slurm_c2/uid_1000/job_7");
    fixture_remove(&f, V1 "memory/slurm_c1/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_END), 1);
    assert_int_equal(fixture_count(&f, "7@c2", JOB_END), 0);
    fixture_end(&f);
}

static void one_of_several_nodes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/slurm_c1/uid_1000/job_7");
    fixture_mkdir(&f, V1 "memory/slurm_c2/uid_1000/job_7");
    setenv("SONDE_NODE", "c2", 1);
    fixture_open(&f);
    unsetenv("SONDE_NODE");
    assert_int_equal(jobs_count(f.jobs), 1);
    assert_string_equal(jobs_find(f.jobs, "7")->cgroup, "/slurm_c2/uid_1000/job_7");
    fixture_remove(&f, V1 "memory/slurm_c1/uid_1000/job_7");
    fixture_mkdir(&f, V1 "memory/slurm_c1/uid_1000/job_8");
    jobs_read(f.jobs);
    assert_int_equal(jobs_count(f.jobs), 1);
    fixture_end(&f);
}

static void only_selected_batch_systems_are_monitored(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t oar;
    char unknown[JOB_SOURCE_NAME_MAX];
    assert_int_equal(job_sources_parse("oar", &oar, unknown), OK);
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/oar/anna_5");
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_8");
    f.sources = oar;
    fixture_open(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    fixture_mkdir(&f, V1 "memory/oar/anna_6");
    jobs_read(f.jobs);
    assert_null(jobs_find(f.jobs, "7"));
    assert_non_null(jobs_find(f.jobs, "6"));
    assert_int_equal(jobs_count(f.jobs), 2);
    fixture_remove(&f, V1 "memory/oar/anna_6");
    jobs_read(f.jobs);
    assert_null(jobs_find(f.jobs, "6"));
    fixture_end(&f);
}

/* An OAR job on a node that waits for its tasks: a cgroup is a job from mkdir to rmdir. */
static void an_old_empty_cgroup_is_a_job(void **state)
{
    (void)state;
    struct fixture f;
    struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
    char path[1024];
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    fixture_path(&f, V1 "memory/slurm/uid_1000/job_7", path);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    fixture_open(&f);
    assert_int_equal(fixture_count(&f, "7", JOB_BEGIN), 1);
    assert_int_equal(fixture_find(&f, "7", JOB_BEGIN)->start_ns, 1000000000 * NS_PER_S);
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_END), 1);
    fixture_end(&f);
}

static void an_older_job_keeps_its_start_time(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_write(&f, "/proc/stat", "cpu 1 2 3\nbtime 1000000000\n");
    fixture_process(&f, 100, 1000, "sleep", ENVIRONMENT("A=b\0"));
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7/step_0");
    fixture_write(&f, V1 "memory/slurm/uid_1000/job_7/step_0/cgroup.procs", "100\n");
    fixture_open(&f);
    const struct fixture_event *begin = fixture_find(&f, "7", JOB_BEGIN);
    assert_non_null(begin);
    assert_true(begin->start_ns > 1000000000 * NS_PER_S && begin->start_ns < 1000001000 * NS_PER_S);
    fixture_end(&f);
}

/* More jobs than inotify can queue: lost events are recovered. */
static void an_overflowing_queue_loses_no_job(void **state)
{
    (void)state;
    struct fixture f;
    char path[256];
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000");
    fixture_open(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_999999");
    jobs_read(f.jobs);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/other");
    for (int i = 0; i < 9000; i++) { /* the queue holds 16384 events; two per job */
        snprintf(path, sizeof path, V1 "memory/slurm/uid_1000/other_%d", i);
        fixture_mkdir(&f, path);
    }
    for (int i = 0; i < 9000; i++) {
        char full_path[1024];
        snprintf(path, sizeof path, V1 "memory/slurm/uid_1000/other_%d", i);
        fixture_path(&f, path, full_path);
        assert_int_equal(rmdir(full_path), 0);
    }
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_999999");
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_1");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "999999", JOB_END), 1);
    assert_int_equal(fixture_count(&f, "1", JOB_BEGIN), 1);
    assert_int_equal(jobs_count(f.jobs), 1);
    fixture_end(&f);
}

static size_t open_files(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void many_jobs_need_no_descriptors(void **state)
{
    (void)state;
    struct fixture f;
    char path[256];
    fixture_begin_v1(&f);
    size_t before = open_files();
    fixture_open(&f);
    for (int i = 0; i < 5000; i++) {
        snprintf(path, sizeof path, V1 "memory/slurm/uid_%d/job_%d", 1000 + i % 10, i);
        fixture_mkdir(&f, path);
    }
    jobs_read(f.jobs);
    assert_int_equal(jobs_count(f.jobs), 5000);
    assert_true(open_files() <= before + 3);
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof path, V1 "memory/slurm/uid_%d", 1000 + i);
        fixture_remove(&f, path);
    }
    jobs_read(f.jobs);
    assert_int_equal(jobs_count(f.jobs), 0);
    fixture_end(&f);
}

/* No descriptor is left for inotify: the tree is scanned once a second. */
static void without_inotify_jobs_are_still_found(void **state)
{
    (void)state;
    struct fixture f;
    struct rlimit before, none;
    fixture_begin_v1(&f);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    int first_free = dup(0);
    close(first_free);
    none.rlim_cur = (rlim_t)first_free + 1; /* enough to read the hierarchies */
    setrlimit(RLIMIT_NOFILE, &none);
    struct jobs_listener listener = { fixture_take, &f };
    enum err err = jobs_open(&f.jobs, f.root, JOB_SOURCES_ALL, &listener);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(err, OK);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    wait_for(&f, "7", JOB_BEGIN, 1);
    size_t changes = fixture_count(&f, "7", JOB_CHANGE);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7/step_0");
    wait_for(&f, "7", JOB_CHANGE, changes + 1); /* logged once, not in every round */
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_8");
    wait_for(&f, "8", JOB_BEGIN, 1);
    assert_int_equal(fixture_count(&f, "7", JOB_CHANGE), changes + 1);
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_7");
    wait_for(&f, "7", JOB_END, 1);
    fixture_end(&f);
}

static void slots_are_reused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_open(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_1");
    jobs_read(f.jobs);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_2");
    jobs_read(f.jobs);
    assert_int_equal(fixture_find(&f, "1", JOB_BEGIN)->slot, 0);
    assert_int_equal(fixture_find(&f, "2", JOB_BEGIN)->slot, 1);
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_1");
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_3");
    jobs_read(f.jobs);
    assert_int_equal(fixture_find(&f, "3", JOB_BEGIN)->slot, 0);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_comes_and_goes),
        cmocka_unit_test(parent_cgroups_may_appear_later),
        cmocka_unit_test(existing_jobs_are_reported_at_once),
        cmocka_unit_test(it_ends_with_its_last_cgroup),
        cmocka_unit_test(a_job_that_ends_before_we_read_is_reported),
        cmocka_unit_test(later_limits_are_a_change),
        cmocka_unit_test(steps_are_changes),
        cmocka_unit_test(a_sluid_gets_its_number_from_slurmstepd),
        cmocka_unit_test(a_sluid_gets_its_number_from_the_environment),
        cmocka_unit_test(a_sluid_without_a_number_begins_anyway),
        cmocka_unit_test(several_nodes_on_one_machine),
        cmocka_unit_test(one_of_several_nodes),
        cmocka_unit_test(only_selected_batch_systems_are_monitored),
        cmocka_unit_test(an_old_empty_cgroup_is_a_job),
        cmocka_unit_test(an_older_job_keeps_its_start_time),
        cmocka_unit_test(an_overflowing_queue_loses_no_job),
        cmocka_unit_test(many_jobs_need_no_descriptors),
        cmocka_unit_test(without_inotify_jobs_are_still_found),
        cmocka_unit_test(slots_are_reused),
    };
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1); /* creates thousands of directories */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
