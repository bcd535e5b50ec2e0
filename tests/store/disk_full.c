/* A disk that becomes full while a job is saved: FULL, nothing of the job, everything else unchanged; once there is
 * space again, the same job is saved. On a file system of its own, which only root can mount. */
#include "store/store.h"

#include "tools/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void fill_up(const char *path, size_t leave)
{
    static char zeros[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    off_t size = 0;
    while (write(fd, zeros, sizeof zeros) == (ssize_t)sizeof zeros)
        size += (off_t)sizeof zeros;
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(ftruncate(fd, size > (off_t)leave ? size - (off_t)leave : 0), 0);
    close(fd);
}

static void try_with(const char *mounted, size_t leave)
{
    char path[TEMP_PATH_MAX], filler[TEMP_PATH_MAX];
    struct fake_run big;
    temp_join(path, mounted, "sonde.db");
    temp_join(filler, mounted, "filler");
    unlink(path);
    fake_run_make(&big, &(struct fake_shape){ .run_id = "big", .job_id = "big", .processes = 5000 });
    struct store *store = fixture_open(path, STORE_WRITE);
    fixture_save_run(store, (struct fake_shape){ .processes = 10 });
    fill_up(filler, leave);
    assert_int_equal(store_save_run(store, &big.run), FULL);
    assert_non_null(strstr(store_message(store), "Free space"));
    struct store_job job;
    assert_int_equal(store_job(store, "big", &job), ABSENT);
    job = fixture_job(store, "job-1");
    assert_int_equal(job.summary.images, 10);
    store_job_clear(&job);
    unlink(filler);
    fixture_file(store, &big.run);
    store_close(&store);
    assert_sql(path, "PRAGMA integrity_check", "ok");
    assert_sql(path, "SELECT count(*) FROM processes", "5010");
    fake_run_clear(&big);
}

static void a_full_disk_loses_only_the_new_job(void **state)
{
    struct store_fixture *fixture = *state;
    char mounted[TEMP_PATH_MAX];
    temp_join(mounted, fixture->dir, "small");
    assert_int_equal(mkdir(mounted, 0700), 0);
    if (mount("sonde-test", mounted, "tmpfs", 0, "size=6m") != 0) {
        print_message("# cannot mount a file system here\n");
        skip();
    }
    try_with(mounted, 0);
    char old[TEMP_PATH_MAX];
    static const char *const names[] = { "sonde.db", "sonde.db-wal", "sonde.db-shm" };
    for (size_t i = 0; i < 3; i++) {
        temp_join(old, mounted, names[i]);
        unlink(old);
    }
    try_with(mounted, 300000);
    umount2(mounted, MNT_DETACH);
}

static void a_failed_creation_is_reported(void **state)
{
    struct store_fixture *fixture = *state;
    char mounted[TEMP_PATH_MAX], path[TEMP_PATH_MAX], filler[TEMP_PATH_MAX], *message;
    struct store *store;
    temp_join(mounted, fixture->dir, "small");
    assert_int_equal(mkdir(mounted, 0700), 0);
    if (mount("sonde-test", mounted, "tmpfs", 0, "size=1m") != 0)
        skip();
    temp_join(filler, mounted, "filler");
    temp_join(path, mounted, "sonde.db");
    fill_up(filler, 0);
    assert_int_equal(store_open(&store, path, STORE_WRITE, &message), FULL);
    assert_non_null(strstr(message, "Free space"));
    free(message);
    unlink(filler);
    store = fixture_open(path, STORE_WRITE);
    store_close(&store);
    umount2(mounted, MNT_DETACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_full_disk_loses_only_the_new_job),
        STORE_TEST(a_failed_creation_is_reported),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
