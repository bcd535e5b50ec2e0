/* Messages stay in the box, where they lie, until their reports have come; librdkafka tries for as long as it takes, in
 * order. What it gives back is handed over once more when nothing else is under way. */
#include "sinks/kafka/producer.h"

#include "base/clock.h"
#include "sinks/kafka/transaction.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WAIT_FIRST_NS (250 * NS_PER_MS)
#define WAIT_MAX_NS (8 * NS_PER_S)
#define TURN_MS 50
#define END_NS (2 * NS_PER_S)

static void on_report(rd_kafka_t *kafka, const rd_kafka_message_t *message, void *opaque);
static void on_error(rd_kafka_t *kafka, int err, const char *reason, void *opaque);

static void on_log(const rd_kafka_t *kafka, int level, const char *facility, const char *text)
{
    (void)kafka, (void)level, (void)facility, (void)text; /* what matters comes as an error, or in a report */
}

static enum err make_conf(struct kafka_producer *p, rd_kafka_conf_t **conf)
{
    bool exact = kafka_transaction_is_used(p);
    bool idempotent = exact || (p->idempotence != KAFKA_NEVER && !p->is_plain);
    /* without idempotence only one request at a time keeps the order when it must be sent again */
    const char *const defaults[] = {
        "client.id", "sonde", "acks", "all", "enable.idempotence", idempotent ? "true" : "false",
        "max.in.flight.requests.per.connection", idempotent ? "5" : "1",
        "compression.type", p->compression, "linger.ms", "20", "partitioner", "murmur2_random",
        "message.max.bytes", "20971520", "reconnect.backoff.max.ms", "2000", "socket.keepalive.enable", "true",
        "queue.buffering.max.messages", "1000000", "topic.metadata.refresh.fast.interval.ms", "100",
        exact ? "transactional.id" : "message.timeout.ms", exact ? p->name : "0", /* in a transaction it is as long as that */
        exact ? "transaction.timeout.ms" : NULL, TRANSACTION_MS, NULL,
    };
    return kafka_conf_new(conf, &p->conf, defaults, p->why, sizeof p->why);
}

enum err kafka_producer_make(struct kafka_producer *p)
{
    rd_kafka_conf_t *conf;
    char reason[256];
    enum err err = make_conf(p, &conf);
    if (err)
        return err;
    rd_kafka_conf_set_opaque(conf, p);
    rd_kafka_conf_set_dr_msg_cb(conf, on_report);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    p->kafka = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    if (!p->kafka) {
        rd_kafka_conf_destroy(conf);
        snprintf(p->why, sizeof p->why, "%s", reason);
        return USAGE;
    }
    p->is_fatal = false;
    return OK;
}

enum err kafka_producer_check(struct kafka_producer *p)
{
    rd_kafka_conf_t *conf;
    enum err err = make_conf(p, &conf);
    if (!err)
        rd_kafka_conf_destroy(conf);
    return err;
}

enum err kafka_producer_open(struct kafka_producer *p, struct kafka_box *box)
{
    p->box = box;
    /* in transactions it is made when its name is known; what makes no sense is told at once */
    return p->exactly_once == KAFKA_NEVER ? kafka_producer_make(p) : kafka_producer_check(p);
}

/* All that it has comes back, and it ends. */
void kafka_producer_end(struct kafka_producer *p)
{
    uint64_t until_ns = clock_monotonic_ns() + END_NS;
    if (!p->kafka)
        return;
    rd_kafka_purge(p->kafka, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    while (p->flying && clock_monotonic_ns() < until_ns)
        rd_kafka_poll(p->kafka, TURN_MS);
    rd_kafka_destroy(p->kafka); /* none of our bytes are used behind it */
    p->kafka = NULL;
    for (struct kafka_piece *piece = p->box->head; piece; piece = piece->next)
        if (piece->state == KAFKA_FLIES || piece->state == KAFKA_ARRIVED)
            kafka_box_set(p->box, piece, KAFKA_WAITS);
    p->flying = 0;
}

void kafka_producer_close(struct kafka_producer *p)
{
    kafka_producer_end(p);
}

static void on_error(rd_kafka_t *kafka, int err, const char *reason, void *opaque)
{
    struct kafka_producer *p = opaque;
    char text[256];
    rd_kafka_resp_err_t fatal = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (err == RD_KAFKA_RESP_ERR__FATAL) {
        fatal = rd_kafka_fatal_error(kafka, text, sizeof text);
        p->is_fatal = true;
        reason = text;
        bool is_too_old = fatal == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE && !kafka_transaction_is_used(p);
        if (is_too_old && p->idempotence == KAFKA_WHERE_IT_CAN)
            p->is_plain = true;
    }
    if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || !*p->why) /* that says less than what came before */
        snprintf(p->why, sizeof p->why, "%s", reason);
}

/* Would be refused however often it is sent. */
static bool is_for_good(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || err == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE
        || err == RD_KAFKA_RESP_ERR_INVALID_RECORD;
}

/* It did not go: again later, or never. */
static void note_failure(struct kafka_producer *p, struct kafka_piece *piece, rd_kafka_resp_err_t err)
{
    bool is_over = is_for_good(err);
    kafka_box_set(p->box, piece, is_over ? KAFKA_DONE : KAFKA_WAITS);
    p->refused += is_over ? 1 : 0;
    p->has_failed = p->has_failed || !is_over;
    if (err == RD_KAFKA_RESP_ERR__PURGE_QUEUE || err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
        return; /* our own doing */
    snprintf(p->why, sizeof p->why, "topic %.120s: %s%s", piece->topic, rd_kafka_err2str(err),
             is_over ? ": never taken" : "");
}

static void on_report(rd_kafka_t *kafka, const rd_kafka_message_t *message, void *opaque)
{
    struct kafka_producer *p = opaque;
    struct kafka_piece *piece = message->_private;
    (void)kafka;
    p->flying--;
    if (message->err) {
        note_failure(p, piece, message->err);
        return;
    }
    kafka_box_set(p->box, piece, kafka_transaction_is_used(p) ? KAFKA_ARRIVED : KAFKA_DONE);
    p->delivered++;
    p->wait_ns = 0;
}

static rd_kafka_headers_t *make_headers(const struct kafka_piece *piece)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(4);
    char text[24];
    rd_kafka_header_add(headers, "host", -1, piece->name.host.data, (ssize_t)piece->name.host.size);
    snprintf(text, sizeof text, "%016" PRIx64, piece->name.stream);
    rd_kafka_header_add(headers, "stream", -1, text, -1);
    snprintf(text, sizeof text, "%" PRIu64, piece->name.sequence);
    rd_kafka_header_add(headers, "sequence", -1, text, -1);
    snprintf(text, sizeof text, "%" PRIu64, piece->name.place);
    rd_kafka_header_add(headers, "place", -1, text, -1);
    return headers;
}

static rd_kafka_resp_err_t produce(const struct kafka_producer *p, struct kafka_piece *piece)
{
    rd_kafka_headers_t *headers = p->headers ? make_headers(piece) : NULL;
    void *key = (void *)(uintptr_t)piece->name.key.data, *body = (void *)(uintptr_t)piece->body.data;
    rd_kafka_resp_err_t err = rd_kafka_producev(
        p->kafka, RD_KAFKA_V_TOPIC(piece->topic), RD_KAFKA_V_KEY(key, piece->name.key.size),
        RD_KAFKA_V_VALUE(body, piece->body.size), RD_KAFKA_V_OPAQUE(piece), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
    if (err && headers)
        rd_kafka_headers_destroy(headers);
    return err;
}

static void note_sent(struct kafka_producer *p, struct kafka_piece *piece, rd_kafka_resp_err_t err)
{
    if (err == RD_KAFKA_RESP_ERR__FATAL)
        p->is_fatal = true;
    if (err) {
        note_failure(p, piece, err);
        return;
    }
    kafka_box_set(p->box, piece, KAFKA_FLIES);
    p->flying++;
}

/* All that waits, from the oldest on; stops where librdkafka's queue is full. */
static void hand_over(struct kafka_producer *p)
{
    for (struct kafka_piece *piece; (piece = p->box->next) && !p->has_failed; p->box->next = piece->next) {
        if (piece->state != KAFKA_WAITS)
            continue;
        rd_kafka_resp_err_t err = produce(p, piece);
        if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            return;
        note_sent(p, piece, err);
    }
}

void kafka_producer_send(struct kafka_producer *p, struct kafka_piece *piece)
{
    note_sent(p, piece, produce(p, piece));
}

void kafka_producer_pause(struct kafka_producer *p)
{
    p->wait_ns = p->wait_ns ? p->wait_ns * 2 : WAIT_FIRST_NS;
    if (p->wait_ns > WAIT_MAX_NS)
        p->wait_ns = WAIT_MAX_NS;
    p->next_try_ns = clock_monotonic_ns() + p->wait_ns;
}

/* After failures nothing goes until all has come back, so that the order stays, and not before its time. */
static void recover(struct kafka_producer *p)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (p->is_fatal) {
        kafka_producer_end(p);
        p->has_failed = true;
        p->is_fatal = false;
    }
    if (!p->kafka && !p->has_failed)
        p->has_failed = kafka_producer_make(p) != OK;
    if (!p->has_failed || p->flying)
        return;
    if (!p->next_try_ns) {
        bool is_other = !p->kafka && p->is_plain && !p->wait_ns; /* what we do not know yet may go at once */
        kafka_producer_pause(p);
        if (is_other)
            p->next_try_ns = now_ns;
    }
    if (now_ns < p->next_try_ns)
        return;
    p->next_try_ns = 0;
    p->has_failed = !p->kafka && kafka_producer_make(p);
    kafka_box_rewind(p->box);
}

void kafka_producer_turn(struct kafka_producer *p, int timeout_ms)
{
    if (kafka_transaction_is_used(p))
        return; /* all goes at once, with its mark */
    recover(p);
    if (p->kafka && !p->has_failed)
        hand_over(p);
    if (p->kafka)
        rd_kafka_poll(p->kafka, p->box->count ? timeout_ms : 0);
    else if (timeout_ms)
        nanosleep(&(struct timespec){ .tv_nsec = (long)((uint64_t)timeout_ms * NS_PER_MS % NS_PER_S) }, NULL);
    kafka_box_remove_done(p->box);
}

enum err kafka_producer_learn(struct kafka_producer *p, uint64_t deadline_ns)
{
    enum err err = kafka_transaction_is_used(p) ? kafka_transaction_learn(p, deadline_ns) : OK;
    return kafka_transaction_is_used(p) ? err : OK;
}

enum err kafka_producer_flush(struct kafka_producer *p, uint64_t deadline_ns)
{
    if (kafka_transaction_is_used(p)) {
        enum err err = kafka_transaction_flush(p, deadline_ns);
        if (kafka_transaction_is_used(p))
            return err;
    }
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns(), left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        kafka_producer_turn(p, left_ns < TURN_MS * NS_PER_MS ? (int)(left_ns / NS_PER_MS) : TURN_MS);
        if (!p->box->count)
            return OK;
        if (!left_ns)
            return AGAIN;
    }
}
