/* What waits to be sent: items (a document, a line, the series of a sample) one behind the other in one buffer, so that the
 * first of them can be sent as they lie there. What has arrived is taken out, wherever it stands. */
#ifndef SONDE_SINKS_OUTBOX_H
#define SONDE_SINKS_OUTBOX_H

#include "base/buf.h"

struct outbox_item {
    size_t size;
    uint32_t tag; /* of the sink's own: which index, which batch */
    bool is_done; /* may be taken out */
};

struct outbox {
    struct buf bytes; /* add to it, then call outbox_end_item */
    struct outbox_item *items;
    size_t count, capacity;
    size_t used; /* bytes of all items */
};

void outbox_init(struct outbox *outbox, size_t max);
void outbox_clear(struct outbox *outbox);

/* What was added to bytes since the last call is one item; nothing added is none. NOMEM, FULL: take it back. */
enum err outbox_end_item(struct outbox *outbox, uint32_t tag);

/* Takes back all items from count on, and what is not yet a item. */
void outbox_truncate(struct outbox *outbox, size_t count);

/* How many of the first items are together of at most bytes_max, but at least one and at most items_max; *bytes: of how
 * many they are. */
size_t outbox_first_items(const struct outbox *outbox, size_t bytes_max, size_t items_max, size_t *bytes);

/* Takes out the items that are done. */
void outbox_remove_done(struct outbox *outbox);

#endif
