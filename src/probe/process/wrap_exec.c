/* exec: what the process has used so far and what it is about to become go into a record before; a second record follows
 * if the call returns. Everything here works in a child by vfork, which shares its parent's memory: only the stack and
 * mappings that are gone before the real call are written to. */
#include "probe/process/probe.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define OWN_BOUND (5 * PACK_NUMBER_MAX) /* four numbers, and which */
#define SNAPSHOT_CPU_US 10000 /* below, and without children, a fork and its exec make one process image */
#define ENVIRONMENT_MAX 512 /* a copy of pointers to so many texts fits on any stack */
#define FLAGS_MAX 128

/* The environment of the image to come, in which one text is another: the flags, with PROBE_FLAG_COUNTED, PROBE_FLAG_TOLD. */
struct handover {
    size_t count, flags_at; /* as in struct dark_environment; count 0: nothing is handed over */
    char flags[FLAGS_MAX];
};

/* An exec before it is called. */
struct plan {
    const char *path; /* absolute, if that could be found out */
    char *const *argv, *const *envp;
    struct handover *handover; /* NULL: the image tells itself */
    bool is_open;              /* the caller has the file, which may not be where the path says, or nowhere */
};

/* For a child: no process ends without a page fault. */
static bool has_waited(const struct exec_record *record)
{
    return counters_get(&record->children, COUNTER_minflt) > 0;
}

/* A copy made by fork that does nothing else before it execs: one image with what it becomes. */
static bool is_small(const struct exec_record *record)
{
    return probe.forked && !probe.children && !has_waited(record)
           && counters_cpu_us(&record->self) < SNAPSHOT_CPU_US;
}

/* Of other threads than the main one there is a sum. */
static struct dark_cost own_so_far(void)
{
    const struct probe_own *own = probe_in_main_thread() ? &probe.own_main : &probe.own_others;
    return (struct dark_cost){ own->rchar, own->syscr, own->wchar, own->syscw };
}

static struct dark_cost own_since(const struct dark_cost *before)
{
    struct dark_cost own = own_so_far();
    return (struct dark_cost){ own.rchar - before->rchar, own.syscr - before->syscr, own.wchar - before->wchar,
                               own.syscw - before->syscw };
}

/* io of a thread that is not the main one: less what this exec has cost so far. */
static void read_caller(struct counters *self, const struct dark_cost *before)
{
    struct dark_cost own = own_since(before);
    bool is_main = probe_in_main_thread();
    read_this_thread(self, "/proc/thread-self", is_main ? READ_MAIN : READ_OTHER);
    if (is_main)
        return;
    counters_take_off(self, COUNTER_rchar, own.rchar);
    counters_take_off(self, COUNTER_syscr, own.syscr);
    counters_take_off(self, COUNTER_wchar, own.wchar);
    counters_take_off(self, COUNTER_syscw, own.syscw);
}

/* The numbers that do not begin anew with the next image. io and the time on a CPU are the calling thread's, which
 * becomes the main thread of the image to come; all others get a record of their own. */
static void snapshot(struct exec_record *record, const struct dark_cost *before)
{
    read_usage(&record->self, RUSAGE_SELF);
    read_usage(&record->children, RUSAGE_CHILDREN);
    if (!record->copied || is_small(record))
        return;
    read_caller(&record->self, before);
    read_usage(&record->self, RUSAGE_SELF);
    threads_emit_others();
    held_write();
}

/* A child by vfork is a task of its own, in which the file was looked at, no more; and of a thread that is not the main one
 * we know what came since before. */
static void take_own(struct exec_record *record, const struct dark_cost *looked, const struct dark_cost *before)
{
    struct dark_cost own = !record->copied ? *looked : probe_in_main_thread() ? own_so_far() : own_since(before);
    counters_set(&record->own, COUNTER_rchar, own.rchar);
    counters_set(&record->own, COUNTER_syscr, own.syscr);
    counters_set(&record->own, COUNTER_wchar, own.wchar);
    counters_set(&record->own, COUNTER_syscw, own.syscw);
}

/* To the end of this reading: an image to come with a single thread finds what all of these did in its own file, and one with
 * several can tell what it did itself. */
static void read_whole(struct counters *whole)
{
    uint64_t own = probe.own_main.rchar + probe.own_others.rchar;
    if (!read_io(whole, AT_FDCWD, "/proc/self/io", READ_OTHER))
        return;
    whole->value[COUNTER_rchar] += probe.own_main.rchar + probe.own_others.rchar - own;
    whole->value[COUNTER_syscr]++;
}

/* Which of several threads it is that goes on as the next image, and what it used itself. */
static void take_thread(struct exec_record *record, char name[17])
{
    if (!record->copied || !threads_made())
        return;
    record->tid = (uint64_t)sys_gettid();
    if (sys2(SYS_prctl, PR_GET_NAME, name) == 0)
        record->name = (struct bytes){ name, strlen(name) };
    read_usage(&record->thread, RUSAGE_THREAD);
}

/* Has the place for a flag that only the image to come shall see. */
static bool can_hand_over(const struct plan *plan, const struct dark_environment *environment)
{
    return plan->handover && environment->count <= ENVIRONMENT_MAX && environment->flags_at < environment->count;
}

/* Can all be told here that the image would tell when it comes up? Only where the kernel tells when the process was made, and
 * where no other library stands between us and libc, which may execute another file than the one that it is told. */
static bool can_tell_whole(const struct plan *plan, const struct dark_environment *environment, const struct dark_file *file)
{
    return can_hand_over(plan, environment) && probe.bound && environment->is_ours && file->is_ours && file->is_real
           && next_is_libc(NEXT_execve) && next_is_libc(NEXT_execvpe) && plan->argv && plan->argv[0];
}

/* What is the same before and after the exec. */
static void take_whole(struct exec_record *record, char cwd[ARGS_PATH_MAX])
{
    long size = sys2(SYS_getcwd, cwd, ARGS_PATH_MAX);
    if (size == -ERANGE)
        return;
    record->copied |= RECORD_EXEC_WHOLE;
    record->cwd = (struct bytes){ cwd, size > 1 && cwd[0] == '/' ? (size_t)size - 1 : 0 };
    record->pgid = (uint64_t)sys1(SYS_getpgid, 0);
    record->sid = (uint64_t)sys1(SYS_getsid, 0);
    record->uid = (uint64_t)sys0(SYS_getuid);
}

/* Without what was for this image alone. */
static size_t lasting_size(const char *flags)
{
    const char *counted = strchrnul(flags, PROBE_FLAG_COUNTED), *told = strchrnul(flags, PROBE_FLAG_TOLD);
    return (size_t)((counted < told ? counted : told) - flags);
}

static void hand_over(struct handover *handover, const struct dark_environment *environment, const char *flags, char flag)
{
    size_t size = handover->count ? strlen(handover->flags) : lasting_size(flags);
    if (size + 1 + ARGS_DIGITS_MAX > FLAGS_MAX)
        return;
    if (!handover->count)
        memcpy(handover->flags, flags, size);
    handover->flags[size] = flag;
    args_digits(handover->flags + size + 1, (unsigned)sys_getpid());
    handover->count = environment->count;
    handover->flags_at = environment->flags_at;
}

static enum err exec_emit(struct exec_record *record, const struct plan *plan, const struct dark_environment *environment)
{
    bool is_whole = record->copied & RECORD_EXEC_WHOLE;
    size_t size = args_size(plan->argv);
    size_t tags_size = is_whole ? args_tags_size(environment->tags, environment->tags_papiex) : 0;
    size_t bound = (record->tid ? EMIT_BOUND(3) : EMIT_BOUND(2)) + OWN_BOUND; /* as a rule all fits on the stack */
    struct room room;
    if (!room_take(&room, bound + record->path.size + 2 * size + record->cwd.size + 2 * tags_size))
        return NOMEM;
    char *behind = (char *)room.data + room.size - size;
    record->args = args_copy(plan->argv, behind);
    if (is_whole)
        record->tags = args_tags(environment->tags, environment->tags_papiex, behind - tags_size);
    struct packer packer = emit_begin(room.data, room.size);
    record_pack_exec(&packer, record);
    enum err err = emit_end(room.data, &packer, RECORD_KIND_exec);
    room_give(&room);
    return err;
}

/* False: it cannot succeed, and nothing was written: shells try each folder of PATH. */
static bool exec_write(const struct plan *plan)
{
    char real[ARGS_PATH_MAX], cwd[ARGS_PATH_MAX], name[17] = "";
    struct dark_cost before = own_so_far();
    struct dark_environment environment = dark_environment(plan->envp);
    struct dark_file file = { 0 };
    bool looks = probe.bell && !probe.filtered && environment.is_ours; /* under a filter a look may kill */
    if (looks)
        file = dark_see(plan->path, real);
    if (!plan->is_open && !(looks ? file.can_run : args_executable(plan->path)))
        return false;
    struct exec_record record = {
        .pid = (uint64_t)sys_getpid(),
        .ppid = (uint64_t)sys0(SYS_getppid),
        .time_ns = probe_now_ns(),
        .path = { plan->path, strlen(plan->path) },
    };
    record.copied = (pid_t)record.pid == probe.pid ? RECORD_EXEC_COPIED : 0;
    dark_tell((pid_t)record.pid, record.time_ns, &environment, &file);
    held_write();
    snapshot(&record, &before);
    if (record.copied && (threads_made() || has_waited(&record)))
        read_whole(&record.whole_io);
    take_own(&record, &file.cost, &before);
    take_thread(&record, name);
    if (can_tell_whole(plan, &environment, &file)) {
        record.path = (struct bytes){ real, strlen(real) };
        take_whole(&record, cwd);
    }
    enum err err = exec_emit(&record, plan, &environment);
    if (perf_open_exec(record.time_ns, record.copied && is_small(&record)) && can_hand_over(plan, &environment))
        hand_over(plan->handover, &environment, plan->envp[environment.flags_at], PROBE_FLAG_COUNTED);
    if (err == OK && record.copied & RECORD_EXEC_WHOLE)
        hand_over(plan->handover, &environment, plan->envp[environment.flags_at], PROBE_FLAG_TOLD);
    return true;
}

static void exec_failed(void)
{
    uint8_t frame[EMIT_BOUND(0)];
    struct exec_failed_record record = { .pid = (uint64_t)sys_getpid(), .time_ns = probe_now_ns() };
    struct packer packer = emit_begin(frame, sizeof frame);
    record_pack_exec_failed(&packer, &record);
    emit_end(frame, &packer, RECORD_KIND_exec_failed);
    perf_exec_failed();
}

__attribute__((noinline)) static bool exec_write_relative(struct plan plan)
{
    char made[ARGS_PATH_MAX];
    plan.path = args_absolute(made, plan.path);
    return exec_write(&plan);
}

/* True when a record was written. */
static bool exec_try(struct plan plan)
{
    if (!probe_on() || !plan.path)
        return false;
    return plan.path[0] == '/' ? exec_write(&plan) : exec_write_relative(plan);
}

__attribute__((noinline)) static bool exec_try_search(struct plan plan, const char *file)
{
    char made[ARGS_PATH_MAX];
    plan.path = probe_on() ? args_search(made, file) : NULL;
    return plan.path && exec_try(plan);
}

/* path as seen from an open folder; an empty one is the open file itself. */
__attribute__((noinline)) static bool exec_try_at(int fd, struct plan plan)
{
    char made[ARGS_PATH_MAX];
    if (plan.path[0] == '/' || fd == AT_FDCWD)
        return exec_try(plan);
    if (!probe_on() || !args_at(made, fd, plan.path))
        return false;
    plan.path = made;
    plan.is_open = true;
    return exec_try(plan);
}

typedef int exec_function(const char *file, char *const *argv, char *const *envp);

/* With the flags of the handover in the environment. To who takes up all the room there is for arguments and environment, the
 * digits of a pid may be too much: then without, and the image tells of itself once more. */
__attribute__((noinline)) static int exec_handing(exec_function *exec, const char *file, const struct plan *plan)
{
    const struct handover *handover = plan->handover;
    char *envp[ENVIRONMENT_MAX + 1];
    memcpy(envp, plan->envp, (handover->count + 1) * sizeof *envp);
    envp[handover->flags_at] = (char *)handover->flags;
    int result = exec(file, plan->argv, envp);
    return errno == E2BIG ? exec(file, plan->argv, plan->envp) : result;
}

static int exec_call(exec_function *exec, const char *file, const struct plan *plan, bool told)
{
    int result = plan->handover->count ? exec_handing(exec, file, plan) : exec(file, plan->argv, plan->envp);
    if (told)
        exec_failed();
    return result;
}

static int exec_image(const char *path, char *const *argv, char *const *envp)
{
    struct handover handover = { .count = 0 };
    struct plan plan = { path, argv, envp, &handover, false };
    next_find_first(); /* after vfork, which nobody tells us of, nobody else has */
    return exec_call(NEXT(execve), path, &plan, exec_try(plan));
}

static int exec_search(const char *file, char *const *argv, char *const *envp)
{
    struct handover handover = { .count = 0 };
    struct plan plan = { file, argv, envp, &handover, false };
    next_find_first();
    return exec_call(NEXT(execvpe), file, &plan, exec_try_search(plan, file));
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
    bool told = exec_try_at(fd, (struct plan){ "", argv, envp, NULL, false });
    int result = NEXT(fexecve)(fd, argv, envp);
    if (told)
        exec_failed();
    return result;
}

PROBE_EXPORT int execveat(int fd, const char *path, char *const *argv, char *const *envp, int flags)
{
    bool told = exec_try_at(fd, (struct plan){ path, argv, envp, NULL, false });
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
