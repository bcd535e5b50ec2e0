/* A list of samplers that work, are absent, fail and recover. */
#include "samplers/samplers.h"

#include "base/clock.h"
#include "base/log.h"
#include "samplers/all.h"
#include "tools/unit.h"

#include <unistd.h>

static unsigned opens, closes, reads;
static enum err open_result, read_result;

static enum err fake_open(void *state, const struct sampler_context *context)
{
    (void)context;
    opens++;
    assert_int_equal(*(char *)state, 0); /* each open has a new state */
    *(char *)state = 1;
    return open_result;
}

static enum err fake_read(void *state, struct batch *out)
{
    (void)state, (void)out;
    reads++;
    return read_result;
}

static void fake_close(void *state)
{
    (void)state;
    closes++;
}

static const struct sampler fake = {
    .name = "fake", .about = "plays", .state_size = 1, .open = fake_open, .read = fake_read, .close = fake_close,
};
static const struct sampler *const list[] = { &fake, &sampler_null, NULL };
static const struct sampler_context here = { .root = "", .pid = 0 };

static int forget(void **state)
{
    (void)state;
    log_set_level(-1);
    opens = closes = reads = 0;
    open_result = read_result = OK;
    return 0;
}

static size_t read_once(struct samplers *samplers)
{
    struct batch batch;
    batch_init(&batch);
    samplers_read(samplers, &batch);
    size_t count = batch.count;
    batch_clear(&batch);
    return count;
}

static void each_sampler_is_opened_read_and_closed(void **state)
{
    (void)state;
    struct samplers *samplers;
    assert_int_equal(samplers_open(&samplers, list, &here), OK);
    assert_int_equal(read_once(samplers), 1);
    assert_int_equal(read_once(samplers), 1);
    samplers_close(&samplers);
    assert_null(samplers);
    assert_int_equal(opens, 1);
    assert_int_equal(reads, 2);
    assert_int_equal(closes, 1);
    samplers_close(&samplers);
}

static void an_absent_sampler_is_skipped(void **state)
{
    (void)state;
    struct samplers *samplers;
    open_result = ABSENT;
    assert_int_equal(samplers_open(&samplers, list, &here), OK);
    assert_int_equal(read_once(samplers), 1);
    samplers_close(&samplers);
    assert_int_equal(opens, 1);
    assert_int_equal(reads, 0);
    assert_int_equal(closes, 0);
}

static void a_failing_sampler_does_not_affect_others(void **state)
{
    (void)state;
    struct samplers *samplers;
    assert_int_equal(samplers_open(&samplers, list, &here), OK);
    read_result = IO;
    for (int i = 0; i < 5; i++)
        assert_int_equal(read_once(samplers), 1);
    assert_int_equal(reads, 1);
    assert_int_equal(closes, 1);
    read_result = OK;
    usleep(1100000); /* the first pause is a second */
    read_once(samplers);
    assert_int_equal(opens, 2);
    assert_int_equal(reads, 2);
    samplers_close(&samplers);
    assert_int_equal(closes, 2);
}

static void again_is_not_a_failure(void **state)
{
    (void)state;
    struct samplers *samplers;
    assert_int_equal(samplers_open(&samplers, list, &here), OK);
    read_result = AGAIN;
    read_once(samplers);
    read_result = GONE;
    read_once(samplers);
    assert_int_equal(reads, 2);
    assert_int_equal(closes, 0);
    samplers_close(&samplers);
}

static void doctor_can_try_one_sampler(void **state)
{
    (void)state;
    assert_int_equal(samplers_try(&fake, &here), OK);
    assert_int_equal(closes, 1);
    read_result = DENIED;
    assert_int_equal(samplers_try(&fake, &here), DENIED);
    open_result = ABSENT;
    assert_int_equal(samplers_try(&fake, &here), ABSENT);
    assert_int_equal(closes, 2);
}

static void settings_have_defaults(void **state)
{
    (void)state;
    struct samplers *samplers;
    struct batch batch;
    batch_init(&batch);
    assert_int_equal(samplers_open(&samplers, &list[1], &here), OK);
    samplers_read(samplers, &batch);
    samplers_read(samplers, &batch);
    assert_int_equal(batch.samples[1].values[0].u64, 2);
    samplers_close(&samplers);
    batch_clear(&batch);
}

static void every_sampler_of_the_build_is_described(void **state)
{
    (void)state;
    for (const struct sampler *const *s = sampler_all; *s; s++) {
        assert_non_null((*s)->about);
        assert_non_null((*s)->open);
        assert_non_null((*s)->read);
        if ((*s)->set) /* else built at open */
            assert_string_equal((*s)->name, (*s)->set->name);
        for (const struct sampler *const *other = sampler_all; other < s; other++)
            assert_string_not_equal((*s)->name, (*other)->name);
        for (size_t i = 0; (*s)->set && i < (*s)->set->size; i++) {
            const struct metric *metric = &(*s)->set->metrics[i];
            assert_true(metric->name && *metric->name);
            assert_true(metric->unit && *metric->unit);
            assert_true(metric->help && *metric->help);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_sampler_is_opened_read_and_closed, forget),
        cmocka_unit_test_setup(an_absent_sampler_is_skipped, forget),
        cmocka_unit_test_setup(a_failing_sampler_does_not_affect_others, forget),
        cmocka_unit_test_setup(again_is_not_a_failure, forget),
        cmocka_unit_test_setup(doctor_can_try_one_sampler, forget),
        cmocka_unit_test_setup(settings_have_defaults, forget),
        cmocka_unit_test(every_sampler_of_the_build_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
