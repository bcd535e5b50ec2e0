/* Where the spool is created, and where it must not be. */
#include "run/spool_dir.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX], fault[PATH_MAX], tmp_before[PATH_MAX];

static int make_dir(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(tmp_before, sizeof tmp_before, "%s", tmp ? tmp : "/tmp");
    temp_dir(dir);
    setenv("TMPDIR", dir, 1);
    umask(022);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    umask(022);
    setenv("TMPDIR", tmp_before, 1);
    temp_remove(dir);
    return 0;
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void user_dir(char path[TEMP_PATH_MAX])
{
    char name[64];
    snprintf(name, sizeof name, "sonde-%u", (unsigned)geteuid());
    temp_join(path, dir, name);
}

static void only_the_user_has_access(void **state)
{
    (void)state;
    struct spool_dir spool;
    char user[TEMP_PATH_MAX];
    struct stat st;
    umask(0);
    assert_int_equal(spool_dir_create(&spool, NULL, "host.1-2-3", fault), OK);
    umask(022);
    user_dir(user);
    assert_int_equal(mode_of(user), 0700);
    assert_int_equal(mode_of(spool.dir), 0700);
    assert_int_equal(mode_of(spool.spool), 0600);
    assert_int_equal(mode_of(spool.lost), 0600);
    assert_int_equal(stat(spool.lost, &st), 0);
    assert_int_equal(st.st_size, 8);
    assert_non_null(strstr(spool.dir, "/spool/1-2-3"));
    assert_non_null(strstr(spool.spool, "/host.1-2-3.spool"));
    spool_dir_remove(&spool);
    assert_int_equal(access(spool.dir, F_OK), -1);
}

static void the_umask_does_not_matter(void **state)
{
    (void)state;
    struct spool_dir spool;
    umask(0777);
    assert_int_equal(spool_dir_create(&spool, NULL, "host.1-2-3", fault), OK);
    umask(022);
    assert_int_equal(mode_of(spool.dir), 0700);
    assert_int_equal(mode_of(spool.spool), 0600);
    spool_dir_remove(&spool);
}

static void a_planted_link_is_refused(void **state)
{
    (void)state;
    struct spool_dir spool;
    char user[TEMP_PATH_MAX], elsewhere[TEMP_PATH_MAX];
    user_dir(user);
    temp_join(elsewhere, dir, "elsewhere");
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(symlink(elsewhere, user), 0);
    assert_int_equal(spool_dir_create(&spool, NULL, "host.1-2-3", fault), DENIED);
    assert_string_equal(fault, user);
    assert_int_equal(rmdir(elsewhere), 0); /* nothing was created in it */
}

static void a_directory_of_another_user_is_refused(void **state)
{
    (void)state;
    struct spool_dir spool;
    char user[TEMP_PATH_MAX];
    user_dir(user);
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(user, 0777), 0);
    assert_int_equal(chown(user, 65534, 65534), 0);
    assert_int_equal(spool_dir_create(&spool, NULL, "host.1-2-3", fault), DENIED);
}

static void a_directory_writable_by_others_is_refused(void **state)
{
    (void)state;
    struct spool_dir spool;
    char user[TEMP_PATH_MAX];
    user_dir(user);
    assert_int_equal(mkdir(user, 0777), 0);
    assert_int_equal(chmod(user, 0777), 0);
    assert_int_equal(spool_dir_create(&spool, NULL, "host.1-2-3", fault), DENIED);
}

static void a_file_in_the_way_is_refused(void **state)
{
    (void)state;
    struct spool_dir spool;
    char user[TEMP_PATH_MAX];
    user_dir(user);
    temp_write(user, "x", 1);
    assert_int_equal(spool_dir_create(&spool, NULL, "host.1-2-3", fault), DENIED);
}

static void a_chosen_directory_is_created_and_may_be_shared(void **state)
{
    (void)state;
    struct spool_dir first, second;
    char wish[TEMP_PATH_MAX];
    temp_join(wish, dir, "wish");
    assert_int_equal(spool_dir_create(&first, wish, "a.1-2-3", fault), OK);
    assert_int_equal(spool_dir_create(&second, wish, "b.1-2-3", fault), OK);
    assert_string_equal(first.dir, second.dir);
    assert_true(first.created_dir);
    assert_false(second.created_dir);
    spool_dir_remove(&second);
    assert_int_equal(access(first.spool, F_OK), 0);
    spool_dir_remove(&first);
    assert_int_equal(access(wish, F_OK), -1);
}

static void a_relative_directory_becomes_absolute(void **state)
{
    (void)state;
    struct spool_dir spool;
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(spool_dir_create(&spool, "here", "a.1-2-3", fault), OK);
    assert_int_equal(spool.spool[0], '/');
    spool_dir_remove(&spool);
    assert_int_equal(chdir("/"), 0);
}

static void an_impossible_directory_is_reported(void **state)
{
    (void)state;
    struct spool_dir spool;
    assert_int_equal(spool_dir_create(&spool, "/proc/no/such/place", "a.1-2-3", fault), ABSENT);
    assert_string_equal(fault, "/proc/no/such/place");
}

static void parents_of_the_directory_are_created(void **state)
{
    (void)state;
    struct spool_dir spool;
    char wish[TEMP_PATH_MAX];
    temp_join(wish, dir, "a/b/c");
    assert_int_equal(spool_dir_create(&spool, wish, "a.1-2-3", fault), OK);
    assert_int_equal(access(spool.spool, F_OK), 0);
    spool_dir_remove(&spool);
}

static void a_path_that_is_not_a_directory_is_reported(void **state)
{
    (void)state;
    struct spool_dir spool;
    char file[TEMP_PATH_MAX], below[TEMP_PATH_MAX];
    temp_join(file, dir, "file");
    temp_join(below, dir, "file/a/b");
    temp_write(file, "x", 1);
    assert_int_equal(spool_dir_create(&spool, file, "a.1-2-3", fault), USAGE);
    assert_int_equal(spool_dir_create(&spool, below, "a.1-2-3", fault), USAGE);
    assert_non_null(strstr(spool_dir_reason(USAGE), "not a directory"));
}

static void run_ids_differ_and_are_file_names(void **state)
{
    (void)state;
    char first[RUN_ID_MAX], second[RUN_ID_MAX];
    spool_dir_run_id("../no de", first);
    spool_dir_run_id("../no de", second);
    assert_string_not_equal(first, second);
    assert_null(strchr(first, '/'));
    assert_null(strchr(first, ' '));
    assert_int_not_equal(first[0], '.');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_user_has_access, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_umask_does_not_matter, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_planted_link_is_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_directory_of_another_user_is_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_directory_writable_by_others_is_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_file_in_the_way_is_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_chosen_directory_is_created_and_may_be_shared, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_relative_directory_becomes_absolute, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(an_impossible_directory_is_reported, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(parents_of_the_directory_are_created, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_path_that_is_not_a_directory_is_reported, make_dir, remove_dir),
        cmocka_unit_test(run_ids_differ_and_are_file_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
