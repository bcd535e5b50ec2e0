/* Perf counts of threads. The probe opens the events of each thread, hands the descriptors over through a socket and
 * forgets them; sonde run reads them when the thread has ended, whatever ended it. Events count until then, over execs: what an
 * image counted is what its own have, less what those have that the exec of the next began. */
#ifndef SONDE_RUN_PERF_COUNTS_H
#define SONDE_RUN_PERF_COUNTS_H

#include "proc/perf.h"
#include "run/spool_writer.h"

#include <limits.h>
#include <sys/un.h>

struct perf_thread;

struct perf_counts {
    int fd; /* the socket, readable when a thread has started */
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    char dir[sizeof((struct sockaddr_un *)0)->sun_path]; /* made for the socket; "" when the spool's was used */
    char link[PATH_MAX]; /* in the spool's, to the socket in dir: so that sonde submit finds it after a kill -9; or "" */
    size_t event_count;
    struct writer *writer;
    struct perf_thread **chains; /* by tid */
    size_t thread_count;
    size_t strays;  /* descriptors that a thread other than the first has sent before it was to exec */
    size_t pending; /* threads with events of more than one image */
    uint64_t lost; /* threads whose descriptors did not arrive whole: too many files are open */
};

/* Makes the socket in dir, or, when that path is too long for one, in a new folder of its own. */
enum err perf_counts_open(struct perf_counts *counts, const char *dir, size_t event_count, struct writer *writer);

/* Reads what is left of all threads, and removes the socket. Harmless when it was not opened (fd < 0). */
void perf_counts_close(struct perf_counts *counts);

/* Takes the descriptors that have come. */
void perf_counts_receive(struct perf_counts *counts);

/* The thread has ended at this time: records its counts, if it has any. An end from before its last message is that of another,
 * which had the tid before: of the first thread, when one of the others exec'd. */
void perf_counts_end_thread(struct perf_counts *counts, uint32_t pid, uint32_t tid, uint64_t time_ns);

/* Records the counts of images that have exec'd, so that their events need not go on beside those of the next. */
void perf_counts_settle(struct perf_counts *counts);

/* Looks for threads that ended untold. */
void perf_counts_sweep(struct perf_counts *counts);

/* The events as the probe wants them in its environment. */
void perf_counts_describe(const struct perf_event_spec *specs, size_t count, struct buf *text);

#endif
