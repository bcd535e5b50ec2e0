/* Bars have a fixed width, and show even small shares. */
#include "report/bars.h"

#include "base/utf8.h"
#include "tools/unit.h"

#include <math.h>

static const struct terminal utf8 = { .utf8 = true }, ascii = { 0 };

static const char *bar(const struct terminal *terminal, size_t width, double share, double second)
{
    static struct buf out;
    buf_init(&out, 4096);
    bars_add(&out, terminal, width, share, second, GREEN);
    assert_int_equal(utf8_columns((struct bytes){ out.data, out.size }, terminal->utf8), width);
    static char text[4096];
    snprintf(text, sizeof text, "%s", buf_text(&out));
    buf_clear(&out);
    return text;
}

static void length_follows_share(void **state)
{
    (void)state;
    assert_string_equal(bar(&ascii, 10, 0, 0), "..........");
    assert_string_equal(bar(&ascii, 10, 0.5, 0), "#####.....");
    assert_string_equal(bar(&ascii, 10, 1, 0), "##########");
    assert_string_equal(bar(&ascii, 10, 3.7, 0), "##########");
    assert_string_equal(bar(&utf8, 4, 0.5, 0), "██··");
    assert_string_equal(bar(&utf8, 4, 0.5625, 0), "██▎·");
    assert_string_equal(bar(&utf8, 4, 1, 0), "████");
}

static void small_shares_are_visible(void **state)
{
    (void)state;
    assert_string_equal(bar(&ascii, 5, 0.0001, 0), "#....");
    assert_string_equal(bar(&utf8, 5, 0.0001, 0), "▏····");
}

static void two_parts(void **state)
{
    (void)state;
    assert_string_equal(bar(&ascii, 10, 0.8, 0.4), "####++++..");
    assert_string_equal(bar(&utf8, 5, 1, 0.2), "████▒");
    assert_string_equal(bar(&ascii, 10, 0.5, 9), "+++++.....");
    assert_string_equal(bar(&ascii, 10, 2, 1), "#####+++++"); /* half of it, also when it is more than the whole */
}

static void unknown_is_empty(void **state)
{
    (void)state;
    assert_string_equal(bar(&ascii, 3, NAN, 0), "...");
    assert_string_equal(bar(&ascii, 3, NAN, NAN), "...");
    assert_string_equal(bar(&ascii, 3, 1, NAN), "###");
    assert_string_equal(bar(&ascii, 3, -1, 0), "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(length_follows_share),
        cmocka_unit_test(small_shares_are_visible),
        cmocka_unit_test(two_parts),
        cmocka_unit_test(unknown_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
