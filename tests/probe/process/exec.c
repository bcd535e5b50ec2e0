/* exec and spawn records. */
#include "tools/unit.h"
#include "tools/probed.h"

#include <limits.h>
#include <sys/stat.h>

static struct probed probed;
static char tool[PATH_MAX];

static int open_probed(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    temp_join(path, getenv("TOOLS"), "acts");
    assert_non_null(realpath(path, tool));
    probed_open(&probed);
    return 0;
}

static int close_probed(void **state)
{
    (void)state;
    probed_close(&probed);
    return 0;
}

static void assert_path(struct bytes got, const char *path)
{
    assert_int_equal(got.size, strlen(path));
    assert_memory_equal(got.data, path, got.size);
}

static void every_exec_function(void **state)
{
    (void)state;
    const char *hows[] = { "execv", "execve", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat",
                           "execveat_empty" };
    char path[PATH_MAX + 32], args[64];
    snprintf(path, sizeof path, "PATH=/does/not/exist:%s", getenv("TOOLS"));
    probed.env[0] = path;
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        struct exec_record exec;
        temp_write(probed.spool, "", 0);
        probed_act(&probed, "exec", hows[i]);
        assert_int_equal(probed.status, 0);
        assert_int_equal(probed_count(&probed, RECORD_KIND_exec), 1);
        assert_int_equal(probed_count(&probed, RECORD_KIND_image), 2);
        assert_int_equal(probed_count(&probed, RECORD_KIND_end), 1);
        assert_true(probed_exec(&probed, 0, &exec));
        assert_int_equal(exec.pid, probed.pid);
        assert_int_equal(exec.copied, 1);
        assert_path(exec.path, tool);
        size_t size = (size_t)snprintf(args, sizeof args, "acts%cnothing%c%s", 0, 0, hows[i]) + 1;
        assert_int_equal(exec.args.size, size);
        assert_memory_equal(exec.args.data, args, size);
    }
}

/* burn uses whole milliseconds. */
static void a_chain_of_images_adds_up(void **state)
{
    (void)state;
    probed_act(&probed, "chain", "3");
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 4);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 1);
    struct exec_record exec;
    uint64_t before_us = 0, before_ns = 0;
    for (size_t i = 0; i < 3; i++) {
        assert_true(probed_exec(&probed, i, &exec));
        uint64_t used_us = counters_cpu_us(&exec.self), used_ns = counters_get(&exec.self, COUNTER_time_oncpu);
        assert_true(used_us >= before_us + 19000 && used_us < before_us + 40000);
        assert_true(used_ns >= before_ns + 19000000 && used_ns < before_ns + 40000000);
        assert_true(counters_get(&exec.self, COUNTER_wchar) >= 1000 * (i + 1));
        before_us = used_us;
        before_ns = used_ns;
    }
    struct end_record end;
    assert_true(probed_end(&probed, 0, &end));
    assert_true(counters_cpu_us(&end.self) >= before_us + 19000);
}

/* A file that cannot be executed gives no record, one that looks executable gives two. */
static void execs_that_fail(void **state)
{
    (void)state;
    char bad[TEMP_PATH_MAX];
    struct exec_record exec;
    temp_join(bad, probed.dir, "bad");
    temp_write(bad, "no program", 10);
    assert_int_equal(chmod(bad, 0755), 0);
    probed_act(&probed, "exec_fails", bad);
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_exec), 1);
    assert_int_equal(probed_count(&probed, RECORD_KIND_exec_failed), 1);
    assert_true(probed_exec(&probed, 0, &exec));
    assert_path(exec.path, bad);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 1);
}

static void an_exec_ends_the_other_threads(void **state)
{
    (void)state;
    struct thread_record thread;
    struct exec_record exec;
    probed_act(&probed, "exec_with_threads", NULL);
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 3);
    assert_true(probed_exec(&probed, 0, &exec));
    for (size_t i = 0; i < 3; i++) {
        assert_true(probed_thread(&probed, i, &thread));
        assert_int_equal(thread.alive, 1);
        assert_true(counters_cpu_us(&thread.counters) >= 20000);
    }
    assert_true(counters_cpu_us(&exec.self) >= 60000);
    assert_int_equal(exec.tid, exec.pid);
    assert_true(counters_cpu_us(&exec.thread) < 20000);
    assert_true(counters_has(&exec.whole_io, COUNTER_rchar));
    assert_true(counters_get(&exec.self, COUNTER_time_oncpu) < 20000000); /* of the calling thread only */
}

static void a_vfork_child_that_execs(void **state)
{
    (void)state;
    struct exec_record exec;
    struct image_record image;
    struct end_record end;
    probed_act(&probed, "vfork", "exec");
    assert_int_equal(probed.status, 0);
    assert_true(probed_exec(&probed, 0, &exec));
    assert_int_equal(exec.copied, 0);
    assert_int_equal(exec.ppid, probed.pid);
    assert_path(exec.path, tool);
    assert_true(probed_image(&probed, 1, &image));
    assert_int_equal(image.pid, exec.pid);
    assert_true(probed_end(&probed, 0, &end) && end.pid == exec.pid && end.exit_code == 7);
    assert_true(probed_end(&probed, 1, &end) && end.pid == (uint64_t)probed.pid && end.exit_code == 0);
}

/* Its _exit does not end its parent, whose memory it shares. */
static void a_vfork_child_that_ends(void **state)
{
    (void)state;
    const char *hows[] = { "fail", "end" };
    for (int i = 0; i < 2; i++) {
        struct end_record end;
        struct wait_record wait;
        temp_write(probed.spool, "", 0);
        probed_act(&probed, "vfork", hows[i]);
        assert_int_equal(probed.status, 0);
        assert_int_equal(probed_count(&probed, RECORD_KIND_end), 1);
        assert_true(probed_end(&probed, 0, &end) && end.pid == (uint64_t)probed.pid && end.exit_code == 0);
        assert_true(probed_wait(&probed, 0, &wait) && wait.status == 7 << 8);
    }
}

static void successful_spawns_are_recorded(void **state)
{
    (void)state;
    struct spawn_record spawn;
    struct image_record image;
    probed.env[0] = "PATH=/does/not/exist:/bin";
    probed_act(&probed, "spawn", NULL);
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_spawn), 2);
    assert_true(probed_spawn(&probed, 0, &spawn) && probed_image(&probed, 1, &image));
    assert_int_equal(spawn.ppid, probed.pid);
    assert_int_equal(spawn.pid, image.pid);
    assert_true(spawn.time_ns <= image.time_ns);
    assert_path(spawn.path, tool);
    assert_bytes(spawn.args, "acts\0return\0" "8\0");
    assert_true(probed_spawn(&probed, 1, &spawn));
    assert_path(spawn.path, "/bin/true");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_probed, close_probed)
        TEST(every_exec_function),
        TEST(a_chain_of_images_adds_up),
        TEST(execs_that_fail),
        TEST(an_exec_ends_the_other_threads),
        TEST(a_vfork_child_that_execs),
        TEST(a_vfork_child_that_ends),
        TEST(successful_spawns_are_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
