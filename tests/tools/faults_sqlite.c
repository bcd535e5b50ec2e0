/* Lets calls of SQLite fail. It has a table of the system calls it makes, which get the wrappers of faults.c here, and one of the
 * functions it allocates with. It calls fsync without that table: the file's method for it is replaced. */
#include "tools/faults.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int call_open(const char *path, int flags, int mode)
{
    return open(path, flags, mode);
}

static int call_fstat(int fd, struct stat *st)
{
    return fstat(fd, st);
}

static ssize_t call_pread(int fd, void *data, size_t size, off_t at)
{
    return pread(fd, data, size, at);
}

static ssize_t call_pwrite(int fd, const void *data, size_t size, off_t at)
{
    return pwrite(fd, data, size, at);
}

static int call_ftruncate(int fd, off_t size)
{
    return ftruncate(fd, size);
}

static void *call_mmap(void *at, size_t size, int access, int flags, int fd, off_t from)
{
    return mmap(at, size, access, flags, fd, from);
}

static int call_mkdir(const char *path, mode_t mode)
{
    return mkdir(path, mode);
}

static int call_unlink(const char *path)
{
    return unlink(path);
}

static ssize_t call_read(int fd, void *data, size_t size)
{
    return read(fd, data, size);
}

static ssize_t call_write(int fd, const void *data, size_t size)
{
    return write(fd, data, size);
}

static const struct {
    const char *name;
    sqlite3_syscall_ptr call;
} calls[] = {
#define CALL(name) { #name, (sqlite3_syscall_ptr)call_##name }
    CALL(open), CALL(fstat), CALL(read), CALL(pread), CALL(write), CALL(pwrite), CALL(ftruncate), CALL(mmap), CALL(mkdir),
    CALL(unlink), { "pread64", (sqlite3_syscall_ptr)call_pread }, { "pwrite64", (sqlite3_syscall_ptr)call_pwrite },
#undef CALL
};

static sqlite3_mem_methods memory;
static int (*vfs_open)(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags);
static struct {
    const sqlite3_io_methods *original;
    sqlite3_io_methods changed;
} tables[4]; /* SQLite has one for files with locks and one for those without */

static void *allocate(int size)
{
    return faults_hit(FAULT_SQLITE_MEMORY) ? NULL : memory.xMalloc(size);
}

static void *reallocate(void *old, int size)
{
    return faults_hit(FAULT_SQLITE_MEMORY) ? NULL : memory.xRealloc(old, size);
}

static int sync_file(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    return faults_hit(FAULT_WRITE) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static const sqlite3_io_methods *change_sync(const sqlite3_io_methods *original)
{
    size_t i = 0;
    while (tables[i].original && tables[i].original != original)
        if (++i == sizeof tables / sizeof *tables)
            abort();
    tables[i].original = original;
    tables[i].changed = *original;
    tables[i].changed.xSync = sync_file;
    return &tables[i].changed;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    int code = vfs_open(vfs, name, file, flags, out_flags);
    if (file->pMethods)
        file->pMethods = change_sync(file->pMethods);
    return code;
}

void faults_init_sqlite(void)
{
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory);
    sqlite3_mem_methods replaced = memory;
    replaced.xMalloc = allocate;
    replaced.xRealloc = reallocate;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &replaced) != SQLITE_OK || sqlite3_initialize() != SQLITE_OK)
        abort();
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call);
    vfs_open = vfs->xOpen;
    vfs->xOpen = open_file;
}
