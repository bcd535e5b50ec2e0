/* exec: what the process has used so far and what it is about to become go into a record before; a second record follows
 * if the call returns. Everything here works in a child by vfork, which shares its parent's memory: only the stack and
 * mappings that are gone before the real call are written to. */
#include "probe/probe.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#define OWN_BOUND (5 * PACK_NUMBER_MAX) /* four numbers, and which */
#define SNAPSHOT_CPU_US 10000 /* below, and without children, a fork and its exec make one process image */

/* A copy made by fork that does nothing else before it execs: one image with what it becomes. */
static bool is_small(const struct exec_record *record)
{
    return probe.forked && !probe.children && !counters_get(&record->children, COUNTER_minflt)
           && counters_cpu_us(&record->self) < SNAPSHOT_CPU_US;
}

/* The numbers that do not begin anew with the next image. io and the time on a CPU are the calling thread's, which
 * becomes the main thread of the image to come; all others get a record of their own. */
static void snapshot(struct exec_record *record)
{
    read_usage(&record->self, RUSAGE_SELF);
    read_usage(&record->children, RUSAGE_CHILDREN);
    if (!record->copied || is_small(record))
        return;
    read_this_thread(&record->self, "/proc/thread-self", probe_in_main_thread() ? READ_MAIN : READ_OTHER);
    read_usage(&record->self, RUSAGE_SELF);
    threads_emit_others();
}

/* A child by vfork is a task of its own, in which the file was looked at, no more. */
static void take_own(struct exec_record *record, const struct dark_cost *cost)
{
    if (!record->copied) {
        counters_set(&record->own, COUNTER_rchar, cost->rchar);
        counters_set(&record->own, COUNTER_syscr, cost->syscr);
        counters_set(&record->own, COUNTER_wchar, cost->wchar);
        counters_set(&record->own, COUNTER_syscw, cost->syscw);
    } else if (probe_in_main_thread()) {
        counters_set(&record->own, COUNTER_rchar, probe.own_main.rchar);
        counters_set(&record->own, COUNTER_syscr, probe.own_main.syscr);
        counters_set(&record->own, COUNTER_wchar, probe.own_main.wchar);
        counters_set(&record->own, COUNTER_syscw, probe.own_main.syscw);
    }
}

static void exec_write(const char *path, char *const *argv, char *const *envp)
{
    struct exec_record record = {
        .pid = (uint64_t)sys_getpid(),
        .ppid = (uint64_t)sys0(SYS_getppid),
        .time_ns = probe_now_ns(),
        .path = { path, strlen(path) },
    };
    record.copied = (pid_t)record.pid == probe.pid;
    struct dark_cost cost = dark_tell((pid_t)record.pid, record.time_ns, path, envp);
    snapshot(&record);
    take_own(&record, &cost);
    size_t size = args_size(argv);
    struct room room;
    if (!room_take(&room, EMIT_BOUND(2) + OWN_BOUND + record.path.size + 2 * size))
        return;
    record.args = args_copy(argv, (char *)room.data + room.size - size);
    struct packer packer = emit_begin(room.data, room.size);
    record_pack_exec(&packer, &record);
    emit_end(room.data, &packer, RECORD_KIND_exec);
    room_give(&room);
}

static void exec_failed(void)
{
    uint8_t frame[EMIT_BOUND(0)];
    struct exec_failed_record record = { .pid = (uint64_t)sys_getpid(), .time_ns = probe_now_ns() };
    struct packer packer = emit_begin(frame, sizeof frame);
    record_pack_exec_failed(&packer, &record);
    emit_end(frame, &packer, RECORD_KIND_exec_failed);
}

__attribute__((noinline)) static void exec_write_relative(const char *path, char *const *argv, char *const *envp)
{
    char made[ARGS_PATH_MAX];
    exec_write(args_absolute(made, path), argv, envp);
}

static void exec_announce(const char *path, char *const *argv, char *const *envp)
{
    if (path[0] == '/')
        exec_write(path, argv, envp);
    else
        exec_write_relative(path, argv, envp);
}

/* Nothing is written for what cannot succeed: shells try each folder of PATH. True when a record was written. */
static bool exec_try(const char *path, char *const *argv, char *const *envp)
{
    if (!probe_on() || !args_executable(path))
        return false;
    exec_announce(path, argv, envp);
    return true;
}

__attribute__((noinline)) static bool exec_try_search(const char *file, char *const *argv, char *const *envp)
{
    char made[ARGS_PATH_MAX];
    const char *path = probe_on() ? args_search(made, file) : NULL;
    if (path)
        exec_announce(path, argv, envp);
    return path;
}

/* path as seen from an open folder; an empty one is the open file itself. */
__attribute__((noinline)) static bool exec_try_at(int fd, const char *path, char *const *argv,
                                                  char *const *envp)
{
    char made[ARGS_PATH_MAX];
    if (path[0] == '/' || fd == AT_FDCWD)
        return exec_try(path, argv, envp);
    if (!probe_on() || !args_at(made, fd, path))
        return false;
    exec_announce(made, argv, envp);
    return true;
}

static int exec_image(const char *path, char *const *argv, char *const *envp)
{
    next_find_first(); /* after vfork, which nobody tells us of, nobody else has */
    bool told = exec_try(path, argv, envp);
    int result = NEXT(execve)(path, argv, envp);
    if (told)
        exec_failed();
    return result;
}

static int exec_search(const char *file, char *const *argv, char *const *envp)
{
    next_find_first();
    bool told = exec_try_search(file, argv, envp);
    int result = NEXT(execvpe)(file, argv, envp);
    if (told)
        exec_failed();
    return result;
}

PROBE_EXPORT int execve(const char *path, char *const *argv, char *const *envp)
{
    return exec_image(path, argv, envp);
}

PROBE_EXPORT int execv(const char *path, char *const *argv)
{
    return exec_image(path, argv, environ);
}

PROBE_EXPORT int execvpe(const char *file, char *const *argv, char *const *envp)
{
    return exec_search(file, argv, envp);
}

PROBE_EXPORT int execvp(const char *file, char *const *argv)
{
    return exec_search(file, argv, environ);
}

PROBE_EXPORT int fexecve(int fd, char *const *argv, char *const *envp)
{
    bool told = exec_try_at(fd, "", argv, envp);
    int result = NEXT(fexecve)(fd, argv, envp);
    if (told)
        exec_failed();
    return result;
}

PROBE_EXPORT int execveat(int fd, const char *path, char *const *argv, char *const *envp, int flags)
{
    bool told = exec_try_at(fd, path, argv, envp);
    int result = NEXT(execveat)(fd, path, argv, envp, flags);
    if (told)
        exec_failed();
    return result;
}

/* The variadic ones, with their arguments in an array on the stack, as libc does it. */
static size_t count(va_list list)
{
    size_t size = 1;
    while (va_arg(list, char *))
        size++;
    return size;
}

static void collect(va_list list, char **argv, const char *first)
{
    *argv++ = (char *)first;
    while ((*argv++ = va_arg(list, char *)))
        ;
}

#define ARGV_FROM(first) \
    va_list list; \
    va_start(list, first); \
    size_t size = count(list) + 1; \
    va_end(list); \
    char **argv = __builtin_alloca(size * sizeof *argv); \
    va_start(list, first); \
    collect(list, argv, first)

PROBE_EXPORT int execl(const char *path, const char *first, ...)
{
    ARGV_FROM(first);
    va_end(list);
    return exec_image(path, argv, environ);
}

PROBE_EXPORT int execlp(const char *file, const char *first, ...)
{
    ARGV_FROM(first);
    va_end(list);
    return exec_search(file, argv, environ);
}

PROBE_EXPORT int execle(const char *path, const char *first, ...)
{
    ARGV_FROM(first);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return exec_image(path, argv, envp);
}
