/* Items to be sent to a server (documents, lines, series), contiguous in one buffer, so that the first of them are
 * the body of a request. Items that were delivered are removed. */
#ifndef SONDE_SINKS_OUTBOX_H
#define SONDE_SINKS_OUTBOX_H

#include "base/buf.h"

struct outbox_item {
    size_t size;
    uint32_t tag; /* for the sink: index or batch */
    bool is_done; /* delivered or rejected: can be removed */
};

struct outbox {
    struct buf bytes; /* add to it, then call outbox_end_item */
    struct outbox_item *items;
    size_t count, capacity;
    size_t used; /* total size of the items */
};

void outbox_init(struct outbox *outbox, size_t max);
void outbox_clear(struct outbox *outbox);

/* Makes one item of what was added to bytes since the last call, if anything. On NOMEM or FULL call outbox_truncate. */
enum err outbox_end_item(struct outbox *outbox, uint32_t tag);

/* Keeps the first count items, and drops bytes that are not an item yet. */
void outbox_truncate(struct outbox *outbox, size_t count);

/* The number of first items that fit into bytes_max, at least one and at most items_max; *bytes: their total size. */
size_t outbox_first_items(const struct outbox *outbox, size_t bytes_max, size_t items_max, size_t *bytes);

/* Removes the items that are done. */
void outbox_remove_done(struct outbox *outbox);

#endif
