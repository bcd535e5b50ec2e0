/* The spool: one append-only file of frames per host and run, written by many processes at once, read by one. */
#ifndef SONDE_SPOOL_SPOOL_H
#define SONDE_SPOOL_SPOOL_H

#include "spool/frame.h"

#include <sys/types.h>

/* Appends one finished frame. Opens, writes once and closes, so that no descriptor stays open in a monitored program, which may
 * close or reuse any. Does not allocate, change errno, act as a cancellation point or raise SIGXFSZ. FULL, IO: not written, or
 * only partly. */
enum err spool_append(const char *path, const uint8_t *frame, size_t size);

/* The same in two steps: returns a descriptor or -errno, either of which is passed to the second step. */
int spool_append_open(const char *path);
enum err spool_append_close(int fd, const uint8_t *frame, size_t size);

/* The creator of the spool holds a lock on it (fcntl) until it ends or closes any descriptor of the file. The kernel reports the
 * holder's pid in the pid namespace of the caller, 0 if it has none there. ABSENT: a network file system, where locks are
 * slow. */
enum err spool_hold(int fd);
enum err spool_holder(int fd, pid_t *pid); /* ABSENT: not locked */

/* Counts a record that could not be written: adds 1 to the u64 in the file path + ".lost", which the creator of the spool has
 * created with 8 zero bytes. Errors are ignored. */
void spool_count_lost(const char *path);

/* Reads a spool through a read-only mapping. */
struct spool_reader {
    struct bytes all;
    size_t at;
    uint64_t damaged_bytes; /* skipped so far */
    uint64_t wasted_bytes;    /* checked without result so far: see is_hopeless in spool.c */
};

/* Maps the file as it is now. ABSENT, DENIED, IO. */
enum err spool_open(struct spool_reader *reader, const char *path);
void spool_close(struct spool_reader *reader);

/* The next valid record; damaged bytes are skipped and counted. GONE: end. */
enum err spool_next(struct spool_reader *reader, enum record_kind *kind, struct bytes *body);

#endif
