/* An agent by hand, for scenes: wire_talk ADDRESS [KEY-FILE SERVER-KEY]. Lines of standard input say what it sends, and what
 * the collector answers is printed, one line each:
 *   hello HOST MIN MAX INSTANCE   open N HOST STREAM   state N   record N SEQUENCE   ping
 *   send KIND VERSION TEXT        noise TEXT           again (the same bytes once more)
 *   receive SECONDS               (prints what comes in that time, but stops after the first that is no acknowledgement)
 *   until SECONDS                 (waits for the acknowledgement of all that was sent) */
#include "base/clock.h"
#include "transport/keys.h"
#include "transport/message.h"
#include "model/pack.h"
#include "journal/stream.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct metric metrics[] = { { "count", "1", COUNTER, U64, "how often" } };
static const struct set set = { "numbers", metrics, 1 };

struct talk {
    const struct zmq_module *zmq;
    struct zmq_dealer *dealer;
    struct delta_stream *stream;
    struct buf body, out, in, plain;
    uint64_t number, acked;
};

static void fail(const char *what)
{
    fprintf(stderr, "wire_talk: %s\n", what);
    exit(2);
}

static void send_bytes(struct talk *talk)
{
    if (talk->zmq->dealer_send(talk->dealer, (struct bytes){ talk->out.data, talk->out.size }))
        fail("it cannot be sent");
}

static void send_message(struct talk *talk, uint8_t version, unsigned kind)
{
    struct message message = { .version = version, .kind = (enum message_kind)kind, .number = ++talk->number,
                               .body = { talk->body.data, talk->body.size } };
    buf_reset(&talk->out);
    message_write(&talk->out, &message, true);
    send_bytes(talk);
}

static void add_number(struct talk *talk, uint64_t number)
{
    uint8_t room[PACK_NUMBER_MAX];
    struct packer packer = { room, room + sizeof room, false };
    pack_number(&packer, number);
    buf_add(&talk->body, room, (size_t)(packer.at - room));
}

static void add_record(struct talk *talk, uint64_t sequence)
{
    struct batch batch;
    batch_init(&batch);
    sample_set_u64(batch_add(&batch, &set, clock_realtime_ns(), ""), 0, sequence);
    if (stream_encode(talk->stream, &batch, &talk->body))
        fail("a record cannot be made");
    batch_clear(&batch);
}

static void say_hello(struct talk *talk, char **words)
{
    struct message_hello hello = {
        .host = bytes_of(words[1]), .software = bytes_of("by hand"), .version_min = strtoull(words[2], NULL, 10),
        .version_max = strtoull(words[3], NULL, 10), .role = bytes_of("agent"), .instance = strtoull(words[4], NULL, 10),
        .time_ns = clock_realtime_ns(),
    };
    message_write_hello(&talk->body, &hello);
    send_message(talk, MESSAGE_VERSION, MESSAGE_HELLO);
}

static void say_open(struct talk *talk, char **words)
{
    struct message_open open = { .number = strtoull(words[1], NULL, 10), .host = bytes_of(words[2]),
                                 .stream = strtoull(words[3], NULL, 10) };
    message_write_open(&talk->body, &open);
    send_message(talk, MESSAGE_VERSION, MESSAGE_OPEN);
}

/* True: it was more than an acknowledgement. */
static bool print_message(struct talk *talk, const struct message *message)
{
    struct message_welcome welcome;
    struct message_cannot cannot;
    struct message_refuse refuse;
    struct unpacker unpacker = { (const uint8_t *)message->body.data,
                                 (const uint8_t *)message->body.data + message->body.size, false };
    switch (message->kind) {
    case MESSAGE_ACK: talk->acked = unpack_number(&unpacker); return false;
    case MESSAGE_WELCOME:
        if (!message_read_welcome(message->body, &welcome))
            printf("welcome %llu\n", (unsigned long long)welcome.version);
        break;
    case MESSAGE_CANNOT:
        if (!message_read_cannot(message->body, &cannot))
            printf("cannot %llu %llu %.*s\n", (unsigned long long)cannot.kind, (unsigned long long)cannot.version,
                   (int)cannot.error.size, cannot.error.data);
        break;
    case MESSAGE_REFUSE:
        if (!message_read_refuse(message->body, &refuse))
            printf("refuse %.*s\n", (int)refuse.error.size, refuse.error.data);
        break;
    default: printf("kind %u\n", (unsigned)message->kind);
    }
    (void)talk;
    return true;
}

static void receive(struct talk *talk, double seconds, bool until_acked)
{
    uint64_t end_ns = clock_monotonic_ns() + (uint64_t)(seconds * (double)NS_PER_S);
    bool is_enough = false;
    char why[256] = "";
    while (!is_enough && clock_monotonic_ns() < end_ns && !why[0]) {
        struct pollfd fd = { .fd = talk->zmq->dealer_fd(talk->dealer), .events = POLLIN };
        struct message message;
        while (!is_enough && !talk->zmq->dealer_next(talk->dealer, &talk->in))
            if (!message_read((struct bytes){ talk->in.data, talk->in.size }, &message, &talk->plain))
                is_enough = print_message(talk, &message) && !until_acked;
        is_enough |= until_acked && talk->acked >= talk->number;
        talk->zmq->dealer_is_up(talk->dealer, why, sizeof why);
        if (!is_enough)
            poll(&fd, 1, 20);
    }
    if (why[0])
        printf("down: %s\n", why);
    else if (until_acked)
        printf(is_enough ? "all acknowledged\n" : "acknowledged to %llu of %llu\n", (unsigned long long)talk->acked,
               (unsigned long long)talk->number);
    else if (!is_enough)
        printf("nothing\n");
    fflush(stdout);
}

static void obey(struct talk *talk, char *line)
{
    char *words[5] = { "", "", "", "", "" }, *rest = line;
    for (int i = 0; i < 5 && (words[i] = strsep(&rest, " ")); i++)
        if (!strcmp(words[0], "noise") || (!strcmp(words[0], "send") && i == 2))
            break;
    for (int i = 0; i < 5; i++)
        words[i] = words[i] ? words[i] : "";
    buf_reset(&talk->body);
    if (!strcmp(words[0], "hello"))
        say_hello(talk, words);
    else if (!strcmp(words[0], "open"))
        say_open(talk, words);
    else if (!strcmp(words[0], "state")) {
        add_number(talk, strtoull(words[1], NULL, 10));
        stream_snapshot(talk->stream, &talk->body);
        send_message(talk, MESSAGE_VERSION, MESSAGE_STATE);
    } else if (!strcmp(words[0], "record")) {
        add_number(talk, strtoull(words[1], NULL, 10));
        add_number(talk, strtoull(words[2], NULL, 10));
        add_record(talk, strtoull(words[2], NULL, 10));
        send_message(talk, MESSAGE_VERSION, MESSAGE_RECORD);
    } else if (!strcmp(words[0], "ping"))
        send_message(talk, MESSAGE_VERSION, MESSAGE_PING);
    else if (!strcmp(words[0], "send")) {
        buf_add_text(&talk->body, rest ? rest : "");
        send_message(talk, (uint8_t)strtoul(words[2], NULL, 10), (unsigned)strtoul(words[1], NULL, 10));
    } else if (!strcmp(words[0], "noise")) {
        buf_reset(&talk->out);
        buf_add_text(&talk->out, rest ? rest : "");
        send_bytes(talk);
    } else if (!strcmp(words[0], "again"))
        send_bytes(talk);
    else if (!strcmp(words[0], "receive") || !strcmp(words[0], "until"))
        receive(talk, strtod(words[1], NULL), words[0][0] == 'u');
    else
        fail("what does that mean?");
}

static void open_talk(struct talk *talk, int argc, char **argv)
{
    struct keys_pair pair = { 0 };
    char why[512] = "", server_key[ZMQ_KEY_MAX];
    struct buf reason;
    struct buf *bufs[] = { &talk->body, &talk->out, &talk->in, &talk->plain };
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        buf_init(bufs[i], MESSAGE_MAX);
    buf_init(&reason, 4096);
    if (argc > 3 && (keys_read(argv[2], &pair, &reason) || keys_read_public(argv[3], server_key, &reason)))
        fail(buf_text(&reason));
    struct zmq_keys keys = { .public_key = pair.public_key, .secret_key = pair.secret_key, .server_key = server_key };
    if (zmq_load(&talk->zmq, why, sizeof why) || stream_new(&talk->stream)
        || talk->zmq->dealer_open(&talk->dealer, argv[1], argc > 3 ? &keys : NULL, why, sizeof why))
        fail(why);
    buf_clear(&reason);
}

int main(int argc, char **argv)
{
    struct talk talk = { 0 };
    char line[4096];
    if (argc < 2)
        fail("ADDRESS [KEY-FILE SERVER-KEY]");
    open_talk(&talk, argc, argv);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        obey(&talk, line);
    }
    talk.zmq->dealer_close(&talk.dealer);
    stream_free(&talk.stream);
    buf_clear(&talk.body);
    buf_clear(&talk.out);
    buf_clear(&talk.in);
    buf_clear(&talk.plain);
    return 0;
}
