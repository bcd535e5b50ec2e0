/* Memory is counted by wrapping the allocator at link time (--wrap), which also works under the sanitizers; allocations inside
 * shared libraries are not counted. Time is the processor time of the thread: other load does not count. */
#include "fuzz/cost.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The limits: a fixed part, and one per byte of input. The build sets FUZZ_BYTES for targets that need more. */
#ifndef FUZZ_BYTES
#define FUZZ_BYTES (1 << 20)
#endif
#define FUZZ_BYTES_EACH 256
#define FUZZ_NS 200000000
#define FUZZ_NS_EACH 2000
#define ATTEMPTS 3 /* a page fault or a slow clock may spoil a measurement, but not three in a row */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 10
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOWER 10
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *block);

static size_t live, peak;
static double most_bytes_each, most_ns_each, most_bytes, most_ns;

static void count(void *block)
{
    live += block ? malloc_usable_size(block) : 0;
    peak = live > peak ? live : peak;
}

/* Blocks of shared libraries are freed here but were not counted. */
static void uncount(void *block)
{
    size_t size = block ? malloc_usable_size(block) : 0;
    live -= size < live ? size : live;
}

void *__wrap_malloc(size_t size)
{
    void *block = __real_malloc(size);
    count(block);
    return block;
}

void *__wrap_calloc(size_t number, size_t size)
{
    void *block = __real_calloc(number, size);
    count(block);
    return block;
}

void *__wrap_realloc(void *old, size_t size)
{
    size_t before = old ? malloc_usable_size(old) : 0;
    void *block = __real_realloc(old, size);
    if (block || !size)
        live -= before < live ? before : live;
    count(block);
    return block;
}

void __wrap_free(void *block)
{
    uncount(block);
    __real_free(block);
}

static uint64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void print_most(void)
{
    fprintf(stderr, "# cost: %.0f bytes, %.0f per input byte; %.2f ms, %.0f ns per input byte\n", most_bytes, most_bytes_each,
            most_ns / 1e6, most_ns_each);
}

static bool is_printing(void)
{
    static int printing = -1;
    if (printing < 0) {
        const char *value = getenv("FUZZ_COST");
        printing = value && strcmp(value, "print") == 0;
        if (printing)
            atexit(print_most);
    }
    return printing;
}

static void keep_most(double bytes, double ns, size_t size)
{
    most_bytes = bytes > most_bytes ? bytes : most_bytes;
    most_ns = ns > most_ns ? ns : most_ns;
    if (bytes > FUZZ_BYTES && (bytes - FUZZ_BYTES) / (double)size > most_bytes_each)
        most_bytes_each = (bytes - FUZZ_BYTES) / (double)size;
    if (size >= 1024 && ns / (double)size > most_ns_each)
        most_ns_each = ns / (double)size;
}

static void fail(const char *what, double cost, double limit, size_t size)
{
    fprintf(stderr, "%zu bytes of input cost %.0f %s, the limit is %.0f\n", size, cost, what, limit);
    abort();
}

int cost_run(fuzz_target *target, const uint8_t *data, size_t size)
{
    double ns_limit = SLOWER * (FUZZ_NS + (double)FUZZ_NS_EACH * (double)size), ns = 0;
    double bytes_limit = FUZZ_BYTES + (double)FUZZ_BYTES_EACH * (double)size;
    int rc = 0;
    for (int attempt = 0; attempt < ATTEMPTS && (!attempt || ns > ns_limit); attempt++) {
        uint64_t start = thread_ns();
        live = peak = 0;
        rc = target(data, size);
        ns = (double)(thread_ns() - start);
    }
    if (is_printing())
        keep_most((double)peak, ns, size);
    else if (ns > ns_limit)
        fail("ns of processor time", ns, ns_limit, size);
    else if ((double)peak > bytes_limit)
        fail("bytes of memory", (double)peak, bytes_limit, size);
    return rc;
}
