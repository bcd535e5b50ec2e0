/* Errors: their names, and errno's way to them. */
#include "base/err.h"

#include "tools/unit.h"

#include <errno.h>

static void each_error_has_its_own_text(void **state)
{
    (void)state;
    for (enum err a = OK; a <= NOFILES; a++) {
        assert_string_not_equal(err_text(a), "unknown error");
        for (enum err b = OK; b < a; b++)
            assert_string_not_equal(err_text(a), err_text(b));
    }
}

static void a_number_that_is_no_error_has_a_text_too(void **state)
{
    (void)state;
    assert_string_equal(err_text((enum err)99), "unknown error");
}

static void errno_finds_its_error(void **state)
{
    (void)state;
    static const struct { int number; enum err err; } pairs[] = {
        { 0, OK }, { EINTR, AGAIN }, { EAGAIN, AGAIN }, { ENOENT, ABSENT }, { ENOSYS, ABSENT }, { ESRCH, GONE },
        { EACCES, DENIED }, { EPERM, DENIED }, { EROFS, DENIED }, { ENOSPC, FULL }, { EDQUOT, FULL }, { EMFILE, NOFILES },
        { ENFILE, NOFILES },
        { ENOMEM, NOMEM }, { EINVAL, USAGE }, { EIO, IO }, { EPIPE, IO }, { 12345, IO },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(err_from_errno(pairs[i].number), pairs[i].err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_error_has_its_own_text),
        cmocka_unit_test(a_number_that_is_no_error_has_a_text_too),
        cmocka_unit_test(errno_finds_its_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
