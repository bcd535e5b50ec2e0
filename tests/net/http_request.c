/* Valid and invalid request heads. */
#include "tools/unit.h"

#include "net/http_request.h"

static int status_of(const char *text, struct http_request *request)
{
    int status = 0;
    enum err err = http_request_parse(bytes_of(text), request, &status);
    return err == OK ? 200 : err == AGAIN ? 0 : status;
}

static void a_request_of_curl_is_parsed(void **state)
{
    (void)state;
    struct http_request r;
    const char *text = "GET /metrics?a=b HTTP/1.1\r\nHost: localhost:1337\r\nUser-Agent: curl\r\n"
                       "Accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n\r\nGET";
    assert_int_equal(status_of(text, &r), 200);
    assert_int_equal(r.method, HTTP_GET);
    assert_bytes(r.path, "/metrics");
    assert_bytes(r.query, "a=b");
    assert_bytes(r.accept, "application/openmetrics-text;version=1.0.0,*/*;q=0.1");
    assert_true(r.keep_alive);
    assert_int_equal(r.body_size, 0);
    assert_int_equal(r.head_size, strlen(text) - 3);
}

static void incomplete_requests_are_continued(void **state)
{
    (void)state;
    struct http_request r;
    const char *text = "\r\nPOST /ctl HTTP/1.1\r\nhost: x\r\ncontent-length: 12\r\nExpect: 100-continue\r\n\r\n";
    char part[128];
    for (size_t i = 0; i < strlen(text); i++) {
        snprintf(part, sizeof part, "%.*s", (int)i, text);
        assert_int_equal(status_of(part, &r), 0);
    }
    assert_int_equal(status_of(text, &r), 200);
    assert_int_equal(r.method, HTTP_POST);
    assert_int_equal(r.body_size, 12);
    assert_true(r.expects_continue);
}

static void keep_alive_follows_version_and_header(void **state)
{
    (void)state;
    struct http_request r;
    assert_int_equal(status_of("GET / HTTP/1.0\r\n\r\n", &r), 200);
    assert_false(r.keep_alive);
    assert_int_equal(status_of("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", &r), 200);
    assert_true(r.keep_alive);
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, Close\r\n\r\n", &r), 200);
    assert_false(r.keep_alive);
}

static void absolute_targets_are_accepted(void **state)
{
    (void)state;
    struct http_request r;
    assert_int_equal(status_of("GET http://node1:1337/jobs HTTP/1.1\r\nHost: a\r\n\r\n", &r), 200);
    assert_bytes(r.path, "/jobs");
    assert_int_equal(status_of("GET http://node1 HTTP/1.1\r\nHost: a\r\n\r\n", &r), 200);
    assert_bytes(r.path, "/");
}

static void invalid_requests_are_rejected(void **state)
{
    (void)state;
    static const struct { int status; const char *text; } bad[] = {
        { 400, "nonsense\r\n" },
        { 400, "\x16\x03\x01\x02\r\n" },
        { 400, "GET\r\n" },
        { 400, "GET / \r\n" },
        { 400, "GET  / HTTP/1.1\r\n" },
        { 400, "GET / HTTP/1.1 x\r\n" },
        { 400, "GET metrics HTTP/1.1\r\n" },
        { 400, "GET /\x01 HTTP/1.1\r\n" },
        { 400, "G(T / HTTP/1.1\r\n" },
        { 400, "GET / HTTP/1.1\r\n\r\n" },
        { 400, "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n" },
        { 400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n" },
        { 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n" },
        { 400, "GET / HTTP/1.1\r\nno colon\r\n\r\n" },
        { 400, "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n" },
        { 400, "POST / HTTP/1.1\r\nContent-Length: -1\r\n" },
        { 400, "POST / HTTP/1.1\r\nContent-Length:\r\n" },
        { 411, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" },
        { 413, "POST / HTTP/1.1\r\nContent-Length: 65537\r\n" },
        { 413, "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999999\r\n" },
        { 505, "GET / HTTP/2.0\r\n" },
        { 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
    };
    struct http_request r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (status_of(bad[i].text, &r) != bad[i].status)
            fail_msg("%s: %d, not %d", bad[i].text, status_of(bad[i].text, &r), bad[i].status);
}

static void the_size_of_a_head_is_limited(void **state)
{
    (void)state;
    struct http_request r;
    char *text = calloc(1, HTTP_HEAD_MAX + 200);
    memset(text, 'a', HTTP_HEAD_MAX);
    assert_int_equal(status_of(text, &r), 431);
    text[HTTP_HEAD_MAX - 1] = '\0';
    assert_int_equal(status_of(text, &r), 0);
    int size = snprintf(text, HTTP_HEAD_MAX, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    memset(text + size, 'x', HTTP_HEAD_MAX);
    snprintf(text + HTTP_HEAD_MAX, 10, "\r\n\r\n");
    assert_int_equal(status_of(text, &r), 431);
    free(text);
}

static void items_are_found_in_lists(void **state)
{
    (void)state;
    assert_true(http_request_has_item(bytes_of("a , Close;q=1"), "close"));
    assert_false(http_request_has_item(bytes_of("closed, xclose"), "close"));
    assert_false(http_request_has_item((struct bytes){ NULL, 0 }, "close"));
}

static bool is_for(const char *host) { return http_request_is_for(bytes_of(host), "node7.cluster.example"); }

static void host_of_another_domain_is_not_ours(void **state)
{
    (void)state;
    static const char *const ours[] = { "", "localhost", "localhost:1337", "127.0.0.1:1337", "[::1]:1337", "[fe80::1%eth0]",
                                        "node7",
                                        "NODE7.other.example:9100", "node7.cluster.example", "login", "10.0.0.7" };
    static const char *const others[] = { "evil.example", "evil.example:1337", "node77.example", "127.0.0.1.evil.example",
                                          "evil.example.", "xnode7.cluster.example", "1.2.3.evil" };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        assert_true(is_for(ours[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(is_for(others[i]));
    struct http_request r;
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", &r), 200);
    assert_bytes(r.host, "evil.example");
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", &r), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_of_another_domain_is_not_ours),
        cmocka_unit_test(a_request_of_curl_is_parsed), cmocka_unit_test(incomplete_requests_are_continued),
        cmocka_unit_test(keep_alive_follows_version_and_header),   cmocka_unit_test(absolute_targets_are_accepted),
        cmocka_unit_test(invalid_requests_are_rejected),               cmocka_unit_test(the_size_of_a_head_is_limited),
        cmocka_unit_test(items_are_found_in_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
