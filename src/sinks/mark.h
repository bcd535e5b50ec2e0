/* Beside a file to which a sink adds: how long it was, and at which position of the journal, when all of it was last on the
 * disk. After a crash what is behind that is cut off and written again, so that nothing is there twice. In PATH.mark: two
 * copies, written in turn and in place, which neither a crash nor a full disk hurts. */
#ifndef SONDE_SINKS_MARK_H
#define SONDE_SINKS_MARK_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct mark {
    char *path;        /* of the file of the mark */
    int fd;            /* -1: there is none yet */
    uint64_t saves;    /* counts, so that the newer copy is known */
    uint64_t position; /* 0: none */
};

void mark_init(struct mark *mark);
void mark_clear(struct mark *mark);

bool mark_is_there(const struct mark *mark);

/* Takes back what was added to the file behind its mark, if it has one. */
enum err mark_open(struct mark *mark, const char *path, int file_fd);

/* All that is in the file is on the disk, and goes up to position. Durable when it returns. */
enum err mark_save(struct mark *mark, int file_fd, uint64_t position);

#endif
