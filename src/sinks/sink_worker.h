/* Runs one sink in a thread of its own, which reads the journal of the agent or collector at the sink's own pace. A
 * write that fails is retried for as long as the journal keeps the data; other sinks are not delayed. */
#ifndef SONDE_SINKS_SINK_WORKER_H
#define SONDE_SINKS_SINK_WORKER_H

#include "sinks/sink_choice.h"
#include "journal/journal.h"

struct sink_worker;

enum sink_worker_state { SINK_WORKER_WAITING /* for the first samples */, SINK_WORKER_WRITING, SINK_WORKER_FAILING,
                         SINK_WORKER_CLOSED };

struct sink_worker_figures {
    enum sink_worker_state state;
    char name[64];               /* of its journal cursor */
    char error[256];               /* why it fails; "": it does not */
    uint64_t batches, samples, values; /* written since the start */
    uint64_t gaps;               /* records that the journal dropped before they were read */
    uint64_t unreadable;         /* records */
    uint64_t refused;            /* samples that the destination rejected for good */
    uint64_t failures;           /* of writes and flushes */
    uint64_t lag_bytes, lag_ns;  /* unread part of the journal */
    uint64_t success_ns;         /* CLOCK_REALTIME, of the last successful flush; 0: none */
    double rate;                 /* samples per second, over the last 10 to 20 s */
    uint64_t read_ns, write_ns, flush_ns, flushes; /* time spent */
    uint64_t streams;            /* streams with a decoder */
};

struct sink_worker_settings {
    struct journal *journal; /* must stay open until sink_worker_close */
    const struct sink_choice *choice; /* copied */

    /* Receives the parts of runs that are in the journal, and the host whose agent sent them; NULL: ignore them. Called
     * by the thread, which logs error and retries. */
    enum err (*take_piece)(void *context, const char *host, const struct batch_piece *piece, struct buf *error);
    void *context;
};

/* Starts the thread, which opens the sink. */
enum err sink_worker_start(struct sink_worker **worker, const struct sink_worker_settings *settings);

/* Writes and flushes what the journal holds, for at most linger_ns, then stops the thread. The rest stays in the
 * journal. */
void sink_worker_close(struct sink_worker **worker, uint64_t linger_ns);
/* call before sink_worker_close, so that several workers stop in parallel */
void sink_worker_begin_stop(struct sink_worker *worker, uint64_t linger_ns);

/* Closes and reopens the sink, for example after log rotation. */
void sink_worker_reopen(struct sink_worker *worker);

const struct sink_choice *sink_worker_choice(const struct sink_worker *worker);
const char *sink_worker_cursor_name(const struct sink_worker *worker); /* valid until sink_worker_close */
void sink_worker_figures(struct sink_worker *worker, struct sink_worker_figures *figures);

/* The name of the journal cursor for this choice: "sink-NAME-HASH", with a hash of the settings, so that it is the
 * same after a restart. */
void sink_worker_name(const struct sink_choice *choice, char name[64]);

/* Does the cursor name belong to one of these sinks, or to no sink at all? Cursors of removed sinks are deleted. */
bool sink_worker_name_is_used(const char *name, const struct sink_choice *choices, size_t count);

#endif
