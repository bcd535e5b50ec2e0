/* Growing arrays: order, the stated maximum, and that a failure leaves the array as it was. */
#include "base/vec.h"

#include "tools/unit.h"

struct pair {
    int a, b;
};

static void push_keeps_the_order_while_it_grows(void **state)
{
    (void)state;
    VEC(int) numbers = { 0 };
    for (int i = 0; i < 1000; i++)
        assert_int_equal(vec_push(&numbers, VEC_MAX, i), OK);
    assert_int_equal(numbers.count, 1000);
    assert_true(numbers.capacity >= 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(numbers.items[i], i);
    vec_clear(&numbers);
    assert_null(numbers.items);
    assert_int_equal(numbers.count, 0);
    assert_int_equal(numbers.capacity, 0);
    assert_int_equal(vec_push(&numbers, VEC_MAX, 7), OK);
    assert_int_equal(numbers.items[0], 7);
    vec_clear(&numbers);
}

static void push_accepts_a_compound_literal(void **state)
{
    (void)state;
    VEC(struct pair) pairs = { 0 };
    assert_int_equal(vec_push(&pairs, 4, (struct pair){ 1, 2 }), OK);
    assert_int_equal(pairs.items[0].b, 2);
    vec_clear(&pairs);
}

static void the_maximum_is_exact(void **state)
{
    (void)state;
    VEC(int) numbers = { 0 };
    for (int i = 0; i < 11; i++)
        assert_int_equal(vec_push(&numbers, 11, i), OK);
    assert_int_equal(numbers.capacity, 11);
    assert_int_equal(vec_push(&numbers, 11, 11), FULL);
    assert_int_equal(vec_insert(&numbers, 0, 11, 11), FULL);
    assert_int_equal(numbers.count, 11);
    assert_int_equal(numbers.items[0], 0);
    assert_int_equal(numbers.items[10], 10);
    vec_clear(&numbers);
}

static void too_large_a_request_leaves_the_array_unchanged(void **state)
{
    (void)state;
    VEC(struct pair) pairs = { 0 };
    assert_int_equal(vec_push(&pairs, 4, (struct pair){ 1, 2 }), OK);
    struct pair *items = pairs.items;
    assert_int_equal(vec_reserve(&pairs, 4, 4), FULL);
    assert_ptr_equal(pairs.items, items);
    assert_int_equal(pairs.capacity, 4);
    vec_clear(&pairs);
}

static void insert_and_remove_move_the_others(void **state)
{
    (void)state;
    VEC(int) numbers = { 0 };
    assert_int_equal(vec_insert(&numbers, 0, VEC_MAX, 3), OK);
    assert_int_equal(vec_insert(&numbers, 0, VEC_MAX, 1), OK);
    assert_int_equal(vec_insert(&numbers, 1, VEC_MAX, 2), OK);
    assert_int_equal(vec_insert(&numbers, 3, VEC_MAX, 4), OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(numbers.items[i], i + 1);
    vec_remove(&numbers, 1);
    vec_remove(&numbers, 2);
    assert_int_equal(numbers.count, 2);
    assert_int_equal(numbers.items[0], 1);
    assert_int_equal(numbers.items[1], 3);
    vec_clear(&numbers);
}

static void arrays_with_their_own_fields_grow_with_a_narrow_capacity(void **state)
{
    (void)state;
    uint32_t *ids = NULL, capacity = 0;
    assert_int_equal(array_reserve(ids, capacity, 100, 1000), OK);
    assert_int_equal(capacity, 128);
    ids[99] = 1;
    assert_int_equal(array_reserve(ids, capacity, 1001, 1000), FULL);
    assert_int_equal(capacity, 128);
    assert_int_equal(ids[99], 1);
    free(ids);
}

static void zeroed_growth_clears_only_what_is_new(void **state)
{
    (void)state;
    uint8_t *marks = NULL;
    size_t capacity = 0;
    assert_int_equal(array_reserve_zeroed(marks, capacity, 3, 64), OK);
    for (size_t i = 0; i < capacity; i++) {
        assert_int_equal(marks[i], 0);
        marks[i] = 0xff;
    }
    size_t old = capacity;
    assert_int_equal(array_reserve_zeroed(marks, capacity, 60, 64), OK);
    assert_int_equal(capacity, 64);
    for (size_t i = 0; i < capacity; i++)
        assert_int_equal(marks[i], i < old ? 0xff : 0);
    assert_int_equal(array_reserve_zeroed(marks, capacity, 65, 64), FULL);
    assert_int_equal(marks[0], 0xff);
    free(marks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(push_keeps_the_order_while_it_grows),
        cmocka_unit_test(push_accepts_a_compound_literal),
        cmocka_unit_test(the_maximum_is_exact),
        cmocka_unit_test(too_large_a_request_leaves_the_array_unchanged),
        cmocka_unit_test(insert_and_remove_move_the_others),
        cmocka_unit_test(arrays_with_their_own_fields_grow_with_a_narrow_capacity),
        cmocka_unit_test(zeroed_growth_clears_only_what_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
