/* Makes folders and files, and syncs the folders that hold them. */
#include "store/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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

/* File systems of one machine; those of the cluster (NFS, Lustre, GPFS, BeeGFS, CIFS, Ceph, FUSE, …) are all others. */
bool folder_type_is_shared(long type)
{
    static const unsigned long local[] = {
        EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC, OVERLAYFS_SUPER_MAGIC,
        F2FS_SUPER_MAGIC, REISERFS_SUPER_MAGIC, SQUASHFS_MAGIC, MSDOS_SUPER_MAGIC, NILFS_SUPER_MAGIC,
        0x2fc12fc1 /* ZFS */, 0x3153464a /* JFS */, 0xca451a4e /* bcachefs */, 0x2011bab0 /* exFAT */,
    };
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        if (local[i] == ((unsigned long)type & 0xffffffff))
            return false;
    return true;
}

bool folder_is_shared(const char *path)
{
    struct statfs status;
    return statfs(path, &status) != 0 || folder_type_is_shared((long)status.f_type);
}
