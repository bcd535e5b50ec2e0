/* Each message is one allocation, followed by its bytes. */
#include "sinks/kafka/queue.h"

#include <stdlib.h>
#include <string.h>

void kafka_queue_init(struct kafka_queue *queue, size_t bytes_max)
{
    *queue = (struct kafka_queue){ .bytes_max = bytes_max };
}

static size_t size_of(const struct kafka_message *message)
{
    return sizeof *message + message->name.host.size + message->name.key.size + message->body.size;
}

static void free_all(struct kafka_message *message)
{
    for (struct kafka_message *next; message; message = next) {
        next = message->next;
        free(message);
    }
}

void kafka_queue_clear(struct kafka_queue *queue)
{
    free_all(queue->head);
    free_all(queue->new_head);
    kafka_queue_init(queue, queue->bytes_max);
}

static struct bytes copy(char **to, struct bytes bytes)
{
    struct bytes copied = { *to, bytes.size };
    if (bytes.size)
        memcpy(*to, bytes.data, bytes.size);
    *to += bytes.size;
    return copied;
}

enum err kafka_queue_add(struct kafka_queue *queue, const char *topic, const struct kafka_message_id *name, struct bytes body)
{
    size_t size = sizeof(struct kafka_message) + name->host.size + name->key.size + body.size;
    if (queue->bytes + queue->new_bytes + size > queue->bytes_max)
        return FULL;
    struct kafka_message *message = malloc(size);
    if (!message)
        return NOMEM;
    char *to = (char *)(message + 1);
    *message = (struct kafka_message){ .topic = topic, .name = *name };
    message->name.host = copy(&to, name->host);
    message->name.key = copy(&to, name->key);
    message->body = copy(&to, body);
    if (queue->new_tail)
        queue->new_tail->next = message;
    else
        queue->new_head = message;
    queue->new_tail = message;
    queue->new_count++;
    queue->new_bytes += size;
    return OK;
}

static void reset_batch(struct kafka_queue *queue)
{
    queue->new_head = queue->new_tail = NULL;
    queue->new_count = queue->new_bytes = 0;
}

void kafka_queue_commit_batch(struct kafka_queue *queue)
{
    if (!queue->new_head)
        return;
    if (queue->tail)
        queue->tail->next = queue->new_head;
    else
        queue->head = queue->new_head;
    if (!queue->next)
        queue->next = queue->new_head;
    queue->tail = queue->new_tail;
    queue->count += queue->new_count;
    queue->waiting += queue->new_count;
    queue->bytes += queue->new_bytes;
    reset_batch(queue);
}

void kafka_queue_drop_batch(struct kafka_queue *queue)
{
    free_all(queue->new_head);
    reset_batch(queue);
}

void kafka_queue_set_state(struct kafka_queue *queue, struct kafka_message *message, enum kafka_message_state state)
{
    queue->waiting -= message->state == KAFKA_QUEUED ? 1 : 0;
    queue->waiting += state == KAFKA_QUEUED ? 1 : 0;
    message->state = state;
}

void kafka_queue_rewind(struct kafka_queue *queue)
{
    queue->next = queue->waiting ? queue->head : NULL;
}

void kafka_queue_remove_delivered(struct kafka_queue *queue)
{
    while (queue->head && queue->head->state == KAFKA_DELIVERED) {
        struct kafka_message *message = queue->head;
        queue->head = message->next;
        if (!queue->head)
            queue->tail = NULL;
        if (queue->next == message)
            queue->next = message->next;
        queue->count--;
        queue->bytes -= size_of(message);
        free(message);
    }
}
