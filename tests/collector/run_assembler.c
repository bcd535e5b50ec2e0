/* Runs that users send: whose they are comes from the connection, and none of them can hold up or replace another. */
#include "collector/run_assembler.h"

#include "base/clock.h"
#include "collector/run_saver.h"
#include "tools/caught.h"
#include "tools/spool_maker.h"
#include "tools/store_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct run_assembler *assembler;
static char runs[TEMP_PATH_MAX];

static int begin(void **state)
{
    int failed = fixture_set_up(state);
    struct store_fixture *fixture = *state;
    temp_join(runs, fixture->dir, "runs");
    return failed || run_assembler_open(&assembler, runs, fixture->path, RUN_SAVER_CPU_NS) != OK;
}

static int end(void **state)
{
    run_assembler_close(&assembler);
    return fixture_tear_down(state);
}

static void add_run_record(struct spool_maker *maker, const char *run_id, const char *job_id, uint32_t uid)
{
    spool_maker_init_empty(maker);
    spool_add(maker, run, .run_id = bytes_of(run_id), .job_id = bytes_of(job_id), .name = PATH("n"), .user = PATH("forged"),
              .host = PATH("forged"), .uid = uid, .time_ns = AT(0), .pid = MAKER_RUN_PID);
}

static void send(const struct spool_maker *maker, const char *host, const char *name, uint32_t uid, const char *user)
{
    struct buf error;
    buf_init(&error, 4096);
    for (size_t at = 0, size; at < maker->buf.size; at += size) {
        size = maker->buf.size - at < 262144 ? maker->buf.size - at : 262144;
        struct batch_piece piece = { name, uid, at, maker->buf.size, { maker->buf.data + at, size }, user };
        assert_int_equal(run_assembler_add(assembler, host, &piece, &error), OK);
    }
    buf_clear(&error);
}

static void send_run(const char *host, const char *run_id, const char *job_id, uint32_t uid, const char *user)
{
    struct spool_maker maker;
    add_run_record(&maker, run_id, job_id, uid);
    spool_image(&maker, 10, MAKER_RUN_PID, 1, "/bin/a");
    spool_run_end(&maker, 51, 0);
    send(&maker, host, "r", uid, user);
    spool_maker_clear(&maker);
}

/* Until everything is saved or rejected. */
static void settle(struct store_fixture *fixture)
{
    run_assembler_close(&assembler);
    assert_int_equal(run_assembler_open(&assembler, runs, fixture->path, RUN_SAVER_CPU_NS), OK);
}

static void identity_is_that_of_the_connection(void **state)
{
    struct store_fixture *fixture = *state;
    send_run("n1", "r1", "7", 1000, "ada");
    send_run("n1", "r1", "7", 1001, "eve"); /* the same id, job and file name */
    send_run("n2", "r1", "7", 1000, "ada");
    settle(fixture);
    assert_sql(fixture->path, "SELECT group_concat(run_id || ' ' || user, ', ') FROM (SELECT * FROM runs ORDER BY run_id)",
               "run/n1/1000/r1 ada, run/n1/1001/r1 eve, run/n2/1000/r1 ada");
    assert_sql(fixture->path, "SELECT group_concat(user || ' ' || hosts, ', ') FROM (SELECT * FROM jobs ORDER BY uid)",
               "ada n1 n2, eve n1");
    assert_int_equal(access(runs, F_OK), 0);
    char host[TEMP_PATH_MAX];
    temp_join(host, runs, "n1");
    assert_int_not_equal(access(host, F_OK), 0); /* nothing is left */
}

static void names_of_nodes_and_agents_are_rejected(void **state)
{
    struct store_fixture *fixture = *state;
    catch_stderr();
    send_run("n1", "node/n1", "", 1000, "ada");
    settle(fixture);
    assert_non_null(strstr(caught_text(), "rejected a run sent by user 1000 of n1"));
    assert_sql(fixture->path, "SELECT count(*) FROM runs", "0");
}

static void run_of_another_uid_is_rejected_unless_root_sends_it(void **state)
{
    struct store_fixture *fixture = *state;
    struct spool_maker maker;
    catch_stderr();
    add_run_record(&maker, "r1", "7", 1000);
    send(&maker, "n1", "r1", 1001, "eve");
    send(&maker, "n1", "r1", 0, "root");
    settle(fixture);
    assert_non_null(strstr(caught_text(), "belongs to another user"));
    assert_sql(fixture->path, "SELECT run_id || uid FROM runs", "run/n1/0/r11000");
    spool_maker_clear(&maker);
}

static void run_in_the_future_is_rejected(void **state)
{
    struct store_fixture *fixture = *state;
    struct spool_maker maker;
    spool_maker_init_empty(&maker);
    spool_add(&maker, run, .run_id = PATH("r"), .uid = 1000, .time_ns = clock_realtime_ns() + 100 * 3600 * NS_PER_S, .pid = 1);
    catch_stderr();
    send(&maker, "n1", "r", 1000, "ada");
    settle(fixture);
    assert_non_null(strstr(caught_text(), "in the future"));
    assert_sql(fixture->path, "SELECT count(*) FROM runs", "0");
    spool_maker_clear(&maker);
}

/* A database may have limits for keys: such a run would be tried for ever. */
static void ids_that_are_too_long_are_rejected(void **state)
{
    struct store_fixture *fixture = *state;
    char id[3000];
    memset(id, 'x', sizeof id);
    id[sizeof id - 1] = '\0';
    catch_stderr();
    send_run("n1", "r1", id, 1000, "ada");
    send_run("n1", "r2", "a\nb", 1001, "eve");
    settle(fixture);
    const char *text = caught_text();
    assert_non_null(strstr(text, "user 1000 of n1: invalid id"));
    assert_non_null(strstr(text, "user 1001 of n1: invalid id"));
    assert_sql(fixture->path, "SELECT count(*) FROM runs", "0");
}

static void pieces_that_are_missing_or_too_large(void **state)
{
    struct store_fixture *fixture = *state;
    struct buf error;
    buf_init(&error, 4096);
    struct batch_piece later = { "r", 1000, 5, 10, { "abcde", 5 }, "ada" };
    assert_int_equal(run_assembler_add(assembler, "n1", &later, &error), OK); /* its beginning never came */
    catch_stderr();
    struct batch_piece large = { "r", 1000, 0, RUN_ASSEMBLER_RUN_MAX + 1ull, { "abcde", 5 }, "ada" };
    assert_int_equal(run_assembler_add(assembler, "n1", &large, &error), OK);
    struct batch_piece outside = { "../r", 1000, 0, 5, { "abcde", 5 }, "ada" };
    assert_int_equal(run_assembler_add(assembler, "n1", &outside, &error), OK);
    outside.name = "r";
    assert_int_equal(run_assembler_add(assembler, "..", &outside, &error), OK);
    const char *text = caught_text();
    assert_non_null(strstr(text, "invalid size"));
    assert_non_null(strstr(text, "invalid name"));
    char dir[TEMP_PATH_MAX];
    temp_join(dir, runs, "n1");
    assert_int_not_equal(access(dir, F_OK), 0);
    buf_clear(&error);
    (void)fixture;
}

/* What is incomplete since a day is removed at the next start. */
static void incomplete_run_expires(void **state)
{
    struct store_fixture *fixture = *state;
    struct buf error;
    char path[TEMP_PATH_MAX];
    const struct timespec old[2] = { { 1700000000, 0 }, { 1700000000, 0 } };
    buf_init(&error, 4096);
    struct batch_piece first = { "r", 1000, 0, 10, { "abcde", 5 }, "ada" };
    assert_int_equal(run_assembler_add(assembler, "n1", &first, &error), OK);
    settle(fixture);
    temp_join(path, runs, "n1/1000/r.part");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    catch_stderr();
    settle(fixture);
    run_assembler_close(&assembler);
    assert_non_null(strstr(caught_text(), "incomplete"));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(run_assembler_open(&assembler, runs, fixture->path, RUN_SAVER_CPU_NS), OK);
    buf_clear(&error);
}

/* It stays put aside after a restart, and the others are saved. */
static void run_that_costs_too_much_is_put_aside(void **state)
{
    struct store_fixture *fixture = *state;
    char path[TEMP_PATH_MAX];
    run_assembler_close(&assembler);
    assert_int_equal(run_assembler_open(&assembler, runs, fixture->path, 1), OK);
    catch_stderr();
    send_run("n1", "r1", "7", 1001, "eve");
    run_assembler_close(&assembler);
    assert_non_null(strstr(caught_text(), "a run of user 1001 of n1 takes too much processor time"));
    temp_join(path, runs, "refused/n1-1001-r@eve.spool");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(run_assembler_open(&assembler, runs, fixture->path, RUN_SAVER_CPU_NS), OK);
    send_run("n1", "r1", "7", 1000, "ada");
    settle(fixture);
    assert_sql(fixture->path, "SELECT group_concat(user) FROM runs", "ada");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(identity_is_that_of_the_connection),
        TEST(names_of_nodes_and_agents_are_rejected),
        TEST(run_of_another_uid_is_rejected_unless_root_sends_it),
        TEST(run_in_the_future_is_rejected),
        TEST(ids_that_are_too_long_are_rejected),
        TEST(pieces_that_are_missing_or_too_large),
        TEST(run_that_costs_too_much_is_put_aside),
        TEST(incomplete_run_expires),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
