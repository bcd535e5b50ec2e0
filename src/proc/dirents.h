/* The names in a folder, read with getdents64 itself: opendir and readdir would allocate at each reading. */
#ifndef SONDE_PROC_DIRENTS_H
#define SONDE_PROC_DIRENTS_H

#include "base/err.h"

#define DIRENTS_BYTES (16 << 10)

struct dirents {
    int fd;        /* borrowed */
    long got, at;  /* of what the kernel gave last */
    enum err err;  /* when there is no next */
    char bytes[DIRENTS_BYTES] __attribute__((aligned(8)));
};

/* fd stands where reading is to begin. */
void dirents_begin(struct dirents *dirents, int fd);

/* Borrowed until the next call, "." and ".." too. NULL: there is none left, or err says why. */
const char *dirents_next(struct dirents *dirents);

#endif
