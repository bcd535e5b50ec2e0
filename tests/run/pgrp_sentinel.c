/* The witness tells signals for all from signals for one. */
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

static bool hears(struct witness *witness, int timeout_ms, struct witness_report *report)
{
    struct pollfd polled = { .fd = witness->fd, .events = POLLIN };
    return poll(&polled, 1, timeout_ms) == 1 && witness_read(witness, report) == OK;
}

static void a_signal_for_the_group_is_reported(void **state)
{
    (void)state;
    struct witness witness;
    struct witness_report report;
    assert_int_equal(witness_start(&witness), OK);
    kill(0, SIGUSR1);
    assert_true(hears(&witness, 60000, &report));
    assert_int_equal(report.signal, SIGUSR1);
    assert_int_equal(report.sender, getpid());
    witness_end(&witness);
}

static void a_signal_for_us_alone_is_not(void **state)
{
    (void)state;
    struct witness witness;
    struct witness_report report;
    assert_int_equal(witness_start(&witness), OK);
    kill(getpid(), SIGUSR2);
    assert_false(hears(&witness, 50, &report));
    assert_int_equal(witness_read(&witness, &report), GONE);
    witness_end(&witness);
}

static void it_is_no_child_that_wait_meets(void **state)
{
    (void)state;
    struct witness witness;
    assert_int_equal(witness_start(&witness), OK);
    pid_t pid = witness.pid;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    witness_end(&witness);
    assert_int_equal(kill(pid, 0), -1); /* ended and reaped */
    witness_end(&witness); /* harmless */
}

/* Not a zombie either: init may take its time. */
static bool is_alive(uint32_t pid)
{
    struct unseen_reader reader;
    struct unseen unseen;
    assert_int_equal(unseen_open(&reader, ""), OK);
    bool alive = unseen_read_stat(&reader, pid, &unseen) == OK && !unseen.zombie;
    unseen_close(&reader);
    return alive;
}

static void it_ends_when_we_die(void **state)
{
    (void)state;
    int tell[2];
    pid_t witness_pid;
    assert_int_equal(pipe(tell), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct witness witness;
        witness_start(&witness);
        ssize_t ignored = write(tell[1], &witness.pid, sizeof witness.pid);
        (void)ignored;
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    assert_int_equal(read(tell[0], &witness_pid, sizeof witness_pid), sizeof witness_pid);
    close(tell[0]);
    close(tell[1]);
    int tries = 0;
    while (is_alive((uint32_t)witness_pid) && tries++ < 400)
        poll(NULL, 0, 5);
    assert_false(is_alive((uint32_t)witness_pid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_for_the_group_is_reported),
        cmocka_unit_test(a_signal_for_us_alone_is_not),
        cmocka_unit_test(it_is_no_child_that_wait_meets),
        cmocka_unit_test(it_ends_when_we_die),
    };
    return cmocka_run_group_tests(tests, alone, NULL);
}
