/* The kernel's files of one process. */
#include "proc/taskfile.h"

#include "tools/node.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_process_name_may_look_like_fields(void **state)
{
    (void)state;
    struct taskfile_stat stat;
    const char *text = "4 (a.out) R 1 1 (x) S 501 500 500 0 -1 4194304 10 0 0 0 100 20 3 4 20 0 129 0 1010 9 77 1\n";
    assert_int_equal(taskfile_parse_stat(text, &stat), OK);
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.ppid, 501);
    assert_int_equal(stat.own_ticks, 120);
    assert_int_equal(stat.children_ticks, 7);
    assert_int_equal(stat.threads, 129);
    assert_int_equal(stat.start_ticks, 1010);
    assert_int_equal(stat.rss_pages, 77);
    assert_false(stat.is_exiting);
    text = "4 (a.out) Z 501 500 500 0 -1 4194308 10 0 0 0 100 20 3 4 20 0 129 0 1010 9 77 1\n";
    assert_int_equal(taskfile_parse_stat(text, &stat), OK);
    assert_true(stat.is_exiting);
}

static void truncated_text_is_corrupt(void **state)
{
    (void)state;
    struct taskfile_stat stat;
    struct taskfile_io io;
    struct taskfile_switches switches;
    assert_int_equal(taskfile_parse_stat("", &stat), CORRUPT);
    assert_int_equal(taskfile_parse_stat("1 (x)", &stat), CORRUPT);
    assert_int_equal(taskfile_parse_stat("1 (x) ", &stat), CORRUPT);
    assert_int_equal(taskfile_parse_stat("1 (x) R 2 3 4", &stat), CORRUPT);
    assert_int_equal(taskfile_parse_io("rchar: 1\nwchar: 2\nread_bytes: 3\n", &io), CORRUPT);
    assert_int_equal(taskfile_parse_switches("voluntary_ctxt_switches:\t1\n", &switches), CORRUPT);
    uint64_t pss;
    assert_int_equal(taskfile_parse_pss("Rss: 8 kB\n", &pss), CORRUPT);
    assert_int_equal(taskfile_parse_pss("Pss: 99999999999999999 kB\n", &pss), CORRUPT);
}

static void cancelled_bytes_are_not_written_bytes(void **state)
{
    (void)state;
    struct taskfile_io io;
    const char *text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
                       "cancelled_write_bytes: 7\n";
    assert_int_equal(taskfile_parse_io(text, &io), OK);
    assert_int_equal(io.write_bytes, 6);
    assert_int_equal(io.read_bytes, 5);
}

static void involuntary_switches_are_not_voluntary_ones(void **state)
{
    (void)state;
    struct taskfile_switches switches;
    const char *text = "nonvoluntary_ctxt_switches:\t9\nvoluntary_ctxt_switches:\t4\n";
    assert_int_equal(taskfile_parse_switches(text, &switches), OK);
    assert_int_equal(switches.voluntary, 4);
    assert_int_equal(switches.involuntary, 9);
}

static void a_captured_process_is_read(void **state)
{
    (void)state;
    struct taskfile_stat stat;
    struct taskfile_io io;
    char path[5000];
    snprintf(path, sizeof path, "%s/proc", node_root("vm"));
    int proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(taskfile_read_stat(proc_fd, 8994, &stat), OK);
    assert_int_equal(stat.threads, 4);
    assert_int_equal(stat.ppid, 8991);
    assert_int_equal(taskfile_read_io(proc_fd, 8994, &io), OK);
    assert_int_equal(io.wchar, 1699);
    assert_int_equal(taskfile_read_stat(proc_fd, 4, &stat), GONE);
    close(proc_fd);
}

static void an_exited_process_is_gone(void **state)
{
    (void)state;
    struct taskfile_stat stat;
    int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    assert_int_equal(taskfile_read_stat(proc_fd, (uint32_t)pid, &stat), OK);
    assert_int_equal(stat.state, 'Z');
    waitpid(pid, NULL, 0);
    assert_int_equal(taskfile_read_stat(proc_fd, (uint32_t)pid, &stat), GONE);
    close(proc_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_name_may_look_like_fields),
        cmocka_unit_test(truncated_text_is_corrupt),
        cmocka_unit_test(cancelled_bytes_are_not_written_bytes),
        cmocka_unit_test(involuntary_switches_are_not_voluntary_ones),
        cmocka_unit_test(a_captured_process_is_read),
        cmocka_unit_test(an_exited_process_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
