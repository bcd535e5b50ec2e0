/* Which pages of the spool are charged to the programs that append to it. */
#include "run/spool_io.h"

#include "tools/unit.h"

#define PAGE 4096u

static void pages_that_we_wrote_first_are_not_theirs(void **state)
{
    (void)state;
    assert_int_equal(spool_io_dirty_bytes(10 * PAGE, 0, PAGE, true), 10 * PAGE);
    assert_int_equal(spool_io_dirty_bytes(10 * PAGE, 4 * PAGE, PAGE, true), 6 * PAGE);
    assert_int_equal(spool_io_dirty_bytes(9 * PAGE + 1, 4 * PAGE, PAGE, true), 6 * PAGE);
    assert_int_equal(spool_io_dirty_bytes(2 * PAGE, 5 * PAGE, PAGE, true), 0);
}

/* A page that was written back is charged again. */
static void a_page_may_have_been_written_back(void **state)
{
    (void)state;
    assert_int_equal(spool_io_dirty_bytes(10 * PAGE, 4 * PAGE, PAGE, false), 7 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_we_wrote_first_are_not_theirs),
        cmocka_unit_test(a_page_may_have_been_written_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
