/* ROUTER: bound, connected to all authorized peers. This file opens and closes it and has the functions its owner
 * calls; zmq_router_loop.c has the thread. */
#include "transport/zmq_router.h"

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

#define BUFFER_MAX ((size_t)128 << 20) /* more than one turn of the thread ever produces */
#define BUFFER_KEPT ((size_t)1 << 20)  /* a larger buffer was a burst: free it */

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

/* Messages that were not taken still hold a reference to their connection. */
static void release_messages(const struct buf *buffer, size_t from)
{
    struct zmq_received received;
    for (; from < buffer->size; from += sizeof received + received.size) {
        memcpy(&received, buffer->data + from, sizeof received);
        zmq_connection_release(received.from);
    }
}

void zmq_router_close(struct zmq_router **router)
{
    struct zmq_router *r = *router;
    if (!r)
        return;
    stop(r);
    release_messages(&r->taking, r->taken);
    release_messages(&r->incoming, 0);
    release_messages(&r->fresh, 0);
    zmq_router_loop_clear(r);
    buf_clear(&r->taking);
    buf_clear(&r->incoming);
    buf_clear(&r->outgoing);
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

static enum err take_keys(struct zmq_router *r, const struct zmq_keys *keys, char *error, size_t error_size)
{
    if (!keys || !keys->secret_key)
        return OK;
    if (!read_key(r->keys.secret_key, keys->secret_key)
        || crypto_scalarmult_base(r->keys.public_key, r->keys.secret_key) != 0) {
        snprintf(error, error_size, "not a CURVE key (expected 40 characters, as written by 'sonde keygen')");
        return USAGE;
    }
    r->server.keys = &r->keys;
    return OK;
}

static struct zmq_router *router_new(const struct zmq_authorizer *authorizer)
{
    struct zmq_router *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    r->authorizer = authorizer ? *authorizer : (struct zmq_authorizer){ 0 };
    r->epoll_fd = -1;
    r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    buf_init(&r->incoming, BUFFER_MAX);
    buf_init(&r->taking, BUFFER_MAX);
    buf_init(&r->outgoing, BUFFER_MAX);
    return r;
}

static enum err listen_at(struct zmq_router *r, const char *const *addresses, char *error, size_t error_size)
{
    enum err err = OK;
    for (size_t i = 0; !err && addresses[i]; i++) {
        if (i == ROUTER_ADDRESSES_MAX)
            return FULL;
        err = zmtp_listen(addresses[i], &r->listeners[i], error, error_size);
        r->listener_count += !err;
    }
    return err;
}

/* Signals are handled by other threads. */
static enum err start(struct zmq_router *r)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int number = pthread_create(&r->thread, NULL, zmq_router_loop_run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    r->is_started = number == 0;
    return err_from_errno(number);
}

enum err zmq_router_open(struct zmq_router **router, const char *const *addresses, const struct zmq_keys *keys,
                         const struct zmq_authorizer *authorizer, char *error, size_t error_size)
{
    struct zmq_router *r = *router = router_new(authorizer);
    if (!r)
        return NOMEM;
    enum err err = r->wake_fd < 0 || r->news_fd < 0 ? IO : zmq_router_loop_init(r);
    if (!err)
        err = take_keys(r, keys, error, error_size);
    if (!err)
        err = listen_at(r, addresses, error, error_size);
    if (!err)
        err = start(r);
    if (err)
        zmq_router_close(router);
    return err;
}

int zmq_router_fd(const struct zmq_router *router)
{
    return router->news_fd;
}

/* Swaps the buffers: everything received becomes available. false: there is nothing. */
static bool refill(struct zmq_router *r)
{
    uint64_t ignored;
    struct buf empty = r->taking;
    if (empty.capacity > BUFFER_KEPT)
        buf_clear(&empty);
    buf_reset(&empty);
    pthread_mutex_lock(&r->lock);
    r->taking = r->incoming;
    r->incoming = empty;
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

enum err zmq_router_next(struct zmq_router *router, struct zmq_peer *peer, struct buf *message)
{
    struct zmq_received received;
    buf_reset(message);
    if (router->taken == router->taking.size && !refill(router))
        return AGAIN;
    memcpy(&received, router->taking.data + router->taken, sizeof received);
    router->taken += sizeof received;
    buf_add(message, router->taking.data + router->taken, received.size);
    router->taken += received.size;
    identify(received.from, peer);
    zmq_connection_release(received.from);
    enum err err = message->failed ? FULL : OK;
    message->failed = false;
    return err;
}

/* Appends both or neither. */
static enum err add_outgoing(struct buf *queue, const struct zmq_outgoing *outgoing, struct bytes message)
{
    if (!buf_reserve(queue, sizeof *outgoing + message.size)) {
        queue->failed = queue->full = false;
        return AGAIN;
    }
    buf_add(queue, outgoing, sizeof *outgoing);
    buf_add(queue, message.data, message.size);
    return OK;
}

enum err zmq_router_send(struct zmq_router *router, const struct zmq_peer *peer, struct bytes message)
{
    struct zmq_outgoing outgoing = { .size = message.size };
    enum err err = GONE;
    if (peer->id_size != sizeof outgoing.slot + sizeof outgoing.serial)
        return GONE;
    memcpy(&outgoing.slot, peer->id, sizeof outgoing.slot);
    memcpy(&outgoing.serial, peer->id + sizeof outgoing.slot, sizeof outgoing.serial);
    pthread_mutex_lock(&router->lock);
    const struct zmq_connection *to = outgoing.slot < router->slot_capacity ? router->slots[outgoing.slot] : NULL;
    bool was_empty = !router->outgoing.size;
    if (to && to->serial == outgoing.serial)
        err = router->outgoing.size > ROUTER_OUTGOING_BYTES ? AGAIN : OK;
    if (!err)
        err = add_outgoing(&router->outgoing, &outgoing, message);
    pthread_mutex_unlock(&router->lock);
    if (!err && was_empty)
        wake(router->wake_fd);
    return err;
}
