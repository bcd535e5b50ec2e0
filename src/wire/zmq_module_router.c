/* ROUTER: bound, speaks with all who were let in. Each message comes behind the id of its connection; who it is was decided by
 * the gate (zmq_module_keeper.c) and comes with the message as its user. */
#include "wire/zmq_module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define WAITING_MAX 1000
#define BACKLOG 4096 /* ten thousand agents may come at once after a pause of the network */

struct zmq_router {
    void *context, *socket;
    struct zmq_keeper *keeper;
};

void router_close(struct zmq_router **router)
{
    struct zmq_router *r = *router;
    if (!r)
        return;
    if (r->socket)
        zmq_close(r->socket);
    if (r->context)
        zmq_ctx_term(r->context);
    keeper_close(&r->keeper);
    free(r);
    *router = NULL;
}

/* Connections that died without a word are found by the kernel, within two minutes. */
static void keep_alive(void *socket)
{
    zmq_module_set(socket, ZMQ_TCP_KEEPALIVE, 1);
    zmq_module_set(socket, ZMQ_TCP_KEEPALIVE_IDLE, 60);
    zmq_module_set(socket, ZMQ_TCP_KEEPALIVE_INTVL, 15);
    zmq_module_set(socket, ZMQ_TCP_KEEPALIVE_CNT, 4);
}

static enum err prepare(struct zmq_router *r, const struct zmq_keys *keys, const struct zmq_gate *gate, char *why,
                        size_t why_size)
{
    int64_t largest = ZMQ_MODULE_MESSAGE_MAX;
    r->context = zmq_ctx_new();
    r->socket = r->context ? zmq_socket(r->context, ZMQ_ROUTER) : NULL;
    if (!r->socket)
        return zmq_module_fail(why, why_size);
    zmq_module_set(r->socket, ZMQ_LINGER, 0);
    zmq_module_set(r->socket, ZMQ_SNDHWM, WAITING_MAX);
    zmq_module_set(r->socket, ZMQ_RCVHWM, WAITING_MAX);
    zmq_module_set(r->socket, ZMQ_ROUTER_MANDATORY, 1);
    zmq_module_set(r->socket, ZMQ_BACKLOG, BACKLOG);
    zmq_module_set(r->socket, ZMQ_IPV6, 1);
    zmq_setsockopt(r->socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    keep_alive(r->socket);
    if (gate) {
        zmq_setsockopt(r->socket, ZMQ_ZAP_DOMAIN, "sonde", 5); /* without it libzmq asks nobody about peers without a key */
        enum err err = keeper_open(&r->keeper, r->context, gate);
        if (err)
            return err;
    }
    return zmq_module_protect(r->socket, keys, true, why, why_size);
}

enum err router_open(struct zmq_router **router, const char *const *addresses, const struct zmq_keys *keys,
                     const struct zmq_gate *gate, char *why, size_t why_size)
{
    struct zmq_router *r = *router = calloc(1, sizeof *r);
    if (!r)
        return NOMEM;
    enum err err = prepare(r, keys, gate, why, why_size);
    for (size_t i = 0; !err && addresses[i]; i++)
        if (zmq_bind(r->socket, addresses[i]) != 0) {
            err = zmq_module_fail(why, why_size);
            size_t used = strlen(why);
            snprintf(why + used, why_size - used, ": %s", addresses[i]);
        }
    if (err)
        router_close(router);
    return err;
}

int router_fd(const struct zmq_router *router)
{
    return zmq_module_fd(router->socket);
}

static void copy_text(char *to, size_t room, const char *from, size_t size)
{
    size = size < room ? size : room - 1;
    memcpy(to, from, size);
    to[size] = '\0';
}

/* The keeper's user is "KEY NAME". */
static void identify(zmq_msg_t *part, struct zmq_peer *peer)
{
    const char *user = zmq_msg_gets(part, "User-Id"), *address = zmq_msg_gets(part, "Peer-Address");
    const char *blank = user ? strchr(user, ' ') : NULL;
    peer->key[0] = peer->name[0] = peer->address[0] = '\0';
    if (blank) {
        copy_text(peer->key, sizeof peer->key, user, (size_t)(blank - user));
        copy_text(peer->name, sizeof peer->name, blank + 1, strlen(blank + 1));
    }
    if (address && !strncmp(address, "::ffff:", 7))
        address += 7;
    if (address)
        copy_text(peer->address, sizeof peer->address, address, strlen(address));
}

static enum err take_id(void *socket, struct zmq_peer *peer, bool *more)
{
    zmq_msg_t part;
    zmq_msg_init(&part);
    if (zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&part);
        return zmq_errno() == EAGAIN || zmq_errno() == EINTR ? AGAIN : IO;
    }
    size_t size = zmq_msg_size(&part);
    peer->id_size = size < ZMQ_PEER_MAX ? size : ZMQ_PEER_MAX;
    memcpy(peer->id, zmq_msg_data(&part), peer->id_size);
    *more = zmq_msg_more(&part);
    zmq_msg_close(&part);
    return OK;
}

enum err router_next(struct zmq_router *router, struct zmq_peer *peer, struct buf *message)
{
    bool more, failed;
    zmq_msg_t part;
    buf_reset(message);
    enum err err = take_id(router->socket, peer, &more);
    for (bool first = true; !err && more; first = false) {
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, router->socket, ZMQ_DONTWAIT) < 0)
            err = IO;
        else if (first)
            identify(&part, peer);
        buf_add(message, zmq_msg_data(&part), err ? 0 : zmq_msg_size(&part));
        more = zmq_msg_more(&part);
        zmq_msg_close(&part);
    }
    failed = message->failed;
    message->failed = false;
    return err ? err : failed ? FULL : OK;
}

enum err router_send(struct zmq_router *router, const struct zmq_peer *peer, struct bytes message)
{
    while (zmq_send(router->socket, peer->id, peer->id_size, ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0)
        switch (zmq_errno()) {
        case EINTR: break;
        case EAGAIN: return AGAIN;
        case EHOSTUNREACH: return GONE;
        default: return IO;
        }
    return zmq_module_send(router->socket, message);
}
