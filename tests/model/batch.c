/* A batch of samples grows, moves and is reused. */
#include "model/batch.h"

#include "tools/unit.h"

static const struct metric two_metrics[] = {
    { "load", "1", GAUGE, F64, "load" },
    { "free", "B", GAUGE, U64, "free memory" },
};
static const struct set two = { "two", two_metrics, 2 };

static void values_are_unknown_until_they_are_set(void **state)
{
    (void)state;
    struct batch batch;
    batch_init(&batch);
    struct sample *sample = batch_add(&batch, &two, 42, "eth0");
    assert_non_null(sample);
    assert_int_equal(sample->known[0], 0);
    sample_set_u64(sample, 1, 77);
    assert_int_equal(sample->known[0], 0);
    assert_int_equal(sample->known[1], 1);
    assert_int_equal(sample->values[1].u64, 77);
    assert_int_equal(sample->time_ns, 42);
    assert_string_equal(sample->instance, "eth0");
    batch_clear(&batch);
}

static void the_instance_is_optional(void **state)
{
    (void)state;
    struct batch batch;
    batch_init(&batch);
    assert_string_equal(batch_add(&batch, &two, 1, NULL)->instance, "");
    batch_clear(&batch);
}

static void samples_stay_valid_when_the_values_move(void **state)
{
    (void)state;
    struct batch batch;
    batch_init(&batch);
    for (size_t i = 0; i < 1000; i++) {
        struct sample *sample = batch_add(&batch, &two, i, NULL);
        sample_set_f64(sample, 0, (double)i / 4);
        if (i % 3 == 0)
            sample_set_u64(sample, 1, i * 10);
    }
    assert_int_equal(batch.count, 1000);
    for (size_t i = 0; i < 1000; i++) {
        assert_true(batch.samples[i].values[0].f64 == (double)i / 4);
        assert_int_equal(batch.samples[i].known[1], i % 3 == 0);
        if (i % 3 == 0)
            assert_int_equal(batch.samples[i].values[1].u64, i * 10);
    }
    batch_clear(&batch);
}

static void a_second_tick_allocates_nothing(void **state)
{
    (void)state;
    struct batch batch;
    batch_init(&batch);
    for (int i = 0; i < 100; i++)
        sample_set_u64(batch_add(&batch, &two, 1, NULL), 1, 5);
    union value *values = batch.values;
    struct sample *samples = batch.samples;
    batch_reset(&batch);
    for (int i = 0; i < 100; i++)
        assert_int_equal(batch_add(&batch, &two, 2, NULL)->known[1], 0);
    assert_ptr_equal(batch.values, values);
    assert_ptr_equal(batch.samples, samples);
    batch_clear(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_unknown_until_they_are_set),
        cmocka_unit_test(the_instance_is_optional),
        cmocka_unit_test(samples_stay_valid_when_the_values_move),
        cmocka_unit_test(a_second_tick_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
