/* The exec family. A record with the resources used so far and the new program is written before the call; a second
 * one if the call returns. All of it must work in a vfork child, which shares its parent's memory: it writes only to
 * the stack and to mappings that are gone before the real call. */
#include "probe/process/probe.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define OVERHEAD_BOUND (5 * PACK_NUMBER_MAX) /* four values and their bit mask */
#define SNAPSHOT_CPU_US 10000 /* below this, and without children, fork and exec form one process image */
#define ENVIRONMENT_MAX 512 /* a copy of that many pointers fits on any stack */
#define FLAGS_MAX 128

/* Overrides one variable in the environment of the new image: the flags, with PROBE_FLAG_COUNTED and
 * PROBE_FLAG_RECORDED added. */
struct flags_override {
    size_t count, flags_at; /* as in struct exec_environment; count 0: no override */
    char flags[FLAGS_MAX];
};

/* An exec about to be called. */
struct exec_plan {
    const char *path; /* absolute if possible */
    char *const *argv, *const *envp;
    struct flags_override *override; /* NULL: the new image writes its own record */
    bool is_open;              /* the caller has opened the file, which may no longer be at this path */
};

/* A child was reaped: no process ends without a page fault. */
static bool has_reaped(const struct exec_record *record)
{
    return counters_get(&record->children, COUNTER_minflt) > 0;
}

/* A forked copy that does nothing before its exec forms one process image with what it becomes. */
static bool is_small(const struct exec_record *record)
{
    return probe.is_forked && !probe.children && !has_reaped(record)
           && counters_cpu_us(&record->self) < SNAPSHOT_CPU_US;
}

/* For threads other than the main one, only the sum is known. */
static struct probe_cost cost_so_far(void)
{
    const struct probe_overhead *own = probe_in_main_thread() ? &probe.overhead_main : &probe.overhead_others;
    return (struct probe_cost){ own->rchar, own->syscr, own->wchar, own->syscw };
}

static struct probe_cost cost_since(const struct probe_cost *before)
{
    struct probe_cost own = cost_so_far();
    return (struct probe_cost){ own.rchar - before->rchar, own.syscr - before->syscr, own.wchar - before->wchar,
                               own.syscw - before->syscw };
}

/* I/O of a thread other than the main one: without the overhead of this exec. */
static void read_caller(struct counters *self, const struct probe_cost *before)
{
    struct probe_cost own = cost_since(before);
    bool is_main = probe_in_main_thread();
    read_this_thread(self, "/proc/thread-self", is_main ? READ_MAIN : READ_OTHER);
    if (is_main)
        return;
    counters_take_off(self, COUNTER_rchar, own.rchar);
    counters_take_off(self, COUNTER_syscr, own.syscr);
    counters_take_off(self, COUNTER_wchar, own.wchar);
    counters_take_off(self, COUNTER_syscw, own.syscw);
}

/* The counters that continue in the next image. I/O and CPU time are those of the calling thread, which becomes the
 * main thread of the next image; all other threads get a record of their own. */
static void snapshot(struct exec_record *record, const struct probe_cost *before)
{
    read_usage(&record->self, RUSAGE_SELF);
    read_usage(&record->children, RUSAGE_CHILDREN);
    if (!record->copied || is_small(record))
        return;
    read_caller(&record->self, before);
    read_usage(&record->self, RUSAGE_SELF);
    threads_emit_others();
    record_batch_flush();
}

/* A vfork child is a task of its own, in which only the check of the file happened. For a thread other than the main
 * one we know only the overhead since `before`. */
static void set_overhead(struct exec_record *record, const struct probe_cost *check_cost, const struct probe_cost *before)
{
    struct probe_cost own = !record->copied ? *check_cost : probe_in_main_thread() ? cost_so_far() : cost_since(before);
    counters_set(&record->own, COUNTER_rchar, own.rchar);
    counters_set(&record->own, COUNTER_syscr, own.syscr);
    counters_set(&record->own, COUNTER_wchar, own.wchar);
    counters_set(&record->own, COUNTER_syscw, own.syscw);
}

/* The I/O of all threads, including this read: the next image needs it to tell its own I/O from ours. */
static void read_whole(struct counters *whole)
{
    uint64_t own = probe.overhead_main.rchar + probe.overhead_others.rchar;
    if (!read_io(whole, AT_FDCWD, "/proc/self/io", READ_OTHER))
        return;
    whole->value[COUNTER_rchar] += probe.overhead_main.rchar + probe.overhead_others.rchar - own;
    whole->value[COUNTER_syscr]++;
}

/* Which thread continues as the next image, and what it used itself. */
static void set_thread(struct exec_record *record, char name[17])
{
    if (!record->copied || !threads_made())
        return;
    record->tid = (uint64_t)sys_gettid();
    if (sys2(SYS_prctl, PR_GET_NAME, name) == 0)
        record->name = (struct bytes){ name, strlen(name) };
    read_usage(&record->thread, RUSAGE_THREAD);
}

/* Is there a flags variable to override? */
static bool can_pass_flags(const struct exec_plan *plan, const struct exec_environment *environment)
{
    return plan->override && environment->count <= ENVIRONMENT_MAX && environment->flags_at < environment->count;
}

/* Can the exec record describe the new image completely, so that it need not write its own? Only where the kernel
 * reports process start times, and where no other library sits between us and libc: that one might execute another
 * file. */
static bool can_describe_image(const struct exec_plan *plan, const struct exec_environment *environment,
                               const struct exec_file *file)
{
    return can_pass_flags(plan,
                          environment) && probe.is_in_run_namespace && environment->is_ours && file->is_ours && file->is_real
           && next_is_libc(NEXT_execve) && next_is_libc(NEXT_execvpe) && plan->argv && plan->argv[0];
}

/* What is the same before and after exec. */
static void set_image_fields(struct exec_record *record, char cwd[ARGS_PATH_MAX])
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

/* Without the flags that were for this image only. */
static size_t inherited_size(const char *flags)
{
    const char *counted = strchrnul(flags, PROBE_FLAG_COUNTED), *is_recorded = strchrnul(flags, PROBE_FLAG_RECORDED);
    return (size_t)((counted < is_recorded ? counted : is_recorded) - flags);
}

static void pass_flag(struct flags_override *override, const struct exec_environment *environment, const char *flags,
                      char flag)
{
    size_t size = override->count ? strlen(override->flags) : inherited_size(flags);
    if (size + 1 + ARGS_DIGITS_MAX > FLAGS_MAX)
        return;
    if (!override->count)
        memcpy(override->flags, flags, size);
    override->flags[size] = flag;
    args_digits(override->flags + size + 1, (unsigned)sys_getpid());
    override->count = environment->count;
    override->flags_at = environment->flags_at;
}

static enum err exec_emit(struct exec_record *record, const struct exec_plan *plan,
                          const struct exec_environment *environment)
{
    bool has_image = record->copied & RECORD_EXEC_WHOLE;
    size_t size = args_size(plan->argv);
    size_t tags_size = has_image ? args_tags_size(environment->tags, environment->tags_papiex) : 0;
    size_t bound = (record->tid ? EMIT_BOUND(3) : EMIT_BOUND(2)) + OVERHEAD_BOUND; /* usually all of it fits on the stack */
    struct emit_buffer buffer;
    if (!emit_buffer_alloc(&buffer, bound + record->path.size + 2 * size + record->cwd.size + 2 * tags_size))
        return NOMEM;
    char *tail = (char *)buffer.data + buffer.size - size;
    record->args = args_copy(plan->argv, tail);
    if (has_image)
        record->tags = args_tags(environment->tags, environment->tags_papiex, tail - tags_size);
    struct packer packer = emit_begin(buffer.data, buffer.size);
    record_pack_exec(&packer, record);
    enum err err = emit_end(buffer.data, &packer, RECORD_KIND_exec);
    emit_buffer_free(&buffer);
    return err;
}

/* False: the exec cannot succeed, and nothing was written (shells try each directory of PATH). */
static bool exec_write(const struct exec_plan *plan)
{
    char real[ARGS_PATH_MAX], cwd[ARGS_PATH_MAX], name[17] = "";
    struct probe_cost before = cost_so_far();
    struct exec_environment environment = unprobed_scan_environment(plan->envp);
    struct exec_file file = { 0 };
    /* under a seccomp filter, opening the file might kill us */
    bool can_check = probe.has_notices && !probe.has_seccomp && environment.is_ours;
    if (can_check)
        file = unprobed_check_file(plan->path, real);
    if (!plan->is_open && !(can_check ? file.can_run : args_executable(plan->path)))
        return false;
    struct exec_record record = {
        .pid = (uint64_t)sys_getpid(),
        .ppid = (uint64_t)sys0(SYS_getppid),
        .time_ns = probe_now_ns(),
        .path = { plan->path, strlen(plan->path) },
    };
    record.copied = (pid_t)record.pid == probe.pid ? RECORD_EXEC_COPIED : 0;
    unprobed_notify((pid_t)record.pid, record.time_ns, &environment, &file);
    record_batch_flush();
    snapshot(&record, &before);
    if (record.copied && (threads_made() || has_reaped(&record)))
        read_whole(&record.whole_io);
    set_overhead(&record, &file.cost, &before);
    set_thread(&record, name);
    if (can_describe_image(plan, &environment, &file)) {
        record.path = (struct bytes){ real, strlen(real) };
        set_image_fields(&record, cwd);
    }
    enum err err = exec_emit(&record, plan, &environment);
    if (perf_open_exec(record.time_ns, record.copied && is_small(&record)) && can_pass_flags(plan, &environment))
        pass_flag(plan->override, &environment, plan->envp[environment.flags_at], PROBE_FLAG_COUNTED);
    if (err == OK && record.copied & RECORD_EXEC_WHOLE)
        pass_flag(plan->override, &environment, plan->envp[environment.flags_at], PROBE_FLAG_RECORDED);
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

__attribute__((noinline)) static bool exec_write_relative(struct exec_plan plan)
{
    char absolute[ARGS_PATH_MAX];
    plan.path = args_absolute(absolute, plan.path);
    return exec_write(&plan);
}

/* True if a record was written. */
static bool exec_try(struct exec_plan plan)
{
    if (!probe_is_active() || !plan.path)
        return false;
    return plan.path[0] == '/' ? exec_write(&plan) : exec_write_relative(plan);
}

__attribute__((noinline)) static bool exec_try_search(struct exec_plan plan, const char *file)
{
    char absolute[ARGS_PATH_MAX];
    plan.path = probe_is_active() ? args_search(absolute, file) : NULL;
    return plan.path && exec_try(plan);
}

/* path relative to an open directory; an empty path means the open file itself. */
__attribute__((noinline)) static bool exec_try_at(int fd, struct exec_plan plan)
{
    char absolute[ARGS_PATH_MAX];
    if (plan.path[0] == '/' || fd == AT_FDCWD)
        return exec_try(plan);
    if (!probe_is_active() || !args_at(absolute, fd, plan.path))
        return false;
    plan.path = absolute;
    plan.is_open = true;
    return exec_try(plan);
}

typedef int exec_function(const char *file, char *const *argv, char *const *envp);

/* Executes with the flags overridden. If arguments and environment use all the space there is, the extra digits may
 * be too much: then without, and the image writes its own record as well. */
__attribute__((noinline)) static int exec_with_flags(exec_function *exec, const char *file, const struct exec_plan *plan)
{
    const struct flags_override *override = plan->override;
    char *envp[ENVIRONMENT_MAX + 1];
    memcpy(envp, plan->envp, (override->count + 1) * sizeof *envp);
    envp[override->flags_at] = (char *)override->flags;
    int result = exec(file, plan->argv, envp);
    return errno == E2BIG ? exec(file, plan->argv, plan->envp) : result;
}

static int exec_call(exec_function *exec, const char *file, const struct exec_plan *plan, bool is_recorded)
{
    int result = plan->override->count ? exec_with_flags(exec, file, plan) : exec(file, plan->argv, plan->envp);
    if (is_recorded)
        exec_failed();
    return result;
}

static int exec_image(const char *path, char *const *argv, char *const *envp)
{
    struct flags_override override = { .count = 0 };
    struct exec_plan plan = { path, argv, envp, &override, false };
    next_find_first(); /* not done yet in a vfork child, since vfork is not wrapped */
    return exec_call(NEXT(execve), path, &plan, exec_try(plan));
}

static int exec_search(const char *file, char *const *argv, char *const *envp)
{
    struct flags_override override = { .count = 0 };
    struct exec_plan plan = { file, argv, envp, &override, false };
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
    bool is_recorded = exec_try_at(fd, (struct exec_plan){ "", argv, envp, NULL, false });
    int result = NEXT(fexecve)(fd, argv, envp);
    if (is_recorded)
        exec_failed();
    return result;
}

PROBE_EXPORT int execveat(int fd, const char *path, char *const *argv, char *const *envp, int flags)
{
    bool is_recorded = exec_try_at(fd, (struct exec_plan){ path, argv, envp, NULL, false });
    int result = NEXT(execveat)(fd, path, argv, envp, flags);
    if (is_recorded)
        exec_failed();
    return result;
}

/* The variadic functions collect their arguments in an array on the stack, as libc does. */
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
