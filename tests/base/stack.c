/* With a small stack limit a function that needs more runs, and the limit is unchanged. */
#include "base/stack.h"

#include "tools/unit.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE (400 << 10)

static int use_much(int argc, char **argv)
{
    volatile char room[LARGE];
    struct rlimit limit;
    for (size_t i = 0; i < LARGE; i += 1024)
        room[i] = (char)i;
    getrlimit(RLIMIT_STACK, &limit);
    return argc + (int)strlen(argv[0]) + (limit.rlim_cur == 64 << 10) * 100 + room[1024];
}

static void arguments_and_result_are_passed(void **state)
{
    (void)state;
    char *words[] = { "abc", NULL };
    assert_int_equal(stack_call(use_much, 1, words), 4);
}

static void a_small_stack_limit_is_no_problem(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    leave_out("sanitizers do not know of such a change of stacks");
#endif
    char *words[] = { "abc", NULL };
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_STACK, &(struct rlimit){ 64 << 10, 64 << 10 });
        _exit(stack_call(use_much, 1, words));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 104);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_and_result_are_passed),
        cmocka_unit_test(a_small_stack_limit_is_no_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
