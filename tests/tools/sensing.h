/* Calls the functions of one sampler directly in a test: settings, errors, jobs; finds values by instance and name. */
#ifndef SONDE_TESTS_TOOLS_SENSING_H
#define SONDE_TESTS_TOOLS_SENSING_H

#include "samplers/sampler.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct sensing {
    const struct sampler *sampler;
    struct sampler_context context;
    char root[4096];
    void *state;
    struct batch batch;
};

static inline void sensing_init(struct sensing *s, const struct sampler *sampler, const char *root)
{
    *s = (struct sensing){ .sampler = sampler };
    snprintf(s->root, sizeof s->root, "%s", root);
    s->context.root = s->root;
    s->state = calloc(1, sampler->state_size);
    batch_init(&s->batch);
    assert_non_null(s->state);
    assert_int_equal(setting_defaults(sampler->settings, s->state), OK);
}

static inline void sensing_set(struct sensing *s, const char *key, const char *value)
{
    assert_int_equal(setting_apply(s->sampler->settings, s->state, key, value), OK);
}

/* Returns the result of open; on an error everything is freed. */
static inline enum err sensing_open(struct sensing *s)
{
    enum err err = s->sampler->open(s->state, &s->context);
    if (err)
        free(s->state);
    return err;
}

static inline enum err sensing_begin(struct sensing *s, const struct sampler *sampler, const char *root)
{
    sensing_init(s, sampler, root);
    return sensing_open(s);
}

static inline void sensing_end(struct sensing *s)
{
    if (s->sampler->close)
        s->sampler->close(s->state);
    free(s->state);
    batch_clear(&s->batch);
}

static inline enum err sensing_read(struct sensing *s)
{
    batch_reset(&s->batch);
    return s->sampler->read(s->state, &s->batch);
}

static inline enum err sensing_job(struct sensing *s, const struct job *job, enum job_event event)
{
    batch_reset(&s->batch);
    return s->sampler->job(s->state, job, event, event == JOB_CHANGE ? NULL : &s->batch);
}

static inline bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* NULL: no such sample. job NULL: of the node. */
static inline const struct sample *sensing_sample(const struct sensing *s, const char *instance, const char *job)
{
    for (size_t i = 0; i < s->batch.count; i++)
        if (!strcmp(s->batch.samples[i].instance, instance) && same_text(s->batch.samples[i].job, job))
            return &s->batch.samples[i];
    return NULL;
}

/* NULL: the value is unknown. The sample and the metric must exist. */
static inline const union value *sensing_find(const struct sensing *s, const char *instance, const char *job,
                                              const char *metric)
{
    const struct sample *sample = sensing_sample(s, instance, job);
    if (!sample)
        fail_msg("no sample of \"%s\"", instance);
    for (size_t i = 0; sample && i < sample->set->size; i++)
        if (!strcmp(sample->set->metrics[i].name, metric))
            return sample->known[i] ? &sample->values[i] : NULL;
    fail_msg("no metric %s", metric);
    return NULL;
}

static inline uint64_t sensing_u64(const struct sensing *s, const char *instance, const char *metric)
{
    const union value *value = sensing_find(s, instance, NULL, metric);
    assert_non_null(value);
    return value->u64;
}

static inline double sensing_f64(const struct sensing *s, const char *instance, const char *metric)
{
    const union value *value = sensing_find(s, instance, NULL, metric);
    assert_non_null(value);
    return value->f64;
}

#define assert_near(got, wanted, by) assert_true((got) >= (wanted) - (by) && (got) <= (wanted) + (by))

/* Copies a tree, so that the test can change it. */
static inline void sensing_copy(char root[TEMP_PATH_MAX], const char *node)
{
    char command[8192];
    temp_dir(root);
    snprintf(command, sizeof command, "cp -r '%s/.' '%s'", node, root);
    assert_int_equal(system(command), 0);
}

static inline void sensing_put(const char *root, const char *name, const char *text)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, root, name);
    temp_write(path, text, strlen(text));
}

#endif
