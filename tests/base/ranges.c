/* Sets of numbers, compared with an array of flags. */
#include "base/ranges.h"

#include "tools/unit.h"

#include <stdlib.h>

static void assert_ranges(const struct ranges *ranges, size_t count, const struct range *expected)
{
    assert_int_equal(ranges->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ranges->list[i].first, expected[i].first);
        assert_int_equal(ranges->list[i].last, expected[i].last);
    }
}

static void add(struct ranges *ranges, uint64_t first, uint64_t last)
{
    assert_int_equal(ranges_add(ranges, (struct range){ first, last }), OK);
}

static void adjacent_ranges_are_merged(void **state)
{
    struct ranges ranges = { 0 };
    (void)state;
    add(&ranges, 5, 6);
    add(&ranges, 1, 2);
    add(&ranges, 9, 9);
    assert_ranges(&ranges, 3, (struct range[]){ { 1, 2 }, { 5, 6 }, { 9, 9 } });
    add(&ranges, 7, 7);
    assert_ranges(&ranges, 3, (struct range[]){ { 1, 2 }, { 5, 7 }, { 9, 9 } });
    add(&ranges, 8, 8);
    assert_ranges(&ranges, 2, (struct range[]){ { 1, 2 }, { 5, 9 } });
    add(&ranges, 2, 5);
    assert_ranges(&ranges, 1, (struct range[]){ { 1, 9 } });
    add(&ranges, 3, 4);
    assert_ranges(&ranges, 1, (struct range[]){ { 1, 9 } });
    ranges_clear(&ranges);
}

static void the_smallest_and_largest_numbers_work(void **state)
{
    struct ranges ranges = { 0 };
    (void)state;
    add(&ranges, UINT64_MAX, UINT64_MAX);
    add(&ranges, 0, 0);
    assert_true(ranges_has(&ranges, 0) && ranges_has(&ranges, UINT64_MAX));
    assert_false(ranges_has(&ranges, 1) || ranges_has(&ranges, UINT64_MAX - 1));
    add(&ranges, 1, UINT64_MAX - 1);
    assert_ranges(&ranges, 1, (struct range[]){ { 0, UINT64_MAX } });
    ranges_clear(&ranges);
}

static void touching_ranges_are_counted(void **state)
{
    struct ranges ranges = { 0 };
    size_t from;
    (void)state;
    assert_int_equal(ranges_touching(&ranges, (struct range){ 1, 9 }, &from), 0);
    add(&ranges, 1, 2);
    add(&ranges, 5, 6);
    add(&ranges, 10, 12);
    assert_int_equal(ranges_touching(&ranges, (struct range){ 3, 4 }, &from), 2);
    assert_int_equal(from, 0);
    assert_int_equal(ranges_touching(&ranges, (struct range){ 8, 8 }, &from), 0);
    assert_int_equal(from, 2);
    assert_int_equal(ranges_touching(&ranges, (struct range){ 6, 20 }, &from), 2);
    assert_int_equal(from, 1);
    ranges_clear(&ranges);
}

static void sets_intersect_if_a_number_is_in_both(void **state)
{
    struct ranges a = { 0 }, b = { 0 };
    (void)state;
    add(&a, 3, 4);
    add(&a, 8, 9);
    assert_false(ranges_meet(&a, &b) || ranges_meet(&b, &a));
    add(&b, 5, 7);
    assert_false(ranges_meet(&a, &b) || ranges_meet(&b, &a));
    add(&b, 9, 20);
    assert_true(ranges_meet(&a, &b) && ranges_meet(&b, &a));
    assert_int_equal(ranges_copy(&a, &b), OK);
    assert_ranges(&a, 2, (struct range[]){ { 5, 7 }, { 9, 20 } });
    ranges_clear(&a);
    ranges_clear(&b);
}

/* Compared with an array of flags, in many orders. */
static void the_order_of_additions_does_not_matter(void **state)
{
    enum { SIZE = 60, ROUNDS = 300 };
    (void)state;
    srandom(7);
    for (int round = 0; round < ROUNDS; round++) {
        struct ranges ranges = { 0 };
        bool is_in[SIZE + 8] = { false };
        for (int i = 0; i < 30; i++) {
            uint64_t first = (uint64_t)random() % SIZE, last = first + (uint64_t)random() % 5;
            add(&ranges, first, last);
            for (uint64_t n = first; n <= last; n++)
                is_in[n] = true;
        }
        for (uint64_t n = 0; n < SIZE + 8; n++)
            assert_int_equal(ranges_has(&ranges, n), is_in[n]);
        for (size_t i = 1; i < ranges.count; i++)
            assert_true(ranges.list[i].first > ranges.list[i - 1].last + 1);
        ranges_clear(&ranges);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adjacent_ranges_are_merged),
        cmocka_unit_test(the_smallest_and_largest_numbers_work),
        cmocka_unit_test(touching_ranges_are_counted),
        cmocka_unit_test(sets_intersect_if_a_number_is_in_both),
        cmocka_unit_test(the_order_of_additions_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
