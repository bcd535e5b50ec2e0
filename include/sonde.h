/* libsonde: counters, gauges and histograms of a program, which sonde agent and sonde run read from outside.
 *
 *     #include <sonde.h>
 *
 *     static struct sonde_counter cells;
 *     const char *const labels[] = { "phase", "solve", NULL };
 *     sonde_counter_make(&cells, "cells_total", labels, "", "Cells that were computed");
 *     ...
 *     sonde_add(&cells, 100);        a plain addition in memory of the thread's own
 *
 * Link with -lsonde, or with what `pkg-config --cflags --libs sonde` says. Works in C, C++ and, with sonde.f90, Fortran;
 * sonde(3) is the manual. Nothing here ever blocks, prints or ends the program. Metrics that are all zeros, or could not be
 * made, may be used: they count nowhere. */
#ifndef SONDE_H
#define SONDE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define SONDE_VERSION_MAJOR 1

/* How making a metric may fail. */
enum sonde_result {
    SONDE_OK = 0,
    SONDE_FULL = 1,       /* no room: it counts nowhere */
    SONDE_OTHER_TYPE = 2, /* the name is in use for a metric of another type, or the same histogram has other bounds */
    SONDE_INVALID = 3     /* no name; a name that has more than 32,766 bytes with its labels, or another text of more than 65,535; */
                          /* a label without a value; bounds that do not rise */
};

/* Handles. Make them once, keep them anywhere, share them between threads; their inside is libsonde's. */
struct sonde_counter {
    uint32_t place;
};
struct sonde_real_counter {
    uint32_t place;
};
struct sonde_gauge {
    uint32_t place;
};
struct sonde_histogram {
    uint32_t place, count;
    const double *bounds;
};

/* Each makes a metric, or finds the one of this name and these labels again. labels: name, value, name, value, NULL; or NULL.
 * unit: "bytes", "seconds", or "" or NULL. help: a sentence, or NULL. Texts are copied. */
int sonde_counter_make(struct sonde_counter *counter, const char *name, const char *const *labels, const char *unit,
                       const char *help);
int sonde_real_counter_make(struct sonde_real_counter *counter, const char *name, const char *const *labels,
                            const char *unit, const char *help);
int sonde_gauge_make(struct sonde_gauge *gauge, const char *name, const char *const *labels, const char *unit,
                     const char *help);
/* The bounds rise, 501 of them at most, and are copied: what is observed counts for the first bound that it is not above. */
int sonde_histogram_make(struct sonde_histogram *histogram, const char *name, const char *const *labels, const char *unit,
                         const char *help, const double *bounds, size_t count);

/* "no room", "the name is of another type", … */
const char *sonde_result_text(int result);

/* The rank of this process among size of them, where the program is parallel and nobody else tells. */
void sonde_rank(int rank, int size);

/* Counting. From any thread, and from signal handlers. */

/* Adds a whole number. */
static __inline__ void sonde_add(const struct sonde_counter *counter, uint64_t value);
/* Adds a real number. What is negative, infinite or not a number is refused: a counter only grows. */
static __inline__ void sonde_add_real(const struct sonde_real_counter *counter, double value);
/* A gauge may be anything; not a number means that it is not known any more. One slot for all threads. */
static __inline__ void sonde_set(const struct sonde_gauge *gauge, double value);
void sonde_gauge_add(const struct sonde_gauge *gauge, double value); /* one that was never set begins at 0 */
/* What is infinite or not a number is refused. */
void sonde_observe(const struct sonde_histogram *histogram, double value);

/* The first three as functions, for other languages. */
void sonde_call_add(const struct sonde_counter *counter, uint64_t value);
void sonde_call_add_real(const struct sonde_real_counter *counter, double value);
void sonde_call_set(const struct sonde_gauge *gauge, double value);

/* ------------------------------------------------------------------------------------------------------------------
 * From here on: how it works inside. */

/* The calling thread's pages of 512 slots. */
struct sonde_inside_thread {
    uint32_t count, busy;
    uint64_t inside[3];
    uint64_t *pages[1];
};
__extension__ extern __thread struct sonde_inside_thread *sonde_inside_mine __attribute__((tls_model("initial-exec")));
uint64_t *sonde_inside_slots(uint32_t place);
void sonde_inside_interrupting(uint64_t *slot, double value);

static __inline__ uint64_t *sonde_inside_find(const struct sonde_inside_thread *mine, uint32_t place)
{
    uint32_t page = place >> 9;
    if (__builtin_expect(page < mine->count, 1)) {
        uint64_t *slots = mine->pages[page];
        if (__builtin_expect(slots != NULL, 1))
            return slots + (place & 511);
    }
    return sonde_inside_slots(place);
}

static __inline__ void sonde_add(const struct sonde_counter *counter, uint64_t value)
{
    uint64_t *slot = sonde_inside_find(sonde_inside_mine, counter->place);
#if defined(__x86_64__) /* one instruction: a signal handler that adds too comes before it or behind it */
    __asm__ volatile("addq %1, %0" : "+m"(*slot) : "er"(value) : "cc");
#else
    __atomic_fetch_add(slot, value, __ATOMIC_RELAXED);
#endif
}

/* What a double is, is asked of its bits: with -ffast-math the compiler takes all of them for numbers. */
#define SONDE_INSIDE_INFINITE ((uint64_t)0x7ff00000 << 32)

/* Several instructions: a handler that comes between them sees that the thread is busy, and takes the second slot. */
static __inline__ void sonde_add_real(const struct sonde_real_counter *counter, double value)
{
    uint64_t *slots = sonde_inside_find(sonde_inside_mine, counter->place), bits;
    struct sonde_inside_thread *mine = sonde_inside_mine;
    double sum;
    memcpy(&bits, &value, sizeof bits);
    if (__builtin_expect(bits >= SONDE_INSIDE_INFINITE, 0)) /* or negative */
        return;
    if (__builtin_expect(__atomic_load_n(&mine->busy, __ATOMIC_RELAXED) != 0, 0)) {
        sonde_inside_interrupting(slots + 1, value);
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

/* 0 stands for "never set". */
static __inline__ void sonde_set(const struct sonde_gauge *gauge, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = bits << 1 > SONDE_INSIDE_INFINITE << 1 ? 0 : bits ^ ((uint64_t)0x7ff85042 << 32 | 0xd6f6e465u);
    __atomic_store_n(sonde_inside_find(sonde_inside_mine, gauge->place), bits, __ATOMIC_RELAXED);
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
