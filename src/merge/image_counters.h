/* Counters of each process image and of its threads. */
#ifndef SONDE_MERGE_IMAGE_COUNTERS_H
#define SONDE_MERGE_IMAGE_COUNTERS_H

#include "merge/io_with_children.h"
#include "merge/threads.h"
#include "merge/usage.h"
#include "model/run.h"

struct image_counters {
    const struct record_index *records;
    const struct process_instances *instances;
    const struct process_images *images;
    const struct usage *usage;
    const struct io_with_children *io;
    struct threads_scratch scratch;
    struct run *run;
};

/* Fills the counters of the process and appends its threads to those of the run. */
enum err image_counters_fill(struct image_counters *numbers, uint32_t image, struct process *process);

#endif
