/* Beside a file to which a sink adds: how long it was, and at which position of the journal, when all of it was last on the
 * disk. After a crash what is behind that is cut off and written again, so that nothing is there twice. In PATH.mark: two
 * copies, written in turn and in place, which neither a crash nor a full disk hurts. */
#ifndef SONDE_SINKS_CHECKPOINT_H
#define SONDE_SINKS_CHECKPOINT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint {
    char *path;        /* of the file of the mark */
    int fd;            /* -1: there is none yet */
    uint64_t saves;    /* counts, so that the newer copy is known */
    uint64_t position; /* 0: none */
};

void checkpoint_init(struct checkpoint *mark);
void checkpoint_clear(struct checkpoint *mark);

bool checkpoint_exists(const struct checkpoint *mark);

/* Takes back what was added to the file behind its mark, if it has one. */
enum err checkpoint_open(struct checkpoint *mark, const char *path, int file_fd);

/* All that is in the file is on the disk, and goes up to position. Durable when it returns. */
enum err checkpoint_save(struct checkpoint *mark, int file_fd, uint64_t position);

#endif
