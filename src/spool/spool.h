/* The spool: one append-only file of frames per host and run, written by many processes at once, read by one. */
#ifndef SONDE_SPOOL_SPOOL_H
#define SONDE_SPOOL_SPOOL_H

#include "spool/frame.h"

#include <sys/types.h>

/* Appends one finished frame. Opens, writes once and closes, so that no descriptor stays in a program that is watched,
 * and a program that closes or reuses descriptors harms neither itself nor us. Allocates nothing, leaves errno alone, is
 * no cancellation point, raises no SIGXFSZ. FULL, IO: not (wholly) written. */
enum err spool_append(const char *path, const uint8_t *frame, size_t size);

/* The same in two steps: a descriptor or -errno, then (for either) the rest. */
int spool_append_open(const char *path);
enum err spool_append_close(int fd, const uint8_t *frame, size_t size);

/* The maker of the spool holds a lock on it (fcntl) until it ends or closes any descriptor of the file: the kernel tells
 * others who that is by the number that it has in their own pid namespace, 0 where it has none. ABSENT: the file lies
 * where a lock may cost a message to another machine. */
enum err spool_hold(int fd);
enum err spool_holder(int fd, pid_t *pid); /* ABSENT: nobody (any more) */

/* One more record could not be written: adds 1 to the number (u64) in the file path + ".lost", which the maker of the
 * spool has made with 8 zero bytes. Where it cannot be, nothing happens. */
void spool_count_lost(const char *path);

/* The spool as memory, read-only. */
struct spool_reader {
    struct bytes all;
    size_t at;
    uint64_t damaged_bytes; /* skipped so far */
    uint64_t vain_bytes;    /* checked for nothing so far */
};

/* Maps the file. The reader sees what was there at this moment. ABSENT, DENIED, IO. */
enum err spool_open(struct spool_reader *reader, const char *path);
void spool_close(struct spool_reader *reader);

/* The next whole record, damage skipped and counted. GONE at the end. */
enum err spool_next(struct spool_reader *reader, enum record_kind *kind, struct bytes *body);

#endif
