/* The names in a folder of sysfs or procfs, in the order in which people count: "zone2" before "zone10". */
#ifndef SONDE_PROC_LISTING_H
#define SONDE_PROC_LISTING_H

#include "base/err.h"

#include <stddef.h>

#define LISTING_NAME_MAX 64 /* with its NUL; longer names are left out */
#define LISTING_MAX 4096

/* Keeps its memory for the next folder. Zeroed at first. */
struct listing {
    char (*names)[LISTING_NAME_MAX];
    size_t count, capacity;
};

/* The names that begin with prefix; those that begin with '.' never. ABSENT: there is no such folder. FULL: more than
 * LISTING_MAX. */
enum err listing_read(struct listing *listing, const char *root, const char *path, const char *prefix);

void listing_clear(struct listing *listing);

#endif
