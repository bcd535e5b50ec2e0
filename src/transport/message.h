/* Messages between an agent and a collector, or two collectors: one per ZeroMQ message.
 *
 *   u8 0xa5   u8 version   u8 kind   u8 flags (1: the body is one zstd frame)
 *   varint size of the body   varint number   u32 check (of all before it, and of the body)   body
 *
 * number counts the messages of one connection from 1: an acknowledgement names the last one that is safe. Bodies of HELLO,
 * WELCOME, OPEN, CANNOT and REFUSE are MessagePack maps, whose keys a reader that does not know them skips. */
#ifndef SONDE_TRANSPORT_MESSAGE_H
#define SONDE_TRANSPORT_MESSAGE_H

#include "base/buf.h"

#define MESSAGE_MAGIC 0xa5
#define MESSAGE_VERSION 1
#define MESSAGE_MAX (20u << 20)

enum message_kind {
    /* from the one who sends samples */
    MESSAGE_HELLO = 1,  /* who I am, which versions I speak */
    MESSAGE_OPEN = 2,   /* streams[n] of this connection is that of a host from now on */
    MESSAGE_STATE = 3,  /* varint n, snapshot: what the next record of the stream builds on */
    MESSAGE_RECORD = 4, /* varint n, varint sequence, record */
    MESSAGE_PING = 5,   /* nothing new, but I live */
    /* from the one who takes them */
    MESSAGE_WELCOME = 16, /* who I am, which version we speak */
    MESSAGE_ACK = 17,     /* varint number: everything up to that message is durable */
    MESSAGE_CANNOT = 18,  /* what I could not read, and why: said once per kind; it is lost here, and counted */
    MESSAGE_REFUSE = 19,  /* why I take nothing from you; comes before I stop to listen */
    MESSAGE_AGAIN = 20,   /* I do not know you any more (I was started anew): say HELLO */
};

struct message {
    uint8_t version;
    enum message_kind kind; /* may be one that has no name here */
    uint64_t number;
    struct bytes body; /* borrowed: from the bytes read, or from the buffer for what was compressed */
};

/* Adds a message. compress: bodies over 512 bytes are compressed when that makes them smaller. */
void message_write(struct buf *out, const struct message *message, bool compress);

/* CORRUPT: not one of ours, cut short, or damaged. FULL: it claims to be larger than MESSAGE_MAX. A version that is newer is
 * no error: envelopes stay the same for ever. */
enum err message_read(struct bytes bytes, struct message *message, struct buf *plain);

struct message_hello {
    struct bytes host, software; /* "node17", "sonde 0.1.0" */
    uint64_t version_min, version_max;
    struct bytes role;     /* "agent", "collector" */
    uint64_t instance;     /* made at the start of the process: tells two of one name apart */
    struct bytes credential; /* munge; empty: none */
    uint64_t time_ns;        /* CLOCK_REALTIME of the sender as it says so, to find clocks that differ; 0: not told */
};
struct message_welcome { struct bytes host, software; uint64_t version; uint64_t window_bytes; };
struct message_open { uint64_t number; struct bytes host; uint64_t stream; };
struct message_cannot { uint64_t kind, version, number; struct bytes why; };
struct message_refuse { struct bytes why; bool for_good; };

/* Bodies. The readers borrow from body; CORRUPT. */
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
