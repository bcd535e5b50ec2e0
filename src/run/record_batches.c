/* A batch is copied before it is parsed: its process may be running, or may have been killed while writing it. */
#include "run/record_batches.h"

#include "spool/record_batch.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_frames(struct bytes rest, struct spool_writer *writer)
{
    while (rest.size) {
        enum record_kind kind;
        struct bytes body;
        size_t size = rest.size;
        if (frame_read(rest, &kind, &body, &size) == OK)
            spool_writer_add_frame(writer, (struct bytes){ rest.data, size });
        rest.data += size;
        rest.size -= size;
    }
}

static void read_batch(int dir_fd, const char *name, struct spool_writer *writer)
{
    union {
        struct record_batch records;
        char bytes[RECORD_BATCH_BYTES];
    } batch;
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (read(fd, batch.bytes, sizeof batch.bytes) == (ssize_t)sizeof batch.bytes
        && batch.records.size <= RECORD_BATCH_CAPACITY)
        add_frames((struct bytes){ batch.bytes + sizeof batch.records, batch.records.size }, writer);
    close(fd);
}

void record_batches_read(const char *path, struct spool_writer *writer)
{
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, RECORD_BATCH_PREFIX, strlen(RECORD_BATCH_PREFIX)) == 0)
            read_batch(dirfd(dir), entry->d_name, writer);
    closedir(dir);
}
