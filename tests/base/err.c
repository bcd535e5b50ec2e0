/* Error messages and the mapping from errno. */
#include "base/err.h"

#include "tools/unit.h"

#include <errno.h>

static void each_error_has_its_own_message(void **state)
{
    (void)state;
    for (enum err a = OK; a <= NOFILES; a++) {
        assert_string_not_equal(err_text(a), "unknown error");
        for (enum err b = OK; b < a; b++)
            assert_string_not_equal(err_text(a), err_text(b));
    }
}

static void an_unknown_error_has_a_message(void **state)
{
    (void)state;
    assert_string_equal(err_text((enum err)99), "unknown error");
}

static void errno_is_mapped(void **state)
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
        cmocka_unit_test(each_error_has_its_own_message),
        cmocka_unit_test(an_unknown_error_has_a_message),
        cmocka_unit_test(errno_is_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
