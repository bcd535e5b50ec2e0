/* Who was whose parent, and the order in which the processes of a run stand. */
#ifndef SONDE_MERGE_TREE_H
#define SONDE_MERGE_TREE_H

#include "merge/process_image.h"

/* Sets life.parent. A parent that nobody saw is added to the lives. */
enum err tree_find_parents(struct lives *lives, struct events *events, uint32_t run_pid);

/* Puts the images in pre-order, brothers by their beginning: *order (the caller frees) has the image of each place,
 * image.place and image.parent are set. */
enum err tree_order(struct images *images, const struct lives *lives, uint32_t **order, uint32_t *count);

#endif
