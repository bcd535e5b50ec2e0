/* Makes folders and files, and syncs the folders that hold them. */
#include "store/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void sync_folder_of(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    int fd = open(folder[0] ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

enum err folder_make_for(const char *path)
{
    char part[4096];
    if (strlen(path) >= sizeof part)
        return USAGE;
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        int number = mkdir(part, 0700) == 0 ? 0 : errno;
        if (!number)
            sync_folder_of(part);
        else if (number != EEXIST && access(part, F_OK) != 0) /* above a folder of ours may be one that is not */
            return err_from_errno(number);
    }
    return OK;
}

enum err folder_make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? OK : err_from_errno(errno);
    close(fd);
    sync_folder_of(path);
    return OK;
}
