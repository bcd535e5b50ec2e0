/* The agent's sinks: opened as configured, kept if unchanged, counted if they fail. */
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
    struct agent_sinks sinks;
    struct agent_config config;
    struct buf error;
    struct batch batch;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
};

static int begin(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    log_set_level(-1);
    signal(SIGPIPE, SIG_IGN);
    buf_init(&f->error, 4096);
    batch_init(&f->batch);
    sample_set_u64(batch_add(&f->batch, &set, 1, ""), 0, 7);
    temp_dir(f->dir);
    temp_join(f->path, f->dir, "out.csv");
    return agent_config_init(&f->config, list);
}

static int end(void **state)
{
    struct fixture *f = *state;
    assert_true(agent_sinks_close(&f->sinks));
    agent_config_clear(&f->config);
    batch_clear(&f->batch);
    buf_clear(&f->error);
    temp_remove(f->dir);
    free(f);
    return 0;
}

static enum err add(struct fixture *f, const char *format, const char *path)
{
    char sink[TEMP_PATH_MAX + 64];
    snprintf(sink, sizeof sink, format, path);
    assert_int_equal(agent_config_set(&f->config, "", "sink", sink, &f->error), OK);
    return agent_sinks_apply(&f->sinks, &f->config, NULL, false, &f->error);
}

static off_t size_of(const char *path)
{
    struct stat facts;
    return stat(path, &facts) ? -1 : facts.st_size;
}

static void written_rows_are_in_the_file_at_once(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(add(f, "csv:path=%s", f->path), OK);
    assert_int_equal(add(f, "null", ""), OK);
    agent_sinks_write(&f->sinks, &f->batch);
    off_t first = size_of(f->path);
    assert_true(first > 60); /* header and one row */
    agent_sinks_write(&f->sinks, &f->batch);
    assert_true(size_of(f->path) > first);
}

static void unchanged_sinks_stay_open(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(add(f, "csv:path=%s", f->path), OK);
    agent_sinks_write(&f->sinks, &f->batch);
    const void *before = f->sinks.list[0].state;
    assert_int_equal(add(f, "null", ""), OK);
    assert_ptr_equal(f->sinks.list[0].state, before);
    assert_int_equal(f->sinks.count, 2);
    agent_config_clear(&f->config);
    assert_int_equal(agent_config_init(&f->config, list), OK);
    assert_int_equal(agent_sinks_apply(&f->sinks, &f->config, NULL, false, &f->error), OK);
    assert_int_equal(f->sinks.count, 0);
}

static void failed_open_changes_nothing(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(add(f, "csv:path=%s", f->path), OK);
    assert_int_equal(add(f, "csv:path=%s/no/folder", f->dir), ABSENT);
    assert_non_null(strstr(buf_text(&f->error), "cannot open the sink csv:path="));
    assert_int_equal(f->sinks.count, 1);
    agent_sinks_write(&f->sinks, &f->batch);
    assert_true(size_of(f->path) > 0);
}

static void failing_sink_does_not_stop_others(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(add(f, "null:limit=%s", "1"), OK);
    assert_int_equal(add(f, "csv:path=%s", f->path), OK);
    for (int i = 0; i < 3; i++)
        agent_sinks_write(&f->sinks, &f->batch);
    assert_int_equal(f->sinks.list[0].failures, 2);
    assert_true(f->sinks.list[0].is_failing);
    assert_int_equal(f->sinks.list[1].failures, 0);
}

/* Like logrotate: the file is moved away, then the agent reloads. */
static void moved_file_is_created_again(void **state)
{
    struct fixture *f = *state;
    char moved[TEMP_PATH_MAX];
    temp_join(moved, f->dir, "moved.csv");
    assert_int_equal(add(f, "csv:path=%s", f->path), OK);
    agent_sinks_write(&f->sinks, &f->batch);
    off_t size = size_of(f->path);
    assert_int_equal(rename(f->path, moved), 0);
    agent_sinks_write(&f->sinks, &f->batch);
    assert_true(size_of(moved) > size);
    assert_int_equal(agent_sinks_apply(&f->sinks, &f->config, NULL, true, &f->error), OK);
    size_t moved_size = (size_t)size_of(moved);
    agent_sinks_write(&f->sinks, &f->batch);
    assert_int_equal(size_of(f->path), size); /* header and one row again */
    assert_int_equal(size_of(moved), moved_size);
    assert_int_equal(f->sinks.count, 1);
}

static size_t drain(int fd, char *text, size_t room)
{
    size_t got = 0;
    ssize_t part;
    while (got < room && (part = read(fd, text + got, room - got)) > 0)
        got += (size_t)part;
    return got;
}

/* Complete lines only. */
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

/* Nobody reads for a while: the agent continues, lost batches are counted, and no row is truncated. */
static void slow_reader_delays_nothing(void **state)
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
        agent_sinks_write(&f->sinks, &f->batch);
    uint64_t lost = f->sinks.list[0].failures;
    assert_in_range(lost, 1, 99999);
    for (int i = 0; i < 1000; i++) {
        got += drain(ends[0], text + got, room - got);
        agent_sinks_write(&f->sinks, &f->batch);
    }
    got += drain(ends[0], text + got, room - got);
    assert_int_equal(check_rows(text, got), 1 + 100000 + 1000 - f->sinks.list[0].failures);
    assert_false(f->sinks.list[0].is_failing);
    close(ends[0]);
    agent_sinks_write(&f->sinks, &f->batch);
    assert_null(f->sinks.list[0].state); /* its reader is gone */
    free(text);
}

/* Full disk: every write to /dev/full fails. */
static void full_disk_is_logged_once_and_retried(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(add(f, "csv:path=%s", "/dev/full"), OK);
    for (int i = 0; i < 3; i++)
        agent_sinks_write(&f->sinks, &f->batch);
    assert_int_equal(f->sinks.list[0].failures, 3);
    assert_non_null(f->sinks.list[0].state);
    agent_config_clear(&f->config);
    assert_int_equal(agent_config_init(&f->config, list), OK);
    assert_int_equal(agent_sinks_apply(&f->sinks, &f->config, NULL, false, &f->error), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(written_rows_are_in_the_file_at_once, begin, end),
        cmocka_unit_test_setup_teardown(unchanged_sinks_stay_open, begin, end),
        cmocka_unit_test_setup_teardown(failed_open_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(failing_sink_does_not_stop_others, begin, end),
        cmocka_unit_test_setup_teardown(moved_file_is_created_again, begin, end),
        cmocka_unit_test_setup_teardown(slow_reader_delays_nothing, begin, end),
        cmocka_unit_test_setup_teardown(full_disk_is_logged_once_and_retried, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
