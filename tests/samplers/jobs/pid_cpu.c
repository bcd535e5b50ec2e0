/* The CPU time of a process tree: captured, and live compared with getrusage. */
#include "samplers/jobs/pid_cpu.h"

#include "tools/burn.h"
#include "tools/node.h"
#include "tools/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_captured_tree_adds_up(void **state)
{
    (void)state;
    struct pid_cpu pid_cpu;
    uint64_t cpu_ns;
    assert_int_equal(pid_cpu_open(&pid_cpu, node_root("vm")), OK);
    assert_int_equal(pid_cpu_read(&pid_cpu, 8991, &cpu_ns), OK);
    assert_true(cpu_ns > 0);
    assert_int_equal(pid_cpu_read(&pid_cpu, 8991, &cpu_ns), OK); /* and again */
    assert_int_equal(pid_cpu_read(&pid_cpu, 4000000, &cpu_ns), GONE);
    pid_cpu_close(&pid_cpu);
}

/* 100 ms itself, 100 ms in a waited-for child, 100 ms in one that continues. */
static pid_t start_tree(int ready)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    pid_t waited = fork();
    if (waited == 0) {
        burn(CLOCK_PROCESS_CPUTIME_ID, 100);
        _exit(0);
    }
    waitpid(waited, NULL, 0);
    if (fork() == 0) {
        burn(CLOCK_PROCESS_CPUTIME_ID, 100);
        if (write(ready, "x", 1) == 1)
            sleep(60);
        _exit(0);
    }
    burn(CLOCK_PROCESS_CPUTIME_ID, 100);
    if (write(ready, "x", 1) == 1)
        sleep(60);
    _exit(0);
}

static void a_live_tree_has_the_total_time(void **state)
{
    (void)state;
    struct pid_cpu pid_cpu;
    int ends[2];
    char byte;
    uint64_t cpu_ns = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = start_tree(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(pid_cpu_open(&pid_cpu, ""), OK);
    enum err err = pid_cpu_read(&pid_cpu, (uint32_t)pid, &cpu_ns);
    char command[64];
    snprintf(command, sizeof command, "pkill -KILL -P %d", (int)pid);
    assert_int_equal(system(command), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(err, OK);
    assert_in_range(cpu_ns, 250000000, 500000000); /* each of the three may miss a tick */
    assert_int_equal(pid_cpu_read(&pid_cpu, (uint32_t)pid, &cpu_ns), GONE);
    pid_cpu_close(&pid_cpu);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_tree_adds_up),
        cmocka_unit_test(a_live_tree_has_the_total_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
