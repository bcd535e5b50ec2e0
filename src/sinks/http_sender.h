/* Carries an outbox to a server in portions: waits longer after each failure, makes the portions smaller when they are too
 * much at once, counts what the other side will never take. What failed stays in the outbox until it has arrived. */
#ifndef SONDE_SINKS_HTTP_SENDER_H
#define SONDE_SINKS_HTTP_SENDER_H

#include "model/batch.h"
#include "sinks/curl_client.h"
#include "sinks/outbox.h"

#define HTTP_SENDER_OUTBOX_MAX (64u << 20)

/* Part of the state of a sink. */
struct http_sender {
    struct curl_client client; /* its settings are set before http_sender_open */
    struct outbox outbox;
    struct curl_response answer;

    /* Sends the first count items, which are bytes long, or fewer: then it says how many in sent. Marks those that are done.
     * Errors as of curl_client_check_status; FULL: it was too much at once; CORRUPT: one of them makes the other side refuse all. */
    enum err (*post)(void *sink, size_t count, size_t bytes, uint64_t deadline_ns);
    size_t sent;
    void *sink; /* handed to post */

    size_t portion_bytes, portion_max; /* how much is sent at once; how much the other side takes */
    size_t items_max; /* at once, while we look for one that is refused */
    uint64_t wait_ns, next_try_ns; /* after failures */
    enum err last;                 /* the last failure */
    uint64_t refused;              /* items that were refused for good */
    uint64_t position;             /* of the last batch that was taken in; 0: none */
};

/* post and sink are set. Errors as of curl_client_open. */
enum err http_sender_open(struct http_sender *sender);
void http_sender_close(struct http_sender *sender);

/* A batch that is in the outbox, or has arrived, already: it came again after a failure that was not its own. */
bool http_sender_has(const struct http_sender *sender, const struct batch *batch);

/* After a batch was added behind the first count items. err: how that went; then all of it is taken back. When much has come
 * together it is sent. AGAIN: the outbox is full, and the batch is not in it. */
enum err http_sender_end_batch(struct http_sender *sender, const struct batch *batch, size_t count, enum err err);

/* Sends until the outbox is empty, at most until the deadline (0: as long as an answer may take). After a failure it tries again a
 * few times within a second or two. AGAIN, DENIED, IO: what is left stays in the outbox. */
enum err http_sender_flush(struct http_sender *sender, uint64_t deadline_ns);

/* A item was refused for good: it is done, and counted if it was not done before. */
void http_sender_reject(struct http_sender *sender, struct outbox_item *item);

/* The first count items have arrived. */
void http_sender_mark_delivered(struct http_sender *sender, size_t count);

#endif
