/* The line below the table of sonde attach. */
#include "report/syscall_table.h"

#include "tools/unit.h"

static void pending_calls(void **state)
{
    uint32_t threads[SYSCALL_NAMES_MAX] = { 0 };
    struct buf out;
    (void)state;
    buf_init(&out, 4096);
    syscall_table_print_pending(threads, &out);
    assert_int_equal(out.size, 0);
    threads[syscall_names_number("futex")] = 4950;
    syscall_table_print_pending(threads, &out);
    assert_string_equal(buf_text(&out), "still in progress (not counted): futex (4,950 threads)\n");
    buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(pending_calls) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
