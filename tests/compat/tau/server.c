/* The thread of tau's socket: clients send, query and disconnect while pages are written. */
#include "base/clock.h"
#include "model/view.h"
#include "api/program_page.h"
#include "compat/tau/server.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define THREADS 4
#define SESSIONS 50
#define CLIENTS 80 /* that do not read */

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
static struct registry *registry;
static struct program_jobs jobs;
static struct tau_endpoint endpoint;
static struct tau_server *server;

static int begin(void **state)
{
    struct buf why;
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "tau.sock");
    buf_init(&why, 1024);
    jobs = (struct program_jobs){ .root = "" };
    enum err err = registry_open(&registry, &(struct registry_settings){ .host = "n1" });
    endpoint = (struct tau_endpoint){ registry, &jobs };
    err = err ? err : tau_server_open(&server, path, &endpoint, &why);
    buf_clear(&why);
    return (int)err;
}

static int end(void **state)
{
    struct stat st;
    (void)state;
    tau_server_close(&server);
    assert_int_not_equal(lstat(path, &st), 0);
    registry_close(&registry);
    temp_remove(dir);
    return 0;
}

static int connect_to(void)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(at.sun_path, path, strlen(path));
    return fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 ? fd : -1;
}

static bool say(int fd, int32_t type, const char *name, double value)
{
    struct tau_message message = { .type = type, .canary = TAU_CANARY };
    snprintf(message.descriptor.name, TAU_TEXT_MAX, "%s", name);
    if (type == TAU_DESC)
        message.descriptor.type = TAU_COUNTER;
    if (type == TAU_VAL)
        message.event.value = value;
    return write(fd, &message, sizeof message) == (ssize_t)sizeof message;
}

static double ask(int fd, const char *name)
{
    struct tau_event event;
    if (!say(fd, TAU_GET_ONE, name, 0) || recv(fd, &event, sizeof event, MSG_WAITALL) != (ssize_t)sizeof event)
        return -1;
    return event.value;
}

static void *hold_sessions(void *context)
{
    size_t *good = context;
    for (int i = 0; i < SESSIONS; i++) {
        int fd = connect_to();
        *good += fd >= 0 && say(fd, TAU_DESC, "x_total", 0) && say(fd, TAU_VAL, "x_total", 1) && ask(fd, "x_total") >= 1;
        close(fd);
    }
    return NULL;
}

static void pages_are_served_while_clients_come_and_go(void **state)
{
    pthread_t threads[THREADS];
    size_t good[THREADS] = { 0 };
    struct buf out;
    (void)state;
    buf_init(&out, 1 << 20);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_sessions, &good[i]), 0);
    for (int i = 0; i < 200; i++) {
        buf_reset(&out);
        program_page_write(&out, registry, &(struct program_page){ METRICS_TEXT, VIEW_ALL, false });
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(good[i], SESSIONS);
    }
    int fd = connect_to();
    assert_true(ask(fd, "x_total") == THREADS * SESSIONS);
    close(fd);
    buf_clear(&out);
}

static void broken_client_is_closed_and_others_are_served(void **state)
{
    int good = connect_to(), mad = connect_to();
    char byte;
    (void)state;
    assert_true(say(mad, 77, "", 0));
    assert_int_equal(recv(mad, &byte, 1, MSG_WAITALL), 0);
    assert_true(say(good, TAU_DESC, "x_total", 0) && say(good, TAU_VAL, "x_total", 2));
    assert_true(ask(good, "x_total") == 2);
    close(good);
    close(mad);
}

static size_t count_closed(const struct pollfd *clients, size_t count)
{
    struct pollfd copy[CLIENTS];
    size_t closed = 0;
    memcpy(copy, clients, count * sizeof *copy);
    poll(copy, (nfds_t)count, 0);
    for (size_t i = 0; i < count; i++)
        closed += (copy[i].revents & POLLHUP) != 0;
    return closed;
}

/* Each holds memory of the server: the ones of a user that have waited longest are closed beyond a number. */
static void clients_that_do_not_read_are_bounded(void **state)
{
    (void)state;
    struct pollfd clients[CLIENTS];
    const struct tau_message query = { .type = TAU_LIST_ALL, .canary = TAU_CANARY };
    int reader = connect_to();
    assert_true(say(reader, TAU_DESC, "a_total", 0));
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = (struct pollfd){ .fd = connect_to() };
        assert_true(clients[i].fd >= 0);
        for (int full = 0; full < 20; full++) /* its own buffer is full as well, and stays so */
            if (send(clients[i].fd, &query, sizeof query, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                usleep(1000);
            else
                full = 0;
    }
    for (int i = 0; i < 500 && count_closed(clients, CLIENTS) < CLIENTS - 64; i++)
        usleep(10000);
    assert_int_equal(count_closed(clients, CLIENTS), CLIENTS - 64);
    assert_true(ask(reader, "a_total") >= 0);
    for (size_t i = 0; i < CLIENTS; i++)
        close(clients[i].fd);
    close(reader);
}

static void live_socket_is_not_replaced(void **state)
{
    struct tau_server *other;
    struct buf why;
    (void)state;
    buf_init(&why, 1024);
    assert_int_equal(tau_server_open(&other, path, &endpoint, &why), AGAIN);
    assert_non_null(strstr(buf_text(&why), path));
    int fd = connect_to();
    assert_true(ask(fd, "nobody") == 0);
    close(fd);
    buf_clear(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(clients_that_do_not_read_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(pages_are_served_while_clients_come_and_go, begin, end),
        cmocka_unit_test_setup_teardown(broken_client_is_closed_and_others_are_served, begin, end),
        cmocka_unit_test_setup_teardown(live_socket_is_not_replaced, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
