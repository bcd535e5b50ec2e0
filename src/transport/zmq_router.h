/* Internals of a router, shared by its two halves: its owner receives and sends (zmq_router.c), a thread serves the
 * connections (zmq_router_loop.c). Between them are two buffers protected by a lock. */
#ifndef SONDE_TRANSPORT_ZMQ_ROUTER_H
#define SONDE_TRANSPORT_ZMQ_ROUTER_H

#include "transport/zmq.h"
#include "transport/zmtp.h"

#include <pthread.h>
#include <stdatomic.h>

#define ROUTER_ADDRESSES_MAX 32
#define ROUTER_ADDRESS_MAX 64
#define ROUTER_INCOMING_BYTES ((size_t)4 << 20)  /* the thread stops reading while the owner has more than this to take */
#define ROUTER_OUTGOING_BYTES ((size_t)16 << 20) /* sending returns AGAIN while the thread has more than this to send */
#define ROUTER_READ_BYTES 65536u

/* A connected peer. Freed when it is disconnected and none of its messages waits. */
struct zmq_connection {
    struct zmtp zmtp;
    int fd;
    uint32_t slot, serial; /* its id: index in the table, and a number that is never reused */
    _Atomic unsigned holders;
    struct buf out;        /* not written to the socket yet */
    size_t written;        /* bytes of out that are written */
    bool is_ending;        /* input is ignored; closed once out is written */
    uint64_t since_ns;     /* CLOCK_MONOTONIC */
    char *name;            /* from the authorizer */
    char key[ZMQ_KEY_MAX], address[ROUTER_ADDRESS_MAX];
};

/* Header of each message in the buffers. */
struct zmq_received {
    struct zmq_connection *from; /* holds a reference */
    size_t size;
};

struct zmq_outgoing {
    uint32_t slot, serial;
    size_t size;
};

struct zmq_router {
    struct curve_pair keys;
    struct zmq_authorizer authorizer;
    int listeners[ROUTER_ADDRESSES_MAX];
    size_t listener_count;
    int epoll_fd, wake_fd; /* of the thread */
    int news_fd;           /* for the owner: readable when there are messages */
    pthread_t thread;
    bool is_started;

    pthread_mutex_t lock;
    struct buf incoming, outgoing;
    struct zmq_connection **slots; /* modified only by the thread */
    uint32_t slot_capacity;
    bool is_stopping, is_full;     /* is_full: the thread waits until the owner has taken something */

    /* used by the owner */
    struct buf taking;
    size_t taken;

    /* used by the thread */
    struct zmtp_server server;
    struct buf fresh, sending, out;
    uint32_t *free_slots, free_count, serial;
    bool is_paused;         /* out of descriptors: not accepting for a while */
    uint64_t checked_ns;
    size_t unopened; /* connections without a completed handshake, as of the last check, and those accepted since */
    uint8_t input[ROUTER_READ_BYTES];
};

/* Runs until is_stopping; then sends what is left, as far as the sockets take it at once. */
void *zmq_router_loop_run(void *router);
enum err zmq_router_loop_init(struct zmq_router *router); /* before the thread starts */
void zmq_router_loop_clear(struct zmq_router *router);    /* after it has ended */
void zmq_connection_release(struct zmq_connection *connection);

#endif
