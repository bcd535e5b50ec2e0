/* Parses struct linux_dirent64, which libc does not declare. */
#include "proc/dirents.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

struct kernel_dirent {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

void dirents_begin(struct dirents *dirents, int fd)
{
    dirents->fd = fd;
    dirents->got = dirents->at = 0;
    dirents->err = OK;
}

const char *dirents_next(struct dirents *dirents)
{
    if (dirents->at >= dirents->got) {
        dirents->got = syscall(SYS_getdents64, dirents->fd, dirents->bytes, sizeof dirents->bytes);
        dirents->at = 0;
        if (dirents->got < 0)
            dirents->err = err_from_errno(errno);
        if (dirents->got <= 0)
            return NULL;
    }
    const struct kernel_dirent *entry = (const void *)(dirents->bytes + dirents->at);
    dirents->at += entry->size;
    return entry->name;
}
