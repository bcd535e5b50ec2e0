/* Delay accounting of kernels before and after Linux 5.14. */
#include "proc/delay_accounting.h"

#include "proc/taskstats_exits.h"
#include "tools/sensing.h"

static char root[TEMP_PATH_MAX];

/* An old kernel with readable schedstat and cmdline. */
static int setup(void **state)
{
    (void)state;
    temp_dir(root);
    sensing_put(root, "proc/sys/kernel/osrelease", "4.18.0-553.el8_10.x86_64\n");
    sensing_put(root, "proc/self/schedstat", "1234 5 6\n");
    sensing_put(root, "proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    temp_remove(root);
    return 0;
}

static void take_away(const char *name)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, root, name);
    assert_int_equal(remove(path), 0);
}

static void the_sysctl_is_read(void **state)
{
    (void)state;
    sensing_put(root, "proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    sensing_put(root, "proc/sys/kernel/task_delayacct", "0\n");
    assert_int_equal(delay_accounting_read(root), DELAY_ACCOUNTING_OFF);
    sensing_put(root, "proc/sys/kernel/task_delayacct", "1\n");
    assert_int_equal(delay_accounting_read(root), DELAY_ACCOUNTING_ON);
    sensing_put(root, "proc/sys/kernel/osrelease", "4.18.0\n"); /* backported to an old kernel */
    sensing_put(root, "proc/sys/kernel/task_delayacct", "0\n");
    assert_int_equal(delay_accounting_read(root), DELAY_ACCOUNTING_OFF);
}

static void without_a_sysctl_it_is_on(void **state)
{
    (void)state;
    static const char *const old[] = { "4.18.0-553.el8_10.x86_64\n", "5.13.19\n", "2.6.32\n", "5.4-generic\n" };
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        sensing_put(root, "proc/sys/kernel/osrelease", old[i]);
        assert_int_equal(delay_accounting_read(root), DELAY_ACCOUNTING_ON);
    }
}

static void nodelayacct_switches_it_off(void **state)
{
    (void)state;
    static const char *const with[] = { "nodelayacct\n", "ro nodelayacct quiet\n", "ro  nodelayacct", "ro nodelayacct\n",
                                        "ro nodelayacct=1\n", "nodelayacct2\n" };
    static const char *const without[] = { "", "\n", "delayacct\n", "nodelayac\n", "x.nodelayacct=1\n" };
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        sensing_put(root, "proc/cmdline", with[i]);
        assert_int_equal(delay_accounting_read(root), DELAY_ACCOUNTING_OFF_AT_BOOT);
    }
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        sensing_put(root, "proc/cmdline", without[i]);
        assert_int_equal(delay_accounting_read(root), DELAY_ACCOUNTING_ON);
    }
}

/* Zeros would be taken for measurements. */
static void an_unknown_state_is_unavailable(void **state)
{
    (void)state;
    static const char *const newer[] = { "5.14.0-427.el9.x86_64\n", "6.18.0\n", "10.1\n", "strange\n", "4\n", "" };
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
        sensing_put(root, "proc/sys/kernel/osrelease", newer[i]);
        assert_int_equal(delay_accounting_read(root), DELAY_ACCOUNTING_UNAVAILABLE); /* built without it */
    }
    sensing_put(root, "proc/sys/kernel/osrelease", "4.18.0\n");
    assert_int_equal(delay_accounting_read(root), DELAY_ACCOUNTING_ON);
    take_away("proc/cmdline");
    assert_int_equal(delay_accounting_read(root), DELAY_ACCOUNTING_UNAVAILABLE);
    sensing_put(root, "proc/cmdline", "ro\n");
    take_away("proc/self/schedstat");
    assert_int_equal(delay_accounting_read(root), DELAY_ACCOUNTING_UNAVAILABLE);
}

static void accounting_follows_the_kernel_settings(void **state)
{
    (void)state;
    struct taskstats_accounting context = { 0 };
    taskstats_accounting_read(&context, root);
    assert_true(context.delays);
    assert_false(context.io);
    sensing_put(root, "proc/cmdline", "nodelayacct\n");
    sensing_put(root, "proc/self/io", "rchar: 1\n");
    taskstats_accounting_read(&context, root);
    assert_false(context.delays);
    assert_true(context.io);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_sysctl_is_read),
        TEST(without_a_sysctl_it_is_on),
        TEST(nodelayacct_switches_it_off),
        TEST(an_unknown_state_is_unavailable),
        TEST(accounting_follows_the_kernel_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
