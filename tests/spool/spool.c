/* The spool: concurrent writers, one reader, damage by full disks. */
#include "spool/spool.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];

static int make_dir(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "host.spool");
    temp_write(path, "", 0);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

/* A fork record with this pid and time. Returns the size of the frame. */
static size_t fork_frame(uint8_t *frame, size_t room, uint64_t pid, uint64_t time_ns)
{
    struct packer p = { frame + FRAME_HEAD, frame + room - 7, false };
    record_pack_fork(&p, &(struct fork_record){ .pid = pid, .ppid = 1, .time_ns = time_ns });
    assert_false(p.full);
    return frame_finish(frame, RECORD_KIND_fork, (size_t)(p.at - frame) - FRAME_HEAD);
}

static enum err append(uint64_t pid, uint64_t time_ns)
{
    uint8_t frame[128];
    size_t size = fork_frame(frame, sizeof frame, pid, time_ns);
    return spool_append(path, frame, size);
}

/* Reads all records, stores their pids in order and returns the number. */
static size_t read_pids(uint64_t *pids, size_t max, uint64_t *damaged)
{
    struct spool_reader reader;
    assert_int_equal(spool_open(&reader, path), OK);
    enum record_kind kind;
    struct bytes body;
    size_t count = 0;
    while (spool_next(&reader, &kind, &body) == OK) {
        struct fork_record record;
        assert_int_equal(kind, RECORD_KIND_fork);
        assert_int_equal(record_unpack_fork(body, &record), OK);
        assert_true(count < max);
        pids[count++] = record.pid;
    }
    assert_int_equal(reader.at, reader.all.size);
    *damaged = reader.damaged_bytes;
    spool_close(&reader);
    return count;
}

static void append_bytes(const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, data, size), size);
    close(fd);
}

static void an_empty_spool_has_no_records(void **state)
{
    (void)state;
    uint64_t damaged, pids[1];
    assert_int_equal(read_pids(pids, 1, &damaged), 0);
    assert_int_equal(damaged, 0);
}

static void a_missing_spool_is_absent(void **state)
{
    (void)state;
    struct spool_reader reader;
    unlink(path);
    assert_int_equal(spool_open(&reader, path), ABSENT);
    assert_int_equal(append(1, 1), ABSENT);
}

static void records_are_read_in_order(void **state)
{
    (void)state;
    uint64_t damaged, pids[3];
    for (uint64_t pid = 1; pid <= 3; pid++)
        assert_int_equal(append(pid, pid), OK);
    assert_int_equal(read_pids(pids, 3, &damaged), 3);
    assert_int_equal(pids[0], 1);
    assert_int_equal(pids[2], 3);
    assert_int_equal(damaged, 0);
}

static void appending_follows_no_symbolic_link(void **state)
{
    (void)state;
    char target[TEMP_PATH_MAX];
    temp_join(target, dir, "other");
    temp_write(target, "", 0);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
    assert_int_not_equal(append(1, 1), OK);
    struct stat st;
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_size, 0);
}

static void damage_in_the_middle_is_skipped(void **state)
{
    (void)state;
    uint64_t damaged, pids[2];
    uint8_t frame[128];
    size_t size = fork_frame(frame, sizeof frame, 7, 7);
    append(1, 1);
    append_bytes(frame, size - 5);
    append(2, 2);
    assert_int_equal(read_pids(pids, 2, &damaged), 2);
    assert_int_equal(pids[1], 2);
    assert_int_equal(damaged, size - 5);
}

static void a_torn_record_at_the_end_is_counted(void **state)
{
    (void)state;
    uint64_t damaged, pids[1];
    uint8_t frame[128];
    size_t size = fork_frame(frame, sizeof frame, 7, 7);
    append(1, 1);
    append_bytes(frame, size - 1);
    assert_int_equal(read_pids(pids, 1, &damaged), 1);
    assert_int_equal(damaged, size - 1);
}

static void a_short_write_is_full(void **state)
{
    (void)state;
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){ 20, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum err err = append(1, 1);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(err, FULL);
}

#define WRITERS 8
#define RECORDS 500

static void write_as_one_of_many(uint64_t pid)
{
    for (uint64_t i = 0; i < RECORDS; i++)
        if (append(pid, i) != OK)
            _exit(1);
    _exit(0);
}

static void concurrent_writers_lose_nothing(void **state)
{
    (void)state;
    for (uint64_t pid = 0; pid < WRITERS; pid++)
        if (fork() == 0)
            write_as_one_of_many(pid);
    int status;
    while (wait(&status) > 0)
        assert_int_equal(status, 0);
    static uint64_t pids[WRITERS * RECORDS];
    uint64_t damaged, seen[WRITERS] = { 0 };
    assert_int_equal(read_pids(pids, WRITERS * RECORDS, &damaged), WRITERS * RECORDS);
    assert_int_equal(damaged, 0);
    for (size_t i = 0; i < WRITERS * RECORDS; i++)
        seen[pids[i]]++;
    for (size_t i = 0; i < WRITERS; i++)
        assert_int_equal(seen[i], RECORDS);
}

/* Only heads of frames that claim megabytes: checking each to its end would take hours. */
static void data_that_looks_like_long_frames_is_read_quickly(void **state)
{
    const uint32_t head[4] = { FRAME_MAGIC, 8u << 20, 0, 1 };
    size_t size = 24u << 20;
    char *bytes = malloc(size);
    for (size_t at = 0; at < size; at += sizeof head)
        memcpy(bytes + at, head, sizeof head);
    struct spool_reader reader = { .all = { bytes, size } };
    enum record_kind kind;
    struct bytes body;
    assert_int_equal(spool_next(&reader, &kind, &body), GONE);
    assert_int_equal(reader.damaged_bytes, size);
    assert_true(reader.wasted_bytes < 20 * size);
    free(bytes);
    (void)state;
}

/* The holder of the spool as a child sees it, optionally in a pid namespace of its own. */
static int holder_seen(int flags)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), status;
    pid_t pid = fork(), holder = -1;
    if (pid == 0) {
        if (flags && unshare(flags) != 0)
            _exit(3);
        pid = flags ? fork() : 0; /* the first one inside */
        if (pid)
            _exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 4);
        enum err err = spool_holder(fd, &holder);
        _exit(err == ABSENT ? 1 : err ? 4 : holder == 0 ? 2 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(fd); /* and with it the lock, as the kernel has it */
    return WEXITSTATUS(status);
}

static void the_holder_has_its_pid_in_the_namespace_of_the_caller(void **state)
{
    (void)state;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(holder_seen(0), 1);
    enum err err = spool_hold(fd);
    if (err == ABSENT)
        leave_out("no lock on files of this file system");
    assert_int_equal(err, OK);
    assert_int_equal(holder_seen(0), 0);
    assert_int_equal(spool_hold(fd), OK);
    int inside = holder_seen(CLONE_NEWPID);
    assert_true(inside == 2 || (inside == 3 && geteuid() != 0));
    assert_int_equal(holder_seen(0), 1);
    close(fd);
}

#define CRAMPED_THREADS 8

static void *append_often(void *value)
{
    uint8_t frame[128];
    size_t size = fork_frame(frame, sizeof frame, 1, 1);
    (void)value;
    for (int i = 0; i < 50; i++)
        spool_append(path, frame, size);
    return NULL;
}

/* A program that has used up its descriptors. 0: its limit is unchanged. */
static int append_cramped(void)
{
    pthread_t threads[CRAMPED_THREADS];
    struct rlimit limit = { 100, 200 };
    int started = 0;
    setrlimit(RLIMIT_NOFILE, &limit);
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        continue;
    while (started < CRAMPED_THREADS && pthread_create(&threads[started], NULL, append_often, NULL) == 0)
        started++;
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return started == CRAMPED_THREADS && getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == 100 ? 0 : 1;
}

static void threads_without_descriptors_keep_their_limit(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            _exit(append_cramped());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 0); /* there was a place for some at least */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_spool_has_no_records, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_missing_spool_is_absent, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(records_are_read_in_order, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(appending_follows_no_symbolic_link, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(damage_in_the_middle_is_skipped, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_torn_record_at_the_end_is_counted, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_short_write_is_full, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_holder_has_its_pid_in_the_namespace_of_the_caller, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(threads_without_descriptors_keep_their_limit, make_dir, remove_dir),
        cmocka_unit_test(data_that_looks_like_long_frames_is_read_quickly),
        cmocka_unit_test_setup_teardown(concurrent_writers_lose_nothing, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
