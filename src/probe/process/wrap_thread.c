/* Threads start in a function of ours that records the start and calls the program's. Attributes and stack are
 * unchanged. The end is seen by the destructor of a thread-specific key (threads.c). */
#include "probe/process/probe.h"

#include <threads.h>

static void *begin(void *value)
{
    struct thread_slot *slot = value;
    void *(*start)(void *) = slot->start;
    void *argument = slot->argument;
    threads_begin(slot);
    perf_open_thread();
    return start(argument);
}

static int begin_c11(void *value)
{
    struct thread_slot *slot = value;
    int (*start)(void *) = slot->start_c11;
    void *argument = slot->argument;
    threads_begin(slot);
    perf_open_thread();
    return start(argument);
}

PROBE_EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                                void *(*start)(void *), void *restrict argument)
{
    struct thread_slot *slot = threads_ready() ? threads_claim() : NULL;
    if (!slot)
        return NEXT(pthread_create)(thread, attributes, start, argument);
    slot->start = start;
    slot->argument = argument;
    int error = NEXT(pthread_create)(thread, attributes, begin, slot);
    if (error)
        threads_release(slot);
    return error;
}

/* C11 threads do not go through pthread_create in libc. */
PROBE_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    struct thread_slot *slot = threads_ready() ? threads_claim() : NULL;
    if (!slot)
        return NEXT(thrd_create)(thread, start, argument);
    slot->start_c11 = start;
    slot->argument = argument;
    int error = NEXT(thrd_create)(thread, begin_c11, slot);
    if (error != thrd_success)
        threads_release(slot);
    return error;
}
