/* The images of a process instance: what it was when it started, and what each exec turned it into. */
#ifndef SONDE_MERGE_PROCESS_IMAGE_H
#define SONDE_MERGE_PROCESS_IMAGE_H

#include "merge/process_instance.h"

/* A forked copy that used less CPU time than this before its exec, and started no children, is counted as part of the
 * next image. */
#define PROCESS_IMAGE_MIN_US 10000

struct process_image {
    uint64_t start_ns; /* time of the exec; for the first image the start of the process; 0: unknown */
    uint32_t instance;
    uint32_t exec;        /* exec or spawn record that announced it; NONE */
    uint32_t kernel_exec; /* kernel_exec record; NONE */
    uint32_t image;       /* image record written by its probe; NONE */
    uint32_t parent;      /* image; NONE for a root; set by merge/tree.c */
    uint32_t position;    /* index in run.processes; set by merge/tree.c */
};

struct process_images {
    struct process_image *list; /* those of one instance are contiguous; the first is the forked copy */
    uint32_t count, capacity;
};

/* Sets first_image and image_count of each instance. Parents must be set. */
enum err process_images_find(struct process_images *images, struct process_instances *instances,
                             const struct record_index *records);
void process_images_clear(struct process_images *images);

/* The image of this instance that was running at this time. */
uint32_t process_image_at(const struct process_images *images, const struct process_instance *instance, uint64_t time_ns);

/* The record at which to start looking for records about this image: the instance's first one, unless the instance has
 * so many images that the total cost would be quadratic. */
#define PROCESS_IMAGES_WALK_MAX 64
uint32_t process_image_first_record(const struct process_images *images, const struct process_instance *instance,
                                    uint32_t index);

/* Is this image the announced one? Paths may differ (symbolic links, script interpreters) and arguments may have been
 * inserted in front, but the announced arguments after argv[0] must be the last ones. */
bool process_image_is_announced(const struct record_strings *announced, const struct record_strings *actual);

#endif
