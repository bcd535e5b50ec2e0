/* Wrappers of the calls that can be made to fail. */
#include "tools/faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
    const struct fault *fault; /* NULL: nothing fails */
    unsigned long calls;       /* of its kind */
} current;

bool faults_next(struct fault *fault)
{
    if (fault->is_done)
        return false;
    fault->number += fault->step ? fault->step : 1;
    current.calls = 0;
    current.fault = fault;
    return true;
}

bool faults_end(struct fault *fault)
{
    current.fault = NULL;
    fault->is_done = current.calls < fault->number;
    return !fault->is_done;
}

bool faults_hit(enum fault_kind kind)
{
    const struct fault *fault = current.fault;
    if (!fault || fault->kind != kind)
        return false;
    current.calls++;
    if (fault->lasts ? current.calls < fault->number : current.calls != fault->number)
        return false;
    bool is_memory = kind == FAULT_MEMORY || kind == FAULT_SQLITE_MEMORY;
    errno = fault->error ? fault->error : is_memory ? ENOMEM : EIO;
    return true;
}

/* How much of a write that fails is written nevertheless. */
static size_t half(size_t size)
{
    return current.fault->halves ? size / 2 : 0;
}

static bool is_to_write(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY;
}

/* NAME(...) calls __real_NAME(...), which the linker sets to NAME. */
#define WRAP(type, name, failed, kind, parameters, ...) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        return faults_hit(kind) ? (failed) : __real_##name(__VA_ARGS__); \
    }

WRAP(void *, malloc, NULL, FAULT_MEMORY, (size_t size), size)
WRAP(void *, calloc, NULL, FAULT_MEMORY, (size_t count, size_t size), count, size)
WRAP(void *, realloc, NULL, FAULT_MEMORY, (void *memory, size_t size), memory, size)
WRAP(char *, strdup, NULL, FAULT_MEMORY, (const char *text), text)
WRAP(ssize_t, read, -1, FAULT_READ, (int fd, void *data, size_t size), fd, data, size)
WRAP(ssize_t, pread64, -1, FAULT_READ, (int fd, void *data, size_t size, off_t at), fd, data, size, at)
WRAP(int, fstat64, -1, FAULT_READ, (int fd, struct stat *st), fd, st)
WRAP(void *, mmap64, MAP_FAILED, FAULT_READ, (void *at, size_t size, int access, int flags, int fd, off_t from),
     at, size, access, flags, fd, from)
WRAP(DIR *, opendir, NULL, FAULT_READ, (const char *path), path)
WRAP(DIR *, fdopendir, NULL, FAULT_READ, (int fd), fd)
WRAP(struct dirent *, readdir64, NULL, FAULT_READ, (DIR *dir), dir)
WRAP(int, ftruncate64, -1, FAULT_WRITE, (int fd, off_t size), fd, size)
WRAP(int, rename, -1, FAULT_WRITE, (const char *from, const char *to), from, to)
WRAP(int, renameat, -1, FAULT_WRITE, (int at, const char *from, int dir, const char *to), at, from, dir, to)
WRAP(int, mkdir, -1, FAULT_WRITE, (const char *path, mode_t mode), path, mode)
WRAP(int, unlink, -1, FAULT_WRITE, (const char *path), path)
WRAP(int, unlinkat, -1, FAULT_WRITE, (int at, const char *path, int flags), at, path, flags)

/* Without the real call: no test with these wrappers cuts the power, and thousands of turns would take minutes. */
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fsync(int fd)
{
    (void)fd;
    return faults_hit(FAULT_WRITE) ? -1 : 0;
}

int __wrap_fdatasync(int fd)
{
    return __wrap_fsync(fd);
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_openat64(int at, const char *path, int flags, ...);
int __wrap_openat64(int at, const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __real_pwrite64(int fd, const void *data, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t at);
ssize_t __real_pwritev64(int fd, const struct iovec *parts, int count, off_t at);
ssize_t __wrap_pwritev64(int fd, const struct iovec *parts, int count, off_t at);

int __wrap_open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return faults_hit(is_to_write(flags) ? FAULT_WRITE : FAULT_READ) ? -1 : __real_open64(path, flags, mode);
}

int __wrap_openat64(int at, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return faults_hit(is_to_write(flags) ? FAULT_WRITE : FAULT_READ) ? -1 : __real_openat64(at, path, flags, mode);
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    if (fd == STDERR_FILENO || !faults_hit(FAULT_WRITE)) /* the log */
        return __real_write(fd, data, size);
    return half(size) ? __real_write(fd, data, half(size)) : -1;
}

ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t at)
{
    if (!faults_hit(FAULT_WRITE))
        return __real_pwrite64(fd, data, size, at);
    return half(size) ? __real_pwrite64(fd, data, half(size), at) : -1;
}

ssize_t __wrap_pwritev64(int fd, const struct iovec *parts, int count, off_t at)
{
    if (!faults_hit(FAULT_WRITE))
        return __real_pwritev64(fd, parts, count, at);
    return half(parts[0].iov_len) ? __real_pwrite64(fd, parts[0].iov_base, half(parts[0].iov_len), at) : -1;
}
