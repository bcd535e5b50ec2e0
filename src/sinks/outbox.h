/* What waits to be sent: pieces (a document, a line, the series of a sample) one behind the other in one buffer, so that the
 * first of them can be sent as they lie there. What has arrived is taken out, wherever it stands. */
#ifndef SONDE_SINKS_OUTBOX_H
#define SONDE_SINKS_OUTBOX_H

#include "base/buf.h"

struct outbox_piece {
    size_t size;
    uint32_t tag; /* of the sink's own: which index, which batch */
    bool is_done; /* may be taken out */
};

struct outbox {
    struct buf bytes; /* add to it, then call outbox_end */
    struct outbox_piece *pieces;
    size_t count, room;
    size_t used; /* bytes of all pieces */
};

void outbox_init(struct outbox *outbox, size_t max);
void outbox_clear(struct outbox *outbox);

/* What was added to bytes since the last call is one piece; nothing added is none. NOMEM, FULL: take it back. */
enum err outbox_end(struct outbox *outbox, uint32_t tag);

/* Takes back all pieces from count on, and what is not yet a piece. */
void outbox_take_back(struct outbox *outbox, size_t count);

/* How many of the first pieces are together of at most bytes_max, but at least one and at most pieces_max; *bytes: of how
 * many they are. */
size_t outbox_portion(const struct outbox *outbox, size_t bytes_max, size_t pieces_max, size_t *bytes);

/* Takes out the pieces that are done. */
void outbox_remove_done(struct outbox *outbox);

#endif
