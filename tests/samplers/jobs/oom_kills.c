/* OOM kills of a v1 cgroup and those below it, also after they were removed. */
#include "samplers/jobs/oom_kills.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <stdio.h>
#include <sys/stat.h>

static char root[TEMP_PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    temp_dir(root);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_remove(root);
    return 0;
}

static void write_group(const char *below, const char *text)
{
    char path[TEMP_PATH_MAX + 64];
    snprintf(path, sizeof path, "%s%s/memory.oom_control", root, below);
    temp_write(path, text, strlen(text));
}

static uint64_t total(struct oom_kills *kills)
{
    uint64_t number;
    assert_int_equal(oom_kills_read(kills, root, &number), OK);
    return number;
}

static void kills_below_are_added(void **state)
{
    (void)state;
    struct oom_kills kills = { 0 };
    char path[TEMP_PATH_MAX + 64];
    write_group("", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    assert_int_equal(total(&kills), 0);
    write_group("/step_0", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    write_group("/step_0/task_0", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    assert_int_equal(total(&kills), 3);
    assert_int_equal(total(&kills), 3);
    write_group("/step_0/task_0", "oom_kill_disable 0\nunder_oom 1\noom_kill 4\n");
    assert_int_equal(total(&kills), 5);
    snprintf(path, sizeof path, "%s/step_0", root);
    temp_remove(path);
    assert_int_equal(total(&kills), 5);
    write_group("/step_1/task_0", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    write_group("/step_1", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    assert_int_equal(total(&kills), 6);
    oom_kills_clear(&kills);
}

static void an_old_kernel_does_not_count(void **state)
{
    (void)state;
    struct oom_kills kills = { 0 };
    uint64_t number;
    assert_int_equal(oom_kills_read(&kills, root, &number), ABSENT);
    write_group("", "oom_kill_disable 0\nunder_oom 0\n");
    assert_int_equal(oom_kills_read(&kills, root, &number), ABSENT);
    oom_kills_clear(&kills);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kills_below_are_added, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_old_kernel_does_not_count, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
