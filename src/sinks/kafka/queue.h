/* Messages for Kafka, in the order in which they came, until the broker has said that it has them. What failed waits for its
 * turn again, at its old place. */
#ifndef SONDE_SINKS_KAFKA_QUEUE_H
#define SONDE_SINKS_KAFKA_QUEUE_H

#include "base/buf.h"

/* KAFKA_ARRIVED: in a transaction that is not committed yet. */
enum kafka_piece_state { KAFKA_WAITS, KAFKA_FLIES, KAFKA_ARRIVED, KAFKA_DONE };

/* Who it is, for the headers. */
struct kafka_name {
    struct bytes host, key;
    uint64_t stream, sequence, place;
    uint64_t position; /* of its batch, in the journal; 0: none */
};

struct kafka_piece {
    struct kafka_piece *next;
    enum kafka_piece_state state;
    const char *topic;     /* borrowed: of the sink's table */
    struct kafka_name name; /* into the bytes behind */
    struct bytes body;
};

/* head → … → tail. Batches are added whole: pieces from fresh on are not in it yet. */
struct kafka_box {
    struct kafka_piece *head, *tail;   /* that are in the box */
    struct kafka_piece *next;          /* none before it waits; NULL: none waits at all */
    struct kafka_piece *fresh, *last;  /* of a batch that is being added */
    size_t count, bytes, bytes_max;
    size_t fresh_count, fresh_bytes;
    size_t waiting; /* pieces that nobody has handed over yet, or that failed */
};

void kafka_box_init(struct kafka_box *box, size_t bytes_max);
void kafka_box_clear(struct kafka_box *box);

/* Copies a message behind the others. FULL: over the maximum; NOMEM. Then the batch is taken back. */
enum err kafka_box_add(struct kafka_box *box, const char *topic, const struct kafka_name *name, struct bytes body);
void kafka_box_keep(struct kafka_box *box);      /* the batch is whole */
void kafka_box_take_back(struct kafka_box *box); /* what was added since the last kafka_box_keep */

void kafka_box_set(struct kafka_box *box, struct kafka_piece *piece, enum kafka_piece_state state);
void kafka_box_rewind(struct kafka_box *box);      /* some that were handed over wait again */
void kafka_box_remove_done(struct kafka_box *box); /* those at the front */

#endif
