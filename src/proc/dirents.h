/* Reads the names in a directory with getdents64: opendir and readdir would allocate at each reading. */
#ifndef SONDE_PROC_DIRENTS_H
#define SONDE_PROC_DIRENTS_H

#include "base/err.h"

#define DIRENTS_BYTES (16 << 10)

struct dirents {
    int fd;        /* borrowed */
    long got, at;  /* size of the last result of getdents64, and the position in it */
    enum err err;  /* set when dirents_next returns NULL after an error */
    char bytes[DIRENTS_BYTES] __attribute__((aligned(8)));
};

/* Reading starts at the current position of fd. */
void dirents_begin(struct dirents *dirents, int fd);

/* Borrowed until the next call; includes "." and "..". NULL: no more names, or err is set. */
const char *dirents_next(struct dirents *dirents);

#endif
