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
    caller_assert_non_null(s->state);
    caller_assert_int_equal(setting_defaults(sampler->settings, s->state), OK);
}
#define sensing_init(...) (unit_called(__FILE__, __LINE__), (sensing_init)(__VA_ARGS__))

static inline void sensing_set(struct sensing *s, const char *key, const char *value)
{
    caller_assert_int_equal(setting_apply(s->sampler->settings, s->state, key, value), OK);
}
#define sensing_set(...) (unit_called(__FILE__, __LINE__), (sensing_set)(__VA_ARGS__))

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
        caller_fail_msg("no sample of \"%s\"", instance);
    for (size_t i = 0; sample && i < sample->set->size; i++)
        if (!strcmp(sample->set->metrics[i].name, metric))
            return sample->known[i] ? &sample->values[i] : NULL;
    caller_fail_msg("no metric %s", metric);
    return NULL;
}
#define sensing_find(...) (unit_called(__FILE__, __LINE__), (sensing_find)(__VA_ARGS__))

static inline uint64_t sensing_u64(const struct sensing *s, const char *instance, const char *metric)
{
    const union value *value = sensing_find(s, instance, NULL, metric);
    caller_assert_non_null(value);
    return value->u64;
}
#define sensing_u64(...) (unit_called(__FILE__, __LINE__), (sensing_u64)(__VA_ARGS__))

static inline double sensing_f64(const struct sensing *s, const char *instance, const char *metric)
{
    const union value *value = sensing_find(s, instance, NULL, metric);
    caller_assert_non_null(value);
    return value->f64;
}
#define sensing_f64(...) (unit_called(__FILE__, __LINE__), (sensing_f64)(__VA_ARGS__))

#define assert_near(got, wanted, by) assert_true((got) >= (wanted) - (by) && (got) <= (wanted) + (by))

/* Copies a tree, so that the test can change it. */
static inline void sensing_copy(char root[TEMP_PATH_MAX], const char *node)
{
    char command[8192];
    temp_dir(root);
    snprintf(command, sizeof command, "cp -r '%s/.' '%s'", node, root);
    caller_assert_int_equal(system(command), 0);
}
#define sensing_copy(...) (unit_called(__FILE__, __LINE__), (sensing_copy)(__VA_ARGS__))

static inline void sensing_put(const char *root, const char *name, const char *text)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, root, name);
    temp_write(path, text, strlen(text));
}

#endif
