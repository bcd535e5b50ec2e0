/* Segments that are made by hand, right and wrong, and the question whether their program is gone. What a real writer
 * makes is read in probe/segment. */
#include "appmetrics/segment_claim.h"
#include "appmetrics/segment_reader.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 4

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];

/* A header, a page of descriptors, a chunk of a thread, and one page more. */
static union {
    char bytes[PAGES * SEGMENT_PAGE];
    struct segment_header header;
    struct segment_block blocks[PAGES * SEGMENT_PAGE / sizeof(struct segment_block)];
    uint64_t slots[PAGES][SEGMENT_CHUNK_SLOTS];
} file;

static struct segment_block *block(int page)
{
    return &file.blocks[(size_t)page * SEGMENT_PAGE / sizeof(struct segment_block)];
}

static void describe(uint32_t metric, const char *name)
{
    struct segment_block *descriptors = block(1);
    struct segment_descriptor head = { .metric = metric, .kind = SEGMENT_COUNTER, .type = SEGMENT_U64 };
    head.name_bytes = (uint32_t)strlen(name);
    head.bytes = (uint32_t)(sizeof head + strlen(name) + 7) & ~7u;
    char *at = (char *)descriptors + descriptors->used;
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, name, strlen(name));
    descriptors->used += head.bytes;
}

#define FIRST ((2u << SEGMENT_CHUNK_SHIFT) + SEGMENT_HEAD_SLOTS)

static int set_up(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "sonde.1.test.0");
    memset(&file, 0, sizeof file);
    memcpy(file.header.magic, SEGMENT_MAGIC, sizeof file.header.magic);
    file.header.version = SEGMENT_VERSION;
    file.header.pages = PAGES;
    file.header.rank = file.header.size = -1;
    for (int i = 1; i < PAGES; i++)
        *block(i) = (struct segment_block){ .kind = 4711, .pages = 1 };
    *block(1) = (struct segment_block){ .kind = SEGMENT_BLOCK_DESCRIPTORS, .pages = 1, .used = sizeof(struct segment_block) };
    *block(2) = (struct segment_block){ .kind = SEGMENT_BLOCK_CHUNK, .pages = 1, .chunk = 2, .thread = 1 };
    describe(FIRST, "first");
    file.slots[2][SEGMENT_HEAD_SLOTS] = 42;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

static struct segment_reader *read_file(enum err expected)
{
    struct segment_reader *reader;
    temp_write(path, &file, sizeof file);
    assert_int_equal(segment_reader_open(&reader, path), OK);
    assert_int_equal(segment_reader_read(reader), expected);
    return reader;
}

static uint64_t value_at(const struct segment_reader *reader, size_t place)
{
    struct segment_value value;
    segment_reader_value(reader, place, &value);
    return value.u64;
}

static void unknown_blocks_are_skipped(void **state)
{
    (void)state;
    struct segment_reader *reader = read_file(OK);
    assert_int_equal(segment_reader_count(reader), 1);
    assert_int_equal(value_at(reader, 0), 42);
    segment_reader_close(&reader);
}

static void values_are_summed_over_threads(void **state)
{
    (void)state;
    *block(3) = (struct segment_block){ .kind = SEGMENT_BLOCK_CHUNK, .pages = 1, .chunk = 2, .thread = 2 };
    file.slots[3][SEGMENT_HEAD_SLOTS] = 58;
    struct segment_reader *reader = read_file(OK);
    assert_int_equal(value_at(reader, 0), 100);
    segment_reader_close(&reader);
}

/* What comes later is read at the next reading; what was read stays when the rest is damaged. */
static void growth_and_damage(void **state)
{
    (void)state;
    struct segment_reader *reader = read_file(OK);
    describe(FIRST + 1, "second");
    file.slots[2][SEGMENT_HEAD_SLOTS + 1] = 7;
    temp_write(path, &file, sizeof file);
    segment_reader_close(&reader);
    reader = read_file(OK);
    assert_int_equal(segment_reader_count(reader), 2);
    assert_int_equal(value_at(reader, 1), 7);
    int fd = open(path, O_WRONLY);
    uint64_t used = UINT64_MAX;
    assert_int_equal(pwrite(fd, &used, sizeof used, SEGMENT_PAGE + offsetof(struct segment_block, used)), sizeof used);
    assert_int_equal(segment_reader_read(reader), CORRUPT);
    assert_int_equal(segment_reader_count(reader), 2);
    assert_int_equal(value_at(reader, 0), 42);
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_int_not_equal(segment_reader_read(reader), OK);
    assert_int_equal(value_at(reader, 0), 42);
    close(fd);
    segment_reader_close(&reader);
}

static void impossible_slots_are_refused(void **state)
{
    (void)state;
    static const uint32_t places[] = { 0, 5, FIRST - 1, 60000u << SEGMENT_CHUNK_SHIFT | 8, UINT32_MAX };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        block(1)->used = sizeof(struct segment_block);
        describe(FIRST, "first");
        describe(places[i], "wrong");
        struct segment_reader *reader = read_file(CORRUPT);
        assert_int_equal(segment_reader_count(reader), 1);
        assert_int_equal(value_at(reader, 0), 42);
        segment_reader_close(&reader);
    }
}

static void invalid_headers_are_refused(void **state)
{
    (void)state;
    struct segment_reader *reader;
    file.header.pages = PAGES + 1;
    temp_write(path, &file, sizeof file);
    assert_int_equal(segment_reader_open(&reader, path), CORRUPT);
    file.header.pages = PAGES;
    file.header.version++;
    temp_write(path, &file, sizeof file);
    assert_int_equal(segment_reader_open(&reader, path), CORRUPT);
    memset(file.header.magic, 0, sizeof file.header.magic);
    temp_write(path, &file, sizeof file);
    assert_int_equal(segment_reader_open(&reader, path), AGAIN);
    temp_write(path, "", 0);
    assert_int_equal(segment_reader_open(&reader, path), AGAIN);
    assert_null(reader);
}

/* Invalid ranks are none. */
static void header_is_reported(void **state)
{
    (void)state;
    file.header.rank = 8;
    file.header.size = 8;
    memset(file.header.command, 'x', sizeof file.header.command);
    struct segment_reader *reader = read_file(OK);
    assert_int_equal(segment_reader_info(reader)->rank, -1);
    assert_int_equal(strlen(segment_reader_info(reader)->command), sizeof file.header.command - 1);
    assert_int_equal(segment_reader_info(reader)->uid, geteuid());
    segment_reader_close(&reader);
}

/* Somebody has it open for writing, so that the processes in a captured /proc decide. */
static void end_of_the_process_is_detected(void **state)
{
    (void)state;
    char stat_path[TEMP_PATH_MAX];
    static const char stat[] = "4711 (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1234 0 0";
    temp_join(stat_path, dir, "proc/4711/stat");
    temp_write(stat_path, stat, strlen(stat));
    file.header.pid = 4711;
    file.header.start_ticks = 1234;
    struct segment_reader *reader = read_file(OK);
    int fd = open(path, O_RDWR);
    assert_false(segment_reader_is_finished(reader, dir));
    close(fd);
    assert_true(segment_reader_is_finished(reader, dir));
    fd = open(path, O_RDWR);
    file.header.start_ticks = 1235;
    segment_reader_close(&reader);
    assert_int_equal(pwrite(fd, &file, sizeof file, 0), sizeof file);
    assert_int_equal(segment_reader_open(&reader, path), OK);
    assert_true(segment_reader_is_finished(reader, dir));
    segment_reader_close(&reader);
    close(fd);
}

/* Whether a process of this state with so many threads is, as long as somebody has its segment mapped. */
static bool is_gone(char state, int threads)
{
    char stat_path[TEMP_PATH_MAX], stat[128];
    snprintf(stat, sizeof stat, "4711 (a) b) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d 0 1234 0 0", state, threads);
    temp_join(stat_path, dir, "proc/4711/stat");
    temp_write(stat_path, stat, strlen(stat));
    file.header.pid = 4711;
    file.header.start_ticks = 1234;
    struct segment_reader *reader = read_file(OK);
    int fd = open(path, O_RDWR);
    bool gone = segment_reader_is_finished(reader, dir);
    close(fd);
    segment_reader_close(&reader);
    return gone;
}

static void process_without_its_first_thread_is_running(void **state)
{
    (void)state;
    assert_false(is_gone('S', 1));
    assert_false(is_gone('Z', 2));
    assert_true(is_gone('Z', 1));
    assert_true(is_gone('Z', 0));
    assert_true(is_gone('X', 2));
}

static void claim_is_held_while_locked(void **state)
{
    (void)state;
    int first, second;
    assert_int_equal(segment_claim_take(dir, "", &first), OK);
    assert_int_equal(segment_claim_take(dir, "", &second), AGAIN);
    segment_claim_touch(first);
    close(first);
    assert_int_equal(segment_claim_take(dir, "", &second), OK);
    close(second);
    assert_int_equal(segment_claim_take("/nowhere/at/all", "", &second), ABSENT);
    char link_path[TEMP_PATH_MAX], name[64];
    snprintf(name, sizeof name, geteuid() ? SEGMENT_CLAIM ".%u" : SEGMENT_CLAIM "%.0u", (unsigned)geteuid());
    temp_join(link_path, dir, name);
    assert_int_equal(unlink(link_path), 0);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(segment_claim_take(dir, "", &second), DENIED);
}

#define ONE "8000000000000001"
#define OTHER "8000000000000002"

static bool is_there(const char *claim)
{
    char at[TEMP_PATH_MAX];
    temp_join(at, dir, claim);
    return access(at, F_OK) == 0;
}

/* Claims of sockets exist side by side; taking one removes those that nobody has held for a day. */
static void claims_of_sockets(void **state)
{
    (void)state;
    int all, one, other;
    char name[SEGMENT_CLAIM_NAME_MAX], at[TEMP_PATH_MAX], kept[TEMP_PATH_MAX + 8];
    segment_claim_name(name, geteuid(), ONE);
    temp_join(at, dir, name);
    snprintf(kept, sizeof kept, "%s" SEGMENT_CLAIM_STATE_SUFFIX, at);
    assert_int_equal(segment_claim_take(dir, "", &all), OK);
    assert_int_equal(segment_claim_take(dir, ONE, &one), OK);
    assert_int_equal(segment_claim_take(dir, ONE, &other), AGAIN);
    assert_true(segment_claim_is_held_by(dir, geteuid(), ONE));
    assert_false(segment_claim_is_held_by(dir, geteuid(), OTHER));
    const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    assert_int_equal(utimensat(AT_FDCWD, at, long_ago, 0), 0);
    assert_int_equal(segment_claim_take(dir, OTHER, &other), OK);
    assert_true(is_there(name)); /* somebody holds it */
    close(other);
    close(one);
    close(open(kept, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(segment_claim_take(dir, OTHER, &other), OK);
    assert_false(is_there(name));
    assert_int_equal(access(kept, F_OK), -1);
    segment_claim_name(name, geteuid(), OTHER);
    assert_true(is_there(name));
    close(other);
    close(all);
}

/* Only what looks like one is taken for one. */
static void socket_of_a_segment_name(void **state)
{
    (void)state;
    assert_string_equal(segment_name_socket("sonde.12.mpi.8000000000000000." ONE), ONE);
    assert_string_equal(segment_name_socket("sonde.12.mpi.8000000000000000"), "");
    assert_string_equal(segment_name_socket("sonde.12.mpi.8000000000000000.kept"), "");
    assert_string_equal(segment_name_socket("sonde.12.mpi.8000000000000000." ONE ".kept"), "");
    assert_string_equal(segment_name_socket("sonde."), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unknown_blocks_are_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_are_summed_over_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(growth_and_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(impossible_slots_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(invalid_headers_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(header_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(end_of_the_process_is_detected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_without_its_first_thread_is_running, set_up, tear_down),
        cmocka_unit_test_setup_teardown(claim_is_held_while_locked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(claims_of_sockets, set_up, tear_down),
        cmocka_unit_test(socket_of_a_segment_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
