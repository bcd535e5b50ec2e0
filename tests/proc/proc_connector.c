/* The proc connector: message parsing, and live events of processes and threads as root and as a user. */
#include "proc/proc_connector.h"

#include "base/clock.h"
#include "tools/unit.h"

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

struct genetlink_request {
    struct nlmsghdr netlink;
    char connector[sizeof(struct cn_msg)];
    char event[sizeof(struct proc_event)];
};

static struct bytes message_of(struct genetlink_request *message, const struct proc_event *event, size_t size)
{
    struct cn_msg head = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = (uint16_t)size };
    memset(message, 0, sizeof *message);
    message->netlink.nlmsg_len = (uint32_t)(offsetof(struct genetlink_request, event) + size);
    memcpy(message->connector, &head, sizeof head);
    memcpy(message->event, event, size);
    return (struct bytes){ (char *)message, message->netlink.nlmsg_len };
}

static void an_exit_has_its_status_and_parent(void **state)
{
    (void)state;
    struct genetlink_request message;
    struct proc_connector_event event;
    struct proc_event exit = { .timestamp_ns = 77 };
    exit.what = PROC_EVENT_EXIT;
    exit.event_data.exit.process_tgid = 10;
    exit.event_data.exit.process_pid = 11;
    exit.event_data.exit.exit_code = 0x300;
    exit.event_data.exit.parent_tgid = 9;
    assert_int_equal(proc_connector_parse(message_of(&message, &exit, sizeof exit), &event), PROC_CONNECTOR_EVENT);
    assert_int_equal(event.kind, PROC_CONNECTOR_EXIT);
    assert_int_equal(event.pid, 10);
    assert_int_equal(event.tid, 11);
    assert_int_equal(event.parent_pid, 9);
    assert_int_equal(event.time_ns, 77);
    assert_int_equal(WEXITSTATUS(event.status), 3);
}

static void an_old_kernel_sends_no_parent_of_an_exit(void **state)
{
    (void)state;
    struct genetlink_request message;
    struct proc_connector_event event;
    struct proc_event exit = { .timestamp_ns = 77 };
    exit.what = PROC_EVENT_EXIT;
    exit.event_data.exit.process_tgid = 10;
    exit.event_data.exit.parent_tgid = 9;
    size_t size = offsetof(struct proc_event, event_data.exit.parent_pid);
    assert_int_equal(proc_connector_parse(message_of(&message, &exit, size), &event), PROC_CONNECTOR_EVENT);
    assert_int_equal(event.pid, 10);
    assert_int_equal(event.parent_pid, 0);
}

static void short_and_foreign_messages_are_not_events(void **state)
{
    (void)state;
    struct genetlink_request message;
    struct proc_connector_event event;
    struct proc_event fork = { .timestamp_ns = 1 };
    fork.what = PROC_EVENT_FORK;
    struct bytes whole = message_of(&message, &fork, sizeof fork);
    assert_int_equal(proc_connector_parse(whole, &event), PROC_CONNECTOR_EVENT);
    for (size_t size = 0; size < whole.size; size++)
        assert_int_equal(proc_connector_parse((struct bytes){ whole.data, size }, &event), PROC_CONNECTOR_OTHER);
    size_t few = offsetof(struct proc_event, event_data.fork.child_tgid);
    assert_int_equal(proc_connector_parse(message_of(&message, &fork, few), &event), PROC_CONNECTOR_OTHER);
    fork.what = PROC_EVENT_UID;
    assert_int_equal(proc_connector_parse(message_of(&message, &fork, sizeof fork), &event), PROC_CONNECTOR_OTHER);
    message_of(&message, &fork, sizeof fork);
    message.connector[0] = 9;
    assert_int_equal(proc_connector_parse(whole, &event), PROC_CONNECTOR_OTHER);
}

/* Events of one process. */
struct seen {
    uint32_t pid, parent;
    unsigned forks, threads, execs, thread_exits, exits;
    int status;
    uint64_t first_ns, last_ns;
};

static void note(void *context, const struct proc_connector_event *event)
{
    struct seen *seen = context;
    if (event->pid != seen->pid)
        return;
    bool is_main = event->tid == event->pid;
    if (!seen->first_ns)
        seen->first_ns = event->time_ns;
    seen->last_ns = event->time_ns;
    if (event->kind == PROC_CONNECTOR_FORK && is_main) {
        seen->forks++;
        seen->parent = event->parent_pid;
    } else if (event->kind == PROC_CONNECTOR_FORK) {
        seen->threads++;
    } else if (event->kind == PROC_CONNECTOR_EXEC) {
        seen->execs++;
    } else if (is_main) {
        seen->exits++;
        seen->status = event->status;
    } else {
        seen->thread_exits++;
    }
}

static void *idle(void *unused)
{
    return unused;
}

static void make_threads_and_exec(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, idle, NULL);
        pthread_join(thread, NULL);
    }
    execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
    _exit(127);
}

/* Returns 0 if all events of a child were received. */
static int watch_a_child(void)
{
    struct proc_connector connector;
    enum err err = proc_connector_open(&connector);
    if (err)
        return err == ABSENT ? 100 : err == DENIED ? 101 : 1;
    uint64_t before_ns = clock_realtime_ns();
    struct seen seen = { 0 };
    int status;
    pid_t pid = fork();
    if (pid == 0)
        make_threads_and_exec();
    waitpid(pid, &status, 0);
    seen.pid = (uint32_t)pid;
    err = proc_connector_read(&connector, note, &seen);
    proc_connector_close(&connector);
    bool whole = !err && seen.forks == 1 && seen.parent == (uint32_t)getpid() && seen.threads == 3 && seen.execs == 1
                 && seen.thread_exits == 3 && seen.exits == 1 && seen.status == status && WEXITSTATUS(status) == 7;
    bool timely = seen.first_ns >= before_ns && seen.last_ns <= clock_realtime_ns() && seen.first_ns < seen.last_ns;
    return !whole ? 2 : !timely ? 3 : 0;
}

static bool kernel_has_none(int result)
{
    return result == 100 || result == 101;
}

static void fork_exec_and_exit_are_received(void **state)
{
    (void)state;
    int result = watch_a_child();
    if (kernel_has_none(result))
        leave_out("no proc connector here");
    assert_int_equal(result, 0);
}

static void a_user_receives_events_or_an_error(void **state)
{
    (void)state;
    int status;
    if (getuid() != 0)
        leave_out("needs root");
    pid_t pid = fork();
    if (pid == 0)
        _exit(setgid(NOBODY) || setuid(NOBODY) ? 4 : watch_a_child());
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    if (kernel_has_none(WEXITSTATUS(status)))
        leave_out("this kernel lets only root listen");
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void fork_many(int count)
{
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
}

static void overflows_are_counted(void **state)
{
    (void)state;
    struct proc_connector connector;
    if (proc_connector_open(&connector))
        leave_out("no proc connector here");
    int small = 1;
    struct seen seen = { 0 };
    assert_int_equal(setsockopt(connector.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    fork_many(50);
    assert_int_equal(proc_connector_read(&connector, note, &seen), OK);
    assert_true(connector.lost > 50); /* two events per process, of which only a few fit */
    uint64_t lost = connector.lost;

    for (int i = 0; i < 100 && !seen.forks; i++) { /* the buffer has free space again, which other processes may
                                                        * fill */
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        seen.pid = (uint32_t)pid;
        waitpid(pid, NULL, 0);
        assert_int_equal(proc_connector_read(&connector, note, &seen), OK);
    }
    assert_int_equal(seen.forks, 1);
    assert_true(connector.lost >= lost);
    proc_connector_close(&connector);
}

static void a_closed_connector_reads_nothing(void **state)
{
    (void)state;
    struct proc_connector connector = { .fd = -1 };
    proc_connector_close(&connector);
    assert_int_equal(proc_connector_read(&connector, note, NULL), ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exit_has_its_status_and_parent),
        cmocka_unit_test(an_old_kernel_sends_no_parent_of_an_exit),
        cmocka_unit_test(short_and_foreign_messages_are_not_events),
        cmocka_unit_test(fork_exec_and_exit_are_received),
        cmocka_unit_test(a_user_receives_events_or_an_error),
        cmocka_unit_test(overflows_are_counted),
        cmocka_unit_test(a_closed_connector_reads_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
