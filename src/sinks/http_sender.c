/* The loop around the requests of a sink. */
#include "sinks/http_sender.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

#define PORTION_BYTES (4u << 20)
#define PORTION_LEAST (64u << 10)
#define SEND_BYTES (8u << 20) /* so much is sent without being asked for */
#define WAIT_FIRST_NS (250 * NS_PER_MS)
#define WAIT_MAX_NS (8 * NS_PER_S)
#define PATIENCE_NS (1500 * NS_PER_MS) /* whoever flushes hears soon that it does not go, and tries again later */

enum err courier_open(struct courier *courier)
{
    enum err err = http_client_open(&courier->client);
    if (err)
        return err;
    outbox_init(&courier->box, COURIER_BOX_MAX);
    http_answer_init(&courier->answer);
    courier->portion_bytes = courier->portion_max = PORTION_BYTES;
    courier->wait_ns = courier->next_try_ns = courier->position = 0;
    courier->pieces_max = SIZE_MAX;
    return OK;
}

void courier_close(struct courier *courier)
{
    http_client_close(&courier->client);
    outbox_clear(&courier->box);
    http_answer_clear(&courier->answer);
}

bool courier_knows(const struct courier *courier, const struct batch *batch)
{
    return batch->position && batch->position <= courier->position;
}

enum err courier_took(struct courier *courier, const struct batch *batch, size_t count, enum err err)
{
    if (err) {
        outbox_take_back(&courier->box, count);
        if (err == FULL && count == 0) { /* alone it is too large: it never fits */
            http_client_say(&courier->client, "a batch is larger than %u MiB", COURIER_BOX_MAX >> 20);
            return err;
        }
        enum err sent = courier_flush(courier, 0);
        return sent ? sent : AGAIN;
    }
    if (batch->position)
        courier->position = batch->position;
    if (courier->box.used >= SEND_BYTES && clock_monotonic_ns() >= courier->next_try_ns)
        courier_flush(courier, 0); /* it is in the box: a failure is told by flush */
    return OK;
}

void courier_refuse(struct courier *courier, struct outbox_piece *piece)
{
    courier->refused += !piece->is_done;
    piece->is_done = true;
}

void courier_done(struct courier *courier, size_t count)
{
    for (size_t i = 0; i < count; i++)
        courier->box.pieces[i].is_done = true;
}

static void sleep_until(uint64_t time_ns)
{
    struct timespec until = { (time_t)(time_ns / NS_PER_S), (long)(time_ns % NS_PER_S) };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* After a failure nobody is asked again before its time. */
static enum err wait_turn(const struct courier *courier, uint64_t patience_ns, uint64_t deadline_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (courier->next_try_ns > now_ns) {
        if (courier->next_try_ns >= deadline_ns || courier->next_try_ns > patience_ns)
            return courier->last;
        sleep_until(courier->next_try_ns);
    }
    return now_ns >= deadline_ns ? AGAIN : OK;
}

/* Where it was our own deadline that came too early, the other side need not be spared. */
static void note_failure(struct courier *courier, enum err err, uint64_t deadline_ns)
{
    uint64_t asked_ns = courier->answer.retry_after_ns, now_ns = clock_monotonic_ns();
    courier->answer.retry_after_ns = 0;
    courier->wait_ns = courier->wait_ns && now_ns < deadline_ns ? courier->wait_ns * 2 : WAIT_FIRST_NS;
    if (courier->wait_ns > WAIT_MAX_NS)
        courier->wait_ns = WAIT_MAX_NS;
    courier->next_try_ns = now_ns + (asked_ns > courier->wait_ns ? asked_ns : courier->wait_ns);
    courier->last = err;
}

/* Too much at once (FULL), or for the time that there was (AGAIN), or one of them is refused (CORRUPT): less the next time.
 * One piece alone that is too much is refused for good. */
static void shrink(struct courier *courier, enum err err, size_t count, size_t bytes)
{
    if (count == 1 && err != AGAIN)
        courier_refuse(courier, &courier->box.pieces[0]);
    else if (err == FULL)
        courier->portion_max = courier->portion_bytes = bytes / 2;
    else if (err == CORRUPT)
        courier->pieces_max = count / 2;
    else if (bytes / 2 >= PORTION_LEAST)
        courier->portion_bytes = bytes / 2;
}

/* As much again as before a failure. */
static void grow(struct courier *courier)
{
    courier->wait_ns = courier->next_try_ns = 0;
    courier->portion_bytes *= 2;
    if (courier->portion_bytes > courier->portion_max)
        courier->portion_bytes = courier->portion_max;
    if (courier->pieces_max < SIZE_MAX / 2)
        courier->pieces_max *= 2;
}

static enum err send_portion(struct courier *courier, uint64_t deadline_ns)
{
    size_t bytes, count = outbox_portion(&courier->box, courier->portion_bytes, courier->pieces_max, &bytes);
    courier->sent = count;
    enum err err = courier->post(courier->sink, count, bytes, deadline_ns);
    if (err == FULL || err == AGAIN || err == CORRUPT)
        shrink(courier, err, courier->sent, bytes);
    outbox_remove_done(&courier->box);
    if (!err)
        grow(courier);
    if (err == FULL || err == CORRUPT)
        return OK; /* dealt with */
    if (err)
        note_failure(courier, err, deadline_ns);
    return err;
}

enum err courier_flush(struct courier *courier, uint64_t deadline_ns)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (!deadline_ns)
        deadline_ns = begin_ns + courier->client.timeout_ns;
    while (courier->box.count) {
        enum err err = wait_turn(courier, begin_ns + PATIENCE_NS, deadline_ns);
        if (err)
            return err;
        err = send_portion(courier, deadline_ns);
        if (err && err != AGAIN) /* nothing that waiting a little would mend */
            return err;
    }
    return OK;
}
