/* A state machine: fence off earlier producers, read the committed position; then begin, send, mark, commit. No
 * transaction is open between two flushes, so readers are not held up. An error that librdkafka cannot handle destroys
 * the producer; the next one reads the committed position to learn what the brokers have. */
#include "sinks/kafka/transaction.h"

#include "base/clock.h"
#include "base/log.h"
#include "sinks/kafka/committed.h"

#include <stdio.h>

#define BYTES_MAX (4u << 20) /* per transaction, so that it ends in time on a slow link too */
#define STEP_MS 3000u
#define SLICE_MS 250u /* of calls that can be repeated: between two of them we can stop */
#define NAP_MS 50
#define PATIENCE_NS (30 * NS_PER_S) /* with brokers that respond, but cannot run transactions */

bool kafka_transaction_is_used(const struct kafka_producer *p)
{
    return *p->name && p->exactly_once != KAFKA_NEVER && !p->is_at_least_once;
}

static int left_ms(uint64_t deadline_ns, uint64_t most_ms)
{
    uint64_t now_ns = clock_monotonic_ns(), left = deadline_ns > now_ns ? (deadline_ns - now_ns) / NS_PER_MS : 0;
    return (int)(left < most_ms ? left + 1 : most_ms);
}

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = NAP_MS * (long)NS_PER_MS }, NULL);
}

/* Queues messages that are in flight or not committed. */
static void requeue_all(struct kafka_producer *p)
{
    for (struct kafka_message *message = p->queue->head; message; message = message->next)
        if (message->state == KAFKA_IN_FLIGHT || message->state == KAFKA_UNCOMMITTED)
            kafka_queue_set_state(p->queue, message, KAFKA_QUEUED);
    p->has_failed = false;
}

static void restart_producer(struct kafka_producer *p)
{
    kafka_producer_destroy(p);
    requeue_all(p);
    p->stage = KAFKA_STAGE_NONE;
    kafka_producer_back_off(p);
}

/* These brokers will never accept a transaction from us. */
static bool is_refusal(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE || code == RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION
        || code == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        || code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED || code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED
        || code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

/* The brokers respond, but have had no transaction coordinator (its topic needs more replicas than there are
 * brokers) or no marks topic for PATIENCE_NS. */
static bool is_hopeless(const struct kafka_producer *p)
{
    const struct rd_kafka_metadata *answer;
    if (p->was_ready || !p->first_try_ns || clock_monotonic_ns() - p->first_try_ns < PATIENCE_NS)
        return false;
    if (rd_kafka_metadata(p->kafka, 0, NULL, &answer, (int)STEP_MS))
        return false;
    rd_kafka_metadata_destroy(answer);
    return true;
}

/* Brokers before 0.11 have no transactions, and access lists may forbid them. */
static void fall_back_to_at_least_once(struct kafka_producer *p)
{
    log_warn("Kafka brokers %.200s refuse transactions (%s): delivery is at least once, so messages can be duplicated after "
             "a crash. Use brokers of version 0.11 or newer that allow transactions, or let consumers drop duplicates by host, "
             "stream, sequence and place", p->conf.brokers, p->error);
    kafka_producer_destroy(p);
    requeue_all(p);
    kafka_queue_rewind(p->queue);
    p->stage = KAFKA_STAGE_NONE;
    p->next_try_ns = p->wait_ns = 0;
    p->is_at_least_once = true;
}

/* An error before anything was sent. */
static void handle_setup_error(struct kafka_producer *p, rd_kafka_resp_err_t code, bool is_retriable)
{
    if (p->exactly_once != KAFKA_ALWAYS && (is_refusal(code) || is_hopeless(p)))
        fall_back_to_at_least_once(p);
    else if (is_retriable)
        nap();
    else
        restart_producer(p);
}

static void abort_transaction(struct kafka_producer *p, uint64_t deadline_ns)
{
    rd_kafka_error_t *error = rd_kafka_abort_transaction(p->kafka, left_ms(deadline_ns, STEP_MS));
    for (int i = 0; !error && p->in_flight && i < 20; i++)
        rd_kafka_poll(p->kafka, NAP_MS);
    if (error || p->in_flight) {
        restart_producer(p);
        if (error)
            rd_kafka_error_destroy(error);
        return;
    }
    requeue_all(p);
    p->stage = KAFKA_STAGE_READY;
    nap();
}

static rd_kafka_resp_err_t code_of(const struct kafka_producer *p, const rd_kafka_error_t *error)
{
    char text[8];
    rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(p->kafka, text, sizeof text);
    return fatal ? fatal : rd_kafka_error_code(error);
}

/* Handles an error of a transaction call: retry the call, abort, or start again. Frees error. */
static void handle_error(struct kafka_producer *p, rd_kafka_error_t *error, uint64_t deadline_ns)
{
    rd_kafka_resp_err_t code = code_of(p, error);
    bool is_retriable = rd_kafka_error_is_retriable(error), needs_abort = rd_kafka_error_txn_requires_abort(error);
    if (code != RD_KAFKA_RESP_ERR__TIMED_OUT || !p->is_disconnected) /* the error of the connection says more */
        snprintf(p->error, sizeof p->error, "%s", rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    if (needs_abort)
        abort_transaction(p, deadline_ns);
    else if (p->stage == KAFKA_STAGE_NONE)
        handle_setup_error(p, code, is_retriable);
    else if (is_retriable)
        nap();
    else
        restart_producer(p);
}

/* Fences off earlier producers of our name; the brokers abort their open transactions. */
static void init_producer(struct kafka_producer *p, uint64_t deadline_ns)
{
    if (clock_monotonic_ns() < p->next_try_ns) {
        nap();
        return;
    }
    if (!p->kafka && kafka_producer_create(p)) {
        restart_producer(p);
        return;
    }
    if (!p->first_try_ns)
        p->first_try_ns = clock_monotonic_ns();
    rd_kafka_error_t *error = rd_kafka_init_transactions(p->kafka, left_ms(deadline_ns, SLICE_MS));
    rd_kafka_poll(p->kafka, 0);
    if (error)
        handle_error(p, error, deadline_ns);
    else
        p->stage = KAFKA_STAGE_FENCED;
}

/* After a crash the journal may have lost entries that were committed: positions from an earlier opening count only
 * up to opened_at. */
static void drop_committed(struct kafka_producer *p, const struct kafka_committed *last)
{
    uint64_t until = last->opening == p->opening || last->position < p->opened_at ? last->position : p->opened_at;
    if (until > p->done_until)
        p->done_until = until;
    for (struct kafka_message *message = p->queue->head; message; message = message->next)
        if (message->name.position <= until)
            kafka_queue_set_state(p->queue, message, KAFKA_DELIVERED);
    kafka_queue_remove_delivered(p->queue);
}

static void read_committed(struct kafka_producer *p, uint64_t deadline_ns)
{
    struct kafka_committed last;
    rd_kafka_resp_err_t code = kafka_committed_read(p, &last, left_ms(deadline_ns, STEP_MS));
    if (code) {
        handle_setup_error(p, code, !is_refusal(code));
        return;
    }
    drop_committed(p, &last);
    p->stage = KAFKA_STAGE_READY;
    p->next_try_ns = 0;
    p->was_ready = true;
}

/* Whole batches, the oldest first. */
static void send_messages(struct kafka_producer *p)
{
    size_t bytes = 0;
    p->mark = p->queue->head->name.position;
    for (struct kafka_message *message = p->queue->head; message && !p->has_failed; message = message->next) {
        if (message->name.position != p->mark && bytes >= BYTES_MAX)
            return;
        p->mark = message->name.position;
        bytes += message->body.size;
        if (message->state == KAFKA_QUEUED)
            kafka_producer_send(p, message);
    }
}

static void begin_transaction(struct kafka_producer *p, uint64_t deadline_ns)
{
    rd_kafka_error_t *error = rd_kafka_begin_transaction(p->kafka);
    if (error) {
        handle_error(p, error, deadline_ns);
        return;
    }
    p->stage = KAFKA_STAGE_BEGUN;
    send_messages(p);
    if (p->has_failed)
        abort_transaction(p, deadline_ns);
}

static void mark_position(struct kafka_producer *p, uint64_t deadline_ns)
{
    rd_kafka_error_t *error = kafka_committed_write(p, left_ms(deadline_ns, STEP_MS));
    if (error)
        handle_error(p, error, deadline_ns);
    else
        p->stage = KAFKA_STAGE_MARKED;
}

static void commit_transaction(struct kafka_producer *p, uint64_t deadline_ns)
{
    rd_kafka_error_t *error = rd_kafka_commit_transaction(p->kafka, left_ms(deadline_ns, SLICE_MS));
    if (error) {
        handle_error(p, error, deadline_ns);
        return;
    }
    for (struct kafka_message *message = p->queue->head; message; message = message->next)
        if (message->state == KAFKA_UNCOMMITTED)
            kafka_queue_set_state(p->queue, message, KAFKA_DELIVERED);
    kafka_queue_remove_delivered(p->queue);
    p->wait_ns = 0;
    p->stage = KAFKA_STAGE_READY;
}

enum err kafka_transaction_find_committed(struct kafka_producer *p, uint64_t deadline_ns)
{
    while (kafka_transaction_is_used(p) && p->stage < KAFKA_STAGE_READY) {
        deadline_ns = sink_deadline(p->stop_ns, deadline_ns);
        if (clock_monotonic_ns() >= deadline_ns)
            return AGAIN;
        if (p->stage == KAFKA_STAGE_NONE)
            init_producer(p, deadline_ns);
        else
            read_committed(p, deadline_ns);
    }
    return OK;
}

enum err kafka_transaction_flush(struct kafka_producer *p, uint64_t deadline_ns)
{
    static void (*const steps[])(struct kafka_producer *, uint64_t) = {
        [KAFKA_STAGE_NONE] = init_producer,       [KAFKA_STAGE_FENCED] = read_committed, [KAFKA_STAGE_READY] = begin_transaction,
        [KAFKA_STAGE_BEGUN] = mark_position, [KAFKA_STAGE_MARKED] = commit_transaction,
    };
    while (kafka_transaction_is_used(p)) {
        if (!p->queue->count)
            return OK;
        deadline_ns = sink_deadline(p->stop_ns, deadline_ns);
        if (clock_monotonic_ns() >= deadline_ns)
            return AGAIN;
        steps[p->stage](p, deadline_ns);
    }
    return AGAIN;
}
