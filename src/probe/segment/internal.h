/* Shared by the files of the segment writer: private memory, the lock, space in the file. Everything is protected by
 * the lock. */
#ifndef SONDE_PROBE_SEGMENT_INTERNAL_H
#define SONDE_PROBE_SEGMENT_INTERNAL_H

#include "probe/segment/segment.h"

/* A page that is zeroed by fork (MADV_WIPEONFORK): in the child the lock is free, no thread has chunks, and is_open
 * says that there is no segment yet. Memory that is allocated later behaves the same. */
struct segment_arena {
    uint32_t lock;
    uint32_t is_open;
    struct segment_thread *threads; /* all that ever existed; entries of ended threads are reused */
    struct segment_thread *next_checked;  /* where to look for one to reuse next */
    uint32_t thread_count;
    uint32_t name_count, name_capacity;
    uint32_t *names;              /* hash table of descriptors.c */
    uint32_t process_capacity;
    uint64_t **process;           /* chunks of the process (gauges) by number */
};

/* arena.c: zeroed memory that is never freed; NULL: out of memory. */
struct segment_arena *segment_arena(struct segment *segment);
void *segment_arena_alloc(struct segment *segment, size_t bytes);
/* Blocks all signals, so that no handler can wait for the thread it interrupted; returns the previous mask. */
uint64_t segment_arena_lock(struct segment_arena *arena);
void segment_arena_unlock(struct segment_arena *arena, uint64_t signals);

/* segment.c: detaches the calling thread from its slots. */
void segment_forget_thread(void);

/* file.c: maps a new file, or anonymous memory instead. */
void segment_file_create(struct segment *segment);
/* Moves the mapping to the address of the parent's, which is thereby unmapped. */
void segment_file_move(struct segment *segment, const struct segment *parent);
/* Reserves pages after the used ones and makes them safe to touch (no SIGBUS if memory is short). Returns their
 * offset in the file, 0: none. Readers do not see them before they are published. */
uint64_t segment_file_reserve(struct segment *segment, uint32_t pages);
void segment_file_publish(struct segment *segment, uint32_t pages);
/* Removes the file unless an agent wants to read it. */
void segment_file_release(const struct segment *segment);

/* header.c: fills everything except what file.c knows. */
void segment_header_fill(const struct segment *segment, struct segment_header *header);
uint64_t segment_header_now_ns(void); /* CLOCK_REALTIME */

/* descriptors.c: metrics of the segment. */
enum err segment_descriptors_add(struct segment *segment, const struct segment_description *description, uint32_t *metric);
void segment_descriptors_keep_adjacent(struct segment *segment, uint32_t slots);
/* Takes over the parent's metrics as they were at the time of the fork. */
void segment_descriptors_copy(struct segment *segment, const struct segment *parent);

static inline struct segment_header *segment_header(const struct segment *segment)
{
    return (struct segment_header *)(void *)segment->base;
}

static inline void *segment_at(const struct segment *segment, uint64_t at)
{
    return segment->base + at;
}

/* Odd chunks belong to the process (gauges), even ones to threads. */
static inline bool segment_chunk_is_of_process(uint32_t chunk)
{
    return chunk & 1;
}

#endif
