/* Which processes of a run are still running, and which only have a pid that one of them had. */
#include "merge/survivors.h"

#include "base/clock.h"
#include "proc/host.h"
#include "proc/pid.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX], spool[TEMP_PATH_MAX];
static struct host_facts here;
static struct process process;
static struct run run;
static uint64_t born_ns;

/* A run on this host; its last process is this test. */
static int make_run(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(spool, dir, "a.spool");
    temp_write(spool, "", 0);
    host_read(NULL, &here);
    if (pid_start_ns(NULL, getpid(), &born_ns))
        return 1;
    process = (struct process){ .pid = (uint32_t)getpid(), .state = PROCESS_LOST, .start_ns = born_ns };
    run = (struct run){ .host = host_from_facts(&here), .start_ns = born_ns - NS_PER_S, .end_ns = born_ns + NS_PER_S,
                        .processes = &process, .process_count = 1 };
    return 0;
}

static int remove_run(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

static void running_process(void **state)
{
    (void)state;
    assert_true(survivors_any(&run, spool));
    process.start_ns += 60 * NS_PER_S; /* another image of the same process */
    assert_true(survivors_any(&run, spool));
    process.start_ns = 0; /* unknown */
    assert_true(survivors_any(&run, spool));
    process.state = PROCESS_ENDED;
    assert_false(survivors_any(&run, spool));
}

/* After a reboot: the process that has the pid now is younger. */
static void another_process_with_the_pid(void **state)
{
    (void)state;
    process.start_ns -= 5 * NS_PER_S;
    run.start_ns -= 10 * NS_PER_S;
    assert_false(survivors_any(&run, spool));
}

/* The run was in its own pid namespace: the first processes of the node have small pids, too. */
static void process_older_than_the_run(void **state)
{
    (void)state;
    run.start_ns += 5 * NS_PER_S;
    process.start_ns += 6 * NS_PER_S;
    assert_false(survivors_any(&run, spool));
}

static void run_of_another_node(void **state)
{
    (void)state;
    run.host.name = bytes_of("elsewhere");
    assert_false(survivors_any(&run, spool));
}

static void zombie(void **state)
{
    (void)state;
    siginfo_t ended;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    process.pid = (uint32_t)pid;
    process.start_ns = clock_realtime_ns();
    assert_false(survivors_any(&run, spool));
    waitpid(pid, NULL, 0);
}

static void spool_path_in_the_environment(void **state)
{
    (void)state;
    int ready[2];
    char variable[TEMP_PATH_MAX + 32], byte;
    run.process_count = 0;
    assert_false(survivors_any(&run, spool));
    snprintf(variable, sizeof variable, "SONDE_SPOOL=%s", spool);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        execle("/bin/sleep", "sleep", "600", (char *)NULL, (char *[]){ "A=b", variable, NULL });
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0); /* closed by its exec */
    assert_true(survivors_any(&run, spool));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_false(survivors_any(&run, spool));
    close(ready[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define S(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)
        S(running_process), S(another_process_with_the_pid), S(process_older_than_the_run), S(run_of_another_node),
        S(zombie), S(spool_path_in_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
