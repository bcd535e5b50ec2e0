/* Folders, read with getdents64 itself: opendir would allocate at each reading. */
#include "sample/listing.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIST_FIRST 16
#define DIRENTS_BYTES (16 << 10)

struct kernel_dirent { /* struct linux_dirent64 */
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

static enum err add(struct listing *listing, const char *name)
{
    size_t size = strlen(name) + 1;
    if (size > LISTING_NAME_MAX)
        return OK;
    if (listing->count == LISTING_MAX)
        return FULL;
    if (listing->count == listing->room) {
        size_t room = listing->room ? listing->room * 2 : LIST_FIRST;
        void *names = realloc(listing->names, room * sizeof *listing->names);
        if (!names)
            return NOMEM;
        listing->names = names;
        listing->room = room;
    }
    memcpy(listing->names[listing->count++], name, size);
    return OK;
}

static enum err add_all(struct listing *listing, int fd, const char *prefix)
{
    char dirents[DIRENTS_BYTES] __attribute__((aligned(8)));
    long got;
    while ((got = syscall(SYS_getdents64, fd, dirents, sizeof dirents)) > 0)
        for (long at = 0; at < got;) {
            const struct kernel_dirent *entry = (const void *)(dirents + at);
            at += entry->size;
            if (entry->name[0] == '.' || strncmp(entry->name, prefix, strlen(prefix)) != 0)
                continue;
            enum err err = add(listing, entry->name);
            if (err)
                return err;
        }
    return got < 0 ? err_from_errno(errno) : OK;
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
