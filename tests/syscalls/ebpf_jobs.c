/* Jobs whose system calls are counted at the same time, one after another, and from some time on. Needs root and
 * eBPF. */
#include "syscalls/ebpf.h"

#include "base/clock.h"
#include "tools/ebpf_fixture.h"

static void call_slowly(void)
{
    getppids(EACH);
    usleep(30000);
}

static void call_ten(void)
{
    getppids(10);
}

static void call_twenty(void)
{
    getppids(20);
}

static void jobs_are_counted_separately(void **state)
{
    (void)state;
    struct ebpf_job *first, *second;
    struct child ten, twenty, stranger;
    if (!ebpf)
        leave_out(error);
    start(&ten, call_ten);
    start(&twenty, call_twenty);
    start(&stranger, call_twenty);
    assert_int_equal(ebpf_job_begin(ebpf, false, &first), OK);
    assert_int_equal(ebpf_job_begin(ebpf, true, &second), OK);
    assert_int_equal(ebpf_job_add(first, ten.pid), OK);
    assert_int_equal(ebpf_job_add(second, twenty.pid), OK);
    release(&ten), release(&twenty), release(&stranger);
    await_done(&ten), await_done(&twenty), await_done(&stranger);
    assert_int_equal(calls_of(first, "getppid"), 10);
    assert_int_equal(calls_of(second, "getppid"), 20);
    ebpf_job_end(&first);
    end(&ten);
    assert_int_equal(calls_of(second, "exit_group"), 0);
    end(&twenty), end(&stranger);
    assert_int_equal(calls_of(second, "exit_group"), 1);
    ebpf_job_end(&second);
}

/* Its number is reused by the next job, and so may its tids be. */
static void released_processes_are_not_counted(void **state)
{
    (void)state;
    struct ebpf_job *old, *new;
    struct child child;
    if (!ebpf)
        leave_out(error);
    start(&child, call_ten);
    assert_int_equal(ebpf_job_begin(ebpf, false, &old), OK);
    assert_int_equal(ebpf_job_add(old, child.pid), OK);
    ebpf_job_stop(old);
    assert_int_equal(ebpf_job_add(old, child.pid), GONE);
    assert_int_equal(ebpf_job_alive(old), 0);
    release(&child);
    await_done(&child);
    assert_int_equal(calls_of(old, "getppid"), 0);
    ebpf_job_end(&old);
    assert_int_equal(ebpf_job_begin(ebpf, false, &new), OK);
    end(&child);
    batch_reset(&batch);
    assert_int_equal(ebpf_job_read(new, NULL, &batch), OK);
    assert_int_equal(batch.count, 0);
    assert_int_equal(ebpf_job_add(new, child.pid), GONE);
    ebpf_job_end(&new);
}

static void times_may_be_requested_later(void **state)
{
    (void)state;
    struct ebpf_job *job;
    struct child child;
    if (!ebpf)
        leave_out(error);
    start(&child, call_slowly);
    await_asleep(&child);
    assert_int_equal(ebpf_job_begin(ebpf, false, &job), OK);
    assert_int_equal(ebpf_job_add(job, child.pid), OK);
    uint64_t asked_ns = clock_monotonic_ns();
    assert_int_equal(ebpf_job_measure_time(job), OK);
    assert_int_equal(ebpf_job_measure_time(job), OK);
    usleep(20000);
    release(&child);
    await_done(&child);
    assert_true(number_of(job, "clock_nanosleep", SYSCALL_TIME) >= 30000000);
    assert_in_range(number_of(job, "read", SYSCALL_TIME), 20000000, clock_monotonic_ns() - asked_ns);
    end(&child);
    ebpf_job_end(&job);
}

/* Time spent in a call before counting began is not reported; adding the process again does not lose time. */
static void a_call_in_progress_is_timed_from_then_on(void **state)
{
    (void)state;
    struct ebpf_job *job, *other;
    struct child child;
    if (!ebpf)
        leave_out(error);
    start(&child, call_ten);
    await_asleep(&child);
    usleep(20000);
    assert_int_equal(ebpf_job_begin(ebpf, true, &job), OK);
    assert_int_equal(ebpf_job_begin(ebpf, true, &other), OK);
    uint64_t added_ns = clock_monotonic_ns();
    assert_int_equal(ebpf_job_add(job, child.pid), OK);
    usleep(20000);
    assert_int_equal(ebpf_job_add(job, child.pid), OK);
    assert_int_equal(ebpf_job_add(other, child.pid), OK);
    assert_false(ebpf_job_has(other, child.pid));
    release(&child);
    await_done(&child);
    assert_in_range(number_of(job, "read", SYSCALL_TIME), 20000000, clock_monotonic_ns() - added_ns);
    assert_int_equal(calls_of(other, "read"), 0);
    ebpf_job_end(&job);
    added_ns = clock_monotonic_ns();
    assert_int_equal(ebpf_job_add(other, child.pid), OK);
    end(&child);
    assert_in_range(number_of(other, "read", SYSCALL_TIME), 1, clock_monotonic_ns() - added_ns);
    ebpf_job_end(&other);
}

/* It exists before it has returned from fork, which is a call of its parent. */
static void the_return_of_fork_in_the_child_is_not_counted(void **state)
{
    (void)state;
    struct ebpf_job *job;
    int go[2];
    char byte;
    if (!ebpf)
        leave_out(error);
    assert_int_equal(ebpf_job_begin(ebpf, false, &job), OK);
    for (int i = 0; i < EACH; i++) {
        assert_int_equal(pipe(go), 0);
        pid_t pid = fork();
        if (pid == 0) {
            (void)!read(go[0], &byte, 1);
            _exit(close(go[0]) != 0); /* one that returns 0 is counted */
        }
        assert_int_equal(ebpf_job_add(job, pid), OK);
        assert_int_equal(write(go[1], "g", 1), 1);
        waitpid(pid, NULL, 0);
        close(go[0]);
        close(go[1]);
    }
    assert_int_equal(calls_of(job, "clone") + calls_of(job, "clone3") + calls_of(job, "fork"), 0);
    assert_int_equal(calls_of(job, "close"), EACH);
    ebpf_job_end(&job);
}

/* Its exit would be missed, and the next process with its pid would be mistaken for it. */
static void a_zombie_is_not_counted(void **state)
{
    (void)state;
    struct ebpf_job *job;
    siginfo_t info;
    if (!ebpf)
        leave_out(error);
    assert_int_equal(ebpf_job_begin(ebpf, true, &job), OK);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    ebpf_job_add(job, pid);
    assert_false(ebpf_job_has(job, pid));
    assert_int_equal(ebpf_job_alive(job), 0);
    waitpid(pid, NULL, 0);
    ebpf_job_end(&job);
}

/* Like `sonde run`: calls before the exec are not the command's. */
static void a_command_is_counted_from_exec(void **state)
{
    (void)state;
    struct ebpf_job *job;
    if (!ebpf)
        leave_out(error);
    assert_int_equal(ebpf_job_begin(ebpf, false, &job), OK);
    assert_int_equal(ebpf_job_add_at_exec(job, getpid()), OK);
    pid_t pid = fork();
    if (pid == 0) {
        getppids(EACH);
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    getppids(EACH);
    ebpf_job_remove_at_exec(job, getpid());
    waitpid(pid, NULL, 0);
    assert_int_equal(calls_of(job, "getppid"), 0);
    assert_int_equal(calls_of(job, "execve"), 1);
    assert_int_equal(calls_of(job, "exit_group"), 1);
    ebpf_job_end(&job);
}

static void too_many_jobs_are_refused(void **state)
{
    (void)state;
    struct ebpf_job *jobs[300];
    size_t made = 0;
    if (!ebpf)
        leave_out(error);
    while (made < 300 && ebpf_job_begin(ebpf, false, &jobs[made]) == OK)
        made++;
    assert_int_equal(made, 255);
    while (made)
        ebpf_job_end(&jobs[--made]);
}

/* Fewer programs are loaded then; calls are still counted. */
static void features_that_were_not_requested_are_refused(void **state)
{
    (void)state;
    struct ebpf *all = ebpf;
    struct ebpf_job *job;
    if (!ebpf)
        leave_out(error);
    assert_int_equal(ebpf_open(&ebpf, 0, error, sizeof error), OK);
    assert_int_equal(ebpf_job_begin(ebpf, true, &job), ABSENT);
    assert_null(job);
    job = count(call_ten, false);
    assert_int_equal(calls_of(job, "getppid"), 10);
    assert_int_equal(ebpf_job_measure_time(job), ABSENT);
    assert_int_equal(ebpf_job_add_cgroup(job, 0, 1), ABSENT);
    ebpf_close(&ebpf); /* together with the job */
    ebpf = all;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_are_counted_separately, setup, teardown),
        cmocka_unit_test_setup_teardown(released_processes_are_not_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(times_may_be_requested_later, setup, teardown),
        cmocka_unit_test_setup_teardown(a_call_in_progress_is_timed_from_then_on, setup, teardown),
        cmocka_unit_test_setup_teardown(the_return_of_fork_in_the_child_is_not_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_zombie_is_not_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_command_is_counted_from_exec, setup, teardown),
        cmocka_unit_test_setup_teardown(features_that_were_not_requested_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_jobs_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
