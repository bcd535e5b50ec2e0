/* ZeroMQ, which is a module of its own (wire-zmq.so): a program that links libzmq takes 14 ms and 6 MB before it does
 * anything. Loaded when a socket is wanted for the first time. */
#ifndef SONDE_WIRE_ZMQ_H
#define SONDE_WIRE_ZMQ_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

#define ZMQ_MODULE_VERSION 1
#define ZMQ_MODULE_SYMBOL "sonde_zmq"

struct zmq_pull; /* a PULL socket: takes what others PUSH */

/* What the module exports. */
struct zmq_module {
    uint32_t version; /* ZMQ_MODULE_VERSION when it was built */

    /* Binds at "tcp://127.0.0.1:5557". why gets the reason of a failure. */
    enum err (*pull_open)(struct zmq_pull **pull, const char *address, char *why, size_t why_size);
    int (*pull_fd)(const struct zmq_pull *pull); /* readable: there may be messages; read all of them */

    /* The next message, whatever its parts. AGAIN: there is none. FULL: it was larger than message may be, and is gone. */
    enum err (*pull_next)(struct zmq_pull *pull, struct buf *message);
    void (*pull_close)(struct zmq_pull **pull);
};

/* ABSENT: the module or libzmq is not installed; CORRUPT: it is of another version of Sonde. why gets a sentence. */
enum err zmq_load(const struct zmq_module **module, char *why, size_t why_size);

#endif
