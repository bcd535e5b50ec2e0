/* Segments of killed and of running programs, and directories of runs: which are counted and removed. */
#include "appmetrics/segment_leftovers.h"

#include "probe/segment/segment.h"
#include "appmetrics/segment_dir.h"
#include "appmetrics/segment_claim.h"

#include "tools/refused.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX];

static int create_dir(void **state)
{
    (void)state;
    temp_dir(dir);
    setenv(SEGMENT_ENV_DIR, dir, 1);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

/* A child with a segment. */
static pid_t start_program(void)
{
    static struct segment segment;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        segment_open(&segment, "sonde");
        if (write(ready[1], "r", 1) == 1)
            pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end_program(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static struct segment_leftovers look(uint64_t old_s, bool may_remove)
{
    struct segment_leftovers leftovers;
    segment_leftovers_find(dir, old_s, may_remove, &leftovers);
    return leftovers;
}

static void segments_of_ended_processes_are_removed(void **state)
{
    (void)state;
    pid_t dead = start_program(), alive = start_program();
    end_program(dead);
    assert_int_equal(look(SEGMENT_LEFTOVERS_OLD_S, true).count, 0); /* too young */
    struct segment_leftovers found = look(0, false);
    assert_int_equal(found.count, 1);
    assert_true(found.bytes > 0);
    assert_int_equal(found.removed, 0);
    assert_int_equal(look(0, true).removed, 1);
    assert_int_equal(look(0, true).count, 0);
    end_program(alive);
    assert_int_equal(look(0, true).removed, 1);
}

static void nothing_is_removed_while_an_agent_runs(void **state)
{
    int claim_fd;
    (void)state;
    end_program(start_program());
    assert_int_equal(segment_claim_take(dir, "", &claim_fd), OK);
    struct segment_leftovers found = look(0, true);
    assert_true(found.is_claimed);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.removed, 0);
    assert_int_equal(futimens(claim_fd, (struct timespec[]){ { 1, 0 }, { 1, 0 } }), 0);
    assert_true(look(0, true).is_claimed); /* it is locked */
    close(claim_fd);
    assert_int_equal(look(0, true).removed, 1); /* ended long ago */
}

static void directories_of_killed_runs_are_removed(void **state)
{
    char path[SEGMENT_DIR_PATH_MAX];
    int lock_fd;
    (void)state;
    assert_int_equal(segment_dir_create(dir, path, &lock_fd), OK);
    assert_int_equal(look(0, true).count, 0); /* its run holds it */
    close(lock_fd);
    assert_int_equal(look(0, true).removed, 1);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* For sonde submit a directory waits a day; what was left for an agent that is not there does not. */
static void segments_left_to_an_agent_are_removed_without_one(void **state)
{
    char path[SEGMENT_DIR_PATH_MAX];
    int lock_fd, claim_fd;
    (void)state;
    assert_int_equal(segment_claim_take(dir, "", &claim_fd) | segment_dir_create(dir, path, &lock_fd), OK);
    setenv(SEGMENT_ENV_DIR, path, 1);
    end_program(start_program());
    setenv(SEGMENT_ENV_DIR, dir, 1);
    segment_dir_release(path);
    close(lock_fd);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(look(SEGMENT_LEFTOVERS_OLD_S, true).removed, 0); /* the agent will read it */
    assert_int_equal(futimens(claim_fd, (struct timespec[]){ { 1, 0 }, { 1, 0 } }), 0);
    close(claim_fd);
    assert_int_equal(look(SEGMENT_LEFTOVERS_OLD_S, true).removed, 1);
}

static void other_files_with_such_names_stay(void **state)
{
    char path[TEMP_PATH_MAX];
    (void)state;
    temp_join(path, dir, "sonde.1.mine.notes");
    temp_write(path, "precious", 8);
    assert_int_equal(look(0, true).count, 0);
    assert_int_equal(access(path, F_OK), 0);
}

/* 0: it failed and left nothing after. */
static int make_without_lock(void)
{
    char path[SEGMENT_DIR_PATH_MAX];
    int lock_fd = 0, before = dup(0);
    close(before);
    if (segment_dir_create(dir, path, &lock_fd) != IO || lock_fd != -1 || access(path, F_OK) == 0)
        return 1;
    return dup(0) != before;
}

static void failed_lock_leaves_no_directory(void **state)
{
    (void)state;
    int failed = refused_run(make_without_lock, SYS_fcntl, F_OFD_SETLK, ENOLCK);
    if (failed == REFUSED_NOT)
        leave_out("no system call can be refused here");
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(segments_of_ended_processes_are_removed, create_dir, remove_dir),
        cmocka_unit_test_setup_teardown(nothing_is_removed_while_an_agent_runs, create_dir, remove_dir),
        cmocka_unit_test_setup_teardown(directories_of_killed_runs_are_removed, create_dir, remove_dir),
        cmocka_unit_test_setup_teardown(segments_left_to_an_agent_are_removed_without_one, create_dir, remove_dir),
        cmocka_unit_test_setup_teardown(other_files_with_such_names_stay, create_dir, remove_dir),
        cmocka_unit_test_setup_teardown(failed_lock_leaves_no_directory, create_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
