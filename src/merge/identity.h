/* Who a process image was: path, arguments, folder, tags, user, group, session, status, and who told of it. */
#ifndef SONDE_MERGE_IDENTITY_H
#define SONDE_MERGE_IDENTITY_H

#include "merge/arena.h"
#include "merge/process_image.h"
#include "model/run.h"

struct identity {
    const struct events *events;
    const struct lives *lives;
    const struct images *images;
    struct texts *texts;
    struct run *run; /* its processes with a lower place are filled already */
};

/* Fills all of process but its numbers and threads. */
void identity_fill(const struct identity *identity, uint32_t image, struct process *process);

#endif
