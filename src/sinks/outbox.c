/* Items are stored contiguously; removing one moves those after it. */
#include "sinks/outbox.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void outbox_init(struct outbox *outbox, size_t max)
{
    *outbox = (struct outbox){ 0 };
    buf_init(&outbox->bytes, max);
}

void outbox_clear(struct outbox *outbox)
{
    buf_clear(&outbox->bytes);
    free(outbox->items);
    *outbox = (struct outbox){ .bytes = outbox->bytes };
}

enum err outbox_end_item(struct outbox *outbox, uint32_t tag)
{
    enum err err = buf_err(&outbox->bytes);
    size_t size = outbox->bytes.size - outbox->used;
    if (!err)
        err = array_reserve(outbox->items, outbox->capacity, outbox->count + 1, VEC_MAX);
    if (err || !size)
        return err;
    outbox->items[outbox->count++] = (struct outbox_item){ .size = size, .tag = tag };
    outbox->used += size;
    return OK;
}

static void truncate_bytes(struct buf *bytes, size_t size)
{
    bytes->size = size;
    bytes->failed = bytes->full = false;
    if (bytes->data)
        bytes->data[size] = '\0';
}

void outbox_truncate(struct outbox *outbox, size_t count)
{
    while (outbox->count > count)
        outbox->used -= outbox->items[--outbox->count].size;
    truncate_bytes(&outbox->bytes, outbox->used);
}

size_t outbox_first_items(const struct outbox *outbox, size_t bytes_max, size_t items_max, size_t *bytes)
{
    size_t count = 0;
    *bytes = 0;
    while (count < outbox->count && count < items_max && (!count || *bytes + outbox->items[count].size <= bytes_max))
        *bytes += outbox->items[count++].size;
    return count;
}

void outbox_remove_done(struct outbox *outbox)
{
    size_t kept = 0, from = 0, to = 0;
    for (size_t i = 0; i < outbox->count; i++) {
        struct outbox_item item = outbox->items[i];
        if (!item.is_done) {
            if (to != from)
                memmove(outbox->bytes.data + to, outbox->bytes.data + from, item.size);
            outbox->items[kept++] = item;
            to += item.size;
        }
        from += item.size;
    }
    outbox->count = kept;
    outbox->used = to;
    truncate_bytes(&outbox->bytes, to);
}
