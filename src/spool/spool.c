/* Appends to and reads from a spool file. spool_append is also part of the probe. */
#include "spool/spool.h"

#include "base/sys.h"
#include "spool/probe_env.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define KERNEL_SIGSET_SIZE 8
#define WASTED_BYTES_MIN (256u << 20)
#define WASTED_TIMES 16
#define RAISE_TRIES 1000

static _Atomic int raising_thread; /* thread that has raised the limit of descriptors; 0: none */

/* With a file size limit, a write beyond it raises SIGXFSZ, which would kill a program that did not write so much itself. The
 * signal is sent to this thread: it is blocked while we write, and discarded unless it was already pending. */
static long write_without_signal(int fd, const uint8_t *data, size_t size)
{
    uint64_t signal = 1ull << (SIGXFSZ - 1), before, waiting = 0;
    const struct timespec no_wait = { 0 };
    sys4(SYS_rt_sigprocmask, SIG_BLOCK, &signal, &before, KERNEL_SIGSET_SIZE);
    sys2(SYS_rt_sigpending, &waiting, KERNEL_SIGSET_SIZE);
    long written = sys3(SYS_write, fd, data, size);
    if (written < (long)size && !(waiting & signal))
        sys4(SYS_rt_sigtimedwait, &signal, NULL, &no_wait, KERNEL_SIGSET_SIZE);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, KERNEL_SIGSET_SIZE);
    return written;
}

static long write_once(int fd, const uint8_t *data, size_t size)
{
    struct rlimit limit;
    bool limited = sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited ? write_without_signal(fd, data, size) : sys3(SYS_write, fd, data, size);
}

/* O_NONBLOCK: if the path is a FIFO, the program must not hang. */
static int open_to_write(const char *path, int flags)
{
    return sys_open(AT_FDCWD, path, flags | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
}

/* Serializes changes of the limit: two threads at once would take each other's limit for the program's. A signal handler that
 * interrupts the holder may enter, which nests correctly. Waiting is bounded, because in a forked process the holder may not
 * exist. */
static bool begin_raise(void)
{
    int self = (int)sys0(SYS_gettid), other = 0;
    for (int i = 0; i < RAISE_TRIES && !atomic_compare_exchange_strong(&raising_thread, &other, self); i++) {
        if (other == self)
            return false;
        sys0(SYS_sched_yield);
        other = 0;
    }
    return true;
}

static int open_with_raised_limit(const char *path, int flags)
{
    struct rlimit limit, more;
    if (sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return -EMFILE;
    more = limit;
    more.rlim_cur++;
    sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &more, NULL);
    int fd = open_to_write(path, flags);
    sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
    return fd;
}

/* The program has used up its descriptors: raises the limit by one during the call. */
static int open_one_more(const char *path, int flags)
{
    bool is_outermost = begin_raise();
    int fd = open_with_raised_limit(path, flags);
    if (is_outermost)
        atomic_store(&raising_thread, 0);
    return fd;
}

static int open_spool(const char *path, int flags)
{
    int fd = open_to_write(path, flags);
    return fd == -EMFILE ? open_one_more(path, flags) : fd;
}

int spool_append_open(const char *path)
{
    return open_spool(path, O_WRONLY | O_APPEND);
}

enum err spool_append_close(int fd, const uint8_t *frame, size_t size)
{
    if (fd < 0)
        return err_from_errno(-fd);
    long written;
    do
        written = write_once(fd, frame, size);
    while (written == -EINTR);
    sys_close(fd);
    return written < 0 ? err_from_errno((int)-written) : (size_t)written < size ? FULL : OK;
}

enum err spool_append(const char *path, const uint8_t *frame, size_t size)
{
    return spool_append_close(spool_append_open(path), frame, size);
}

enum err spool_hold(int fd)
{
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        return err_from_errno(errno);
    if (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC && fs.f_type != BTRFS_SUPER_MAGIC
        && fs.f_type != TMPFS_MAGIC && fs.f_type != OVERLAYFS_SUPER_MAGIC)
        return ABSENT;
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(fd, F_SETLK, &lock) == 0 ? OK : err_from_errno(errno);
}

enum err spool_holder(int fd, pid_t *pid)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    long result = sys3(SYS_fcntl, fd, F_GETLK, &lock);
    if (result < 0)
        return err_from_errno((int)-result);
    *pid = lock.l_pid;
    return lock.l_type == F_UNLCK ? ABSENT : OK;
}

/* A futex operation adds: if the disk is full or the file was truncated it fails, while writing to the mapping would raise
 * SIGBUS. */
static void add_one(int fd)
{
    void *map = (void *)sys6(SYS_mmap, NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if ((unsigned long)map > -4096ul)
        return;
    sys6(SYS_futex, map, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, map, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0));
    sys2(SYS_munmap, map, sizeof(uint64_t));
}

void spool_count_lost(const char *path)
{
    size_t size = strlen(path);
    if (size >= PATH_MAX)
        return;
    char *lost = __builtin_alloca(size + sizeof SPOOL_LOST_SUFFIX); /* the stack can be small */
    memcpy(lost, path, size);
    memcpy(lost + size, SPOOL_LOST_SUFFIX, sizeof SPOOL_LOST_SUFFIX);
    int fd = open_spool(lost, O_RDWR);
    if (fd < 0)
        return;
    add_one(fd);
    sys_close(fd);
}

enum err spool_open(struct spool_reader *reader, const char *path)
{
    *reader = (struct spool_reader){ 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not wait if it is a FIFO */
    if (fd < 0)
        return err_from_errno(errno);
    struct stat st;
    enum err err = OK;
    if (fstat(fd, &st) != 0) {
        err = err_from_errno(errno);
    } else if (st.st_size > 0) {
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            err = err_from_errno(errno);
        else
            reader->all = (struct bytes){ map, (size_t)st.st_size };
    }
    close(fd);
    return err;
}

void spool_close(struct spool_reader *reader)
{
    if (reader->all.size)
        munmap((void *)reader->all.data, reader->all.size);
    *reader = (struct spool_reader){ 0 };
}

/* In data that looks like many long frames, each would be checked to its end: this limit keeps the total near linear. */
static bool is_hopeless(struct spool_reader *reader, struct bytes rest)
{
    uint32_t head[2] = { 0 };
    if (rest.size >= sizeof head)
        memcpy(head, rest.data, sizeof head);
    if (head[0] == FRAME_MAGIC && head[1] <= FRAME_BODY_MAX)
        reader->wasted_bytes += head[1];
    return reader->wasted_bytes > WASTED_BYTES_MIN && reader->wasted_bytes / WASTED_TIMES > reader->all.size;
}

enum err spool_next(struct spool_reader *reader, enum record_kind *kind, struct bytes *body)
{
    while (reader->at < reader->all.size) {
        struct bytes rest = { reader->all.data + reader->at, reader->all.size - reader->at };
        size_t size = rest.size;
        enum err err = frame_read(rest, kind, body, &size);
        if (err == OK) {
            reader->at += size;
            return OK;
        }
        if (err == AGAIN || is_hopeless(reader, rest))
            size = rest.size; /* truncated by the last write */
        reader->damaged_bytes += size;
        reader->at += size;
    }
    return GONE;
}
