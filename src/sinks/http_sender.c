/* Retries, back-off, and the size of requests. */
#include "sinks/http_sender.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

#define CHUNK_BYTES (4u << 20)
#define CHUNK_MIN (64u << 10)
#define SEND_BYTES (8u << 20) /* sent without waiting for a flush */
#define WAIT_FIRST_NS (250 * NS_PER_MS)
#define WAIT_MAX_NS (8 * NS_PER_S)
#define PATIENCE_NS (1500 * NS_PER_MS) /* flush reports a failure soon, and is called again */

enum err http_sender_open(struct http_sender *sender)
{
    enum err err = curl_client_open(&sender->client);
    if (err)
        return err;
    outbox_init(&sender->outbox, HTTP_SENDER_OUTBOX_MAX);
    curl_response_init(&sender->answer);
    sender->chunk_bytes = sender->chunk_max = CHUNK_BYTES;
    sender->wait_ns = sender->next_try_ns = sender->position = 0;
    sender->items_max = SIZE_MAX;
    return OK;
}

void http_sender_close(struct http_sender *sender)
{
    curl_client_close(&sender->client);
    outbox_clear(&sender->outbox);
    curl_response_clear(&sender->answer);
}

bool http_sender_has(const struct http_sender *sender, const struct batch *batch)
{
    return batch->position && batch->position <= sender->position;
}

enum err http_sender_end_batch(struct http_sender *sender, const struct batch *batch, size_t count, enum err err)
{
    if (err) {
        outbox_truncate(&sender->outbox, count);
        if (err == FULL && count == 0) { /* it does not fit into an empty outbox */
            curl_client_set_error(&sender->client, "a batch exceeds the maximum of %u MiB", HTTP_SENDER_OUTBOX_MAX >> 20);
            return err;
        }
        enum err sent = http_sender_flush(sender, 0);
        return sent ? sent : AGAIN;
    }
    if (batch->position)
        sender->position = batch->position;
    if (sender->outbox.used >= SEND_BYTES && clock_monotonic_ns() >= sender->next_try_ns)
        http_sender_flush(sender, 0); /* the batch is in the outbox: the next flush reports a failure */
    return OK;
}

void http_sender_reject(struct http_sender *sender, struct outbox_item *item)
{
    sender->refused += !item->is_done;
    item->is_done = true;
}

void http_sender_mark_delivered(struct http_sender *sender, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sender->outbox.items[i].is_done = true;
}

static void sleep_until(uint64_t time_ns)
{
    struct timespec until = { (time_t)(time_ns / NS_PER_S), (long)(time_ns % NS_PER_S) };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* Waits until the back-off is over. */
static enum err wait_back_off(const struct http_sender *sender, uint64_t patience_ns, uint64_t deadline_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (sender->next_try_ns > now_ns) {
        if (sender->next_try_ns >= deadline_ns || sender->next_try_ns > patience_ns)
            return sender->last;
        sleep_until(sender->next_try_ns);
    }
    return now_ns >= deadline_ns ? AGAIN : OK;
}

/* If only our own deadline was too short, the delay does not grow. */
static void back_off(struct http_sender *sender, enum err err, uint64_t deadline_ns)
{
    uint64_t asked_ns = sender->answer.retry_after_ns, now_ns = clock_monotonic_ns();
    sender->answer.retry_after_ns = 0;
    sender->wait_ns = sender->wait_ns && now_ns < deadline_ns ? sender->wait_ns * 2 : WAIT_FIRST_NS;
    if (sender->wait_ns > WAIT_MAX_NS)
        sender->wait_ns = WAIT_MAX_NS;
    sender->next_try_ns = now_ns + (asked_ns > sender->wait_ns ? asked_ns : sender->wait_ns);
    sender->last = err;
}

/* Sends less next time: the request was too large (FULL), took too long (AGAIN), or contained an invalid item
 * (CORRUPT). A single item that is too large or invalid is rejected for good. */
static void shrink(struct http_sender *sender, enum err err, size_t count, size_t bytes)
{
    if (count == 1 && err != AGAIN)
        http_sender_reject(sender, &sender->outbox.items[0]);
    else if (err == FULL)
        sender->chunk_max = sender->chunk_bytes = bytes / 2;
    else if (err == CORRUPT)
        sender->items_max = count / 2;
    else if (bytes / 2 >= CHUNK_MIN)
        sender->chunk_bytes = bytes / 2;
}

/* Returns to the request size before the failure. */
static void grow(struct http_sender *sender)
{
    sender->wait_ns = sender->next_try_ns = 0;
    sender->chunk_bytes *= 2;
    if (sender->chunk_bytes > sender->chunk_max)
        sender->chunk_bytes = sender->chunk_max;
    if (sender->items_max < SIZE_MAX / 2)
        sender->items_max *= 2;
}

static enum err send_portion(struct http_sender *sender, uint64_t deadline_ns)
{
    size_t bytes, count = outbox_first_items(&sender->outbox, sender->chunk_bytes, sender->items_max, &bytes);
    sender->sent = count;
    enum err err = sender->post(sender->sink, count, bytes, deadline_ns);
    if (err == FULL || err == AGAIN || err == CORRUPT)
        shrink(sender, err, sender->sent, bytes);
    outbox_remove_done(&sender->outbox);
    if (!err)
        grow(sender);
    if (err == FULL || err == CORRUPT)
        return OK; /* handled */
    if (err)
        back_off(sender, err, deadline_ns);
    return err;
}

enum err http_sender_flush(struct http_sender *sender, uint64_t deadline_ns)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (!deadline_ns)
        deadline_ns = begin_ns + sender->client.timeout_ns;
    while (sender->outbox.count) {
        deadline_ns = sink_deadline(sender->client.stop_ns, deadline_ns);
        enum err err = wait_back_off(sender, begin_ns + PATIENCE_NS, deadline_ns);
        if (err)
            return err;
        err = send_portion(sender, deadline_ns);
        if (err && err != AGAIN) /* retrying soon would not help */
            return err;
    }
    return OK;
}
