/* Kernel events, from the real kernel where permitted, and resynchronisation with captured processes. */
#include "run/proc_events.h"

#include "tools/temp.h"
#include "tools/unit.h"
#include "spool/spool.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
static struct spool_writer writer;
static struct perf_counts perf = { .fd = -1 };
static struct proc_events events;

static int start(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "x.spool");
    spool_writer_init_take(&writer, open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    return 0;
}

static int stop(void **state)
{
    (void)state;
    proc_events_close(&events);
    spool_writer_close(&writer);
    temp_remove(dir);
    return 0;
}

/* Number of records of one pid, by kind. */
struct tally {
    size_t forks, threads, execs, exits, taskstats, alive;
    struct kernel_exec_record exec;
    char exec_args[64];
    uint64_t status, ppid, alive_uid;
};

static void count(struct tally *tally, enum record_kind kind, struct bytes body, uint32_t pid)
{
    struct kernel_fork_record fork;
    struct kernel_exec_record exec;
    struct kernel_exit_record ended;
    struct taskstats_record stats;
    struct alive_record alive;
    if (kind == RECORD_KIND_kernel_fork && record_unpack_kernel_fork(body, &fork) == OK && fork.pid == pid) {
        tally->forks += fork.tid == pid;
        tally->threads += fork.tid != pid;
        tally->ppid = fork.ppid;
    } else if (kind == RECORD_KIND_kernel_exec && record_unpack_kernel_exec(body, &exec) == OK && exec.pid == pid) {
        tally->execs++;
        tally->exec = exec;
        memcpy(tally->exec_args, exec.args.data, exec.args.size < 64 ? exec.args.size : 64);
    } else if (kind == RECORD_KIND_kernel_exit && record_unpack_kernel_exit(body, &ended) == OK && ended.pid == pid) {
        tally->exits++;
        tally->status = ended.status;
    } else if (kind == RECORD_KIND_taskstats && record_unpack_taskstats(body, &stats) == OK && stats.pid == pid) {
        tally->taskstats++;
    } else if (kind == RECORD_KIND_alive && record_unpack_alive(body, &alive) == OK && alive.pid == pid) {
        tally->alive++;
        tally->ppid = alive.ppid;
        tally->alive_uid = alive.uid;
    }
}

static struct tally tally_of(uint32_t pid)
{
    struct tally tally = { 0 };
    struct spool_reader reader;
    enum record_kind kind;
    struct bytes body;
    spool_writer_flush(&writer);
    assert_int_equal(spool_open(&reader, path), OK);
    while (spool_next(&reader, &kind, &body) == OK)
        count(&tally, kind, body, pid);
    spool_close(&reader);
    return tally;
}

static void need_connector(void)
{
    proc_events_open(&events, "", &writer, &perf);
    if (events.forks.fd < 0)
        skip();
}

/* Reads until no member is alive; the last events arrive shortly after reaping. */
static void read_to_the_end(void)
{
    for (int i = 0; i < 10000; i++) {
        proc_events_read(&events);
        if (!events.members.alive)
            return;
        poll(NULL, 0, 5);
    }
    fail_msg("events did not come");
}

static void a_child_is_recorded_from_fork_to_exit(void **state)
{
    (void)state;
    need_connector();
    int go[2];
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(go[0], 0);
        close(go[1]);
        execl("/bin/sh", "sh", "-c", "read x; exit 3", NULL);
        _exit(9);
    }
    close(go[0]);
    for (int i = 0; i < 10000 && !tally_of((uint32_t)pid).execs; i++) {
        poll(NULL, 0, 5);
        proc_events_read(&events);
    }
    close(go[1]);
    waitpid(pid, NULL, 0);
    read_to_the_end();
    struct tally tally = tally_of((uint32_t)pid);
    assert_int_equal(tally.forks, 1);
    assert_int_equal(tally.ppid, getpid());
    assert_int_equal(tally.execs, 1);
    assert_true(tally.exec.stat_known);
    assert_int_equal(tally.exec.ppid, getpid());
    assert_int_equal(tally.exec.uid, getuid());
    assert_memory_equal(tally.exec_args, "sh\0-c\0read x; exit 3", 21);
    assert_int_equal(tally.exits, 1);
    assert_int_equal(tally.status, 3 << 8);
    assert_int_equal(tally.taskstats, events.exits.fd >= 0 ? 1 : 0);
}

static void *nothing(void *argument)
{
    return argument;
}

static void threads_are_recorded_one_by_one(void **state)
{
    (void)state;
    need_connector();
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 10; i++) {
            pthread_t thread;
            pthread_create(&thread, NULL, nothing, NULL);
            pthread_join(thread, NULL);
        }
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    read_to_the_end();
    struct tally tally = tally_of((uint32_t)pid);
    assert_int_equal(tally.threads, 10);
    assert_int_equal(tally.exits, 11);
    assert_int_equal(tally.taskstats, events.exits.fd >= 0 ? 11 : 0);
}

static void grandchildren_are_members_and_others_are_not(void **state)
{
    (void)state;
    int fds[2];
    uint32_t pids[2];
    assert_int_equal(pipe(fds), 0);
    need_connector();
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 2; i++) {
            pid_t grandchild = fork();
            if (grandchild == 0)
                _exit(0);
            waitpid(grandchild, NULL, 0);
            ssize_t ignored = write(fds[1], &grandchild, sizeof grandchild);
            (void)ignored;
        }
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    assert_int_equal(read(fds[0], pids, sizeof pids), sizeof pids);
    close(fds[0]);
    close(fds[1]);
    read_to_the_end();
    assert_int_equal(tally_of(pids[0]).forks, 1);
    assert_int_equal(tally_of(pids[1]).exits, 1);
    assert_true(proc_events_has(&events, pids[0])); /* still, for a while */
    assert_false(proc_events_has(&events, 1));
    assert_false(proc_events_has(&events, (uint32_t)getpid()));
}

static void a_helper_is_not_of_the_job(void **state)
{
    (void)state;
    need_connector();
    int wait[2];
    assert_int_equal(pipe(wait), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(wait[1]);
        ssize_t ignored = read(wait[0], &pid, 1);
        (void)ignored;
        _exit(0);
    }
    events.other = (uint32_t)pid;
    proc_events_read(&events);
    proc_events_resync(&events, true);
    assert_false(proc_events_has(&events, (uint32_t)pid));
    close(wait[0]);
    close(wait[1]);
    waitpid(pid, NULL, 0);
}

/* With two threads; a zombie has only one. */
static void put_process_of(unsigned pid, unsigned ppid, unsigned pgid, unsigned sid, char letter)
{
    char name[64], file[TEMP_PATH_MAX], line[256];
    snprintf(name, sizeof name, "proc/%u/stat", pid);
    temp_join(file, dir, name);
    snprintf(line, sizeof line, "%u (p) %c %u %u %u 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 %d 0 9 1 2 3\n", pid, letter, ppid,
             pgid, sid, letter == 'Z' ? 1 : 2);
    temp_write(file, line, strlen(line));
}

static void put_process(unsigned pid, unsigned ppid, char letter)
{
    put_process_of(pid, ppid, 1, 1, letter);
}

static void lost_events_are_recovered_from_proc(void **state)
{
    (void)state;
    put_process(900, 901, 'S'); /* a child listed before its parent, which is listed before its own */
    put_process(901, 902, 'S');
    put_process(902, 5000, 'S');
    put_process(903, 902, 'Z');
    put_process(904, 1, 'S');
    proc_events_open(&events, dir, &writer, &perf);
    events.self = 5000;
    members_add(&events.members, 950, 5000); /* its end was not reported */
    members_add(&events.members, 902, 5000);
    proc_events_resync(&events, true);
    assert_int_equal(events.members.alive, 3);
    assert_int_equal(members_find(&events.members, 900)->threads, 2);
    assert_int_equal(members_find(&events.members, 950)->threads, 0);
    assert_null(members_find(&events.members, 903));
    assert_null(members_find(&events.members, 904));
    struct tally tally = tally_of(900);
    assert_int_equal(tally.alive, 1);
    assert_int_equal(tally.ppid, 901);
    assert_int_equal(tally_of(902).alive, 0); /* already known */
    proc_events_resync(&events, true);
    assert_int_equal(tally_of(900).alive, 1);
    assert_int_equal(proc_events_record_survivors(&events), 3);
    assert_int_equal(tally_of(902).alive, 1);
}

/* A process that is not dumpable belongs to root in /proc, but not to the user root. */
static void the_user_is_recorded_if_known(void **state)
{
    (void)state;
    const char *users[] = { "Name:\tp\nUid:\t1234\t0\t0\t0\n", "Name:\tp\nUid:\t0\t0\t0\t0\n" };
    char name[64], file[TEMP_PATH_MAX];
    for (unsigned i = 0; i < 3; i++) {
        put_process(920 + i, 5000, 'S');
        snprintf(name, sizeof name, "proc/%u/status", 920 + i);
        temp_join(file, dir, name);
        if (i < 2)
            temp_write(file, users[i], strlen(users[i]));
    }
    proc_events_open(&events, dir, &writer, &perf);
    events.self = 5000;
    proc_events_resync(&events, true);
    assert_int_equal(tally_of(920).alive_uid, 1234);
    assert_int_equal(tally_of(921).alive_uid, 0);
    assert_int_equal(tally_of(922).alive, 1);
    assert_int_equal(tally_of(922).alive_uid, RECORD_UID_UNKNOWN);
}

/* Its parent created the session, forked and ended before /proc was read. */
static void an_orphan_is_recognised_by_session_or_group(void **state)
{
    (void)state;
    put_process_of(910, 1, 905, 905, 'S');
    put_process_of(911, 1, 905, 1, 'S');
    put_process_of(912, 1, 0, 0, 'S');
    put_process(913, 1, 'S');
    proc_events_open(&events, dir, &writer, &perf);
    events.self = 0;
    members_add(&events.members, 905, 5000);
    proc_events_resync(&events, true);
    assert_int_equal(events.members.alive, 2);
    assert_int_equal(tally_of(910).alive, 1);
    assert_int_equal(tally_of(911).alive, 1);
    assert_false(proc_events_has(&events, 912));
    assert_false(proc_events_has(&events, 913));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_child_is_recorded_from_fork_to_exit, start, stop),
        cmocka_unit_test_setup_teardown(threads_are_recorded_one_by_one, start, stop),
        cmocka_unit_test_setup_teardown(grandchildren_are_members_and_others_are_not, start, stop),
        cmocka_unit_test_setup_teardown(a_helper_is_not_of_the_job, start, stop),
        cmocka_unit_test_setup_teardown(an_orphan_is_recognised_by_session_or_group, start, stop),
        cmocka_unit_test_setup_teardown(the_user_is_recorded_if_known, start, stop),
        cmocka_unit_test_setup_teardown(lost_events_are_recovered_from_proc, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
