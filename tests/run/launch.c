/* The environment and the start of the command. */
#include "run/launch.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *value_in(char *const *environment, const char *name)
{
    size_t size = strlen(name);
    const char *found = NULL;
    for (; *environment; environment++)
        if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=') {
            assert_null(found); /* twice would be wrong */
            found = *environment + size + 1;
        }
    return found;
}

static const struct launch_probe probe = { .library = "/lib/probe.so", .spool = "/spool", .flags = "k" };

static char **with_probe(char *const *base, const struct launch_probe *given, char **strings)
{
    char **all = launch_environment(base, given, strings);
    assert_non_null(all);
    return all;
}

static void environment_has_spool_and_flags(void **state)
{
    (void)state;
    char *base[] = { "HOME=/root", "SONDE_SPOOL=/older", "SONDE_EVENTS=1:2", "SONDE_SOCKET=/s", "EMPTY=", NULL };
    char *strings, **all = with_probe(base, &probe, &strings);
    assert_string_equal(value_in(all, "LD_PRELOAD"), "/lib/probe.so");
    assert_string_equal(value_in(all, "SONDE_SPOOL"), "/spool");
    assert_string_equal(value_in(all, "SONDE_PROBE"), "k");
    assert_null(value_in(all, "SONDE_EVENTS")); /* of an enclosing run */
    assert_null(value_in(all, "SONDE_SOCKET"));
    assert_string_equal(value_in(all, "HOME"), "/root");
    assert_string_equal(value_in(all, "EMPTY"), "");
    free(all);
    free(strings);
}

static void events_come_with_their_socket(void **state)
{
    (void)state;
    struct launch_probe perf = probe;
    perf.events = "1:2:0:0:0";
    perf.socket = "/perf";
    char *base[] = { NULL };
    char *strings, **all = with_probe(base, &perf, &strings);
    assert_string_equal(value_in(all, "SONDE_EVENTS"), "1:2:0:0:0");
    assert_string_equal(value_in(all, "SONDE_SOCKET"), "/perf");
    free(all);
    free(strings);
}

static void extra_libraries_come_after_the_probe(void **state)
{
    (void)state;
    struct launch_probe more = probe;
    char *base[] = { "LD_PRELOAD=/lib/mpi.so", NULL };
    more.extra[0] = "/lib/mpi.so"; /* already listed */
    more.extra[1] = "/lib/calls.so";
    char *strings, **all = with_probe(base, &more, &strings);
    assert_string_equal(value_in(all, "LD_PRELOAD"), "/lib/mpi.so:/lib/probe.so:/lib/calls.so");
    free(all);
    free(strings);
}

static void expect_preload(const char *before, const char *after)
{
    char entry[128];
    snprintf(entry, sizeof entry, "LD_PRELOAD=%s", before);
    char *base[] = { entry, NULL };
    char *strings, **all = with_probe(base, &probe, &strings);
    assert_string_equal(value_in(all, "LD_PRELOAD"), after);
    free(all);
    free(strings);
}

static void the_probe_comes_after_existing_preloads(void **state)
{
    (void)state;
    expect_preload("/a.so", "/a.so:/lib/probe.so");
    expect_preload("/a.so /b.so", "/a.so /b.so:/lib/probe.so");
    expect_preload("", "/lib/probe.so");
    expect_preload("/lib/probe.so", "/lib/probe.so"); /* a nested run */
    expect_preload("/a.so:/lib/probe.so:/b.so", "/a.so:/lib/probe.so:/b.so");
    expect_preload("/other/lib/probe.so", "/other/lib/probe.so:/lib/probe.so");
    expect_preload("/lib/probe.so.old", "/lib/probe.so.old:/lib/probe.so");
}

static int status_of(char *const *command, enum err expected, int *error)
{
    struct launch launch = { .command = command };
    pid_t pid;
    int status = -1;
    assert_int_equal(launch_start(&launch, &pid, error), expected);
    if (!expected)
        assert_int_equal(waitpid(pid, &status, 0), pid);
    else
        assert_int_equal(waitpid(-1, &status, WNOHANG), -1); /* no child is left */
    return status;
}

static void a_command_is_found_in_the_path(void **state)
{
    (void)state;
    int error;
    char *command[] = { "sh", "-c", "exit 9", NULL };
    assert_int_equal(WEXITSTATUS(status_of(command, OK, &error)), 9);
}

static void a_missing_command_is_absent(void **state)
{
    (void)state;
    int error;
    char *by_name[] = { "no-such-command-anywhere", NULL }, *by_path[] = { "/no/such", NULL };
    status_of(by_name, ABSENT, &error);
    assert_int_equal(error, ENOENT);
    status_of(by_path, ABSENT, &error);
}

static void a_command_that_is_not_executable(void **state)
{
    (void)state;
    int error;
    char dir[TEMP_PATH_MAX], file[TEMP_PATH_MAX];
    temp_dir(dir);
    temp_join(file, dir, "text");
    temp_write(file, "#!/bin/sh\n", 10);
    char *plain[] = { file, NULL }, *directory[] = { dir, NULL };
    chmod(file, 0644);
    status_of(plain, DENIED, &error);
    assert_int_equal(error, EACCES);
    status_of(directory, DENIED, &error);
    temp_remove(dir);
}

static void a_script_without_a_first_line_is_run_by_the_shell(void **state)
{
    (void)state;
    int error;
    char dir[TEMP_PATH_MAX], file[TEMP_PATH_MAX];
    temp_dir(dir);
    temp_join(file, dir, "script");
    temp_write(file, "exit 6\n", 7);
    chmod(file, 0755);
    char *command[] = { file, NULL };
    assert_int_equal(WEXITSTATUS(status_of(command, OK, &error)), 6);
    temp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_has_spool_and_flags),
        cmocka_unit_test(events_come_with_their_socket),
        cmocka_unit_test(the_probe_comes_after_existing_preloads),
        cmocka_unit_test(extra_libraries_come_after_the_probe),
        cmocka_unit_test(a_command_is_found_in_the_path),
        cmocka_unit_test(a_missing_command_is_absent),
        cmocka_unit_test(a_command_that_is_not_executable),
        cmocka_unit_test(a_script_without_a_first_line_is_run_by_the_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
