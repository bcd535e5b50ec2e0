/* Writes a metrics segment (appmetrics/segment_format.h) from inside a program. Compiled into libsonde and every
 * probe that counts; needs only libc. Each thread adds to its own slots in shared memory, without locks or system
 * calls; readers sum over the threads.
 *
 * Each copy of this code has one segment at a time. All functions may be called from any thread and from signal
 * handlers; they preserve errno, do not use malloc and leave no descriptor open. A forked child gets its own
 * segment, with the same metrics at 0, when it first counts; a vfork child counts for its parent. Failures are
 * harmless: without /dev/shm the writer uses anonymous memory, and metrics without slots count into a sink that
 * nobody reads. */
#ifndef SONDE_PROBE_SEGMENT_SEGMENT_H
#define SONDE_PROBE_SEGMENT_SEGMENT_H

#include "base/err.h"
#include "appmetrics/segment_format.h"

#include <stdbool.h>
#include <stddef.h>

struct segment_description {
    const char *name;
    const char *labels; /* as in struct segment_descriptor, see segment_append_label. NULL here and below: none */
    const char *unit, *help;
    enum segment_metric_kind kind;
    enum segment_value_type type;
    const double *bounds; /* of a histogram */
    size_t bound_count;
};

/* The process that the numbers are about, if it is not the one that writes the segment (sonde attach). */
struct segment_subject {
    int32_t pid; /* 0: the writer itself */
    uint32_t uid;
    const char *job; /* "": none */
};

/* A zero-initialised static variable. The fields are private to probe/segment/. */
struct segment {
    char library[32];
    struct segment_arena *arena;  /* private memory, zeroed by fork: arena.c */
    char *piece;                /* the rest of it */
    size_t piece_used, piece_bytes;
    char *base;                 /* the mapped file, or anonymous memory; NULL: neither */
    size_t bytes, accessible;       /* mapped; of these, accessible */
    bool is_file;
    int32_t pid;
    int32_t rank, size;
    uint64_t program;           /* as in the header */
    uint32_t world;
    uint64_t pages;             /* as in the header, which the program could overwrite */
    uint64_t block, block_used; /* current block of descriptors: offset in the file; bytes used */
    uint32_t next[2];           /* next free metric number: of threads, of the process */
    char path[256];
    struct segment_subject subject;
};

/* Creates the segment if there is none yet. Nothing is counted before. */
void segment_open(struct segment *segment, const char *library);

/* Call before segment_open. The job string must stay valid forever. */
void segment_set_subject(struct segment *segment, const struct segment_subject *subject);

/* Adds a metric with this name and labels, or finds the existing one. USAGE: the description is invalid, or the name
 * is already used with another kind, type or bounds; FULL: no space. In both cases *metric is SEGMENT_METRIC_NONE,
 * which may be counted to. */
enum err segment_add_metric(struct segment *segment, const struct segment_description *description, uint32_t *metric);

/* Is the description valid, regardless of existing metrics? */
bool segment_description_is_valid(const struct segment_description *description);

/* Like segment_add_metric, without the error. */
uint32_t segment_metric(struct segment *segment, const struct segment_description *description);

/* Gives the next metrics, with this many slots in total, adjacent slots: segment_slots of the first leads to all of
 * them. */
void segment_keep_adjacent(struct segment *segment, uint32_t slots);

void segment_set_rank(struct segment *segment, int rank, int size);

/* The MPI program of this rank, and which of its worlds. Call before segment_set_rank. */
void segment_set_world(struct segment *segment, uint64_t program, uint32_t world);

/* At the normal end of the program: marks the segment as ended for an agent, or removes it if there is none.
 * Counting remains possible. */
void segment_end(struct segment *segment);

/* Appends name="value" to labels, escaped, with a comma unless it is the first. Returns the new size. A label that
 * does not fit (capacity includes the NUL) is left out completely, and the size is unchanged. */
size_t segment_append_label(char *labels, size_t size, size_t capacity, const char *name, const char *value);

/* The chunks of a thread by number. In arena memory: after fork, count is 0 in the child. */
struct segment_thread {
    uint32_t count; /* of chunks */
    uint32_t busy;  /* adding to an f64: see segment_add_f64 */
    int32_t tid;
    uint32_t number, capacity;
    struct segment_thread *next;
    /* `count` chunks; NULL: not allocated yet. The one after `capacity` chunks is the segment_thread_memory */
    uint64_t *chunks[1];
};

#ifdef SEGMENT_TLS_IS_EXPORTED /* libsonde exports it to programs, for sonde.h */
#define SEGMENT_TLS __thread __attribute__((tls_model("initial-exec"), visibility("default")))
extern SEGMENT_TLS struct segment_thread *segment_this_thread __asm__("sonde_inside_mine");
#else
#define SEGMENT_TLS __thread __attribute__((tls_model("initial-exec"), visibility("hidden")))
extern SEGMENT_TLS struct segment_thread *segment_this_thread;
#endif

uint64_t *segment_slots_slow(struct segment *segment, uint32_t metric);

/* Memory of the calling thread for the caller's own use: to cache results of segment_slots. Zeroed initially, and
 * again in a forked child. A thread that reuses the entry of an ended thread also inherits this memory. NULL: out of
 * memory. */
void *segment_thread_memory(struct segment *segment, size_t bytes);
void segment_add_f64_from_handler(uint64_t *slot, double value);

/* The calling thread's slots of a metric (the process's, if it is a gauge). Never NULL. Takes about a nanosecond. Do
 * not keep the pointer beyond one call of your own: after fork, or when the thread ends, it belongs to another. */
static inline uint64_t *segment_slots(struct segment *segment, uint32_t metric)
{
    const struct segment_thread *mine = segment_this_thread;
    uint32_t chunk = metric >> SEGMENT_CHUNK_SHIFT;
    if (__builtin_expect(chunk < mine->count, 1)) {
        uint64_t *slots = mine->chunks[chunk];
        if (__builtin_expect(slots != NULL, 1))
            return slots + (metric & (SEGMENT_CHUNK_SLOTS - 1));
    }
    return segment_slots_slow(segment, metric);
}

/* Adds to a slot of the calling thread in one instruction, so that a signal handler that adds too loses nothing. */
static inline void segment_add_u64(uint64_t *slot, uint64_t value) /* NOLINT(readability-non-const-parameter) */
{
#if defined(__x86_64__)
    __asm__ volatile("addq %1, %0" : "+m"(*slot) : "er"(value) : "cc");
#else
    __atomic_fetch_add(slot, value, __ATOMIC_RELAXED);
#endif
}

/* The same for a sum of doubles, which takes two slots and several instructions. A handler that interrupts it sees
 * that the thread is busy and uses the second slot: 1 ns slower than a plain addition, and 1.5 ns faster than a
 * compare-and-swap. */
static inline void segment_add_f64(uint64_t *slots, double value) /* NOLINT(readability-non-const-parameter) */
{
    struct segment_thread *mine = segment_this_thread;
    uint64_t bits;
    double sum;
    if (__builtin_expect(__atomic_load_n(&mine->busy, __ATOMIC_RELAXED), 0)) {
        segment_add_f64_from_handler(slots + 1, value);
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

/* The slot of a gauge is shared by all threads. */
static inline void segment_gauge_set(uint64_t *slot, double value) /* NOLINT(readability-non-const-parameter) */
{
    __atomic_store_n(slot, segment_gauge_bits(value), __ATOMIC_RELAXED);
}

void segment_gauge_add(uint64_t *slot, double value); /* a gauge that was never set starts at 0 */

#endif
