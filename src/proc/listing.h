/* The names in a directory of sysfs or procfs in natural order: "zone2" before "zone10". */
#ifndef SONDE_PROC_LISTING_H
#define SONDE_PROC_LISTING_H

#include "base/err.h"

#include <stddef.h>

#define LISTING_NAME_MAX 64 /* with its NUL; longer names are skipped */
#define LISTING_MAX 4096

/* Reuses its memory for the next directory. Zeroed at first. */
struct listing {
    char (*names)[LISTING_NAME_MAX];
    size_t count, capacity;
};

/* Reads the names that begin with prefix, never those that begin with '.'. ABSENT: no such directory. FULL: more than
 * LISTING_MAX. */
enum err listing_read(struct listing *listing, const char *root, const char *path, const char *prefix);

void listing_clear(struct listing *listing);

#endif
