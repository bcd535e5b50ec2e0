/* Identity of a process image: path, arguments, working directory, tags, user, process group, session, exit status, and
 * the sources of this information. */
#ifndef SONDE_MERGE_IDENTITY_H
#define SONDE_MERGE_IDENTITY_H

#include "merge/arena.h"
#include "merge/process_image.h"
#include "model/run.h"

struct identity {
    const struct record_index *records;
    const struct process_instances *instances;
    const struct process_images *images;
    struct arena_strings *strings;
    struct run *run; /* processes at lower positions are already filled */
};

/* Fills everything except counters and threads. */
void identity_fill(const struct identity *identity, uint32_t image, struct process *process);

#endif
