/* The streams of one connection upwards: from entries of the journal to messages. The collector must have the state of a
 * stream before its first record. Where reading begins with a state that is new it goes up as it is; where it begins in the
 * middle of a segment, the state is made from what was sent up earlier already. */
#ifndef SONDE_TRANSPORT_UPLINK_STREAMS_H
#define SONDE_TRANSPORT_UPLINK_STREAMS_H

#include "journal/journal.h"
#include "transport/message.h"

struct uplink_streams;

/* Takes each message, in order; the body is borrowed. */
struct uplink_taker {
    void (*take)(void *context, enum message_kind kind, struct bytes body);
    void *context;
};

enum err uplink_streams_new(struct uplink_streams **streams, const struct uplink_taker *taker);
void uplink_streams_free(struct uplink_streams **streams);

/* For a new connection: nothing was told yet. */
void uplink_streams_reset(struct uplink_streams *streams);

/* Gives none, one or several messages to the taker. */
enum err uplink_streams_take(struct uplink_streams *streams, const struct journal_entry *entry);

#endif
