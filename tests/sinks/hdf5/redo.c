/* Atomic changes of a file, interrupted at any time. */
#include "sinks/hdf5/redo.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX], redo[TEMP_PATH_MAX];
static int fd;
static struct hdf5_pages pages;

static int begin(void **state)
{
    (void)state;
    char text[3 * HDF5_PAGE];
    memset(text, 'a', sizeof text);
    temp_dir(dir);
    temp_join(path, dir, "file");
    temp_join(redo, dir, "file.redo");
    temp_write(path, text, sizeof text);
    fd = open(path, O_RDWR);
    pages = (struct hdf5_pages){ 0 };
    return fd < 0;
}

static int end(void **state)
{
    (void)state;
    hdf5_pages_clear(&pages);
    close(fd);
    temp_remove(dir);
    return 0;
}

static char byte_at(uint64_t at)
{
    char c = 0;
    assert_int_equal(hdf5_pages_pread(fd, at, &c, 1), OK);
    return c;
}

static void hold_changes(void)
{
    assert_int_equal(hdf5_pages_write(&pages, fd, HDF5_PAGE - 1, "bb", 2), OK);
    assert_int_equal(hdf5_pages_write(&pages, fd, 5 * HDF5_PAGE + 7, "c", 1), OK);
    assert_int_equal(hdf5_pages_write(&pages, fd, 0, "d", 1), OK);
}

static void held_back_pages_are_read_but_not_in_the_file(void **state)
{
    (void)state;
    char text[4];
    hold_changes();
    assert_int_equal(pages.count, 3);
    assert_int_equal(hdf5_pages_read(&pages, fd, HDF5_PAGE - 2, text, 4), OK);
    assert_memory_equal(text, "abba", 4);
    assert_int_equal(hdf5_pages_read(&pages, fd, 5 * HDF5_PAGE + 6, text, 3), OK);
    assert_memory_equal(text, "\0c\0", 3);
    assert_int_equal(byte_at(HDF5_PAGE), 'a');
}

static void a_change_is_applied_completely(void **state)
{
    (void)state;
    hold_changes();
    assert_int_equal(hdf5_redo_change(fd, path, &pages, 3 * HDF5_PAGE), OK);
    assert_int_equal(byte_at(0), 'd');
    assert_int_equal(byte_at(HDF5_PAGE), 'b');
    assert_int_equal(byte_at(5 * HDF5_PAGE + 7), 'c');
    assert_int_equal(byte_at(2 * HDF5_PAGE), 'a');
    assert_int_not_equal(access(redo, F_OK), 0);
}

/* Creates what a kill leaves: the first size bytes of a redo file. */
static size_t leave_redo(size_t size)
{
    static char whole[64 * 1024];
    hold_changes();
    /* A read-only descriptor makes the change fail after writing the redo file. */
    int readonly = open(path, O_RDONLY);
    assert_int_not_equal(hdf5_redo_change(readonly, path, &pages, 3 * HDF5_PAGE), OK);
    close(readonly);
    int left = open(redo, O_RDWR);
    assert_true(left >= 0);
    ssize_t got = read(left, whole, sizeof whole);
    assert_true(got > 0);
    if (size < (size_t)got)
        assert_int_equal(ftruncate(left, (off_t)size), 0);
    close(left);
    return (size_t)got;
}

static void a_complete_redo_file_is_applied_again(void **state)
{
    (void)state;
    leave_redo(SIZE_MAX);
    assert_int_equal(byte_at(0), 'a');
    assert_int_equal(hdf5_redo_recover(fd, path), OK);
    assert_int_equal(byte_at(0), 'd');
    assert_int_equal(byte_at(5 * HDF5_PAGE + 7), 'c');
    assert_int_not_equal(access(redo, F_OK), 0);
    assert_int_equal(hdf5_redo_recover(fd, path), OK);
}

static void a_truncated_redo_file_changes_nothing(void **state)
{
    (void)state;
    size_t size = leave_redo(SIZE_MAX);
    for (size_t cut = 0; cut < size; cut += 97) {
        hdf5_pages_clear(&pages);
        leave_redo(cut);
        assert_int_equal(hdf5_redo_recover(fd, path), OK);
        assert_int_equal(byte_at(0), 'a');
        assert_int_equal(byte_at(HDF5_PAGE), 'a');
        assert_int_not_equal(access(redo, F_OK), 0);
    }
}

static void the_redo_of_another_file_is_ignored(void **state)
{
    (void)state;
    char other[TEMP_PATH_MAX];
    leave_redo(SIZE_MAX);
    temp_join(other, dir, "other");
    temp_write(other, "aaaa", 4);
    int other_fd = open(other, O_RDWR);
    assert_int_equal(hdf5_redo_recover(other_fd, path), OK);
    char c = 0;
    assert_int_equal(pread(other_fd, &c, 1, 0), 1);
    assert_int_equal(c, 'a');
    close(other_fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(held_back_pages_are_read_but_not_in_the_file), TEST(a_change_is_applied_completely),
        TEST(a_complete_redo_file_is_applied_again),
        TEST(a_truncated_redo_file_changes_nothing), TEST(the_redo_of_another_file_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
