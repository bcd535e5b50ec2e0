/* Runs of users have limits of their own, and never take the place of samples in the journal. */
#include "agent/run_queue.h"

#include "tools/caught.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1ull << 20)
#define WEEK_NS (7 * 24 * 3600 * 1000000000ull)

static char dir[TEMP_PATH_MAX], spool[TEMP_PATH_MAX], runs[TEMP_PATH_MAX], file[TEMP_PATH_MAX];
static struct run_queue *queue;
static int fd;

static int begin(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(spool, dir, "spool");
    temp_join(runs, dir, "runs");
    temp_join(file, dir, "run.spool");
    fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    FILE *random = fopen("/dev/urandom", "r"); /* the journal compresses */
    char *data = malloc(3 * MIB);
    bool is_filled = random && fread(data, 1, 3 * MIB, random) == 3 * MIB && pwrite(fd, data, 3 * MIB, 0) == 3 * MIB;
    free(data);
    fclose(random);
    return !is_filled || run_queue_open(&queue, runs, 8 * MIB) != OK;
}

static int end(void **state)
{
    (void)state;
    run_queue_close(&queue);
    close(fd);
    temp_remove(dir);
    return 0;
}

static void user_has_a_quarter(void **state)
{
    (void)state;
    assert_int_equal(run_queue_add(queue, 1000, "a", fd, 3 * MIB), FULL);
    assert_int_equal(run_queue_add(queue, 1000, "a", fd, MIB), OK);
    assert_int_equal(run_queue_add(queue, 1000, "b", fd, MIB), OK);
    assert_int_equal(run_queue_add(queue, 1000, "c", fd, 1), FULL);
    for (uint32_t uid = 1001; uid < 1004; uid++)
        assert_int_equal(run_queue_add(queue, uid, "a", fd, MIB + MIB / 2), OK);
    assert_int_equal(run_queue_add(queue, 0, "a", fd, MIB), OK); /* others have not filled it */
    assert_int_equal(run_queue_add(queue, 0, "b", fd, MIB), FULL);
}

/* The limits hold over a restart; a copy that was interrupted is removed. */
static void queue_survives_a_restart(void **state)
{
    (void)state;
    char part[TEMP_PATH_MAX];
    assert_int_equal(run_queue_add(queue, 1000, "a-b.c", fd, 2 * MIB), OK);
    run_queue_close(&queue);
    temp_join(part, runs, "1000-x.part");
    temp_write(part, "x", 1);
    assert_int_equal(run_queue_open(&queue, runs, 8 * MIB), OK);
    assert_int_not_equal(access(part, F_OK), 0);
    assert_int_equal(run_queue_add(queue, 1000, "b", fd, MIB), FULL);
}

static void small_files_count_too(void **state)
{
    (void)state;
    char name[16];
    int count = 0;
    for (enum err err = OK; !err; count += !err) {
        snprintf(name, sizeof name, "r%d", count);
        err = run_queue_add(queue, 1000, name, fd, 1);
    }
    assert_int_equal(count, 2 * MIB / (16 << 10));
}

static void open_sender(struct sender **sender, uint64_t journal_bytes)
{
    struct buf error;
    struct uplink_config config = { .plain = true, .spool = spool, .journal_bytes = journal_bytes };
    buf_init(&error, 4096);
    assert_int_equal(uplink_config_set(&config, "collector", "tcp://127.0.0.1:9", &error), OK); /* nothing listens there */
    assert_int_equal(sender_open(sender, &config, "node17", &error), OK);
    config.spool = NULL;
    uplink_config_clear(&config);
    buf_clear(&error);
}

static struct journal_figures journal_of(struct sender *sender)
{
    struct journal_figures figures;
    journal_figures(sender_journal(sender), &figures);
    return figures;
}

/* The collector is away: what users post fills half of the journal at most, and nothing is deleted for it. */
static void journal_keeps_its_samples(void **state)
{
    (void)state;
    struct sender *sender;
    open_sender(&sender, 8 * MIB);
    for (uint32_t uid = 1000; uid < 1010; uid++)
        sender_add_run(sender, uid, "a", fd, 2 * MIB);
    for (int i = 0; i < 20; i++)
        sender_maintain(sender);
    assert_true(journal_of(sender).bytes <= 4 * MIB + MIB / 2);
    assert_true(journal_of(sender).bytes > MIB);
    assert_int_equal(journal_of(sender).lost_records, 0);
    assert_int_equal(sender_add_run(sender, 2000, "a", fd, 2 * MIB), FULL);
    sender_close(&sender, 0);
}

/* Users take turns: the small run of one does not wait for the large run of another. */
static void users_take_turns(void **state)
{
    (void)state;
    struct sender *sender;
    struct stat facts;
    char large[TEMP_PATH_MAX], small[TEMP_PATH_MAX];
    assert_int_equal(run_queue_add(queue, 1, "large", fd, 2 * MIB), OK); /* users of /etc/passwd: their names are known at once */
    assert_int_equal(run_queue_add(queue, 2, "small", fd, 1000), OK);
    temp_join(large, runs, "1-large.spool");
    temp_join(small, runs, "2-small.spool");
    open_sender(&sender, MIB); /* half of it takes two pieces and some */
    run_queue_send(queue, sender, WEEK_NS);
    assert_int_equal(stat(large, &facts), 0);
    assert_int_not_equal(stat(small, &facts), 0);
    sender_close(&sender, 0);
}

static void old_runs_are_dropped(void **state)
{
    (void)state;
    struct sender *sender;
    char path[TEMP_PATH_MAX];
    assert_int_equal(run_queue_add(queue, 1000, "a", fd, 1000), OK);
    temp_join(path, runs, "1000-a.spool");
    open_sender(&sender, MIB);
    catch_stderr();
    usleep(1000);
    run_queue_send(queue, sender, 1);
    assert_non_null(strstr(caught_text(), "a run of user 1000"));
    assert_int_not_equal(access(path, F_OK), 0);
    sender_close(&sender, 0);
}

/* A large file is not copied at once, because that would delay the agent; it is complete after a restart, too. */
static void large_file_is_copied_in_parts(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX], part[TEMP_PATH_MAX];
    struct stat facts;
    run_queue_close(&queue);
    assert_int_equal(run_queue_open(&queue, runs, 32 * MIB), OK);
    assert_int_equal(ftruncate(fd, (off_t)(7 * MIB)), 0);
    assert_int_equal(run_queue_add(queue, 1, "large", fd, 7 * MIB), OK);
    temp_join(part, runs, "1-large.part");
    temp_join(path, runs, "1-large.spool");
    assert_int_equal(stat(part, &facts), 0);
    assert_int_equal(facts.st_size, 2 * MIB);
    assert_int_equal(unlink(file), 0); /* its owner removes it, as sonde run does */
    run_queue_close(&queue);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_size, 7 * MIB);
    assert_int_not_equal(access(part, F_OK), 0);
    assert_int_equal(run_queue_open(&queue, runs, 32 * MIB), OK);
    assert_int_equal(run_queue_add(queue, 1, "more", fd, 2 * MIB), FULL); /* it counts */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(user_has_a_quarter),
        TEST(queue_survives_a_restart),
        TEST(small_files_count_too),
        TEST(journal_keeps_its_samples),
        TEST(users_take_turns),
        TEST(large_file_is_copied_in_parts),
        TEST(old_runs_are_dropped),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
