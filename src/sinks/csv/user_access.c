/* The lists are extended attributes in the format of the kernel (posix_acl_xattr.h): a version, then entries sorted by tag. */
#include "sinks/csv/user_access.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { USER_OBJ = 0x01, USER = 0x02, GROUP_OBJ = 0x04, GROUP = 0x08, MASK = 0x10, OTHER = 0x20 };
enum { READ_ENTER = 5, ALL = 7 };

struct acl {
    uint32_t version;
    struct acl_entry {
        uint16_t tag, permissions;
        uint32_t id;
    } entries[6];
};

static size_t add(struct acl *acl, size_t count, uint16_t tag, uint16_t permissions, uint32_t id)
{
    acl->entries[count] = (struct acl_entry){ htole16(tag), htole16(permissions), htole32(id) };
    return count + 1;
}

static enum err set_acl(int fd, uid_t uid, gid_t gid)
{
    struct acl acl = { .version = htole32(2) };
    size_t count = add(&acl, 0, USER_OBJ, ALL, UINT32_MAX);
    if (uid != (uid_t)-1)
        count = add(&acl, count, USER, READ_ENTER, uid);
    count = add(&acl, count, GROUP_OBJ, 0, UINT32_MAX);
    if (gid != (gid_t)-1)
        count = add(&acl, count, GROUP, READ_ENTER, gid);
    count = add(&acl, count, MASK, READ_ENTER, UINT32_MAX);
    count = add(&acl, count, OTHER, 0, UINT32_MAX);
    size_t size = sizeof acl.version + count * sizeof *acl.entries;
    if (fsetxattr(fd, "system.posix_acl_default", &acl, size, 0) || fsetxattr(fd, "system.posix_acl_access", &acl, size, 0))
        return errno == EOPNOTSUPP ? ABSENT : err_from_errno(errno);
    return OK;
}

enum err user_access_mkdir(int dir_fd, const char *path, uid_t uid, gid_t gid)
{
    if (mkdirat(dir_fd, path, 0700))
        return errno == EEXIST ? OK : err_from_errno(errno);
    int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    enum err err = fd < 0 ? err_from_errno(errno) : set_acl(fd, uid, gid);
    if (fd >= 0)
        close(fd);
    if (err)
        unlinkat(dir_fd, path, AT_REMOVEDIR);
    return err;
}
