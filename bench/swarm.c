/* Simulates many agents in one process, with the real protocol to a collector: each connection sends exactly what an agent would
 * send, but all send the same values, so that generating them costs almost nothing.
 *
 * bench-swarm [KEY=VALUE …]
 *   url=tcp://127.0.0.1:5555  agents=1  seconds=10  period=1000 (ms; 0: as fast as it is acknowledged)
 *   sets=0 values=50          0: all sets of this node; otherwise the number of sets, and of values of each set, per record
 *   records=0                 records per agent; 0: until seconds have passed
 *   name=swarm                hosts are name0, name1, …
 *   server=KEY public=KEY secret=KEY   encrypted, all agents with one key
 *   idle=0                    number of additional idle connections
 * Prints the records sent and acknowledged, and the delay of acknowledgements; "late": longer than a period. */
#include "base/clock.h"
#include "base/format.h"
#include "base/parse.h"
#include "samplers/all.h"
#include "samplers/sampler_state.h"
#include "transport/message.h"
#include "model/pack.h"
#include "journal/stream.h"
#include "tools.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#define TICKS_MAX 1000000u
#define SETS_MAX 1000u
#define VALUES_MAX 1000u
#define WINDOW_BYTES (1u << 20)

struct agent {
    void *socket;
    uint64_t sent, acked; /* numbers of messages: HELLO, OPEN and STATE are 1, 2 and 3 */
    uint64_t begun;       /* tick of its first record */
    bool is_welcome, is_refused;
};

static struct options {
    const char *url, *name, *server, *public_key, *secret_key;
    uint64_t agents, seconds, period_ms, sets, values, records, idle;
} options = { .url = "tcp://127.0.0.1:5555", .name = "swarm", .agents = 1, .seconds = 10, .period_ms = 1000, .values = 50 };

static struct agent *agents;
static struct delta_stream *encoder;
static struct batch batch;
static struct buf record, message, body, snapshot, plain;
static struct sampler_state lives[64];
static size_t life_count;
static struct sampler_context context = { .root = "" };
static struct set sets[SETS_MAX];
static struct metric metrics[VALUES_MAX];
static char names[SETS_MAX + VALUES_MAX][24];
static uint64_t tick, tick_ns[TICKS_MAX], sent_bytes, sent_records, acked_records, late, worst_ns, total_ns, values_each;

static void set_option(char *text)
{
    const struct { const char *key; const char **value; } texts[] = {
        { "url", &options.url }, { "name", &options.name }, { "server", &options.server },
        { "public", &options.public_key }, { "secret", &options.secret_key },
    };
    const struct { const char *key; uint64_t *value; } numbers[] = {
        { "agents", &options.agents }, { "seconds", &options.seconds }, { "period", &options.period_ms },
        { "sets", &options.sets }, { "values", &options.values }, { "records", &options.records }, { "idle", &options.idle },
    };
    char *equals = strchr(text, '=');
    if (!equals)
        tools_die("invalid argument (expected KEY=VALUE)");
    *equals = '\0';
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(text, texts[i].key) == 0) {
            *texts[i].value = equals + 1;
            return;
        }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(text, numbers[i].key) == 0 && !parse_u64(equals + 1, numbers[i].value))
            return;
    tools_die(text);
}

static void open_samplers(void)
{
    for (const struct sampler *const *sampler = sampler_all; *sampler && life_count < 64; sampler++) {
        if (*sampler == &sampler_process_tree || (*sampler)->is_slow)
            continue;
        lives[life_count] = (struct sampler_state){ .sampler = *sampler, .context = &context };
        sampler_state_wake(&lives[life_count++]);
    }
}

static void make_sets(void)
{
    for (size_t i = 0; i < options.values; i++) {
        snprintf(names[i], sizeof names[i], "m%zu", i);
        metrics[i] = (struct metric){ names[i], "1", i % 4 ? COUNTER : GAUGE, U64, "made up" };
    }
    for (size_t i = 0; i < options.sets; i++) {
        snprintf(names[VALUES_MAX + i], sizeof names[0], "set%zu", i);
        sets[i] = (struct set){ names[VALUES_MAX + i], metrics, options.values };
    }
}

/* One tick of this node, or generated values: most change a little, some do not. */
static void read_batch(void)
{
    batch_reset(&batch);
    for (size_t i = 0; !options.sets && i < life_count; i++)
        sampler_state_read(&lives[i], &batch);
    uint64_t now_ns = clock_realtime_ns();
    for (size_t i = 0; i < options.sets; i++) {
        struct sample *sample = batch_add(&batch, &sets[i], now_ns, "");
        for (size_t k = 0; sample && k < options.values; k++)
            sample_set_u64(sample, k, k % 3 ? 1000 + tick * (k + 1) : 123456 * k);
    }
    values_each = 0;
    for (size_t i = 0; i < batch.count; i++)
        values_each += batch.samples[i].set->size;
}

static void add_number(struct buf *out, uint64_t number)
{
    uint8_t room[PACK_NUMBER_MAX];
    struct packer packer = { room, room + sizeof room, false };
    pack_number(&packer, number);
    buf_add(out, room, (size_t)(packer.at - room));
}

/* From body. */
static void make_message(enum message_kind kind, uint64_t number)
{
    buf_reset(&message);
    message_write(&message, &(struct message){ MESSAGE_VERSION, kind, number, { body.data, body.size } }, true);
    if (buf_err(&message))
        tools_die("out of memory");
}

static void send_message(struct agent *agent, uint64_t number)
{
    if (zmq_send(agent->socket, message.data, message.size, ZMQ_DONTWAIT) < 0)
        tools_die("cannot send: the queue of a connection is full");
    agent->sent = number;
    sent_bytes += message.size;
}

static void say_hello(struct agent *agent, size_t i)
{
    char host[64];
    snprintf(host, sizeof host, "%s%zu", options.name, i);
    struct message_hello hello = {
        .host = bytes_of(host), .software = bytes_of("swarm"), .version_min = 1, .version_max = MESSAGE_VERSION,
        .role = bytes_of("agent"), .instance = clock_monotonic_ns() + i, .time_ns = clock_realtime_ns(),
    };
    buf_reset(&body);
    message_write_hello(&body, &hello);
    make_message(MESSAGE_HELLO, 1);
    send_message(agent, 1);
}

/* The stream and its state, on which the next record is based. */
static void open_stream(struct agent *agent, size_t i)
{
    static uint64_t base;
    char host[64];
    base = base ? base : clock_realtime_ns();
    snprintf(host, sizeof host, "%s%zu", options.name, i);
    buf_reset(&body);
    message_write_open(&body, &(struct message_open){ 0, bytes_of(host), base + i });
    make_message(MESSAGE_OPEN, 2);
    send_message(agent, 2);
    buf_reset(&body);
    add_number(&body, 0);
    buf_reset(&snapshot);
    stream_snapshot(encoder, &snapshot);
    buf_add(&body, snapshot.data, snapshot.size);
    make_message(MESSAGE_STATE, 3);
    send_message(agent, 3);
    agent->begun = tick;
}

static void take_ack(struct agent *agent, uint64_t number, uint64_t now_ns)
{
    for (; agent->acked < number; agent->acked++) {
        if (agent->acked < 3)
            continue;
        uint64_t took_ns = now_ns - tick_ns[agent->begun + agent->acked - 3];
        acked_records++;
        total_ns += took_ns;
        worst_ns = took_ns > worst_ns ? took_ns : worst_ns;
        late += options.period_ms && took_ns > options.period_ms * NS_PER_MS;
    }
}

static void take_message(struct agent *agent, const void *data, size_t size)
{
    struct message got;
    struct message_refuse refuse;
    if (message_read((struct bytes){ data, size }, &got, &plain))
        tools_die("cannot decode a message of the collector");
    if (got.kind == MESSAGE_WELCOME)
        agent->is_welcome = true;
    else if (got.kind == MESSAGE_ACK) {
        struct unpacker unpacker = { (const uint8_t *)got.body.data, (const uint8_t *)got.body.data + got.body.size, false };
        take_ack(agent, unpack_number(&unpacker), clock_monotonic_ns());
    } else if (got.kind == MESSAGE_REFUSE && !message_read_refuse(got.body, &refuse)) {
        fprintf(stderr, "refused: %.*s\n", (int)refuse.error.size, refuse.error.data);
        agent->is_refused = true;
    }
}

static void hear(struct agent *agent)
{
    static char room[65536];
    int size;
    while ((size = zmq_recv(agent->socket, room, sizeof room, ZMQ_DONTWAIT)) >= 0)
        take_message(agent, room, (size_t)size);
}

static void hear_all(void)
{
    for (size_t i = 0; i < options.agents; i++)
        hear(&agents[i]);
}

/* The same record for all; its sequence number is the tick. If one is more than its window behind, all wait: none misses a record. */
static void send_tick(void)
{
    read_batch();
    buf_reset(&record);
    if (stream_encode(encoder, &batch, &record))
        tools_die("cannot encode a batch");
    tick_ns[tick] = clock_monotonic_ns();
    tick++;
    buf_reset(&body);
    add_number(&body, 0);
    add_number(&body, tick);
    buf_add(&body, record.data, record.size);
    make_message(MESSAGE_RECORD, 3 + tick);
    for (size_t i = 0; i < options.agents; i++) {
        send_message(&agents[i], 3 + tick);
        sent_records++;
    }
}

static bool is_window_open(void)
{
    size_t each = message.size ? message.size : 1;
    uint64_t most = WINDOW_BYTES / each > 900 ? 900 : WINDOW_BYTES / each + 1; /* libzmq queues a thousand */
    for (size_t i = 0; i < options.agents; i++)
        if (agents[i].sent - agents[i].acked > most)
            return false;
    return true;
}

static bool is_all_acked(void)
{
    for (size_t i = 0; i < options.agents; i++)
        if (agents[i].acked < agents[i].sent && !agents[i].is_refused)
            return false;
    return true;
}

static bool is_all_welcome(void)
{
    for (size_t i = 0; i < options.agents; i++)
        if (!agents[i].is_welcome && !agents[i].is_refused)
            return false;
    return true;
}

static void wait_until(bool (*is_so)(void), const char *what)
{
    for (uint64_t until_ns = clock_monotonic_ns() + 120 * NS_PER_S; !is_so();) {
        hear_all();
        if (clock_monotonic_ns() > until_ns)
            tools_die(what);
        poll(NULL, 0, 2);
    }
}

static void *connect_one(void *zmq)
{
    void *socket = zmq_socket(zmq, ZMQ_DEALER);
    int none = 0;
    if (!socket)
        tools_die("too many sockets");
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    if (options.server) {
        zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, options.server, strlen(options.server));
        zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, options.public_key, strlen(options.public_key));
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, options.secret_key, strlen(options.secret_key));
    }
    if (zmq_connect(socket, options.url))
        tools_die(options.url);
    return socket;
}

static void begin(void *zmq)
{
    for (size_t i = 0; i < options.agents; i++) {
        agents[i].socket = connect_one(zmq);
        say_hello(&agents[i], i);
    }
    for (size_t i = 0; i < options.idle; i++)
        connect_one(zmq);
    wait_until(is_all_welcome, "not everybody was welcomed within two minutes");
    read_batch();
    stream_encode(encoder, &batch, &record); /* so that the state is not empty */
    for (size_t i = 0; i < options.agents; i++)
        open_stream(&agents[i], i);
    wait_until(is_all_acked, "states were not acknowledged within two minutes");
}

/* Handles messages until the next tick. */
static void rest(uint64_t next_ns)
{
    for (uint64_t now_ns; (now_ns = clock_monotonic_ns()) < next_ns;) {
        hear_all();
        poll(NULL, 0, options.agents > 100 ? 20 : 2);
    }
}

static void run(void)
{
    uint64_t begin_ns = clock_monotonic_ns(), next_ns = begin_ns;
    while (tick + 1 < TICKS_MAX) {
        if (options.records ? tick >= options.records : clock_monotonic_ns() - begin_ns >= options.seconds * NS_PER_S)
            break;
        if (options.period_ms) {
            rest(next_ns);
            next_ns += options.period_ms * NS_PER_MS;
        } else if (!is_window_open()) {
            hear_all();
            continue;
        }
        send_tick();
    }
    wait_until(is_all_acked, "records were not acknowledged within two minutes");
    double seconds = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
    printf("agents %llu, sets %zu, values %llu, bytes of a record %zu\n", (unsigned long long)options.agents, batch.count,
           (unsigned long long)values_each, message.size);
    printf("sent %llu records in %.1f s, acknowledged %llu: %.0f sets/s, %.0f values/s, %.0f bytes/s\n",
           (unsigned long long)sent_records, seconds, (unsigned long long)acked_records,
           (double)acked_records * (double)batch.count / seconds, (double)acked_records * (double)values_each / seconds,
           (double)sent_bytes / seconds);
    printf("acknowledged after %s on average, %s at most; late %llu\n",
           format_duration(acked_records ? total_ns / acked_records : 0).s, format_duration(worst_ns).s,
           (unsigned long long)late);
}

static void allow_descriptors(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        set_option(argv[i]);
    if (options.sets > SETS_MAX || options.values > VALUES_MAX || !options.agents)
        tools_die("too many agents, sets or values");
    allow_descriptors();
    buf_init(&record, STREAM_RECORD_MAX);
    buf_init(&message, MESSAGE_MAX);
    buf_init(&body, MESSAGE_MAX);
    buf_init(&snapshot, MESSAGE_MAX);
    buf_init(&plain, MESSAGE_MAX);
    batch_init(&batch);
    agents = calloc(options.agents, sizeof *agents);
    void *zmq = zmq_ctx_new();
    zmq_ctx_set(zmq, ZMQ_MAX_SOCKETS, (int)(options.agents + options.idle + 16));
    if (stream_new(&encoder) || !agents)
        tools_die("out of memory");
    make_sets();
    if (!options.sets)
        open_samplers();
    begin(zmq);
    run();
    fflush(stdout);
    _exit(0); /* without closing thousands of sockets one by one */
}
