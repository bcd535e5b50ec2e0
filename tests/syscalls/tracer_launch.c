/* Commands traced from their exec on: what is counted, what is ignored, and that an unused tracer exits. */
#include "syscalls/tracer_launch.h"

#include "syscalls/tracer_filter.h"
#include "tools/unit.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that requests tracing and becomes a shell. */
static int run_shell(struct tracer_launch *launch, const char *script)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        tracer_launch_enter(launch);
        execl("/nowhere/sh", "sh", (char *)NULL); /* not counted: before the exec */
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    tracer_launch_done(launch);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void open_or_leave_out(struct tracer_launch *launch)
{
    if (tracer_launch_open(launch, true) != OK)
        leave_out("no ptrace here");
}

static void a_command_is_traced_from_exec(void **state)
{
    struct tracer_launch launch;
    (void)state;
    open_or_leave_out(&launch);
    int status = run_shell(&launch, "/bin/true; exit 7");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    const struct syscall_count *of = launch.page->counts.of;
    assert_int_equal(launch.page->state, TRACER_LAUNCH_FILTERED);
    assert_int_equal(of[SYS_execve].calls, 2); /* of the shell, of true */
    assert_int_equal(of[SYS_execve].errors, 0);
    assert_true(of[SYS_execve].time_ns > 0);
    assert_true(of[SYS_openat].calls > 0 && of[SYS_mmap].calls > 0);
    assert_int_equal(of[SYS_rt_sigaction].calls, 0); /* the shell makes some, which are ignored */
    tracer_launch_close(&launch);
}

static void a_killed_command_is_detected(void **state)
{
    struct tracer_launch launch;
    (void)state;
    open_or_leave_out(&launch);
    int status = run_shell(&launch, "kill -9 $$");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    tracer_launch_close(&launch);
}

static void an_unused_tracer_exits(void **state)
{
    struct tracer_launch launch;
    (void)state;
    open_or_leave_out(&launch);
    pid_t tracer = launch.tracer;
    tracer_launch_done(&launch);
    assert_int_equal(waitpid(tracer, NULL, __WCLONE), tracer);
    assert_int_equal(launch.page->state, TRACER_LAUNCH_NONE);
    tracer_launch_close(&launch);
}

static void a_command_without_its_tracer_runs_untraced(void **state)
{
    struct tracer_launch launch;
    (void)state;
    open_or_leave_out(&launch);
    kill(launch.tracer, SIGKILL);
    assert_int_equal(waitpid(launch.tracer, NULL, __WCLONE), launch.tracer);
    int status = run_shell(&launch, "exit 3");
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_int_equal(launch.page->state, TRACER_LAUNCH_REFUSED);
    assert_int_equal(syscall_counts_calls(&launch.page->counts), 0);
    tracer_launch_close(&launch);
}

static void frequent_calls_are_ignored(void **state)
{
    (void)state;
    assert_true(tracer_filter_ignores(SYS_futex));
    assert_true(tracer_filter_ignores(SYS_sched_yield));
    static const int traced[] = { SYS_read, SYS_write, SYS_openat, SYS_connect, SYS_execve, SYS_mmap, SYS_clone,
                                  SYS_rt_sigreturn, SYS_restart_syscall };
    for (size_t i = 0; i < sizeof traced / sizeof *traced; i++)
        assert_false(tracer_filter_ignores(traced[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_traced_from_exec),
        cmocka_unit_test(a_killed_command_is_detected),
        cmocka_unit_test(an_unused_tracer_exits),
        cmocka_unit_test(a_command_without_its_tracer_runs_untraced),
        cmocka_unit_test(frequent_calls_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
