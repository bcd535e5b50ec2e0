/* perf counts of threads. The probe opens the events of each thread, sends the descriptors through a socket and
 * closes them; sonde run reads them when the thread has ended, whatever ended it. Events count across exec: the
 * counts of an image are those of its own events, minus those of the events that started with the next exec. */
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
    char dir[sizeof((struct sockaddr_un *)0)->sun_path]; /* created for the socket; "" if it is in the spool's directory */
    /* in the spool's directory, to the socket in dir, so that sonde submit can remove it after kill -9; or "" */
    char link[PATH_MAX];
    size_t event_count;
    struct spool_writer *writer;
    struct perf_thread **chains; /* by tid */
    size_t thread_count;
    size_t strays;  /* descriptors sent by a thread other than the main one before its exec */
    size_t pending; /* threads with events of more than one image */
    uint64_t lost; /* threads whose descriptors did not arrive: too many open files */
};

/* Creates the socket in dir, or in a new directory if the path would be too long. */
enum err perf_counts_open(struct perf_counts *counts, const char *dir, size_t event_count, struct spool_writer *writer);

/* Reads the counts of all remaining threads, and removes the socket. Harmless if not open (fd < 0). */
void perf_counts_close(struct perf_counts *counts);

/* Receives pending descriptors. */
void perf_counts_receive(struct perf_counts *counts);

/* The thread ended at this time: records its counts, if any. An end before its last message belongs to an earlier
 * thread with this tid: to the main thread, if another thread called exec. */
void perf_counts_end_thread(struct perf_counts *counts, uint32_t pid, uint32_t tid, uint64_t time_ns);

/* Records the counts of images that have called exec, so that their events need not continue next to those of the
 * next image. */
void perf_counts_settle(struct perf_counts *counts);

/* Searches for threads that have ended without being reported. */
void perf_counts_sweep(struct perf_counts *counts);

/* The events in the format of the probe's environment variable. */
void perf_counts_describe(const struct perf_event_spec *specs, size_t count, struct buf *text);

#endif
