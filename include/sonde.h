/* libsonde: counters, gauges and histograms of a program, read from outside by sonde agent and sonde run.
 *
 *     #include <sonde.h>
 *
 *     static struct sonde_counter cells;
 *     const char *const labels[] = { "phase", "solve", NULL };
 *     sonde_counter_make(&cells, "cells_total", labels, "", "Computed cells");
 *     ...
 *     sonde_add(&cells, 100);        a plain addition in thread-local memory
 *
 * Link with -lsonde, or use `pkg-config --cflags --libs sonde`. Works in C, C++ and, with sonde.f90, Fortran; the
 * manual is sonde(3). No function blocks, prints or ends the program. Handles that are all zeros, or whose creation
 * failed, may be used: they count nothing. */
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

/* Results of creating a metric. */
enum sonde_result {
    SONDE_OK = 0,
    SONDE_FULL = 1,       /* no space: the metric is not recorded */
    SONDE_OTHER_TYPE = 2, /* the name is already used by a metric of another type, or by a histogram with other bounds */
    /* no name; a name longer than 32,766 bytes including its labels, or another string longer than 65,535; a label without a
     * value; bounds that are not increasing */
    SONDE_INVALID = 3
};

/* Handles. Create them once, store them anywhere, share them between threads. The fields are private. */
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

/* Each function creates a metric, or finds the existing one with this name and these labels. labels: name, value,
 * name, value, NULL; or NULL. unit: "bytes", "seconds", "" or NULL. help: a sentence, or NULL. Strings are copied. */
int sonde_counter_make(struct sonde_counter *counter, const char *name, const char *const *labels, const char *unit,
                       const char *help);
int sonde_real_counter_make(struct sonde_real_counter *counter, const char *name, const char *const *labels,
                            const char *unit, const char *help);
int sonde_gauge_make(struct sonde_gauge *gauge, const char *name, const char *const *labels, const char *unit,
                     const char *help);
/* bounds: increasing upper bounds (inclusive), at most 501; copied. */
int sonde_histogram_make(struct sonde_histogram *histogram, const char *name, const char *const *labels, const char *unit,
                         const char *help, const double *bounds, size_t count);

/* A description of a result: "out of space …". */
const char *sonde_result_text(int result);

/* Sets the rank of this process among `size` processes of a parallel program, where MPI does not provide it. */
void sonde_rank(int rank, int size);

/* Counting. May be called from any thread and from signal handlers. */

/* Adds an integer. */
static __inline__ void sonde_add(const struct sonde_counter *counter, uint64_t value);
/* Adds a real number. Negative, infinite and NaN values are ignored: a counter only grows. */
static __inline__ void sonde_add_real(const struct sonde_real_counter *counter, double value);
/* Sets a gauge; NaN means unknown. One value for all threads. */
static __inline__ void sonde_set(const struct sonde_gauge *gauge, double value);
void sonde_gauge_add(const struct sonde_gauge *gauge, double value); /* a gauge that was never set starts at 0 */
/* Infinite and NaN values are ignored. */
void sonde_observe(const struct sonde_histogram *histogram, double value);

/* The inline functions as real ones, for other languages. */
void sonde_call_add(const struct sonde_counter *counter, uint64_t value);
void sonde_call_add_real(const struct sonde_real_counter *counter, double value);
void sonde_call_set(const struct sonde_gauge *gauge, double value);

/* ------------------------------------------------------------------------------------------------------------------
 * Implementation details from here on. */

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
#if defined(__x86_64__) /* one instruction, so that a signal handler cannot interrupt it half-way */
    __asm__ volatile("addq %1, %0" : "+m"(*slot) : "er"(value) : "cc");
#else
    __atomic_fetch_add(slot, value, __ATOMIC_RELAXED);
#endif
}

/* Doubles are classified by their bits: with -ffast-math the compiler assumes that all are finite. */
#define SONDE_INSIDE_INFINITE ((uint64_t)0x7ff00000 << 32)

/* Several instructions: a signal handler that interrupts them sees that the thread is busy, and uses the second
 * slot. */
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

/* 0 means "never set". */
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
