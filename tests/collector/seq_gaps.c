/* Which sequences a stream has jumped over, over a restart and in holes of holes. */
#include "tools/unit.h"

#include "collector/seq_gaps.h"
#include "collector/hosts.h"
#include "tools/temp.h"

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];

static int begin(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "holes");
    return 0;
}

static int end(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

static void they_are_found_again(void **state)
{
    (void)state;
    struct holes holes;
    assert_int_equal(holes_open(&holes, path), OK);
    assert_int_equal(holes_stream(&holes, "n1", 7, 5), 7);
    assert_int_equal(holes_add(&holes, "n1", 7, 5, 10), OK);
    assert_int_equal(holes_add(&holes, "n2", 7, 6, 6), OK); /* another host with the same number */
    assert_int_equal(holes_add(&holes, "n1", 3, 1, 4), OK);
    uint64_t first = holes_stream(&holes, "n1", 7, 5), other = holes_stream(&holes, "n2", 7, 6);
    assert_true(first != 7 && other != 7 && first != other);
    assert_int_equal(holes_stream(&holes, "n1", 7, 4), 7);
    assert_int_equal(holes_stream(&holes, "n1", 7, 11), 7);
    assert_true(holes_stream(&holes, "n1", 7, 10) == first);
    assert_int_equal(holes_add(&holes, "n1", first, 5, 6), OK); /* jumped over when the hole was filled */
    uint64_t inner = holes_stream(&holes, "n1", 7, 6);
    assert_true(inner != first && inner != 7);
    assert_true(holes_stream(&holes, "n1", 7, 7) == first);
    assert_int_equal(holes_sync(&holes), OK);
    holes_close(&holes);
    assert_int_equal(holes_open(&holes, path), OK);
    assert_true(holes_stream(&holes, "n1", 7, 6) == inner);
    assert_true(holes_stream(&holes, "n1", 7, 9) == first);
    assert_int_equal(holes.count, 4);
    holes_close(&holes);
}

static void a_line_that_was_cut_is_no_line(void **state)
{
    (void)state;
    struct holes holes;
    static const char text[] = "7 5 10 n1\nrubbish\n8 2 1 n1\n\n9 1 2 n";
    temp_write(path, text, sizeof text - 1);
    assert_int_equal(holes_open(&holes, path), OK);
    assert_int_equal(holes.count, 1);
    assert_int_equal(holes_add(&holes, "n3", 4, 1, 1), OK);
    holes_close(&holes);
    assert_int_equal(holes_open(&holes, path), OK);
    assert_int_equal(holes.count, 2);
    holes_close(&holes);
}

static void hosts_are_known_after_a_restart(void **state)
{
    (void)state;
    struct origins origins;
    struct origin *origin;
    assert_int_equal(origins_init(&origins), OK);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(origins_get(&origins, bytes_of(name), &origin), OK);
        origin->first_ns = 5;
        origin->heard_ns = 100 + (uint64_t)i;
        origin->missing = 3;
    }
    assert_int_equal(origins.count, 1000);
    assert_int_equal(origins_save(&origins, path), OK);
    origins_clear(&origins);
    assert_int_equal(origins_init(&origins), OK);
    assert_int_equal(origins_load(&origins, path), OK);
    assert_int_equal(origins.count, 1000);
    origin = origins_find(&origins, bytes_of("n42"));
    assert_int_equal(origin->heard_ns, 142);
    assert_int_equal(origin->missing, 3);
    assert_true(origin_is_silent(origin, 142 + ORIGIN_SILENT_NS + 1));
    assert_false(origin_is_silent(origin, 142 + ORIGIN_SILENT_NS));
    origin->interval_ns = ORIGIN_SILENT_NS;
    assert_false(origin_is_silent(origin, 142 + 2 * ORIGIN_SILENT_NS));
    struct origin **sorted = origins_sorted(&origins);
    assert_string_equal(sorted[1]->host, "n1");
    assert_string_equal(sorted[2]->host, "n10");
    free(sorted);
    origins_clear(&origins);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(they_are_found_again), TEST(a_line_that_was_cut_is_no_line), TEST(hosts_are_known_after_a_restart),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
