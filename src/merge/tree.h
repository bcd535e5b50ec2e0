/* The process tree: parent of each process instance, and the order of processes in a run. */
#ifndef SONDE_MERGE_TREE_H
#define SONDE_MERGE_TREE_H

#include "merge/process_image.h"

/* Sets the parent of each instance. A parent without any record is added to the instances. */
enum err tree_find_parents(struct process_instances *instances, struct record_index *records, uint32_t run_pid);

/* Puts the images in pre-order, siblings by start time: *order (freed by the caller) has the image at each position;
 * position and parent of each image are set. */
enum err tree_order(struct process_images *images, const struct process_instances *instances, uint32_t **order,
                    uint32_t *count);

#endif
