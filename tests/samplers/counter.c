/* Counters that grow, fluctuate, reset and wrap at 32 bits. */
#include "samplers/counter.h"

#include "tools/unit.h"

static bool take(uint64_t *last, uint64_t value, uint64_t *given)
{
    *given = value;
    return counter_take(last, given);
}

static void a_small_decrease_is_hidden_and_a_large_one_left_out(void **state)
{
    (void)state;
    uint64_t last = 0, given;
    assert_true(take(&last, 1000, &given));
    assert_int_equal(given, 1000);
    assert_true(take(&last, 990, &given));
    assert_int_equal(given, 1000);
    assert_true(take(&last, 995, &given));
    assert_int_equal(given, 1000);
    assert_true(take(&last, 1001, &given));
    assert_int_equal(given, 1001);
    assert_false(take(&last, 100, &given));
    assert_true(take(&last, 100, &given));
    assert_int_equal(given, 100);
    assert_false(take(&last, 0, &given));
    assert_true(take(&last, 0, &given));
    assert_true(take(&last, UINT64_MAX, &given));
    assert_int_equal(given, UINT64_MAX);
}

/* A slow decrease in small steps is compared with the highest value and detected in the end. */
static void a_slow_decrease_is_detected(void **state)
{
    (void)state;
    uint64_t last = 0, given;
    assert_true(take(&last, 10000, &given));
    assert_true(take(&last, 9950, &given));
    assert_int_equal(given, 10000);
    assert_true(take(&last, 9901, &given));
    assert_int_equal(given, 10000);
    assert_false(take(&last, 9850, &given));
}

static void a_32_bit_wrap_is_extended(void **state)
{
    (void)state;
    uint64_t wide = 0;
    assert_int_equal(counter_unwrap32(&wide, 0xfffffff0u), 0xfffffff0u);
    assert_int_equal(counter_unwrap32(&wide, 5), 0x100000005ull);
    assert_int_equal(counter_unwrap32(&wide, 0x80000000u), 0x180000000ull);
    assert_int_equal(counter_unwrap32(&wide, 0xffffffffu), 0x1ffffffffull);
    assert_int_equal(counter_unwrap32(&wide, 0), 0x200000000ull);
    assert_int_equal(counter_unwrap32(&wide, 100000), 0x200000000ull + 100000);
    assert_int_equal(counter_unwrap32(&wide, 99999), 0x200000000ull + 99999); /* fluctuates */
    assert_int_equal(counter_unwrap32(&wide, 10), 10);                        /* restarted */
    assert_int_equal(counter_unwrap32(&wide, 0x300000000ull), 0x300000000ull); /* is a 64-bit counter */
    assert_int_equal(counter_unwrap32(&wide, 0x300000005ull), 0x300000005ull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_decrease_is_hidden_and_a_large_one_left_out),
        cmocka_unit_test(a_slow_decrease_is_detected),
        cmocka_unit_test(a_32_bit_wrap_is_extended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
