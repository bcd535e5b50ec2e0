/* A sink writes samples somewhere: the contract, and the list of those that are built in. docs/add-a-sink.md tells how to
 * add one; sinks/null.c is the file to copy. */
#ifndef SONDE_SINKS_SINK_H
#define SONDE_SINKS_SINK_H

#include "model/batch.h"
#include "model/setting.h"

#include <stdbool.h>

/* Where batches come from that have a position. */
struct sink_source {
    const char *name;   /* of this reader of this journal: unique for ever, and the same after a restart; borrowed */
    uint64_t opening;   /* random, of this time that the journal was opened */
    uint64_t opened_at; /* a batch beyond this position is none that came before that */
};

/* One constant per sink, in a file of its name. The caller allocates state_size zeroed bytes, applies the settings, then
 * calls open, write as often as it likes, flush, and close; it frees the state. */
struct sink {
    const char *name;  /* as the file's: "csv" */
    const char *about; /* one line, for the docs and the lists */
    const struct setting *settings;
    size_t state_size;

    /* May be NULL. Looks at the settings, before open and without it: writes nothing, connects to nobody, keeps nothing. USAGE:
     * they make no sense, and never will; ABSENT, DENIED, IO: open would fail now, as with a folder that is missing. message
     * says which setting, and what to do. */
    enum err (*check)(void *state);

    /* May be NULL. DENIED, ABSENT, FULL, IO: nothing was opened, and close is not called. */
    enum err (*open)(void *state);

    /* Borrows batch until it returns. What could not be written now may be kept until flush. GONE: nobody reads any more,
     * which is no error. */
    enum err (*write)(void *state, const struct batch *batch);

    /* All that was written is durable when this returns OK; AGAIN when deadline_ns (CLOCK_MONOTONIC; 0: none) passed. */
    enum err (*flush)(void *state, uint64_t deadline_ns);

    /* Forgets what was not flushed. */
    void (*close)(void *state);

    /* May be NULL. Where it was when it last made anything durable: the position of that batch, kept with the data itself,
     * so that after a crash nothing is missed and nothing is there twice; what lay behind it is taken back here. Asked
     * once, after open. 0: it has nothing yet. Without this the caller keeps the position, saves it after each flush, and
     * what was written since is delivered again: then a batch that comes twice must do no harm. */
    enum err (*resume)(void *state, uint64_t *position);

    /* May be NULL. One line for people about the last failure of any call: "HTTP 401: wrong password". Never NULL itself. */
    const char *(*message)(const void *state);

    /* May be NULL. How many samples (or what they became there) the other side has refused for good since open, as with a value
     * that does not fit a column: they are not tried again, and flush does not fail for them. message says why. */
    uint64_t (*refused)(const void *state);

    /* May be NULL: flush makes all durable. Else the position up to which all is durable now, which after a flush that returned
     * OK may lie behind what was written: of a sink that gathers blocks, as writing each row of a compressed file alone would
     * make it large. Whoever has a journal keeps what is beyond it; close makes the rest durable. 0: nothing yet. */
    uint64_t (*durable)(const void *state);

    /* May be NULL. Told once, after open, by whoever reads from a journal. */
    void (*source)(void *state, const struct sink_source *source);

    bool may_block; /* it talks to others and may wait for them, or gathers much: it gets a thread that reads a journal */
};

/* The sinks that are built in, NULL at the end. */
extern const struct sink *const sink_all[];

/* NULL when there is none of this name among them. */
const struct sink *sink_find(const char *name);

/* The same, and where none is built in, that of the module that sink_modules (sinks/module.h) names for it. ABSENT: there is
 * none, or it cannot be loaded; CORRUPT: it is of another version of Sonde. why gets a sentence. */
enum err sink_load(const char *name, const struct sink **sink, char *why, size_t why_size);

#endif
