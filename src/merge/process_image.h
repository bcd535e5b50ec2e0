/* The images of a life: what it was when it began, and what each exec made of it. */
#ifndef SONDE_MERGE_PROCESS_IMAGE_H
#define SONDE_MERGE_PROCESS_IMAGE_H

#include "merge/process_instance.h"

/* A pre-exec image that used less than this, and made no children, counts to the image it became. */
#define IMAGES_SMALL_US 10000

struct image {
    uint64_t start_ns;    /* of the exec; for the first of a life: its beginning. 0: not known */
    uint32_t life;
    uint32_t exec;        /* event: announced by the image before (exec) or the parent (spawn); NONE */
    uint32_t kernel_exec; /* event: told by the kernel; NONE */
    uint32_t image;       /* event: told by the probe in it; NONE */
    uint32_t parent;      /* image, NONE: a root; set by merge/tree.c */
    uint32_t place;       /* in the run's list of processes; set by merge/tree.c */
};

struct images {
    struct image *list; /* those of one life stand together; the first is what it was born as */
    uint32_t count, room;
};

/* Sets life.image and .images. The parents must be known. */
enum err images_find(struct images *images, struct lives *lives, const struct events *events);
void images_clear(struct images *images);

/* The image of the life that was active at this time. */
uint32_t images_at(const struct images *images, const struct life *life, uint64_t time_ns);

/* Where to begin a walk over the life's events for what was told of this image: at the life's first, but not in a life of
 * very many images, in which each would walk over all. */
#define IMAGES_WALKED_MAX 64
uint32_t images_first_event(const struct images *images, const struct life *life, uint32_t index);

/* Is this image the one that was announced? Its path may differ (links, interpreters of scripts) and words may come
 * before the announced ones, but then those behind the first stay. */
bool images_is_announced(const struct event_texts *said, const struct event_texts *is);

#endif
