/* A page is copied before it is looked at: its process may be alive, or have been killed in the midst of it. */
#include "run/record_batches.h"

#include "spool/record_batch.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void take_frames(struct bytes rest, struct writer *writer)
{
    while (rest.size) {
        enum record_kind kind;
        struct bytes body;
        size_t size = rest.size;
        if (frame_read(rest, &kind, &body, &size) == OK)
            writer_add_frame(writer, (struct bytes){ rest.data, size });
        rest.data += size;
        rest.size -= size;
    }
}

static void take_page(int folder_fd, const char *name, struct writer *writer)
{
    union {
        struct held_records records;
        char bytes[HELD_PAGE_BYTES];
    } page;
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (read(fd, page.bytes, sizeof page.bytes) == (ssize_t)sizeof page.bytes && page.records.size <= HELD_PAGE_ROOM)
        take_frames((struct bytes){ page.bytes + sizeof page.records, page.records.size }, writer);
    close(fd);
}

void held_pages_take(const char *folder, struct writer *writer)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, HELD_PAGE_PREFIX, strlen(HELD_PAGE_PREFIX)) == 0)
            take_page(dirfd(dir), entry->d_name, writer);
    closedir(dir);
}
