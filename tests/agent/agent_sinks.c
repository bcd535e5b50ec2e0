/* The sinks of an agent: opened by plan, kept where nothing changed, counted where they fail. */
#include "agent/agent_sinks.h"

#include "base/log.h"
#include "samplers/all.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct sampler *const list[] = { &sampler_null, NULL };
static const struct metric metrics[] = { { "value", "1", GAUGE, U64, "a value" } };
static const struct set set = { "play", metrics, 1 };

struct fixture {
    struct outlets outlets;
    struct plan plan;
    struct buf why;
    struct batch batch;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
};

static int begin(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    log_set_level(-1);
    signal(SIGPIPE, SIG_IGN);
    buf_init(&f->why, 4096);
    batch_init(&f->batch);
    sample_set_u64(batch_add(&f->batch, &set, 1, ""), 0, 7);
    temp_dir(f->dir);
    temp_join(f->path, f->dir, "out.csv");
    return plan_init(&f->plan, list);
}

static int end(void **state)
{
    struct fixture *f = *state;
    assert_true(outlets_close(&f->outlets));
    plan_clear(&f->plan);
    batch_clear(&f->batch);
    buf_clear(&f->why);
    temp_remove(f->dir);
    free(f);
    return 0;
}

static enum err add(struct fixture *f, const char *format, const char *path)
{
    char sink[TEMP_PATH_MAX + 64];
    snprintf(sink, sizeof sink, format, path);
    assert_int_equal(plan_set(&f->plan, "", "sink", sink, &f->why), OK);
    return outlets_apply(&f->outlets, &f->plan, NULL, false, &f->why);
}

static off_t size_of(const char *path)
{
    struct stat facts;
    return stat(path, &facts) ? -1 : facts.st_size;
}

static void what_is_written_is_in_the_file_at_once(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(add(f, "csv:path=%s", f->path), OK);
    assert_int_equal(add(f, "null", ""), OK);
    outlets_write(&f->outlets, &f->batch);
    off_t first = size_of(f->path);
    assert_true(first > 60); /* titles and a row */
    outlets_write(&f->outlets, &f->batch);
    assert_true(size_of(f->path) > first);
}

static void what_did_not_change_stays_open(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(add(f, "csv:path=%s", f->path), OK);
    outlets_write(&f->outlets, &f->batch);
    const void *before = f->outlets.list[0].state;
    assert_int_equal(add(f, "null", ""), OK);
    assert_ptr_equal(f->outlets.list[0].state, before);
    assert_int_equal(f->outlets.count, 2);
    plan_clear(&f->plan);
    assert_int_equal(plan_init(&f->plan, list), OK);
    assert_int_equal(outlets_apply(&f->outlets, &f->plan, NULL, false, &f->why), OK);
    assert_int_equal(f->outlets.count, 0);
}

static void one_that_cannot_be_opened_changes_nothing(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(add(f, "csv:path=%s", f->path), OK);
    assert_int_equal(add(f, "csv:path=%s/no/folder", f->dir), ABSENT);
    assert_non_null(strstr(buf_text(&f->why), "cannot open the sink csv:path="));
    assert_int_equal(f->outlets.count, 1);
    outlets_write(&f->outlets, &f->batch);
    assert_true(size_of(f->path) > 0);
}

static void a_full_one_is_counted_and_the_others_go_on(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(add(f, "null:limit=%s", "1"), OK);
    assert_int_equal(add(f, "csv:path=%s", f->path), OK);
    for (int i = 0; i < 3; i++)
        outlets_write(&f->outlets, &f->batch);
    assert_int_equal(f->outlets.list[0].failures, 2);
    assert_true(f->outlets.list[0].is_failing);
    assert_int_equal(f->outlets.list[1].failures, 0);
}

/* As logrotate does it: the file is moved away, then the agent is told. */
static void a_file_that_was_moved_is_made_anew(void **state)
{
    struct fixture *f = *state;
    char moved[TEMP_PATH_MAX];
    temp_join(moved, f->dir, "moved.csv");
    assert_int_equal(add(f, "csv:path=%s", f->path), OK);
    outlets_write(&f->outlets, &f->batch);
    off_t size = size_of(f->path);
    assert_int_equal(rename(f->path, moved), 0);
    outlets_write(&f->outlets, &f->batch);
    assert_true(size_of(moved) > size);
    assert_int_equal(outlets_apply(&f->outlets, &f->plan, NULL, true, &f->why), OK);
    size_t moved_size = (size_t)size_of(moved);
    outlets_write(&f->outlets, &f->batch);
    assert_int_equal(size_of(f->path), size); /* titles and a row again */
    assert_int_equal(size_of(moved), moved_size);
    assert_int_equal(f->outlets.count, 1);
}

static size_t drain(int fd, char *text, size_t room)
{
    size_t got = 0;
    ssize_t part;
    while (got < room && (part = read(fd, text + got, room - got)) > 0)
        got += (size_t)part;
    return got;
}

/* Every line that ended. */
static size_t check_rows(char *text, size_t size)
{
    static const char row[] = "1,,,play,,value,1,7\r";
    size_t rows = 0;
    for (char *line = text, *end; (end = memchr(line, '\n', (size_t)(text + size - line))); line = end + 1, rows++)
        if (rows) {
            assert_int_equal(end - line, sizeof row - 1);
            assert_memory_equal(line, row, sizeof row - 1);
        }
    return rows;
}

/* Nobody reads for a while: the agent goes on, what is lost is counted, and no row is cut. */
static void a_slow_reader_holds_nobody_up(void **state)
{
    struct fixture *f = *state;
    int ends[2];
    size_t got = 0, room = 8 << 20;
    char path[64], *text = calloc(1, room + 1);
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    assert_int_equal(add(f, "csv:path=%s", path), OK);
    close(ends[1]);
    for (int i = 0; i < 100000; i++)
        outlets_write(&f->outlets, &f->batch);
    uint64_t lost = f->outlets.list[0].failures;
    assert_in_range(lost, 1, 99999);
    for (int i = 0; i < 1000; i++) {
        got += drain(ends[0], text + got, room - got);
        outlets_write(&f->outlets, &f->batch);
    }
    got += drain(ends[0], text + got, room - got);
    assert_int_equal(check_rows(text, got), 1 + 100000 + 1000 - f->outlets.list[0].failures);
    assert_false(f->outlets.list[0].is_failing);
    close(ends[0]);
    outlets_write(&f->outlets, &f->batch);
    assert_null(f->outlets.list[0].state); /* nobody reads any more */
    free(text);
}

/* Also the full disk: /dev/full takes nothing. */
static void a_full_disk_is_told_once_and_tried_again(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(add(f, "csv:path=%s", "/dev/full"), OK);
    for (int i = 0; i < 3; i++)
        outlets_write(&f->outlets, &f->batch);
    assert_int_equal(f->outlets.list[0].failures, 3);
    assert_non_null(f->outlets.list[0].state);
    plan_clear(&f->plan);
    assert_int_equal(plan_init(&f->plan, list), OK);
    assert_int_equal(outlets_apply(&f->outlets, &f->plan, NULL, false, &f->why), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_in_the_file_at_once, begin, end),
        cmocka_unit_test_setup_teardown(what_did_not_change_stays_open, begin, end),
        cmocka_unit_test_setup_teardown(one_that_cannot_be_opened_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_full_one_is_counted_and_the_others_go_on, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_was_moved_is_made_anew, begin, end),
        cmocka_unit_test_setup_teardown(a_slow_reader_holds_nobody_up, begin, end),
        cmocka_unit_test_setup_teardown(a_full_disk_is_told_once_and_tried_again, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
