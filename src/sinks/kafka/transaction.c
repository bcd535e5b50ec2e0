/* Step by step: alone under our name, behind the last mark; begin, hand over, mark, commit. Nothing is under way between
 * two flushes, so that readers wait for nobody. What goes wrong in a way that librdkafka does not mend ends the producer;
 * the next one finds out by the mark what the brokers have. */
#include "sinks/kafka/transaction.h"

#include "base/clock.h"
#include "base/log.h"
#include "sinks/kafka/committed.h"

#include <stdio.h>

#define BYTES_MAX (4u << 20) /* of one transaction, which has to end in time also on a slow line */
#define STEP_MS 3000u
#define NAP_MS 50
#define PATIENCE_NS (30 * NS_PER_S) /* with brokers that answer, but have not what it takes */

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

/* Pieces that are on their way, or there without a commit. */
static void wait_all_again(struct kafka_producer *p)
{
    for (struct kafka_piece *piece = p->box->head; piece; piece = piece->next)
        if (piece->state == KAFKA_FLIES || piece->state == KAFKA_ARRIVED)
            kafka_box_set(p->box, piece, KAFKA_WAITS);
    p->has_failed = false;
}

/* The producer is of no more use. */
static void cool_down(struct kafka_producer *p)
{
    kafka_producer_end(p);
    wait_all_again(p);
    p->stage = KAFKA_COLD;
    kafka_producer_pause(p);
}

/* These brokers will never accept a transaction from us. */
static bool is_refusal(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE || code == RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION
        || code == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        || code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED || code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED
        || code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

/* They answer, but for long now there is no coordinator (its topic wants more brokers than there are), or no topic for marks. */
static bool is_hopeless(const struct kafka_producer *p)
{
    const struct rd_kafka_metadata *answer;
    if (p->was_ready || !p->cold_ns || clock_monotonic_ns() - p->cold_ns < PATIENCE_NS)
        return false;
    if (rd_kafka_metadata(p->kafka, 0, NULL, &answer, (int)STEP_MS))
        return false;
    rd_kafka_metadata_destroy(answer);
    return true;
}

/* Brokers before 0.11 have no transactions, and access lists may forbid them. */
static void fall_back_to_at_least_once(struct kafka_producer *p)
{
    log_warn("Kafka brokers %.200s refuse transactions (%s): delivery is at least once, so messages can be duplicated after a crash. "
             "Use brokers of version 0.11 or newer that allow transactions, or let consumers drop duplicates by host, stream, "
             "sequence and place", p->conf.brokers, p->why);
    kafka_producer_end(p);
    wait_all_again(p);
    kafka_box_rewind(p->box);
    p->stage = KAFKA_COLD;
    p->next_try_ns = p->wait_ns = 0;
    p->is_at_least_once = true;
}

/* It failed before anything was under way. */
static void note_cold(struct kafka_producer *p, rd_kafka_resp_err_t code, bool is_mendable)
{
    if (p->exactly_once != KAFKA_ALWAYS && (is_refusal(code) || is_hopeless(p)))
        fall_back_to_at_least_once(p);
    else if (is_mendable)
        nap();
    else
        cool_down(p);
}

static void abort_all(struct kafka_producer *p, uint64_t deadline_ns)
{
    rd_kafka_error_t *error = rd_kafka_abort_transaction(p->kafka, left_ms(deadline_ns, STEP_MS));
    for (int i = 0; !error && p->flying && i < 20; i++)
        rd_kafka_poll(p->kafka, NAP_MS);
    if (error || p->flying) {
        cool_down(p);
        if (error)
            rd_kafka_error_destroy(error);
        return;
    }
    wait_all_again(p);
    p->stage = KAFKA_READY;
    nap();
}

static rd_kafka_resp_err_t code_of(const struct kafka_producer *p, const rd_kafka_error_t *error)
{
    char text[8];
    rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(p->kafka, text, sizeof text);
    return fatal ? fatal : rd_kafka_error_code(error);
}

/* What librdkafka says to one of our calls: it is tried again as it is, or all from the beginning. Takes error. */
static void judge(struct kafka_producer *p, rd_kafka_error_t *error, uint64_t deadline_ns)
{
    rd_kafka_resp_err_t code = code_of(p, error);
    bool is_mendable = rd_kafka_error_is_retriable(error), wants_abort = rd_kafka_error_txn_requires_abort(error);
    snprintf(p->why, sizeof p->why, "%s", rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    if (wants_abort)
        abort_all(p, deadline_ns);
    else if (p->stage == KAFKA_COLD)
        note_cold(p, code, is_mendable);
    else if (is_mendable)
        nap();
    else
        cool_down(p);
}

/* Whoever had our name before is shut out, and what he had under way ends. */
static void warm_up(struct kafka_producer *p, uint64_t deadline_ns)
{
    if (clock_monotonic_ns() < p->next_try_ns) {
        nap();
        return;
    }
    if (!p->kafka && kafka_producer_make(p)) {
        cool_down(p);
        return;
    }
    if (!p->cold_ns)
        p->cold_ns = clock_monotonic_ns();
    rd_kafka_error_t *error = rd_kafka_init_transactions(p->kafka, left_ms(deadline_ns, STEP_MS));
    rd_kafka_poll(p->kafka, 0);
    if (error)
        judge(p, error, deadline_ns);
    else
        p->stage = KAFKA_ALONE;
}

/* A mark of an earlier opening of the journal may lie beyond what its disk has kept. */
static void forget_committed(struct kafka_producer *p, const struct kafka_committed *last)
{
    uint64_t until = last->opening == p->opening || last->position < p->opened_at ? last->position : p->opened_at;
    if (until > p->done_until)
        p->done_until = until;
    for (struct kafka_piece *piece = p->box->head; piece; piece = piece->next)
        if (piece->name.position <= until)
            kafka_box_set(p->box, piece, KAFKA_DONE);
    kafka_box_remove_done(p->box);
}

static void find_mark(struct kafka_producer *p, uint64_t deadline_ns)
{
    struct kafka_committed last;
    rd_kafka_resp_err_t code = kafka_committed_read(p, &last, left_ms(deadline_ns, STEP_MS));
    if (code) {
        note_cold(p, code, !is_refusal(code));
        return;
    }
    forget_committed(p, &last);
    p->stage = KAFKA_READY;
    p->next_try_ns = 0;
    p->was_ready = true;
}

/* Whole batches, the oldest first. */
static void hand_over(struct kafka_producer *p)
{
    size_t bytes = 0;
    p->mark = p->box->head->name.position;
    for (struct kafka_piece *piece = p->box->head; piece && !p->has_failed; piece = piece->next) {
        if (piece->name.position != p->mark && bytes >= BYTES_MAX)
            return;
        p->mark = piece->name.position;
        bytes += piece->body.size;
        if (piece->state == KAFKA_WAITS)
            kafka_producer_send(p, piece);
    }
}

static void begin(struct kafka_producer *p, uint64_t deadline_ns)
{
    rd_kafka_error_t *error = rd_kafka_begin_transaction(p->kafka);
    if (error) {
        judge(p, error, deadline_ns);
        return;
    }
    p->stage = KAFKA_BEGUN;
    hand_over(p);
    if (p->has_failed)
        abort_all(p, deadline_ns);
}

static void mark(struct kafka_producer *p, uint64_t deadline_ns)
{
    rd_kafka_error_t *error = kafka_committed_write(p, left_ms(deadline_ns, STEP_MS));
    if (error)
        judge(p, error, deadline_ns);
    else
        p->stage = KAFKA_MARKED;
}

static void commit(struct kafka_producer *p, uint64_t deadline_ns)
{
    rd_kafka_error_t *error = rd_kafka_commit_transaction(p->kafka, left_ms(deadline_ns, UINT32_MAX));
    if (error) {
        judge(p, error, deadline_ns);
        return;
    }
    for (struct kafka_piece *piece = p->box->head; piece; piece = piece->next)
        if (piece->state == KAFKA_ARRIVED)
            kafka_box_set(p->box, piece, KAFKA_DONE);
    kafka_box_remove_done(p->box);
    p->wait_ns = 0;
    p->stage = KAFKA_READY;
}

enum err kafka_transaction_learn(struct kafka_producer *p, uint64_t deadline_ns)
{
    while (kafka_transaction_is_used(p) && p->stage < KAFKA_READY) {
        if (clock_monotonic_ns() >= deadline_ns)
            return AGAIN;
        if (p->stage == KAFKA_COLD)
            warm_up(p, deadline_ns);
        else
            find_mark(p, deadline_ns);
    }
    return OK;
}

enum err kafka_transaction_flush(struct kafka_producer *p, uint64_t deadline_ns)
{
    static void (*const steps[])(struct kafka_producer *, uint64_t) = {
        [KAFKA_COLD] = warm_up, [KAFKA_ALONE] = find_mark, [KAFKA_READY] = begin, [KAFKA_BEGUN] = mark, [KAFKA_MARKED] = commit,
    };
    while (kafka_transaction_is_used(p)) {
        if (!p->box->count)
            return OK;
        if (clock_monotonic_ns() >= deadline_ns)
            return AGAIN;
        steps[p->stage](p, deadline_ns);
    }
    return AGAIN;
}
