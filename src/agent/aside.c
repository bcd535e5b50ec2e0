/* The agent's side encodes, the thread decodes: a batch borrows from sensors and jobs that may be gone when its turn comes. */
#include "agent/aside.h"

#include "base/clock.h"
#include "base/log.h"
#include "wire/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define GATHER_NS (200 * NS_PER_MS) /* what comes within this time is handed over together */
#define PAUSE_NS (250 * NS_PER_MS)
#define FLUSH_NS (10 * NS_PER_S)

struct aside {
    struct sink_choice choice; /* without settings */
    void *state;
    struct stream *encoder, *decoder;
    char *host; /* of the first batch: all are of this one */
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t word;
    struct buf queue; /* a size and a record, again and again */
    bool is_gone;
    uint64_t stop_ns; /* CLOCK_MONOTONIC; 0: go on */

    /* of the thread */
    struct buf work;
    struct batch batch;
    bool is_late;
    uint64_t refused;
    enum err err;
};

static uint64_t stop_ns(struct aside *aside)
{
    pthread_mutex_lock(&aside->lock);
    uint64_t time_ns = aside->stop_ns;
    pthread_mutex_unlock(&aside->lock);
    return time_ns;
}

static void wait_until(struct aside *aside, uint64_t time_ns)
{
    struct timespec until = { (time_t)(time_ns / NS_PER_S), (long)(time_ns % NS_PER_S) };
    while (!aside->stop_ns && clock_monotonic_ns() < time_ns)
        pthread_cond_timedwait(&aside->word, &aside->lock, &until);
}

/* Takes all that is in the queue, and waits for it. False: nothing is there, and nothing more comes. */
static bool fetch(struct aside *aside)
{
    pthread_mutex_lock(&aside->lock);
    while (!aside->queue.size && !aside->stop_ns)
        pthread_cond_wait(&aside->word, &aside->lock);
    wait_until(aside, clock_monotonic_ns() + GATHER_NS);
    struct buf empty = aside->work;
    buf_reset(&empty);
    aside->work = aside->queue;
    aside->queue = empty;
    pthread_mutex_unlock(&aside->lock);
    return aside->work.size != 0;
}

/* How a call went: says so once, and waits a little before it is tried again. True: it is to be tried again. */
static bool is_again(struct aside *aside, enum err err)
{
    const char *name = aside->choice.sink->name;
    if (!err && aside->is_late)
        log_warn("the sink %s has caught up", name);
    if (err && err != GONE && !aside->is_late)
        log_warn("the sink %s is behind: %s; what was read is kept for it, as much as fits", name,
                 sink_choice_message(&aside->choice, aside->state, err));
    aside->is_late = err && err != GONE;
    aside->err = err;
    uint64_t until_ns = stop_ns(aside), now_ns = clock_monotonic_ns();
    if (!err || err == GONE || (until_ns && now_ns >= until_ns))
        return false;
    if (until_ns) { /* there is little time: not a word wakes us any more */
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
        return true;
    }
    pthread_mutex_lock(&aside->lock);
    wait_until(aside, now_ns + PAUSE_NS);
    pthread_mutex_unlock(&aside->lock);
    return true;
}

static void write_record(struct aside *aside, struct bytes record)
{
    struct batch *batch = &aside->batch;
    enum err err = stream_decode(aside->decoder, record, batch);
    batch->host = aside->host;
    if (!err)
        do
            err = aside->choice.sink->write(aside->state, batch);
        while (err && is_again(aside, err));
    aside->err = err;
}

static void flush(struct aside *aside)
{
    const struct sink *sink = aside->choice.sink;
    enum err err;
    do {
        uint64_t until_ns = stop_ns(aside);
        err = sink->flush(aside->state, until_ns ? until_ns : clock_monotonic_ns() + FLUSH_NS);
    } while (is_again(aside, err));
    uint64_t refused = sink->refused ? sink->refused(aside->state) : 0;
    if (refused && !aside->refused)
        log_warn("the sink %s loses samples: %s", sink->name, sink_choice_message(&aside->choice, aside->state, OK));
    aside->refused = refused;
}

static void *run(void *argument)
{
    struct aside *aside = argument;
    while (aside->err != GONE && fetch(aside)) {
        uint32_t size;
        for (size_t at = 0; at < aside->work.size && aside->err != GONE; at += sizeof size + size) {
            memcpy(&size, aside->work.data + at, sizeof size);
            write_record(aside, (struct bytes){ aside->work.data + at + sizeof size, size });
        }
        if (aside->err != GONE)
            flush(aside);
    }
    pthread_mutex_lock(&aside->lock);
    aside->is_gone = true;
    pthread_mutex_unlock(&aside->lock);
    return NULL;
}

static void aside_free(struct aside *aside)
{
    stream_free(&aside->encoder);
    stream_free(&aside->decoder);
    buf_clear(&aside->queue);
    buf_clear(&aside->work);
    batch_clear(&aside->batch);
    pthread_mutex_destroy(&aside->lock);
    pthread_cond_destroy(&aside->word);
    free(aside->host);
    free(aside);
}

enum err aside_open(struct aside **aside, const struct sink *sink, void *state)
{
    struct aside *new = *aside = calloc(1, sizeof *new);
    pthread_condattr_t monotonic;
    if (!new)
        return NOMEM;
    *new = (struct aside){ .choice.sink = sink, .state = state };
    buf_init(&new->queue, ASIDE_QUEUE_MAX);
    buf_init(&new->work, ASIDE_QUEUE_MAX);
    batch_init(&new->batch);
    pthread_mutex_init(&new->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&new->word, &monotonic);
    pthread_condattr_destroy(&monotonic);
    enum err err = stream_new(&new->encoder);
    if (!err)
        err = stream_new(&new->decoder);
    int number = err ? 0 : pthread_create(&new->thread, NULL, run, new);
    if (err || number) {
        aside_free(new);
        *aside = NULL;
    }
    return err ? err : err_from_errno(number);
}

/* Adds the record, or leaves the queue as it was. */
static enum err add_record(struct aside *aside, const struct batch *batch)
{
    struct buf *queue = &aside->queue;
    size_t before = queue->size;
    uint32_t size = 0;
    buf_add(queue, &size, sizeof size);
    enum err err = buf_err(queue);
    if (!err)
        err = stream_encode(aside->encoder, batch, queue);
    if (err) {
        queue->size = before;
        queue->failed = queue->full = false;
        return err;
    }
    size = (uint32_t)(queue->size - before - sizeof size);
    memcpy(queue->data + before, &size, sizeof size);
    return OK;
}

enum err aside_take(struct aside *aside, const struct batch *batch)
{
    if (!aside->host && batch->host && !(aside->host = strdup(batch->host)))
        return NOMEM;
    pthread_mutex_lock(&aside->lock);
    enum err err = aside->is_gone ? GONE : add_record(aside, batch);
    pthread_cond_signal(&aside->word);
    pthread_mutex_unlock(&aside->lock);
    return err;
}

enum err aside_close(struct aside **aside, uint64_t linger_ns)
{
    if (!*aside)
        return OK;
    pthread_mutex_lock(&(*aside)->lock);
    (*aside)->stop_ns = clock_monotonic_ns() + linger_ns;
    pthread_cond_signal(&(*aside)->word);
    pthread_mutex_unlock(&(*aside)->lock);
    pthread_join((*aside)->thread, NULL);
    enum err err = (*aside)->err;
    aside_free(*aside);
    *aside = NULL;
    return err == GONE ? OK : err;
}
