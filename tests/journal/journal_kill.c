/* A process that writes a journal and reads it into a sink and a reader that tolerates duplicates is killed at random
 * times again and again: everything appended is there, in order, and once. */
#include "journal/journal.h"

#include "tools/journal_fixture.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define ROUNDS 60
#define STREAMS 3
#define ROUND_NS_MAX (30 * NS_PER_MS)

static const char *const hosts[STREAMS] = { "one", "two", "three" };

/* Shared memory: what the killed process knew. */
struct known {
    _Atomic uint64_t appended[STREAMS], synced[STREAMS], opened;
};
static struct known *known;

/* A sink that stores its position with its data, as struct sink's resume requires. */
struct row {
    uint64_t position, stream, sequence;
};
static char sink_path[TEMP_PATH_MAX];

static int open_sink(uint64_t *position)
{
    struct row row;
    int fd = open(sink_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    off_t size = lseek(fd, 0, SEEK_END) / (off_t)sizeof row * (off_t)sizeof row;
    if (ftruncate(fd, size) != 0)
        _exit(3);
    *position = size && pread(fd, &row, sizeof row, size - (off_t)sizeof row) == (ssize_t)sizeof row ? row.position : 0;
    lseek(fd, 0, SEEK_END);
    return fd;
}

static void write_rows(struct journal_reader *reader, int fd, unsigned most)
{
    struct journal_entry entry;
    while (most-- && journal_reader_next(reader, &entry) == OK) {
        if (entry.kind == JOURNAL_GAP)
            _exit(4);
        if (entry.kind != JOURNAL_RECORD || !entry.is_new)
            continue;
        struct row row = { entry.position, entry.stream, entry.sequence };
        if (write(fd, &row, sizeof row) != (ssize_t)sizeof row)
            _exit(5);
        journal_reader_ack(reader, entry.position);
    }
}

/* A reader that relies on the journal's cursor: it may get duplicates but never misses anything. */
static void follow(struct journal_reader *reader, uint64_t last[STREAMS], unsigned most)
{
    struct journal_entry entry;
    while (most-- && journal_reader_next(reader, &entry) == OK) {
        if (entry.kind != JOURNAL_RECORD || !entry.is_new)
            continue;
        uint64_t *expected = &last[entry.stream - 1];
        if (*expected && entry.sequence != *expected + 1)
            _exit(6);
        *expected = entry.sequence;
        journal_reader_ack(reader, entry.position);
    }
}

static void work(uint64_t seed)
{
    struct buf error;
    struct journal_reader *sink, *follower;
    uint64_t position, followed[STREAMS] = { 0 };
    buf_init(&error, 1024);
    if (journal_open(&journal, dir, &settings, &error) != OK)
        _exit(2);
    known->opened++;
    for (int i = 0; i < STREAMS; i++)
        if (journal_last_sequence(journal, hosts[i], (uint64_t)i + 1) < known->appended[i])
            _exit(7);
    int fd = open_sink(&position);
    if (journal_reader_open(journal, &sink, "sink", true, position)
        || journal_reader_open(journal, &follower, "follower", true, 0))
        _exit(8);
    for (uint64_t i = 1;; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        size_t which = (seed >> 33) % STREAMS;
        if (append_next(hosts[which], which + 1) != OK)
            _exit(9);
        known->appended[which] = journal_last_sequence(journal, hosts[which], which + 1);
        write_rows(sink, fd, (seed >> 40) % 4);
        follow(follower, followed, (seed >> 44) % 4);
        if (i % 64 == 0)
            journal_maintain(journal, clock_realtime_ns());
    }
}

/* Runs it for a random time and kills it. Returns its exit status. */
static int play_round(uint64_t seed)
{
    uint64_t opened = known->opened;
    pid_t child = fork();
    if (child == 0)
        work(seed);
    assert_true(child > 0);
    int status = 0;
    uint64_t begun_ns = clock_monotonic_ns();
    while (known->opened == opened && clock_monotonic_ns() - begun_ns < 20 * NS_PER_S && waitpid(child, &status, WNOHANG) == 0)
        usleep(100);
    usleep((useconds_t)(seed % (ROUND_NS_MAX / NS_PER_US)));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return status;
}

static void rows_are_there_once(void)
{
    uint64_t position, next[STREAMS] = { 1, 1, 1 };
    int fd = open_sink(&position);
    struct row row;
    lseek(fd, 0, SEEK_SET);
    while (read(fd, &row, sizeof row) == (ssize_t)sizeof row) {
        assert_in_range(row.stream, 1, STREAMS);
        assert_int_equal(row.sequence, next[row.stream - 1]++);
    }
    close(fd);
    for (int i = 0; i < STREAMS; i++) {
        assert_true(next[i] - 1 >= known->appended[i]);
        assert_true(next[i] - 1 <= known->appended[i] + ROUNDS); /* killed between the two */
    }
}

static void kill_neither_loses_nor_duplicates_records(void **state)
{
    (void)state;
    settings.segment_bytes = 20000;
    temp_join(sink_path, dir, "rows");
    known = mmap(NULL, sizeof *known, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(known, MAP_FAILED);
    uint64_t seed = 20261116;
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        int status = play_round(seed >> 16);
        assert_true(WIFSIGNALED(status)); /* an exit tells which check failed */
        assert_int_equal(WTERMSIG(status), SIGKILL);
    }
    open_journal();
    uint64_t position;
    int fd = open_sink(&position);
    struct journal_reader *reader;
    assert_int_equal(journal_reader_open(journal, &reader, "sink", true, position), OK);
    write_rows(reader, fd, UINT32_MAX);
    close(fd);
    rows_are_there_once();
    assert_int_equal(figures().lost_records, 0);
    assert_int_equal(known->opened, ROUNDS);
    uint64_t total = known->appended[0] + known->appended[1] + known->appended[2];
    print_message("# %llu records in %d lives\n", (unsigned long long)total, ROUNDS);
    assert_true(total > 1000);
    journal_reader_close(&reader);
    munmap(known, sizeof *known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kill_neither_loses_nor_duplicates_records, journal_setup, journal_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
