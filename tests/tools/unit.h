/* What every unit test includes: cmocka with the headers that it forgets. */
#ifndef SONDE_TESTS_TOOLS_UNIT_H
#define SONDE_TESTS_TOOLS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Borrowed bytes are these bytes. */
#define assert_bytes(got, text) \
    do { \
        struct bytes got_ = (got); \
        assert_int_equal(got_.size, sizeof(text) - 1); \
        assert_memory_equal(got_.data, text, sizeof(text) - 1); \
    } while (0)

/* In place of cmocka's skip, whose TAP says "not ok": leaves a test that this machine cannot do, and says why. */
#define leave_out(reason) \
    do { \
        print_message("# left out: %s: %s\n", __func__, reason); \
        return; \
    } while (0)

/* Helpers in tests/tools report failures at the line of the test that called them. A helper is a function that uses the
 * caller_assert_... macros, followed by a macro of its name that notes the line and calls it:
 *
 *     static inline void expect_row(...) { caller_assert_int_equal(...); }
 *     #define expect_row(...) (unit_called(__FILE__, __LINE__), (expect_row)(__VA_ARGS__))
 *
 * A helper that calls another keeps the line of the test. */
static struct {
    const char *file;
    int line;
} unit_caller;

static inline void unit_called(const char *file, int line)
{
    size_t size = strlen(file);
    if (size > 2 && strcmp(file + size - 2, ".h") == 0)
        return;
    unit_caller.file = file;
    unit_caller.line = line;
}

#define UNIT_CALLER (unit_caller.file ? unit_caller.file : __FILE__), (unit_caller.file ? unit_caller.line : __LINE__)
#define unit_number(value) cast_to_largest_integral_type(value)
#define caller_assert_true(condition) _assert_true(unit_number(condition), #condition, UNIT_CALLER)
#define caller_assert_false(condition) _assert_true(!unit_number(condition), "!(" #condition ")", UNIT_CALLER)
#define caller_assert_non_null(pointer) _assert_true((pointer) != NULL, #pointer " != NULL", UNIT_CALLER)
#define caller_assert_null(pointer) _assert_true((pointer) == NULL, #pointer " == NULL", UNIT_CALLER)
#define caller_assert_int_equal(a, b) _assert_int_equal(unit_number(a), unit_number(b), UNIT_CALLER)
#define caller_assert_int_not_equal(a, b) _assert_int_not_equal(unit_number(a), unit_number(b), UNIT_CALLER)
#define caller_assert_string_equal(a, b) _assert_string_equal((a), (b), UNIT_CALLER)
#define caller_assert_memory_equal(a, b, size) _assert_memory_equal((const void *)(a), (const void *)(b), (size), UNIT_CALLER)
#define caller_fail_msg(...) \
    do { \
        print_error("ERROR: " __VA_ARGS__); \
        print_error("\n"); \
        _fail(UNIT_CALLER); \
    } while (0)

#endif
