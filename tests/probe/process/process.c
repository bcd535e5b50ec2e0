/* Image, fork and end records. */
#include "tools/unit.h"
#include "tools/probed.h"
#include "spool/probe_env.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct probed probed;

static int open_probed(void **state)
{
    (void)state;
    probed_open(&probed);
    return 0;
}

static int close_probed(void **state)
{
    (void)state;
    probed_close(&probed);
    return 0;
}

static void assert_status(int status)
{
    assert_int_equal(probed.status, status);
    assert_int_equal(probed_lost(&probed), 0);
    assert_int_equal(probed.reader.damaged_bytes, 0);
}

static void an_image_record_has_its_identity(void **state)
{
    (void)state;
    char cwd[PATH_MAX], path[PATH_MAX], tool[TEMP_PATH_MAX];
    struct image_record image;
    temp_join(tool, getenv("TOOLS"), "acts");
    probed.env[0] = "SONDE_TAGS=a:1";
    probed.env[1] = "PAPIEX_TAGS=b:2;c:3";
    probed_act(&probed, "return", "0");
    assert_status(0);
    assert_true(probed_image(&probed, 0, &image));
    assert_int_equal(image.pid, probed.pid);
    assert_int_equal(image.ppid, getpid());
    assert_int_equal(image.pgid, getpgrp());
    assert_int_equal(image.sid, getsid(0));
    assert_int_equal(image.uid, getuid());
    assert_true(image.start_ticks > 0);
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(image.cwd.size, strlen(cwd));
    assert_memory_equal(image.cwd.data, cwd, image.cwd.size);
    assert_non_null(realpath(tool, path));
    assert_int_equal(image.path.size, strlen(path));
    assert_memory_equal(image.path.data, path, image.path.size);
    assert_bytes(image.tags, "a:1;b:2;c:3");
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 1);
}

static void one_kind_of_tags_alone(void **state)
{
    (void)state;
    struct image_record image;
    probed.env[0] = "PAPIEX_TAGS=b:2";
    probed_act(&probed, "nothing", NULL);
    assert_true(probed_image(&probed, 0, &image));
    assert_bytes(image.tags, "b:2");
}

static void arguments_may_be_any_bytes(void **state)
{
    (void)state;
    char tool[TEMP_PATH_MAX], *large = malloc(100001);
    struct image_record image;
    temp_join(tool, getenv("TOOLS"), "acts");
    memset(large, 'x', 100000);
    large[100000] = '\0';
    probed_program(&probed, (char *[]){ tool, "nothing", "", "new\nline", "\xff\xfe\x80", large, "last", NULL });
    assert_status(0);
    assert_true(probed_image(&probed, 0, &image));
    const char *at = image.args.data + strlen(tool) + 1;
    assert_memory_equal(at, "nothing\0\0new\nline\0\xff\xfe\x80\0xxx", 25);
    assert_int_equal(image.args.size, strlen(tool) + 1 + 8 + 1 + 9 + 4 + 100001 + 5);
    assert_memory_equal(image.args.data + image.args.size - 6, "\0last", 6);
    free(large);
}

static void arguments_of_a_megabyte_and_a_half(void **state)
{
    (void)state;
    char tool[TEMP_PATH_MAX], *large = malloc(125001), *argv[15];
    struct image_record image;
    temp_join(tool, getenv("TOOLS"), "acts");
    memset(large, 'y', 125000);
    large[125000] = '\0';
    argv[0] = tool, argv[1] = "nothing", argv[14] = NULL;
    for (int i = 2; i < 14; i++)
        argv[i] = large;
    probed_program(&probed, argv);
    assert_status(0);
    assert_true(probed_image(&probed, 0, &image));
    assert_int_equal(image.args.size, strlen(tool) + 1 + 8 + 12 * 125001);
    free(large);
}

static void every_end_has_one_record(void **state)
{
    (void)state;
    struct end_record end;
    char tool[TEMP_PATH_MAX];
    const char *hows[] = { "return", "exit", "_exit", "thread" };
    temp_join(tool, getenv("TOOLS"), "ends");
    for (size_t i = 0; i < 4; i++) {
        temp_write(probed.spool, "", 0);
        probed_program(&probed, (char *[]){ tool, (char *)hows[i], "42", NULL });
        assert_status(42 << 8);
        assert_int_equal(probed_count(&probed, RECORD_KIND_end), 1);
        assert_true(probed_end(&probed, 0, &end));
        assert_int_equal(end.pid, probed.pid);
        assert_int_equal(end.exit_code, 42);
    }
    temp_write(probed.spool, "", 0);
    probed_act(&probed, "quick_exit", "43");
    assert_status(43 << 8);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 1);
}

static uint64_t near(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void an_end_agrees_with_the_wait(void **state)
{
    (void)state;
    struct end_record end;
    probed_act(&probed, "burn", "100");
    assert_true(probed_end(&probed, 0, &end));
    uint64_t used_us = (uint64_t)probed.usage.ru_utime.tv_sec * 1000000 + (uint64_t)probed.usage.ru_utime.tv_usec +
                       (uint64_t)probed.usage.ru_stime.tv_sec * 1000000 + (uint64_t)probed.usage.ru_stime.tv_usec;
    assert_true(used_us > 100000);
    assert_true(near(counters_cpu_us(&end.self), used_us) < 2000); /* what the kernel does after our last reading */
    assert_true(near(counters_cpu_us(&end.main), used_us) < 2000);
    assert_true(near(counters_get(&end.main, COUNTER_time_oncpu) / 1000, used_us) < 2000);
    assert_true(end.rss_is_own); /* less than what the kernel reports to us: that includes the copy of us before exec */
    assert_in_range(counters_get(&end.self, COUNTER_rssmax), 500, (uint64_t)probed.usage.ru_maxrss + 256);
    assert_int_equal(end.threads, 1);
    assert_int_equal(counters_get(&end.main, COUNTER_num_threads), 1);
    assert_true(counters_get(&end.main, COUNTER_starttime) > 0);
    enum counter known[] = { COUNTER_processor, COUNTER_guest_time, COUNTER_cutime, COUNTER_rchar, COUNTER_write_bytes,
                             COUNTER_time_waiting, COUNTER_timeslices, COUNTER_vol_ctxsw };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(counters_has(&end.main, known[i]));
    assert_false(counters_has(&end.main, COUNTER_delayacct_blkio_time)); /* the flag for delay accounting is not set */
}

/* Reads "name: number" of /proc/self/io as printed by the program. */
static uint64_t io_number(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    assert_non_null(at);
    return strtoull(at + strlen(name) + 2, NULL, 10);
}

static void io_is_the_programs_own(void **state)
{
    (void)state;
    char text[512], tool[TEMP_PATH_MAX];
    struct end_record end;
    temp_join(tool, getenv("TOOLS"), "acts");
    probed_bare(&probed, (char *[]){ tool, "io", "print", NULL });
    assert_true(probed_output(&probed, text, sizeof text) > 0);
    probed_program(&probed, (char *[]){ tool, "io", "quiet", NULL });
    assert_status(0);
    assert_true(probed_end(&probed, 0, &end));
    assert_int_equal(counters_get(&end.main, COUNTER_rchar), io_number(text, "rchar"));
    assert_int_equal(counters_get(&end.main, COUNTER_wchar), io_number(text, "wchar"));
    assert_int_equal(counters_get(&end.main, COUNTER_syscr), io_number(text, "syscr"));
    assert_int_equal(counters_get(&end.main, COUNTER_syscw), io_number(text, "syscw") + 1); /* of no bytes */
    assert_int_equal(counters_get(&end.whole_io, COUNTER_wchar), counters_get(&end.main, COUNTER_wchar));
}

static void the_child_records_a_fork(void **state)
{
    (void)state;
    struct fork_record child;
    struct end_record end;
    probed_act(&probed, "fork", NULL);
    assert_status(0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_fork), 1);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 1);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 2);
    assert_true(probed_fork(&probed, 0, &child));
    assert_int_equal(child.ppid, probed.pid);
    assert_true(probed_end(&probed, 0, &end));
    assert_int_equal(end.pid, child.pid);
    assert_int_equal(end.exit_code, 3);
    assert_true(counters_cpu_us(&end.self) < 50000);
}

static void a_fork_in_a_thread_resets_the_state(void **state)
{
    (void)state;
    struct end_record child, parent;
    struct thread_record thread;
    probed_act(&probed, "fork_in_thread", NULL);
    assert_status(0);
    assert_true(probed_end(&probed, 0, &child) && probed_end(&probed, 1, &parent));
    assert_int_equal(child.threads, 1);
    assert_int_equal(parent.threads, 2);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 1);
    assert_true(probed_thread(&probed, 0, &thread));
    assert_int_equal(thread.pid, probed.pid);
}

static void the_end_after_the_main_thread(void **state)
{
    (void)state;
    struct end_record end;
    struct thread_record thread;
    probed_act(&probed, "main_first", NULL);
    assert_status(0);
    assert_true(probed_end(&probed, 0, &end));
    uint64_t main_us = counters_cpu_us(&end.main);
    assert_true(main_us > 20000 && main_us < 40000);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 1);
    assert_true(probed_thread(&probed, 0, &thread));
    assert_true(thread.tid != thread.pid);
    assert_true(near(main_us + counters_cpu_us(&thread.counters), counters_cpu_us(&end.self)) < 2000);
}

/* Number of images recorded. number: of the pid namespace; holder: our pid in it; held: whether we lock the spool. */
static size_t images_with(uint64_t number, int holder, bool held)
{
    char env[64];
    snprintf(env, sizeof env, PROBE_ENV_FLAGS "=%c%ju%c%d", PROBE_FLAG_NAMESPACE, (uintmax_t)number, PROBE_FLAG_LOCK_HOLDER,
             holder);
    size_t before = probed.count;
    probed.env[0] = env;
    int fd = open(probed.spool, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    if (held)
        assert_int_equal(spool_hold(fd), OK);
    probed_act(&probed, "nothing", NULL);
    close(fd);
    assert_status(0);
    return probed.count - before;
}

/* The holder of the spool's lock decides, and /proc only if there is none. */
static void a_process_in_another_namespace_is_not_recorded(void **state)
{
    (void)state;
    struct stat st;
    int fd = open(probed.spool, O_RDWR | O_CLOEXEC);
    enum err err = spool_hold(fd);
    close(fd);
    if (err != OK)
        leave_out("no lock on files of this file system");
    assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
    assert_true(images_with(1, getpid(), true));
    assert_false(images_with(st.st_ino, getpid() + 1, true));
    assert_true(images_with(st.st_ino, getpid(), false));
    assert_false(images_with(1, getpid(), false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_probed, close_probed)
        TEST(an_image_record_has_its_identity),
        TEST(one_kind_of_tags_alone),
        TEST(arguments_may_be_any_bytes),
        TEST(arguments_of_a_megabyte_and_a_half),
        TEST(every_end_has_one_record),
        TEST(an_end_agrees_with_the_wait),
        TEST(io_is_the_programs_own),
        TEST(the_child_records_a_fork),
        TEST(a_fork_in_a_thread_resets_the_state),
        TEST(the_end_after_the_main_thread),
        TEST(a_process_in_another_namespace_is_not_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
