/* The connections to a collector, by the name that the router has for each, and the streams that come through them. */
#ifndef SONDE_COLLECTOR_PEERS_H
#define SONDE_COLLECTOR_PEERS_H

#include "collector/hosts.h"
#include "journal/stream.h"
#include "transport/zmq.h"

#define PEERS_MAX 200000u
#define PEER_FEEDS_MAX 100000u /* of one connection: a collector hands on the streams of all its hosts */

enum peer_state {
    PEER_TAKEN,   /* it said HELLO and was welcomed */
    PEER_REFUSED, /* whatever it says is not listened to */
};

/* One stream of one connection. Its decoder holds the newest values of the host. */
struct feed {
    struct peer *peer; /* NULL: of the collector itself */
    struct origin *origin;
    struct feed *next, *before; /* of the same origin */
    uint64_t stream;
    uint64_t sequence;     /* of the record that was decoded last, or that the state comes behind; 0: none */
    bool has_state;        /* a state came, or a record of the beginning */
    bool is_placed;        /* sequence is known */
    bool is_fresh;         /* a state came since the last record was appended: it must go before the next one */
    bool is_broken;        /* what follows cannot be read, until a state comes */
    struct delta_stream *decoder;
    uint64_t epoch;        /* of the encoder of a parcel (transport/kafka_envelope.h); 0: none came */
    uint64_t taken_ns;     /* CLOCK_MONOTONIC, of the last record; 0: none */
    uint64_t sample_ns;    /* time of that record, by the host's clock */
};

struct peer {
    enum peer_state state;
    struct peer *next; /* in its bucket */
    struct peer *dirty_next, *sync_next; /* of those that wait for a sync, and for the one that runs */
    bool is_dirty, is_syncing;
    uint8_t *id;
    size_t id_size;
    uint32_t hash;
    char *host, *software, *name, *address; /* name: what its key is known by, "" any */
    char key[ZMQ_KEY_MAX];  /* "": it has none */
    bool is_collector;
    uint64_t instance;
    struct origin *origin; /* of host */
    struct feed **feeds;   /* by their numbers; NULL: not open */
    size_t feed_count;
    uint64_t received;     /* number of its last message */
    uint64_t syncing;      /* the last that will be safe when the sync that runs now has ended */
    uint64_t acked;
    uint64_t since_ns;     /* CLOCK_REALTIME */
    uint64_t heard_ns;     /* CLOCK_MONOTONIC */
    uint64_t bytes, messages;
    char why[160];         /* it was refused */
};

struct peers {
    struct peer **buckets;
    size_t bucket_count, count;
};

enum err peers_init(struct peers *peers);
void peers_clear(struct peers *peers); /* before the origins */

struct peer *peers_find(const struct peers *peers, const struct zmq_peer *id); /* NULL: it is not known */
enum err peers_add(struct peers *peers, const struct zmq_peer *id, struct peer **peer); /* FULL, NOMEM */
void peers_remove(struct peers *peers, struct peer **peer);

/* In any order, as origins_next. The one that was given last may be removed. */
struct peer_at {
    size_t bucket;
    struct peer *next;
};
struct peer *peers_next(const struct peers *peers, struct peer_at *at);

/* The name of the connection, as the router wants it. */
void peer_address(const struct peer *peer, struct zmq_peer *id);

/* A new feed, linked with its origin; peer may be NULL. */
enum err feed_new(struct feed **feed, struct peer *peer, struct origin *origin, uint64_t stream);
void feed_free(struct feed **feed);

/* Puts a feed at its number, in place of what was there. FULL: the number is too large. */
enum err peer_put_feed_take(struct peer *peer, uint64_t number, struct feed *feed);
struct feed *peer_feed(const struct peer *peer, uint64_t number); /* NULL: not open */
void peer_close_feeds(struct peer *peer);

#endif
