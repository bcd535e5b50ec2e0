/* perf descriptors as the probe sends them, and the resulting counts. */
#include "run/perf_counts.h"

#include "base/clock.h"
#include "tools/temp.h"
#include "tools/unit.h"
#include "spool/probe_env.h"
#include "spool/spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
static struct spool_writer writer;
static struct perf_counts counts;
static struct perf_event_spec specs[2];

static int start(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "x.spool");
    spool_writer_init_take(&writer, open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    return perf_counts_open(&counts, dir, 2, &writer) != OK;
}

static int stop(void **state)
{
    (void)state;
    perf_counts_close(&counts);
    spool_writer_close(&writer);
    temp_remove(dir);
    return 0;
}

/* Page faults of this process, as the probe would open them. */
static int open_event_since(enum probe_perf_since since)
{
    struct perf_event_attr attr;
    perf_event_attr_init(&specs[0], &attr);
    attr.disabled = attr.enable_on_exec = since == PROBE_PERF_EXEC;
    return perf_event_open_call(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_event(void)
{
    return open_event_since(PROBE_PERF_BIRTH);
}

static void send_since(uint32_t pid, uint32_t tid, uint32_t opened, enum probe_perf_since since, int fd)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    struct probe_perf_message message = { pid, tid, opened, since, clock_realtime_ns() };
    struct iovec part = { &message, sizeof message };
    char control[CMSG_SPACE(sizeof fd)] __attribute__((aligned(8))) = { 0 };
    struct msghdr head = { .msg_iov = &part, .msg_iovlen = 1 };
    strcpy(to.sun_path, counts.path);
    if (fd >= 0) {
        head.msg_control = control;
        head.msg_controllen = sizeof control;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&head);
        *rights = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd) };
        memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    }
    int from = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(from, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(sendmsg(from, &head, 0), sizeof message);
    close(from);
}

static void send_event(uint32_t pid, uint32_t tid, uint32_t opened, int fd)
{
    send_since(pid, tid, opened, PROBE_PERF_BIRTH, fd);
}

static void end_thread(uint32_t pid, uint32_t tid)
{
    perf_counts_end_thread(&counts, pid, tid, clock_realtime_ns());
}

struct seen {
    size_t records;
    uint64_t pid, tid, numbers[8];
    uint64_t sum; /* of the first event */
};

static struct seen read_records(void)
{
    struct seen seen = { 0 };
    struct spool_reader reader;
    enum record_kind kind;
    struct bytes body;
    spool_writer_flush(&writer);
    assert_int_equal(spool_open(&reader, path), OK);
    while (spool_next(&reader, &kind, &body) == OK) {
        struct perf_record record;
        assert_int_equal(kind, RECORD_KIND_perf);
        assert_int_equal(record_unpack_perf(body, &record), OK);
        assert_true(record.opened_ns && record.opened_ns <= record.time_ns);
        seen.records++;
        seen.pid = record.pid;
        seen.tid = record.tid;
        struct unpacker u = { (const uint8_t *)record.counts.data, (const uint8_t *)record.counts.data + record.counts.size,
                              false };
        for (int i = 0; i < 8; i++)
            seen.numbers[i] = unpack_number(&u);
        seen.sum += seen.numbers[1];
        assert_false(u.bad);
        assert_true(u.at == u.end);
    }
    spool_close(&reader);
    return seen;
}

static void touch_pages(void)
{
    size_t size = 100 * (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += (size_t)sysconf(_SC_PAGESIZE))
        ((volatile char *)pages)[i] = 1;
    munmap(pages, size);
}

/* A child that opens, sends, touches 100 pages and ends. Returns its pid. */
static pid_t counted_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open_event();
        send_event((uint32_t)getpid(), (uint32_t)getpid(), 2, fd); /* the second of two events */
        close(fd);
        touch_pages();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    return pid;
}

static void need_perf(void)
{
    int fd = open_event();
    if (fd < 0)
        skip();
    close(fd);
}

static void expect_child(const struct seen *seen, pid_t pid)
{
    assert_int_equal(seen->pid, pid);
    assert_int_equal(seen->tid, pid);
    assert_int_equal(seen->numbers[0], 0); /* the first event was not opened: unknown */
    assert_int_equal(seen->numbers[4], 1);
    assert_in_range(seen->numbers[5], 100, 400);
    assert_true(seen->numbers[6] > 0);
    assert_true(seen->numbers[7] <= seen->numbers[6]);
}

static void counts_are_read_after_the_end(void **state)
{
    (void)state;
    need_perf();
    pid_t pid = counted_child();
    perf_counts_receive(&counts);
    assert_int_equal(counts.thread_count, 1);
    assert_int_equal(read_records().records, 0);
    end_thread((uint32_t)pid, (uint32_t)pid);
    struct seen seen = read_records();
    assert_int_equal(seen.records, 1);
    expect_child(&seen, pid);
    end_thread((uint32_t)pid, (uint32_t)pid);
    assert_int_equal(read_records().records, 1);
}

static void a_sweep_finds_threads_that_ended_unreported(void **state)
{
    (void)state;
    need_perf();
    pid_t pid = counted_child();
    int own = open_event();
    send_event((uint32_t)getpid(), (uint32_t)getpid(), 1, own);
    close(own);
    perf_counts_receive(&counts);
    perf_counts_sweep(&counts);
    struct seen seen = read_records();
    assert_int_equal(seen.records, 1);
    expect_child(&seen, pid);
    assert_int_equal(counts.thread_count, 1); /* this process is alive */
}

static void closing_reads_what_is_left(void **state)
{
    (void)state;
    need_perf();
    pid_t pid = counted_child();
    char socket_path[sizeof counts.path];
    memcpy(socket_path, counts.path, sizeof socket_path);
    perf_counts_close(&counts); /* not even received yet */
    struct seen seen = read_records();
    assert_int_equal(seen.records, 1);
    expect_child(&seen, pid);
    assert_int_equal(access(socket_path, F_OK), -1);
}

static void a_reused_tid_is_another_thread(void **state)
{
    (void)state;
    need_perf();
    for (int i = 0; i < 2; i++) {
        int fd = open_event();
        send_event(500, 501, 1, fd);
        close(fd);
    }
    perf_counts_receive(&counts);
    assert_int_equal(counts.thread_count, 1);
    assert_int_equal(read_records().records, 1);
}

static size_t open_files(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 256; fd++) /* more than any test leaves open */
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Opens events that start at an exec, and sends them with any ids. */
static void announce_exec(uint32_t pid, uint32_t tid)
{
    int fd = open_event_since(PROBE_PERF_EXEC);
    send_since(pid, tid, 1, PROBE_PERF_EXEC, fd);
    close(fd);
}

static void open_and_send(uint32_t pid, uint32_t tid, enum probe_perf_since since)
{
    int fd = open_event_since(since);
    send_since(pid, tid, 1, since, fd);
    close(fd);
}

/* Both count what the second image does; it must count once. */
static void what_an_image_counted_ends_with_the_next(void **state)
{
    (void)state;
    need_perf();
    open_and_send(500, 500, PROBE_PERF_BIRTH);
    touch_pages();
    open_and_send(500, 500, PROBE_PERF_IMAGE);
    touch_pages();
    perf_counts_receive(&counts);
    assert_int_equal(counts.thread_count, 1);
    assert_int_equal(counts.pending, 1);
    perf_counts_settle(&counts);
    struct seen seen = read_records();
    assert_int_equal(counts.pending, 0);
    assert_int_equal(seen.records, 1);
    assert_in_range(seen.sum, 100, 150);
    end_thread(500, 500);
    seen = read_records();
    assert_int_equal(seen.records, 2);
    assert_in_range(seen.numbers[1], 100, 150);
}

static void an_exec_that_failed_counts_nothing(void **state)
{
    (void)state;
    need_perf();
    size_t before = open_files();
    open_and_send(500, 500, PROBE_PERF_BIRTH);
    announce_exec(500, 500);
    send_since(500, 500, 0, PROBE_PERF_FAILED, -1);
    perf_counts_receive(&counts);
    assert_int_equal(open_files(), before + 1);
    announce_exec(500, 500); /* this one never happened, although no failure was reported */
    perf_counts_receive(&counts);
    perf_counts_settle(&counts);
    assert_int_equal(read_records().records, 0);
    touch_pages();
    end_thread(500, 500);
    struct seen seen = read_records();
    assert_int_equal(seen.records, 1);
    assert_in_range(seen.sum, 100, 300);
    assert_int_equal(open_files(), before);
}

/* The main thread ends in that exec; its exit is reported when the image with its tid is already counting. */
static void an_exec_by_another_thread(void **state)
{
    (void)state;
    need_perf();
    open_and_send(500, 500, PROBE_PERF_BIRTH);
    open_and_send(500, 501, PROBE_PERF_BIRTH);
    uint64_t before_ns = clock_realtime_ns();
    open_and_send(500, 500, PROBE_PERF_IMAGE);
    perf_counts_receive(&counts);
    perf_counts_end_thread(&counts, 500, 500, before_ns);
    touch_pages();
    end_thread(500, 500);
    struct seen seen = read_records();
    assert_int_equal(seen.records, 2);
    assert_true(seen.sum >= 100);
    assert_int_equal(counts.thread_count, 1);
}

static void inconsistent_messages_are_counted_and_closed(void **state)
{
    (void)state;
    need_perf();
    size_t before = open_files();
    int fd = open_event();
    send_event(500, 501, 3, fd); /* two announced, one sent */
    send_event(500, 502, 1, -1); /* none sent */
    close(fd);
    perf_counts_receive(&counts);
    assert_int_equal(counts.lost, 2);
    assert_int_equal(counts.thread_count, 0);
    assert_int_equal(open_files(), before);
}

static void a_thousand_messages_may_be_pending(void **state)
{
    (void)state;
    need_perf();
    for (uint32_t tid = 1; tid <= 1000; tid++) {
        int fd = open_event();
        send_event(1, tid, 1, fd);
        close(fd);
    }
    perf_counts_receive(&counts);
    assert_int_equal(counts.thread_count, 1000);
    perf_counts_close(&counts);
    assert_int_equal(read_records().records, 1000);
}

static int connect_silently(void)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    snprintf(to.sun_path, sizeof to.sun_path, "%s", counts.path);
    int silent = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(silent, (struct sockaddr *)&to, sizeof to), 0);
    return silent;
}

static void a_silent_connection_does_not_block(void **state)
{
    (void)state;
    need_perf();
    int silent = connect_silently();
    int fd = open_event();
    send_event(1, 7, 1, fd);
    close(fd);
    perf_counts_receive(&counts);
    assert_int_equal(counts.thread_count, 1);
    assert_int_equal(counts.lost, 1);
    close(silent);
}

/* The previous message must not be taken for that of a silent connection. */
static void a_silent_connection_closes_no_other_descriptors(void **state)
{
    (void)state;
    need_perf();
    int fd = open_event(), silent[2] = { connect_silently() };
    send_event(1, 7, 1, fd);
    close(fd);
    silent[1] = connect_silently();
    size_t before = open_files();
    perf_counts_receive(&counts);
    assert_int_equal(counts.thread_count, 1);
    assert_int_equal(counts.lost, 2);
    assert_int_equal(open_files(), before + 1);
    end_thread(1, 7);
    assert_int_equal(read_records().numbers[0], 1); /* it was still readable */
    assert_int_equal(open_files(), before);
    close(silent[0]);
    close(silent[1]);
}

static void a_long_path_gets_its_own_directory(void **state)
{
    (void)state;
    struct perf_counts other;
    char deep[TEMP_PATH_MAX];
    temp_join(deep, dir, "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890");
    assert_int_equal(mkdir(deep, 0700), 0);
    assert_int_equal(perf_counts_open(&other, deep, 1, &writer), OK);
    assert_int_equal(access(other.path, F_OK), 0);
    char made[sizeof other.dir];
    strcpy(made, other.dir);
    assert_int_not_equal(made[0], '\0');
    char link[sizeof other.link];
    strcpy(link, other.link);
    assert_int_equal(access(link, F_OK), 0);
    perf_counts_close(&other);
    assert_int_equal(access(made, F_OK), -1);
    assert_int_equal(readlink(link, made, sizeof made), -1);
}

static void events_are_described_in_hex(void **state)
{
    (void)state;
    struct perf_event_spec some[2] = { { .type = 1, .config = 2 },
                                       { .type = 4, .config = 0xabcdef, .config1 = 16, .config2 = 17, .exclude = 3 } };
    struct buf text;
    buf_init(&text, 1000);
    perf_counts_describe(some, 2, &text);
    assert_string_equal(buf_text(&text), "1:2:0:0:0;4:abcdef:10:11:3");
    buf_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_are_read_after_the_end, start, stop),
        cmocka_unit_test_setup_teardown(a_sweep_finds_threads_that_ended_unreported, start, stop),
        cmocka_unit_test_setup_teardown(closing_reads_what_is_left, start, stop),
        cmocka_unit_test_setup_teardown(a_reused_tid_is_another_thread, start, stop),
        cmocka_unit_test_setup_teardown(what_an_image_counted_ends_with_the_next, start, stop),
        cmocka_unit_test_setup_teardown(an_exec_that_failed_counts_nothing, start, stop),
        cmocka_unit_test_setup_teardown(an_exec_by_another_thread, start, stop),
        cmocka_unit_test_setup_teardown(inconsistent_messages_are_counted_and_closed, start, stop),
        cmocka_unit_test_setup_teardown(a_thousand_messages_may_be_pending, start, stop),
        cmocka_unit_test_setup_teardown(a_silent_connection_does_not_block, start, stop),
        cmocka_unit_test_setup_teardown(a_silent_connection_closes_no_other_descriptors, start, stop),
        cmocka_unit_test_setup_teardown(a_long_path_gets_its_own_directory, start, stop),
        cmocka_unit_test(events_are_described_in_hex),
    };
    specs[0] = (struct perf_event_spec){ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
