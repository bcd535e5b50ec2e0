/* A sink of the collector, or of an agent where it may wait for others: a thread that reads the journal at its own speed and
 * writes it there. What cannot be written is tried again, for as long as the journal keeps it; nobody else waits for it. */
#ifndef SONDE_SINKS_SINK_WORKER_H
#define SONDE_SINKS_SINK_WORKER_H

#include "sinks/sink_choice.h"
#include "sinks/sink_worker_name.h"
#include "journal/journal.h"

struct sink_worker;

enum sink_worker_state { SINK_WORKER_WAITING /* for its first samples */, SINK_WORKER_WRITING, SINK_WORKER_FAILING, SINK_WORKER_CLOSED };

struct sink_worker_figures {
    enum sink_worker_state state;
    char name[64];               /* of its cursor */
    char error[256];               /* it fails; "": it does not */
    uint64_t batches, samples, values; /* written, since the start */
    uint64_t gaps;               /* records that were gone before it could read them */
    uint64_t unreadable;         /* records */
    uint64_t refused;            /* samples that the other side will never take */
    uint64_t failures;           /* of writes and flushes */
    uint64_t lag_bytes, lag_ns;  /* what waits for it in the journal */
    uint64_t success_ns;         /* CLOCK_REALTIME, when something was made durable last; 0: never */
    double rate;                 /* samples written per second, of the last ten to twenty seconds */
    uint64_t read_ns, write_ns, flush_ns, flushes; /* time spent */
    uint64_t streams;            /* that it knows */
};

struct sink_worker_settings {
    struct journal *journal; /* stays open until sink_worker_close */
    const struct sink_choice *choice; /* is copied */
    void *state; /* by sink_choice_open, of the same choice, which then stays as long; NULL: the thread opens it */

    /* May be NULL: pieces of runs are none of its business. Called by the thread; on an error it tells error, and tries again. */
    enum err (*take_piece)(void *context, const struct batch_piece *piece, struct buf *error);
    void *context;
};

/* Starts the thread. On an error a state stays its owner's. */
enum err sink_worker_start(struct sink_worker **worker, const struct sink_worker_settings *settings);

/* Writes and flushes what there is, for at most so long; what is left stays in the journal. */
void sink_worker_close(struct sink_worker **worker, uint64_t linger_ns);
void sink_worker_begin_stop(struct sink_worker *worker, uint64_t linger_ns); /* sink_worker_close follows: several can end at the same time */

/* Closes and opens the sink, since somebody may have moved its files away. */
void sink_worker_reopen(struct sink_worker *worker);

const struct sink_choice *sink_worker_choice(const struct sink_worker *worker);
const char *sink_worker_cursor_name(const struct sink_worker *worker); /* the name of its cursor; as long as it lives */
void sink_worker_figures(struct sink_worker *worker, struct sink_worker_figures *figures);

#endif
