/* What the files board*.c share: the memory of the process, the lock, room in the file. All of it under the lock. */
#ifndef SONDE_PROBE_SEGMENT_INTERNAL_H
#define SONDE_PROBE_SEGMENT_INTERNAL_H

#include "probe/segment/segment.h"

/* A page that a fork empties (MADV_WIPEONFORK): in the child all of it reads as 0, so the lock is free, no thread has a
 * chunk, and is_open says that there is no board yet. The same goes for the pieces of memory that are taken later. */
struct board_arena {
    uint32_t lock;
    uint32_t is_open;
    struct board_thread *threads; /* all that ever were; those whose thread is gone are taken over */
    struct board_thread *looked;  /* where to look for such next */
    uint32_t thread_count;
    uint32_t name_count, name_room;
    uint32_t *names;              /* names.c */
    uint32_t process_room;
    uint64_t **process;           /* chunks of the process by their numbers */
};

/* arena.c: memory that is zeroed and stays until the process ends; NULL: no room. */
struct board_arena *board_arena(struct board *board);
void *board_arena_take(struct board *board, size_t bytes);
/* With all signals blocked, so that no handler can wait for what it interrupted; returns those that were. */
uint64_t board_arena_lock(struct board_arena *arena);
void board_arena_unlock(struct board_arena *arena, uint64_t signals);

/* segment.c: the calling thread has no slots any more. */
void board_forget(void);

/* file.c: a new file is mapped, or memory in place of it. */
void board_file_make(struct board *board);
/* Moves the mapping to where that of the parent was, which thereby goes. */
void board_file_move(struct board *board, const struct board *parent);
/* Pages behind the used ones, ready to be touched without SIGBUS where there is no memory. Their place in the file; 0: no
 * room. Nobody else sees them before they are published. */
uint64_t board_file_reserve(struct board *board, uint32_t pages);
void board_file_publish(struct board *board, uint32_t pages);
/* Removes it, unless somebody wants to read it. */
void board_file_leave(const struct board *board);

/* facts.c: all but what file.c knows. */
void board_facts_fill(const struct board *board, struct board_header *header);
uint64_t board_facts_now_ns(void); /* CLOCK_REALTIME */

/* names.c */
enum err board_names_make(struct board *board, const struct board_description *description, uint32_t *metric);
void board_names_keep_together(struct board *board, uint32_t slots);
/* Takes over what a parent described, as it was when the process was forked. */
void board_names_copy(struct board *board, const struct board *parent);

static inline struct board_header *board_header(const struct board *board)
{
    return (struct board_header *)(void *)board->base;
}

static inline void *board_at(const struct board *board, uint64_t at)
{
    return board->base + at;
}

/* Chunks with odd numbers are of the process, for gauges; the others of threads. */
static inline bool board_is_of_process(uint32_t chunk)
{
    return chunk & 1;
}

#endif
