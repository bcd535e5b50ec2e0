/* Directories of runs: identified by their lock, read by a run and by an agent, and left to the agent. The programs are
 * children of this test. */
#include "appmetrics/segment_dir.h"

#include "appmetrics/segment_format.h"
#include "probe/segment/segment.h"
#include "appmetrics/segments.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX], path[SEGMENT_DIR_PATH_MAX];
static int lock_fd;
static struct registry *of_agent, *of_run;
static struct program_jobs jobs;

static int open_all(void **state)
{
    struct registry_settings settings = { .host = "n1" };
    (void)state;
    jobs = (struct program_jobs){ .root = "" };
    temp_dir(dir);
    if (segment_dir_create(dir, path, &lock_fd) || registry_open(&of_agent, &settings)
        || registry_open(&of_run, &settings))
        return 1;
    return setenv(SEGMENT_ENV_DIR, path, 1);
}

static int close_all(void **state)
{
    (void)state;
    registry_close(&of_agent);
    registry_close(&of_run);
    temp_remove(dir);
    return 0;
}

static void directory_of_a_run_is_known_by_its_lock(void **state)
{
    struct segment_dir *run;
    (void)state;
    const char *name = strrchr(path, '/') + 1;
    assert_int_equal(segment_dir_open(&run, path, "sonde-run.12345.1", -1), DENIED); /* named after another user */
    assert_int_equal(segment_dir_open(&run, path, name, -1), OK);
    assert_false(segment_dir_is_abandoned(run));
    close(lock_fd);
    assert_true(segment_dir_is_abandoned(run));
    assert_false(segment_dir_has_ended(run)); /* sonde submit may want it */
    segment_dir_delete(path);
    assert_true(segment_dir_has_ended(run));
    segment_dir_close(&run, -1);
}

/* It counts 1, and is killed. */
static void run_program(void)
{
    static struct segment segment;
    struct segment_description description = { .name = "x_total", .kind = SEGMENT_COUNTER, .type = SEGMENT_U64 };
    pid_t pid = fork();
    if (pid == 0) {
        segment_open(&segment, "sonde");
        segment_add_u64(segment_slots(&segment, segment_metric(&segment, &description)), 1);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* It counts 1, reports that, and waits. */
static pid_t begin_program(int ready[2], int stay[2])
{
    static struct segment segment;
    struct segment_description description = { .name = "x_total", .kind = SEGMENT_COUNTER, .type = SEGMENT_U64 };
    char c;
    pid_t pid = fork();
    if (pid)
        return pid;
    close(stay[1]);
    segment_open(&segment, "sonde");
    segment_add_u64(segment_slots(&segment, segment_metric(&segment, &description)), 1);
    _exit(write(ready[1], "r", 1) == 1 && read(stay[0], &c, 1) == 0 ? 0 : 1);
}

static size_t segment_files(void)
{
    size_t count = 0;
    DIR *stream = opendir(dir);
    for (const struct dirent *entry; stream && (entry = readdir(stream));)
        count += strncmp(entry->d_name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) == 0;
    if (stream)
        closedir(stream);
    return count;
}

static struct segments *open_boards(bool is_run)
{
    struct segments *segments;
    struct segments_settings settings = {
        .dir = is_run ? path : dir, .root = "", .registry = is_run ? of_run : of_agent, .jobs = is_run ? NULL : &jobs,
        .is_run = is_run,
    };
    assert_int_equal(segments_open(&segments, &settings), OK);
    return segments;
}

static void tick(struct segments *segments)
{
    segments_tick(segments);
    segments_forget_finished(segments);
}

static int total(struct registry *registry)
{
    struct program_metric *metric = metric_table_find(&registry->metrics, bytes_of("x_total"));
    return metric ? (int)metric->values.node->total : 0;
}

/* An agent looks through all directories once a minute: another one sees at once what it would see then. */
static void segment_is_read_once_by_run_and_agent_in_any_order(void **state)
{
    struct segments *run = open_boards(true), *agent = open_boards(false);
    (void)state;
    run_program();
    for (int i = 0; i < 3; i++)
        tick(run);
    assert_int_equal(total(of_run), 1);
    assert_int_equal(segments_count(run), 1); /* it waits */
    tick(agent);
    assert_int_equal(total(of_agent), 1);
    tick(run);
    assert_int_equal(segments_count(run), 0);
    run_program();
    tick(agent);
    assert_int_equal(total(of_agent), 2);
    segments_close(&agent);
    agent = open_boards(false);
    tick(agent);
    assert_int_equal(total(of_agent), 2);
    tick(run);
    assert_int_equal(total(of_run), 2);
    assert_int_equal(segments_count(run), 0);
    segments_close(&run);
    segment_dir_release(path);
    assert_int_not_equal(access(path, F_OK), 0); /* nothing is left to read */
    segments_close(&agent);
    close(lock_fd);
}

static void run_leaves_unread_segments_to_an_agent(void **state)
{
    struct segments *run = open_boards(true), *agent = open_boards(false);
    (void)state;
    run_program();
    run_program();
    tick(run);
    segments_close(&run);
    segment_dir_release(path);
    close(lock_fd);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(segment_files(), 2); /* under other names */
    tick(agent);
    assert_int_equal(total(of_agent), 2);
    assert_int_equal(segment_files(), 0);
    segments_close(&agent);
}

/* The agent has read one segment, and has the other one open, when the run moves them. */
static void segments_that_a_run_moves_are_read_once(void **state)
{
    int ready[2], stay[2];
    char c;
    struct segments *agent = open_boards(false);
    (void)state;
    assert_int_equal(pipe(ready) | pipe(stay), 0);
    run_program();
    pid_t pid = begin_program(ready, stay);
    assert_int_equal(read(ready[0], &c, 1), 1);
    tick(agent);
    assert_int_equal(total(of_agent), 2);
    segment_dir_release(path);
    close(lock_fd);
    close(stay[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 3; i++)
        tick(agent);
    assert_int_equal(total(of_agent), 2);
    assert_int_equal(segment_files(), 0);
    segments_close(&agent);
}

static void run_without_agent_leaves_nothing(void **state)
{
    (void)state;
    run_program();
    segment_dir_release(path);
    close(lock_fd);
    assert_int_not_equal(access(path, F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(directory_of_a_run_is_known_by_its_lock), TEST(segment_is_read_once_by_run_and_agent_in_any_order),
        TEST(run_leaves_unread_segments_to_an_agent),
        TEST(segments_that_a_run_moves_are_read_once), TEST(run_without_agent_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
