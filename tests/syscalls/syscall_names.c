/* Names and numbers of system calls. */
#include "syscalls/syscall_names.h"

#include "tools/unit.h"

#include <sys/syscall.h>

static void names_and_numbers_correspond(void **state)
{
    (void)state;
    assert_string_equal(syscall_names_find(SYS_read), "read");
    assert_string_equal(syscall_names_find(SYS_openat), "openat");
    assert_int_equal(syscall_names_number("epoll_pwait"), SYS_epoll_pwait);
    assert_int_equal(syscall_names_number("no_such_call"), -1);
    assert_null(syscall_names_find(SYSCALL_NAMES_MAX));
    assert_null(syscall_names_find(~0u));
}

static void a_call_newer_than_this_build_has_a_name(void **state)
{
    char name[SYSCALL_NAME_MAX];
    (void)state;
    assert_string_equal(syscall_names_write(SYSCALL_NAMES_MAX - 2, name), "syscall_510");
    assert_string_equal(syscall_names_write(SYSCALL_NAMES_OTHER, name), "other");
    assert_string_equal(syscall_names_write(SYS_write, name), "write");
    unsigned number = 0;
    assert_true(syscall_names_read("syscall_510", &number));
    assert_int_equal(number, 510);
    assert_true(syscall_names_read("other", &number));
    assert_int_equal(number, SYSCALL_NAMES_OTHER);
    assert_true(syscall_names_read("write", &number));
    assert_int_equal(number, SYS_write);
    assert_false(syscall_names_read("syscall_512", &number));
    assert_false(syscall_names_read("syscall_", &number));
    assert_false(syscall_names_read("read/socket", &number));
}

static void some_calls_return_bytes(void **state)
{
    (void)state;
    assert_int_equal(syscall_names_result(SYS_pread64), SYSCALL_RESULT_READ);
    assert_int_equal(syscall_names_result(SYS_sendmsg), SYSCALL_RESULT_WRITTEN);
    assert_int_equal(syscall_names_result(SYS_splice), SYSCALL_RESULT_MOVED);
    assert_int_equal(syscall_names_result(SYS_sendmmsg), SYSCALL_RESULT_OTHER);
    assert_int_equal(syscall_names_result(SYS_openat), SYSCALL_RESULT_OTHER);
}

static void calls_of_32_bit_programs_are_known(void **state)
{
    (void)state;
#ifdef __x86_64__
    assert_int_equal(syscall_names_from_i386(3), SYS_read);
    assert_int_equal(syscall_names_from_i386(295), SYS_openat);
#endif
    assert_int_equal(syscall_names_from_i386(SYSCALL_NAMES_MAX), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_numbers_correspond),
        cmocka_unit_test(a_call_newer_than_this_build_has_a_name),
        cmocka_unit_test(some_calls_return_bytes),
        cmocka_unit_test(calls_of_32_bit_programs_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
