/* Runs one job sampler on a root whose jobs are discovered as in the agent. */
#ifndef SONDE_TESTS_TOOLS_JOB_SAMPLING_H
#define SONDE_TESTS_TOOLS_JOB_SAMPLING_H

#include "jobs/jobs.h"
#include "jobs/job_source.h"
#include "samplers/sampler.h"
#include "tools/unit.h"

#include <poll.h>

struct job_sampling {
    const struct sampler *sampler;
    struct sampler_context context;
    void *state;
    struct jobs *jobs;
    struct batch batch; /* samples of the last reading, and of job events since */
    char ended[256];    /* a copy of the id of the job that ended last */
};

static inline void job_sampling_event(void *context, const struct job *job, enum job_event event)
{
    struct job_sampling *s = context;
    size_t from = s->batch.count;
    s->sampler->job(s->state, job, event, event == JOB_CHANGE ? NULL : &s->batch);
    if (event != JOB_END)
        return;
    snprintf(s->ended, sizeof s->ended, "%s", job->id);
    for (size_t i = from; i < s->batch.count; i++)
        s->batch.samples[i].job = s->ended;
}

/* key: a setting that differs from its default; NULL: none. */
static inline void job_sampling_begin_with(struct job_sampling *s, const struct sampler *sampler, const char *root,
                                           const char *key, const char *value)
{
    *s = (struct job_sampling){ .sampler = sampler, .context = { .root = root } };
    batch_init(&s->batch);
    s->state = calloc(1, sampler->state_size);
    caller_assert_int_equal(setting_defaults(sampler->settings, s->state), OK);
    caller_assert_int_equal(key ? setting_apply(sampler->settings, s->state, key, value) : OK, OK);
    caller_assert_int_equal(sampler->open(s->state, &s->context), OK);
    struct jobs_listener listener = { job_sampling_event, s };
    caller_assert_int_equal(jobs_open(&s->jobs, root, JOB_SOURCES_ALL, &listener), OK);
}
#define job_sampling_begin_with(...) (unit_called(__FILE__, __LINE__), (job_sampling_begin_with)(__VA_ARGS__))

static inline void job_sampling_begin(struct job_sampling *s, const struct sampler *sampler, const char *root)
{
    job_sampling_begin_with(s, sampler, root, NULL, NULL);
}

static inline void job_sampling_end(struct job_sampling *s)
{
    jobs_close(&s->jobs);
    s->sampler->close(s->state);
    free(s->state);
    batch_clear(&s->batch);
}

/* Repeats the reading until a sampler that paces itself is due. */
static inline enum err job_sampling_read(struct job_sampling *s)
{
    enum err err = AGAIN;
    for (int i = 0; i < 1000 && err == AGAIN; i++) {
        batch_reset(&s->batch);
        err = s->sampler->read(s->state, &s->batch);
        if (err == AGAIN)
            poll(NULL, 0, 2);
    }
    return err;
}

/* The newest sample of an instance of a job; NULL: there is none. */
static inline const struct sample *job_sampling_sample(const struct job_sampling *s, const char *job, const char *instance)
{
    for (size_t i = s->batch.count; i-- > 0;)
        if (!strcmp(s->batch.samples[i].job, job) && !strcmp(s->batch.samples[i].instance, instance))
            return &s->batch.samples[i];
    return NULL;
}

/* NULL: unknown. */
static inline const union value *job_sampling_find(const struct job_sampling *s, const char *job, const char *instance,
                                                   const char *metric)
{
    const struct sample *sample = job_sampling_sample(s, job, instance);
    if (!sample)
        caller_fail_msg("no sample of %s '%s'", job, instance);
    for (size_t i = 0; i < sample->set->size; i++)
        if (!strcmp(sample->set->metrics[i].name, metric))
            return sample->known[i] ? &sample->values[i] : NULL;
    caller_fail_msg("no metric %s", metric);
    return NULL;
}
#define job_sampling_find(...) (unit_called(__FILE__, __LINE__), (job_sampling_find)(__VA_ARGS__))

static inline uint64_t job_sampling_u64(const struct job_sampling *s, const char *job, const char *instance,
                                        const char *metric)
{
    const union value *value = job_sampling_find(s, job, instance, metric);
    if (!value)
        caller_fail_msg("%s of %s '%s' is not known", metric, job, instance);
    return value->u64;
}
#define job_sampling_u64(...) (unit_called(__FILE__, __LINE__), (job_sampling_u64)(__VA_ARGS__))

#endif
