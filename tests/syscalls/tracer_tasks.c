/* The table of traced tasks: entries are found whatever else was removed. */
#include "syscalls/tracer_tasks.h"

#include "tools/unit.h"

#define TASKS 5000

static void tasks_are_found_while_others_come_and_go(void **state)
{
    struct tracer_tasks tasks = { 0 };
    (void)state;
    assert_null(tracer_tasks_find(&tasks, 1));
    for (pid_t tid = 1; tid <= TASKS; tid++)
        tracer_tasks_add(&tasks, tid)->number = tid;
    for (pid_t tid = 1; tid <= TASKS; tid += 2)
        tracer_tasks_remove(&tasks, tid);
    assert_int_equal(tasks.count, TASKS / 2);
    for (pid_t tid = 1; tid <= TASKS; tid++) {
        const struct tracer_task *task = tracer_tasks_find(&tasks, tid);
        assert_int_equal(task != NULL, tid % 2 == 0);
        if (task)
            assert_int_equal(task->number, tid);
    }
    tracer_tasks_remove(&tasks, 1); /* removed before */
    assert_int_equal(tasks.count, TASKS / 2);
    tracer_tasks_clear(&tasks);
}

static void adding_a_task_twice_is_harmless(void **state)
{
    struct tracer_tasks tasks = { 0 };
    (void)state;
    tracer_tasks_add(&tasks, 7)->number = 3;
    assert_int_equal(tracer_tasks_add(&tasks, 7)->number, 3);
    assert_int_equal(tracer_tasks_add(&tasks, 8)->number, TRACER_NO_CALL);
    assert_int_equal(tasks.count, 2);
    tracer_tasks_clear(&tasks);
}

static void the_list_is_complete_and_terminated(void **state)
{
    struct tracer_tasks tasks = { 0 };
    int sum = 0;
    (void)state;
    for (pid_t tid = 1; tid <= 100; tid++)
        tracer_tasks_add(&tasks, tid);
    pid_t *tids = tracer_tasks_list(&tasks);
    for (const pid_t *tid = tids; *tid; tid++)
        sum += *tid;
    assert_int_equal(sum, 5050);
    free(tids);
    tracer_tasks_clear(&tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_found_while_others_come_and_go),
        cmocka_unit_test(adding_a_task_twice_is_harmless),
        cmocka_unit_test(the_list_is_complete_and_terminated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
