/* The sockets of wire-zmq.so against each other over loopback, with and without keys. */
#include "transport/zmq.h"

#include "base/clock.h"
#include "tools/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 60000
#define PORTS 200

static const struct zmq_module *zmq;
static struct buf message;
static char error[512];

static char server_public[ZMQ_KEY_MAX], server_secret[ZMQ_KEY_MAX], client_public[ZMQ_KEY_MAX], client_secret[ZMQ_KEY_MAX];

static int load(void **state)
{
    (void)state;
    assert_int_equal(zmq_load(&zmq, error, sizeof error), OK);
    assert_true(zmq->keypair(server_public, server_secret));
    assert_true(zmq->keypair(client_public, client_secret));
    buf_init(&message, 1 << 20);
    return 0;
}

static int unload(void **state)
{
    (void)state;
    buf_clear(&message);
    return 0;
}

/* Searches a free port, starting at one that depends on our pid. */
static void open_router(struct zmq_router **router, const struct zmq_keys *keys, const struct zmq_authorizer *gate,
                        char address[64])
{
    const char *addresses[] = { address, NULL };
    static unsigned next;
    enum err err = AGAIN;
    for (unsigned i = 0; i < PORTS && err; i++) {
        snprintf(address, 64, "tcp://127.0.0.1:%u", 20000 + ((unsigned)getpid() * 7 + next++) % 20000);
        err = zmq->router_open(router, addresses, keys, gate, error, sizeof error);
    }
    assert_int_equal(err, OK);
}

/* A dealer has no thread: it works while it is asked for messages. None are expected. */
static void drive(struct zmq_dealer *const *dealers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(zmq->dealer_next(dealers[i], &message), AGAIN);
}

static void wait_for(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    poll(&poll_fd, 1, 50); /* the descriptor may still be readable for a message already taken */
}

static void router_next(struct zmq_router *router, struct zmq_peer *peer, struct zmq_dealer *const *dealers, size_t count,
                        const char *expected)
{
    uint64_t end_ns = clock_monotonic_ns() + WAIT_MS * NS_PER_MS;
    enum err err;
    while ((err = zmq->router_next(router, peer, &message)) == AGAIN && clock_monotonic_ns() < end_ns) {
        drive(dealers, count);
        wait_for(zmq->router_fd(router));
    }
    assert_int_equal(err, OK);
    assert_string_equal(buf_text(&message), expected);
}

static void dealer_next(struct zmq_dealer *dealer, const char *expected)
{
    uint64_t end_ns = clock_monotonic_ns() + WAIT_MS * NS_PER_MS;
    enum err err;
    while ((err = zmq->dealer_next(dealer, &message)) == AGAIN && clock_monotonic_ns() < end_ns)
        wait_for(zmq->dealer_fd(dealer));
    assert_int_equal(err, OK);
    assert_string_equal(buf_text(&message), expected);
}

static bool comes_up(struct zmq_dealer *dealer)
{
    uint64_t end_ns = clock_monotonic_ns() + WAIT_MS * NS_PER_MS;
    error[0] = '\0';
    while (!zmq->dealer_is_up(dealer, error, sizeof error)) {
        if (error[0] || clock_monotonic_ns() > end_ns)
            return false;
        wait_for(zmq->dealer_fd(dealer));
        drive(&dealer, 1);
    }
    return true;
}

static bool goes_down(struct zmq_dealer *dealer)
{
    uint64_t end_ns = clock_monotonic_ns() + WAIT_MS * NS_PER_MS;
    while (zmq->dealer_is_up(dealer, error, sizeof error) && clock_monotonic_ns() < end_ns) {
        wait_for(zmq->dealer_fd(dealer));
        drive(&dealer, 1);
    }
    return error[0] != '\0';
}

static void there_and_back(struct zmq_router *router, struct zmq_dealer *dealer, struct zmq_peer *peer)
{
    assert_int_equal(zmq->dealer_send(dealer, bytes_of("hello")), OK);
    router_next(router, peer, &dealer, 1, "hello");
    assert_string_equal(peer->address, "127.0.0.1");
    assert_int_equal(zmq->router_send(router, peer, bytes_of("welcome")), OK);
    dealer_next(dealer, "welcome");
}

static void without_keys(void **state)
{
    (void)state;
    struct zmq_router *router;
    struct zmq_dealer *dealer;
    struct zmq_peer peer;
    char address[64];
    open_router(&router, NULL, NULL, address);
    assert_int_equal(zmq->dealer_open(&dealer, address, NULL, error, sizeof error), OK);
    there_and_back(router, dealer, &peer);
    assert_true(comes_up(dealer));
    assert_string_equal(peer.key, "");
    assert_int_equal(zmq->router_next(router, &peer, &message), AGAIN);
    zmq->router_close(&router);
    assert_null(router);
    assert_true(goes_down(dealer));
    assert_string_equal(error, "it closed the connection");
    zmq->dealer_close(&dealer);
    assert_null(dealer);
}

static void a_disconnected_peer_is_reported(void **state)
{
    (void)state;
    struct zmq_router *router;
    struct zmq_dealer *dealer;
    struct zmq_peer peer;
    char address[64];
    open_router(&router, NULL, NULL, address);
    assert_int_equal(zmq->dealer_open(&dealer, address, NULL, error, sizeof error), OK);
    there_and_back(router, dealer, &peer);
    zmq->dealer_close(&dealer);
    uint64_t end_ns = clock_monotonic_ns() + WAIT_MS * NS_PER_MS;
    enum err err;
    while ((err = zmq->router_send(router, &peer, bytes_of("more"))) != GONE && clock_monotonic_ns() < end_ns) {
        struct zmq_peer nobody;
        assert_int_equal(zmq->router_next(router, &nobody, &message), AGAIN);
        wait_for(zmq->router_fd(router));
    }
    assert_int_equal(err, GONE);
    zmq->router_close(&router);
}

struct gate_seen {
    int asked;
    char key[ZMQ_KEY_MAX], address[64];
    bool authorize, had_key;
};

static bool gate_allows(void *context, const char *public_key, const char *address, char name[256])
{
    struct gate_seen *seen = context;
    seen->had_key = public_key != NULL;
    snprintf(seen->key, sizeof seen->key, "%s", public_key ? public_key : "");
    snprintf(seen->address, sizeof seen->address, "%s", address);
    snprintf(name, 256, "node 17");
    __atomic_add_fetch(&seen->asked, 1, __ATOMIC_SEQ_CST);
    return seen->authorize;
}

static void with_keys(void **state)
{
    (void)state;
    struct zmq_router *router;
    struct zmq_dealer *dealer;
    struct zmq_peer peer;
    struct gate_seen seen = { .authorize = true };
    struct zmq_authorizer gate = { gate_allows, &seen };
    struct zmq_keys ours = { .public_key = client_public, .secret_key = client_secret, .server_key = server_public };
    struct zmq_keys its = { .public_key = server_public, .secret_key = server_secret };
    char address[64];
    open_router(&router, &its, &gate, address);
    assert_int_equal(zmq->dealer_open(&dealer, address, &ours, error, sizeof error), OK);
    there_and_back(router, dealer, &peer);
    assert_int_equal(seen.asked, 1);
    assert_string_equal(seen.key, client_public);
    assert_string_equal(seen.address, "127.0.0.1");
    assert_string_equal(peer.name, "node 17");
    assert_string_equal(peer.key, client_public);
    zmq->dealer_close(&dealer);
    zmq->router_close(&router);
}

static void an_unauthorized_peer_is_rejected(void **state)
{
    (void)state;
    struct zmq_router *router;
    struct zmq_dealer *dealer;
    struct zmq_peer peer;
    struct gate_seen seen = { .authorize = false };
    struct zmq_authorizer gate = { gate_allows, &seen };
    struct zmq_keys ours = { .public_key = client_public, .secret_key = client_secret, .server_key = server_public };
    struct zmq_keys its = { .public_key = server_public, .secret_key = server_secret };
    char address[64];
    open_router(&router, &its, &gate, address);
    assert_int_equal(zmq->dealer_open(&dealer, address, &ours, error, sizeof error), OK);
    assert_int_equal(zmq->dealer_send(dealer, bytes_of("hello")), OK);
    assert_false(comes_up(dealer));
    assert_non_null(strstr(error, "does not authorize our key"));
    assert_int_equal(zmq->router_next(router, &peer, &message), AGAIN);
    zmq->dealer_close(&dealer);
    zmq->router_close(&router);
}

/* A dealer with these keys must be rejected. */
static void refuse(const struct zmq_keys *keys)
{
    struct zmq_router *router;
    struct zmq_dealer *dealer;
    struct zmq_peer peer;
    struct gate_seen seen = { .authorize = true };
    struct zmq_authorizer gate = { gate_allows, &seen };
    struct zmq_keys its = { .public_key = server_public, .secret_key = server_secret };
    char address[64];
    open_router(&router, &its, &gate, address);
    assert_int_equal(zmq->dealer_open(&dealer, address, keys, error, sizeof error), OK);
    assert_int_equal(zmq->dealer_send(dealer, bytes_of("hello")), OK);
    assert_false(comes_up(dealer));
    assert_string_not_equal(error, "");
    assert_int_equal(zmq->router_next(router, &peer, &message), AGAIN);
    assert_int_equal(seen.asked, 0);
    zmq->dealer_close(&dealer);
    zmq->router_close(&router);
}

static void no_key_and_a_wrong_server_key(void **state)
{
    (void)state;
    struct zmq_keys wrong = { .public_key = client_public, .secret_key = client_secret, .server_key = client_public };
    refuse(NULL);
    refuse(&wrong);
}

static void the_authorizer_is_called_without_keys_too(void **state)
{
    (void)state;
    struct zmq_router *router;
    struct zmq_dealer *dealer;
    struct zmq_peer peer;
    struct gate_seen seen = { .authorize = true };
    struct zmq_authorizer gate = { gate_allows, &seen };
    char address[64];
    open_router(&router, NULL, &gate, address);
    assert_int_equal(zmq->dealer_open(&dealer, address, NULL, error, sizeof error), OK);
    there_and_back(router, dealer, &peer);
    assert_int_equal(seen.asked, 1);
    assert_false(seen.had_key);
    assert_string_equal(peer.name, "node 17");
    assert_string_equal(peer.key, "");
    zmq->dealer_close(&dealer);
    zmq->router_close(&router);
}

static void no_server(void **state)
{
    (void)state;
    struct zmq_router *router;
    struct zmq_dealer *dealer;
    char address[64];
    open_router(&router, NULL, NULL, address);
    zmq->router_close(&router);
    assert_int_equal(zmq->dealer_open(&dealer, address, NULL, error, sizeof error), OK);
    assert_false(comes_up(dealer));
    assert_string_equal(error, "connection failed");
    zmq->dealer_close(&dealer);
    assert_int_equal(zmq->dealer_open(&dealer, "tcp://no-such-host.invalid:5555", NULL, error, sizeof error), ABSENT);
    assert_non_null(strstr(error, "cannot resolve host name no-such-host.invalid"));
    assert_null(dealer);
}

static void invalid_addresses_and_keys(void **state)
{
    (void)state;
    struct zmq_router *router;
    struct zmq_dealer *dealer;
    struct zmq_keys keys = { .public_key = "short", .secret_key = client_secret, .server_key = server_public };
    const char *const bad[] = { "tcp:/nonsense", NULL };
    assert_int_equal(zmq->dealer_open(&dealer, "tcp:/nonsense", NULL, error, sizeof error), USAGE);
    assert_null(dealer);
    assert_int_equal(zmq->dealer_open(&dealer, "tcp://127.0.0.1:1", &keys, error, sizeof error), USAGE);
    assert_non_null(strstr(error, "sonde keygen"));
    assert_int_equal(zmq->router_open(&router, bad, NULL, NULL, error, sizeof error), USAGE);
    assert_non_null(strstr(error, "tcp:/nonsense"));
    assert_null(router);
    const char *const any[] = { "tcp://127.0.0.1:*", NULL };
    assert_int_equal(zmq->router_open(&router, any, NULL, NULL, error, sizeof error), OK);
    zmq->router_close(&router);
}

static void push_and_pull(void **state)
{
    (void)state;
    struct zmq_pull *pull;
    struct zmq_push *push;
    char address[64];
    enum err err = AGAIN;
    for (unsigned i = 0; i < PORTS && err; i++) {
        snprintf(address, sizeof address, "tcp://127.0.0.1:%u", 40000 + ((unsigned)getpid() * 7 + i) % 20000);
        err = zmq->pull_open(&pull, address, error, sizeof error);
    }
    assert_int_equal(err, OK);
    assert_int_equal(zmq->push_open(&push, address, 3, error, sizeof error), OK);
    assert_int_equal(zmq->push_send(push, bytes_of("one")), OK);
    uint64_t end_ns = clock_monotonic_ns() + WAIT_MS * NS_PER_MS;
    while ((err = zmq->pull_next(pull, &message)) == AGAIN && clock_monotonic_ns() < end_ns)
        wait_for(zmq->pull_fd(pull));
    assert_int_equal(err, OK);
    assert_string_equal(buf_text(&message), "one");
    zmq->pull_close(&pull);
    zmq->push_close(&push, 0);
    assert_int_equal(zmq->push_open(&push, "tcp://127.0.0.1:9", 3, error, sizeof error), OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(zmq->push_send(push, bytes_of("x")), OK);
    assert_int_equal(zmq->push_send(push, bytes_of("x")), AGAIN);
    zmq->push_close(&push, 50);
    assert_null(push);
}

static void many_dealers(void **state)
{
    (void)state;
    enum { COUNT = 400 };
    static struct zmq_dealer *dealers[COUNT];
    struct zmq_router *router;
    struct zmq_peer peer;
    char address[64];
    open_router(&router, NULL, NULL, address);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(zmq->dealer_open(&dealers[i], address, NULL, error, sizeof error), OK);
        assert_int_equal(zmq->dealer_send(dealers[i], bytes_of("hello")), OK);
    }
    for (int i = 0; i < COUNT; i++)
        router_next(router, &peer, dealers, COUNT, "hello");
    for (int i = 0; i < COUNT; i++)
        zmq->dealer_close(&dealers[i]);
    zmq->router_close(&router);
}

/* Connections of one address that do nothing: beyond a number the oldest is closed, and others are served. */
static void silent_connections_are_bounded(void **state)
{
    (void)state;
    enum { COUNT = 4300, MAX = 4096 };
    static int silent[COUNT];
    struct rlimit limit = { 16384, 16384 };
    struct zmq_router *router;
    struct zmq_dealer *dealer;
    struct zmq_peer peer;
    char address[64], greeting[64];
    if (setrlimit(RLIMIT_NOFILE, &limit))
        skip();
    open_router(&router, NULL, NULL, address);
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) },
                              .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)) };
    for (int i = 0; i < COUNT; i++) {
        silent[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(silent[i], (struct sockaddr *)&to, sizeof to), 0);
        assert_true(recv(silent[i], greeting, sizeof greeting, 0) > 0);
    }
    while (recv(silent[0], greeting, sizeof greeting, 0) > 0)
        continue; /* until it is closed */
    assert_int_equal(zmq->dealer_open(&dealer, address, NULL, error, sizeof error), OK);
    assert_int_equal(zmq->dealer_send(dealer, bytes_of("hello")), OK);
    router_next(router, &peer, &dealer, 1, "hello");
    int open = 0;
    for (int i = 0; i < COUNT; i++) {
        open += recv(silent[i], greeting, sizeof greeting, MSG_DONTWAIT) < 0 && errno == EAGAIN;
        close(silent[i]);
    }
    assert_in_range(open, 3900, MAX);
    zmq->dealer_close(&dealer);
    zmq->router_close(&router);
}

/* The collector does not read: the dealer accepts what fits in buffers, and continues when there is room again. */
static void a_slow_router(void **state)
{
    (void)state;
    static char large[200000];
    struct zmq_router *router;
    struct zmq_dealer *dealer;
    struct zmq_peer peer;
    char address[64];
    unsigned sent = 0, received = 0;
    struct zmq_keys ours = { .public_key = client_public, .secret_key = client_secret, .server_key = server_public };
    struct zmq_keys its = { .public_key = server_public, .secret_key = server_secret };
    open_router(&router, &its, NULL, address);
    assert_int_equal(zmq->dealer_open(&dealer, address, &ours, error, sizeof error), OK);
    assert_true(comes_up(dealer));
    memset(large, 'x', sizeof large);
    uint64_t end_ns = clock_monotonic_ns() + WAIT_MS * NS_PER_MS;
    while (received < 400 && clock_monotonic_ns() < end_ns) {
        while (sent < 400 && zmq->dealer_send(dealer, (struct bytes){ large, sizeof large - sent }) == OK)
            sent++;
        drive(&dealer, 1);
        while (zmq->router_next(router, &peer, &message) == OK)
            assert_int_equal(message.size, sizeof large - received++);
    }
    assert_int_equal(received, 400);
    zmq->dealer_close(&dealer);
    zmq->router_close(&router);
}

static void a_public_key_from_its_secret_one(void **state)
{
    (void)state;
    char key[ZMQ_KEY_MAX];
    assert_true(zmq->public_of(client_secret, key));
    assert_string_equal(key, client_public);
    assert_false(zmq->public_of("no", key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_keys),
        cmocka_unit_test(a_disconnected_peer_is_reported),
        cmocka_unit_test(with_keys),
        cmocka_unit_test(an_unauthorized_peer_is_rejected),
        cmocka_unit_test(no_key_and_a_wrong_server_key),
        cmocka_unit_test(the_authorizer_is_called_without_keys_too),
        cmocka_unit_test(no_server),
        cmocka_unit_test(invalid_addresses_and_keys),
        cmocka_unit_test(push_and_pull),
        cmocka_unit_test(many_dealers),
        cmocka_unit_test(silent_connections_are_bounded),
        cmocka_unit_test(a_slow_router),
        cmocka_unit_test(a_public_key_from_its_secret_one),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
