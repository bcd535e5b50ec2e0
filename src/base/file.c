/* open, pread, close: no streams, no allocation. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum err file_path(char path_out[FILE_PATH_MAX], const char *root, const char *path)
{
    int size = snprintf(path_out, FILE_PATH_MAX, "%s%s", root ? root : "", path);
    return size >= 0 && size < FILE_PATH_MAX ? OK : USAGE;
}

enum err file_open(const char *root, const char *path, int *fd)
{
    char whole[FILE_PATH_MAX];
    *fd = -1;
    enum err err = file_path(whole, root, path);
    if (err)
        return err;
    *fd = open(whole, O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? err_from_errno(errno) : OK;
}

enum err file_read_fd(int fd, char *text, size_t size, size_t *got)
{
    size_t used = 0;
    while (used + 1 < size) {
        ssize_t part = pread(fd, text + used, size - 1 - used, (off_t)used);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return err_from_errno(errno);
        if (part == 0)
            break;
        used += (size_t)part;
    }
    text[used] = '\0';
    if (got)
        *got = used;
    return OK;
}

enum err file_read(const char *root, const char *path, char *text, size_t size, size_t *got)
{
    int fd;
    enum err err = file_open(root, path, &fd);
    if (err)
        return err;
    err = file_read_fd(fd, text, size, got);
    close(fd);
    return err;
}

enum err file_read_line(const char *root, const char *path, char *text, size_t size)
{
    enum err err = file_read(root, path, text, size, NULL);
    if (!err)
        text[strcspn(text, "\n")] = '\0';
    return err;
}
