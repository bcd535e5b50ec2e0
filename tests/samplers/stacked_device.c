/* Detection of stacked block devices. */
#include "samplers/stacked_device.h"

#include "tools/sensing.h"

#include <sys/stat.h>

static void stacked_devices_are_detected(void **state)
{
    (void)state;
    char root[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    temp_dir(root);
    sensing_put(root, "sys/block/sda/size", "8\n");
    temp_join(path, root, "sys/block/sda/slaves");
    assert_int_equal(mkdir(path, 0755), 0);
    sensing_put(root, "sys/block/dm-0/slaves/sda/dev", "8:0\n");
    sensing_put(root, "sys/block/loop0/loop/backing_file", "/images/a.sif\n");
    sensing_put(root, "sys/block/loop1/size", "0\n");
    assert_false(stacked_device_check(root, "/sys/block/sda"));
    assert_true(stacked_device_check(root, "/sys/block/dm-0"));
    assert_true(stacked_device_check(root, "/sys/block/loop0"));
    assert_false(stacked_device_check(root, "/sys/block/loop1")); /* nothing is attached */
    assert_false(stacked_device_check(root, "/sys/block/sdz"));
    assert_false(stacked_device_check("/nonexistent", "/sys/block/dm-0"));
    temp_remove(root);
}

static void too_long_names_do_not_exist(void **state)
{
    (void)state;
    char directory[400];
    memset(directory, 'x', sizeof directory - 1);
    directory[0] = '/';
    directory[sizeof directory - 1] = '\0';
    assert_false(stacked_device_check("", directory));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacked_devices_are_detected),
        cmocka_unit_test(too_long_names_do_not_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
