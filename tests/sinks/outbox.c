/* Unsent items: chunks, removal in the middle, truncation. */
#include "sinks/outbox.h"

#include "tools/unit.h"

static struct outbox outbox;

static int begin(void **state)
{
    (void)state;
    outbox_init(&outbox, 100);
    return 0;
}

static int end(void **state)
{
    (void)state;
    outbox_clear(&outbox);
    return 0;
}

static enum err add(const char *text, uint32_t tag)
{
    buf_add_text(&outbox.bytes, text);
    return outbox_end_item(&outbox, tag);
}

static void fill(void)
{
    assert_int_equal(add("one", 1), OK);
    assert_int_equal(add("twenty", 2), OK);
    assert_int_equal(add("", 9), OK); /* adding nothing creates no item */
    assert_int_equal(add("three", 3), OK);
    assert_int_equal(add("4", 4), OK);
    assert_int_equal(outbox.count, 4);
}

static void first_items_fit_but_are_at_least_one(void **state)
{
    (void)state;
    size_t bytes;
    fill();
    assert_int_equal(outbox_first_items(&outbox, 9, SIZE_MAX, &bytes), 2);
    assert_int_equal(bytes, 9);
    assert_int_equal(outbox_first_items(&outbox, 1, SIZE_MAX, &bytes), 1);
    assert_int_equal(bytes, 3);
    assert_int_equal(outbox_first_items(&outbox, 1000, 3, &bytes), 3);
    assert_int_equal(outbox_first_items(&outbox, 1000, SIZE_MAX, &bytes), 4);
    assert_int_equal(bytes, 15);
}

static void removing_done_items_keeps_the_rest_contiguous(void **state)
{
    (void)state;
    fill();
    outbox.items[0].is_done = outbox.items[2].is_done = true;
    outbox_remove_done(&outbox);
    assert_int_equal(outbox.count, 2);
    assert_string_equal(buf_text(&outbox.bytes), "twenty4");
    assert_int_equal(outbox.items[0].tag, 2);
    assert_int_equal(outbox.items[1].tag, 4);
    assert_int_equal(add("five", 5), OK);
    assert_string_equal(buf_text(&outbox.bytes), "twenty4five");
    outbox_remove_done(&outbox);
    assert_int_equal(outbox.count, 3);
}

static void a_batch_that_does_not_fit_is_removed_completely(void **state)
{
    (void)state;
    char much[100];
    memset(much, 'x', sizeof much - 1);
    much[sizeof much - 1] = '\0';
    fill();
    assert_int_equal(add("fifth", 5), OK);
    assert_int_equal(add(much, 5), FULL);
    outbox_truncate(&outbox, 4);
    assert_string_equal(buf_text(&outbox.bytes), "onetwentythree4");
    assert_int_equal(outbox.count, 4);
    assert_int_equal(add("again", 6), OK);
    assert_int_equal(outbox.used, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(first_items_fit_but_are_at_least_one, begin, end),
        cmocka_unit_test_setup_teardown(removing_done_items_keeps_the_rest_contiguous, begin, end),
        cmocka_unit_test_setup_teardown(a_batch_that_does_not_fit_is_removed_completely, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
