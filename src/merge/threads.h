/* The threads of a process image, each once, whatever the sources. */
#ifndef SONDE_MERGE_THREADS_H
#define SONDE_MERGE_THREADS_H

#include "merge/process_image.h"
#include "model/process.h"

/* The time window in which thread records belong to an image, and where to find them. */
struct threads_window {
    uint64_t from_ns, until_ns; /* until_ns is exclusive */
    uint64_t exec_ns;           /* time of the exec record that announced the image; 0: none */
    uint32_t first;             /* record */
    bool stops;                 /* at until_ns: ignore records that were read later */
};

#define THREADS_PERF_MAX 16

/* Working memory, reused for every process. */
struct threads_scratch {
    struct threads_piece *pieces;
    uint32_t capacity;
    uint32_t perf[THREADS_PERF_MAX], perf_count; /* further perf records of the main thread, besides thread.events */
};

void threads_scratch_clear(struct threads_scratch *scratch);

/* Writes the image's threads to out, which must have capacity for thread_records of the instance plus one: the main
 * thread first, then by start time. thread.events is set to the thread's perf record, UINT32_MAX if none. NOMEM: only
 * the main thread is set. */
enum err threads_of(struct threads_scratch *scratch, const struct record_index *records,
                    const struct process_instance *instance,
                    struct threads_window window, struct thread *out, uint32_t *count);

/* Does nothing if the name is empty. */
void threads_set_name(struct thread *thread, struct bytes name);

/* Combines the counters of one thread from two sources. Byte counts of the probe are exact; those of the kernel's exit
 * record are rounded down to KB. All other values are read later in the exit record, so they include more. */
void threads_join(struct counters *all, const struct counters *probe, const struct counters *kernel);

#endif
