/* The writer of a board (appmetrics/segment_format.h), inside a program: compiled into libsonde and into each probe
 * that counts, with libc alone. A thread adds to slots of its own in shared memory: no lock, no system call; who
 * reads sums up over the threads.  A copy of this code has one board at a time. Any thread may call anything, signal
 * handlers too; errno stays as it is, nothing is allocated with malloc, no descriptor stays open. A child of fork
 * gets a board of its own, with the same metrics at 0, when it first counts; one of vfork counts for its parent. What
 * does not work costs nothing: without /dev/shm there is anonymous memory in its place, and what has no room at all
 * counts where nobody looks. */
#ifndef SONDE_PROBE_SEGMENT_SEGMENT_H
#define SONDE_PROBE_SEGMENT_SEGMENT_H

#include "base/err.h"
#include "appmetrics/segment_format.h"

#include <stdbool.h>
#include <stddef.h>

struct board_description {
    const char *name;
    const char *labels; /* as in struct board_descriptor; board_label helps. NULL here and below: none */
    const char *unit, *help;
    enum board_kind kind;
    enum board_type type;
    const double *bounds; /* of a histogram */
    size_t bound_count;
};

/* Another process, whose numbers these are: a board is of the process that writes it otherwise. */
struct board_subject {
    int32_t pid; /* 0: itself */
    uint32_t uid;
    const char *job; /* "": none */
};

/* Zeros at first: a static variable. Its inside is of probe/board*.c alone. */
struct board {
    char library[32];
    struct board_arena *arena;  /* memory of this process alone, which a fork empties: arena.c */
    char *piece;                /* more of it */
    size_t piece_used, piece_bytes;
    char *base;                 /* where the file is mapped, or memory in place of it; NULL: neither */
    size_t bytes, usable;       /* mapped; of these, may be touched */
    bool is_file;
    int32_t pid;
    int32_t rank, size;
    uint64_t program;           /* as in the header */
    uint32_t world;
    uint64_t pages;             /* as in the header, which the program could overwrite */
    uint64_t block, block_used; /* the descriptors that grow: where in the file; bytes in use */
    uint32_t next[2];           /* the next metric of threads, of the process */
    char path[256];
    struct board_subject subject;
};

/* Makes the board, if there is none yet. Before this nothing is counted. */
void board_open(struct board *board, const char *library);

/* Before board_open. The job's text is borrowed for ever. */
void board_speak_for(struct board *board, const struct board_subject *subject);

/* A metric of this name and these labels; the same again where there is one. USAGE: the description makes no sense, or the name
 * is of another kind, type or bounds already; FULL: no room. Then *metric is BOARD_NONE, which may be counted with. */
enum err board_make(struct board *board, const struct board_description *description, uint32_t *metric);

/* Does it make sense, whatever else there is on the board? */
bool board_describes(const struct board_description *description);

/* board_make without the reason. */
uint32_t board_metric(struct board *board, const struct board_description *description);

/* The next metrics will stand side by side, those of this many slots: board_slots of the first one leads to all of them. */
void board_keep_together(struct board *board, uint32_t slots);

void board_set_rank(struct board *board, int rank, int size);

/* Of which MPI program the rank is, and of which of its worlds. Before board_set_rank. */
void board_set_world(struct board *board, uint64_t program, uint32_t world);

/* At the normal end of the program: whoever wants the board finds it marked, and without anybody it is removed. Counting
 * stays possible. */
void board_end(struct board *board);

/* Adds name="value" to labels, escaped, with a comma where it is not the first. Returns the size with it; what does not fit into
 * room (NUL included) is left out, whole, and the size is as before. */
size_t board_label(char *labels, size_t size, size_t room, const char *name, const char *value);

/* A thread's chunks by their numbers. Memory of the arena: after a fork count is 0 in the child. */
struct board_thread {
    uint32_t count; /* of chunks */
    uint32_t busy;  /* adds to a real: see board_add_f64 */
    int32_t tid;
    uint32_t number, room;
    struct board_thread *next;
    uint64_t *chunks[1]; /* NULL: not made yet; of count. Behind all that there is room for: board_own */
};

#ifdef BOARD_IS_SHOWN /* libsonde shows it to programs, for sonde.h */
#define BOARD_TLS __thread __attribute__((tls_model("initial-exec"), visibility("default")))
extern BOARD_TLS struct board_thread *board_mine __asm__("sonde_inside_mine");
#else
#define BOARD_TLS __thread __attribute__((tls_model("initial-exec"), visibility("hidden")))
extern BOARD_TLS struct board_thread *board_mine;
#endif

uint64_t *board_slots_slow(struct board *board, uint32_t metric);

/* Memory of the calling thread for whoever counts: to keep what board_slots said. Zeros at first, and again in a child of fork.
 * A thread that takes the place of one that has ended gets it as that one left it, as it gets its slots. NULL: none. */
void *board_own(struct board *board, size_t bytes);
void board_add_f64_interrupting(uint64_t *slot, double value);

/* The calling thread's own slots of a metric (those of the process, if it is a gauge). Never NULL. Cheap: about a nanosecond. Ask
 * each time, or keep it within one call of your own: after a fork, and when the thread ends, it is another one's. */
static inline uint64_t *board_slots(struct board *board, uint32_t metric)
{
    const struct board_thread *mine = board_mine;
    uint32_t chunk = metric >> BOARD_CHUNK_SHIFT;
    if (__builtin_expect(chunk < mine->count, 1)) {
        uint64_t *slots = mine->chunks[chunk];
        if (__builtin_expect(slots != NULL, 1))
            return slots + (metric & (BOARD_CHUNK_SLOTS - 1));
    }
    return board_slots_slow(board, metric);
}

/* Adds to a slot of one's own so that a signal handler in between, which adds too, is not forgotten: one instruction. */
static inline void board_add_u64(uint64_t *slot, uint64_t value) /* NOLINT(readability-non-const-parameter) */
{
#if defined(__x86_64__)
    __asm__ volatile("addq %1, %0" : "+m"(*slot) : "er"(value) : "cc");
#else
    __atomic_fetch_add(slot, value, __ATOMIC_RELAXED);
#endif
}

/* The same for the sum of reals, which takes two slots and several instructions. A handler that comes in between sees that
 * the thread is busy and takes the second one: 1 ns more than plain, and 1.5 ns less than an exchange each time. */
static inline void board_add_f64(uint64_t *slots, double value) /* NOLINT(readability-non-const-parameter) */
{
    struct board_thread *mine = board_mine;
    uint64_t bits;
    double sum;
    if (__builtin_expect(__atomic_load_n(&mine->busy, __ATOMIC_RELAXED), 0)) {
        board_add_f64_interrupting(slots + 1, value);
        return;
    }
    __atomic_store_n(&mine->busy, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bits = __atomic_load_n(slots, __ATOMIC_RELAXED);
    memcpy(&sum, &bits, sizeof sum);
    sum += value;
    memcpy(&bits, &sum, sizeof bits);
    __atomic_store_n(slots, bits, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&mine->busy, 0, __ATOMIC_RELAXED);
}

/* A gauge's slot is shared by all threads. */
static inline void board_gauge_set(uint64_t *slot, double value) /* NOLINT(readability-non-const-parameter) */
{
    __atomic_store_n(slot, board_gauge_bits(value), __ATOMIC_RELAXED);
}

void board_gauge_add(uint64_t *slot, double value); /* one that was never set begins at 0 */

#endif
