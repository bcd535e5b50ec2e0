/* Runs one sampler in a test like `sonde run` does, and finds its values by metric name. */
#ifndef SONDE_TESTS_TOOLS_SAMPLING_H
#define SONDE_TESTS_TOOLS_SAMPLING_H

#include "samplers/samplers.h"
#include "tools/unit.h"

struct sampling {
    const struct sampler *list[2];
    struct sampler_context context;
    struct samplers *samplers;
    struct batch batch;
};

static inline void sampling_begin(struct sampling *sampling, const struct sampler *sampler, const char *root, pid_t pid)
{
    *sampling = (struct sampling){ .list = { sampler, NULL }, .context = { .root = root, .pid = pid } };
    batch_init(&sampling->batch);
    caller_assert_int_equal(samplers_open(&sampling->samplers, sampling->list, &sampling->context), OK);
}
#define sampling_begin(...) (unit_called(__FILE__, __LINE__), (sampling_begin)(__VA_ARGS__))

static inline void sampling_end(struct sampling *sampling)
{
    samplers_close(&sampling->samplers);
    batch_clear(&sampling->batch);
}

/* Returns the number of samples. */
static inline size_t sampling_read(struct sampling *sampling)
{
    batch_reset(&sampling->batch);
    samplers_read(sampling->samplers, &sampling->batch);
    return sampling->batch.count;
}

static inline const union value *sampling_find(const struct sampling *sampling, const char *metric)
{
    caller_assert_true(sampling->batch.count > 0);
    const struct sample *sample = &sampling->batch.samples[0];
    for (size_t i = 0; i < sample->set->size; i++)
        if (!strcmp(sample->set->metrics[i].name, metric))
            return sample->known[i] ? &sample->values[i] : NULL;
    caller_fail_msg("no metric %s", metric);
    return NULL;
}
#define sampling_find(...) (unit_called(__FILE__, __LINE__), (sampling_find)(__VA_ARGS__))

/* Does the set of the first sample have the metric, known or not? */
static inline bool sampling_has(const struct sampling *sampling, const char *metric)
{
    caller_assert_true(sampling->batch.count > 0);
    const struct set *set = sampling->batch.samples[0].set;
    for (size_t i = 0; i < set->size; i++)
        if (!strcmp(set->metrics[i].name, metric))
            return true;
    return false;
}
#define sampling_has(...) (unit_called(__FILE__, __LINE__), (sampling_has)(__VA_ARGS__))

/* The value of a metric of one instance of a set; NULL: no such sample or metric, or the value is unknown. */
static inline const union value *sampling_of(const struct sampling *sampling, const char *set, const char *instance,
                                             const char *metric)
{
    for (size_t n = 0; n < sampling->batch.count; n++) {
        const struct sample *sample = &sampling->batch.samples[n];
        if (strcmp(sample->set->name, set) != 0 || strcmp(sample->instance, instance) != 0)
            continue;
        for (size_t i = 0; i < sample->set->size; i++)
            if (!strcmp(sample->set->metrics[i].name, metric))
                return sample->known[i] ? &sample->values[i] : NULL;
    }
    return NULL;
}

static inline uint64_t sampling_u64_of(const struct sampling *sampling, const char *set, const char *instance,
                                       const char *metric)
{
    const union value *value = sampling_of(sampling, set, instance, metric);
    if (!value)
        caller_fail_msg("%s of %s of %s is not known", metric, instance, set);
    return value->u64;
}
#define sampling_u64_of(...) (unit_called(__FILE__, __LINE__), (sampling_u64_of)(__VA_ARGS__))

static inline uint64_t sampling_u64(const struct sampling *sampling, const char *metric)
{
    const union value *value = sampling_find(sampling, metric);
    caller_assert_non_null(value);
    return value->u64;
}
#define sampling_u64(...) (unit_called(__FILE__, __LINE__), (sampling_u64)(__VA_ARGS__))

static inline double sampling_f64(const struct sampling *sampling, const char *metric)
{
    const union value *value = sampling_find(sampling, metric);
    caller_assert_non_null(value);
    return value->f64;
}
#define sampling_f64(...) (unit_called(__FILE__, __LINE__), (sampling_f64)(__VA_ARGS__))

#endif
