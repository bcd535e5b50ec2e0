/* The streams of one connection: turns journal entries into messages. The collector needs the state of a stream before
 * its first record. A new snapshot is sent as it is; when reading starts in the middle of a segment, the state is
 * rebuilt from the entries that were sent earlier. */
#ifndef SONDE_TRANSPORT_UPLINK_STREAMS_H
#define SONDE_TRANSPORT_UPLINK_STREAMS_H

#include "journal/journal.h"
#include "transport/message.h"

struct uplink_streams;

/* Receives each message, in order; the body is borrowed. */
struct uplink_output {
    void (*send)(void *context, enum message_kind kind, struct bytes body);
    void *context;
};

enum err uplink_streams_new(struct uplink_streams **streams, const struct uplink_output *output);
void uplink_streams_free(struct uplink_streams **streams);

/* For a new connection: nothing was sent yet. */
void uplink_streams_reset(struct uplink_streams *streams);

/* Passes no, one or several messages to the output. */
enum err uplink_streams_add(struct uplink_streams *streams, const struct journal_entry *entry);

#endif
