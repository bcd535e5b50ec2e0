/* Read when the file is opened, written after each flush. */
#include "sinks/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x316b72616d53ull /* "Smark1" */
#define COPY_BYTES 512          /* a sector is written atomically */
#define SUFFIX ".mark"

struct copy {
    uint64_t magic, check, saves, position, size, inode;
};

void checkpoint_init(struct checkpoint *checkpoint)
{
    *checkpoint = (struct checkpoint){ .fd = -1 };
}

void checkpoint_clear(struct checkpoint *checkpoint)
{
    if (checkpoint->fd >= 0)
        close(checkpoint->fd);
    free(checkpoint->path);
    checkpoint_init(checkpoint);
}

bool checkpoint_exists(const struct checkpoint *checkpoint)
{
    return checkpoint->saves > 0;
}

static uint64_t check_of(const struct copy *copy)
{
    const uint64_t kept[] = { copy->saves, copy->position, copy->size, copy->inode };
    uint64_t mix = MAGIC;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        mix = (mix ^ kept[i]) * 0xff51afd7ed558ccdull;
        mix ^= mix >> 32;
    }
    return mix;
}

static void read_copy(const struct checkpoint *checkpoint, int which, struct copy *newest)
{
    struct copy copy;
    if (pread(checkpoint->fd, &copy, sizeof copy, (off_t)which * COPY_BYTES) == (ssize_t)sizeof copy && copy.magic == MAGIC &&
        copy.check == check_of(&copy) && copy.saves > newest->saves)
        *newest = copy;
}

/* Leaves a file alone that was replaced or truncated by somebody else. */
static enum err truncate_file(const struct copy *copy, int file_fd)
{
    struct stat st;
    if (fstat(file_fd, &st) != 0)
        return err_from_errno(errno);
    if ((uint64_t)st.st_ino != copy->inode || (uint64_t)st.st_size <= copy->size)
        return OK;
    return ftruncate(file_fd, (off_t)copy->size) == 0 ? OK : err_from_errno(errno);
}

enum err checkpoint_open(struct checkpoint *checkpoint, const char *path, int file_fd)
{
    struct copy newest = { 0 };
    if (asprintf(&checkpoint->path, "%s" SUFFIX, path) < 0) {
        checkpoint->path = NULL;
        return NOMEM;
    }
    checkpoint->fd = open(checkpoint->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (checkpoint->fd < 0)
        return errno == ENOENT ? OK : err_from_errno(errno);
    read_copy(checkpoint, 0, &newest);
    read_copy(checkpoint, 1, &newest);
    checkpoint->saves = newest.saves;
    checkpoint->position = newest.position;
    return newest.saves ? truncate_file(&newest, file_fd) : OK;
}

static enum err write_copy(struct checkpoint *checkpoint, struct copy *copy)
{
    copy->saves = checkpoint->saves + 1;
    copy->check = check_of(copy);
    ssize_t put = pwrite(checkpoint->fd, copy, sizeof *copy, (off_t)(copy->saves & 1) * COPY_BYTES);
    if (put != (ssize_t)sizeof *copy)
        return put < 0 ? err_from_errno(errno) : FULL;
    checkpoint->saves = copy->saves;
    return OK;
}

enum err checkpoint_save(struct checkpoint *checkpoint, int file_fd, uint64_t position)
{
    struct stat st;
    bool is_first = checkpoint->fd < 0;
    if (is_first)
        checkpoint->fd = open(checkpoint->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (checkpoint->fd < 0 || fstat(file_fd, &st) != 0)
        return err_from_errno(errno);
    struct copy copy = { .magic = MAGIC, .position = position, .size = (uint64_t)st.st_size, .inode = (uint64_t)st.st_ino };
    enum err err = write_copy(checkpoint, &copy);
    if (!err && is_first) /* initialise both copies */
        err = write_copy(checkpoint, &copy);
    if (!err && fdatasync(checkpoint->fd) != 0)
        err = err_from_errno(errno);
    if (!err)
        checkpoint->position = position;
    return err;
}
