/* Format of PATH.redo: header, pages with their numbers, checksum. */
#include "sinks/hdf5/redo.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "SondeRd1"
#define PAGE_BYTES (8 + HDF5_PAGE)
#define REDO_MAX ((size_t)2 << 30)

struct redo_header {
    char magic[8];
    uint64_t device, inode; /* of the file to change */
    uint64_t pages;
};

/* FNV-1a over 64-bit words. All sizes are multiples of 8. */
static uint64_t check_of(const char *data, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325ull, word;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        memcpy(&word, data + i, 8);
        hash = (hash ^ word) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool name_of(const char *path, char name[PATH_MAX])
{
    return snprintf(name, PATH_MAX, "%s.redo", path) < PATH_MAX;
}

static enum err head_of(int fd, size_t pages, struct redo_header *head)
{
    struct stat status;
    if (fstat(fd, &status))
        return err_from_errno(errno);
    *head = (struct redo_header){ .device = status.st_dev, .inode = status.st_ino, .pages = pages };
    memcpy(head->magic, MAGIC, sizeof head->magic);
    return OK;
}

static enum err build(int fd, const struct hdf5_pages *pages, struct buf *redo)
{
    struct redo_header head;
    enum err err = head_of(fd, pages->count, &head);
    buf_add(redo, &head, sizeof head);
    for (size_t i = 0; i < pages->count && !err; i++) {
        buf_add(redo, &pages->list[i].number, 8);
        buf_add(redo, pages->list[i].data, HDF5_PAGE);
        err = buf_err(redo);
    }
    if (err)
        return err;
    uint64_t check = check_of(redo->data, redo->size);
    buf_add(redo, &check, sizeof check);
    return buf_err(redo);
}

static enum err write_redo(const char *name, const struct buf *redo)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_from_errno(errno);
    enum err err = hdf5_pages_pwrite(fd, 0, redo->data, redo->size);
    if (!err && fdatasync(fd))
        err = err_from_errno(errno);
    close(fd);
    if (err)
        unlink(name);
    return err;
}

/* is_new: pages after old_size; else those before it, in descending order, because the superblock at the start
 * refers to the others. */
static enum err apply(int fd, const struct buf *redo, uint64_t pages, uint64_t old_size, bool is_new)
{
    enum err err = OK;
    for (uint64_t i = pages; i > 0 && !err; i--) {
        const char *page = redo->data + sizeof(struct redo_header) + (i - 1) * PAGE_BYTES;
        uint64_t number;
        memcpy(&number, page, 8);
        if ((number * HDF5_PAGE >= old_size) == is_new)
            err = hdf5_pages_pwrite(fd, number * HDF5_PAGE, page + 8, HDF5_PAGE);
    }
    return err;
}

static enum err apply_all(int fd, const char *name, const struct buf *redo, uint64_t pages, uint64_t old_size)
{
    enum err err = apply(fd, redo, pages, old_size, true);
    if (!err)
        err = apply(fd, redo, pages, old_size, false);
    if (!err && fdatasync(fd))
        err = err_from_errno(errno);
    if (!err)
        unlink(name);
    return err;
}

enum err hdf5_redo_change(int fd, const char *path, const struct hdf5_pages *pages, uint64_t old_size)
{
    char name[PATH_MAX];
    struct buf redo;
    if (!pages->count)
        return OK;
    if (!name_of(path, name))
        return USAGE;
    buf_init(&redo, REDO_MAX);
    enum err err = build(fd, pages, &redo);
    if (!err)
        err = write_redo(name, &redo);
    if (!err)
        err = apply_all(fd, name, &redo, pages->count, old_size);
    buf_clear(&redo);
    return err;
}

/* Is it complete, and for this file? */
static bool is_whole(int fd, const struct buf *redo, uint64_t *pages)
{
    struct redo_header head, wanted = { 0 };
    uint64_t check;
    if (redo->size < sizeof head + sizeof check || head_of(fd, 0, &wanted))
        return false;
    memcpy(&head, redo->data, sizeof head);
    size_t size = redo->size - sizeof check;
    if (memcmp(head.magic, wanted.magic, sizeof head.magic) != 0 || head.device != wanted.device || head.inode != wanted.inode
        || head.pages > HDF5_PAGES_MAX || size != sizeof head + head.pages * PAGE_BYTES)
        return false;
    memcpy(&check, redo->data + size, sizeof check);
    *pages = head.pages;
    return check == check_of(redo->data, size);
}

static enum err read_redo(const char *name, struct buf *redo)
{
    struct stat status;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    enum err err = fstat(fd, &status) ? err_from_errno(errno) : OK;
    char *capacity = err ? NULL : buf_reserve(redo, (size_t)status.st_size);
    if (!err)
        err = capacity ? hdf5_pages_pread(fd, 0, capacity, (size_t)status.st_size) : buf_err(redo);
    if (!err)
        redo->size += (size_t)status.st_size;
    close(fd);
    return err;
}

enum err hdf5_redo_recover(int fd, const char *path)
{
    char name[PATH_MAX];
    struct buf redo;
    uint64_t pages = 0;
    if (!name_of(path, name))
        return USAGE;
    buf_init(&redo, REDO_MAX);
    enum err err = read_redo(name, &redo);
    if (err == ABSENT)
        err = OK;
    else if (!err && is_whole(fd, &redo, &pages))
        err = apply_all(fd, name, &redo, pages, UINT64_MAX);
    else if (!err && unlink(name))
        err = err_from_errno(errno);
    buf_clear(&redo);
    return err;
}
