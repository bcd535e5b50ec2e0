/* Jobs with live taskstats: processes whose leader exits before the other threads, in a cgroup and without one, and an
 * exec after that. Compared with wait4. */
#include "base/clock.h"
#include "samplers/all.h"
#include "tools/burn.h"
#include "tools/group.h"
#include "tools/sensing.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define LEADER_MS 150
#define THREAD_MS 100

static struct sensing sensing;
static struct group group;
static struct job job;

static void *burn_on(void *wants_exec)
{
    burn(CLOCK_THREAD_CPUTIME_ID, THREAD_MS);
    usleep(100000); /* some ticks happen, and its leader's record is dropped */
    if (wants_exec)
        execl("/bin/sleep", "sleep", "0.1", (char *)NULL);
    return NULL;
}

/* exit of one thread, as in pthread_exit. */
static void leave_threads(void *wants_exec)
{
    pthread_t thread;
    burn(CLOCK_THREAD_CPUTIME_ID, LEADER_MS);
    pthread_create(&thread, NULL, burn_on, wants_exec);
    syscall(SYS_exit, 0);
}

static bool begin_in_group(bool unified)
{
    if (!group_make(&group, unified, 3))
        return false;
    if (sensing_begin(&sensing, &sampler_taskstats, "")) {
        group_remove(&group);
        return false;
    }
    job = group.job;
    assert_int_equal(sensing_job(&sensing, &job, JOB_BEGIN), OK);
    return true;
}

/* Until it exits. Double counting of a thread would show, because the cgroup's counter only compensates for missing
 * time. */
static void compare_at_the_end(pid_t pid, uint64_t ended)
{
    struct rusage usage;
    int status;
    while (wait4(pid, &status, WNOHANG, &usage) == 0) {
        assert_int_equal(sensing_read(&sensing), OK);
        usleep(5000);
    }
    assert_int_equal(status, 0);
    assert_int_equal(sensing_job(&sensing, &job, JOB_END), OK);
    uint64_t truth_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000
                        + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    uint64_t cpu_us = sensing_find(&sensing, "", job.id, "cpu")->u64 / NS_PER_US;
    assert_true(truth_us > (LEADER_MS + THREAD_MS) * 900);
    assert_in_range(cpu_us, truth_us - 20000, truth_us + 20000);
    assert_int_equal(sensing_find(&sensing, "", job.id, "tasks_ended")->u64, ended);
}

static void watch_in_group(bool unified, void *wants_exec)
{
    if (!begin_in_group(unified))
        leave_out("no taskstats or no cgroup here");
    pid_t pid = group_start(&group, leave_threads, wants_exec);
    compare_at_the_end(pid, 2);
    sensing_end(&sensing);
    group_remove(&group);
}

static void a_leader_exits_first_in_v1(void **state)
{
    (void)state;
    watch_in_group(false, NULL);
}

static void a_leader_exits_first_in_v2(void **state)
{
    (void)state;
    watch_in_group(true, NULL);
}

static void its_thread_calls_exec(void **state)
{
    (void)state;
    watch_in_group(false, "yes");
}

/* Then all threads of /proc/PID/task are queried, including the zombie. */
static void watch_without_group(void *wants_exec)
{
    if (sensing_begin(&sensing, &sampler_taskstats, ""))
        leave_out("no taskstats here");
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP); /* until the job is known */
        leave_threads(wants_exec);
    }
    job = (struct job){ .id = "77", .cgroup = "", .pid = (uint32_t)pid, .slot = 70, .other_id = "", .source = "told",
                        .user = "" };
    waitpid(pid, NULL, WUNTRACED);
    assert_int_equal(sensing_job(&sensing, &job, JOB_BEGIN), OK);
    kill(pid, SIGCONT);
    compare_at_the_end(pid, 2);
    sensing_end(&sensing);
}

static void a_leader_exits_first_without_a_cgroup(void **state)
{
    (void)state;
    watch_without_group(NULL);
}

static void its_thread_calls_exec_without_a_cgroup(void **state)
{
    (void)state;
    watch_without_group("yes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leader_exits_first_in_v1),           cmocka_unit_test(a_leader_exits_first_in_v2),
        cmocka_unit_test(its_thread_calls_exec),                    cmocka_unit_test(a_leader_exits_first_without_a_cgroup),
        cmocka_unit_test(its_thread_calls_exec_without_a_cgroup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
