/* What the files of the uplink share: the whole of it. Everything but what stands behind the lock belongs to its thread. */
#ifndef SONDE_TRANSPORT_UPLINK_STATE_H
#define SONDE_TRANSPORT_UPLINK_STATE_H

#include "base/clock.h"
#include "transport/message.h"
#include "transport/uplink.h"
#include "transport/uplink_streams.h"
#include "transport/zmq.h"

#include <pthread.h>
#include <stdatomic.h>

#define UPLINK_SILENCE_NS (15 * NS_PER_S)
#define UPLINK_WINDOW_BYTES (256u << 10)
#define UPLINK_WHY_MAX 256

/* A message on its way: what is done when it is acknowledged. */
struct uplink_sent {
    uint64_t number, position; /* position 0: not of the journal */
    uint32_t bytes, records;
};

/* Why a connection ended. */
enum uplink_end { UPLINK_GOES_ON, UPLINK_STOPPED, UPLINK_LOST, UPLINK_NOT_WANTED, UPLINK_ANEW, UPLINK_REKEYED, UPLINK_RETURNS };

struct uplink {
    /* settings, our own copies */
    struct journal *journal;
    char *name, *host, *role, *key_file;
    char *collectors[UPLINK_COLLECTORS_MAX], *server_keys[UPLINK_COLLECTORS_MAX];
    size_t collector_count;
    bool munge;
    uint64_t silence_ns, return_ns;

    const struct zmq_module *zmq;
    uint64_t instance, random;
    pthread_t thread;
    int wake_fd;
    _Atomic uint64_t stop_ns; /* CLOCK_MONOTONIC: until then all may be acknowledged; 0: go on */
    atomic_bool is_reloading;

    pthread_mutex_t lock;
    struct uplink_figures figures; /* behind the lock: now, as it was last */
    struct uplink_figures now;

    /* of the journal */
    struct journal_reader *reader;
    bool is_drained; /* it had nothing more when it was asked last */
    uint64_t synced_ns;

    /* of the connection of now */
    struct zmq_dealer *dealer;
    struct uplink_streams *streams;
    enum uplink_end end;
    char why[UPLINK_WHY_MAX];
    bool is_welcome, has_acked;
    bool is_returning; /* to the first collector: nothing more is sent to this one */
    uint64_t look_ns;  /* CLOCK_MONOTONIC, when to look whether that is back; 0: it is this one */
    uint64_t number;           /* of the last message */
    uint64_t heard_ns, said_ns; /* CLOCK_MONOTONIC */
    uint64_t window_bytes, unacked_bytes;
    uint64_t position; /* of the entry whose messages are being made */
    struct uplink_sent *sent; /* a ring */
    size_t sent_first, sent_count, sent_room;
    struct buf out;  /* messages that wait for room: u32 size, bytes */
    size_t out_at;
    struct buf body, message, plain;
    uint32_t told_kinds[8]; /* kinds of messages that we said we cannot read: bits */

    char used_key[ZMQ_KEY_MAX], used_server_key[ZMQ_KEY_MAX]; /* public ones of this connection; "": not encrypted */

    char complaint[UPLINK_WHY_MAX]; /* what was complained of last; "": nothing */
};

/* uplink_send.c */
void uplink_send_reset(struct uplink *uplink);
void uplink_send(struct uplink *uplink, enum message_kind kind, struct bytes body); /* queues it */
void uplink_send_take(void *uplink, enum message_kind kind, struct bytes body);     /* what the streams give */
bool uplink_send_flush(struct uplink *uplink); /* true: something went out */
bool uplink_send_more(struct uplink *uplink);  /* from the journal, as the window allows; true: something went out */
void uplink_send_acked(struct uplink *uplink, uint64_t number);

/* uplink_talk.c: from HELLO to the end of a connection, which stands in end and why. */
void uplink_talk(struct uplink *uplink, const char *address, const char *server_key);

/* uplink.c */
void uplink_say(struct uplink *uplink, enum uplink_state state, const char *why);
void uplink_publish(struct uplink *uplink);                     /* the figures of now */
void uplink_look_after(struct uplink *uplink, uint64_t now_ns); /* what waits is on the disk */
uint64_t uplink_stop_ns(const struct uplink *uplink);
uint64_t uplink_between(struct uplink *uplink, uint64_t least_ns, uint64_t most_ns); /* by chance */

#endif
