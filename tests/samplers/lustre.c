/* Lustre mounts of captured nodes, and mounts that come and go. */
#include "samplers/lustre.h"

#include "samplers/all.h"
#include "tools/node.h"
#include "tools/sensing.h"

#include <sys/stat.h>
#include <unistd.h>

static void an_old_client_is_read(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_lustre, node_root("sensors")), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 2);
    assert_int_equal(sensing_u64(&s, "scratch", "read"), 31008331389);
    assert_int_equal(sensing_u64(&s, "scratch", "reads"), 9007);
    assert_int_equal(sensing_u64(&s, "scratch", "read_least"), 1);
    assert_int_equal(sensing_u64(&s, "scratch", "read_most"), 4194304);
    assert_int_equal(sensing_u64(&s, "scratch", "write"), 30994606834);
    assert_int_equal(sensing_u64(&s, "scratch", "writes"), 8998);
    assert_int_equal(sensing_u64(&s, "scratch", "open"), 31003);
    assert_int_equal(sensing_u64(&s, "scratch", "ioctl"), 12); /* comes before the others */
    assert_int_equal(sensing_u64(&s, "scratch", "inode_permission"), 200713);
    assert_null(sensing_find(&s, "scratch", NULL, "rename")); /* never happened: not in the file */
    assert_null(sensing_find(&s, "scratch", NULL, "read_time"));
    sensing_end(&s);
}

static void a_new_client_has_more_columns(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_lustre, node_root("sensors")), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(sensing_u64(&s, "home-x", "read"), 2000); /* the sum, not its squares */
    assert_int_equal(sensing_u64(&s, "home-x", "write"), 550);
    assert_int_equal(sensing_u64(&s, "home-x", "read_time"), 400);
    assert_int_equal(sensing_u64(&s, "home-x", "write_time"), 300);
    assert_int_equal(sensing_u64(&s, "home-x", "open"), 3);
    sensing_end(&s);
}

static void only_matching_mounts_are_read(void **state)
{
    (void)state;
    struct sensing s;
    sensing_init(&s, &sampler_lustre, node_root("sensors"));
    sensing_set(&s, "prefix", "scratch");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 1);
    assert_int_equal(sensing_u64(&s, "scratch", "reads"), 9007);
    sensing_end(&s);
    sensing_init(&s, &sampler_lustre, node_root("sensors"));
    sensing_set(&s, "prefix", "scr");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_read(&s), AGAIN); /* none: a prefix of another name does not match */
    sensing_end(&s);
}

static void damaged_files_give_complete_values_only(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_lustre, node_root("sick")), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 4);
    assert_null(sensing_find(&s, "empty", NULL, "read"));
    assert_int_equal(sensing_u64(&s, "cut", "reads"), 9007);
    assert_null(sensing_find(&s, "cut", NULL, "read"));
    assert_null(sensing_find(&s, "odd", NULL, "reads"));
    assert_null(sensing_find(&s, "odd", NULL, "writes"));
    assert_null(sensing_find(&s, "odd", NULL, "open"));
    assert_null(sensing_find(&s, "odd", NULL, "close"));
    assert_int_equal(sensing_u64(&s, "plain", "open"), 5);
    sensing_end(&s);
}

static void names_lose_their_suffix(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "scratch-ffff9d1c8a5b7000", "scratch" }, { "my-fs-0123456789abcdef", "my-fs" }, { "plain", "plain" },
        { "work-beef", "work-beef" }, { "a-b-c", "a-b-c" }, { "-ffff9d1c8a5b7000", "-ffff9d1c8a5b7000" }, { "", "" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char name[LUSTRE_NAME_MAX];
        lustre_file_system(pairs[i][0], name);
        assert_string_equal(name, pairs[i][1]);
    }
}

#define LLITE "proc/fs/lustre/llite"

static void mounts_come_and_go(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    temp_dir(root);
    sensing_put(root, LLITE "/a-ffff000000000001/stats", "open 1 samples [regs]\n");
    sensing_put(root, LLITE "/a-ffff000000000002/stats", "open 2 samples [regs]\n");
    assert_int_equal(sensing_begin(&s, &sampler_lustre, root), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 2); /* mounted twice */
    assert_int_equal(sensing_u64(&s, "a", "open"), 1);
    assert_int_equal(sensing_u64(&s, "a-ffff000000000002", "open"), 2);

    temp_join(path, root, LLITE "/a-ffff000000000001/stats");
    unlink(path);
    assert_int_equal(mkdir(path, 0755), 0); /* the next one to be opened cannot be read: like a removed one */
    sensing_end(&s);
    assert_int_equal(sensing_begin(&s, &sampler_lustre, root), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 1);
    sensing_put(root, LLITE "/b-ffff000000000003/stats", "open 3 samples [regs]\n");
    assert_int_equal(sensing_read(&s), OK); /* it failed, so it is looked for again */
    assert_int_equal(sensing_u64(&s, "b", "open"), 3);
    sensing_end(&s);
    temp_remove(root);
}

static void without_lustre_it_is_absent_and_without_mounts_silent(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    assert_int_equal(sensing_begin(&s, &sampler_lustre, "/nonexistent"), ABSENT);
    temp_dir(root);
    sensing_put(root, LLITE "/x", "");
    assert_int_equal(sensing_begin(&s, &sampler_lustre, root), OK);
    assert_int_equal(sensing_read(&s), AGAIN);
    sensing_end(&s);
    temp_remove(root);
    if (access("/proc/fs/lustre", F_OK) != 0 && access("/sys/fs/lustre", F_OK) != 0)
        assert_int_equal(sensing_begin(&s, &sampler_lustre, ""), ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_client_is_read),
        cmocka_unit_test(a_new_client_has_more_columns),
        cmocka_unit_test(only_matching_mounts_are_read),
        cmocka_unit_test(damaged_files_give_complete_values_only),
        cmocka_unit_test(names_lose_their_suffix),
        cmocka_unit_test(mounts_come_and_go),
        cmocka_unit_test(without_lustre_it_is_absent_and_without_mounts_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
