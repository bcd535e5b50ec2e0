/* Messages between an agent and a collector, or two collectors: one per ZeroMQ message.
 *
 *   u8 0xa5   u8 version   u8 kind   u8 flags (1: the body is one zstd frame)
 *   varint size of the body   varint number   u32 checksum (of all before it and of the body)   body
 *
 * number counts the messages of one connection from 1: an acknowledgement names the last one that is durable. Bodies of
 * HELLO, WELCOME, OPEN, CANNOT and REFUSE are MessagePack maps; unknown keys are skipped. */
#ifndef SONDE_TRANSPORT_MESSAGE_H
#define SONDE_TRANSPORT_MESSAGE_H

#include "base/buf.h"

#define MESSAGE_MAGIC 0xa5
#define MESSAGE_VERSION 1
#define MESSAGE_MAX (20u << 20)

enum message_kind {
    /* from the sender of samples */
    MESSAGE_HELLO = 1,  /* who I am, which protocol versions I support */
    MESSAGE_OPEN = 2,   /* defines stream number n of this connection: host and id */
    MESSAGE_STATE = 3,  /* varint n, snapshot: the state that the next record of the stream builds on */
    MESSAGE_RECORD = 4, /* varint n, varint sequence, record */
    MESSAGE_PING = 5,   /* keep-alive */
    /* from the receiver */
    MESSAGE_WELCOME = 16, /* who I am, which version we use */
    MESSAGE_ACK = 17,     /* varint number: everything up to that message is durable */
    MESSAGE_CANNOT = 18,  /* a message I cannot read, and the reason: once per kind; its data is lost and counted */
    MESSAGE_REFUSE = 19,  /* I accept nothing from you, and the reason; sent before I close */
    MESSAGE_AGAIN = 20,   /* I do not know you (I was restarted): send HELLO */
};

struct message {
    uint8_t version;
    enum message_kind kind; /* may be one that this version does not know */
    uint64_t number;
    struct bytes body; /* borrowed from the bytes read, or from the buffer if it was compressed */
};

/* Appends a message. compress: compresses bodies over 512 bytes if that makes them smaller. */
void message_write(struct buf *out, const struct message *message, bool compress);

/* CORRUPT: not a Sonde message, truncated or damaged. FULL: it claims to be larger than MESSAGE_MAX. A newer version is
 * not an error: the header never changes. */
enum err message_read(struct bytes bytes, struct message *message, struct buf *plain);

struct message_hello {
    struct bytes host, software; /* "node17", "sonde 0.1.0" */
    uint64_t version_min, version_max;
    struct bytes role;       /* "agent", "collector" */
    uint64_t instance;       /* random, per process: distinguishes two of the same name */
    struct bytes credential; /* munge; empty: none */
    uint64_t time_ns;        /* CLOCK_REALTIME of the sender, to detect clock differences; 0: unknown */
};
struct message_welcome { struct bytes host, software; uint64_t version; uint64_t window_bytes; };
struct message_open { uint64_t number; struct bytes host; uint64_t stream; };
struct message_cannot { uint64_t kind, version, number; struct bytes error; };
struct message_refuse { struct bytes error; bool for_good; };

/* Message bodies. Readers borrow from body; CORRUPT. */
void message_write_hello(struct buf *body, const struct message_hello *hello);
enum err message_read_hello(struct bytes body, struct message_hello *hello);
void message_write_welcome(struct buf *body, const struct message_welcome *welcome);
enum err message_read_welcome(struct bytes body, struct message_welcome *welcome);
void message_write_open(struct buf *body, const struct message_open *open);
enum err message_read_open(struct bytes body, struct message_open *open);
void message_write_cannot(struct buf *body, const struct message_cannot *cannot);
enum err message_read_cannot(struct bytes body, struct message_cannot *cannot);
void message_write_refuse(struct buf *body, const struct message_refuse *refuse);
enum err message_read_refuse(struct bytes body, struct message_refuse *refuse);

#endif
