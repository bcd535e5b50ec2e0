/* libsonde-calls.so: counts the system calls that a program makes through libc. Each wrapper calls the real function
 * and then adds to its thread's slots in a metrics segment (probe/segment/segment.h): calls, errors, bytes and, with
 * SONDE_CALLS=time, time. Calls that libc makes internally (stdio, the loader, malloc), and those that bypass libc,
 * are not seen. Results, errno and cancellation are those of the real function; a call that is cancelled, or left by
 * longjmp, is not counted. */
#ifndef SONDE_PROBE_CALLS_CALLS_H
#define SONDE_PROBE_CALLS_CALLS_H

#include "probe/segment/segment.h"

#include <errno.h>
#include <stdatomic.h>

#define CALLS_EXPORT __attribute__((visibility("default")))
#define CALLS_ENV "SONDE_CALLS" /* "time": measure time too */

/* X(name, bytes): the system calls that the wrapped functions make; bytes: the result is a number of bytes. */
#define CALLS_LIST(X) \
    X(read, 1) X(write, 1) X(pread64, 1) X(pwrite64, 1) X(readv, 1) X(writev, 1) X(preadv, 1) X(pwritev, 1) X(preadv2, 1) \
    X(pwritev2, 1) X(openat, 0) X(creat, 0) X(close, 0) X(dup, 0) X(dup2, 0) X(dup3, 0) X(pipe2, 0) X(newfstatat, 0) \
    X(statx, 0) X(access, 0) X(faccessat, 0) X(lseek, 0) X(fsync, 0) X(fdatasync, 0) X(sync, 0) X(syncfs, 0) X(msync, 0) \
    X(sync_file_range, 0) X(ftruncate, 0) X(truncate, 0) X(fallocate, 0) X(fadvise64, 0) X(readahead, 0) X(unlink, 0) \
    X(unlinkat, 0) X(rename, 0) X(renameat, 0) X(renameat2, 0) X(mkdir, 0) X(mkdirat, 0) X(rmdir, 0) X(link, 0) X(symlink, 0) \
    X(readlink, 0) X(readlinkat, 0) X(chmod, 0) X(fchmod, 0) X(getdents64, 0) X(flock, 0) X(fcntl, 0) X(ioctl, 0) \
    X(sendfile, 1) X(splice, 1) X(tee, 1) X(vmsplice, 1) X(copy_file_range, 1) X(socket, 0) X(connect, 0) X(accept, 0) \
    X(accept4, 0) X(bind, 0) X(shutdown, 0) X(recvfrom, 1) X(recvmsg, 1) X(recvmmsg, 0) X(sendto, 1) X(sendmsg, 1) \
    X(sendmmsg, 0) X(poll, 0) X(ppoll, 0) X(pselect6, 0) X(epoll_wait, 0) X(epoll_pwait, 0) X(epoll_ctl, 0) \
    X(clock_nanosleep, 0) X(sched_yield, 0) X(getppid, 0) X(chdir, 0) X(fchdir, 0) X(getcwd, 0) X(statfs, 0) X(fstatfs, 0) \
    X(utimensat, 0) X(linkat, 0) X(symlinkat, 0) X(fchmodat, 0) X(chown, 0) X(fchown, 0) X(lchown, 0) X(fchownat, 0) \
    X(listen, 0) X(socketpair, 0) X(setsockopt, 0) X(getsockopt, 0) X(getsockname, 0) X(getpeername, 0) X(epoll_create, 0) \
    X(epoll_create1, 0) X(kill, 0) X(wait4, 0) X(mq_open, 0) X(mq_unlink, 0) X(mq_timedsend, 0) \
    X(mq_timedreceive, 1) X(mq_getsetattr, 0)

enum calls_call {
#define X(name, bytes) CALL_##name,
    CALLS_LIST(X)
#undef X
    CALLS_SIZE,
};

/* The wrapped functions, by their names in libc. */
#define CALLS_FUNCTIONS(X) \
    X(read) X(__read_chk) X(write) X(pread) X(pread64) X(__pread_chk) X(__pread64_chk) X(pwrite) X(pwrite64) X(readv) X(writev) \
    X(preadv) X(preadv64) X(pwritev) X(pwritev64) X(preadv2) X(preadv64v2) X(pwritev2) X(pwritev64v2) X(open) X(open64) \
    X(openat) X(openat64) X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2) X(creat) X(creat64) X(close) X(dup) \
    X(dup2) X(dup3) X(pipe) X(pipe2) X(stat) X(stat64) X(lstat) X(lstat64) X(fstat) X(fstat64) X(fstatat) X(fstatat64) \
    X(__xstat) X(__xstat64) X(__lxstat) X(__lxstat64) X(__fxstat) X(__fxstat64) X(__fxstatat) X(__fxstatat64) X(statx) \
    X(access) X(faccessat) X(lseek) X(lseek64) X(fsync) X(fdatasync) X(sync) X(syncfs) X(msync) X(sync_file_range) \
    X(ftruncate) X(ftruncate64) X(truncate) X(truncate64) X(fallocate) X(fallocate64) X(posix_fallocate) X(posix_fallocate64) \
    X(posix_fadvise) X(posix_fadvise64) X(readahead) X(unlink) X(unlinkat) X(rename) X(renameat) X(renameat2) X(mkdir) \
    X(mkdirat) X(rmdir) X(link) X(symlink) X(readlink) X(readlinkat) X(__readlink_chk) X(__readlinkat_chk) X(chmod) X(fchmod) \
    X(getdents64) X(flock) X(fcntl) X(fcntl64) X(ioctl) X(sendfile) X(sendfile64) X(splice) X(tee) X(vmsplice) \
    X(copy_file_range) X(socket) X(connect) X(accept) X(accept4) X(bind) X(shutdown) X(recv) X(__recv_chk) X(recvfrom) \
    X(__recvfrom_chk) X(recvmsg) X(recvmmsg) X(send) X(sendto) X(sendmsg) X(sendmmsg) X(poll) X(__poll_chk) X(ppoll) \
    X(__ppoll_chk) X(select) X(pselect) X(epoll_wait) X(epoll_pwait) X(epoll_ctl) X(nanosleep) X(clock_nanosleep) \
    X(sched_yield) X(getppid) X(chdir) X(fchdir) X(getcwd) X(__getcwd_chk) X(statfs) X(statfs64) X(fstatfs) X(fstatfs64) \
    X(utimensat) X(futimens) X(linkat) X(symlinkat) X(fchmodat) X(chown) X(fchown) X(lchown) X(fchownat) X(listen) \
    X(socketpair) X(setsockopt) X(getsockopt) X(getsockname) X(getpeername) X(epoll_create) X(epoll_create1) X(kill) X(wait) \
    X(waitpid) X(wait3) X(wait4) X(mq_open) X(mq_close) X(mq_unlink) X(mq_send) X(mq_timedsend) X(mq_receive) \
    X(mq_timedreceive) X(mq_getattr) X(mq_setattr) X(prctl) X(syscall)

enum calls_function {
#define X(name) FUNCTION_##name,
    CALLS_FUNCTIONS(X)
#undef X
    CALLS_FUNCTIONS_SIZE,
};

/* Metric numbers of a system call; calls is 0 until they exist, the others if there is no such metric. */
struct calls_metrics {
    _Atomic uint32_t calls;
    uint32_t errors, bytes, ticks;
};

enum calls_mode { CALLS_UNKNOWN, CALLS_COUNT, CALLS_TIME };

extern struct segment calls_segment;
extern struct calls_metrics calls_metrics[CALLS_SIZE];
extern enum calls_mode calls_mode;
extern bool calls_is_sandboxed; /* make no more system calls: sandbox_calls.c */
extern _Atomic uintptr_t calls_next[CALLS_FUNCTIONS_SIZE];

uintptr_t calls_find(enum calls_function function);
void calls_find_all(void); /* those not resolved yet */

/* Counts a call in the uncommon cases: the first of its kind or of its thread, failed, or timed (begin_ticks is not
 * 0). */
void calls_end_slow(enum calls_call call, bool failed, uint64_t bytes, uint64_t begin_ticks) __attribute__((cold));

static inline uintptr_t calls_real(enum calls_function function)
{
    uintptr_t real = atomic_load_explicit(&calls_next[function], memory_order_relaxed);
    return __builtin_expect(real != 0, 1) ? real : calls_find(function);
}

static inline uint64_t calls_begin(void)
{
    return __builtin_expect(calls_mode == CALLS_COUNT, 1) ? 0 : segment_ticks();
}

/* Counts a call that returned; preserves errno. bytes: 0 if it returns none. Written so that the common path saves
 * no registers. */
static inline void calls_end(enum calls_call call, bool failed, uint64_t bytes, uint64_t begin)
{
    const struct calls_metrics *metrics = &calls_metrics[call];
    const struct segment_thread *mine = segment_this_thread;
    uint32_t first = atomic_load_explicit(&metrics->calls, memory_order_acquire), chunk = first >> SEGMENT_CHUNK_SHIFT;
    uint64_t *slots = __builtin_expect(chunk < mine->count, 1) ? mine->chunks[chunk] : NULL;
    bool is_same_chunk = !bytes || metrics->bytes >> SEGMENT_CHUNK_SHIFT == chunk;
    if (__builtin_expect(!first || !slots || failed || begin || !is_same_chunk, 0)) {
        calls_end_slow(call, failed, bytes, begin);
        return;
    }
    segment_add_u64(slots + (first & (SEGMENT_CHUNK_SLOTS - 1)), 1);
    if (bytes)
        segment_add_u64(slots + (metrics->bytes & (SEGMENT_CHUNK_SLOTS - 1)), bytes);
}

/* A wrapper: of a function that returns -1 on failure; that returns bytes or -1; that returns an errno. */
#define CALLS_WRAP_AS(call, type, function, parameters, arguments, failed, bytes) \
    CALLS_EXPORT type function parameters \
    { \
        type(*real) parameters = (type(*) parameters)calls_real(FUNCTION_##function); \
        if (__builtin_expect(!real, 0)) { \
            errno = ENOSYS; \
            return (type)-1; \
        } \
        uint64_t begin = calls_begin(); \
        type result = real arguments; \
        calls_end(CALL_##call, failed, bytes, begin); \
        return result; \
    }
#define CALLS_WRAP(call, type, function, parameters, arguments) \
    CALLS_WRAP_AS(call, type, function, parameters, arguments, result == (type)-1, 0)
#define CALLS_WRAP_BYTES(call, type, function, parameters, arguments) \
    CALLS_WRAP_AS(call, type, function, parameters, arguments, result == (type)-1, (uint64_t)result)
#define CALLS_WRAP_ERRNO(call, type, function, parameters, arguments) \
    CALLS_WRAP_AS(call, type, function, parameters, arguments, result != 0, 0)

#endif
