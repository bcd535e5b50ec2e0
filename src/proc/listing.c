/* Reads a directory and sorts it with strverscmp. */
#include "proc/listing.h"

#include "base/file.h"
#include "base/vec.h"
#include "proc/dirents.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum err add(struct listing *listing, const char *name)
{
    size_t size = strlen(name) + 1;
    if (size > LISTING_NAME_MAX)
        return OK;
    enum err err = array_reserve(listing->names, listing->capacity, listing->count + 1, LISTING_MAX);
    if (err)
        return err;
    memcpy(listing->names[listing->count++], name, size);
    return OK;
}

static enum err add_all(struct listing *listing, int fd, const char *prefix)
{
    struct dirents entries;
    dirents_begin(&entries, fd);
    for (const char *name; (name = dirents_next(&entries));) {
        if (name[0] == '.' || strncmp(name, prefix, strlen(prefix)) != 0)
            continue;
        enum err err = add(listing, name);
        if (err)
            return err;
    }
    return entries.err;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(a, b);
}

enum err listing_read(struct listing *listing, const char *root, const char *path, const char *prefix)
{
    int fd;
    listing->count = 0;
    enum err err = file_open(root, path, &fd);
    if (err)
        return err;
    err = add_all(listing, fd, prefix);
    close(fd);
    if (listing->count)
        qsort(listing->names, listing->count, sizeof *listing->names, by_name);
    return err;
}

void listing_clear(struct listing *listing)
{
    free(listing->names);
    *listing = (struct listing){ 0 };
}
