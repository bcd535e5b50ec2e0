/* ZeroMQ, in a module of its own (wire-zmq.so), because linking libzmq costs every program 14 ms and 6 MB at startup.
 * Loaded when the first socket is opened. Router and dealer implement ZMTP themselves (transport/zmtp.h, zmtp_client.h); the
 * other sockets are libzmq's. */
#ifndef SONDE_TRANSPORT_ZMQ_H
#define SONDE_TRANSPORT_ZMQ_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define ZMQ_MODULE_VERSION 2
#define ZMQ_MODULE_SYMBOL "sonde_zmq"

struct zmq_pull; /* PULL: receives what others PUSH */
struct zmq_push; /* PUSH: sends to a PULL */
struct zmq_dealer; /* DEALER: an agent's socket, connected to one collector */
struct zmq_router; /* ROUTER: a collector's socket, connected to many agents */

#define ZMQ_KEY_MAX 41   /* a key in Z85, with NUL */
#define ZMQ_PEER_MAX 256 /* bytes of a router's connection id */

/* CURVE encryption. All strings are borrowed until the call returns. */
struct zmq_keys {
    const char *public_key, *secret_key; /* ours, Z85; NULL: no encryption */
    const char *server_key;              /* of the collector that we connect to */
};

/* Decides who may connect to a router. Called from the router's thread with a peer's public key in Z85 (NULL: none) and
 * its address; name gets the host that the key belongs to, "" for any host. */
struct zmq_authorizer {
    bool (*authorize)(void *context, const char *public_key, const char *address, char name[256]);
    void *context;
};

/* The sender of a message, filled by the router. */
struct zmq_peer {
    uint8_t id[ZMQ_PEER_MAX];
    size_t id_size;
    char name[256];        /* from the authorizer */
    char key[ZMQ_KEY_MAX]; /* its public key; "": none. For asking the authorizer again after the list has changed */
    char address[64];      /* "": unknown */
};

/* What the module exports. */
struct zmq_module {
    uint32_t version; /* ZMQ_MODULE_VERSION at build time */

    /* Binds to "tcp://127.0.0.1:5557". error gets the message. */
    enum err (*pull_open)(struct zmq_pull **pull, const char *address, char *error, size_t error_size);
    int (*pull_fd)(const struct zmq_pull *pull); /* readable: there may be messages; read all of them */

    /* The next message, its parts joined. AGAIN: there is none. FULL: it was larger than message may be, and was
     * dropped. */
    enum err (*pull_next)(struct zmq_pull *pull, struct buf *message);
    void (*pull_close)(struct zmq_pull **pull);

    /* Connects; sending does not block. AGAIN: queued_max messages are waiting already. */
    enum err (*push_open)(struct zmq_push **push, const char *address, unsigned queued_max, char *error, size_t error_size);
    enum err (*push_send)(struct zmq_push *push, struct bytes message);
    void (*push_close)(struct zmq_push **push, unsigned linger_ms);

    /* Connects to one collector. A new dealer is opened for each attempt, so that both sides start from scratch. Works only
     * while its owner calls next: there is no other thread. */
    enum err (*dealer_open)(struct zmq_dealer **dealer, const char *address, const struct zmq_keys *keys, char *error,
                            size_t error_size);
    int (*dealer_fd)(const struct zmq_dealer *dealer); /* readable: call next and send until both return AGAIN, and is_up */
    enum err (*dealer_send)(struct zmq_dealer *dealer, struct bytes message); /* AGAIN: its queue is full */
    enum err (*dealer_next)(struct zmq_dealer *dealer, struct buf *message);  /* AGAIN: there is none */
    /* Connected, and the handshake is complete. false with error "": not yet; with a message: it is down for good. */
    bool (*dealer_is_up)(struct zmq_dealer *dealer, char *error, size_t error_size);
    void (*dealer_close)(struct zmq_dealer **dealer);

    enum err (*router_open)(struct zmq_router **router, const char *const *addresses, const struct zmq_keys *keys,
                            const struct zmq_authorizer *gate, char *error, size_t error_size);
    int (*router_fd)(const struct zmq_router *router); /* readable: call next until it returns AGAIN */
    enum err (*router_next)(struct zmq_router *router, struct zmq_peer *peer, struct buf *message);
    /* AGAIN: too much is waiting to be sent. GONE: not connected any more. A peer that does not read for too long is
     * disconnected. */
    enum err (*router_send)(struct zmq_router *router, const struct zmq_peer *peer, struct bytes message);
    void (*router_close)(struct zmq_router **router);

    bool (*keypair)(char public_key[ZMQ_KEY_MAX], char secret_key[ZMQ_KEY_MAX]); /* false: libzmq was built without CURVE */
    bool (*public_of)(const char *secret_key, char public_key[ZMQ_KEY_MAX]);
};

/* ABSENT: the module or libzmq is not installed; CORRUPT: built for another version of Sonde. error gets the message. */
enum err zmq_load(const struct zmq_module **module, char *error, size_t error_size);

#endif
