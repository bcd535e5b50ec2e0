/* State files are replaced atomically. */
#include "base/state_file.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <unistd.h>

static void files_are_replaced_atomically(void **state)
{
    (void)state;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct buf file, again;
    temp_dir(dir);
    temp_join(path, dir, "kept");
    buf_init(&file, 1000);
    buf_init(&again, 1u << 20);
    assert_int_equal(state_file_read(path, &again), ABSENT);
    for (int i = 0; i < 2; i++) {
        buf_add_text(&file, "some more ");
        assert_int_equal(state_file_write(path, &file), OK);
        buf_reset(&again);
        assert_int_equal(state_file_read(path, &again), OK);
        assert_int_equal(again.size, file.size);
        assert_memory_equal(again.data, file.data, file.size);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/proc/self/status", path), 0);
    assert_int_equal(state_file_read(path, &again), ABSENT);
    while (!file.failed)
        buf_add_text(&file, "more than it can take ");
    assert_int_equal(state_file_write(path, &file), FULL);
    buf_clear(&file);
    buf_clear(&again);
    temp_remove(dir);
}

static void the_boot_id_is_known(void **state)
{
    (void)state;
    char one[STATE_FILE_BOOT_ID_MAX], other[STATE_FILE_BOOT_ID_MAX];
    state_file_boot_id(one);
    state_file_boot_id(other);
    assert_int_equal(strlen(one), 36);
    assert_string_equal(one, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_replaced_atomically), cmocka_unit_test(the_boot_id_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
