/* Jobs whose system calls are counted at the same time, one after another, and from some moment on. Needs root and eBPF. */
#include "sample/syscalls.h"

#include "tools/counted.h"

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

static void jobs_are_told_apart(void **state)
{
    (void)state;
    struct syscalls_job *first, *second;
    struct child ten, twenty, stranger;
    if (!syscalls)
        leave_out(why);
    start(&ten, call_ten);
    start(&twenty, call_twenty);
    start(&stranger, call_twenty);
    assert_int_equal(syscalls_begin(syscalls, false, &first), OK);
    assert_int_equal(syscalls_begin(syscalls, true, &second), OK);
    assert_int_equal(syscalls_add(first, ten.pid), OK);
    assert_int_equal(syscalls_add(second, twenty.pid), OK);
    let_go(&ten), let_go(&twenty), let_go(&stranger);
    await_done(&ten), await_done(&twenty), await_done(&stranger);
    assert_int_equal(calls_of(first, "getppid"), 10);
    assert_int_equal(calls_of(second, "getppid"), 20);
    syscalls_end(&first);
    end(&ten);
    assert_int_equal(calls_of(second, "exit_group"), 0);
    end(&twenty), end(&stranger);
    assert_int_equal(calls_of(second, "exit_group"), 1);
    syscalls_end(&second);
}

/* Its number goes to the next job, and so may those of its processes. */
static void who_is_let_go_is_nobodys(void **state)
{
    (void)state;
    struct syscalls_job *old, *new;
    struct child child;
    if (!syscalls)
        leave_out(why);
    start(&child, call_ten);
    assert_int_equal(syscalls_begin(syscalls, false, &old), OK);
    assert_int_equal(syscalls_add(old, child.pid), OK);
    syscalls_stop(old);
    assert_int_equal(syscalls_add(old, child.pid), GONE);
    assert_int_equal(syscalls_alive(old), 0);
    let_go(&child);
    await_done(&child);
    assert_int_equal(calls_of(old, "getppid"), 0);
    syscalls_end(&old);
    assert_int_equal(syscalls_begin(syscalls, false, &new), OK);
    end(&child);
    batch_reset(&batch);
    assert_int_equal(syscalls_read(new, NULL, &batch), OK);
    assert_int_equal(batch.count, 0);
    assert_int_equal(syscalls_add(new, child.pid), GONE);
    syscalls_end(&new);
}

static void time_may_be_asked_for_later(void **state)
{
    (void)state;
    struct syscalls_job *job;
    struct child child;
    if (!syscalls)
        leave_out(why);
    start(&child, call_slowly);
    assert_int_equal(syscalls_begin(syscalls, false, &job), OK);
    assert_int_equal(syscalls_add(job, child.pid), OK);
    assert_int_equal(syscalls_want_time(job), OK);
    assert_int_equal(syscalls_want_time(job), OK);
    let_go(&child);
    await_done(&child);
    assert_true(number_of(job, "clock_nanosleep", SYSCALL_TIME) >= 30000000);
    assert_int_equal(number_of(job, "read", SYSCALL_TIME), 0); /* when it began is not known */
    end(&child);
    syscalls_end(&job);
}

/* As sonde run does it: what comes before the exec is not the command's. */
static void a_command_is_counted_from_its_exec_on(void **state)
{
    (void)state;
    struct syscalls_job *job;
    if (!syscalls)
        leave_out(why);
    assert_int_equal(syscalls_begin(syscalls, false, &job), OK);
    assert_int_equal(syscalls_expect(job, getpid()), OK);
    pid_t pid = fork();
    if (pid == 0) {
        getppids(EACH);
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    getppids(EACH);
    syscalls_expect_no_more(job, getpid());
    waitpid(pid, NULL, 0);
    assert_int_equal(calls_of(job, "getppid"), 0);
    assert_int_equal(calls_of(job, "execve"), 1);
    assert_int_equal(calls_of(job, "exit_group"), 1);
    syscalls_end(&job);
}

static void too_many_jobs_are_refused(void **state)
{
    (void)state;
    struct syscalls_job *jobs[300];
    size_t made = 0;
    if (!syscalls)
        leave_out(why);
    while (made < 300 && syscalls_begin(syscalls, false, &jobs[made]) == OK)
        made++;
    assert_int_equal(made, 255);
    while (made)
        syscalls_end(&jobs[--made]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_are_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_let_go_is_nobodys, setup, teardown),
        cmocka_unit_test_setup_teardown(time_may_be_asked_for_later, setup, teardown),
        cmocka_unit_test_setup_teardown(a_command_is_counted_from_its_exec_on, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_jobs_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
