/* Names in directories. */
#include "proc/listing.h"

#include "tools/temp.h"
#include "tools/unit.h"

static void put(const char *directory, const char *name)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, directory, name);
    temp_write(path, "", 0);
}

static void names_are_in_natural_order(void **state)
{
    (void)state;
    struct listing listing = { 0 };
    char directory[TEMP_PATH_MAX];
    static const char *const names[] = { "zone10", "zone2", "other", "zone1", ".zone" };
    temp_dir(directory);
    for (size_t i = 0; i < 5; i++)
        put(directory, names[i]);
    assert_int_equal(listing_read(&listing, "", directory, "zone"), OK);
    assert_int_equal(listing.count, 3);
    assert_string_equal(listing.names[0], "zone1");
    assert_string_equal(listing.names[1], "zone2");
    assert_string_equal(listing.names[2], "zone10");
    assert_int_equal(listing_read(&listing, directory, "/", ""), OK); /* below a root */
    assert_int_equal(listing.count, 4);
    listing_clear(&listing);
    temp_remove(directory);
}

static void many_and_long_names(void **state)
{
    (void)state;
    struct listing listing = { 0 };
    char directory[TEMP_PATH_MAX], name[128];
    temp_dir(directory);
    for (int i = 0; i < 1500; i++) {
        snprintf(name, sizeof name, "a-name-of-some-length-%d", i);
        put(directory, name);
    }
    memset(name, 'x', 100);
    name[100] = '\0';
    put(directory, name);
    assert_int_equal(listing_read(&listing, "", directory, ""), OK);
    assert_int_equal(listing.count, 1500); /* the long one is skipped */
    assert_string_equal(listing.names[1499], "a-name-of-some-length-1499");
    listing_clear(&listing);
    temp_remove(directory);
}

static void a_missing_directory_is_absent(void **state)
{
    (void)state;
    struct listing listing = { 0 };
    assert_int_equal(listing_read(&listing, "", "/nonexistent", ""), ABSENT);
    assert_int_equal(listing.count, 0);
    assert_int_equal(listing_read(&listing, "", "/proc/self/stat", ""), ABSENT); /* a file */
    listing_clear(&listing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_in_natural_order),
        cmocka_unit_test(many_and_long_names),
        cmocka_unit_test(a_missing_directory_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
