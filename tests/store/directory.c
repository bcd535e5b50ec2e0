/* Which file systems are local. */
#include "store/directory.h"

#include "tools/unit.h"

#include <linux/magic.h>

static void cluster_file_systems_are_shared(void **state)
{
    (void)state;
    assert_true(directory_type_is_shared(NFS_SUPER_MAGIC));
    assert_true(directory_type_is_shared(0x0bd00bd0)); /* Lustre */
    assert_true(directory_type_is_shared(0x47504653)); /* GPFS */
    assert_true(directory_type_is_shared(0x19830326)); /* BeeGFS */
    assert_true(directory_type_is_shared((long)(int)0xff534d42)); /* CIFS, with and without its sign */
    assert_true(directory_type_is_shared(FUSE_SUPER_MAGIC));
    assert_true(directory_type_is_shared(0x12345678));
}

static void local_disks_are_not_shared(void **state)
{
    (void)state;
    assert_false(directory_type_is_shared(EXT4_SUPER_MAGIC));
    assert_false(directory_type_is_shared(XFS_SUPER_MAGIC));
    assert_false(directory_type_is_shared(TMPFS_MAGIC));
    assert_false(directory_type_is_shared((long)(int)BTRFS_SUPER_MAGIC));
    assert_false(directory_is_shared("/dev/shm"));
    assert_true(directory_is_shared("/proc/no/such/file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_file_systems_are_shared),
        cmocka_unit_test(local_disks_are_not_shared),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
