/* Buffered records are read back from the spool unchanged, and those that did not fit are counted. */
#include "run/spool_writer.h"

#include "tools/temp.h"
#include "tools/unit.h"
#include "spool/spool.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];

static int make_dir(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "x.spool");
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

static void open_writer(struct spool_writer *writer)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    spool_writer_init_take(writer, fd);
}

static void foreign_bytes_are_counted_separately(void **state)
{
    (void)state;
    struct spool_writer writer;
    temp_write(path, "12345678", 8);
    open_writer(&writer);
    spool_writer_add_kernel_exit(&writer, &(struct kernel_exit_record){ .pid = 1 });
    assert_int_equal(spool_writer_foreign_bytes(&writer), 0); /* existing content is not foreign */
    spool_writer_flush(&writer);
    assert_int_equal(spool_writer_foreign_bytes(&writer), 0);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, "123", 3), 3);
    close(fd);
    assert_int_equal(spool_writer_foreign_bytes(&writer), 3);
    spool_writer_close(&writer);
}

static void add_exits(struct spool_writer *writer, uint64_t from, uint64_t to)
{
    for (uint64_t pid = from; pid < to; pid++)
        spool_writer_add_kernel_exit(writer, &(struct kernel_exit_record){ .pid = pid, .tid = pid + 1,
                                     .time_ns = 1ull << 60 });
}

/* How many of the pids from 1 on stand in the spool, in order; damaged_batches_are_skipped is counted. */
static uint64_t count_exits(uint64_t *damaged)
{
    struct spool_reader reader;
    enum record_kind kind;
    struct bytes body;
    uint64_t count = 0;
    assert_int_equal(spool_open(&reader, path), OK);
    while (spool_next(&reader, &kind, &body) == OK) {
        struct kernel_exit_record record;
        assert_int_equal(kind, RECORD_KIND_kernel_exit);
        assert_int_equal(record_unpack_kernel_exit(body, &record), OK);
        count++;
        assert_int_equal(record.pid, count);
        assert_int_equal(record.tid, count + 1);
    }
    *damaged = reader.damaged_bytes;
    spool_close(&reader);
    return count;
}

static void nothing_is_written_before_the_flush(void **state)
{
    (void)state;
    struct spool_writer writer;
    uint64_t damaged;
    open_writer(&writer);
    add_exits(&writer, 1, 11);
    assert_int_equal(count_exits(&damaged), 0);
    spool_writer_flush(&writer);
    assert_int_equal(count_exits(&damaged), 10);
    spool_writer_close(&writer);
}

static void many_records_are_flushed_in_between(void **state)
{
    (void)state;
    struct spool_writer writer;
    uint64_t damaged;
    open_writer(&writer);
    add_exits(&writer, 1, 20001);
    assert_true(writer.frames.capacity < 1 << 20);
    assert_true(count_exits(&damaged) > 15000);
    spool_writer_close(&writer);
    assert_int_equal(count_exits(&damaged), 20000);
    assert_int_equal(damaged, 0);
    assert_int_equal(writer.lost, 0);
}

static void a_command_line_of_megabytes_is_complete(void **state)
{
    (void)state;
    struct spool_writer writer;
    size_t size = 3 << 20;
    char *args = malloc(size);
    for (size_t i = 0; i < size; i++)
        args[i] = (char)(i * 7);
    open_writer(&writer);
    spool_writer_add_kernel_exec(&writer, &(struct kernel_exec_record){ .pid = 5, .args = { args, size } });
    spool_writer_flush(&writer);
    assert_true(writer.frames.capacity < 1 << 20); /* and its memory is freed */
    struct spool_reader reader;
    enum record_kind kind;
    struct bytes body;
    struct kernel_exec_record record;
    assert_int_equal(spool_open(&reader, path), OK);
    assert_int_equal(spool_next(&reader, &kind, &body), OK);
    assert_int_equal(record_unpack_kernel_exec(body, &record), OK);
    assert_int_equal(record.args.size, size);
    assert_memory_equal(record.args.data, args, size);
    spool_close(&reader);
    spool_writer_close(&writer);
    free(args);
}

static void records_that_did_not_fit_are_counted(void **state)
{
    (void)state;
    struct spool_writer writer;
    uint64_t damaged;
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    open_writer(&writer);
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){ 1000, before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &small);
    add_exits(&writer, 1, 101);
    spool_writer_flush(&writer);
    setrlimit(RLIMIT_FSIZE, &before);
    uint64_t there = count_exits(&damaged);
    assert_in_range(there, 20, 40); /* a frame of 32 bytes: 1000 hold 31 */
    assert_true(damaged > 0 && damaged < 40);
    assert_int_equal(there + writer.lost, 100);
    add_exits(&writer, there + 1, there + 2); /* there is space again: the next ones are written */
    spool_writer_close(&writer);
    assert_int_equal(count_exits(&damaged), there + 1);
}

static void a_writer_without_a_spool_discards_records(void **state)
{
    (void)state;
    struct spool_writer writer;
    spool_writer_init_take(&writer, SPOOL_WRITER_NONE);
    add_exits(&writer, 1, 1000);
    assert_int_equal(writer.frames.size, 0);
    assert_int_equal(writer.lost, 0);
    spool_writer_close(&writer);
}

static void buffered_records_can_be_moved(void **state)
{
    (void)state;
    struct spool_writer writer, gathered;
    uint64_t damaged;
    open_writer(&writer);
    spool_writer_init_take(&gathered, SPOOL_WRITER_BUFFER);
    add_exits(&gathered, 500, 510);
    spool_writer_discard(&gathered);
    add_exits(&gathered, 3, 5);
    spool_writer_flush(&gathered);
    add_exits(&writer, 1, 3);
    spool_writer_move(&writer, &gathered);
    assert_int_equal(gathered.frames.size, 0);
    spool_writer_close(&gathered);
    spool_writer_close(&writer);
    assert_int_equal(count_exits(&damaged), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(foreign_bytes_are_counted_separately, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(nothing_is_written_before_the_flush, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(many_records_are_flushed_in_between, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_command_line_of_megabytes_is_complete, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(records_that_did_not_fit_are_counted, make_dir, remove_dir),
        cmocka_unit_test(a_writer_without_a_spool_discards_records),
        cmocka_unit_test_setup_teardown(buffered_records_can_be_moved, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
