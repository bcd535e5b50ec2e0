/* Parsing settings with a table. */
#include "model/setting.h"

#include "tools/unit.h"

#include <stdbool.h>

struct things {
    bool deep;
    const char *path;
    uint64_t count, pause_ns;
};

static const struct setting settings[] = {
    { "deep", SETTING_FLAG, "yes", offsetof(struct things, deep), "look further" },
    { "path", SETTING_TEXT, NULL, offsetof(struct things, path), "where" },
    { "count", SETTING_U64, "3", offsetof(struct things, count), "how often" },
    { "pause", SETTING_DURATION, "250ms", offsetof(struct things, pause_ns), "how long" },
    { .key = NULL },
};

static void defaults_are_parsed_like_values(void **state)
{
    (void)state;
    struct things things = { 0 };
    assert_int_equal(setting_defaults(settings, &things), OK);
    assert_true(things.deep);
    assert_null(things.path);
    assert_int_equal(things.count, 3);
    assert_int_equal(things.pause_ns, 250000000);
}

static void a_value_replaces_the_default(void **state)
{
    (void)state;
    struct things things = { .deep = true };
    assert_int_equal(setting_apply(settings, &things, "deep", "off"), OK);
    assert_int_equal(setting_apply(settings, &things, "path", "/x"), OK);
    assert_int_equal(setting_apply(settings, &things, "count", "12"), OK);
    assert_false(things.deep);
    assert_string_equal(things.path, "/x");
    assert_int_equal(things.count, 12);
}

static void invalid_values_are_rejected(void **state)
{
    (void)state;
    struct things things = { .count = 5 };
    assert_int_equal(setting_apply(settings, &things, "width", "1"), ABSENT);
    assert_int_equal(setting_apply(settings, &things, "count", "many"), USAGE);
    assert_int_equal(setting_apply(settings, &things, "deep", "perhaps"), USAGE);
    assert_int_equal(setting_apply(NULL, &things, "deep", "yes"), ABSENT);
    assert_int_equal(setting_defaults(NULL, &things), OK);
    assert_int_equal(things.count, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_parsed_like_values),
        cmocka_unit_test(a_value_replaces_the_default),
        cmocka_unit_test(invalid_values_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
