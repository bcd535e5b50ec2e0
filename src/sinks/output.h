/* Buffered output to a file or to standard output, for sinks that write text. */
#ifndef SONDE_SINKS_OUTPUT_H
#define SONDE_SINKS_OUTPUT_H

#include "base/buf.h"
#include "sinks/checkpoint.h"

struct output {
    int fd;
    bool owned; /* close fd at the end */
    bool is_pipe; /* or a terminal: its reader may be slow, so only the last flush waits for it */
    struct buf out; /* add to it, then call output_write_if_large */
    uint64_t position; /* of the current batch; 0: none */
    uint64_t flushed;  /* position at the last flush */
    bool is_file;      /* a regular file opened by output_append */
    uint64_t batch_start; /* size of the file before the current batch */
    struct checkpoint checkpoint;
};

/* Creates or truncates the file; path NULL or "-": standard output. */
enum err output_open(struct output *output, const char *path);

/* Opens the file for appending. *is_new: it was empty, or is not a regular file. For a process that keeps running:
 * if the reader of a pipe is slow, data is buffered until output_is_stuck. Removes what a crash left after the last
 * checkpoint, whose position is in output->checkpoint. */
enum err output_append(struct output *output, const char *path, bool *is_new);

/* Starts a batch. If writing it fails, its part is removed from the file, so that it can be written again. The first
 * batch with a position creates the checkpoint file. */
enum err output_begin_batch(struct output *output, uint64_t position);

/* So much is buffered that no more should be added. */
bool output_is_stuck(const struct output *output);

/* Writes the buffer without syncing. Errors as for output_write_if_large. */
enum err output_write(struct output *output);

/* Writes the buffer if it is large. GONE: the reader of a pipe has closed it. FULL, IO. */
enum err output_write_if_large(struct output *output);

/* Writes the buffer and syncs it to disk. */
enum err output_flush(struct output *output);

void output_close(struct output *output);

#endif
