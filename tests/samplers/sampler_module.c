/* Loading samplers from shared libraries. */
#include "samplers/sampler_module.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <unistd.h>

static char error[512];

static enum err load(const char *directory, const char *name)
{
    const struct sampler *sampler;
    char before[4096];
    const char *was = getenv("SONDE_MODULES");
    snprintf(before, sizeof before, "%s", was ? was : "");
    setenv("SONDE_MODULES", directory, 1);
    enum err err = sampler_module_load(name, &sampler, error, sizeof error);
    setenv("SONDE_MODULES", before, 1);
    return err;
}

static void a_missing_module_is_named(void **state)
{
    (void)state;
    assert_int_equal(load("/nonexistent", "windmill"), ABSENT);
    assert_string_equal(error, "sample-windmill.so is not installed");
}

static void a_module_of_another_version_is_rejected(void **state)
{
    (void)state;
    assert_int_equal(load(getenv("TOOLS"), "old"), CORRUPT);
    assert_non_null(strstr(error, "another version of Sonde"));
    assert_int_equal(load(getenv("TOOLS"), "odd"), CORRUPT);
}

static void a_file_that_is_not_a_library_is_rejected(void **state)
{
    (void)state;
    char directory[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    temp_dir(directory);
    temp_join(path, directory, "sample-text.so");
    temp_write(path, "no library", 10);
    assert_int_equal(load(directory, "text"), ABSENT);
    assert_non_null(strstr(error, "cannot load sample-text.so"));
    temp_remove(directory);
}

static void a_library_that_is_not_a_module_is_rejected(void **state)
{
    (void)state;
    char directory[TEMP_PATH_MAX], path[TEMP_PATH_MAX], library[4096];
    temp_dir(directory);
    temp_join(path, directory, "sample-other.so");
    snprintf(library, sizeof library, "%s/libnvidia-ml.so.1", getenv("TOOLS"));
    assert_int_equal(symlink(library, path), 0);
    assert_int_equal(load(directory, "other"), CORRUPT);
    temp_remove(directory);
}

static void the_real_module_loads(void **state)
{
    (void)state;
    const struct sampler *sampler = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/sample-ipmi.so", getenv("SONDE_MODULES"));
    if (access(path, R_OK) != 0)
        leave_out("built without freeipmi");
    assert_int_equal(sampler_module_load("ipmi", &sampler, NULL, 0), OK);
    assert_string_equal(sampler->name, "ipmi");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_module_is_named),
        cmocka_unit_test(a_module_of_another_version_is_rejected),
        cmocka_unit_test(a_file_that_is_not_a_library_is_rejected),
        cmocka_unit_test(a_library_that_is_not_a_module_is_rejected),
        cmocka_unit_test(the_real_module_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
