/* The threads of a process image: one for each, whoever told of it. */
#ifndef SONDE_MERGE_THREADS_H
#define SONDE_MERGE_THREADS_H

#include "merge/process_image.h"
#include "model/process.h"

/* The time in which records of threads belong to an image, and where to look for them. */
struct threads_window {
    uint64_t from_ns, until_ns; /* until_ns is not in it */
    uint64_t exec_ns;           /* of the exec record that announced the image; 0: there is none */
    uint32_t first;             /* event */
    bool stops;                 /* at until_ns: what was read late is not looked for */
};

#define THREADS_PERF_MAX 16

/* Scratch memory that is used again for every process. */
struct threads_scratch {
    struct threads_piece *pieces;
    uint32_t room;
    uint32_t perf[THREADS_PERF_MAX], perf_count; /* more perf records of the main thread than the one in its struct */
};

void threads_scratch_clear(struct threads_scratch *scratch);

/* Writes the image's threads to out, which has room for one more than the life has thread_events: the main one first,
 * then by their beginning. thread.events is the event of its
 * perf record, UINT32_MAX: none. NOMEM: only the main one. */
enum err threads_of(struct threads_scratch *scratch, const struct events *events, const struct life *life,
                    struct threads_window window, struct thread *out, uint32_t *count);

/* Nothing, where the name is empty. */
void threads_set_name(struct thread *thread, struct bytes name);

/* One thread's numbers from two sides: bytes of the probe are exact, those of the kernel's exit record are cut to whole
 * KB; all else is read later, and so is more, in the exit record. */
void threads_join(struct counters *all, const struct counters *probe, const struct counters *kernel);

#endif
