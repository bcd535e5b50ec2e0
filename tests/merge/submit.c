/* A spool is removed only after it was saved; a spool that fails or is in use stays. */
#include "merge/submit.h"

#include "tools/merge_fixture.h"
#include "tools/temp.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX], db[TEMP_PATH_MAX], sub[TEMP_PATH_MAX], spool[TEMP_PATH_MAX], lost[TEMP_PATH_MAX];
static struct store *store;

static void write_spool(const char *path, struct bytes run_id, struct bytes job_id)
{
    struct spool_maker maker;
    spool_maker_init_empty(&maker);
    spool_add(&maker, run, .run_id = run_id, .job_id = job_id, .name = PATH("n"), .user = PATH("u"), .host = PATH("h"),
              .time_ns = AT(0), .pid = MAKER_RUN_PID);
    spool_image(&maker, 10, MAKER_RUN_PID, 1, "/bin/a");
    spool_fork(&maker, 11, 10, 2);
    spool_add(&maker, alive, .pid = 10, .ppid = MAKER_RUN_PID, .time_ns = AT(50), .self = usage_us(1, 0));
    spool_run_end(&maker, 51, 0);
    temp_write(path, maker.buf.data, maker.buf.size);
    spool_maker_clear(&maker);
}

static int make_all(void **state)
{
    char *message = NULL;
    (void)state;
    temp_dir(dir);
    temp_join(db, dir, "sonde.db");
    temp_join(sub, dir, "run");
    temp_join(spool, sub, "host.run.spool");
    temp_join(lost, sub, "host.run.spool.lost");
    mkdir(sub, 0700);
    write_spool(spool, PATH("r1"), PATH("j1"));
    temp_write(lost, "\5\0\0\0\0\0\0", 8);
    return store_open(&store, db, STORE_WRITE, &message) != OK;
}

static int remove_all(void **state)
{
    (void)state;
    store_close(&store);
    temp_remove(dir);
    return 0;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static size_t job_count(void)
{
    struct store_job job;
    if (store_job(store, "j1", &job))
        return 0;
    size_t count = (size_t)job.summary.processes;
    store_job_clear(&job);
    return count;
}

static void saved_and_removed(void **state)
{
    struct submitted result;
    assert_int_equal(submit_spool(store, spool, false, &result), OK);
    assert_string_equal(result.job_id, "j1");
    assert_int_equal(result.processes, 2);
    assert_int_equal(result.threads, 2);
    assert_int_equal(result.gaps.records_lost, 5);
    assert_true(result.running);
    assert_false(is_there(spool) || is_there(lost) || is_there(sub));
    assert_int_equal(job_count(), 2);
    (void)state;
}

static void saved_and_kept_and_saved_again(void **state)
{
    struct submitted result;
    assert_int_equal(submit_spool(store, spool, true, &result), OK);
    assert_true(is_there(spool) && is_there(lost));
    assert_int_equal(submit_spool(store, spool, false, &result), OK);
    assert_int_equal(job_count(), 2);
    assert_false(is_there(spool));
    (void)state;
}

static void directory_with_other_files_stays(void **state)
{
    char other[TEMP_PATH_MAX];
    struct submitted result;
    temp_join(other, sub, "notes");
    temp_write(other, "x", 1);
    assert_int_equal(submit_spool(store, spool, false, &result), OK);
    assert_true(is_there(other));
    (void)state;
}

/* A directory that was given with -o or to sonde submit belongs to the user. */
static void directory_of_the_user_stays(void **state)
{
    static const char *const names[] = { "a.spool", "other.spool", "run.spool", "hostrun.spool", "host.run2.spool", "" };
    char path[TEMP_PATH_MAX];
    struct submitted result;
    unlink(spool);
    unlink(lost);
    for (int i = 0; names[i][0]; i++) {
        temp_join(path, sub, names[i]);
        write_spool(path, PATH("r1"), PATH("j1"));
        assert_int_equal(submit_spool(store, path, false, &result), OK);
        assert_false(is_there(path));
        assert_true(is_there(sub));
    }
    (void)state;
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

/* Left by sonde run -e when it is killed. Another run with that pid may be active in the same directory. */
static void socket_of_a_killed_run_is_removed(void **state)
{
    char path[TEMP_PATH_MAX], dead[TEMP_PATH_MAX], other[TEMP_PATH_MAX];
    struct submitted result;
    temp_join(path, sub, "host.18e8-7e55-93e3.spool");
    temp_join(dead, sub, "perf.32341");
    temp_join(other, sub, "perf.32342");
    write_spool(path, PATH("r1"), PATH("j1"));
    int fd = listen_at(dead);
    close(listen_at(other));
    assert_int_equal(submit_spool(store, path, false, &result), OK);
    assert_true(is_there(dead));
    close(fd);
    write_spool(path, PATH("r1"), PATH("j1"));
    assert_int_equal(submit_spool(store, path, false, &result), OK);
    assert_false(is_there(dead));
    assert_true(is_there(other));
    (void)state;
}

static void unreadable_spool_stays(void **state)
{
    struct submitted result;
    temp_write(spool, "nonsense", 8);
    assert_int_equal(submit_spool(store, spool, false, &result), CORRUPT);
    assert_true(is_there(spool));
    (void)state;
}

static void spool_stays_if_saving_fails(void **state)
{
    struct submitted result;
    char *message = NULL;
    store_close(&store);
    assert_int_equal(store_open(&store, db, STORE_READ, &message), OK);
    assert_int_not_equal(submit_spool(store, spool, false, &result), OK);
    assert_true(is_there(spool) && is_there(lost));
    (void)state;
}

struct submit_counts {
    size_t saved, failed, in_use;
};

static void count_result(void *context, const char *path, enum err err, const struct submitted *result)
{
    struct submit_counts *counts = context;
    (void)path;
    (void)result;
    counts->saved += err == OK;
    counts->in_use += err == AGAIN;
    counts->failed += err != OK;
}

static void directory_of_spools(void **state)
{
    char second[TEMP_PATH_MAX], third[TEMP_PATH_MAX];
    struct submit_counts counts = { 0 };
    temp_join(second, dir, "b.spool");
    temp_join(third, dir, "c.spool");
    write_spool(second, PATH("r2"), PATH("j1"));
    temp_write(third, "nonsense", 8);
    assert_int_equal(submit_dir(store, dir, false, count_result, &counts), CORRUPT);
    assert_int_equal(counts.saved, 2);
    assert_int_equal(counts.failed, 1);
    assert_int_equal(job_count(), 4);
    assert_true(is_there(third) && is_there(db));
    unlink(third);
    assert_int_equal(submit_dir(store, dir, false, count_result, &counts), ABSENT);
    assert_int_equal(submit_dir(store, third, false, count_result, &counts), ABSENT);
    (void)state;
}

/* sonde run holds a lock as long as it writes. */
static void spool_in_use(void **state)
{
    struct submit_counts counts = { 0 };
    int fd = open(spool, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(submit_dir(store, dir, false, count_result, &counts), AGAIN);
    assert_int_equal(counts.in_use, 1);
    assert_true(is_there(spool));
    close(fd);
    assert_int_equal(submit_dir(store, spool, false, count_result, &counts), OK);
    assert_false(is_there(spool));
    (void)state;
}

/* A reader that tests the lock, such as sonde doctor, does not count as use. */
static void spool_with_shared_lock(void **state)
{
    struct submit_counts counts = { 0 };
    int fd = open(spool, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_SH), 0);
    assert_int_equal(submit_dir(store, dir, false, count_result, &counts), OK);
    assert_false(is_there(spool));
    close(fd);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define S(name) cmocka_unit_test_setup_teardown(name, make_all, remove_all)
        S(saved_and_removed), S(saved_and_kept_and_saved_again), S(directory_with_other_files_stays),
        S(directory_of_the_user_stays), S(socket_of_a_killed_run_is_removed),
        S(unreadable_spool_stays), S(spool_stays_if_saving_fails), S(directory_of_spools), S(spool_in_use),
        S(spool_with_shared_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
