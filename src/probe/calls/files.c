/* Files and directories: open, close, stat, change. */
#include "probe/calls/calls.h"

#include <fcntl.h>
#include <stdarg.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Declared only for fortified programs, or no longer declared. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
int __xstat(int version, const char *path, struct stat *facts);
int __xstat64(int version, const char *path, struct stat64 *facts);
int __lxstat(int version, const char *path, struct stat *facts);
int __lxstat64(int version, const char *path, struct stat64 *facts);
int __fxstat(int version, int fd, struct stat *facts);
int __fxstat64(int version, int fd, struct stat64 *facts);
int __fxstatat(int version, int dir, const char *path, struct stat *facts, int flags);
int __fxstatat64(int version, int dir, const char *path, struct stat64 *facts, int flags);
ssize_t __readlink_chk(const char *path, char *text, size_t size, size_t capacity);
ssize_t __readlinkat_chk(int dir, const char *path, char *text, size_t size, size_t capacity);
char *__getcwd_chk(char *text, size_t size, size_t capacity);

/* The mode argument is present only if the call may create a file. */
#define OPEN_WRAP(function, parameters, arguments, real_parameters) \
    CALLS_EXPORT int function parameters \
    { \
        mode_t mode = 0; \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
            va_list list; \
            va_start(list, flags); \
            mode = va_arg(list, mode_t); \
            va_end(list); \
        } \
        int(*real) real_parameters = (int(*) real_parameters)calls_real(FUNCTION_##function); \
        uint64_t begin = calls_begin(); \
        int result = real arguments; \
        calls_end(CALL_openat, result == -1, 0, begin); \
        return result; \
    }

OPEN_WRAP(open, (const char *path, int flags, ...), (path, flags, mode), (const char *, int, ...))
OPEN_WRAP(open64, (const char *path, int flags, ...), (path, flags, mode), (const char *, int, ...))
OPEN_WRAP(openat, (int dir, const char *path, int flags, ...), (dir, path, flags, mode), (int, const char *, int, ...))
OPEN_WRAP(openat64, (int dir, const char *path, int flags, ...), (dir, path, flags, mode), (int, const char *, int, ...))

/* One argument of any register-sized type, or none: forwarded as is. */
#define CONTROL_WRAP(call, function, type) \
    CALLS_EXPORT int function(int fd, type what, ...) \
    { \
        va_list list; \
        va_start(list, what); \
        void *argument = va_arg(list, void *); \
        va_end(list); \
        int (*real)(int, type, ...) = (int (*)(int, type, ...))calls_real(FUNCTION_##function); \
        uint64_t begin = calls_begin(); \
        int result = real(fd, what, argument); \
        calls_end(CALL_##call, result == -1, 0, begin); \
        return result; \
    }

CONTROL_WRAP(fcntl, fcntl, int)
CONTROL_WRAP(fcntl, fcntl64, int)
CONTROL_WRAP(ioctl, ioctl, unsigned long)

CALLS_WRAP(openat, int, __open_2, (const char *path, int flags), (path, flags))
CALLS_WRAP(openat, int, __open64_2, (const char *path, int flags), (path, flags))
CALLS_WRAP(openat, int, __openat_2, (int dir, const char *path, int flags), (dir, path, flags))
CALLS_WRAP(openat, int, __openat64_2, (int dir, const char *path, int flags), (dir, path, flags))
CALLS_WRAP(creat, int, creat, (const char *path, mode_t mode), (path, mode))
CALLS_WRAP(creat, int, creat64, (const char *path, mode_t mode), (path, mode))
CALLS_WRAP(close, int, close, (int fd), (fd))
CALLS_WRAP(dup, int, dup, (int fd), (fd))
CALLS_WRAP(dup2, int, dup2, (int fd, int to), (fd, to))
CALLS_WRAP(dup3, int, dup3, (int fd, int to, int flags), (fd, to, flags))
CALLS_WRAP(pipe2, int, pipe, (int fds[2]), (fds))
CALLS_WRAP(pipe2, int, pipe2, (int fds[2], int flags), (fds, flags))

CALLS_WRAP(newfstatat, int, stat, (const char *path, struct stat *facts), (path, facts))
CALLS_WRAP(newfstatat, int, stat64, (const char *path, struct stat64 *facts), (path, facts))
CALLS_WRAP(newfstatat, int, lstat, (const char *path, struct stat *facts), (path, facts))
CALLS_WRAP(newfstatat, int, lstat64, (const char *path, struct stat64 *facts), (path, facts))
CALLS_WRAP(newfstatat, int, fstat, (int fd, struct stat *facts), (fd, facts))
CALLS_WRAP(newfstatat, int, fstat64, (int fd, struct stat64 *facts), (fd, facts))
CALLS_WRAP(newfstatat, int, fstatat, (int dir, const char *path, struct stat *facts, int flags), (dir, path, facts, flags))
CALLS_WRAP(newfstatat, int, fstatat64, (int dir, const char *path, struct stat64 *facts, int flags),
           (dir, path, facts, flags))
CALLS_WRAP(newfstatat, int, __xstat, (int version, const char *path, struct stat *facts), (version, path, facts))
CALLS_WRAP(newfstatat, int, __xstat64, (int version, const char *path, struct stat64 *facts), (version, path, facts))
CALLS_WRAP(newfstatat, int, __lxstat, (int version, const char *path, struct stat *facts), (version, path, facts))
CALLS_WRAP(newfstatat, int, __lxstat64, (int version, const char *path, struct stat64 *facts), (version, path, facts))
CALLS_WRAP(newfstatat, int, __fxstat, (int version, int fd, struct stat *facts), (version, fd, facts))
CALLS_WRAP(newfstatat, int, __fxstat64, (int version, int fd, struct stat64 *facts), (version, fd, facts))
CALLS_WRAP(newfstatat, int, __fxstatat, (int version, int dir, const char *path, struct stat *facts, int flags),
           (version, dir, path, facts, flags))
CALLS_WRAP(newfstatat, int, __fxstatat64, (int version, int dir, const char *path, struct stat64 *facts, int flags),
           (version, dir, path, facts, flags))
CALLS_WRAP(statx, int, statx, (int dir, const char *path, int flags, unsigned mask, struct statx *facts),
           (dir, path, flags, mask, facts))
CALLS_WRAP(access, int, access, (const char *path, int mode), (path, mode))
CALLS_WRAP(faccessat, int, faccessat, (int dir, const char *path, int mode, int flags), (dir, path, mode, flags))

CALLS_WRAP(lseek, off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence))
CALLS_WRAP(lseek, off64_t, lseek64, (int fd, off64_t offset, int whence), (fd, offset, whence))
CALLS_WRAP(fsync, int, fsync, (int fd), (fd))
CALLS_WRAP(fdatasync, int, fdatasync, (int fd), (fd))
CALLS_WRAP(syncfs, int, syncfs, (int fd), (fd))
CALLS_WRAP(msync, int, msync, (void *at, size_t size, int flags), (at, size, flags))
CALLS_WRAP(sync_file_range, int, sync_file_range, (int fd, off64_t offset, off64_t size, unsigned flags),
           (fd, offset, size, flags))
CALLS_WRAP(ftruncate, int, ftruncate, (int fd, off_t size), (fd, size))
CALLS_WRAP(ftruncate, int, ftruncate64, (int fd, off64_t size), (fd, size))
CALLS_WRAP(truncate, int, truncate, (const char *path, off_t size), (path, size))
CALLS_WRAP(truncate, int, truncate64, (const char *path, off64_t size), (path, size))
CALLS_WRAP(fallocate, int, fallocate, (int fd, int mode, off_t offset, off_t size), (fd, mode, offset, size))
CALLS_WRAP(fallocate, int, fallocate64, (int fd, int mode, off64_t offset, off64_t size), (fd, mode, offset, size))
CALLS_WRAP_ERRNO(fallocate, int, posix_fallocate, (int fd, off_t offset, off_t size), (fd, offset, size))
CALLS_WRAP_ERRNO(fallocate, int, posix_fallocate64, (int fd, off64_t offset, off64_t size), (fd, offset, size))
CALLS_WRAP_ERRNO(fadvise64, int, posix_fadvise, (int fd, off_t offset, off_t size, int advice), (fd, offset, size, advice))
CALLS_WRAP_ERRNO(fadvise64, int, posix_fadvise64, (int fd, off64_t offset, off64_t size, int advice),
                 (fd, offset, size, advice))
CALLS_WRAP(readahead, ssize_t, readahead, (int fd, off64_t offset, size_t size), (fd, offset, size))

CALLS_WRAP(unlink, int, unlink, (const char *path), (path))
CALLS_WRAP(unlinkat, int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
CALLS_WRAP(rename, int, rename, (const char *from, const char *to), (from, to))
CALLS_WRAP(renameat, int, renameat, (int dir, const char *from, int other, const char *to), (dir, from, other, to))
CALLS_WRAP(renameat2, int, renameat2, (int dir, const char *from, int other, const char *to, unsigned flags),
           (dir, from, other, to, flags))
CALLS_WRAP(mkdir, int, mkdir, (const char *path, mode_t mode), (path, mode))
CALLS_WRAP(mkdirat, int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
CALLS_WRAP(rmdir, int, rmdir, (const char *path), (path))
CALLS_WRAP(link, int, link, (const char *from, const char *to), (from, to))
CALLS_WRAP(symlink, int, symlink, (const char *target, const char *path), (target, path))
CALLS_WRAP(readlink, ssize_t, readlink, (const char *path, char *text, size_t size), (path, text, size))
CALLS_WRAP(readlink, ssize_t, __readlink_chk, (const char *path, char *text, size_t size, size_t capacity),
           (path, text, size, capacity))
CALLS_WRAP(readlinkat, ssize_t, readlinkat, (int dir, const char *path, char *text, size_t size), (dir, path, text, size))
CALLS_WRAP(readlinkat, ssize_t, __readlinkat_chk, (int dir, const char *path, char *text, size_t size, size_t capacity),
           (dir, path, text, size, capacity))
CALLS_WRAP(chmod, int, chmod, (const char *path, mode_t mode), (path, mode))
CALLS_WRAP(fchmod, int, fchmod, (int fd, mode_t mode), (fd, mode))
CALLS_WRAP(getdents64, ssize_t, getdents64, (int fd, void *entries, size_t size), (fd, entries, size))
CALLS_WRAP(flock, int, flock, (int fd, int operation), (fd, operation))

CALLS_WRAP(chdir, int, chdir, (const char *path), (path))
CALLS_WRAP(fchdir, int, fchdir, (int fd), (fd))
CALLS_WRAP(statfs, int, statfs, (const char *path, struct statfs *facts), (path, facts))
CALLS_WRAP(statfs, int, statfs64, (const char *path, struct statfs64 *facts), (path, facts))
CALLS_WRAP(fstatfs, int, fstatfs, (int fd, struct statfs *facts), (fd, facts))
CALLS_WRAP(fstatfs, int, fstatfs64, (int fd, struct statfs64 *facts), (fd, facts))
CALLS_WRAP(utimensat, int, utimensat, (int dir, const char *path, const struct timespec times[2], int flags),
           (dir, path, times, flags))
CALLS_WRAP(utimensat, int, futimens, (int fd, const struct timespec times[2]), (fd, times))
CALLS_WRAP(linkat, int, linkat, (int dir, const char *from, int other, const char *to, int flags),
           (dir, from, other, to, flags))
CALLS_WRAP(symlinkat, int, symlinkat, (const char *target, int dir, const char *path), (target, dir, path))
CALLS_WRAP(fchmodat, int, fchmodat, (int dir, const char *path, mode_t mode, int flags), (dir, path, mode, flags))
CALLS_WRAP(chown, int, chown, (const char *path, uid_t owner, gid_t group), (path, owner, group))
CALLS_WRAP(fchown, int, fchown, (int fd, uid_t owner, gid_t group), (fd, owner, group))
CALLS_WRAP(lchown, int, lchown, (const char *path, uid_t owner, gid_t group), (path, owner, group))
CALLS_WRAP(fchownat, int, fchownat, (int dir, const char *path, uid_t owner, gid_t group, int flags),
           (dir, path, owner, group, flags))

#define GETCWD_WRAP(function, parameters, arguments) \
    CALLS_EXPORT char *function parameters \
    { \
        char *(*real) parameters = (char *(*)parameters)calls_real(FUNCTION_##function); \
        uint64_t begin = calls_begin(); \
        char *result = real arguments; \
        calls_end(CALL_getcwd, !result, 0, begin); \
        return result; \
    }
GETCWD_WRAP(getcwd, (char *text, size_t size), (text, size))
GETCWD_WRAP(__getcwd_chk, (char *text, size_t size, size_t capacity), (text, size, capacity))

CALLS_EXPORT void sync(void)
{
    void (*real)(void) = (void (*)(void))calls_real(FUNCTION_sync);
    uint64_t begin = calls_begin();
    real();
    calls_end(CALL_sync, false, 0, begin);
}
