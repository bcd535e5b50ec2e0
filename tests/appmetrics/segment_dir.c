/* The folders of runs: known by their lock, read by a run and by an agent, and left to the agent. The programs are children of
 * this test, with boards of their own. */
#include "appmetrics/segment_dir.h"

#include "appmetrics/segment_format.h"
#include "probe/segment/segment.h"
#include "appmetrics/segments.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <sys/wait.h>
#include <unistd.h>

static char folder[TEMP_PATH_MAX], path[BOARD_FOLDER_PATH_MAX];
static int lock_fd;
static struct program_table *of_agent, *of_run;
static struct program_jobs jobs;

static int open_all(void **state)
{
    struct program_table_settings settings = { .host = "n1" };
    (void)state;
    jobs = (struct program_jobs){ .root = "" };
    temp_dir(folder);
    if (board_folder_make(folder, path, &lock_fd) || program_table_open(&of_agent, &settings)
        || program_table_open(&of_run, &settings))
        return 1;
    return setenv(BOARD_ENV_FOLDER, path, 1);
}

static int close_all(void **state)
{
    (void)state;
    program_table_close(&of_agent);
    program_table_close(&of_run);
    temp_remove(folder);
    return 0;
}

static void the_folder_of_a_run_is_known_by_its_lock(void **state)
{
    struct board_folder *run;
    (void)state;
    const char *name = strrchr(path, '/') + 1;
    assert_int_equal(board_folder_open(&run, path, "sonde-run.12345.1", -1), DENIED); /* named after another user */
    assert_int_equal(board_folder_open(&run, path, name, -1), OK);
    assert_false(board_folder_is_left(run));
    close(lock_fd);
    assert_true(board_folder_is_left(run));
    assert_false(board_folder_is_over(run)); /* sonde submit may want it */
    board_folder_clear(path);
    assert_true(board_folder_is_over(run));
    board_folder_close(&run, -1);
}

/* It counts 1, and is killed. */
static void run_program(void)
{
    static struct board board;
    struct board_description description = { .name = "x_total", .kind = BOARD_COUNTER, .type = BOARD_U64 };
    pid_t pid = fork();
    if (pid == 0) {
        board_open(&board, "sonde");
        board_add_u64(board_slots(&board, board_metric(&board, &description)), 1);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct program_boards *open_boards(bool is_run)
{
    struct program_boards *boards;
    struct program_boards_settings settings = {
        .folder = is_run ? path : folder, .root = "", .table = is_run ? of_run : of_agent, .jobs = is_run ? NULL : &jobs,
        .is_run = is_run,
    };
    assert_int_equal(program_boards_open(&boards, &settings), OK);
    return boards;
}

static void tick(struct program_boards *boards)
{
    program_boards_tick(boards);
    program_boards_forget(boards);
}

static int total(struct program_table *table)
{
    struct program_metric *metric = program_table_find(table, bytes_of("x_total"));
    return metric ? (int)metric->node.total : 0;
}

/* An agent looks through all folders once a minute: another one sees at once what it would see then. */
static void a_board_is_read_once_by_a_run_and_by_an_agent_whoever_comes_first(void **state)
{
    struct program_boards *run = open_boards(true), *agent = open_boards(false);
    (void)state;
    run_program();
    for (int i = 0; i < 3; i++)
        tick(run);
    assert_int_equal(total(of_run), 1);
    assert_int_equal(program_boards_count(run), 1); /* it waits */
    tick(agent);
    assert_int_equal(total(of_agent), 1);
    tick(run);
    assert_int_equal(program_boards_count(run), 0);
    run_program();
    tick(agent);
    assert_int_equal(total(of_agent), 2);
    program_boards_close(&agent);
    agent = open_boards(false);
    tick(agent);
    assert_int_equal(total(of_agent), 2);
    tick(run);
    assert_int_equal(total(of_run), 2);
    assert_int_equal(program_boards_count(run), 0);
    program_boards_close(&run);
    board_folder_leave(path);
    assert_int_not_equal(access(path, F_OK), 0); /* nobody wants anything */
    program_boards_close(&agent);
    close(lock_fd);
}

static void a_run_that_ends_leaves_to_an_agent_what_that_has_not_read(void **state)
{
    struct program_boards *run = open_boards(true), *agent = open_boards(false);
    (void)state;
    run_program();
    run_program();
    tick(run);
    program_boards_close(&run);
    board_folder_leave(path);
    close(lock_fd);
    assert_int_equal(access(path, F_OK), 0);
    tick(agent);
    assert_int_equal(total(of_agent), 2);
    assert_int_not_equal(access(path, F_OK), 0);
    program_boards_close(&agent);
}

static void a_run_leaves_nothing_where_no_agent_is(void **state)
{
    (void)state;
    run_program();
    board_folder_leave(path);
    close(lock_fd);
    assert_int_not_equal(access(path, F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_folder_of_a_run_is_known_by_its_lock), TEST(a_board_is_read_once_by_a_run_and_by_an_agent_whoever_comes_first),
        TEST(a_run_that_ends_leaves_to_an_agent_what_that_has_not_read), TEST(a_run_leaves_nothing_where_no_agent_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
