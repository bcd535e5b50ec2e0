/* ZeroMQ, which is a module of its own (wire-zmq.so): a program that links libzmq takes 14 ms and 6 MB before it does
 * anything. Loaded when a socket is wanted for the first time. All sockets are libzmq's but the router, which has its own end
 * of the protocol (transport/zmtp.h). */
#ifndef SONDE_TRANSPORT_ZMQ_H
#define SONDE_TRANSPORT_ZMQ_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define ZMQ_MODULE_VERSION 2
#define ZMQ_MODULE_SYMBOL "sonde_zmq"

struct zmq_pull; /* a PULL socket: takes what others PUSH */
struct zmq_push; /* a PUSH socket: gives to one who PULLs */
struct zmq_dealer; /* a DEALER: the end of an agent, speaks with one collector */
struct zmq_router; /* a ROUTER: the end of a collector, speaks with many */

#define ZMQ_KEY_MAX 41   /* a key in Z85, with its NUL */
#define ZMQ_PEER_MAX 256 /* bytes by which a router names a connection */

/* How a connection is protected. All texts borrowed until the call returns. */
struct zmq_keys {
    const char *public_key, *secret_key; /* ours, Z85; NULL: not encrypted */
    const char *server_key;              /* of the collector that we connect to */
};

/* Who may connect to a router. Called from the router's own thread with the public key of a peer in Z85 (NULL: it has none) and
 * its address; name gets what it is known by, "" when it may speak for any host. */
struct zmq_gate {
    bool (*allows)(void *context, const char *public_key, const char *address, char name[256]);
    void *context;
};

/* Who sent a message: made by the router. */
struct zmq_peer {
    uint8_t id[ZMQ_PEER_MAX];
    size_t id_size;
    char name[256];    /* from the gate */
    char key[ZMQ_KEY_MAX]; /* its public one; "": it has none. To ask the gate again when the list has changed */
    char address[64];  /* "" when it is not known */
};

/* What the module exports. */
struct zmq_module {
    uint32_t version; /* ZMQ_MODULE_VERSION when it was built */

    /* Binds at "tcp://127.0.0.1:5557". why gets the reason of a failure. */
    enum err (*pull_open)(struct zmq_pull **pull, const char *address, char *why, size_t why_size);
    int (*pull_fd)(const struct zmq_pull *pull); /* readable: there may be messages; read all of them */

    /* The next message, whatever its parts. AGAIN: there is none. FULL: it was larger than message may be, and is gone. */
    enum err (*pull_next)(struct zmq_pull *pull, struct buf *message);
    void (*pull_close)(struct zmq_pull **pull);

    /* Connects; sends without waiting. AGAIN: more than queued_max wait already. */
    enum err (*push_open)(struct zmq_push **push, const char *address, unsigned queued_max, char *why, size_t why_size);
    enum err (*push_send)(struct zmq_push *push, struct bytes message);
    void (*push_close)(struct zmq_push **push, unsigned linger_ms);

    /* Connects to one collector; a new one is opened for each attempt, so that both sides begin at the beginning. */
    enum err (*dealer_open)(struct zmq_dealer **dealer, const char *address, const struct zmq_keys *keys, char *why,
                            size_t why_size);
    int (*dealer_fd)(const struct zmq_dealer *dealer); /* readable: try next and send again, until both say AGAIN, and is_up */
    enum err (*dealer_send)(struct zmq_dealer *dealer, struct bytes message); /* AGAIN: its queue is full */
    enum err (*dealer_next)(struct zmq_dealer *dealer, struct buf *message);  /* AGAIN: there is none */
    /* Connected, and the handshake is done. False with why "": not yet; with a why: it is down, and stays so. */
    bool (*dealer_is_up)(struct zmq_dealer *dealer, char *why, size_t why_size);
    void (*dealer_close)(struct zmq_dealer **dealer);

    enum err (*router_open)(struct zmq_router **router, const char *const *addresses, const struct zmq_keys *keys,
                            const struct zmq_gate *gate, char *why, size_t why_size);
    int (*router_fd)(const struct zmq_router *router); /* readable: call next until it says AGAIN */
    enum err (*router_next)(struct zmq_router *router, struct zmq_peer *peer, struct buf *message);
    /* AGAIN: too much waits to be sent. GONE: it is not there. One that does not read for too long is sent away. */
    enum err (*router_send)(struct zmq_router *router, const struct zmq_peer *peer, struct bytes message);
    void (*router_close)(struct zmq_router **router);

    bool (*keypair)(char public_key[ZMQ_KEY_MAX], char secret_key[ZMQ_KEY_MAX]); /* false: libzmq has no CURVE */
    bool (*public_of)(const char *secret_key, char public_key[ZMQ_KEY_MAX]);
};

/* ABSENT: the module or libzmq is not installed; CORRUPT: it is of another version of Sonde. why gets a sentence. */
enum err zmq_load(const struct zmq_module **module, char *why, size_t why_size);

#endif
