/* The growing buffer. */
#include "base/buf.h"

#include "tools/unit.h"

static void a_new_buffer_is_empty(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 10);
    assert_string_equal(buf_text(&buf), "");
    assert_int_equal(buf_err(&buf), OK);
    buf_clear(&buf);
}

static void additions_are_appended(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1000);
    buf_add_text(&buf, "one");
    buf_add_char(&buf, ' ');
    buf_add(&buf, "t\0o", 3);
    buf_printf(&buf, " %d-%s", 3, "four");
    assert_int_equal(buf.size, 14);
    assert_memory_equal(buf.data, "one t\0o 3-four", 15);
    buf_clear(&buf);
    assert_null(buf.data);
}

static void adds_numbers(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 100);
    buf_add_u64(&buf, 0);
    buf_add_char(&buf, ' ');
    buf_add_u64(&buf, 1234567890);
    buf_add_char(&buf, ' ');
    buf_add_u64(&buf, UINT64_MAX);
    assert_string_equal(buf_text(&buf), "0 1234567890 18446744073709551615");
    buf_clear(&buf);
}

static void it_grows_beyond_its_first_capacity(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 100000);
    for (int i = 0; i < 10000; i++)
        buf_printf(&buf, "%04d,", i);
    assert_int_equal(buf.size, 50000);
    assert_memory_equal(buf.data + 49990, "9998,9999,", 11);
    buf_clear(&buf);
}

static void it_accepts_exactly_its_maximum(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 5);
    buf_add_text(&buf, "12345");
    assert_int_equal(buf_err(&buf), OK);
    assert_string_equal(buf_text(&buf), "12345");
    buf_clear(&buf);
}

static void it_rejects_more_than_its_maximum(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 5);
    buf_add_text(&buf, "1234");
    buf_add_text(&buf, "56");
    assert_int_not_equal(buf_err(&buf), OK);
    assert_string_equal(buf_text(&buf), "1234");
    buf_printf(&buf, "%s", "78");
    assert_string_equal(buf_text(&buf), "1234");
    buf_clear(&buf);
}

static void full_is_reported(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 5);
    buf_add_text(&buf, "123");
    buf_add_text(&buf, "too long");
    assert_int_equal(buf_err(&buf), FULL);
    buf_clear(&buf);
}

static void reset_clears_the_failure_and_keeps_the_memory(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 5);
    buf_add_text(&buf, "12345");
    buf_add_char(&buf, '6');
    char *memory = buf.data;
    buf_reset(&buf);
    assert_int_equal(buf_err(&buf), OK);
    assert_string_equal(buf_text(&buf), "");
    assert_ptr_equal(buf.data, memory);
    buf_clear(&buf);
}

static void a_huge_addition_does_not_wrap_around(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 100);
    buf_add_text(&buf, "x");
    assert_null(buf_reserve(&buf, SIZE_MAX));
    assert_null(buf_reserve(&buf, SIZE_MAX - 1));
    assert_int_not_equal(buf_err(&buf), OK);
    buf_clear(&buf);
}

static void bytes_compare_by_content(void **state)
{
    (void)state;
    assert_true(bytes_equal(bytes_of("abc"), bytes_of("abc")));
    assert_false(bytes_equal(bytes_of("abc"), bytes_of("abd")));
    assert_false(bytes_equal(bytes_of("abc"), bytes_of("ab")));
    assert_true(bytes_equal(bytes_of(NULL), bytes_of("")));
    assert_int_equal(bytes_of(NULL).size, 0);
}

static void bytes_are_trimmed_and_compared_without_case(void **state)
{
    (void)state;
    assert_true(bytes_equal(bytes_trim(bytes_of(" \ta b\t ")), bytes_of("a b")));
    assert_int_equal(bytes_trim(bytes_of(" \t ")).size, 0);
    assert_int_equal(bytes_trim(bytes_of(NULL)).size, 0);
    assert_true(bytes_equal_nocase(bytes_of("Keep-Alive"), "keep-alive"));
    assert_false(bytes_equal_nocase(bytes_of("Keep"), "keep-alive"));
    assert_false(bytes_equal_nocase(bytes_of("keep-alive,"), "keep-alive"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_buffer_is_empty),
        cmocka_unit_test(additions_are_appended),
        cmocka_unit_test(adds_numbers),
        cmocka_unit_test(it_grows_beyond_its_first_capacity),
        cmocka_unit_test(it_accepts_exactly_its_maximum),
        cmocka_unit_test(it_rejects_more_than_its_maximum),
        cmocka_unit_test(full_is_reported),
        cmocka_unit_test(reset_clears_the_failure_and_keeps_the_memory),
        cmocka_unit_test(a_huge_addition_does_not_wrap_around),
        cmocka_unit_test(bytes_compare_by_content),
        cmocka_unit_test(bytes_are_trimmed_and_compared_without_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
