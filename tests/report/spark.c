/* Sparklines and the axis below them. */
#include "report/spark.h"

#include "tools/unit.h"

#include <math.h>

static const struct terminal utf8 = { .utf8 = true }, ascii = { 0 };
static struct buf out;

static const char *curve(const struct terminal *terminal, const double *values, size_t width, double max)
{
    buf_reset(&out);
    spark_add(&out, terminal, values, width, max, GREEN);
    return buf_text(&out);
}

static const char *axis(size_t width, double duration_s)
{
    buf_reset(&out);
    spark_axis(&out, width, duration_s);
    return buf_text(&out);
}

static void heights(void **state)
{
    (void)state;
    double values[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    assert_string_equal(curve(&utf8, values, 9, 8), "▁▂▃▄▅▆▇██");
    assert_string_equal(curve(&ascii, values, 9, 8), " .:-=+*##");
}

static void strange_values(void **state)
{
    (void)state;
    double values[] = { NAN, -1, 99, 0.001 };
    assert_string_equal(curve(&utf8, values, 4, 8), " ▁█▁");
    assert_string_equal(curve(&ascii, values, 4, 8), "  #."); /* a small value differs from 0 */
    assert_string_equal(curve(&utf8, values, 4, 0), " ▁▁▁");
    assert_string_equal(curve(&utf8, values, 4, NAN), " ▁▁▁");
}

static void axes(void **state)
{
    (void)state;
    assert_string_equal(axis(40, 0.4), "0 ms   100 ms    200 ms    300 ms 400 ms");
    assert_string_equal(axis(48, 10), "0.0 s     2.5 s       5.0 s       7.5 s   10.0 s");
    assert_string_equal(axis(48, 100), "0 s       25 s        50 s        75 s     100 s");
    assert_string_equal(axis(48, 7200), "0:00      30:00      1:00:00     1:30:00 2:00:00");
    assert_string_equal(axis(12, 7200), "0:00 2:00:00"); /* the ends have priority */
    assert_string_equal(axis(3, 7200), "   ");
}

static int begin(void **state)
{
    (void)state;
    buf_init(&out, 4096);
    return 0;
}

static int end(void **state)
{
    (void)state;
    buf_clear(&out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heights),
        cmocka_unit_test(strange_values),
        cmocka_unit_test(axes),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
