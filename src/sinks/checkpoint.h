/* The size of a file that a sink appends to, and the journal position that it corresponds to, at the last sync.
 * After a crash the file is truncated to that size and written again from that position, so that nothing is
 * duplicated. Stored in PATH.mark as two copies, overwritten alternately in place: safe against a crash and a full
 * disk. */
#ifndef SONDE_SINKS_CHECKPOINT_H
#define SONDE_SINKS_CHECKPOINT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint {
    char *path;        /* of the checkpoint file */
    int fd;            /* -1: it does not exist yet */
    uint64_t saves;    /* number of saves, to find the newer copy */
    uint64_t position; /* 0: none */
};

void checkpoint_init(struct checkpoint *checkpoint);
void checkpoint_clear(struct checkpoint *checkpoint);

bool checkpoint_exists(const struct checkpoint *checkpoint);

/* Reads the checkpoint, if there is one, and truncates the file to it. */
enum err checkpoint_open(struct checkpoint *checkpoint, const char *path, int file_fd);

/* Call after syncing the file, which holds everything up to position. Durable when it returns. */
enum err checkpoint_save(struct checkpoint *checkpoint, int file_fd, uint64_t position);

#endif
