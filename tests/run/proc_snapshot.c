/* What is read from /proc, compared with what the process knows about itself. */
#include "run/proc_snapshot.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct proc_snapshot_reader reader;

static int open_reader(void **state)
{
    (void)state;
    return proc_snapshot_open(&reader, "") != OK;
}

static int close_reader(void **state)
{
    (void)state;
    proc_snapshot_close(&reader);
    return 0;
}

static void parse(const char *line, enum err expected, struct proc_snapshot *snapshot)
{
    *snapshot = (struct proc_snapshot){ 0 };
    char *copy = strdup(line); /* exactly this size, for the sanitizers */
    assert_int_equal(proc_snapshot_parse_stat((struct bytes){ copy, strlen(line) }, snapshot), expected);
    if (!expected)
        snapshot->name = (struct bytes){ NULL, snapshot->name.size };
    free(copy);
}

static void a_stat_line_is_read_by_its_last_parenthesis(void **state)
{
    (void)state;
    struct proc_snapshot snapshot;
    parse("77 (a) b) R (c) S 5 6 7 0 -1 4194560 100 0 3 0 250 150 0 0 20 0 4 0 123456 1 2 3\n", OK, &snapshot);
    assert_int_equal(snapshot.name.size, strlen("a) b) R (c"));
    assert_int_equal(snapshot.ppid, 5);
    assert_int_equal(snapshot.pgid, 6);
    assert_int_equal(snapshot.sid, 7);
    assert_int_equal(snapshot.threads, 4);
    assert_int_equal(snapshot.start_ticks, 123456);
    assert_int_equal(counters_get(&snapshot.stat_counters, COUNTER_minflt), 100);
    assert_int_equal(counters_get(&snapshot.stat_counters, COUNTER_majflt), 3);
    assert_int_equal(counters_cpu_us(&snapshot.stat_counters), 400 * 1000000 / sysconf(_SC_CLK_TCK));
    assert_false(snapshot.is_zombie);
    parse("77 (a) Z 5 6 7 0 -1 4194560 100 0 3 0 250 150 0 0 20 0 1 0 123456 1 2 3\n", OK, &snapshot);
    assert_true(snapshot.is_zombie && !snapshot.is_leaderless);
    parse("77 (a) Z 5 6 7 0 -1 4194560 100 0 3 0 250 150 0 0 20 0 2 0 123456 1 2 3\n", OK, &snapshot);
    assert_true(snapshot.is_leaderless && !snapshot.is_zombie);
}

static void invalid_stat_lines_are_rejected(void **state)
{
    (void)state;
    static const char *const lines[] = { "", "77", "77 (", "77 (a", "77 )a(", "77 (a)", "77 (a) ", "77 (a) S",
                                         "77 (a) S 5 6 7", "77 (a) S 5 6 7 0 -1 4 1 0 3 0 2 1 0 0 20 0 4 0" };
    struct proc_snapshot snapshot;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        parse(lines[i], CORRUPT, &snapshot);
    assert_int_equal(proc_snapshot_parse_stat((struct bytes){ NULL, 0 }, &snapshot), CORRUPT);
}

static void we_read_ourselves(void **state)
{
    (void)state;
    struct proc_snapshot snapshot;
    char exe[4096] = "", cwd[4096], cmdline[65536];
    int fd = open("/proc/self/cmdline", O_RDONLY);
    ssize_t size = read(fd, cmdline, sizeof cmdline);
    close(fd);
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(proc_snapshot_read(&reader, (uint32_t)getpid(), UINT32_MAX, &snapshot), OK);
    assert_int_equal(snapshot.ppid, getppid());
    assert_int_equal(snapshot.pgid, getpgrp());
    assert_int_equal(snapshot.sid, getsid(0));
    assert_true(snapshot.uid_known);
    assert_int_equal(snapshot.uid, getuid());
    assert_int_equal(snapshot.path.size, strlen(exe));
    assert_memory_equal(snapshot.path.data, exe, strlen(exe));
    assert_memory_equal(snapshot.cwd.data, cwd, strlen(cwd));
    assert_int_equal(snapshot.args.size, size);
    assert_memory_equal(snapshot.args.data, cmdline, (size_t)size);
}

static int hold = -1; /* the child reads from it, and so stays alive */

static pid_t start_child(char *const *args)
{
    int ready[2], input[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(input[0], 0);
        execv(args[0], args);
        _exit(1);
    }
    char byte;
    close(input[0]);
    hold = input[1];
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0); /* closed by the exec */
    close(ready[0]);
    return pid;
}

static void end_child(pid_t pid)
{
    close(hold);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void arguments_of_100_kb_are_complete(void **state)
{
    (void)state;
    struct proc_snapshot snapshot;
    size_t size = 100 << 10;
    char *large = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        large[i] = (char)(1 + i % 255); /* newlines, quotes, invalid UTF-8 */
    large[size] = '\0';
    char *args[] = { "/bin/sh", "-c", "read x", large, NULL };
    size_t before = sizeof "/bin/sh" + sizeof "-c" + sizeof "read x";
    pid_t pid = start_child(args);
    assert_int_equal(proc_snapshot_read(&reader, (uint32_t)pid, UINT32_MAX, &snapshot), OK);
    end_child(pid);
    assert_int_equal(snapshot.args.size, before + size + 1);
    assert_memory_equal(snapshot.args.data + before, large, size + 1);
    free(large);
}

static void a_deleted_executable_keeps_its_path(void **state)
{
    (void)state;
    struct proc_snapshot snapshot;
    char dir[TEMP_PATH_MAX], file[TEMP_PATH_MAX], command[2 * TEMP_PATH_MAX];
    temp_dir(dir);
    temp_join(file, dir, "cat");
    snprintf(command, sizeof command, "cp /bin/cat %s", file);
    assert_int_equal(system(command), 0);
    char *args[] = { file, NULL };
    pid_t pid = start_child(args);
    unlink(file);
    assert_int_equal(proc_snapshot_read(&reader, (uint32_t)pid, UINT32_MAX, &snapshot), OK);
    end_child(pid);
    assert_int_equal(snapshot.path.size, strlen(file));
    assert_memory_equal(snapshot.path.data, file, strlen(file));
    temp_remove(dir);
}

static void a_missing_process_is_gone(void **state)
{
    (void)state;
    struct proc_snapshot snapshot;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    assert_int_equal(proc_snapshot_read(&reader, (uint32_t)pid, UINT32_MAX, &snapshot), GONE);
    assert_int_equal(proc_snapshot_read_stat(&reader, (uint32_t)pid, &snapshot), GONE);
    assert_false(snapshot.stat_known);
    struct counters counters;
    proc_snapshot_counters(&reader, (uint32_t)pid, true, &counters);
    assert_int_equal(counters.known, 0);
}

static void a_zombie_is_recognised(void **state)
{
    (void)state;
    struct proc_snapshot snapshot;
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(proc_snapshot_read(&reader, (uint32_t)pid, UINT32_MAX, &snapshot), OK);
    assert_true(snapshot.is_zombie);
    assert_int_equal(snapshot.args.size, 0);
    waitpid(pid, NULL, 0);
}

static void cpu_time_is_exact(void **state)
{
    (void)state;
    struct counters counters;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    proc_snapshot_counters(&reader, (uint32_t)getpid(), true, &counters);
    getrusage(RUSAGE_SELF, &after);
    uint64_t least = (uint64_t)(before.ru_utime.tv_sec + before.ru_stime.tv_sec) * 1000000
                     + (uint64_t)(before.ru_utime.tv_usec + before.ru_stime.tv_usec);
    uint64_t most = (uint64_t)(after.ru_utime.tv_sec + after.ru_stime.tv_sec) * 1000000
                    + (uint64_t)(after.ru_utime.tv_usec + after.ru_stime.tv_usec);
    assert_in_range(counters_cpu_us(&counters), least, most + 1);
    assert_true(counters_has(&counters, COUNTER_rssmax));
    assert_true(counters_has(&counters, COUNTER_vol_ctxsw));
    assert_int_equal(counters_get(&counters, COUNTER_num_threads), 1);
    proc_snapshot_counters(&reader, (uint32_t)getpid(), false, &counters);
    assert_false(counters_has(&counters, COUNTER_vol_ctxsw));
    assert_false(counters_has(&counters, COUNTER_rchar));
}

static void look_for_us(void *context, const struct proc_snapshot *snapshot)
{
    if (snapshot->pid == (uint32_t)getpid() && snapshot->ppid == (uint32_t)getppid())
        ++*(int *)context;
}

static void each_process_is_visited_once(void **state)
{
    (void)state;
    int met = 0;
    assert_int_equal(proc_snapshot_each(&reader, look_for_us, &met), OK);
    assert_int_equal(met, 1);
}

static void a_captured_tree_is_read_instead(void **state)
{
    (void)state;
    struct proc_snapshot_reader captured;
    struct proc_snapshot snapshot;
    char dir[TEMP_PATH_MAX], file[TEMP_PATH_MAX];
    const char *line = "42 (x) S 5 6 7 0 -1 4194560 100 0 3 0 250 150 0 0 20 0 1 0 99 1 2 3\n";
    temp_dir(dir);
    temp_join(file, dir, "proc/42/stat");
    temp_write(file, line, strlen(line));
    temp_join(file, dir, "proc/42/status");
    temp_write(file, "Name:\tx\nUid:\t1234\t0\t0\t0\n", strlen("Name:\tx\nUid:\t1234\t0\t0\t0\n"));
    temp_join(file, dir, "proc/42/cmdline");
    temp_write(file, "x\0y\0", 4);
    assert_int_equal(proc_snapshot_open(&captured, dir), OK);
    assert_int_equal(proc_snapshot_read(&captured, 42, UINT32_MAX, &snapshot), OK);
    assert_int_equal(snapshot.uid, 1234); /* the real user, not the effective */
    assert_bytes(snapshot.name, "x");
    assert_bytes(snapshot.args, "x\0y\0");
    assert_int_equal(snapshot.path.size, 0);
    assert_int_equal(snapshot.start_ticks, 99);
    proc_snapshot_close(&captured);
    temp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stat_line_is_read_by_its_last_parenthesis),
        cmocka_unit_test(invalid_stat_lines_are_rejected),
        cmocka_unit_test(we_read_ourselves),
        cmocka_unit_test(arguments_of_100_kb_are_complete),
        cmocka_unit_test(a_deleted_executable_keeps_its_path),
        cmocka_unit_test(a_missing_process_is_gone),
        cmocka_unit_test(a_zombie_is_recognised),
        cmocka_unit_test(cpu_time_is_exact),
        cmocka_unit_test(each_process_is_visited_once),
        cmocka_unit_test(a_captured_tree_is_read_instead),
    };
    return cmocka_run_group_tests(tests, open_reader, close_reader);
}
