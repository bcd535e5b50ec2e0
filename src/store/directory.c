/* Creates directories and files and syncs their parents. */
#include "store/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static void sync_parent(const char *path)
{
    char directory[4096];
    const char *slash = strrchr(path, '/');
    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    int fd = open(directory[0] ? directory : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

enum err directory_create_parents(const char *path)
{
    char part[4096];
    if (strlen(path) >= sizeof part)
        return USAGE;
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        int number = mkdir(part, 0700) == 0 ? 0 : errno;
        if (!number)
            sync_parent(part);
        else if (number != EEXIST && access(part, F_OK) != 0) /* an existing parent may be inaccessible to us */
            return err_from_errno(number);
    }
    return OK;
}

enum err directory_create_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? OK : err_from_errno(errno);
    close(fd);
    sync_parent(path);
    return OK;
}

/* Lists local file systems; all others (NFS, Lustre, GPFS, BeeGFS, CIFS, Ceph, FUSE, …) may be shared. */
bool directory_type_is_shared(long type)
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

bool directory_is_shared(const char *path)
{
    struct statfs status;
    return statfs(path, &status) != 0 || directory_type_is_shared((long)status.f_type);
}
