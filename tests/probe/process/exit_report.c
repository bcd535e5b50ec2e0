/* Where the kernel reports all processes: exec records that describe the next image, and batched wait records. */
#include "tools/unit.h"
#include "tools/probed.h"
#include "spool/probe_env.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct probed probed;
static char bell[TEMP_PATH_MAX + 8], flags[128], tags[] = PROBE_TAGS "=a=b", papiex[] = PROBE_TAGS_PAPIEX "=c=d";
static int notices_fd;

static int open_probed(void **state)
{
    (void)state;
    struct stat st;
    probed_open(&probed);
    snprintf(bell, sizeof bell, "%s%s", probed.spool, SPOOL_NOTICES_SUFFIX);
    assert_int_equal(mkfifo(bell, 0600), 0);
    notices_fd = open(bell, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(notices_fd >= 0);
    assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
    snprintf(flags, sizeof flags, PROBE_ENV_FLAGS "=%c%c%c%ju", PROBE_FLAG_NOTICES, PROBE_FLAG_TASKSTATS,
             PROBE_FLAG_NAMESPACE,
             (uintmax_t)st.st_ino);
    probed.env[0] = flags;
    return 0;
}

static int close_probed(void **state)
{
    (void)state;
    close(notices_fd);
    unlink(bell);
    probed_close(&probed);
    return 0;
}

static void run_shell(const char *line)
{
    char *const argv[] = { "/bin/bash", "-c", (char *)line, NULL };
    temp_write(probed.spool, "", 0);
    probed_program(&probed, argv);
}

static void run_execs(const char *how)
{
    char line[TEMP_PATH_MAX + 32];
    snprintf(line, sizeof line, "exec %s/execs %s", getenv("TOOLS"), how);
    run_shell(line);
}

static void assert_text(struct bytes got, const char *text, size_t size)
{
    assert_int_equal(got.size, size);
    assert_memory_equal(got.data, text, size);
}

static void the_exec_record_describes_the_image(void **state)
{
    (void)state;
    struct exec_record exec;
    struct end_record end;
    probed.env[1] = tags;
    probed.env[2] = papiex;
    run_shell("cd /usr/share; /bin/true x; exit 0");
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 1); /* the shell's */
    assert_int_equal(probed_count(&probed, RECORD_KIND_exec), 1);
    assert_true(probed_exec(&probed, 0, &exec));
    assert_int_equal(exec.copied, RECORD_EXEC_COPIED | RECORD_EXEC_WHOLE);
    char real[4096];
    assert_non_null(realpath("/bin/true", real)); /* a symbolic link in most distributions */
    assert_text(exec.path, real, strlen(real));
    assert_text(exec.args, "/bin/true\0x", sizeof "/bin/true\0x");
    assert_text(exec.cwd, "/usr/share", 10);
    assert_text(exec.tags, "a=b;c=d", 7);
    assert_int_equal(exec.uid, getuid());
    assert_int_equal(exec.sid, getsid(0));
    assert_int_equal(exec.pgid, getpgid(0));
    assert_true(probed_end(&probed, 0, &end)); /* the probe is loaded nevertheless */
    assert_int_equal(end.pid, exec.pid);
}

/* The tags of the new program's environment, not the caller's. */
static void tags_come_from_the_new_environment(void **state)
{
    (void)state;
    struct exec_record exec;
    probed.env[1] = tags;
    run_shell("SONDE_TAGS=q=r /bin/true; exit 0");
    assert_true(probed_exec(&probed, 0, &exec));
    assert_text(exec.tags, "q=r", 3);
}

static void a_vfork_child_describes_the_image_too(void **state)
{
    (void)state;
    struct exec_record exec;
    probed_act(&probed, "vfork", "exec");
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 1);
    assert_true(probed_exec(&probed, 0, &exec));
    assert_int_equal(exec.copied, RECORD_EXEC_WHOLE);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 2);
}

/* The flag is removed before the program sees it, and for what it executes itself. */
static void the_flag_is_valid_for_one_exec(void **state)
{
    (void)state;
    char text[8192];
    run_shell("exec env");
    assert_int_equal(probed.status, 0);
    text[probed_output(&probed, text, sizeof text - 1)] = '\0';
    const char *seen = strstr(text, PROBE_ENV_FLAGS "=");
    assert_non_null(seen);
    assert_memory_equal(seen, flags, strlen(flags));
    assert_int_equal(seen[strlen(flags)], '\n');
    run_execs("raw");
    assert_int_equal(probed.status, 0);
    /* the shell's, and that of the program executed past the probe */
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 2);
}

/* The flag of another process, as in a child that was created and execs past the probe. */
static void the_flag_of_another_process_is_ignored(void **state)
{
    (void)state;
    char other[160];
    snprintf(other, sizeof other, "%s%c%u", flags, PROBE_FLAG_RECORDED, 1u);
    probed.env[0] = other;
    probed_act(&probed, "nothing", NULL);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 1);
}

static void scripts_write_their_own_image_record(void **state)
{
    (void)state;
    char script[TEMP_PATH_MAX], line[TEMP_PATH_MAX + 8];
    struct image_record image;
    struct exec_record exec;
    temp_join(script, probed.dir, "script");
    temp_write(script, "#!/bin/sh\nexit 3\n", 17);
    assert_int_equal(chmod(script, 0755), 0);
    snprintf(line, sizeof line, "exec %s", script);
    run_shell(line);
    unlink(script);
    assert_int_equal(probed.status, 3 << 8);
    assert_true(probed_exec(&probed, 0, &exec));
    assert_int_equal(exec.copied, RECORD_EXEC_COPIED);
    assert_true(probed_image(&probed, 1, &image));
    assert_int_equal(image.pid, probed.pid);
}

/* It may execute another file than the one it was given. */
static void with_another_wrapper_the_image_writes_its_own_record(void **state)
{
    (void)state;
    char preload[2 * TEMP_PATH_MAX + 16];
    struct exec_record exec;
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s %s/wraps.so", getenv("PROBE"), getenv("TOOLS"));
    probed.env[1] = preload;
    run_shell("/bin/true; exit 0");
    assert_true(probed_exec(&probed, 0, &exec));
    assert_int_equal(exec.copied, RECORD_EXEC_COPIED);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 2);
}

/* The kernel refuses one more byte: the program must not be affected by what we add. */
static void a_full_environment_still_execs(void **state)
{
    (void)state;
    run_execs("tight");
    assert_int_equal(probed.status, 0);
}

static void a_file_without_a_name(void **state)
{
    (void)state;
    struct exec_record exec;
    run_execs("memfd");
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_exec), 2);
    assert_true(probed_exec(&probed, 1, &exec));
    assert_int_equal(exec.copied, RECORD_EXEC_COPIED);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 2);
}

static void a_path_that_is_nowhere(void **state)
{
    (void)state;
    run_execs("memory");
    assert_int_equal(probed.status, 0);
}

/* Of forkpty's child, and of daemon's, whose parent ends inside libc. */
static void forks_inside_libc_are_recorded(void **state)
{
    (void)state;
    struct end_record end;
    run_execs("forks");
    assert_int_equal(probed.status, 0);
    for (int tries = 0; probed_count(&probed, RECORD_KIND_end) < 2 && tries < 100; tries++) {
        usleep(20000);
        probed_read(&probed);
    }
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(probed_end(&probed, i, &end));
        assert_true((pid_t)end.pid != probed.pid);
    }
}

static void wait_records_are_batched(void **state)
{
    (void)state;
    struct wait_record wait;
    run_shell("for ((i = 0; i < 100; i++)); do /bin/true; done; exit 0");
    assert_int_equal(probed_count(&probed, RECORD_KIND_wait), 100);
    for (size_t i = 0; i < 100; i++)
        assert_true(probed_wait(&probed, i, &wait) && (pid_t)wait.waiter == probed.pid && wait.status == 0);
    assert_int_equal(probed_lost(&probed), 0);
}

/* A child must not write its parent's records, and an exec flushes them. */
static void wait_records_are_written_once(void **state)
{
    (void)state;
    run_shell("/bin/true; (exit 3); (/bin/true); exec /bin/true");
    assert_int_equal(probed.status, 0);
    size_t by_shell = 0;
    struct wait_record wait;
    for (size_t i = 0; probed_wait(&probed, i, &wait); i++)
        by_shell += (pid_t)wait.waiter == probed.pid;
    assert_int_equal(by_shell, 3);
    for (size_t i = 0, seen = 0; i < probed.count; i++) {
        seen += probed.records[i].kind == RECORD_KIND_wait;
        struct exec_record exec;
        if (probed.records[i].kind == RECORD_KIND_exec && record_unpack_exec(probed.records[i].body, &exec) == OK
            && (pid_t)exec.pid == probed.pid)
            assert_true(seen >= 3);
    }
}

/* A killed process loses only a few records, which the kernel has reported as well. */
static void a_killed_process_loses_few_records(void **state)
{
    (void)state;
    run_shell("for ((i = 0; i < 100; i++)); do /bin/true; done; kill -9 $$");
    assert_int_equal(probed.status, 9);
    size_t count = probed_count(&probed, RECORD_KIND_wait);
    assert_true(count < 100 && count >= 80);
}

static void without_taskstats_waits_are_not_batched(void **state)
{
    (void)state;
    probed.env[0] = PROBE_ENV_FLAGS "=";
    run_shell("/bin/true; /bin/true; kill -9 $$");
    assert_int_equal(probed.status, 9);
    assert_int_equal(probed_count(&probed, RECORD_KIND_wait), 2);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_probed, close_probed)
        TEST(the_exec_record_describes_the_image),
        TEST(tags_come_from_the_new_environment),
        TEST(a_vfork_child_describes_the_image_too),
        TEST(the_flag_is_valid_for_one_exec),
        TEST(the_flag_of_another_process_is_ignored),
        TEST(scripts_write_their_own_image_record),
        TEST(with_another_wrapper_the_image_writes_its_own_record),
        TEST(a_full_environment_still_execs),
        TEST(a_file_without_a_name),
        TEST(a_path_that_is_nowhere),
        TEST(forks_inside_libc_are_recorded),
        TEST(wait_records_are_batched),
        TEST(wait_records_are_written_once),
        TEST(a_killed_process_loses_few_records),
        TEST(without_taskstats_waits_are_not_batched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
