/* Tables that fit the terminal. */
#include "report/table.h"

#include "base/utf8.h"
#include "tools/unit.h"

static const struct table_column columns[] = {
    { .title = "ID" },
    { .title = "NAME", .min = 4 },
    { .title = "SIZE", .right = true, .rank = 1 },
    { .title = "NOTE", .min = 6, .rank = 2 },
};

static struct table made(bool utf8)
{
    struct table table;
    table_init(&table, columns, 4, utf8);
    static const char *const cells[] = { "a1", "a long name", "12", "short", "b2", "x\ny", "1,234", "a note of some "
                                                                                                    "length" };
    for (size_t i = 0; i < 8; i++)
        table_add_text(&table, PLAIN, cells[i]);
    return table;
}

static void prints(size_t width, bool utf8, const char *expected)
{
    struct table table = made(utf8);
    struct terminal terminal = { .utf8 = utf8, .width = width };
    struct buf out;
    buf_init(&out, 10000);
    assert_int_equal(table_print(&table, &terminal, &out), OK);
    assert_string_equal(buf_text(&out), expected);
    buf_clear(&out);
    table_clear(&table);
}

static void natural_width_if_it_fits(void **state)
{
    (void)state;
    prints(80, true, "ID NAME         SIZE NOTE\n"
                     "a1 a long name    12 short\n"
                     "b2 x\\ny        1,234 a note of some length\n");
}

static void widest_is_truncated_first(void **state)
{
    (void)state;
    prints(30, true, "ID NAME        SIZE NOTE\n"
                     "a1 a long na…    12 short\n"
                     "b2 x\\ny       1,234 a note of…\n");
}

static void highest_rank_is_left_out(void **state)
{
    (void)state;
    prints(19, true, "ID NAME        SIZE\n"
                     "a1 a long na…    12\n"
                     "b2 x\\ny       1,234\n");
    prints(10, true, "ID NAME\n"
                     "a1 a long…\n"
                     "b2 x\\ny\n");
}

static void ascii_if_necessary(void **state)
{
    (void)state;
    prints(10, false, "ID NAME\n"
                      "a1 a lon..\n"
                      "b2 x\\ny\n");
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    (void)state;
    for (size_t width = 7; width < 60; width++) {
        struct table table = made(true);
        struct terminal terminal = { .utf8 = true, .width = width };
        struct buf out;
        buf_init(&out, 10000);
        table_print(&table, &terminal, &out);
        for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(utf8_columns(bytes_of(line), true) <= width);
        buf_clear(&out);
        table_clear(&table);
    }
}

static void colour_takes_no_columns(void **state)
{
    (void)state;
    struct table table;
    struct terminal terminal = { .utf8 = true, .width = 80, .colour = true };
    struct buf out;
    buf_init(&out, 10000);
    table_init(&table, columns, 2, true);
    table_add_text(&table, RED, "x");
    table_add_text(&table, PLAIN, "y");
    table_print(&table, &terminal, &out);
    assert_string_equal(buf_text(&out), "\033[1mID\033[0m \033[1mNAME\033[0m\n\033[31mx\033[0m  y\n");
    buf_clear(&out);
    table_clear(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(natural_width_if_it_fits),
        cmocka_unit_test(widest_is_truncated_first),
        cmocka_unit_test(highest_rank_is_left_out),
        cmocka_unit_test(ascii_if_necessary),
        cmocka_unit_test(no_line_is_wider_than_the_terminal),
        cmocka_unit_test(colour_takes_no_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
