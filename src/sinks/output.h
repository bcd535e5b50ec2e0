/* Buffered output to a file or to standard output, for sinks that write text. */
#ifndef SONDE_SINKS_OUTPUT_H
#define SONDE_SINKS_OUTPUT_H

#include "base/buf.h"
#include "sinks/checkpoint.h"

struct output {
    int fd;
    bool owned; /* opened by us */
    bool wary;  /* a pipe or a terminal, whose reader may be slow: never wait for it but at the end */
    struct buf out; /* add to it, then call output_write_if_large */
    uint64_t position; /* of the batch that was begun last; 0: none */
    uint64_t flushed;  /* … when it was last flushed */
    bool is_file;      /* to which is added: */
    uint64_t whole;    /* its size before that batch */
    struct checkpoint mark;
};

/* Makes or empties the file; path NULL or "-": standard output. */
enum err output_open(struct output *output, const char *path);

/* The same, but what is in the file stays, and is added to. *is_new: it was empty, or cannot be looked at. For a program
 * that runs on: where the reader is slow, what cannot be written is kept, until the output is stuck. What a crash left behind
 * the last batch with a position that was flushed is cut off; output->mark.position is that batch's. */
enum err output_append(struct output *output, const char *path, bool *is_new);

/* A batch begins. When an error comes before it was pushed, what is in a file of it is taken back: it may be tried again. The
 * first one with a position makes the mark. */
enum err output_begin_batch(struct output *output, uint64_t position);

/* So much is kept already that no more should be added. */
bool output_is_stuck(const struct output *output);

/* Writes all of it now, without asking the disk. Errors as of output_write_if_large. */
enum err output_write(struct output *output);

/* Writes when enough has come together. GONE: the reader of a pipe has left. FULL, IO. */
enum err output_write_if_large(struct output *output);

/* Writes all of it, and asks the disk for it. */
enum err output_flush(struct output *output);

void output_close(struct output *output);

#endif
