/* The jobs on the node as samples. */
#include "samplers/all.h"

#include "tools/job_sampling.h"
#include "tools/jobs_fixture.h"

static uint64_t node_u64(const struct job_sampling *s, const char *metric)
{
    for (size_t i = 0; i < s->batch.count; i++)
        for (size_t m = 0; !s->batch.samples[i].job && m < s->batch.samples[i].set->size; m++)
            if (!strcmp(s->batch.samples[i].set->metrics[m].name, metric))
                return s->batch.samples[i].values[m].u64;
    fail_msg("no %s of the node", metric);
    return 0;
}

/* Only samples of jobs: those of the node have no job. */
static const struct sample *sample_of(const struct job_sampling *s, const char *job)
{
    for (size_t i = 0; i < s->batch.count; i++)
        if (s->batch.samples[i].job && !strcmp(s->batch.samples[i].job, job))
            return &s->batch.samples[i];
    return NULL;
}

static void jobs_are_counted_and_named(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_write(&f, "/sys/fs/cgroup/cpuset/slurm/uid_1000/job_7/cpuset.cpus", "0-2\n");
    fixture_write(&f, "/sys/fs/cgroup/memory/slurm/uid_1000/job_7/memory.limit_in_bytes", "4096\n");
    fixture_mkdir(&f, "/sys/fs/cgroup/memory/slurm/uid_1000/job_8");
    job_sampling_begin(&s, &sampler_jobs, f.root);
    assert_non_null(sample_of(&s, "7")); /* a first one at once */
    job_sampling_read(&s);
    assert_int_equal(node_u64(&s, "running"), 2);
    assert_int_equal(node_u64(&s, "memory_limit"), 4096);
    const struct sample *sample = sample_of(&s, "7");
    assert_non_null(sample);
    assert_true(sample->known[1] && sample->values[1].f64 > 2.99 && sample->values[1].f64 < 3.01);
    assert_int_equal(sample->values[3].u64, 1);
    assert_false(sample_of(&s, "8")->known[1]); /* its cores are unknown */
    batch_reset(&s.batch);
    fixture_remove(&f, "/sys/fs/cgroup/memory/slurm/uid_1000/job_8");
    jobs_read(s.jobs);
    assert_int_equal(sample_of(&s, "8")->values[3].u64, 0);
    job_sampling_read(&s);
    assert_int_equal(node_u64(&s, "running"), 1);
    assert_int_equal(node_u64(&s, "begun"), 2);
    assert_int_equal(node_u64(&s, "ended"), 1);
    assert_null(sample_of(&s, "8"));
    job_sampling_end(&s);
    temp_remove(f.root);
}

static void a_node_without_jobs_reports_none(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    fixture_begin_v2(&f);
    job_sampling_begin(&s, &sampler_jobs, f.root);
    job_sampling_read(&s);
    assert_int_equal(s.batch.count, 1);
    assert_int_equal(node_u64(&s, "running"), 0);
    job_sampling_end(&s);
    temp_remove(f.root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_counted_and_named),
        cmocka_unit_test(a_node_without_jobs_reports_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
