/* The taking half of a collector: messages of its peers come in, records go into the journal, answers go out. What was
 * appended is acknowledged when whoever drives this says that it is on the disk. Knows no socket: answers leave through a
 * function. One thread. */
#ifndef SONDE_COLLECTOR_RECEIVER_H
#define SONDE_COLLECTOR_RECEIVER_H

#include "collector/seq_gaps.h"
#include "collector/peers.h"
#include "journal/journal.h"
#include "transport/message.h"
#include "transport/kafka_envelope.h"

#define RECEIVER_WINDOW_BYTES (1u << 20)            /* that an agent may have under way */
#define RECEIVER_WINDOW_COLLECTOR_BYTES (16u << 20) /* and a collector */
#define RECEIVER_PEER_SILENT_NS (20 * 1000000000ull) /* it should say something every five seconds */
#define RECEIVER_PEER_GONE_NS (60 * 1000000000ull)

/* Borrowed until receiver_close. */
struct receiver_settings {
    struct journal *journal;
    const char *dir;  /* of the journal: for what is remembered beside it */
    const char *host; /* our name */
    bool munge;       /* peers must show a credential */
    enum err (*send)(void *context, const struct zmq_peer *peer, struct bytes message); /* GONE: it is not there any more */
    void *context;
};

struct receiver_figures {
    uint64_t messages, bytes;     /* taken */
    uint64_t records, samples, values;
    uint64_t doubles;             /* records that were there already */
    uint64_t bad, refused, unreadable; /* messages that made no sense; peers; records */
    uint64_t acks;
    uint64_t read_ns, append_ns;  /* spent in reading messages and records, in the journal */
};

struct receiver {
    struct receiver_settings settings;
    struct peers peers;
    struct origins origins;
    struct holes holes;
    struct receiver_figures figures;
    struct peer *dirty, *syncing; /* lists: something was appended for them; it is being synced */
    bool is_dirty;                /* something was appended since the last sync began */
    bool is_syncing;
    bool is_full;                 /* the journal's disk was full when something was appended last */
    struct batch batch;
    struct buf out, body, plain, snapshot;
    struct zmq_peer to;
};

enum err receiver_open(struct receiver *receiver, const struct receiver_settings *settings, struct buf *why);
void receiver_close(struct receiver *receiver); /* saves the hosts */

/* One message. Whatever it is, nobody but its sender suffers. */
void receiver_take(struct receiver *receiver, const struct zmq_peer *from, struct bytes message);

/* Takes a batch of the collector's own, as of a source that speaks another language: encoded by feed, whose sequence moves on. */
enum err receiver_put(struct receiver *receiver, struct feed *feed, const struct batch *batch);

/* receiver_envelope.c: takes a record that came alone, for feed, which is of the same stream. CORRUPT: it cannot be read, and is
 * counted; ABSENT: it builds on a state that is not known, and would be readable after some that came before it; other errors: it
 * could not be kept, and must come again. */
enum err receiver_take_parcel(struct receiver *receiver, struct feed *feed, const struct parcel *parcel);

/* One that was taken before, here or elsewhere: only for the state. */
void receiver_recall_parcel(struct receiver *receiver, struct feed *feed, const struct parcel *parcel);

/* One whose state cannot be found any more: it is lost. */
void receiver_miss_parcel(struct receiver *receiver, struct feed *feed);

/* receiver_record.c: a record is decoded, and kept if it is new. *is_read: it could be decoded, and an error is the journal's. */
enum err receiver_take_in(struct receiver *receiver, struct feed *feed, uint64_t sequence, struct bytes record, bool *is_read);
void receiver_count_broken(struct receiver *receiver, struct feed *feed);

/* A sync begins: what was appended up to now will be safe when it has ended. False: there is nothing to sync. */
bool receiver_commit(struct receiver *receiver);
void receiver_committed(struct receiver *receiver, bool is_safe);

/* Once a second: peers that are silent are dropped. */
void receiver_tend(struct receiver *receiver);

/* Tells a peer why it is not wanted and closes all that it has. */
void receiver_refuse(struct receiver *receiver, struct peer *peer, bool for_good, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What makes no sense at all; peer may be NULL: not known yet. */
void receiver_take_bad(struct receiver *receiver, const struct zmq_peer *from, struct peer *peer);

/* Sends receiver->body to a peer; numbers matter one way only. */
enum err receiver_answer(struct receiver *receiver, const struct peer *peer, enum message_kind kind);

/* receiver_record.c: a record and the state before it. */
void receiver_take_state(struct receiver *receiver, struct peer *peer, struct bytes body);
void receiver_take_record(struct receiver *receiver, struct peer *peer, const struct message *message);

/* receiver_hello.c */
void receiver_take_hello(struct receiver *receiver, const struct zmq_peer *from, struct peer *peer,
                         const struct message *message);
void receiver_take_open(struct receiver *receiver, struct peer *peer, struct bytes body);

#endif
