/* System calls without libc: they do not change errno, are no cancellation points, cannot be interposed and need no symbol
 * lookup when a program starts. For the code that runs inside monitored programs. All return the kernel's result: -errno on
 * failure. */
#ifndef SONDE_BASE_SYS_H
#define SONDE_BASE_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) && !defined(__clang_analyzer__) /* the analyzer does not know that the kernel writes to memory */
static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#else
static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    int saved = errno;
    long result = syscall(number, a, b, c, d, e, f);
    if (result == -1)
        result = -errno;
    errno = saved;
    return result;
}
#endif

#define SYS_LONG(argument) ((long)(argument))
#define sys0(number) sys_call(number, 0, 0, 0, 0, 0, 0)
#define sys1(number, a) sys_call(number, SYS_LONG(a), 0, 0, 0, 0, 0)
#define sys2(number, a, b) sys_call(number, SYS_LONG(a), SYS_LONG(b), 0, 0, 0, 0)
#define sys3(number, a, b, c) sys_call(number, SYS_LONG(a), SYS_LONG(b), SYS_LONG(c), 0, 0, 0)
#define sys4(number, a, b, c, d) sys_call(number, SYS_LONG(a), SYS_LONG(b), SYS_LONG(c), SYS_LONG(d), 0, 0)
#define sys5(number, a, b, c, d, e) \
    sys_call(number, SYS_LONG(a), SYS_LONG(b), SYS_LONG(c), SYS_LONG(d), SYS_LONG(e), 0)
#define sys6(number, a, b, c, d, e, f) \
    sys_call(number, SYS_LONG(a), SYS_LONG(b), SYS_LONG(c), SYS_LONG(d), SYS_LONG(e), SYS_LONG(f))

static inline int sys_open(int dir_fd, const char *path, int flags)
{
    return (int)sys4(SYS_openat, dir_fd, path, flags | O_CLOEXEC, 0);
}

static inline long sys_read(int fd, void *data, size_t size)
{
    return sys3(SYS_read, fd, data, size);
}

static inline void sys_close(int fd)
{
    sys1(SYS_close, fd);
}

static inline pid_t sys_getpid(void)
{
    return (pid_t)sys0(SYS_getpid);
}

static inline pid_t sys_gettid(void)
{
    return (pid_t)sys0(SYS_gettid);
}

#endif
