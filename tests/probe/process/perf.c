/* perf events: opened in each thread, and before an exec for the next image, sent to a socket, counting until the
 * thread ends. */
#include "tools/probed.h"
#include "tools/unit.h"
#include "spool/probe_env.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGES_MAX 16
#define BACKLOG 10 /* small, so that it can be filled */

struct message {
    struct probe_perf_message text;
    int fds[32];
    size_t count;
};

static struct probed probed;
static int receiver;
static char events[128], address_text[256];
static struct message messages[MESSAGES_MAX];
static size_t message_count;

static int open_probed(void **state)
{
    (void)state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    probed_open(&probed);
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/socket", probed.dir);
    receiver = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(receiver, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(receiver, BACKLOG), 0);
    snprintf(address_text, sizeof address_text, PROBE_ENV_SOCKET "=%s", address.sun_path);
    /* CPU time, an event that does not exist, page faults */
    snprintf(events, sizeof events, PROBE_ENV_EVENTS "=%x:%x:0:0:0;%x:ffff:0:0:0;%x:%x:0:0:0", PERF_TYPE_SOFTWARE,
             PERF_COUNT_SW_TASK_CLOCK, PERF_TYPE_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
    probed.env[0] = events;
    probed.env[1] = address_text;
    message_count = 0;
    return 0;
}

static int close_probed(void **state)
{
    (void)state;
    for (size_t i = 0; i < message_count; i++)
        for (size_t n = 0; n < messages[i].count; n++)
            close(messages[i].fds[n]);
    close(receiver);
    probed_close(&probed);
    return 0;
}

static bool receive(struct message *message)
{
    char control[CMSG_SPACE(sizeof message->fds)];
    struct iovec part = { &message->text, sizeof message->text };
    struct msghdr head = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
    int connection = accept4(receiver, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0)
        return false;
    assert_int_equal(recvmsg(connection, &head, MSG_CMSG_CLOEXEC), sizeof message->text);
    close(connection);
    struct cmsghdr *first = CMSG_FIRSTHDR(&head);
    assert_non_null(first);
    assert_int_equal(first->cmsg_type, SCM_RIGHTS);
    message->count = (first->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(message->fds, CMSG_DATA(first), message->count * sizeof(int));
    return true;
}

static void act(const char *what, const char *more, size_t expected)
{
    probed_act(&probed, what, more);
    assert_int_equal(probed.status, 0);
    while (message_count < MESSAGES_MAX && receive(&messages[message_count]))
        message_count++;
    assert_int_equal(message_count, expected);
}

/* Value, time enabled, time running. */
static uint64_t count_of(const struct message *message, size_t n)
{
    uint64_t value[3];
    assert_true(n < message->count);
    assert_int_equal(read(message->fds[n], value, sizeof value), sizeof value);
    assert_true(value[1] > 0 && value[1] == value[2]);
    return value[0];
}

static bool events_work(void)
{
    struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_TASK_CLOCK };
    long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    if (fd >= 0)
        close((int)fd);
    return fd >= 0;
}

static void a_process_is_counted(void **state)
{
    (void)state;
    act("burn", "50", 1);
    assert_int_equal(messages[0].text.pid, probed.pid);
    assert_int_equal(messages[0].text.tid, probed.pid);
    assert_int_equal(messages[0].text.opened, 1 | 4); /* the second does not exist */
    assert_int_equal(messages[0].text.since, PROBE_PERF_IMAGE);
    assert_int_equal(messages[0].count, 2);
    uint64_t used_ns = count_of(&messages[0], 0);
    assert_true(used_ns > 48000000 && used_ns < 100000000);
    assert_true(count_of(&messages[0], 1) > 0);
}

static void each_thread_has_its_own(void **state)
{
    (void)state;
    act("threads", "return", 4);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(messages[i].text.pid, probed.pid);
        assert_true(messages[i].text.tid != messages[0].text.tid);
        uint64_t used_ns = count_of(&messages[i], 0);
        assert_true(used_ns >= 19000000 && used_ns < 45000000);
    }
    assert_true(count_of(&messages[0], 0) < 20000000);
}

static void a_child_by_fork_has_its_own(void **state)
{
    (void)state;
    struct fork_record child;
    act("fork", NULL, 2);
    assert_true(probed_fork(&probed, 0, &child));
    assert_int_equal(messages[1].text.pid, child.pid);
}

/* Opened before each exec, which starts them; they continue across the next. */
static void each_image_has_its_own(void **state)
{
    (void)state;
    struct exec_record exec;
    probed.env[2] = PROBE_ENV_FLAGS "="; /* the flag is added to it */
    act("chain", "2", 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(messages[i].text.pid, probed.pid);
        assert_int_equal(messages[i].text.since, i ? PROBE_PERF_EXEC : PROBE_PERF_IMAGE);
        uint64_t used_ns = count_of(&messages[i], 0), least_ns = (3 - i) * 20000000;
        assert_true(used_ns >= least_ns - 1000000 && used_ns < 2 * least_ns);
        if (i) {
            assert_true(probed_exec(&probed, i - 1, &exec));
            assert_int_equal(messages[i].text.time_ns, exec.time_ns);
        }
    }
}

/* The program does not wait forever for a receiver that does not read. */
static void a_receiver_that_does_not_read(void **state)
{
    (void)state;
    char tool[TEMP_PATH_MAX];
    temp_join(tool, getenv("TOOLS"), "crowd");
    probed_program(&probed, (char *[]){ tool, "threads", "60", "20", NULL });
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 60);
    close(receiver);
    probed_act(&probed, "fork", NULL);
    assert_int_equal(probed.status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_probed, close_probed)
        TEST(a_process_is_counted),
        TEST(each_thread_has_its_own),
        TEST(a_child_by_fork_has_its_own),
        TEST(each_image_has_its_own),
        TEST(a_receiver_that_does_not_read),
    };
    if (!events_work()) {
        printf("1..0 # SKIP perf events are not allowed here\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
