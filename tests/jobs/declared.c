/* Declared jobs: they begin, are completed, are merged with their cgroup, and end. */
#include "base/clock.h"
#include "tools/jobs_fixture.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define V1 "/sys/fs/cgroup/"
#define SCOPE "/sys/fs/cgroup/system.slice/slurmstepd.scope"

static struct job declared(const char *id)
{
    return (struct job){ .id = id, .other_id = "", .source = "told", .user = "", .cgroup = "", .uid = UINT32_MAX };
}

/* Checks once a second until the job has ended or the time is up. */
static bool ends_within(struct fixture *fixture, const char *id, double seconds)
{
    uint64_t until_ns = clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
    while (!fixture_count(fixture, id, JOB_END) && clock_monotonic_ns() < until_ns) {
        poll(NULL, 0, 50);
        jobs_read(fixture->jobs);
    }
    return fixture_count(fixture, id, JOB_END) == 1;
}

static void a_declared_job_begins_and_ends(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = declared("a-job");
    fixture_begin_v1(&f);
    fixture_open(&f);
    job.uid = 1000;
    job.cores_milli = 4000;
    assert_int_equal(jobs_begin(f.jobs, &job), OK);
    const struct fixture_event *begin = fixture_find(&f, "a-job", JOB_BEGIN);
    assert_non_null(begin);
    assert_string_equal(begin->user, "anna");
    assert_string_equal(begin->source, "told");
    assert_int_equal(begin->cores_milli, 4000);
    assert_int_equal(jobs_begin(f.jobs, &job), AGAIN);
    assert_int_equal(fixture_count(&f, "a-job", JOB_BEGIN), 1);
    assert_int_equal(jobs_end(f.jobs, "a-job", begin->start_ns + 5), OK);
    assert_int_equal(fixture_find(&f, "a-job", JOB_END)->end_ns, begin->start_ns + 5);
    assert_int_equal(jobs_end(f.jobs, "a-job", 0), ABSENT);
    assert_int_equal(jobs_count(f.jobs), 0);
    fixture_end(&f);
}

static void invalid_jobs_are_rejected(void **state)
{
    (void)state;
    struct fixture f;
    char long_text[300];
    fixture_begin_v1(&f);
    fixture_open(&f);
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    struct job jobs[5] = { declared(""), declared("a\nb"), declared(long_text), declared("ok"), declared("ok") };
    jobs[3].cgroup = "not/absolute";
    jobs[4].cgroup = "/a/../../etc";
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(jobs_begin(f.jobs, &jobs[i]), USAGE);
    assert_int_equal(f.count, 0);
    fixture_end(&f);
}

/* A prolog runs before the batch system creates the cgroup. */
static void a_declared_job_is_merged_with_its_cgroup(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = declared("7");
    fixture_begin_v1(&f);
    fixture_open(&f);
    job.cores_milli = 2000;
    assert_int_equal(jobs_begin(f.jobs, &job), OK);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_int_equal(jobs_count(f.jobs), 1);
    assert_string_equal(jobs_find(f.jobs, "7")->cgroup, "/slurm/uid_1000/job_7");
    assert_string_equal(jobs_find(f.jobs, "7")->source, "slurm");
    assert_string_equal(jobs_find(f.jobs, "7")->user, "anna");
    assert_int_equal(jobs_find(f.jobs, "7")->cores_milli, 2000);
    assert_int_equal(fixture_count(&f, "7", JOB_BEGIN), 1);
    assert_true(fixture_count(&f, "7", JOB_CHANGE) >= 1);
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_7"); /* a step has ended, another will follow */
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_END), 0);
    size_t changes = fixture_count(&f, "7", JOB_CHANGE);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_BEGIN), 1);
    assert_true(fixture_count(&f, "7", JOB_CHANGE) > changes); /* samplers look for its new cgroup */
    assert_int_equal(jobs_end(f.jobs, "7", 0), OK);
    jobs_read(f.jobs);
    assert_int_equal(jobs_count(f.jobs), 0); /* also while the cgroup still exists */
    assert_int_equal(fixture_count(&f, "7", JOB_END), 1);
    fixture_end(&f);
}

/* Also if the cgroup has no new facts. */
static void a_new_cgroup_is_a_change(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = declared("7");
    fixture_begin_v1(&f);
    fixture_open(&f);
    job.uid = 1000;
    job.cores_milli = 1000;
    job.memory_bytes = 1;
    assert_int_equal(jobs_begin(f.jobs, &job), OK);
    assert_int_equal(fixture_count(&f, "7", JOB_CHANGE), 0);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_non_null(fixture_find(&f, "7", JOB_CHANGE));
    assert_string_equal(fixture_find(&f, "7", JOB_CHANGE)->cgroup, "/slurm/uid_1000/job_7");
    fixture_end(&f);
}

static void a_discovered_job_is_completed(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = declared("7");
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_4242/job_7");
    fixture_open(&f);
    assert_string_equal(jobs_find(f.jobs, "7")->user, "");
    job.user = "zoe";
    job.uid = 5;
    assert_int_equal(jobs_begin(f.jobs, &job), AGAIN);
    assert_string_equal(jobs_find(f.jobs, "7")->user, "zoe");
    assert_int_equal(jobs_find(f.jobs, "7")->uid, 4242); /* known facts do not change */
    assert_string_equal(fixture_find(&f, "7", JOB_CHANGE)->user, "zoe");
    fixture_end(&f);
}

/* The prolog knows the number, the cgroup the SLUID; a process has both. */
static void a_declared_id_is_merged_with_its_sluid(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = declared("3385");
    fixture_begin_v2(&f);
    fixture_open(&f);
    assert_int_equal(jobs_begin(f.jobs, &job), OK);
    fixture_process(&f, 100, 0, "slurmstepd: [3385.0]", "", 0);
    fixture_mkdir(&f, SCOPE "/sEKNKTV3WPV500/step_0/slurm");
    fixture_write(&f, SCOPE "/sEKNKTV3WPV500/step_0/slurm/cgroup.procs", "100\n");
    jobs_read(f.jobs);
    assert_int_equal(jobs_count(f.jobs), 1);
    assert_string_equal(jobs_find(f.jobs, "3385")->other_id, "sEKNKTV3WPV500");
    assert_string_equal(jobs_find(f.jobs, "sEKNKTV3WPV500")->cgroup, "/system.slice/slurmstepd.scope/sEKNKTV3WPV500");
    fixture_remove(&f, SCOPE "/sEKNKTV3WPV500");
    jobs_read(f.jobs);
    assert_int_equal(jobs_end(f.jobs, "sEKNKTV3WPV500", 0), OK);
    assert_int_equal(fixture_count(&f, "3385", JOB_END), 1);
    fixture_end(&f);
}

/* The cgroup waits for its number, which is declared. */
static void a_waiting_sluid_gets_a_declared_id(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = declared("3385");
    fixture_begin_v2(&f);
    fixture_open(&f);
    fixture_mkdir(&f, SCOPE "/sEKNKTV3WPV500");
    jobs_read(f.jobs);
    assert_int_equal(jobs_count(f.jobs), 0);
    job.other_id = "sEKNKTV3WPV500";
    assert_int_equal(jobs_begin(f.jobs, &job), AGAIN);
    assert_int_equal(jobs_count(f.jobs), 1);
    assert_string_equal(fixture_find(&f, "3385", JOB_BEGIN)->other_id, "sEKNKTV3WPV500");
    fixture_end(&f);
}

static void an_exited_process_ends_its_job(void **state)
{
    (void)state;
    struct fixture f = { .only = "by-pid" };
    struct jobs_listener listener = { fixture_take, &f };
    struct job job = declared("by-pid");
    assert_int_equal(jobs_open(&f.jobs, "", JOB_SOURCES_ALL, &listener), OK);
    job.pid = (uint32_t)fork();
    if (!job.pid) {
        pause();
        _exit(0);
    }
    assert_int_equal(jobs_begin(f.jobs, &job), OK);
    assert_false(ends_within(&f, "by-pid", 1.5));
    kill((pid_t)job.pid, SIGKILL);
    waitpid((pid_t)job.pid, NULL, 0);
    assert_true(ends_within(&f, "by-pid", 60));
    jobs_close(&f.jobs);
}

static void a_process_determines_the_user(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = declared("by-pid"), of_ben = declared("of-ben");
    fixture_begin_v1(&f);
    fixture_open(&f);
    fixture_process(&f, 100, 1000, "sleep", "", 0);
    job.pid = of_ben.pid = 100;
    of_ben.uid = 1001;
    assert_int_equal(jobs_begin(f.jobs, &job), OK);
    assert_int_equal(fixture_find(&f, "by-pid", JOB_BEGIN)->uid, 1000);
    assert_string_equal(fixture_find(&f, "by-pid", JOB_BEGIN)->user, "anna");
    assert_int_equal(jobs_begin(f.jobs, &of_ben), OK);
    assert_string_equal(fixture_find(&f, "of-ben", JOB_BEGIN)->user, "ben_b"); /* the declaration has priority */
    fixture_end(&f);
}

static void a_removed_cgroup_ends_its_declared_job(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = declared("by-cgroup");
    fixture_begin_v1(&f);
    fixture_open(&f);
    fixture_process(&f, 100, 1000, "sleep", "", 0);
    fixture_write(&f, V1 "memory/my/group/cgroup.procs", "100\n");
    fixture_write(&f, V1 "memory/my/group/memory.limit_in_bytes", "4096\n");
    job.cgroup = "/my/group";
    assert_int_equal(jobs_begin(f.jobs, &job), OK);
    assert_string_equal(jobs_find(f.jobs, "by-cgroup")->user, "anna"); /* from its processes */
    assert_int_equal(jobs_find(f.jobs, "by-cgroup")->memory_bytes, 4096);
    assert_false(ends_within(&f, "by-cgroup", 1.5));
    fixture_remove(&f, V1 "memory/my");
    assert_true(ends_within(&f, "by-cgroup", 60));
    fixture_end(&f);
}

/* `sonde run` inside a job: its end is not the job's end, and it adds no facts. */
static void a_run_inside_a_job_does_not_create_another(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = declared("7");
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    fixture_open(&f);
    job.source = "run";
    job.user = "zoe";
    assert_int_equal(jobs_begin(f.jobs, &job), AGAIN);
    assert_string_equal(jobs_find(f.jobs, "7")->user, "anna");
    assert_string_equal(jobs_find(f.jobs, "7")->source, "slurm");
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_END), 1);
    fixture_end(&f);
}

#define SEEN_NS (2000000000 * NS_PER_S)

static struct job slurm_job(void)
{
    struct job job = declared("7");
    job.source = "slurm";
    job.user = "zoe";
    job.start_ns = 1000000000 * NS_PER_S;
    job.cgroup = "/slurm/uid_1000/job_7";
    return job;
}

static void a_discovered_job_continues_after_a_restart(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = slurm_job();
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    fixture_open(&f);
    assert_int_equal(jobs_restore(f.jobs, &job, &(struct jobs_saved){ .seen_ns = SEEN_NS }), OK);
    assert_int_equal(jobs_count(f.jobs), 1);
    assert_int_equal(jobs_find(f.jobs, "7")->start_ns, job.start_ns);
    assert_string_equal(jobs_find(f.jobs, "7")->user, "anna");
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_int_equal(fixture_count(&f, "7", JOB_END), 1);
    fixture_end(&f);
}

static void a_job_that_ended_during_a_restart_gets_its_end(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = slurm_job();
    fixture_begin_v1(&f);
    fixture_open(&f);
    assert_int_equal(jobs_restore(f.jobs, &job, &(struct jobs_saved){ .seen_ns = SEEN_NS }), OK);
    assert_int_equal(jobs_count(f.jobs), 0);
    const struct fixture_event *end = fixture_find(&f, "7", JOB_END);
    assert_non_null(end);
    assert_int_equal(end->end_ns, SEEN_NS);
    assert_int_equal(end->start_ns, job.start_ns);
    assert_string_equal(end->source, "slurm");
    fixture_end(&f);
}

/* Its epilog has reported the end, but the batch system has not removed the cgroup yet. */
static void an_ended_job_stays_ended_after_a_restart(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = slurm_job();
    size_t at = 0;
    bool is_declared;
    fixture_begin_v1(&f);
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    fixture_open(&f);
    job.end_ns = SEEN_NS;
    assert_int_equal(jobs_restore(f.jobs, &job, &(struct jobs_saved){ .is_declared = true, .seen_ns = SEEN_NS + 5 }), OK);
    assert_int_equal(jobs_count(f.jobs), 0);
    assert_int_equal(fixture_find(&f, "7", JOB_END)->end_ns, SEEN_NS);
    const struct job *saved = jobs_next_saved(f.jobs, &at, &is_declared); /* for the next restart */
    assert_non_null(saved);
    assert_int_equal(saved->end_ns, SEEN_NS);
    assert_true(is_declared);
    fixture_end(&f);
    job.id = "8"; /* the cgroup of this one was removed meanwhile */
    fixture_begin_v1(&f);
    fixture_open(&f);
    assert_int_equal(jobs_restore(f.jobs, &job, &(struct jobs_saved){ .is_declared = true, .seen_ns = SEEN_NS }), OK);
    assert_int_equal(f.count, 0);
    fixture_end(&f);
}

/* A registered job between two steps waits for its end, one whose process has exited does not. */
static void registered_jobs_continue_after_a_restart(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = slurm_job(), run = declared("run-1"), group = declared("by-cgroup");
    fixture_begin_v1(&f);
    fixture_open(&f);
    assert_int_equal(jobs_restore(f.jobs, &job, &(struct jobs_saved){ .is_declared = true, .seen_ns = SEEN_NS }), OK);
    assert_non_null(jobs_find(f.jobs, "7"));
    fixture_mkdir(&f, V1 "memory/slurm/uid_1000/job_7");
    fixture_remove(&f, V1 "memory/slurm/uid_1000/job_7");
    jobs_read(f.jobs);
    assert_non_null(jobs_find(f.jobs, "7"));
    assert_int_equal(fixture_count(&f, "7", JOB_BEGIN), 1);
    run.source = "run";
    run.pid = 12345;
    assert_int_equal(jobs_restore(f.jobs, &run, &(struct jobs_saved){ .is_declared = true, .is_gone = true,
                                                                        .seen_ns = SEEN_NS }), OK);
    assert_int_equal(fixture_find(&f, "run-1", JOB_END)->end_ns, SEEN_NS);
    group.cgroup = "/my/group";
    assert_int_equal(jobs_restore(f.jobs, &group, &(struct jobs_saved){ .is_declared = true, .seen_ns = SEEN_NS }), OK);
    assert_int_equal(fixture_count(&f, "by-cgroup", JOB_END), 1);
    assert_int_equal(jobs_count(f.jobs), 1);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_discovered_job_continues_after_a_restart),
        cmocka_unit_test(a_job_that_ended_during_a_restart_gets_its_end),
        cmocka_unit_test(an_ended_job_stays_ended_after_a_restart),
        cmocka_unit_test(registered_jobs_continue_after_a_restart),
        cmocka_unit_test(a_declared_job_begins_and_ends),
        cmocka_unit_test(invalid_jobs_are_rejected),
        cmocka_unit_test(a_declared_job_is_merged_with_its_cgroup),
        cmocka_unit_test(a_new_cgroup_is_a_change),
        cmocka_unit_test(a_discovered_job_is_completed),
        cmocka_unit_test(a_declared_id_is_merged_with_its_sluid),
        cmocka_unit_test(a_waiting_sluid_gets_a_declared_id),
        cmocka_unit_test(an_exited_process_ends_its_job),
        cmocka_unit_test(a_process_determines_the_user),
        cmocka_unit_test(a_removed_cgroup_ends_its_declared_job),
        cmocka_unit_test(a_run_inside_a_job_does_not_create_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
