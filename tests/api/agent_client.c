/* The API client against a child process that sends prepared responses and records the requests. */
#include "api/agent_client.h"

#include "base/clock.h"
#include "base/file.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct server {
    char dir[TEMP_PATH_MAX], heard[TEMP_PATH_MAX];
    uint16_t port;
    pid_t pid;
};

static void serve_one(int listener, const char *heard, const char *answer)
{
    char text[4096];
    int fd = accept(listener, NULL, NULL);
    ssize_t size = recv(fd, text, sizeof text, 0);
    temp_write(heard, text, size > 0 ? (size_t)size : 0);
    (void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
    close(fd);
    _exit(0);
}

static void begin_at(struct server *server, const struct sockaddr *address, socklen_t size, const char *answer)
{
    int listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in got;
    socklen_t got_size = sizeof got;
    assert_int_equal(bind(listener, address, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    if (address->sa_family == AF_INET && getsockname(listener, (struct sockaddr *)&got, &got_size) == 0)
        server->port = ntohs(got.sin_port);
    temp_join(server->heard, server->dir, "heard");
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (!server->pid)
        serve_one(listener, server->heard, answer);
    close(listener);
}

static void server_begin(struct server *server, const char *answer)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    temp_dir(server->dir);
    setenv("SONDE_SOCKET_DIR", server->dir, 1);
    assert_int_equal(agent_client_socket(address.sun_path), OK);
    begin_at(server, (const struct sockaddr *)&address, sizeof address, answer);
}

static void server_end(struct server *server)
{
    if (server->pid > 0)
        waitpid(server->pid, NULL, 0);
    temp_remove(server->dir);
    unsetenv("SONDE_SOCKET_DIR");
}

static void expect(const char *response, enum err err, int status, const char *body)
{
    struct server server;
    struct buf answer;
    int got_status;
    server_begin(&server, response);
    buf_init(&answer, 64);
    assert_int_equal(agent_client_request("", "GET", "/jobs", (struct bytes){ 0 }, &answer, &got_status), err);
    assert_int_equal(got_status, status);
    assert_string_equal(buf_text(&answer), body);
    buf_clear(&answer);
    server_end(&server);
}

static void an_answer_is_taken(void **state)
{
    (void)state;
    expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", OK, 200, "hello");
    expect("HTTP/1.1 404 Not Found\r\ncontent-length:2\r\nX: y\r\n\r\nnoMORE", OK, 404, "no");
    expect("HTTP/1.0 200 OK\r\n\r\nto the end", OK, 200, "to the end");
}

static void a_bad_answer_is_refused(void **state)
{
    (void)state;
    expect("", CORRUPT, 0, "");
    expect("SSH-2.0-OpenSSH\r\n", CORRUPT, 0, "");
    expect("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ncut", CORRUPT, 0, "");
    expect("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", CORRUPT, 0, "");
    expect("HTTP/1.1 20000 OK\r\n\r\nx", CORRUPT, 0, "");
    expect("HTTP/1.1 200 OK\r\nContent-Le", CORRUPT, 0, "");
}

static void an_answer_over_the_maximum_is_full(void **state)
{
    (void)state;
    char response[256] = "HTTP/1.1 200 OK\r\n\r\n";
    memset(response + strlen(response), 'x', 100);
    expect(response, FULL, 200, "");
}

static void the_request_is_whole(void **state)
{
    (void)state;
    struct server server;
    struct buf answer;
    int status;
    char heard[4096];
    server_begin(&server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    buf_init(&answer, 64);
    assert_int_equal(agent_client_request("", "POST", "/job", bytes_of("{\"a\": 1}"), &answer, &status), OK);
    assert_int_equal(file_read(NULL, server.heard, heard, sizeof heard, NULL), OK);
    assert_non_null(strstr(heard, "POST /job HTTP/1.1\r\n"));
    assert_non_null(strstr(heard, "\r\nHost: "));
    assert_non_null(strstr(heard, "\r\nContent-Length: 8\r\n"));
    assert_string_equal(heard + strlen(heard) - 12, "\r\n\r\n{\"a\": 1}");
    buf_clear(&answer);
    server_end(&server);
}

static void over_tcp(void **state)
{
    (void)state;
    struct server server;
    struct buf answer;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    char where[64];
    int status;
    temp_dir(server.dir);
    begin_at(&server, (const struct sockaddr *)&address, sizeof address, "HTTP/1.1 200 OK\r\n\r\nhi");
    buf_init(&answer, 64);
    snprintf(where, sizeof where, "localhost:%u", server.port);
    assert_int_equal(agent_client_request(where, "GET", "/", (struct bytes){ 0 }, &answer, &status), OK);
    assert_string_equal(buf_text(&answer), "hi");
    server_end(&server);
    assert_int_equal(agent_client_request(where, "GET", "/", (struct bytes){ 0 }, &answer, &status), ABSENT); /* it has gone */
    assert_int_equal(status, 0);
    buf_clear(&answer);
}

static void nobody_there(void **state)
{
    (void)state;
    static const char *const nonsense[] = { ":", ":80", "[::1", "[::1]x", "host:0", "host:99999", "host:x", "[]:80" };
    struct buf answer;
    int status;
    buf_init(&answer, 64);
    setenv("SONDE_SOCKET_DIR", "/nonexistent", 1);
    assert_int_equal(agent_client_request("", "GET", "/", (struct bytes){ 0 }, &answer, &status), ABSENT);
    assert_int_equal(agent_client_request("/nonexistent/x.sock", "GET", "/", (struct bytes){ 0 }, &answer, &status), ABSENT);
    agent_client_post_nowait("/job", bytes_of("{}")); /* of no consequence */
    unsetenv("SONDE_SOCKET_DIR");
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        assert_int_equal(agent_client_request(nonsense[i], "GET", "/", (struct bytes){ 0 }, &answer, &status), USAGE);
    buf_clear(&answer);
}

static void telling_does_not_wait(void **state)
{
    (void)state;
    struct server server;
    char heard[4096];
    server_begin(&server, "HTTP/1.1 200 OK\r\n\r\n");
    kill(server.pid, SIGSTOP); /* it listens and does not take anything */
    uint64_t begun_ns = clock_monotonic_ns();
    agent_client_post_nowait("/job", bytes_of("{}"));
    assert_true(clock_monotonic_ns() - begun_ns < 10 * NS_PER_S);
    kill(server.pid, SIGCONT);
    waitpid(server.pid, NULL, 0);
    server.pid = 0;
    assert_int_equal(file_read(NULL, server.heard, heard, sizeof heard, NULL), OK);
    assert_non_null(strstr(heard, "\r\n\r\n{}"));
    server_end(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_taken),
        cmocka_unit_test(a_bad_answer_is_refused),
        cmocka_unit_test(an_answer_over_the_maximum_is_full),
        cmocka_unit_test(the_request_is_whole),
        cmocka_unit_test(over_tcp),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(telling_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
