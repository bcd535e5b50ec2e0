/* A collector with two agents: one is honest, the other does what the input directs, with the key of another host. The honest
 * agent's records are stored exactly as it sent them, and the journal can be read, whatever the other sends.
 *
 * The input is a list of steps, each OPERATION ARGUMENT SIZE BYTES. */
#include "collector/receiver.h"
#include "fuzz/dir.h"
#include "model/pack.h"
#include "sinks/stream_decoders.h"

int fuzz_receiver(const uint8_t *data, size_t size);

enum operation {
    HONEST,     /* the next step of the honest agent */
    HELLO,      /* of the other: ARGUMENT is its role, BYTES its host */
    OPEN,       /* BYTES is the host, ARGUMENT the number of the stream */
    STATE,      /* a valid one */
    RECORD,     /* a valid one with sequence ARGUMENT more than the last */
    MESSAGE,    /* of kind ARGUMENT with BYTES as its body */
    RAW,        /* BYTES as they are */
    NUMBER,     /* message numbers leap ahead */
    SYNC,
    RECONNECT,  /* of the collector: as after a restart, it knows nobody */
    OPERATIONS,
};

static const struct metric metrics[] = { { "a", "1", COUNTER, U64, "" }, { "b", "B", GAUGE, U64, "" } };
static const struct set set = { "load", metrics, 2, "device" };

struct sender_state {
    struct zmq_peer peer;
    const char *host;
    uint64_t number, sequence, stream;
    struct delta_stream *encoder;
    int step;
};

struct scene {
    struct journal *journal;
    struct receiver receiver;
    struct sender_state honest, other;
    struct buf body, out;
};

static enum err drop(void *context, const struct zmq_peer *peer, struct bytes message)
{
    (void)context, (void)peer, (void)message;
    return OK;
}

static void open_receiver(struct scene *scene)
{
    struct buf error;
    buf_init(&error, 1024);
    struct receiver_settings settings = { .journal = scene->journal, .dir = fuzz_dir, .host = "here", .send = drop };
    fuzz_require(receiver_open(&scene->receiver, &settings, &error) == OK);
    buf_clear(&error);
}

static void open_sender(struct sender_state *sender, uint8_t id, const char *host)
{
    *sender = (struct sender_state){ .host = host, .stream = 7000u + id, .peer = { .id = { id }, .id_size = 1 } };
    snprintf(sender->peer.name, sizeof sender->peer.name, "%s", host);
    snprintf(sender->peer.key, sizeof sender->peer.key, "%040d", id);
    snprintf(sender->peer.address, sizeof sender->peer.address, "10.0.0.%u", id);
    fuzz_require(stream_new(&sender->encoder) == OK);
}

/* Sends body as a message and clears it. */
static void send_body(struct scene *scene, struct sender_state *sender, unsigned kind)
{
    struct message message = { MESSAGE_VERSION, kind, ++sender->number, { scene->body.data, scene->body.size } };
    buf_reset(&scene->out);
    message_write(&scene->out, &message, kind % 2);
    receiver_handle(&scene->receiver, &sender->peer, (struct bytes){ scene->out.data, scene->out.size });
    buf_reset(&scene->body);
}

static void send_hello(struct scene *scene, struct sender_state *sender, const char *role, struct bytes host)
{
    struct message_hello hello = { .host = host, .software = bytes_of("test"), .version_min = 1, .version_max = 1,
                                   .role = bytes_of(role), .instance = 1000 + sender->peer.id[0] };
    sender->number = 0;
    message_write_hello(&scene->body, &hello);
    send_body(scene, sender, MESSAGE_HELLO);
}

static void send_open(struct scene *scene, struct sender_state *sender, uint64_t number, struct bytes host)
{
    message_write_open(&scene->body, &(struct message_open){ number, host, sender->stream });
    send_body(scene, sender, MESSAGE_OPEN);
}

static void add_number(struct buf *out, uint64_t number)
{
    uint8_t bytes[PACK_NUMBER_MAX];
    struct packer packer = { bytes, bytes + sizeof bytes, false };
    pack_number(&packer, number);
    buf_add(out, bytes, (size_t)(packer.at - bytes));
}

static void send_state(struct scene *scene, struct sender_state *sender)
{
    add_number(&scene->body, 0);
    stream_snapshot(sender->encoder, &scene->body);
    send_body(scene, sender, MESSAGE_STATE);
}

static void send_record(struct scene *scene, struct sender_state *sender, uint64_t leap)
{
    struct batch batch;
    batch_init(&batch);
    sender->sequence += leap;
    struct sample *sample = batch_add(&batch, &set, 1000000000000 + sender->sequence * 1000000000, "eth0");
    sample_set_u64(sample, 0, sender->sequence);
    sample_set_u64(sample, 1, sender->peer.id[0]);
    add_number(&scene->body, 0);
    add_number(&scene->body, sender->sequence);
    fuzz_require(stream_encode(sender->encoder, &batch, &scene->body) == OK);
    send_body(scene, sender, MESSAGE_RECORD);
    batch_clear(&batch);
}

static void connect_honest(struct scene *scene)
{
    struct sender_state *honest = &scene->honest;
    send_hello(scene, honest, "agent", bytes_of(honest->host));
    send_open(scene, honest, 0, bytes_of(honest->host));
    send_state(scene, honest);
    honest->step = 1;
}

static void sync_journal(struct scene *scene)
{
    if (receiver_begin_sync(&scene->receiver))
        receiver_end_sync(&scene->receiver, journal_sync(scene->journal) == OK);
}

/* A step of the other agent. */
static void step_other(struct scene *scene, enum operation operation, unsigned argument, struct bytes bytes)
{
    struct sender_state *other = &scene->other;
    struct bytes host = bytes.size ? bytes : bytes_of(other->host);
    switch (operation) {
    case HELLO: send_hello(scene, other, argument % 2 ? "collector" : "agent", host); break;
    case OPEN: send_open(scene, other, argument % 8, host); break;
    case STATE: send_state(scene, other); break;
    case RECORD: send_record(scene, other, argument % 4); break;
    case MESSAGE:
        buf_add(&scene->body, bytes.data, bytes.size);
        send_body(scene, other, argument);
        break;
    case RAW: receiver_handle(&scene->receiver, &other->peer, bytes); break;
    case NUMBER: other->number += argument; break;
    default: break;
    }
}

static void step(struct scene *scene, enum operation operation, unsigned argument, struct bytes bytes)
{
    if (operation == HONEST && !scene->honest.step) {
        connect_honest(scene);
    } else if (operation == HONEST) {
        send_record(scene, &scene->honest, 1);
    } else if (operation == SYNC) {
        sync_journal(scene);
    } else if (operation == RECONNECT) {
        receiver_close(&scene->receiver);
        open_receiver(scene);
        scene->honest.step = 0;
    } else {
        step_other(scene, operation, argument, bytes);
    }
}

/* All samples of the honest host, as a sink would get them. */
static void check_honest(struct scene *scene)
{
    struct journal_reader *reader;
    struct stream_decoders *decoders;
    struct journal_entry entry;
    const struct batch *batch;
    uint64_t last = 0;
    enum err err;
    fuzz_require(journal_sync(scene->journal) == OK && stream_decoders_new(&decoders) == OK);
    fuzz_require(journal_reader_open(scene->journal, &reader, "check", true, 0) == OK);
    while ((err = journal_reader_next(reader, &entry)) != AGAIN) {
        fuzz_require(err == OK);
        fuzz_require(stream_decoders_decode(decoders, &entry, &batch) == OK);
        if (!batch || strcmp(batch->host, scene->honest.host) != 0)
            continue;
        fuzz_require(batch->gap_count == 0);
        for (size_t i = 0; i < batch->count; i++) {
            fuzz_require(batch->samples[i].values[0].u64 == ++last);
            fuzz_require(batch->samples[i].values[1].u64 == scene->honest.peer.id[0]);
        }
    }
    fuzz_require(last == scene->honest.sequence);
    journal_reader_close(&reader);
    stream_decoders_free(&decoders);
}

static void run(struct scene *scene, struct bytes left)
{
    while (left.size >= 3) {
        enum operation operation = (uint8_t)left.data[0] % OPERATIONS;
        unsigned argument = (uint8_t)left.data[1];
        size_t size = (uint8_t)left.data[2] < left.size - 3 ? (uint8_t)left.data[2] : left.size - 3;
        step(scene, operation, argument, (struct bytes){ left.data + 3, size });
        left = (struct bytes){ left.data + 3 + size, left.size - 3 - size };
    }
}

int fuzz_receiver(const uint8_t *data, size_t size)
{
    struct scene scene = { 0 };
    struct buf error;
    fuzz_dir_begin();
    buf_init(&error, 1024);
    buf_init(&scene.body, 1u << 20);
    buf_init(&scene.out, 1u << 20);
    fuzz_require(journal_open(&scene.journal, fuzz_dir, NULL, &error) == OK);
    open_receiver(&scene);
    open_sender(&scene.honest, 1, "n1");
    open_sender(&scene.other, 2, "n2");
    run(&scene, (struct bytes){ (const char *)data, size });
    check_honest(&scene);
    receiver_close(&scene.receiver);
    journal_close(&scene.journal);
    stream_free(&scene.honest.encoder);
    stream_free(&scene.other.encoder);
    buf_clear(&scene.body);
    buf_clear(&scene.out);
    buf_clear(&error);
    return 0;
}
