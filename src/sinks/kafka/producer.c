/* Messages stay in the queue until librdkafka's delivery reports arrive; it retries without a time limit and keeps
 * the order. A message that it returns as failed is sent again once no other message is in flight. */
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

static void on_report(rd_kafka_t *kafka, const rd_kafka_message_t *report, void *opaque);
static void on_error(rd_kafka_t *kafka, int err, const char *reason, void *opaque);

static void on_log(const rd_kafka_t *kafka, int level, const char *facility, const char *text)
{
    (void)kafka, (void)level, (void)facility, (void)text; /* errors arrive through on_error and on_report */
}

static enum err create_conf(struct kafka_producer *p, rd_kafka_conf_t **conf)
{
    bool exact = kafka_transaction_is_used(p);
    bool idempotent = exact || (p->idempotence != KAFKA_NEVER && !p->is_plain);
    /* without idempotence, only one request in flight keeps the order across retries */
    const char *const defaults[] = {
        "client.id", "sonde", "acks", "all", "enable.idempotence", idempotent ? "true" : "false",
        "max.in.flight.requests.per.connection", idempotent ? "5" : "1",
        "compression.type", p->compression, "linger.ms", "20", "partitioner", "murmur2_random",
        "message.max.bytes", "20971520", "reconnect.backoff.max.ms", "2000", "socket.keepalive.enable", "true",
        "queue.buffering.max.messages", "1000000", "topic.metadata.refresh.fast.interval.ms", "100",
        exact ? "transactional.id" : "message.timeout.ms", exact ? p->name : "0", /* with transactions their timeout applies */
        exact ? "transaction.timeout.ms" : NULL, TRANSACTION_MS, NULL,
    };
    return kafka_conf_new(conf, &p->conf, defaults, p->error, sizeof p->error);
}

enum err kafka_producer_create(struct kafka_producer *p)
{
    rd_kafka_conf_t *conf;
    char reason[256];
    enum err err = create_conf(p, &conf);
    if (err)
        return err;
    rd_kafka_conf_set_opaque(conf, p);
    rd_kafka_conf_set_dr_msg_cb(conf, on_report);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    p->kafka = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    if (!p->kafka) {
        rd_kafka_conf_destroy(conf);
        snprintf(p->error, sizeof p->error, "%s", reason);
        return USAGE;
    }
    p->is_fatal = false;
    return OK;
}

enum err kafka_producer_check(struct kafka_producer *p)
{
    rd_kafka_conf_t *conf;
    enum err err = create_conf(p, &conf);
    if (!err)
        rd_kafka_conf_destroy(conf);
    return err;
}

enum err kafka_producer_open(struct kafka_producer *p, struct kafka_queue *queue)
{
    p->queue = queue;
    /* a transactional producer is created once its name is known; invalid properties are reported now */
    return p->exactly_once == KAFKA_NEVER ? kafka_producer_create(p) : kafka_producer_check(p);
}

void kafka_producer_destroy(struct kafka_producer *p)
{
    uint64_t until_ns = clock_monotonic_ns() + END_NS;
    if (!p->kafka)
        return;
    rd_kafka_purge(p->kafka, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    while (p->in_flight && clock_monotonic_ns() < until_ns)
        rd_kafka_poll(p->kafka, TURN_MS);
    rd_kafka_destroy(p->kafka); /* librdkafka uses none of our buffers after this */
    p->kafka = NULL;
    for (struct kafka_message *message = p->queue->head; message; message = message->next)
        if (message->state == KAFKA_IN_FLIGHT || message->state == KAFKA_UNCOMMITTED)
            kafka_queue_set_state(p->queue, message, KAFKA_QUEUED);
    p->in_flight = 0;
}

void kafka_producer_close(struct kafka_producer *p)
{
    kafka_producer_destroy(p);
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
        bool is_unsupported = fatal == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE && !kafka_transaction_is_used(p);
        if (is_unsupported && p->idempotence == KAFKA_IF_SUPPORTED)
            p->is_plain = true;
    }
    if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || !*p->error) /* the error before it says more */
        snprintf(p->error, sizeof p->error, "%s", reason);
    p->is_disconnected = true;
}

/* Would be rejected however often it is sent. */
static bool is_permanent(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || err == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE
        || err == RD_KAFKA_RESP_ERR_INVALID_RECORD;
}

static void handle_failure(struct kafka_producer *p, struct kafka_message *message, rd_kafka_resp_err_t err)
{
    bool is_dropped = is_permanent(err);
    kafka_queue_set_state(p->queue, message, is_dropped ? KAFKA_DELIVERED : KAFKA_QUEUED);
    p->refused += is_dropped ? 1 : 0;
    p->has_failed = p->has_failed || !is_dropped;
    if (err == RD_KAFKA_RESP_ERR__PURGE_QUEUE || err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
        return; /* our own purge */
    snprintf(p->error, sizeof p->error, "topic %.120s: %s%s", message->topic, rd_kafka_err2str(err),
             is_dropped ? ": message dropped" : "");
}

static void on_report(rd_kafka_t *kafka, const rd_kafka_message_t *report, void *opaque)
{
    struct kafka_producer *p = opaque;
    struct kafka_message *message = report->_private;
    (void)kafka;
    p->in_flight--;
    if (report->err) {
        handle_failure(p, message, report->err);
        return;
    }
    kafka_queue_set_state(p->queue, message, kafka_transaction_is_used(p) ? KAFKA_UNCOMMITTED : KAFKA_DELIVERED);
    p->delivered++;
    p->wait_ns = 0;
    p->is_disconnected = false;
}

static rd_kafka_headers_t *create_headers(const struct kafka_message *message)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(4);
    char text[24];
    rd_kafka_header_add(headers, "host", -1, message->name.host.data, (ssize_t)message->name.host.size);
    snprintf(text, sizeof text, "%016" PRIx64, message->name.stream);
    rd_kafka_header_add(headers, "stream", -1, text, -1);
    snprintf(text, sizeof text, "%" PRIu64, message->name.sequence);
    rd_kafka_header_add(headers, "sequence", -1, text, -1);
    snprintf(text, sizeof text, "%" PRIu64, message->name.place);
    rd_kafka_header_add(headers, "place", -1, text, -1);
    return headers;
}

static rd_kafka_resp_err_t produce(const struct kafka_producer *p, struct kafka_message *message)
{
    rd_kafka_headers_t *headers = p->headers ? create_headers(message) : NULL;
    void *key = (void *)(uintptr_t)message->name.key.data, *body = (void *)(uintptr_t)message->body.data;
    rd_kafka_resp_err_t err = rd_kafka_producev(
        p->kafka, RD_KAFKA_V_TOPIC(message->topic), RD_KAFKA_V_KEY(key, message->name.key.size),
        RD_KAFKA_V_VALUE(body, message->body.size), RD_KAFKA_V_OPAQUE(message), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
    if (err && headers)
        rd_kafka_headers_destroy(headers);
    return err;
}

static void handle_produce(struct kafka_producer *p, struct kafka_message *message, rd_kafka_resp_err_t err)
{
    if (err == RD_KAFKA_RESP_ERR__FATAL)
        p->is_fatal = true;
    if (err) {
        handle_failure(p, message, err);
        return;
    }
    kafka_queue_set_state(p->queue, message, KAFKA_IN_FLIGHT);
    p->in_flight++;
}

/* Passes queued messages to librdkafka, oldest first, until its queue is full. */
static void send_queued(struct kafka_producer *p)
{
    for (struct kafka_message *message; (message = p->queue->next) && !p->has_failed; p->queue->next = message->next) {
        if (message->state != KAFKA_QUEUED)
            continue;
        rd_kafka_resp_err_t err = produce(p, message);
        if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            return;
        handle_produce(p, message, err);
    }
}

void kafka_producer_send(struct kafka_producer *p, struct kafka_message *message)
{
    handle_produce(p, message, produce(p, message));
}

void kafka_producer_back_off(struct kafka_producer *p)
{
    p->wait_ns = p->wait_ns ? p->wait_ns * 2 : WAIT_FIRST_NS;
    if (p->wait_ns > WAIT_MAX_NS)
        p->wait_ns = WAIT_MAX_NS;
    p->next_try_ns = clock_monotonic_ns() + p->wait_ns;
}

/* After a failure nothing is sent until all messages in flight have returned, which keeps the order, and until the
 * back-off is over. */
static void handle_errors(struct kafka_producer *p)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (p->is_fatal) {
        kafka_producer_destroy(p);
        p->has_failed = true;
        p->is_fatal = false;
    }
    if (!p->kafka && !p->has_failed)
        p->has_failed = kafka_producer_create(p) != OK;
    if (!p->has_failed || p->in_flight)
        return;
    if (!p->next_try_ns) {
        bool is_first = !p->kafka && p->is_plain && !p->wait_ns; /* try the plain producer immediately */
        kafka_producer_back_off(p);
        if (is_first)
            p->next_try_ns = now_ns;
    }
    if (now_ns < p->next_try_ns)
        return;
    p->next_try_ns = 0;
    p->has_failed = !p->kafka && kafka_producer_create(p);
    kafka_queue_rewind(p->queue);
}

void kafka_producer_poll(struct kafka_producer *p, int timeout_ms)
{
    if (kafka_transaction_is_used(p))
        return; /* kafka_transaction_flush sends everything */
    handle_errors(p);
    if (p->kafka && !p->has_failed)
        send_queued(p);
    if (p->kafka)
        rd_kafka_poll(p->kafka, p->queue->count ? timeout_ms : 0);
    else if (timeout_ms)
        nanosleep(&(struct timespec){ .tv_nsec = (long)((uint64_t)timeout_ms * NS_PER_MS % NS_PER_S) }, NULL);
    kafka_queue_remove_delivered(p->queue);
}

enum err kafka_producer_find_committed(struct kafka_producer *p, uint64_t deadline_ns)
{
    enum err err = kafka_transaction_is_used(p) ? kafka_transaction_find_committed(p, deadline_ns) : OK;
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
        uint64_t now_ns = clock_monotonic_ns(), until_ns = sink_deadline(p->stop_ns, deadline_ns);
        uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
        kafka_producer_poll(p, left_ns < TURN_MS * NS_PER_MS ? (int)(left_ns / NS_PER_MS) : TURN_MS);
        if (!p->queue->count)
            return OK;
        if (!left_ns)
            return AGAIN;
    }
}
