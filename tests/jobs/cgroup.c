/* Finds the cgroups of a process in v1 and v2. */
#include "jobs/cgroup.h"

#include "tools/node.h"
#include "tools/unit.h"

static void a_controller_is_found_among_others(void **state)
{
    (void)state;
    char path[CGROUP_PATH_MAX];
    const char *text = "9:cpuset:/a\n4:cpu,cpuacct:/b/c\n1:name=systemd:/d:e\n0::/u\n";
    assert_int_equal(cgroup_parse_membership(text, "cpu", path), OK);
    assert_string_equal(path, "/b/c");
    assert_int_equal(cgroup_parse_membership(text, "cpuacct", path), OK);
    assert_string_equal(path, "/b/c");
    assert_int_equal(cgroup_parse_membership(text, NULL, path), OK);
    assert_string_equal(path, "/u");
    assert_int_equal(cgroup_parse_membership(text, "name=systemd", path), OK);
    assert_string_equal(path, "/d:e");
    assert_int_equal(cgroup_parse_membership(text, "memory", path), ABSENT);
    assert_int_equal(cgroup_parse_membership("", NULL, path), ABSENT);
    assert_int_equal(cgroup_parse_membership("0:", NULL, path), ABSENT);
}

static void the_top_is_an_empty_path(void **state)
{
    (void)state;
    char path[CGROUP_PATH_MAX] = "x";
    assert_int_equal(cgroup_parse_membership("0::/\n", NULL, path), OK);
    assert_string_equal(path, "");
}

static void mounts_are_distinguished_by_their_options(void **state)
{
    (void)state;
    char mount[CGROUP_PATH_MAX], root[CGROUP_PATH_MAX];
    const char *text = "1 0 8:1 / / rw - ext4 /dev/sda1 rw,cpu\n"
                       "2 1 0:2 / /cg/cpuset rw - cgroup cgroup rw,cpuset\n"
                       "3 1 0:3 /docker/1 /cg/cpu\\040x rw shared:1 master:2 - cgroup cgroup rw,cpuacct,cpu\n"
                       "4 1 0:4 / /cg/unified rw - cgroup2 none rw\n";
    assert_int_equal(cgroup_parse_mount(text, "cpu", mount, root), OK);
    assert_string_equal(mount, "/cg/cpu x");
    assert_string_equal(root, "/docker/1");
    assert_int_equal(cgroup_parse_mount(text, NULL, mount, root), OK);
    assert_string_equal(mount, "/cg/unified");
    assert_string_equal(root, "");
    assert_int_equal(cgroup_parse_mount(text, "memory", mount, root), ABSENT);
}

static void a_container_sees_its_part_of_the_path(void **state)
{
    (void)state;
    struct cgroup cgroup;
    assert_int_equal(cgroup_find(node_root("container"), "cpu", &cgroup), OK);
    assert_string_equal(cgroup.path, "/step");
    assert_false(cgroup.unified);
    assert_int_equal(cgroup_find(node_root("container"), NULL, &cgroup), ABSENT);
}

static void the_top_has_no_parent(void **state)
{
    (void)state;
    struct cgroup cgroup;
    int steps = 0;
    assert_int_equal(cgroup_find(node_root("big"), NULL, &cgroup), OK);
    while (cgroup_up(&cgroup))
        steps++;
    assert_int_equal(steps, 6);
    assert_string_equal(cgroup.path, "");
    assert_false(cgroup_up(&cgroup));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_controller_is_found_among_others),
        cmocka_unit_test(the_top_is_an_empty_path),
        cmocka_unit_test(mounts_are_distinguished_by_their_options),
        cmocka_unit_test(a_container_sees_its_part_of_the_path),
        cmocka_unit_test(the_top_has_no_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
