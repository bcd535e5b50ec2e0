/* Sends an outbox to a server in chunks, for the sinks of sink-http.so: backs off after failures, sends smaller
 * chunks if they are too large or too slow, and counts items that the server rejects. What failed stays in the
 * outbox. */
#ifndef SONDE_SINKS_HTTP_SENDER_H
#define SONDE_SINKS_HTTP_SENDER_H

#include "model/batch.h"
#include "sinks/curl_client.h"
#include "sinks/outbox.h"

#define HTTP_SENDER_OUTBOX_MAX (64u << 20)

/* Part of the state of a sink. */
struct http_sender {
    struct curl_client client; /* the caller applies its settings before http_sender_open */
    struct outbox outbox;
    struct curl_response answer;

    /* Sends the first count items, of total size bytes, or fewer, and sets `sent`. Marks those that are done. Errors
     * as for curl_client_check_status; FULL: the request is too large; CORRUPT: an item makes the server reject all
     * of them. */
    enum err (*post)(void *sink, size_t count, size_t bytes, uint64_t deadline_ns);
    size_t sent;
    void *sink; /* passed to post */

    size_t chunk_bytes, chunk_max; /* bytes per request: now, and what the server accepts */
    size_t items_max; /* items per request while searching for an invalid one */
    uint64_t wait_ns, next_try_ns; /* back-off */
    enum err last;                 /* error of the last request that failed */
    uint64_t refused;              /* items rejected for good */
    uint64_t position;             /* of the last batch that was added; 0: none */
};

/* post and sink must be set. Errors as for curl_client_open. */
enum err http_sender_open(struct http_sender *sender);
void http_sender_close(struct http_sender *sender);

/* Was the batch added before? It is delivered again if another batch failed. */
bool http_sender_has(const struct http_sender *sender, const struct batch *batch);

/* Call after adding a batch after the first count items. err: the result; on an error its items are removed. Sends
 * if the outbox is large. AGAIN: the outbox is full, and the batch was removed. */
enum err http_sender_end_batch(struct http_sender *sender, const struct batch *batch, size_t count, enum err err);

/* Sends until the outbox is empty or the deadline has passed (0: the timeout of a request). Retries for about 1.5 s.
 * AGAIN, DENIED, IO: the rest stays in the outbox. */
enum err http_sender_flush(struct http_sender *sender, uint64_t deadline_ns);

/* Marks an item as rejected for good, and counts it. */
void http_sender_reject(struct http_sender *sender, struct outbox_item *item);

/* Marks the first count items as delivered. */
void http_sender_mark_delivered(struct http_sender *sender, size_t count);

#endif
