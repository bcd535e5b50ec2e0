/* Records of threads that are held in a page: all arrive, also those of a process that is killed, and where there can be no page
 * they are written at once. */
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

/* In memory, as in life, and with a name that is not too long. */
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

static void all_arrive_and_the_page_is_gone(void **state)
{
    (void)state;
    crowd("2000", "50", "ended");
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 2000);
    assert_int_equal(pages(), 0);
}

/* Those who were alive are told of with the end, and before it. */
static void those_alive_at_the_end(void **state)
{
    (void)state;
    probed_act(&probed, "threads", "alive");
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 3);
    assert_int_equal(probed.records[probed.count - 1].kind, RECORD_KIND_end);
}

/* As sonde run does at its end. */
static void take_pages(void)
{
    struct spool_writer writer;
    spool_writer_init_take(&writer, open(probed.spool, O_WRONLY | O_APPEND | O_CLOEXEC));
    record_batches_read(work_dir, &writer);
    spool_writer_close(&writer);
    probed_read(&probed);
}

static void those_of_a_killed_process(void **state)
{
    (void)state;
    crowd("30", "1", "killed");
    assert_true(WIFSIGNALED(probed.status) && WTERMSIG(probed.status) == SIGKILL);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 8);
    assert_int_equal(pages(), 1);
    take_pages();
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 30);
}

/* A page that somebody else has, as in another pid namespace, is left alone. */
static void a_page_that_is_there(void **state)
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

static void no_folder(void **state)
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

/* To make a page would raise SIGXFSZ. */
static void a_limit_of_file_sizes(void **state)
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

/* What the parent holds is not the child's to write, and the other way round. */
static void a_child_has_its_own(void **state)
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
        TEST(all_arrive_and_the_page_is_gone),
        TEST(those_alive_at_the_end),
        TEST(those_of_a_killed_process),
        TEST(a_page_that_is_there),
        TEST(no_folder),
        TEST(a_limit_of_file_sizes),
        TEST(a_child_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
