/* Which pages of the spool are charged to the programs that append to it. */
#include "run/spool_io.h"

#include "base/clock.h"
#include "tools/unit.h"

#define PAGE 4096u

static void pages_that_we_wrote_first_are_not_theirs(void **state)
{
    (void)state;
    assert_int_equal(spool_io_dirty_bytes(10 * PAGE, 0, PAGE, NS_PER_S), 12 * PAGE);
    assert_int_equal(spool_io_dirty_bytes(10 * PAGE, 4 * PAGE, PAGE, NS_PER_S), 8 * PAGE);
    assert_int_equal(spool_io_dirty_bytes(9 * PAGE + 1, 4 * PAGE, PAGE, NS_PER_S), 8 * PAGE);
    assert_int_equal(spool_io_dirty_bytes(2 * PAGE, 5 * PAGE, PAGE, NS_PER_S), 0);
}

/* A page that was written back is charged again. */
static void pages_are_written_back(void **state)
{
    (void)state;
    assert_int_equal(spool_io_dirty_bytes(10 * PAGE, 4 * PAGE, PAGE, 29 * NS_PER_S), 8 * PAGE);
    assert_int_equal(spool_io_dirty_bytes(10 * PAGE, 4 * PAGE, PAGE, 61 * NS_PER_S), 10 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_we_wrote_first_are_not_theirs),
        cmocka_unit_test(pages_are_written_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
