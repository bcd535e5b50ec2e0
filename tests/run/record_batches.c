/* Batches as killed processes may leave them. */
#include "run/record_batches.h"

#include "tools/temp.h"
#include "tools/unit.h"
#include "spool/record_batch.h"

static char dir[TEMP_PATH_MAX];
static union {
    struct record_batch records;
    char bytes[RECORD_BATCH_BYTES];
} page;

static int make_dir(void **state)
{
    (void)state;
    memset(&page, 0, sizeof page);
    temp_dir(dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

static void add_fork(uint64_t pid)
{
    uint8_t *frame = page.records.frames + page.records.size;
    struct packer packer = { frame + FRAME_HEAD, (uint8_t *)&page + sizeof page, false };
    record_pack_fork(&packer, &(struct fork_record){ .pid = pid, .ppid = 1, .time_ns = 1 });
    page.records.size += (uint32_t)frame_finish(frame, RECORD_KIND_fork, (size_t)(packer.at - frame) - FRAME_HEAD);
    page.records.count++;
}

static void leave(const char *name, size_t size)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, dir, name);
    temp_write(path, page.bytes, size);
}

/* Number of the pids from 1 on that were read; a wrong one fails. */
static uint64_t taken(void)
{
    struct spool_writer writer;
    uint64_t sum = 0;
    spool_writer_init_take(&writer, SPOOL_WRITER_BUFFER);
    record_batches_read(dir, &writer);
    struct bytes rest = { writer.frames.data, writer.frames.size };
    while (rest.size) {
        enum record_kind kind;
        struct bytes body;
        struct fork_record record;
        size_t size = 0;
        assert_int_equal(frame_read(rest, &kind, &body, &size), OK);
        assert_int_equal(kind, RECORD_KIND_fork);
        assert_int_equal(record_unpack_fork(body, &record), OK);
        sum = sum * 10 + record.pid;
        rest.data += size;
        rest.size -= size;
    }
    spool_writer_close(&writer);
    return sum;
}

static void records_of_killed_processes_are_read(void **state)
{
    (void)state;
    assert_int_equal(taken(), 0);
    add_fork(1);
    add_fork(2);
    add_fork(3);
    leave("held.77", sizeof page);
    leave("sonde.77.mpi.0123456789abcdef", sizeof page);
    leave("run", sizeof page);
    assert_int_equal(taken(), 123);
}

static void nothing_is_read_after_the_end(void **state)
{
    (void)state;
    add_fork(1);
    uint32_t size = page.records.size;
    add_fork(2);
    page.records.size = size;
    leave("held.77", sizeof page);
    assert_int_equal(taken(), 1);
}

static void damaged_batches_are_skipped(void **state)
{
    (void)state;
    add_fork(1);
    uint32_t second = page.records.size;
    add_fork(2);
    add_fork(3);
    page.records.frames[second + FRAME_HEAD] ^= 0x55;
    leave("held.77", sizeof page);
    assert_int_equal(taken(), 13);
    page.records.size -= 5; /* truncated within the last one */
    leave("held.77", sizeof page);
    assert_int_equal(taken(), 1);
    page.records.size = RECORD_BATCH_BYTES; /* more than the capacity */
    leave("held.77", sizeof page);
    assert_int_equal(taken(), 0);
    page.records.size = second;
    leave("held.77", 100); /* a file that is too short */
    assert_int_equal(taken(), 0);
}

static void no_directory(void **state)
{
    (void)state;
    struct spool_writer writer;
    spool_writer_init_take(&writer, SPOOL_WRITER_BUFFER);
    record_batches_read("/nowhere", &writer);
    assert_int_equal(writer.frames.size, 0);
    spool_writer_close(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        TEST(records_of_killed_processes_are_read),
        TEST(nothing_is_read_after_the_end),
        TEST(damaged_batches_are_skipped),
        TEST(no_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
