/* Thread records that are batched in a page: all arrive, also those of a killed process; without a page they are
 * written immediately. */
#include "tools/probed.h"
#include "tools/unit.h"
#include "run/record_batches.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct probed probed;
static char work_dir[TEMP_PATH_MAX], segment_dir[TEMP_PATH_MAX + 16];

/* In memory, as in real runs, and with a short path. */
static int open_probed(void **state)
{
    (void)state;
    strcpy(work_dir, "/dev/shm/sonde-held-XXXXXX");
    assert_non_null(mkdtemp(work_dir));
    snprintf(segment_dir, sizeof segment_dir, "SONDE_BOARDS=%s", work_dir);
    probed_open(&probed);
    probed.env[0] = "SONDE_PROBE=p";
    probed.env[1] = segment_dir;
    return 0;
}

static int close_probed(void **state)
{
    (void)state;
    probed_close(&probed);
    temp_remove(work_dir);
    return 0;
}

static size_t pages(void)
{
    size_t count = 0;
    DIR *dir = opendir(work_dir);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strncmp(entry->d_name, "held.", 5) == 0;
    closedir(dir);
    return count;
}

static void crowd(const char *total, const char *at_once, const char *end)
{
    char tool[TEMP_PATH_MAX];
    temp_join(tool, getenv("TOOLS"), "crowd");
    probed_program(&probed, (char *[]){ tool, "threads", (char *)total, (char *)at_once, "0", (char *)end, NULL });
    assert_int_equal(probed_lost(&probed), 0);
}

static void all_records_arrive_and_the_page_is_removed(void **state)
{
    (void)state;
    crowd("2000", "50", "ended");
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 2000);
    assert_int_equal(pages(), 0);
}

/* Live threads are recorded together with the end, and before it. */
static void threads_alive_at_the_end(void **state)
{
    (void)state;
    probed_act(&probed, "threads", "alive");
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 3);
    assert_int_equal(probed.records[probed.count - 1].kind, RECORD_KIND_end);
}

/* As sonde run does at the end. */
static void read_batches(void)
{
    struct spool_writer writer;
    spool_writer_init_take(&writer, open(probed.spool, O_WRONLY | O_APPEND | O_CLOEXEC));
    record_batches_read(work_dir, &writer);
    spool_writer_close(&writer);
    probed_read(&probed);
}

static void threads_of_a_killed_process(void **state)
{
    (void)state;
    crowd("30", "1", "killed");
    assert_true(WIFSIGNALED(probed.status) && WTERMSIG(probed.status) == SIGKILL);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 8);
    assert_int_equal(pages(), 1);
    read_batches();
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 30);
}

/* A page of another process, as in another pid namespace, is left alone. */
static void an_existing_page_is_left_alone(void **state)
{
    (void)state;
    struct spool_writer writer;
    char tool[TEMP_PATH_MAX], script[2 * TEMP_PATH_MAX + 64];
    temp_join(tool, getenv("TOOLS"), "crowd");
    snprintf(script, sizeof script, "echo other >%s/held.$$; exec %s threads 30 1", work_dir, tool);
    probed_program(&probed, (char *[]){ "/bin/sh", "-c", script, NULL });
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 30);
    assert_int_equal(pages(), 1);
    spool_writer_init_take(&writer, SPOOL_WRITER_BUFFER);
    record_batches_read(work_dir, &writer);
    assert_int_equal(writer.frames.size, 0);
    spool_writer_close(&writer);
}

static void no_directory(void **state)
{
    (void)state;
    const char *wrong[] = { "SONDE_BOARDS=/dev/shm/nowhere", "SONDE_BOARDS=", "SONDE_BOARDS=/proc",
                            "SONDE_BOARDS=/dev/shm/a/path/that/is/longer/than/the/room/that/the/probe/has/for/it/in/its/page" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        temp_write(probed.spool, "", 0);
        probed.env[1] = wrong[i];
        crowd("30", "3", "ended");
        assert_int_equal(probed.status, 0);
        assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 30);
    }
}

/* Creating a page would raise SIGXFSZ. */
static void with_a_file_size_limit(void **state)
{
    (void)state;
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){ 1 << 20, before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &limit);
    crowd("30", "1", "killed");
    setrlimit(RLIMIT_FSIZE, &before);
    assert_true(WIFSIGNALED(probed.status) && WTERMSIG(probed.status) == SIGKILL);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 30);
    assert_int_equal(pages(), 0);
}

/* The child does not write its parent's records, nor the reverse. */
static void a_child_has_its_own_batch(void **state)
{
    (void)state;
    probed_act(&probed, "signals", "60");
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_lost(&probed), 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 60);
    assert_int_equal(pages(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_probed, close_probed)
        TEST(all_records_arrive_and_the_page_is_removed),
        TEST(threads_alive_at_the_end),
        TEST(threads_of_a_killed_process),
        TEST(an_existing_page_is_left_alone),
        TEST(no_directory),
        TEST(with_a_file_size_limit),
        TEST(a_child_has_its_own_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
