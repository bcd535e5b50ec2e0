/* POST /run: by an open file or by a path, and only files of the requester. */
#include "agent/run_post.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define ELSEWHERE "{\"spool\": \"/no/such/folder/run-1.spool\"}"

static char dir[TEMP_PATH_MAX], spool[TEMP_PATH_MAX], file[TEMP_PATH_MAX], by_path[TEMP_PATH_MAX + 32];
static struct sender *sender;
static struct buf answer;

static int begin(void **state)
{
    (void)state;
    struct uplink_config config = { .plain = true, .spool = spool };
    buf_init(&answer, 4096);
    temp_dir(dir);
    temp_join(spool, dir, "spool");
    temp_join(file, dir, "run-1.spool");
    temp_write(file, "records", 7);
    snprintf(by_path, sizeof by_path, "{\"spool\": \"%s\"}", file);
    assert_int_equal(uplink_config_set(&config, "collector", "tcp://127.0.0.1:9", &answer), OK); /* nothing listens there */
    enum err err = sender_open(&sender, &config, "node17", &answer);
    config.spool = NULL;
    uplink_config_clear(&config);
    return (int)err;
}

static int end(void **state)
{
    (void)state;
    sender_close(&sender, 0);
    temp_remove(dir);
    buf_clear(&answer);
    return 0;
}

static enum err post(int fd, const char *body)
{
    struct run_post post = { geteuid(), fd, bytes_of(body) };
    buf_reset(&answer);
    enum err err = run_post(sender, &post, &answer);
    assert_non_null(strstr(buf_text(&answer), err ? "\"ok\": false" : "\"ok\": true"));
    return err;
}

static uint64_t records(void)
{
    struct sender_figures figures;
    sender_figures(sender, &figures);
    return figures.records;
}

/* Opened, passed, closed again: it is borrowed. */
static enum err hand(const char *path, int flags, const char *body)
{
    int fd = open(path, flags | O_CLOEXEC);
    assert_true(fd >= 0);
    enum err err = post(fd, body);
    assert_int_equal(close(fd), 0);
    return err;
}

static void passed_file_without_path(void **state)
{
    (void)state;
    assert_int_equal(post(-1, ELSEWHERE), ABSENT);
    assert_int_equal(records(), 0);
    assert_int_equal(hand(file, O_RDONLY, ELSEWHERE), OK);
    assert_non_null(strstr(buf_text(&answer), "\"bytes\": 7"));
    assert_int_equal(records(), 1);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    unlink(file);
    assert_int_equal(post(fd, by_path), OK);
    close(fd);
    assert_int_equal(records(), 2);
}

static void path_without_file(void **state)
{
    (void)state;
    assert_int_equal(post(-1, by_path), OK);
    assert_int_equal(records(), 1);
    char link[TEMP_PATH_MAX], body[TEMP_PATH_MAX + 32];
    temp_join(link, dir, "link.spool");
    assert_int_equal(symlink(file, link), 0);
    snprintf(body, sizeof body, "{\"spool\": \"%s\"}", link);
    assert_int_not_equal(post(-1, body), OK);
}

static void files_of_others_are_refused(void **state)
{
    (void)state;
    int pipes[2];
    uint64_t before = records();
    assert_int_equal(hand(dir, O_RDONLY | O_DIRECTORY, ELSEWHERE), DENIED);
    assert_int_equal(hand("/dev/zero", O_RDONLY, ELSEWHERE), DENIED);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(post(pipes[0], ELSEWHERE), DENIED);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_not_equal(hand(file, O_WRONLY, ELSEWHERE), OK); /* not open for reading */
    assert_int_not_equal(hand(file, O_PATH, ELSEWHERE), OK);
    struct run_post others = { geteuid() + 1, open(file, O_RDONLY | O_CLOEXEC), bytes_of(ELSEWHERE) };
    assert_int_equal(run_post(sender, &others, &answer), DENIED);
    close(others.fd);
    assert_int_equal(post(12345, ELSEWHERE), ABSENT); /* no file at all */
    assert_int_equal(records(), before);
}

static void empty_and_too_large_files_are_refused(void **state)
{
    (void)state;
    assert_int_equal(truncate(file, 0), 0);
    assert_int_equal(hand(file, O_RDONLY, ELSEWHERE), USAGE);
    assert_int_equal(truncate(file, RUN_POST_BYTES_MAX + 1l), 0);
    assert_int_equal(hand(file, O_RDONLY, ELSEWHERE), FULL);
    assert_int_equal(records(), 0);
}

static void name_is_required(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "{}", "[]", "{\"spool\": 1}", "{\"spool\": \"x.spool\"}", "{\"spool\": \"/x\"}",
                                       "{\"spool\": \"/.spool\"}", "{\"spool\": \"/a\\u0000.spool\"}", "{\"spool\": \"/a.spool" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(hand(file, O_RDONLY, bad[i]), USAGE);
    assert_int_equal(records(), 0);
}

/* A user may have mounted it and may block reads: it is opened by path instead. */
static void overlay_file_is_not_read(void **state)
{
    (void)state;
    char upper[TEMP_PATH_MAX], lower[TEMP_PATH_MAX], merged[TEMP_PATH_MAX], inside[TEMP_PATH_MAX], options[3 * TEMP_PATH_MAX];
    temp_join(upper, dir, "upper");
    temp_join(lower, dir, "lower");
    temp_join(merged, dir, "merged");
    mkdir(upper, 0755);
    mkdir(lower, 0755);
    mkdir(merged, 0755);
    snprintf(options, sizeof options, "lowerdir=%s:%s", upper, lower);
    temp_join(inside, upper, "run-2.spool");
    temp_write(inside, "records", 7);
    if (mount("none", merged, "overlay", 0, options))
        leave_out("no overlay can be mounted here");
    temp_join(inside, merged, "run-2.spool");
    enum err err = hand(inside, O_RDONLY, ELSEWHERE);
    umount2(merged, MNT_DETACH);
    assert_int_equal(err, ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passed_file_without_path, begin, end),
        cmocka_unit_test_setup_teardown(path_without_file, begin, end),
        cmocka_unit_test_setup_teardown(files_of_others_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(empty_and_too_large_files_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(name_is_required, begin, end),
        cmocka_unit_test_setup_teardown(overlay_file_is_not_read, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
