/* The inside of a router: what its two halves share. The owner takes messages and sends (zmq_module_router.c), a thread speaks
 * with the peers (zmq_module_loop.c); between them stand two buffers behind a lock. */
#ifndef SONDE_TRANSPORT_ZMQ_MODULE_ROUTER_H
#define SONDE_TRANSPORT_ZMQ_MODULE_ROUTER_H

#include "transport/zmq.h"
#include "transport/zmtp.h"

#include <pthread.h>
#include <stdatomic.h>

#define ROUTER_ADDRESSES_MAX 32
#define ROUTER_ADDRESS_MAX 64
#define ROUTER_WAITING_BYTES ((size_t)4 << 20)  /* nothing is read while more waits for the owner */
#define ROUTER_LEAVING_BYTES ((size_t)16 << 20) /* and nothing taken from it while more waits for the thread */
#define ROUTER_READ_BYTES 65536u

/* One who is connected. Lives as long as he is, or a message of his waits. */
struct zmq_connection {
    struct zmtp zmtp;
    int fd;
    uint32_t slot, serial; /* his id: where he stands in the table, and the how manieth he is */
    _Atomic unsigned holders;
    struct buf out;        /* that could not be written yet */
    size_t written;        /* of it */
    bool is_ending;        /* he is not listened to: when he has got what is in out he will go */
    uint64_t since_ns;     /* CLOCK_MONOTONIC */
    char *name;            /* from the gate */
    char key[ZMQ_KEY_MAX], address[ROUTER_ADDRESS_MAX];
};

/* Before each message in the buffers. */
struct zmq_arrival {
    struct zmq_connection *from; /* held */
    size_t size;
};

struct zmq_departure {
    uint32_t slot, serial;
    size_t size;
};

struct zmq_router {
    struct curve_pair keys;
    struct zmq_gate gate;
    int listeners[ROUTER_ADDRESSES_MAX];
    size_t listener_count;
    int epoll_fd, wake_fd; /* of the thread */
    int news_fd;           /* of the owner: readable when something waits */
    pthread_t thread;
    bool is_started;

    pthread_mutex_t lock;
    struct buf waiting, leaving;
    struct zmq_connection **slots; /* written by the thread alone */
    uint32_t slot_room;
    bool is_stopping, is_full;     /* is_full: the thread waits until the owner has taken something */

    /* of the owner */
    struct buf taking;
    size_t taken;

    /* of the thread */
    struct zmtp_server server;
    struct buf fresh, sending, out;
    uint32_t *free_slots, free_count, serial;
    bool is_deaf;          /* there are no descriptors left: nobody is let in for a while */
    uint64_t tended_ns;
    uint8_t room[ROUTER_READ_BYTES];
};

/* The thread, until is_stopping. What leaves then is still sent, as far as the peers take it at once. */
void *zmq_loop_run(void *router);
enum err zmq_loop_prepare(struct zmq_router *router); /* before it is started */
void zmq_loop_clear(struct zmq_router *router);       /* when it has ended */
void zmq_connection_release(struct zmq_connection *connection);

#endif
