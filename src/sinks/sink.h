/* The contract between a sink, which writes samples somewhere, and its callers: sinks/sink_worker.c, the agent's
 * sampling loop and `sonde export`. docs/add-a-sink.md explains how to add one; sinks/null.c is the file to copy. */
#ifndef SONDE_SINKS_SINK_H
#define SONDE_SINKS_SINK_H

#include "model/batch.h"
#include "model/setting.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The journal reader that feeds a sink, for sinks that store their position at the destination. */
struct sink_source {
    const char *name;   /* unique to this reader of this journal, and the same after a restart; borrowed until the call returns */
    uint64_t opening;   /* random number of this opening of the journal */
    uint64_t opened_at; /* batches with a larger position were appended after the journal was opened */
};

/* The earlier of deadline_ns and the time by which the caller wants to stop (see struct sink); NULL or 0: no such time. */
static inline uint64_t sink_deadline(const atomic_ullong *stop_ns, uint64_t deadline_ns)
{
    uint64_t until_ns = stop_ns ? atomic_load(stop_ns) : 0;
    return until_ns && until_ns < deadline_ns ? until_ns : deadline_ns;
}

/* One constant per sink. The caller allocates state_size zeroed bytes, applies the settings and calls open; then
 * write and flush any number of times, and close; it frees the state. All calls come from one thread. A sink logs
 * nothing and never exits: it returns an error, and the caller logs message(). */
struct sink {
    const char *name;  /* as in --sink NAME:KEY=VALUE */
    const char *about; /* one line, for documentation and lists */
    const struct setting *settings;
    size_t state_size;

    /* Optional. Validates the settings without opening, writing or connecting to anything. USAGE: they can never
     * work. ABSENT, DENIED, IO: open would fail now, for example because a directory is missing. message() names the
     * setting. */
    enum err (*check)(void *state);

    /* Required. On an error nothing stays open or allocated, and close is not called. */
    enum err (*open)(void *state);

    /* Required. Borrows batch until it returns, and may buffer its content until flush. On an error none of the
     * batch may count: a caller with a journal delivers the same batch again, first to the same state and after a
     * few attempts to a newly opened one; a caller without a journal drops it and goes on with the next batch. So
     * undo what was written of it, or recognise it when it returns. GONE: the reader of a pipe has closed it; the
     * caller closes the sink, and that is not logged as an error. */
    enum err (*write)(void *state, const struct batch *batch);

    /* Required. OK: everything written so far is durable. AGAIN: deadline_ns (CLOCK_MONOTONIC; 0: none) has passed.
     * After an error what was written stays buffered, and flush is called again. */
    enum err (*flush)(void *state, uint64_t deadline_ns);

    /* Required. Frees what open allocated, and drops what was not flushed. Also called after write or flush failed. */
    void (*close)(void *state);

    /* Optional. Called once after open: sets *position to the position of the last durable batch (0: none), which
     * the sink stores together with its data, and removes any data after it; the journal is read from there, so that
     * after a crash nothing is missing or duplicated. Without it the caller saves the position after each flush, and
     * batches since then are delivered again after a crash: then a duplicate must do no harm. */
    enum err (*resume)(void *state, uint64_t *position);

    /* Optional. One line about the last failure of any call: "HTTP 401: wrong password". After a successful open: what the
     * administrator has to know, or "". Never returns NULL. */
    const char *(*message)(const void *state);

    /* Optional. Number of samples that the destination has rejected for good since open, for example because a value
     * does not fit its column. They are not sent again, and flush does not fail because of them. message() says
     * error. */
    uint64_t (*refused)(const void *state);

    /* Optional, for sinks that collect large blocks over several flushes. The position up to which everything is
     * durable; 0: none. The journal keeps what is after it, and close makes the rest durable. Without it a
     * successful flush covers all. */
    uint64_t (*durable)(const void *state);

    /* Optional. Called once after open if batches come from a journal. */
    void (*source)(void *state, const struct sink_source *source);

    /* Optional, for sinks that wait for a server. Called once after open. *stop_ns (CLOCK_MONOTONIC) is 0 until the caller
     * wants to stop; it is set by another thread, while write or flush runs, which should then return by that time. */
    void (*watch_stop)(void *state, const atomic_ullong *stop_ns);

    /* Set if it talks to servers through a large library. Its thread, and those that the library starts, then have no
     * capabilities. Needs may_block. */
    bool is_unprivileged;

    /* Set if write or flush can wait for a network, a server or another process, or if the sink buffers for more
     * than a moment. Agent and collector then run it in a thread of its own that reads a journal. Without it the
     * agent calls it between two samples: it must return within milliseconds. */
    bool may_block;
};

/* The built-in sinks, terminated by NULL. Sinks in modules: sinks/sink_module.h. */
extern const struct sink *const sink_all[];

/* The built-in sink of this name; NULL: none. */
const struct sink *sink_find(const char *name);

#endif
