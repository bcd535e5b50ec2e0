/* The receiving side of a collector: handles the messages of its peers, appends records to the journal, sends replies.
 * Appended records are acknowledged when the caller reports that they are synced. It knows no sockets: replies are sent
 * through a callback. Single-threaded.
 * receiver.c: dispatch and acknowledgements. receiver_handshake.c: HELLO and OPEN. receiver_records.c: states and
 * records. */
#ifndef SONDE_COLLECTOR_RECEIVER_H
#define SONDE_COLLECTOR_RECEIVER_H

#include "collector/peers.h"
#include "collector/seq_gaps.h"
#include "journal/journal.h"
#include "transport/kafka_envelope.h"
#include "transport/message.h"

#define RECEIVER_WINDOW_BYTES (1u << 20)             /* unacknowledged bytes an agent may send */
#define RECEIVER_WINDOW_COLLECTOR_BYTES (16u << 20)  /* and a collector */
#define RECEIVER_PEER_SILENT_NS (20 * 1000000000ull) /* peers send at least every five seconds */
#define RECEIVER_PEER_GONE_NS (60 * 1000000000ull)

/* Borrowed until receiver_close. */
struct receiver_settings {
    struct journal *journal;
    const char *dir;  /* directory of the journal, for the files hosts and holes */
    const char *host; /* our name */
    bool munge;       /* require MUNGE credentials */
    enum err (*send)(void *context, const struct zmq_peer *peer, struct bytes message); /* GONE: disconnected */
    void *context;
};

struct receiver_figures {
    uint64_t messages, bytes; /* received */
    uint64_t records, samples, values;
    uint64_t duplicates;               /* records that were already in the journal */
    uint64_t bad, refused, unreadable; /* invalid messages; refused peers; records that could not be decoded */
    uint64_t pieces_dropped; /* of runs, because the journal was half full */
    uint64_t acks;
    uint64_t read_ns, append_ns; /* time spent decoding, and appending to the journal */
};

struct receiver {
    struct receiver_settings settings;
    struct peers peers;
    struct known_hosts known_hosts;
    struct seq_gaps gaps;
    struct receiver_figures figures;
    struct peer *dirty, *syncing; /* lists: peers with appended records; those of the running sync */
    bool is_dirty;                /* something was appended since the last sync started */
    bool is_syncing;
    uint64_t dropped_ns; /* when a piece of a run was dropped last */
    bool is_full; /* the last append failed because the disk was full */
    struct batch batch;
    struct buf out, body, plain, snapshot;
    struct zmq_peer to;
};

enum err receiver_open(struct receiver *receiver, const struct receiver_settings *settings, struct buf *error);
void receiver_close(struct receiver *receiver); /* saves the known hosts */

/* Handles one message. An invalid message affects only its sender. */
void receiver_handle(struct receiver *receiver, const struct zmq_peer *from, struct bytes message);

/* Appends a batch from a source with another protocol: it is encoded in feed, whose sequence increases. */
enum err receiver_add_batch(struct receiver *receiver, struct feed *feed, const struct batch *batch);

/* Handles a record that arrived by itself, of the same stream as feed. CORRUPT: cannot be decoded, counted; ABSENT: the
 * state that it depends on is unknown, some earlier records are needed first; other errors: could not be stored, must
 * be delivered again. */
enum err receiver_add_envelope(struct receiver *receiver, struct feed *feed, const struct kafka_envelope *envelope);

/* Handles an envelope that was stored before, here or elsewhere: only updates the decoder state. */
void receiver_restore_envelope(struct receiver *receiver, struct feed *feed, const struct kafka_envelope *envelope);

/* Counts an envelope whose state is no longer available as lost. */
void receiver_skip_envelope(struct receiver *receiver, struct feed *feed);

/* Decodes a record and stores it if it is new. *is_read: it was decoded, and an error is the journal's. */
enum err receiver_add_record(struct receiver *receiver, struct feed *feed, uint64_t sequence, struct bytes record,
                             bool *is_read);
void receiver_count_unreadable(struct receiver *receiver, struct feed *feed);

/* A sync starts: everything appended so far will be safe when it ends. False: nothing to sync. */
bool receiver_begin_sync(struct receiver *receiver);
void receiver_end_sync(struct receiver *receiver, bool is_safe);

/* Once a second: drops silent peers. */
void receiver_drop_silent(struct receiver *receiver);

/* Sends a peer the reason why it is refused and closes its feeds. */
void receiver_refuse(struct receiver *receiver, struct peer *peer, bool for_good, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Handles an undecodable message; peer may be NULL: unknown. */
void receiver_handle_invalid(struct receiver *receiver, const struct zmq_peer *from, struct peer *peer);

/* Sends receiver->body to a peer. Only messages to the collector are numbered. */
enum err receiver_send(struct receiver *receiver, const struct peer *peer, enum message_kind kind);

/* receiver_records.c */
void receiver_handle_state(struct receiver *receiver, struct peer *peer, struct bytes body);
void receiver_handle_record(struct receiver *receiver, struct peer *peer, const struct message *message);

/* receiver_handshake.c */
void receiver_handle_hello(struct receiver *receiver, const struct zmq_peer *from, struct peer *peer,
                         const struct message *message);
void receiver_handle_open(struct receiver *receiver, struct peer *peer, struct bytes body);

#endif
