/* A tracer on a child whose calls are known: what it counts, and that it detaches. */
#include "syscalls/tracer_process.h"

#include "base/clock.h"
#include "model/program_sets.h"
#include "tools/unit.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 300

/* Waits for a byte, calls, and exits with 7. */
static pid_t start_child(int *go_fd)
{
    int go[2];
    char byte;
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        while (read(go[0], &byte, 1) != 1)
            continue;
        for (int i = 0; i < CALLS; i++) {
            syscall(SYS_getppid);
            close(-1);
        }
        _exit(7);
    }
    close(go[0]);
    *go_fd = go[1];
    return pid;
}

static void calls_and_errors_are_counted_until_the_end(void **state)
{
    struct tracer_process tracer;
    int go_fd, status;
    char byte;
    (void)state;
    pid_t pid = start_child(&go_fd);
    if (tracer_process_start(&tracer, pid, true, NULL) != OK) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        leave_out("no ptrace here");
    }
    assert_int_equal(write(go_fd, "", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(read(tracer.end_fd, &byte, 1), 0); /* it has exited too */
    const struct syscall_count *of = tracer.page->counts.of;
    assert_int_equal(of[SYS_getppid].calls, CALLS);
    assert_int_equal(of[SYS_close].calls, CALLS);
    assert_int_equal(of[SYS_close].errors, CALLS);
    tracer_process_close(&tracer);
    close(go_fd);
}

static void a_detached_process_continues(void **state)
{
    struct tracer_process tracer;
    int go_fd, status;
    (void)state;
    pid_t pid = start_child(&go_fd);
    if (tracer_process_start(&tracer, pid, false, NULL) != OK) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        leave_out("no ptrace here");
    }
    tracer_process_stop(&tracer);
    assert_int_equal(write(go_fd, "", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(tracer.page->counts.of[SYS_getppid].calls, 0);
    tracer_process_close(&tracer);
    close(go_fd);
}

#define SLEEP_NS (NS_PER_S * 3 / 2)

static pid_t start_sleeping(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        int failed = clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 1, SLEEP_NS - NS_PER_S }, NULL);
        _exit(failed != 0);
    }
    usleep(100000); /* blocked for long */
    return pid;
}

/* The kernel restarts it as restart_syscall. */
static void a_call_in_progress_is_named_and_timed(void **state)
{
    struct tracer_process tracer;
    int status;
    char byte;
    (void)state;
#ifndef __x86_64__
    leave_out("the kernel does not tell here what a call was");
#endif
    pid_t pid = start_sleeping();
    if (tracer_process_start(&tracer, pid, true, NULL) != OK) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        leave_out("no ptrace here");
    }
    usleep(300000); /* blocked again */
    tracer_process_stop(&tracer);
    assert_int_equal(tracer.page->pending[SYS_clock_nanosleep], 1);
    tracer_process_close(&tracer);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);

    uint64_t begin_ns = clock_monotonic_ns();
    pid = start_sleeping();
    assert_int_equal(tracer_process_start(&tracer, pid, true, NULL), OK);
    uint64_t began_ns = clock_monotonic_ns();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(tracer.end_fd, &byte, 1), 0);
    const struct syscall_count *slept = &tracer.page->counts.of[SYS_clock_nanosleep];
    assert_int_equal(slept->calls, 1);
    assert_int_equal(slept->errors, 0);
    if (began_ns - begin_ns < SLEEP_NS / 2) /* otherwise the node was busy */
        assert_in_range(slept->time_ns, SLEEP_NS / 4, SLEEP_NS - 50 * NS_PER_MS);
    assert_int_equal(tracer.page->counts.of[SYS_restart_syscall].calls, 0);
    assert_int_equal(tracer.page->pending[SYS_clock_nanosleep], 0);
    tracer_process_close(&tracer);
}

#define WAITS 8
#ifdef SYS_epoll_wait
#define WAIT_CALL SYS_epoll_wait
#else
#define WAIT_CALL SYS_epoll_pwait
#endif

/* Waits for events that do not come, and exits with the number of failures. */
static pid_t start_waiting(int *go_fd)
{
    int go[2];
    char byte;
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct epoll_event event;
        int wrong = 0, epoll_fd = epoll_create1(0);
        while (read(go[0], &byte, 1) != 1)
            continue;
        for (int i = 0; i < WAITS; i++)
            wrong += epoll_wait(epoll_fd, &event, 1, 100) != 0;
        _exit(wrong);
    }
    close(go[0]);
    *go_fd = go[1];
    return pid;
}

/* For example SIGCHLD. Untraced, the process would not notice it; traced, it is woken. */
static void an_ignored_signal_interrupts_nothing(void **state)
{
    struct tracer_process tracer;
    int go_fd, status;
    char byte;
    (void)state;
    pid_t pid = start_waiting(&go_fd);
    if (tracer_process_start(&tracer, pid, true, NULL) != OK) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        leave_out("no ptrace here");
    }
    assert_int_equal(write(go_fd, "", 1), 1);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        kill(pid, SIGURG);
        usleep(150000); /* longer than a wait, which is restarted */
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(read(tracer.end_fd, &byte, 1), 0);
    const struct syscall_count *of = tracer.page->counts.of;
    assert_int_equal(of[WAIT_CALL].calls, WAITS);
    assert_int_equal(of[WAIT_CALL].errors, 0);
    tracer_process_close(&tracer);
    close(go_fd);
}

static void a_missing_process_cannot_be_traced(void **state)
{
    struct tracer_process tracer;
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    assert_int_not_equal(tracer_process_start(&tracer, pid, false, NULL), OK);
}

static void samples_contain_what_is_known(void **state)
{
    static struct syscall_counts counts;
    struct batch batch;
    (void)state;
    batch_init(&batch);
    syscall_counts_add(&counts, SYS_read, 10, 0);
    syscall_counts_add(&counts, SYS_read, -9, 0);
    syscall_counts_add(&counts, SYS_close, 0, 0);
    syscall_counts_add(&counts, SYSCALL_NAMES_MAX, 0, 0);
    syscall_counts_sample(&counts, 1, &batch);
    assert_int_equal(batch.count, 2);
    const struct sample *read_sample = &batch.samples[0], *close_sample = &batch.samples[1];
    assert_string_equal(read_sample->instance, "read");
    assert_int_equal(read_sample->values[SYSCALL_CALLS].u64, 2);
    assert_int_equal(read_sample->values[SYSCALL_ERRORS].u64, 1);
    assert_int_equal(read_sample->values[SYSCALL_BYTES].u64, 10);
    assert_int_equal(read_sample->known[SYSCALL_TIME], 0);
    assert_int_equal(close_sample->known[SYSCALL_BYTES], 0);
    assert_int_equal(syscall_counts_calls(&counts), 3);
    batch_clear(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_errors_are_counted_until_the_end),
        cmocka_unit_test(a_detached_process_continues),
        cmocka_unit_test(a_call_in_progress_is_named_and_timed),
        cmocka_unit_test(an_ignored_signal_interrupts_nothing),
        cmocka_unit_test(a_missing_process_cannot_be_traced),
        cmocka_unit_test(samples_contain_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
