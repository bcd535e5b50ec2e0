/* Explanations why a process cannot be attached to. */
#include "run/attach_target.h"

#include "tools/unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start_sleeper(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* where Yama would only allow ancestors */
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

/* A process that traces pid; it is attached when this returns. */
static pid_t start_tracer(pid_t pid)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t tracer = fork();
    if (tracer == 0) {
        if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 && write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return tracer;
}

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static const char *reason(const struct attach_target *target, struct buf *error)
{
    buf_reset(error);
    attach_target_explain(target, DENIED, error);
    return buf_text(error);
}

/* Two tracers that attach at the same moment both see an untraced process. */
static void the_tracer_that_was_faster_is_named(void **state)
{
    struct attach_target target;
    struct buf error;
    char expected[64];
    pid_t sleeper = start_sleeper();
    (void)state;
    buf_init(&error, 4096);
    assert_int_equal(attach_target_read(sleeper, &target), OK);
    assert_int_equal(target.tracer, 0);
    pid_t tracer = start_tracer(sleeper);
    snprintf(expected, sizeof expected, "is already traced by process %d (", (int)tracer);
    assert_non_null(strstr(reason(&target, &error), expected));
    stop(tracer);
    assert_null(strstr(reason(&target, &error), "more privileges"));
    assert_null(strstr(reason(&target, &error), "Attach as root"));
    stop(sleeper);
    buf_clear(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_tracer_that_was_faster_is_named) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
