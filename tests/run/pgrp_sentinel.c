/* The sentinel distinguishes signals for the group from signals for one process. */
#include "run/pgrp_sentinel.h"

#include "tools/unit.h"
#include "run/proc_snapshot.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a process group of our own, with all signals blocked. */
static int alone(void **state)
{
    (void)state;
    sigset_t all;
    sigfillset(&all);
    setpgid(0, 0);
    return sigprocmask(SIG_SETMASK, &all, NULL);
}

static bool has_events(struct pgrp_sentinel *sentinel, int timeout_ms, struct pgrp_sentinel_report *report)
{
    struct pollfd polled = { .fd = sentinel->fd, .events = POLLIN };
    return poll(&polled, 1, timeout_ms) == 1 && pgrp_sentinel_read(sentinel, report) == OK;
}

static void a_signal_for_the_group_is_reported(void **state)
{
    (void)state;
    struct pgrp_sentinel sentinel;
    struct pgrp_sentinel_report report;
    assert_int_equal(pgrp_sentinel_start(&sentinel), OK);
    kill(0, SIGUSR1);
    assert_true(has_events(&sentinel, 60000, &report));
    assert_int_equal(report.signal, SIGUSR1);
    assert_int_equal(report.sender, getpid());
    pgrp_sentinel_end(&sentinel);
}

static void a_signal_for_us_alone_is_not_reported(void **state)
{
    (void)state;
    struct pgrp_sentinel sentinel;
    struct pgrp_sentinel_report report;
    assert_int_equal(pgrp_sentinel_start(&sentinel), OK);
    kill(getpid(), SIGUSR2);
    assert_false(has_events(&sentinel, 50, &report));
    assert_int_equal(pgrp_sentinel_read(&sentinel, &report), GONE);
    pgrp_sentinel_end(&sentinel);
}

static void wait_does_not_reap_it(void **state)
{
    (void)state;
    struct pgrp_sentinel sentinel;
    assert_int_equal(pgrp_sentinel_start(&sentinel), OK);
    pid_t pid = sentinel.pid;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    pgrp_sentinel_end(&sentinel);
    assert_int_equal(kill(pid, 0), -1); /* ended and reaped */
    pgrp_sentinel_end(&sentinel); /* harmless */
}

/* Not a zombie either: init may reap late. */
static bool is_alive(uint32_t pid)
{
    struct proc_snapshot_reader reader;
    struct proc_snapshot snapshot;
    assert_int_equal(proc_snapshot_open(&reader, ""), OK);
    bool alive = proc_snapshot_read_stat(&reader, pid, &snapshot) == OK && !snapshot.is_zombie;
    proc_snapshot_close(&reader);
    return alive;
}

static void it_ends_when_we_die(void **state)
{
    (void)state;
    int fds[2];
    pid_t sentinel_pid;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct pgrp_sentinel sentinel;
        pgrp_sentinel_start(&sentinel);
        ssize_t ignored = write(fds[1], &sentinel.pid, sizeof sentinel.pid);
        (void)ignored;
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    assert_int_equal(read(fds[0], &sentinel_pid, sizeof sentinel_pid), sizeof sentinel_pid);
    close(fds[0]);
    close(fds[1]);
    int tries = 0;
    while (is_alive((uint32_t)sentinel_pid) && tries++ < 400)
        poll(NULL, 0, 5);
    assert_false(is_alive((uint32_t)sentinel_pid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_for_the_group_is_reported),
        cmocka_unit_test(a_signal_for_us_alone_is_not_reported),
        cmocka_unit_test(wait_does_not_reap_it),
        cmocka_unit_test(it_ends_when_we_die),
    };
    return cmocka_run_group_tests(tests, alone, NULL);
}
