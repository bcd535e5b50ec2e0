/* Carries an outbox to a server in portions: waits longer after each failure, makes the portions smaller when they are too
 * much at once, counts what the other side will never take. What failed stays in the box until it has arrived. */
#ifndef SONDE_SINKS_HTTP_SENDER_H
#define SONDE_SINKS_HTTP_SENDER_H

#include "model/batch.h"
#include "sinks/curl_client.h"
#include "sinks/outbox.h"

#define COURIER_BOX_MAX (64u << 20)

/* Part of the state of a sink. */
struct courier {
    struct http_client client; /* its settings are set before courier_open */
    struct outbox box;
    struct http_answer answer;

    /* Sends the first count pieces, which are bytes long, or fewer: then it says how many in sent. Marks those that are done.
     * Errors as of http_client_judge; FULL: it was too much at once; CORRUPT: one of them makes the other side refuse all. */
    enum err (*post)(void *sink, size_t count, size_t bytes, uint64_t deadline_ns);
    size_t sent;
    void *sink; /* handed to post */

    size_t portion_bytes, portion_max; /* how much is sent at once; how much the other side takes */
    size_t pieces_max; /* at once, while we look for one that is refused */
    uint64_t wait_ns, next_try_ns; /* after failures */
    enum err last;                 /* the last failure */
    uint64_t refused;              /* pieces that were refused for good */
    uint64_t position;             /* of the last batch that was taken in; 0: none */
};

/* post and sink are set. Errors as of http_client_open. */
enum err courier_open(struct courier *courier);
void courier_close(struct courier *courier);

/* A batch that is in the box, or has arrived, already: it came again after a failure that was not its own. */
bool courier_knows(const struct courier *courier, const struct batch *batch);

/* After a batch was added behind the first count pieces. err: how that went; then all of it is taken back. When much has come
 * together it is sent. AGAIN: the box is full, and the batch is not in it. */
enum err courier_took(struct courier *courier, const struct batch *batch, size_t count, enum err err);

/* Sends until the box is empty, at most until the deadline (0: as long as an answer may take). After a failure it tries again a
 * few times within a second or two. AGAIN, DENIED, IO: what is left stays in the box. */
enum err courier_flush(struct courier *courier, uint64_t deadline_ns);

/* A piece was refused for good: it is done, and counted if it was not done before. */
void courier_refuse(struct courier *courier, struct outbox_piece *piece);

/* The first count pieces have arrived. */
void courier_done(struct courier *courier, size_t count);

#endif
