/* State shared by the files of the uplink. Everything not protected by lock belongs to its thread. */
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
#define UPLINK_ERROR_MAX 256

/* An unacknowledged message. */
struct uplink_sent {
    uint64_t number, position; /* position 0: not from the journal */
    uint32_t bytes, records;
};

/* Why a connection ended. */
enum uplink_end {
    UPLINK_END_NONE,    /* it has not */
    UPLINK_END_STOPPED, /* by uplink_close */
    UPLINK_END_LOST,
    UPLINK_END_REFUSED, /* by the collector */
    UPLINK_END_RESTART, /* the collector was restarted: connect again */
    UPLINK_END_NEW_KEY, /* reconnect with it */
    UPLINK_END_RETURN,  /* to the first collector */
};

struct uplink {
    /* copies of the settings */
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
    _Atomic uint64_t stop_ns; /* CLOCK_MONOTONIC: deadline for the last acknowledgements; 0: not stopping */
    atomic_bool is_reloading;

    pthread_mutex_t lock;
    struct uplink_figures figures; /* published copy of now, protected by lock */
    struct uplink_figures now;

    /* the journal */
    struct journal_reader *reader;
    bool is_drained; /* nothing new at the last read */
    uint64_t synced_ns;

    /* the current connection */
    struct zmq_dealer *dealer;
    struct uplink_streams *streams;
    enum uplink_end end;
    char error[UPLINK_ERROR_MAX];
    bool is_welcomed, has_acked;
    bool is_returning;             /* to the first collector: nothing more is sent to this one */
    uint64_t retry_first_ns;       /* CLOCK_MONOTONIC, next check whether that is reachable; 0: this is the first */
    uint64_t number;               /* of the last message */
    uint64_t received_ns, sent_ns; /* CLOCK_MONOTONIC */
    uint64_t window_bytes, unacked_bytes;
    uint64_t position; /* of the entry being sent */
    struct uplink_sent *sent; /* a ring */
    size_t sent_first, sent_count, sent_capacity;
    struct buf out;  /* messages that the socket could not take yet: u32 size, bytes */
    size_t out_at;
    struct buf body, message, plain;
    uint32_t reported_kinds[8]; /* bit set of unknown message kinds that we answered */

    char used_key[ZMQ_KEY_MAX], used_server_key[ZMQ_KEY_MAX]; /* public keys of this connection; "": not encrypted */

    char last_warning[UPLINK_ERROR_MAX]; /* last problem logged; "": none */
};

/* uplink_connection.c: runs one connection from HELLO until it ends; the result is in end and error. */
void uplink_connection_run(struct uplink *uplink, const char *address, const char *server_key);
void uplink_connection_send(void *uplink, enum message_kind kind, struct bytes body); /* queues a message */

void uplink_set_state(struct uplink *uplink, enum uplink_state state, const char *error);
void uplink_publish(struct uplink *uplink);                       /* makes now visible to other threads */
void uplink_sync_journal(struct uplink *uplink, uint64_t now_ns); /* if entries wait for long */
uint64_t uplink_stop_ns(const struct uplink *uplink);
uint64_t uplink_random_ns(struct uplink *uplink, uint64_t min_ns, uint64_t max_ns); /* random between the two */

#endif
