/* Server and client in one thread: the test is the client and calls http_server_run. */
#include "tools/unit.h"

#include "net/fd_pass.h"
#include "net/http_server.h"
#include "net/listen.h"
#include "base/clock.h"
#include "tools/temp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BIG (8u << 20)

struct fixture {
    struct http_server *http;
    uint16_t port;
    int requests;
    size_t size; /* of the answer */
    struct http_peer peer;
    char body[64];
    int fd; /* that came with the last request, while it was answered */
};

static void answer(void *context, const struct http_request *request, struct http_answer *out)
{
    struct fixture *f = context;
    f->requests++;
    f->peer = request->peer;
    f->fd = request->fd;
    if (f->fd >= 0)
        assert_true(fcntl(f->fd, F_GETFD) >= 0);
    snprintf(f->body, sizeof f->body, "%.*s", (int)request->body.size, request->body.data);
    if (f->size == 0)
        buf_printf(&out->body, "you want %.*s\n", (int)request->path.size, request->path.data);
    char *room = f->size ? buf_reserve(&out->body, f->size) : NULL;
    if (room) {
        memset(room, 'x', f->size);
        out->body.size += f->size;
    }
}

static void begin(struct fixture *f, const struct http_server_limits *limits)
{
    int fd;
    *f = (struct fixture){ 0 };
    assert_int_equal(http_server_open(&f->http, &(struct http_handler){ answer, f }, limits), OK);
    assert_int_equal(listen_tcp("127.0.0.1", 0, &fd), OK);
    f->port = listen_port(fd);
    assert_int_equal(http_server_listen_take(f->http, fd, false), OK);
}

static int client(const struct fixture *f)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(f->port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static void turns(struct fixture *f, int ms)
{
    uint64_t end_ns = clock_monotonic_ns() + (uint64_t)ms * NS_PER_MS;
    while (clock_monotonic_ns() < end_ns) {
        struct pollfd ready = { .fd = http_server_fd(f->http), .events = POLLIN };
        poll(&ready, 1, 1);
        http_server_run(f->http);
    }
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* What is received until it contains end, or until the server closes; then "closed" is appended. */
static const char *hear(struct fixture *f, int fd, const char *end)
{
    static char text[1 << 16];
    size_t size = 0;
    text[0] = '\0';
    for (int i = 0; i < 2000 && size < sizeof text - 8 && !(end && strstr(text, end)); i++) {
        turns(f, 1);
        ssize_t got = recv(fd, text + size, sizeof text - 8 - size, 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            memcpy(text + size, "closed", 7);
            return text;
        }
        size += got > 0 ? (size_t)got : 0;
        text[size] = '\0';
    }
    return text;
}

static void keep_alive_and_pipelining(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    int fd = client(&f);
    say(fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    const char *text = hear(&f, fd, "you want /a\n");
    assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(text, "Content-Length: 12\r\n"));
    assert_null(strstr(text, "closed"));
    say(fd, "GET /b HTTP/1.1\r\nHost: x\r\n\r\nPOST /c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /d HTTP/1.1\r\n"
            "Host: x\r\nConnection: close\r\n\r\n");
    text = hear(&f, fd, NULL);
    assert_non_null(strstr(text, "you want /b\n"));
    assert_non_null(strstr(text, "you want /c\n"));
    assert_non_null(strstr(text, "Connection: close\r\n\r\nyou want /d\nclosed"));
    assert_int_equal(f.requests, 4);
    assert_true(f.peer.is_same_node && !f.peer.is_local);
    assert_int_equal(f.peer.uid, geteuid());
    close(fd);
    turns(&f, 5);
    assert_int_equal(http_server_connections(f.http), 0);
    http_server_close(&f.http);
}

static void head_has_no_body(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    int fd = client(&f);
    say(fd, "HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const char *text = hear(&f, fd, NULL);
    assert_non_null(strstr(text, "Content-Length: 12\r\nConnection: close\r\n\r\nclosed"));
    assert_int_equal(http_server_answer_bytes(f.http), 0);
    close(fd);
    http_server_close(&f.http);
}

static void a_client_that_has_shut_down_its_side_is_answered(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    int fd = client(&f);
    say(fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    shutdown(fd, SHUT_WR);
    assert_non_null(strstr(hear(&f, fd, NULL), "you want /a\nclosed"));
    close(fd);
    http_server_close(&f.http);
}

/* The answer arrives although the server did not read all that was sent. */
static void garbage_is_rejected_and_others_are_served(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    int fd = client(&f), big = client(&f);
    say(fd, "\x16\x03\x01 garbage\r\nmore\r\n");
    assert_non_null(strstr(hear(&f, fd, NULL), "HTTP/1.1 400 Bad Request\r\n"));
    static char much[70000];
    memset(much, 'x', sizeof much - 1);
    say(big, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    say(big, much);
    assert_non_null(strstr(hear(&f, big, "\n413"), "HTTP/1.1 413 "));
    close(fd);
    close(big);
    fd = client(&f);
    say(fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(hear(&f, fd, "you want /a\n"), "you want /a\n"));
    assert_int_equal(f.requests, 1);
    close(fd);
    http_server_close(&f.http);
}

static void continue_is_sent(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    int fd = client(&f);
    say(fd, "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    assert_non_null(strstr(hear(&f, fd, "100 Continue\r\n\r\n"), "100 Continue"));
    say(fd, "body");
    assert_non_null(strstr(hear(&f, fd, "you want /p\n"), "200 OK"));
    assert_string_equal(f.body, "body");
    close(fd);
    http_server_close(&f.http);
}

static void idle_connections_are_limited(void **state)
{
    (void)state;
    struct fixture f;
    int fds[300];
    begin(&f, NULL);
    for (size_t i = 0; i < 300; i++) {
        fds[i] = client(&f);
        if (i % 2)
            say(fds[i], "GET /half");
        turns(&f, 1);
    }
    assert_int_equal(http_server_connections(f.http), http_server_default_limits.connections);
    int fd = client(&f);
    say(fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(hear(&f, fd, "you want /a\n"), "200 OK"));
    close(fd);
    for (size_t i = 0; i < 300; i++)
        close(fds[i]);
    turns(&f, 20);
    assert_int_equal(http_server_connections(f.http), 0);
    http_server_close(&f.http);
}

static void slow_clients_cost_bounded_memory(void **state)
{
    (void)state;
    struct fixture f;
    struct http_server_limits limits = http_server_default_limits;
    int fds[20], small = 4096;
    limits.answer_bytes = 3 * BIG;
    limits.stall_ns = 20 * NS_PER_MS;
    begin(&f, &limits);
    f.size = BIG;
    for (size_t i = 0; i < 20; i++) {
        fds[i] = client(&f);
        setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        say(fds[i], "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
        for (int tries = 0; tries < 1000 && f.requests <= (int)i; tries++)
            turns(&f, 10); /* once for most: to make 8 MB takes its time */
        assert_true(http_server_answer_bytes(f.http) <= limits.answer_bytes);
    }
    assert_int_equal(f.requests, 20);
    assert_int_equal(http_server_answer_bytes(f.http), 3 * BIG);
    f.size = 0;
    int fd = client(&f);
    say(fd, "GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(hear(&f, fd, "you want /b\n"), "200 OK"));
    close(fd);
    for (size_t i = 0; i < 20; i++)
        close(fds[i]);
    turns(&f, 20);
    assert_int_equal(http_server_answer_bytes(f.http), 0);
    http_server_close(&f.http);
}

/* More answers than fit into memory: clients that read get all of theirs, even while others read nothing. */
static void many_clients_are_all_answered(void **state)
{
    (void)state;
    struct fixture f;
    static char part[1 << 18];
    struct http_server_limits limits = http_server_default_limits;
    int fds[20], stuck[3], ready = 0, small = 4096;
    size_t totals[20] = { 0 };
    limits.answer_bytes = 3 * BIG;
    begin(&f, &limits);
    f.size = BIG;
    for (size_t i = 0; i < 3; i++) {
        stuck[i] = client(&f);
        setsockopt(stuck[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        say(stuck[i], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        turns(&f, 10);
    }
    for (size_t i = 0; i < 20; i++) {
        fds[i] = client(&f);
        say(fds[i], "GET / HTTP/1.0\r\n\r\n");
    }
    for (int round = 0; round < 100000 && ready < 20; round++) {
        http_server_run(f.http);
        for (size_t i = 0; i < 20; i++) {
            ssize_t got = fds[i] < 0 ? -1 : recv(fds[i], part, sizeof part, 0);
            totals[i] += got > 0 ? (size_t)got : 0;
            if (fds[i] < 0 || got > 0 || (got < 0 && errno == EAGAIN))
                continue;
            close(fds[i]);
            fds[i] = -1;
            ready++;
        }
    }
    for (size_t i = 0; i < 20; i++)
        assert_true(totals[i] > BIG && totals[i] < BIG + 512);
    for (size_t i = 0; i < 3; i++)
        close(stuck[i]);
    http_server_close(&f.http);
}

static void a_large_answer_is_complete(void **state)
{
    (void)state;
    struct fixture f;
    static char part[1 << 16];
    begin(&f, NULL);
    f.size = BIG;
    int fd = client(&f);
    say(fd, "GET /a HTTP/1.0\r\n\r\n");
    size_t total = 0;
    for (int i = 0; i < 100000; i++) {
        http_server_run(f.http);
        ssize_t got = recv(fd, part, sizeof part, 0);
        if (got == 0)
            break;
        total += got > 0 ? (size_t)got : 0;
    }
    assert_true(total > BIG && total < BIG + 512);
    close(fd);
    http_server_close(&f.http);
}

/* Clients that send nothing, half a request, or do not read are closed at their deadlines. */
static void deadlines_close_connections(void **state)
{
    (void)state;
    struct fixture f;
    struct http_server_limits limits = http_server_default_limits;
    limits.idle_ns = 150 * NS_PER_MS;
    limits.request_ns = limits.answer_ns = 50 * NS_PER_MS;
    begin(&f, &limits);
    f.size = BIG;
    int idle = client(&f), half = client(&f), slow = client(&f);
    turns(&f, 5);
    say(half, "GET / HTT");
    say(slow, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    turns(&f, 15);
    assert_int_equal(http_server_connections(f.http), 3);
    turns(&f, 80);
    assert_int_equal(http_server_connections(f.http), 1);
    assert_string_equal(hear(&f, half, NULL), "closed");
    turns(&f, 150);
    assert_int_equal(http_server_connections(f.http), 0);
    close(idle);
    close(half);
    close(slow);
    http_server_close(&f.http);
}

static void the_user_of_a_unix_socket_is_known(void **state)
{
    (void)state;
    struct fixture f;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd, other;
    begin(&f, NULL);
    temp_dir(dir);
    temp_join(path, dir, "made/agent.sock");
    assert_int_equal(listen_unix(path, &fd), OK);
    assert_int_equal(http_server_listen_take(f.http, fd, true), OK);
    assert_int_equal(listen_unix(path, &other), AGAIN);
    snprintf(at.sun_path, sizeof at.sun_path, "%.100s", path);
    int c = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(c, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(fcntl(c, F_SETFL, O_NONBLOCK), 0);
    say(c, "GET /a HTTP/1.0\r\n\r\n");
    assert_non_null(strstr(hear(&f, c, NULL), "200 OK"));
    assert_true(f.peer.is_local);
    assert_int_equal(f.peer.uid, geteuid());
    assert_int_equal(f.fd, -1);
    close(c);
    http_server_close(&f.http);
    assert_int_equal(listen_unix(path, &fd), OK); /* what nobody listens on is replaced */
    close(fd);
    temp_remove(dir);
}

/* A connection that is already there. */
static int local_client(const struct fixture *f)
{
    int ends[2], listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_un at = { .sun_family = AF_UNIX }; /* the kernel gives it a name */
    socklen_t size = sizeof at;
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at.sun_family) | listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    ends[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(ends[0], (struct sockaddr *)&at, size), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(http_server_listen_take(f->http, listener, true), OK);
    return ends[0];
}

static void a_file_belongs_to_one_request_and_is_closed_after_it(void **state)
{
    (void)state;
    struct fixture f;
    static const char request[] = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
    begin(&f, NULL);
    int c = local_client(&f), file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fd_pass_send(c, request, 5, file), 5); /* in two parts, each with one: the second is one too many */
    turns(&f, 5);
    assert_int_equal(fd_pass_send(c, request + 5, sizeof request - 6, file), sizeof request - 6);
    assert_non_null(strstr(hear(&f, c, "you want /a\n"), "200 OK"));
    assert_true(f.fd >= 0);
    assert_int_equal(fcntl(f.fd, F_GETFD), -1);
    say(c, request);
    assert_non_null(strstr(hear(&f, c, "you want /a\n"), "200 OK"));
    assert_int_equal(f.fd, -1);
    int before = dup(file);
    assert_int_equal(fd_pass_send(c, request, 5, file), 5); /* and never ends */
    turns(&f, 5);
    close(c);
    turns(&f, 5);
    int after = dup(file);
    assert_true(after <= before + 1);
    close(after);
    close(before);
    close(file);
    http_server_close(&f.http);
}

static void running_out_of_descriptors(void **state)
{
    (void)state;
    struct fixture f;
    struct rlimit before, tight;
    begin(&f, NULL);
    int one = client(&f), two = client(&f), three = client(&f);
    turns(&f, 5); /* takes the three */
    int late = client(&f);
    getrlimit(RLIMIT_NOFILE, &before);
    tight = before;
    tight.rlim_cur = (rlim_t)late + 1; /* nothing more can be opened */
    setrlimit(RLIMIT_NOFILE, &tight);
    turns(&f, 5);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(http_server_connections(f.http), 3); /* an idle one had to go for the new one */
    say(late, "GET /late HTTP/1.0\r\n\r\n");
    assert_non_null(strstr(hear(&f, late, NULL), "you want /late"));
    close(one);
    close(two);
    close(three);
    close(late);
    http_server_close(&f.http);
}

/* A browser on this node, led here by a web page. */
static void request_for_another_domain_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL);
    int fd = client(&f);
    say(fd, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_non_null(strstr(hear(&f, fd, NULL), "421 Misdirected Request"));
    assert_int_equal(f.requests, 0);
    close(fd);
    http_server_close(&f.http);
}

/* A connection of this user. The test runs as root. */
static int connect_as(const char *path, uid_t uid)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(seteuid(uid), 0);
    int failed = connect(fd, (struct sockaddr *)&at, sizeof at);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(failed, 0);
    return fd;
}

/* One user opens connections without end: root's, which is older than most of them, stays, and is answered. */
static void flood_of_one_user_costs_only_that_user(void **state)
{
    (void)state;
    struct fixture f;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    int listener, flood[400];
    if (geteuid() != 0)
        skip();
    begin(&f, NULL);
    temp_dir(dir);
    chmod(dir, 0755);
    temp_join(path, dir, "socket");
    assert_int_equal(listen_unix(path, &listener), OK);
    chmod(path, 0777);
    assert_int_equal(http_server_listen_take(f.http, listener, true), OK);
    int ours = connect_as(path, 0);
    turns(&f, 2);
    for (size_t i = 0; i < sizeof flood / sizeof *flood; i++) {
        flood[i] = connect_as(path, 65534);
        turns(&f, 0);
        http_server_run(f.http);
    }
    assert_true(http_server_connections(f.http) <= http_server_default_limits.connections);
    say(ours, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(hear(&f, ours, "you want"), "200 OK"));
    assert_int_equal(f.peer.uid, 0);
    for (size_t i = 0; i < sizeof flood / sizeof *flood; i++)
        close(flood[i]);
    close(ours);
    http_server_close(&f.http);
    temp_remove(dir);
}

static void listen_addresses(void **state)
{
    (void)state;
    int fd, other;
    assert_int_equal(listen_tcp("nowhere.example", 1, &fd), USAGE);
    assert_int_equal(listen_tcp("localhost", 0, &fd), OK);
    assert_int_equal(listen_tcp("127.0.0.1", listen_port(fd), &other), AGAIN);
    assert_int_equal(other, -1);
    close(fd);
    assert_int_equal(listen_tcp("*", 0, &fd), OK);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keep_alive_and_pipelining),
        cmocka_unit_test(head_has_no_body),
        cmocka_unit_test(a_client_that_has_shut_down_its_side_is_answered),
        cmocka_unit_test(garbage_is_rejected_and_others_are_served),
        cmocka_unit_test(continue_is_sent),
        cmocka_unit_test(idle_connections_are_limited),
        cmocka_unit_test(slow_clients_cost_bounded_memory),
        cmocka_unit_test(many_clients_are_all_answered),
        cmocka_unit_test(a_large_answer_is_complete),
        cmocka_unit_test(deadlines_close_connections),
        cmocka_unit_test(the_user_of_a_unix_socket_is_known),
        cmocka_unit_test(a_file_belongs_to_one_request_and_is_closed_after_it),
        cmocka_unit_test(running_out_of_descriptors),
        cmocka_unit_test(request_for_another_domain_is_refused),
        cmocka_unit_test(flood_of_one_user_costs_only_that_user),
        cmocka_unit_test(listen_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
