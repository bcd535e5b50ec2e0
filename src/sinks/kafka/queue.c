/* A list of pieces, each one allocation with its texts behind it. */
#include "sinks/kafka/queue.h"

#include <stdlib.h>
#include <string.h>

void kafka_box_init(struct kafka_box *box, size_t bytes_max)
{
    *box = (struct kafka_box){ .bytes_max = bytes_max };
}

static size_t size_of(const struct kafka_piece *piece)
{
    return sizeof *piece + piece->name.host.size + piece->name.key.size + piece->body.size;
}

static void free_all(struct kafka_piece *piece)
{
    for (struct kafka_piece *next; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
}

void kafka_box_clear(struct kafka_box *box)
{
    free_all(box->head);
    free_all(box->fresh);
    kafka_box_init(box, box->bytes_max);
}

static struct bytes copy(char **to, struct bytes bytes)
{
    struct bytes copied = { *to, bytes.size };
    if (bytes.size)
        memcpy(*to, bytes.data, bytes.size);
    *to += bytes.size;
    return copied;
}

enum err kafka_box_add(struct kafka_box *box, const char *topic, const struct kafka_name *name, struct bytes body)
{
    size_t size = sizeof(struct kafka_piece) + name->host.size + name->key.size + body.size;
    if (box->bytes + box->fresh_bytes + size > box->bytes_max)
        return FULL;
    struct kafka_piece *piece = malloc(size);
    if (!piece)
        return NOMEM;
    char *to = (char *)(piece + 1);
    *piece = (struct kafka_piece){ .topic = topic, .name = *name };
    piece->name.host = copy(&to, name->host);
    piece->name.key = copy(&to, name->key);
    piece->body = copy(&to, body);
    if (box->last)
        box->last->next = piece;
    else
        box->fresh = piece;
    box->last = piece;
    box->fresh_count++;
    box->fresh_bytes += size;
    return OK;
}

static void forget_fresh(struct kafka_box *box)
{
    box->fresh = box->last = NULL;
    box->fresh_count = box->fresh_bytes = 0;
}

void kafka_box_keep(struct kafka_box *box)
{
    if (!box->fresh)
        return;
    if (box->tail)
        box->tail->next = box->fresh;
    else
        box->head = box->fresh;
    if (!box->next)
        box->next = box->fresh;
    box->tail = box->last;
    box->count += box->fresh_count;
    box->waiting += box->fresh_count;
    box->bytes += box->fresh_bytes;
    forget_fresh(box);
}

void kafka_box_take_back(struct kafka_box *box)
{
    free_all(box->fresh);
    forget_fresh(box);
}

void kafka_box_set(struct kafka_box *box, struct kafka_piece *piece, enum kafka_piece_state state)
{
    box->waiting -= piece->state == KAFKA_WAITS ? 1 : 0;
    box->waiting += state == KAFKA_WAITS ? 1 : 0;
    piece->state = state;
}

void kafka_box_rewind(struct kafka_box *box)
{
    box->next = box->waiting ? box->head : NULL;
}

void kafka_box_remove_done(struct kafka_box *box)
{
    while (box->head && box->head->state == KAFKA_DONE) {
        struct kafka_piece *piece = box->head;
        box->head = piece->next;
        if (!box->head)
            box->tail = NULL;
        if (box->next == piece)
            box->next = piece->next;
        box->count--;
        box->bytes -= size_of(piece);
        free(piece);
    }
}
