/* The last sample of a removed cgroup: what was read after its tasks had exited, and nothing older. */
#include "samplers/jobs/job_cgroup.h"

#include "base/clock.h"
#include "samplers/all.h"
#include "tools/job_sampling.h"
#include "tools/jobs_fixture.h"

#define JOB "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_7"

/* Unlike files of a cgroup, a removed file can still be read while it is open: so it is not kept open. */
static void begin(struct job_sampling *s, const struct fixture *f)
{
    job_sampling_begin_with(s, &sampler_cgroup, f->root, "keep_open", "no");
}

static void write_group(const struct fixture *f, const char *below, uint64_t usage_us)
{
    char path[512], text[64];
    snprintf(path, sizeof path, JOB "%s/cpu.stat", below);
    snprintf(text, sizeof text, "usage_usec %llu\n", (unsigned long long)usage_us);
    fixture_write(f, path, text);
}

static void write_tasks(const struct fixture *f, const char *below, bool are_there)
{
    char path[512];
    snprintf(path, sizeof path, JOB "%s/cgroup.events", below);
    fixture_write(f, path, are_there ? "populated 1\nfrozen 0\n" : "populated 0\nfrozen 0\n");
}

/* The cgroup is removed before it could be read one last time: its final usage is unknown. */
static void a_vanished_cgroup_has_no_last_values(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    fixture_begin_v2(&f);
    write_group(&f, "", 100);
    write_tasks(&f, "", true);
    begin(&s, &f);
    assert_int_equal(job_sampling_u64(&s, "7", "", "cpu"), 100); /* a first sample at once */
    write_group(&f, "", 200);
    assert_int_equal(job_sampling_read(&s), OK);
    assert_int_equal(job_sampling_u64(&s, "7", "", "cpu"), 200);
    fixture_remove(&f, JOB);
    assert_int_equal(job_sampling_read(&s), OK); /* no error: nothing to read, nothing repeated */
    assert_int_equal(s.batch.count, 0);
    jobs_read(s.jobs);
    assert_null(job_sampling_sample(&s, "7", ""));
    job_sampling_end(&s);
    temp_remove(f.root);
}

/* What was read between two ticks and not reported is reported at the end, with the time of the reading. */
static void an_unreported_reading_is_reported_with_its_time(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    fixture_begin_v2(&f);
    write_group(&f, "", 100);
    write_tasks(&f, "", true);
    begin(&s, &f);
    batch_reset(&s.batch);
    write_group(&f, "", 150);
    fixture_mkdir(&f, JOB "/step_0"); /* an event */
    jobs_read(s.jobs);
    uint64_t after_ns = clock_realtime_ns();
    assert_int_equal(s.batch.count, 0);
    fixture_remove(&f, JOB);
    jobs_read(s.jobs);
    assert_int_equal(job_sampling_u64(&s, "7", "", "cpu"), 150);
    assert_true(job_sampling_sample(&s, "7", "")->time_ns <= after_ns);
    job_sampling_end(&s);
    temp_remove(f.root);
}

/* It was read once more after its tasks had exited: these values are final. */
static void an_empty_cgroup_leaves_its_last_values(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    fixture_begin_v2(&f);
    write_group(&f, "", 0);
    write_tasks(&f, "", false); /* it had no tasks yet: not final */
    begin(&s, &f);
    write_group(&f, "", 100);
    write_group(&f, "/step_0", 90);
    write_tasks(&f, "", true);
    job_sampling_read(&s);
    write_group(&f, "", 200);
    write_tasks(&f, "", false); /* like the kernel: an event */
    jobs_read(s.jobs);
    batch_reset(&s.batch);
    fixture_remove(&f, JOB);
    uint64_t before_ns = clock_realtime_ns();
    jobs_read(s.jobs);
    assert_int_equal(job_sampling_u64(&s, "7", "", "cpu"), 200);
    assert_true(job_sampling_sample(&s, "7", "")->time_ns >= before_ns);
    assert_int_equal(job_sampling_u64(&s, "7", "0", "cpu"), 90);
    assert_int_equal(job_sampling_read(&s), OK);
    assert_int_equal(s.batch.count, 0);
    job_sampling_end(&s);
    temp_remove(f.root);
}

static void a_cgroup_that_was_never_used_is_not_final(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    fixture_begin_v2(&f);
    write_group(&f, "", 0);
    write_tasks(&f, "", false);
    begin(&s, &f);
    batch_reset(&s.batch);
    fixture_remove(&f, JOB);
    jobs_read(s.jobs);
    assert_null(job_sampling_sample(&s, "7", "")); /* its usage in between is unknown, not 0 */
    job_sampling_end(&s);
    temp_remove(f.root);
}

/* The exit records of its tasks outlive the cgroup. */
static void taskstats_cpu_time_replaces_a_removed_cgroup(void **state)
{
    (void)state;
    static const struct metric metrics[] = { { "cpu", "ns", COUNTER, U64, "", NULL } };
    static const struct set tasks = { .name = "taskstats", .metrics = metrics, .size = 1 };
    struct job_sampling s;
    struct fixture f;
    fixture_begin_v2(&f);
    write_group(&f, "", 100);
    write_tasks(&f, "", true);
    begin(&s, &f);
    batch_reset(&s.batch);
    struct sample *sample = batch_add(&s.batch, &tasks, 1, "");
    sample->job = "7";
    sample_set_u64(sample, 0, 4000000);
    fixture_remove(&f, JOB);
    jobs_read(s.jobs);
    assert_int_equal(s.batch.count, 2);
    assert_int_equal(job_sampling_u64(&s, "7", "", "cpu"), 4000);
    assert_null(job_sampling_find(&s, "7", "", "memory"));
    job_sampling_end(&s);
    temp_remove(f.root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vanished_cgroup_has_no_last_values),
        cmocka_unit_test(an_unreported_reading_is_reported_with_its_time),
        cmocka_unit_test(an_empty_cgroup_leaves_its_last_values),
        cmocka_unit_test(a_cgroup_that_was_never_used_is_not_final),
        cmocka_unit_test(taskstats_cpu_time_replaces_a_removed_cgroup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
