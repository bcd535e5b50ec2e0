/* Our CURVE server and libzmq's ROUTER serve the same clients, honest and hostile: each seed of the fuzzer and many mutations of
 * it. Ours refuses whatever libzmq refuses, accepts every honest client, and delivers the same messages. */
#include "fuzz/mutate.h"
#include "tools/curve_script.h"
#include "tools/unit.h"
#include "transport/zmq.h"
#include "transport/zmtp.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#define MUTATIONS 30
#define QUIET_MS 150       /* libzmq has not answered and will not */
#define PATIENCE_MS 20000  /* it will: ours has answered, or a message was acknowledged */

static struct curve_pair pair;

/* Ours, in memory. */
struct our_side {
    struct zmtp_server server;
    struct zmtp peer;
    struct buf delivered;
};

static bool authorize(void *context, struct zmtp *peer, const uint8_t *public_key)
{
    (void)context, (void)peer;
    return public_key != NULL;
}

static enum err take(void *context, struct zmtp *peer, struct bytes message)
{
    struct our_side *side = context;
    (void)peer;
    buf_add(&side->delivered, message.data, message.size);
    buf_add_char(&side->delivered, '\n');
    return OK;
}

static bool exchange_ours(void *context, struct bytes out, struct buf *in)
{
    struct our_side *side = context;
    return zmtp_receive(&side->server, &side->peer, out, in) == OK;
}

static void run_ours(struct bytes input, struct buf *log, struct buf *delivered)
{
    struct our_side side;
    struct curve_script script;
    struct buf greeting;
    assert_true(zmtp_server_init(&side.server, 4096));
    side.server.keys = &pair;
    side.server.authorize = authorize;
    side.server.take = take;
    side.server.context = &side;
    buf_init(&side.delivered, 1 << 20);
    buf_init(&greeting, 64);
    zmtp_init(&side.peer, &side.server, &greeting);
    script_init(&script, pair.public_key, (struct curve_server_side){ exchange_ours, &side });
    script_run(&script, input);
    buf_add(log, script.log.data, script.log.size);
    buf_add(delivered, side.delivered.data, side.delivered.size);
    script_clear(&script);
    zmtp_clear(&side.peer);
    zmtp_server_clear(&side.server);
    buf_clear(&side.delivered);
    buf_clear(&greeting);
}

/* libzmq's, over TCP. */
struct their_side {
    void *context, *router;
    uint16_t port;
    int fd;
    size_t greeting;      /* bytes of it still to be read */
    const char *expected; /* our server's answers from here on */
};

static void open_theirs(struct their_side *side)
{
    int server = 1, any = 0;
    char endpoint[64];
    size_t size = sizeof endpoint;
    *side = (struct their_side){ .context = zmq_ctx_new() };
    side->router = zmq_socket(side->context, ZMQ_ROUTER);
    zmq_setsockopt(side->router, ZMQ_CURVE_SERVER, &server, sizeof server);
    zmq_setsockopt(side->router, ZMQ_CURVE_SECRETKEY, pair.secret_key, CURVE_KEY);
    zmq_setsockopt(side->router, ZMQ_LINGER, &any, sizeof any);
    assert_int_equal(zmq_bind(side->router, "tcp://127.0.0.1:*"), 0);
    assert_int_equal(zmq_getsockopt(side->router, ZMQ_LAST_ENDPOINT, endpoint, &size), 0);
    side->port = (uint16_t)strtoul(strrchr(endpoint, ':') + 1, NULL, 10);
}

static void close_theirs(struct their_side *side)
{
    zmq_close(side->router);
    zmq_ctx_term(side->context);
}

static void connect_theirs(struct their_side *side)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(side->port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    side->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    side->greeting = 64;
    assert_int_equal(connect(side->fd, (struct sockaddr *)&address, sizeof address), 0);
}

/* Size of the first frame in data, 0: incomplete. */
static size_t frame_size(const char *data, size_t size)
{
    size_t head = size && data[0] & 2 ? 9 : 2;
    if (size < head)
        return 0;
    size_t body = head == 9 ? (size_t)(uint8_t)data[7] << 8 | (uint8_t)data[8] : (uint8_t)data[1];
    return size < head + body ? 0 : head + body;
}

/* Reads until there is one whole frame. libzmq answers every command or closes the connection; only raw frames may go without
 * an answer. */
static bool exchange_theirs(void *context, struct bytes out, struct buf *in)
{
    struct their_side *side = context;
    char piece[4096];
    int wait_ms = *side->expected == '-' ? QUIET_MS : PATIENCE_MS;
    side->expected += *side->expected != '\0';
    if (send(side->fd, out.data, out.size, MSG_NOSIGNAL) < 0)
        return false;
    for (;;) {
        struct pollfd ready = { .fd = side->fd, .events = POLLIN };
        if (frame_size(in->data, in->size))
            return true;
        if (poll(&ready, 1, wait_ms) <= 0)
            return true;
        ssize_t got = recv(side->fd, piece, side->greeting ? side->greeting : sizeof piece, 0);
        if (got <= 0)
            return false;
        if (side->greeting)
            side->greeting -= (size_t)got;
        else
            buf_add(in, piece, (size_t)got);
    }
}

/* One message from the ROUTER: its identity and parts. */
static void read_message(struct their_side *side, struct buf *delivered)
{
    char part[4096];
    int more = 1;
    size_t more_size = sizeof more;
    for (bool is_identity = true; more; is_identity = false) {
        int size = zmq_recv(side->router, part, sizeof part, 0);
        assert_true(size >= 0);
        if (!is_identity)
            buf_add(delivered, part, (size_t)size);
        zmq_getsockopt(side->router, ZMQ_RCVMORE, &more, &more_size);
    }
    buf_add_char(delivered, '\n');
}

/* Reads messages until they are as many bytes as expected and no more are there. */
static void read_theirs(struct their_side *side, size_t expected, struct buf *delivered)
{
    zmq_pollitem_t item = { .socket = side->router, .events = ZMQ_POLLIN };
    while (zmq_poll(&item, 1, delivered->size < expected ? PATIENCE_MS : 0) > 0)
        read_message(side, delivered);
}

static void run_theirs(struct bytes input, const char *expected, size_t expected_bytes, struct buf *log, struct buf *delivered)
{
    struct their_side side;
    struct curve_script script;
    open_theirs(&side);
    connect_theirs(&side);
    side.expected = expected;
    script_init(&script, pair.public_key, (struct curve_server_side){ exchange_theirs, &side });
    script_run(&script, input);
    buf_add(log, script.log.data, script.log.size);
    read_theirs(&side, expected_bytes, delivered);
    script_clear(&script);
    close(side.fd);
    close_theirs(&side);
}

/* Ours may close a connection that libzmq keeps, because it demands a socket type it can talk to. */
static bool is_stricter(const char *ours, const char *theirs)
{
    size_t same = 0;
    while (ours[same] && ours[same] == theirs[same])
        same++;
    return ours[same] == 'C' && theirs[same] == 'R';
}

struct tally {
    int same, stricter, messages;
};

static void compare(struct bytes input, const char *name, struct tally *tally)
{
    struct buf log[2], delivered[2];
    for (int i = 0; i < 2; i++) {
        buf_init(&log[i], 1 << 20);
        buf_init(&delivered[i], 1 << 20);
    }
    run_ours(input, &log[0], &delivered[0]);
    run_theirs(input, buf_text(&log[0]), delivered[0].size, &log[1], &delivered[1]);
    if (is_stricter(buf_text(&log[0]), buf_text(&log[1]))) {
        tally->stricter++;
    } else {
        if (strcmp(buf_text(&log[0]), buf_text(&log[1])) != 0)
            print_message("a mutation of %s\n", name);
        assert_string_equal(buf_text(&log[0]), buf_text(&log[1]));
        assert_int_equal(delivered[0].size, delivered[1].size);
        assert_true(!delivered[0].size || memcmp(delivered[0].data, delivered[1].data, delivered[0].size) == 0);
        tally->same++;
        tally->messages += delivered[0].size > 0;
    }
    for (int i = 0; i < 2; i++) {
        buf_clear(&log[i]);
        buf_clear(&delivered[i]);
    }
}

static void the_same_clients(void **state)
{
    (void)state;
    struct tally tally = { 0 };
    static uint8_t seed[4096], input[8192];
    crypto_box_keypair(pair.public_key, pair.secret_key);
    DIR *dir = opendir(SEEDS);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)); ) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", SEEDS, entry->d_name);
        FILE *file = fopen(path, "re");
        size_t size = fread(seed, 1, sizeof seed, file);
        uint64_t random = 0x9e3779b97f4a7c15ull + size;
        fclose(file);
        compare((struct bytes){ (char *)seed + 1, size - 1 }, entry->d_name, &tally);
        for (int i = 0; i < MUTATIONS; i++) {
            memcpy(input, seed, size);
            size_t mutated = mutate(&random, input, size, 4096);
            if (mutated)
                compare((struct bytes){ (char *)input + 1, mutated - 1 }, entry->d_name, &tally);
        }
    }
    closedir(dir);
    print_message("%d alike, %d of them with messages; ours stricter: %d\n", tally.same, tally.messages, tally.stricter);
    assert_true(tally.messages > 50); /* the scripts do reach an open connection */
}

/* Our DEALER with libzmq's ROUTER: a message up, a reply down. */
static void our_dealer(void **state)
{
    (void)state;
    struct their_side side;
    struct zmq_dealer *dealer;
    struct curve_pair client;
    char server_key[41], public_key[41], secret_key[41], address[64], error[256], part[64];
    struct zmq_keys keys = { public_key, secret_key, server_key };
    struct buf message;
    const struct zmq_module *zmq;
    int size = 0;
    assert_int_equal(zmq_load(&zmq, error, sizeof error), OK);
    crypto_box_keypair(pair.public_key, pair.secret_key);
    crypto_box_keypair(client.public_key, client.secret_key);
    zmq_z85_encode(server_key, pair.public_key, CURVE_KEY);
    zmq_z85_encode(public_key, client.public_key, CURVE_KEY);
    zmq_z85_encode(secret_key, client.secret_key, CURVE_KEY);
    open_theirs(&side);
    buf_init(&message, 4096);
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", side.port);
    assert_int_equal(zmq->dealer_open(&dealer, address, &keys, error, sizeof error), OK);
    assert_int_equal(zmq->dealer_send(dealer, bytes_of("up")), OK);
    zmq_pollitem_t item = { .socket = side.router, .events = ZMQ_POLLIN };
    for (int tries = 0; tries < 500 && zmq_poll(&item, 1, 10) == 0; tries++)
        assert_int_equal(zmq->dealer_next(dealer, &message), AGAIN);
    assert_true((size = zmq_recv(side.router, part, sizeof part, ZMQ_DONTWAIT)) > 0);
    zmq_send(side.router, part, (size_t)size, ZMQ_SNDMORE);
    assert_int_equal(zmq_recv(side.router, part, sizeof part, 0), 2);
    zmq_send(side.router, "do", 2, ZMQ_SNDMORE);
    zmq_send(side.router, "wn", 2, 0);
    enum err err = AGAIN;
    for (int tries = 0; tries < 500 && err == AGAIN; tries++) {
        struct pollfd ready = { .fd = zmq->dealer_fd(dealer), .events = POLLIN };
        poll(&ready, 1, 10);
        err = zmq->dealer_next(dealer, &message);
    }
    assert_int_equal(err, OK);
    assert_string_equal(buf_text(&message), "down");
    zmq->dealer_close(&dealer);
    buf_clear(&message);
    close_theirs(&side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_dealer),
        cmocka_unit_test(the_same_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
