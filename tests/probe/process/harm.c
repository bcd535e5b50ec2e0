/* What the probe must not do to a program: full disks, limits, missing spools, sandboxes, signals at bad moments. */
#include "tools/probed.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/mount.h>
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

static void a_spool_that_is_missing(void **state)
{
    (void)state;
    assert_int_equal(unlink(probed.spool), 0);
    probed_act(&probed, "fork", NULL);
    assert_int_equal(probed.status, 0);
    assert_int_equal(access(probed.spool, F_OK), -1);
    const char *strange[] = { "SONDE_SPOOL=", "SONDE_SPOOL=relative", "SONDE_SPOOL=/", "SONDE_SPOOL=/dev/full",
                              "SONDE_SPOOL=/proc/self/mem" };
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        probed.env[0] = strange[i];
        probed_act(&probed, "threads", "return");
        assert_int_equal(probed.status, 0);
        probed_act(&probed, "fork", NULL);
        assert_int_equal(probed.status, 0);
    }
}

/* Reading the records would block until there is a writer, so do not read. */
static void a_spool_that_is_a_pipe(void **state)
{
    (void)state;
    char preload[TEMP_PATH_MAX + 16], spool[TEMP_PATH_MAX + 16], tool[TEMP_PATH_MAX];
    assert_int_equal(unlink(probed.spool), 0);
    assert_int_equal(mkfifo(probed.spool, 0600), 0);
    temp_join(tool, getenv("TOOLS"), "acts");
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", getenv("PROBE"));
    snprintf(spool, sizeof spool, "SONDE_SPOOL=%s", probed.spool);
    probed.env[0] = preload;
    probed.env[1] = spool;
    probed_bare(&probed, (char *[]){ tool, "fork", NULL });
    assert_int_equal(probed.status, 0);
}

/* Fills the file system of the spool to the last byte. */
static void fill(const char *dir)
{
    char path[TEMP_PATH_MAX], block[4096] = "";
    temp_join(path, dir, "filler");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    while (write(fd, block, sizeof block) > 0)
        ;
    close(fd);
}

static void a_full_disk_is_counted(void **state)
{
    (void)state;
    if (mount("none", probed.dir, "tmpfs", 0, "size=64k") != 0)
        skip();
    temp_write(probed.spool, "", 0);
    temp_write(probed.lost, "\0\0\0\0\0\0\0", 8);
    temp_write(probed.out, "", 0);
    fill(probed.dir);
    probed_act(&probed, "fork", NULL);
    uint64_t lost = probed_lost(&probed);
    int status = probed.status;
    size_t records = probed.count;
    assert_int_equal(umount2(probed.dir, MNT_DETACH), 0);
    assert_int_equal(status, 0);
    assert_int_equal(records, 0);
    assert_int_equal(lost, 5); /* image, fork, end of the child, wait, end */
}

static void a_limit_on_files_does_not_kill(void **state)
{
    (void)state;
    probed_act(&probed, "file_limit", NULL);
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 1);
    assert_int_equal(probed_lost(&probed), 4); /* those after the limit */
}

static void descriptors_that_are_used_up(void **state)
{
    (void)state;
    probed_act(&probed, "no_descriptors", NULL);
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 2);
    assert_int_equal(probed_lost(&probed), 0);
}

static void descriptors_that_are_closed(void **state)
{
    (void)state;
    char tool[TEMP_PATH_MAX];
    temp_join(tool, getenv("TOOLS"), "closes");
    probed_program(&probed, (char *[]){ tool, "/bin/true", NULL });
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 2);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 1);
}

static void an_environment_that_is_overwritten(void **state)
{
    (void)state;
    probed_act(&probed, "clear_environment", NULL);
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 2);
}

static void a_program_that_restricts_its_system_calls(void **state)
{
    (void)state;
    char text[16];
    probed_act(&probed, "seccomp", NULL);
    assert_int_equal(probed.status, 0);
    probed_output(&probed, text, sizeof text);
    assert_string_equal(text, "alive\n");
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 1);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 0); /* the parent's wait records it */
}

/* A privileged program may do so with syscall() alone, without no-new-privileges; also in a child unknown to libc. */
static void a_program_that_restricts_them_and_keeps_its_rights(void **state)
{
    (void)state;
    for (int child = 0; child < 2; child++) {
        char text[16];
        temp_write(probed.spool, "", 0);
        probed_act(&probed, "seccomp", child ? "clone" : "rights");
        if (WIFEXITED(probed.status) && WEXITSTATUS(probed.status) == 77)
            skip();
        assert_int_equal(probed.status, 0);
        probed_output(&probed, text, sizeof text);
        assert_string_equal(text, "alive\n");
        assert_int_equal(probed_count(&probed, RECORD_KIND_end), child); /* the parent's */
    }
}

/* Under a foreign filter, an unexpected call may be fatal, unless sonde run is under the same filter. */
static void a_filter_from_outside(void **state)
{
    (void)state;
    char tool[TEMP_PATH_MAX];
    char *argv[] = { tool, "9999", "/bin/true", NULL };
    temp_join(tool, getenv("TOOLS"), "refuses");
    probed_program(&probed, argv);
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 1);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 0);
    probed.env[0] = "SONDE_PROBE=s";
    probed_program(&probed, argv);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 1 + 2);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 1);
}

/* Runs acts WHAT with the probe and the other library, in either order; returns what the other one saw. */
static void act_with_other(bool probe_first, const char *what, const char *more, char *seen, size_t size)
{
    char preload[2 * TEMP_PATH_MAX + 16], path[TEMP_PATH_MAX + 16], other[TEMP_PATH_MAX], file[TEMP_PATH_MAX];
    temp_join(other, getenv("TOOLS"), "wraps.so");
    temp_join(file, probed.dir, "wraps");
    temp_write(file, "", 0);
    temp_write(probed.spool, "", 0);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s %s", probe_first ? getenv("PROBE") : other,
             probe_first ? other : getenv("PROBE"));
    snprintf(path, sizeof path, "WRAPS=%s", file);
    probed.env[0] = preload;
    probed.env[1] = path;
    probed_act(&probed, what, more);
    assert_int_equal(probed.status, 0);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, seen, size - 1);
    assert_true(got >= 0);
    seen[got] = '\0';
    close(fd);
}

static void another_library_that_wraps_the_same(void **state)
{
    (void)state;
    char seen[64];
    for (int first = 0; first < 2; first++) {
        act_with_other(first, "chain", "1", seen, sizeof seen);
        assert_true(first ? strcmp(seen, "e") == 0 : probed_count(&probed, RECORD_KIND_exec) == 1);
        act_with_other(first, "threads", "return", seen, sizeof seen);
        assert_string_equal(seen, "ttt");
        assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 3);
        act_with_other(first, "waits", NULL, seen, sizeof seen);
        assert_non_null(strchr(seen, 's'));
        assert_true(probed_count(&probed, RECORD_KIND_wait) >= 4);
        act_with_other(first, "vfork", "end", seen, sizeof seen);
        assert_non_null(strchr(seen, 'x'));
        assert_int_equal(probed_count(&probed, RECORD_KIND_end), 1);
    }
}

static void a_program_with_the_address_sanitizer(void **state)
{
    (void)state;
    char tool[TEMP_PATH_MAX];
    temp_join(tool, getenv("TOOLS"), "acts_sanitized");
    if (access(tool, X_OK) != 0)
        skip();
    probed_program(&probed, (char *[]){ tool, "waits", NULL });
    assert_int_equal(probed.status, 0);
    probed_program(&probed, (char *[]){ tool, "threads", "return", NULL });
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 3);
}

static void forks_from_a_signal_handler(void **state)
{
    (void)state;
    probed_act(&probed, "signals", "150");
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed.reader.damaged_bytes, 0);
    assert_int_equal(probed_lost(&probed), 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), probed_count(&probed, RECORD_KIND_fork) + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_probed, close_probed)
        TEST(a_spool_that_is_missing),
        TEST(a_spool_that_is_a_pipe),
        TEST(a_full_disk_is_counted),
        TEST(a_limit_on_files_does_not_kill),
        TEST(descriptors_that_are_used_up),
        TEST(descriptors_that_are_closed),
        TEST(an_environment_that_is_overwritten),
        TEST(a_program_that_restricts_its_system_calls),
        TEST(a_program_that_restricts_them_and_keeps_its_rights),
        TEST(a_filter_from_outside),
        TEST(another_library_that_wraps_the_same),
        TEST(a_program_with_the_address_sanitizer),
        TEST(forks_from_a_signal_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
