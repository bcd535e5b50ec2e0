/* Appending to files: after a crash a file returns to its last flush, and resume gives that position; a full disk
 * leaves no partial batch. */
#include "sinks/checkpoint.h"

#include "sinks/sink.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct metric metrics[] = { { "n", "1", GAUGE, U64, "" } };
static const struct set set = { "set", metrics, 1 };
static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];

static int make_dir(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "out");
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

static void *open_sink(const struct sink *sink, uint64_t *position)
{
    void *state = calloc(1, sink->state_size);
    assert_int_equal(setting_defaults(sink->settings, state), OK);
    assert_int_equal(setting_apply(sink->settings, state, "path", path), OK);
    assert_int_equal(setting_apply(sink->settings, state, "append", "yes"), OK);
    assert_int_equal(sink->open(state), OK);
    assert_int_equal(sink->resume(state, position), OK);
    return state;
}

static enum err write_one(const struct sink *sink, void *state, uint64_t number, size_t samples)
{
    struct batch batch;
    batch_init(&batch);
    batch.host = "node";
    for (size_t i = 0; i < samples; i++)
        sample_set_u64(batch_add(&batch, &set, number, ""), 0, number * 1000 + i);
    batch.position = number;
    enum err err = sink->write(state, &batch);
    batch_clear(&batch);
    return err;
}

/* Each number from 1 to last must occur as often as it was written, in order, in whole lines. */
static void assert_numbers(uint64_t last, size_t samples)
{
    static char text[1 << 20];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    assert_true(size >= 0);
    text[size] = '\0';
    assert_true(size == 0 || text[size - 1] == '\n');
    const char *at = text;
    for (uint64_t number = 1; number <= last; number++)
        for (size_t i = 0; i < samples; i++) {
            char value[64];
            snprintf(value, sizeof value, "\"n\": %llu}", (unsigned long long)(number * 1000 + i));
            const char *line_end = strchr(at, '\n');
            assert_non_null(line_end);
            const char *found = strstr(at, value);
            assert_true(found && found < line_end);
            at = line_end + 1;
        }
    assert_int_equal(*at, '\0');
}

static void unflushed_lines_are_removed_after_a_crash(void **state)
{
    (void)state;
    const struct sink *sink = sink_find("json");
    uint64_t position;
    void *s = open_sink(sink, &position);
    assert_int_equal(position, 0);
    for (uint64_t round = 0; round < 5; round++) {
        for (uint64_t number = round * 3 + 1; number <= round * 3 + 3; number++)
            assert_int_equal(write_one(sink, s, number, 2), OK);
        assert_int_equal(sink->flush(s, 0), OK);
        assert_int_equal(write_one(sink, s, round * 3 + 4, 2), OK); /* in the file, but not flushed */
        assert_numbers(round * 3 + 4, 2);
        sink->close(s);
        free(s);
        s = open_sink(sink, &position);
        assert_int_equal(position, round * 3 + 3);
        assert_numbers(round * 3 + 3, 2);
    }
    sink->close(s);
    free(s);
}

/* The first batches are removed too; earlier content of the file stays. */
static void a_file_that_was_never_flushed_is_emptied(void **state)
{
    (void)state;
    const struct sink *sink = sink_find("json");
    uint64_t position;
    temp_write(path, "{\"n\": 1000}\n", 12);
    void *s = open_sink(sink, &position);
    assert_int_equal(write_one(sink, s, 2, 1), OK);
    assert_int_equal(write_one(sink, s, 3, 1), OK);
    assert_numbers(3, 1);
    sink->close(s);
    free(s);
    s = open_sink(sink, &position);
    assert_int_equal(position, 0);
    assert_numbers(1, 1);
    sink->close(s);
    free(s);
}

static void a_file_changed_by_others_is_left_alone(void **state)
{
    (void)state;
    const struct sink *sink = sink_find("json");
    uint64_t position;
    void *s = open_sink(sink, &position);
    for (uint64_t number = 1; number <= 3; number++)
        assert_int_equal(write_one(sink, s, number, 1), OK);
    assert_int_equal(sink->flush(s, 0), OK);
    sink->close(s);
    free(s);
    char old[TEMP_PATH_MAX];
    temp_join(old, dir, "out.1");
    assert_int_equal(rename(path, old), 0);
    temp_write(path, "a line of somebody else, longer than what was there before: "
                     "a line of somebody else, longer than what was there before: "
                     "a line of somebody else, longer than what was there before: "
                     "a line of somebody else, longer than what was there before\n", 239);
    s = open_sink(sink, &position);
    assert_int_equal(position, 3);
    sink->close(s);
    free(s);
    assert_int_equal(access(old, F_OK), 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(lseek(fd, 0, SEEK_END), 239);
    close(fd);
}

/* RLIMIT_FSIZE acts like a full disk. */
static void a_full_disk_leaves_no_partial_batch(void **state)
{
    (void)state;
    const struct sink *sink = sink_find("json");
    struct rlimit before, limit;
    uint64_t position, number = 1;
    signal(SIGXFSZ, SIG_IGN);
    void *s = open_sink(sink, &position);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 200000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum err err;
    while ((err = write_one(sink, s, number, 900)) == OK)
        number++;
    assert_int_equal(err, FULL);
    assert_true(number > 1);
    assert_int_equal(write_one(sink, s, number, 900), FULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_numbers(number - 1, 900);
    assert_int_equal(write_one(sink, s, number, 900), OK);
    assert_int_equal(sink->flush(s, 0), OK);
    assert_numbers(number, 900);
    sink->close(s);
    free(s);
}

static void no_checkpoint_without_positions(void **state)
{
    (void)state;
    const struct sink *sink = sink_find("json");
    uint64_t position;
    char mark[TEMP_PATH_MAX];
    void *s = open_sink(sink, &position);
    assert_int_equal(write_one(sink, s, 0, 1), OK);
    assert_int_equal(sink->flush(s, 0), OK);
    sink->close(s);
    free(s);
    temp_join(mark, dir, "out.mark");
    assert_int_not_equal(access(mark, F_OK), 0);
}

static void a_torn_checkpoint_is_ignored(void **state)
{
    (void)state;
    struct checkpoint mark;
    char other[TEMP_PATH_MAX];
    temp_write(path, "12345", 5);
    temp_join(other, dir, "out.mark");
    int fd = open(path, O_RDWR | O_CLOEXEC), mark_fd;
    checkpoint_init(&mark);
    assert_int_equal(checkpoint_open(&mark, path, fd), OK);
    assert_int_equal(checkpoint_save(&mark, fd, 7), OK);
    assert_int_equal(checkpoint_save(&mark, fd, 8), OK);
    uint64_t saves = mark.saves;
    checkpoint_clear(&mark);
    mark_fd = open(other, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(mark_fd, "torn", 4, (off_t)(saves & 1) * 512 + 20), 4);
    assert_int_equal(checkpoint_open(&mark, path, fd), OK);
    assert_int_equal(mark.position, 7);
    checkpoint_clear(&mark);
    assert_int_equal(pwrite(mark_fd, "torn", 4, (off_t)(~saves & 1) * 512 + 20), 4);
    assert_int_equal(checkpoint_open(&mark, path, fd), OK);
    assert_int_equal(mark.position, 0);
    checkpoint_clear(&mark);
    close(mark_fd);
    close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(unflushed_lines_are_removed_after_a_crash),
        TEST(a_file_that_was_never_flushed_is_emptied),
        TEST(a_file_changed_by_others_is_left_alone),
        TEST(a_full_disk_leaves_no_partial_batch),
        TEST(no_checkpoint_without_positions),
        TEST(a_torn_checkpoint_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
