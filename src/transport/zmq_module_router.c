/* ROUTER: bound, speaks with all who were let in. Here: opened and closed, and what its owner asks for. Messages come with who
 * sent them, which the gate has decided. */
#include "transport/zmq_module_router.h"

#include "transport/zmq_module.h"
#include "transport/zmtp_listen.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#define BUFFER_MAX ((size_t)128 << 20) /* more than ever comes of one turn of the thread */
#define BUFFER_KEPT ((size_t)1 << 20)  /* what is larger was a burst: its memory goes back */

static void wake(int fd)
{
    uint64_t one = 1;
    (void)!write(fd, &one, sizeof one);
}

static void stop(struct zmq_router *r)
{
    if (!r->is_started)
        return;
    pthread_mutex_lock(&r->lock);
    r->is_stopping = true;
    pthread_mutex_unlock(&r->lock);
    wake(r->wake_fd);
    pthread_join(r->thread, NULL);
}

/* What nobody takes any more still holds those who sent it. */
static void drop(const struct buf *buffer, size_t from)
{
    struct zmq_arrival arrival;
    for (; from < buffer->size; from += sizeof arrival + arrival.size) {
        memcpy(&arrival, buffer->data + from, sizeof arrival);
        zmq_connection_release(arrival.from);
    }
}

void router_close(struct zmq_router **router)
{
    struct zmq_router *r = *router;
    if (!r)
        return;
    stop(r);
    drop(&r->taking, r->taken);
    drop(&r->waiting, 0);
    drop(&r->fresh, 0);
    zmq_loop_clear(r);
    buf_clear(&r->taking);
    buf_clear(&r->waiting);
    buf_clear(&r->leaving);
    for (size_t i = 0; i < r->listener_count; i++)
        close(r->listeners[i]);
    if (r->wake_fd >= 0)
        close(r->wake_fd);
    if (r->news_fd >= 0)
        close(r->news_fd);
    pthread_mutex_destroy(&r->lock);
    sodium_memzero(&r->keys, sizeof r->keys);
    free(r);
    *router = NULL;
}

static bool read_key(uint8_t key[CURVE_KEY], const char *text)
{
    return text && strlen(text) == ZMQ_KEY_MAX - 1 && zmq_z85_decode(key, text);
}

static enum err take_keys(struct zmq_router *r, const struct zmq_keys *keys, char *why, size_t why_size)
{
    if (!keys || !keys->secret_key)
        return OK;
    if (!read_key(r->keys.secret_key, keys->secret_key)
        || crypto_scalarmult_base(r->keys.public_key, r->keys.secret_key) != 0) {
        snprintf(why, why_size, "a key is not one of CURVE: 40 characters, as 'sonde keygen' makes them");
        return USAGE;
    }
    r->server.keys = &r->keys;
    return OK;
}

static struct zmq_router *router_new(const struct zmq_gate *gate)
{
    struct zmq_router *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    r->gate = gate ? *gate : (struct zmq_gate){ 0 };
    r->epoll_fd = -1;
    r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    buf_init(&r->waiting, BUFFER_MAX);
    buf_init(&r->taking, BUFFER_MAX);
    buf_init(&r->leaving, BUFFER_MAX);
    return r;
}

static enum err listen_at(struct zmq_router *r, const char *const *addresses, char *why, size_t why_size)
{
    enum err err = OK;
    for (size_t i = 0; !err && addresses[i]; i++) {
        if (i == ROUTER_ADDRESSES_MAX)
            return FULL;
        err = zmtp_listen(addresses[i], &r->listeners[i], why, why_size);
        r->listener_count += !err;
    }
    return err;
}

/* Signals are for other threads. */
static enum err start(struct zmq_router *r)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int number = pthread_create(&r->thread, NULL, zmq_loop_run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    r->is_started = number == 0;
    return err_from_errno(number);
}

enum err router_open(struct zmq_router **router, const char *const *addresses, const struct zmq_keys *keys,
                     const struct zmq_gate *gate, char *why, size_t why_size)
{
    struct zmq_router *r = *router = router_new(gate);
    if (!r)
        return NOMEM;
    enum err err = r->wake_fd < 0 || r->news_fd < 0 ? IO : zmq_loop_prepare(r);
    if (!err)
        err = take_keys(r, keys, why, why_size);
    if (!err)
        err = listen_at(r, addresses, why, why_size);
    if (!err)
        err = start(r);
    if (err)
        router_close(router);
    return err;
}

int router_fd(const struct zmq_router *router)
{
    return router->news_fd;
}

/* All that waits becomes what is taken from. False: there is nothing. */
static bool refill(struct zmq_router *r)
{
    uint64_t ignored;
    struct buf empty = r->taking;
    if (empty.room > BUFFER_KEPT)
        buf_clear(&empty);
    buf_reset(&empty);
    pthread_mutex_lock(&r->lock);
    r->taking = r->waiting;
    r->waiting = empty;
    if (!r->taking.size)
        (void)!read(r->news_fd, &ignored, sizeof ignored);
    bool was_full = r->is_full;
    r->is_full = false;
    pthread_mutex_unlock(&r->lock);
    if (was_full)
        wake(r->wake_fd);
    r->taken = 0;
    return r->taking.size;
}

static void identify(const struct zmq_connection *from, struct zmq_peer *peer)
{
    memcpy(peer->id, &from->slot, sizeof from->slot);
    memcpy(peer->id + sizeof from->slot, &from->serial, sizeof from->serial);
    peer->id_size = sizeof from->slot + sizeof from->serial;
    snprintf(peer->name, sizeof peer->name, "%s", from->name ? from->name : "");
    memcpy(peer->key, from->key, sizeof peer->key);
    memcpy(peer->address, from->address, sizeof from->address);
}

enum err router_next(struct zmq_router *router, struct zmq_peer *peer, struct buf *message)
{
    struct zmq_arrival arrival;
    buf_reset(message);
    if (router->taken == router->taking.size && !refill(router))
        return AGAIN;
    memcpy(&arrival, router->taking.data + router->taken, sizeof arrival);
    router->taken += sizeof arrival;
    buf_add(message, router->taking.data + router->taken, arrival.size);
    router->taken += arrival.size;
    identify(arrival.from, peer);
    zmq_connection_release(arrival.from);
    enum err err = message->failed ? FULL : OK;
    message->failed = false;
    return err;
}

/* Both or none. */
static enum err add_departure(struct buf *leaving, const struct zmq_departure *departure, struct bytes message)
{
    if (!buf_reserve(leaving, sizeof *departure + message.size)) {
        leaving->failed = leaving->full = false;
        return AGAIN;
    }
    buf_add(leaving, departure, sizeof *departure);
    buf_add(leaving, message.data, message.size);
    return OK;
}

enum err router_send(struct zmq_router *router, const struct zmq_peer *peer, struct bytes message)
{
    struct zmq_departure departure = { .size = message.size };
    enum err err = GONE;
    if (peer->id_size != sizeof departure.slot + sizeof departure.serial)
        return GONE;
    memcpy(&departure.slot, peer->id, sizeof departure.slot);
    memcpy(&departure.serial, peer->id + sizeof departure.slot, sizeof departure.serial);
    pthread_mutex_lock(&router->lock);
    const struct zmq_connection *to = departure.slot < router->slot_room ? router->slots[departure.slot] : NULL;
    bool was_empty = !router->leaving.size;
    if (to && to->serial == departure.serial)
        err = router->leaving.size > ROUTER_LEAVING_BYTES ? AGAIN : OK;
    if (!err)
        err = add_departure(&router->leaving, &departure, message);
    pthread_mutex_unlock(&router->lock);
    if (!err && was_empty)
        wake(router->wake_fd);
    return err;
}
