/* Appending to and reading from a spool file. spool_append is part of the probe too. */
#include "wire/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum err spool_append(const char *path, const uint8_t *frame, size_t size)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_from_errno(errno);
    ssize_t written;
    do
        written = write(fd, frame, size);
    while (written < 0 && errno == EINTR);
    enum err err = written < 0 ? err_from_errno(errno) : (size_t)written < size ? FULL : OK;
    close(fd);
    return err;
}

enum err spool_open(struct spool_reader *reader, const char *path)
{
    *reader = (struct spool_reader){ 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    struct stat st;
    enum err err = OK;
    if (fstat(fd, &st) != 0) {
        err = err_from_errno(errno);
    } else if (st.st_size > 0) {
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            err = err_from_errno(errno);
        else
            reader->all = (struct bytes){ map, (size_t)st.st_size };
    }
    close(fd);
    return err;
}

void spool_close(struct spool_reader *reader)
{
    if (reader->all.size)
        munmap((void *)reader->all.data, reader->all.size);
    *reader = (struct spool_reader){ 0 };
}

enum err spool_next(struct spool_reader *reader, enum record_kind *kind, struct bytes *body)
{
    while (reader->at < reader->all.size) {
        struct bytes rest = { reader->all.data + reader->at, reader->all.size - reader->at };
        size_t size = rest.size;
        enum err err = frame_read(rest, kind, body, &size);
        if (err == OK) {
            reader->at += size;
            return OK;
        }
        if (err == AGAIN)
            size = rest.size; /* nobody will finish it: a write cut short at the very end */
        reader->damaged_bytes += size;
        reader->at += size;
    }
    return GONE;
}
