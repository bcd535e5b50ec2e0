/* Boards that are made by hand, right and wrong, and the question whether their program is gone. What a real writer makes
 * is read in probe/board. */
#include "appmetrics/segment_claim.h"
#include "appmetrics/segment_reader.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 4

static char folder[TEMP_PATH_MAX], path[TEMP_PATH_MAX];

/* A header, a page of descriptors, a chunk of a thread, and one page more. */
static union {
    char bytes[PAGES * BOARD_PAGE];
    struct board_header header;
    struct board_block blocks[PAGES * BOARD_PAGE / sizeof(struct board_block)];
    uint64_t slots[PAGES][BOARD_CHUNK_SLOTS];
} file;

static struct board_block *block(int page)
{
    return &file.blocks[(size_t)page * BOARD_PAGE / sizeof(struct board_block)];
}

static void describe(uint32_t metric, const char *name)
{
    struct board_block *descriptors = block(1);
    struct board_descriptor head = { .metric = metric, .kind = BOARD_COUNTER, .type = BOARD_U64 };
    head.name_bytes = (uint32_t)strlen(name);
    head.bytes = (uint32_t)(sizeof head + strlen(name) + 7) & ~7u;
    char *at = (char *)descriptors + descriptors->used;
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, name, strlen(name));
    descriptors->used += head.bytes;
}

#define FIRST ((2u << BOARD_CHUNK_SHIFT) + BOARD_HEAD_SLOTS)

static int set_up(void **state)
{
    (void)state;
    temp_dir(folder);
    temp_join(path, folder, "sonde.1.test.0");
    memset(&file, 0, sizeof file);
    memcpy(file.header.magic, BOARD_MAGIC, sizeof file.header.magic);
    file.header.version = BOARD_VERSION;
    file.header.pages = PAGES;
    file.header.rank = file.header.size = -1;
    for (int i = 1; i < PAGES; i++)
        *block(i) = (struct board_block){ .kind = 4711, .pages = 1 };
    *block(1) = (struct board_block){ .kind = BOARD_BLOCK_DESCRIPTORS, .pages = 1, .used = sizeof(struct board_block) };
    *block(2) = (struct board_block){ .kind = BOARD_BLOCK_CHUNK, .pages = 1, .chunk = 2, .thread = 1 };
    describe(FIRST, "first");
    file.slots[2][BOARD_HEAD_SLOTS] = 42;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_remove(folder);
    return 0;
}

static struct board_reader *read_file(enum err expected)
{
    struct board_reader *reader;
    temp_write(path, &file, sizeof file);
    assert_int_equal(board_reader_open(&reader, path), OK);
    assert_int_equal(board_reader_read(reader), expected);
    return reader;
}

static uint64_t value_at(const struct board_reader *reader, size_t place)
{
    struct board_value value;
    board_reader_value(reader, place, &value);
    return value.u64;
}

static void test_unknown_blocks_are_passed_over(void **state)
{
    (void)state;
    struct board_reader *reader = read_file(OK);
    assert_int_equal(board_reader_count(reader), 1);
    assert_int_equal(value_at(reader, 0), 42);
    board_reader_close(&reader);
}

static void test_two_threads(void **state)
{
    (void)state;
    *block(3) = (struct board_block){ .kind = BOARD_BLOCK_CHUNK, .pages = 1, .chunk = 2, .thread = 2 };
    file.slots[3][BOARD_HEAD_SLOTS] = 58;
    struct board_reader *reader = read_file(OK);
    assert_int_equal(value_at(reader, 0), 100);
    board_reader_close(&reader);
}

/* What comes later is read at the next reading; what was read stays when the rest is damaged. */
static void test_growth_and_damage(void **state)
{
    (void)state;
    struct board_reader *reader = read_file(OK);
    describe(FIRST + 1, "second");
    file.slots[2][BOARD_HEAD_SLOTS + 1] = 7;
    temp_write(path, &file, sizeof file);
    board_reader_close(&reader);
    reader = read_file(OK);
    assert_int_equal(board_reader_count(reader), 2);
    assert_int_equal(value_at(reader, 1), 7);
    int fd = open(path, O_WRONLY);
    uint64_t used = UINT64_MAX;
    assert_int_equal(pwrite(fd, &used, sizeof used, BOARD_PAGE + offsetof(struct board_block, used)), sizeof used);
    assert_int_equal(board_reader_read(reader), CORRUPT);
    assert_int_equal(board_reader_count(reader), 2);
    assert_int_equal(value_at(reader, 0), 42);
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_int_not_equal(board_reader_read(reader), OK);
    assert_int_equal(value_at(reader, 0), 42);
    close(fd);
    board_reader_close(&reader);
}

static void test_places_that_no_writer_gives(void **state)
{
    (void)state;
    static const uint32_t places[] = { 0, 5, FIRST - 1, 60000u << BOARD_CHUNK_SHIFT | 8, UINT32_MAX };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        block(1)->used = sizeof(struct board_block);
        describe(FIRST, "first");
        describe(places[i], "wrong");
        struct board_reader *reader = read_file(CORRUPT);
        assert_int_equal(board_reader_count(reader), 1);
        assert_int_equal(value_at(reader, 0), 42);
        board_reader_close(&reader);
    }
}

static void test_headers(void **state)
{
    (void)state;
    struct board_reader *reader;
    file.header.pages = PAGES + 1;
    temp_write(path, &file, sizeof file);
    assert_int_equal(board_reader_open(&reader, path), CORRUPT);
    file.header.pages = PAGES;
    file.header.version++;
    temp_write(path, &file, sizeof file);
    assert_int_equal(board_reader_open(&reader, path), CORRUPT);
    memset(file.header.magic, 0, sizeof file.header.magic);
    temp_write(path, &file, sizeof file);
    assert_int_equal(board_reader_open(&reader, path), AGAIN);
    temp_write(path, "", 0);
    assert_int_equal(board_reader_open(&reader, path), AGAIN);
    assert_null(reader);
}

/* Ranks that make no sense are none. */
static void test_facts(void **state)
{
    (void)state;
    file.header.rank = 8;
    file.header.size = 8;
    memset(file.header.command, 'x', sizeof file.header.command);
    struct board_reader *reader = read_file(OK);
    assert_int_equal(board_reader_facts(reader)->rank, -1);
    assert_int_equal(strlen(board_reader_facts(reader)->command), sizeof file.header.command - 1);
    assert_int_equal(board_reader_facts(reader)->uid, geteuid());
    board_reader_close(&reader);
}

/* Somebody has it open for writing, so that the processes in a captured /proc decide. */
static void test_gone(void **state)
{
    (void)state;
    char stat_path[TEMP_PATH_MAX];
    static const char stat[] = "4711 (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1234 0 0";
    temp_join(stat_path, folder, "proc/4711/stat");
    temp_write(stat_path, stat, strlen(stat));
    file.header.pid = 4711;
    file.header.start_ticks = 1234;
    struct board_reader *reader = read_file(OK);
    int fd = open(path, O_RDWR);
    assert_false(board_reader_is_gone(reader, folder));
    close(fd);
    assert_true(board_reader_is_gone(reader, folder));
    fd = open(path, O_RDWR);
    file.header.start_ticks = 1235;
    board_reader_close(&reader);
    assert_int_equal(pwrite(fd, &file, sizeof file, 0), sizeof file);
    assert_int_equal(board_reader_open(&reader, path), OK);
    assert_true(board_reader_is_gone(reader, folder));
    board_reader_close(&reader);
    close(fd);
}

/* Whether a process of this state with so many threads is, as long as somebody has its board mapped. */
static bool is_gone(char state, int threads)
{
    char stat_path[TEMP_PATH_MAX], stat[128];
    snprintf(stat, sizeof stat, "4711 (a) b) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d 0 1234 0 0", state, threads);
    temp_join(stat_path, folder, "proc/4711/stat");
    temp_write(stat_path, stat, strlen(stat));
    file.header.pid = 4711;
    file.header.start_ticks = 1234;
    struct board_reader *reader = read_file(OK);
    int fd = open(path, O_RDWR);
    bool gone = board_reader_is_gone(reader, folder);
    close(fd);
    board_reader_close(&reader);
    return gone;
}

static void test_first_thread_ended(void **state)
{
    (void)state;
    assert_false(is_gone('S', 1));
    assert_false(is_gone('Z', 2));
    assert_true(is_gone('Z', 1));
    assert_true(is_gone('Z', 0));
    assert_true(is_gone('X', 2));
}

static void test_claim(void **state)
{
    (void)state;
    int first, second;
    assert_int_equal(board_claim(folder, "", &first), OK);
    assert_int_equal(board_claim(folder, "", &second), AGAIN);
    board_claim_touch(first);
    close(first);
    assert_int_equal(board_claim(folder, "", &second), OK);
    close(second);
    assert_int_equal(board_claim("/nowhere/at/all", "", &second), ABSENT);
    char link_path[TEMP_PATH_MAX], name[64];
    snprintf(name, sizeof name, geteuid() ? BOARD_CLAIM ".%u" : BOARD_CLAIM "%.0u", (unsigned)geteuid());
    temp_join(link_path, folder, name);
    assert_int_equal(unlink(link_path), 0);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(board_claim(folder, "", &second), DENIED);
}

#define ONE "8000000000000001"
#define OTHER "8000000000000002"

static bool is_there(const char *claim)
{
    char at[TEMP_PATH_MAX];
    temp_join(at, folder, claim);
    return access(at, F_OK) == 0;
}

/* Those of sockets stand beside one another; who claims any sweeps away what nobody has held for a day. */
static void test_claims_of_sockets(void **state)
{
    (void)state;
    int all, one, other;
    char name[BOARD_CLAIM_NAME], at[TEMP_PATH_MAX], kept[TEMP_PATH_MAX + 8];
    board_claim_name(name, geteuid(), ONE);
    temp_join(at, folder, name);
    snprintf(kept, sizeof kept, "%s" BOARD_CLAIM_KEPT, at);
    assert_int_equal(board_claim(folder, "", &all), OK);
    assert_int_equal(board_claim(folder, ONE, &one), OK);
    assert_int_equal(board_claim(folder, ONE, &other), AGAIN);
    assert_true(board_claim_is_held_by(folder, geteuid(), ONE));
    assert_false(board_claim_is_held_by(folder, geteuid(), OTHER));
    const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    assert_int_equal(utimensat(AT_FDCWD, at, long_ago, 0), 0);
    assert_int_equal(board_claim(folder, OTHER, &other), OK);
    assert_true(is_there(name)); /* somebody holds it */
    close(other);
    close(one);
    close(open(kept, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(board_claim(folder, OTHER, &other), OK);
    assert_false(is_there(name));
    assert_int_equal(access(kept, F_OK), -1);
    board_claim_name(name, geteuid(), OTHER);
    assert_true(is_there(name));
    close(other);
    close(all);
}

/* Only what looks like one is taken for one. */
static void test_socket_of_name(void **state)
{
    (void)state;
    assert_string_equal(board_name_socket("sonde.12.mpi.8000000000000000." ONE), ONE);
    assert_string_equal(board_name_socket("sonde.12.mpi.8000000000000000"), "");
    assert_string_equal(board_name_socket("sonde.12.mpi.8000000000000000.kept"), "");
    assert_string_equal(board_name_socket("sonde.12.mpi.8000000000000000." ONE ".kept"), "");
    assert_string_equal(board_name_socket("sonde."), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unknown_blocks_are_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_growth_and_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_places_that_no_writer_gives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_facts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_thread_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_claim, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_claims_of_sockets, set_up, tear_down),
        cmocka_unit_test(test_socket_of_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
