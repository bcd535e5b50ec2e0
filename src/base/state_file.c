/* Written to PATH.new, then renamed. */
#include "base/state_file.h"

#include "base/file.h"
#include "base/reclaim_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static enum err write_all(int fd, const struct buf *file)
{
    for (size_t done = 0; done < file->size;) {
        ssize_t wrote = write(fd, file->data + done, file->size - done);
        if (wrote < 0 && errno != EINTR)
            return err_from_errno(errno);
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return OK;
}

static enum err replace(const char *path, const char *new, const struct buf *file)
{
    unlink(new);
    int fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_from_errno(errno);
    enum err err = write_all(fd, file);
    close(fd);
    if (!err && rename(new, path) < 0)
        err = err_from_errno(errno);
    if (err)
        unlink(new);
    return err;
}

enum err state_file_write(const char *path, const struct buf *file)
{
    char new[FILE_PATH_MAX];
    if (file->failed || (size_t)snprintf(new, sizeof new, "%s.new", path) >= sizeof new)
        return FULL;
    enum err err = replace(path, new, file);
    if (err && (reclaim_path(new) || reclaim_path(path))) /* e.g. a directory of another user */
        err = replace(path, new, file);
    return err;
}

enum err state_file_read(const char *path, struct buf *file)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size > (off_t)STATE_FILE_MAX) {
        if (fd >= 0)
            close(fd);
        return ABSENT;
    }
    char *memory = buf_reserve(file, (size_t)st.st_size + 1);
    size_t got = 0;
    enum err err = memory ? file_read_fd(fd, memory, (size_t)st.st_size + 1, &got) : NOMEM;
    file->size += err ? 0 : got;
    close(fd);
    return err;
}

void state_file_boot_id(char boot[STATE_FILE_BOOT_ID_MAX])
{
    if (file_read_line("", "/proc/sys/kernel/random/boot_id", boot, STATE_FILE_BOOT_ID_MAX))
        boot[0] = '\0';
}
