/* The connections of a collector, by ZeroMQ routing id, and the streams that arrive through them. */
#ifndef SONDE_COLLECTOR_PEERS_H
#define SONDE_COLLECTOR_PEERS_H

#include "collector/known_hosts.h"
#include "journal/stream.h"
#include "transport/zmq.h"

#define PEERS_MAX 200000u
#define PEER_FEEDS_MAX 100000u /* per connection: a collector forwards the streams of all its hosts */

enum peer_state {
    PEER_ACCEPTED, /* HELLO was accepted */
    PEER_REFUSED,  /* all its messages are ignored */
};

/* One stream of one connection. Its decoder has the current values of the host. */
struct feed {
    struct peer *peer; /* NULL: a stream of the collector itself */
    struct known_host *known_host;
    struct feed *next, *before; /* of the same host */
    uint64_t stream;
    uint64_t sequence;   /* of the last decoded record, or of the record before the state; 0: none */
    bool has_state;      /* a state was received, or the first record of the stream */
    bool has_sequence;   /* sequence is known */
    bool needs_snapshot; /* a state was received since the last append: append it before the next record */
    bool is_broken;      /* records cannot be decoded until a state arrives */
    struct delta_stream *decoder;
    uint64_t epoch;          /* of the encoder of an envelope (transport/kafka_envelope.h); 0: none received */
    uint64_t last_record_ns; /* CLOCK_MONOTONIC of the last record; 0: none */
    uint64_t sample_ns;      /* time of that record, by the host's clock */
};

struct peer {
    enum peer_state state;
    struct peer *dirty_next, *sync_next; /* lists of peers waiting for the next sync, and for the running one */
    bool is_dirty, is_syncing;
    uint8_t *id;
    size_t id_size;
    char *host, *software, *name, *address; /* name: the host that its key is for, "" for any */
    char key[ZMQ_KEY_MAX];                  /* "": none */
    bool is_collector;
    uint64_t instance;
    struct known_host *known_host; /* state of host */
    struct feed **feeds;           /* by number; NULL: not open */
    size_t feed_count;
    uint64_t received; /* number of its last message */
    uint64_t syncing;  /* last message that the running sync covers */
    uint64_t acked;
    uint64_t since_ns;         /* CLOCK_REALTIME */
    uint64_t last_received_ns; /* CLOCK_MONOTONIC */
    uint64_t bytes, messages;
    char error[160]; /* why it was refused */
};

struct peers { /* begins with zeros */
    struct map map;
};

void peers_clear(struct peers *peers); /* before the known hosts */

struct peer *peers_find(const struct peers *peers, const struct zmq_peer *id); /* NULL: unknown */
enum err peers_add(struct peers *peers, const struct zmq_peer *id, struct peer **peer); /* FULL, NOMEM */
void peers_remove(struct peers *peers, struct peer **peer);

/* In any order, like map_next: the peer returned last may be removed. */
struct peer *peers_next(const struct peers *peers, struct map_iterator *at);

/* Routing id of the connection. */
void peer_address(const struct peer *peer, struct zmq_peer *id);

/* Creates a feed and links it to its host; peer may be NULL. */
enum err feed_new(struct feed **feed, struct peer *peer, struct known_host *known_host, uint64_t stream);
void feed_free(struct feed **feed);

/* Stores a feed under its number, replacing a previous one. FULL: the number is too large. */
enum err peer_set_feed_take(struct peer *peer, uint64_t number, struct feed *feed);
struct feed *peer_feed(const struct peer *peer, uint64_t number); /* NULL: not open */
void peer_close_feeds(struct peer *peer);

#endif
