/* A list that is looked through: those that live at a time are few. */
#include "run/attach_processes.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/vec.h"
#include "proc/taskfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_ROOM 64
#define STAT_ROOM 1024
#define MISSED_MAX 3
#define PIDFDS_MAX 512 /* of those whose end nobody tells us */

struct attach_process {
    pid_t pid;
    int pidfd;                    /* -1: none */
    struct counters before, used; /* when it was first seen; since then, as of the last look */
    uint64_t image;               /* a hash of what it executes; 0: not known */
    bool is_new;                  /* made since we are here */
    bool is_alone;                /* not so, and it never had another thread: what its exit record tells is all that it used */
    bool is_known, has_record;    /* what it has used to its end; by its exit record */
    uint64_t left_ns;             /* it was not new, and has ended; 0: it has not */
    uint32_t left_status;
    uint64_t begun_ns, seen_ns;   /* when it was looked at first and last; CLOCK_MONOTONIC */
    uint64_t exec_ns;             /* when it executed something that was not looked at yet; 0: there is nothing */
    unsigned missed;              /* looks at which it was not there, though nobody has told its end */
};

/* What the end of a process completes. */
static const enum counter used_at_end[] = { COUNTER_usertime, COUNTER_systemtime, COUNTER_minflt, COUNTER_majflt };

/* linux/pidfd.h has it from 6.15 on. */
struct exit_info {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t exit_code;
};
#define INFO_EXIT (1u << 3)
#define GET_INFO _IOWR(0xFF, 11, struct exit_info)

void attach_processes_clear(struct attach_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->list[i].pidfd >= 0)
            close(processes->list[i].pidfd);
    free(processes->list);
    processes->list = NULL;
    processes->count = processes->room = 0;
}

static struct attach_process *find(const struct attach_processes *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->list[i].pid == pid)
            return &processes->list[i];
    return NULL;
}

static struct attach_process *add(struct attach_processes *processes, pid_t pid)
{
    if (array_reserve(processes->list, processes->room, processes->count + 1, VEC_MAX))
        return NULL;
    struct attach_process *process = &processes->list[processes->count++];
    *process = (struct attach_process){ .pid = pid, .pidfd = -1 };
    return process;
}

static void forget(struct attach_processes *processes, struct attach_process *process)
{
    if (process->pidfd >= 0)
        close(process->pidfd);
    *process = processes->list[--processes->count];
}

/* Of its path and arguments; never 0, which is none. */
static uint64_t image_of(const struct proc_snapshot *snapshot)
{
    uint64_t path = hash_add(HASH_START, snapshot->path.data, snapshot->path.size) | 1;
    return hash_add(path, snapshot->args.data, snapshot->args.size) | 1;
}

/* What it executes, if that is news; since time_ns. */
static void tell_image_since(struct attach_processes *processes, struct attach_process *process, const struct proc_snapshot *snapshot, uint64_t time_ns)
{
    uint64_t image = image_of(snapshot);
    if (image == process->image)
        return;
    process->image = image;
    spool_writer_add_kernel_exec(processes->writer, &(struct kernel_exec_record){
        .pid = (uint64_t)process->pid, .time_ns = time_ns, .start_ticks = snapshot->start_ticks, .ppid = snapshot->ppid,
        .pgid = snapshot->pgid, .sid = snapshot->sid, .uid = proc_snapshot_uid(snapshot), .stat_known = 1, .path = snapshot->path,
        .args = snapshot->args, .cwd = snapshot->cwd, .name = snapshot->name,
    });
}

static void tell_image(struct attach_processes *processes, struct attach_process *process, const struct proc_snapshot *snapshot)
{
    tell_image_since(processes, process, snapshot, clock_realtime_ns());
}

static bool read_ticks(const char *format, pid_t pid, struct taskfile_stat *stat)
{
    char path[64], text[STAT_ROOM];
    snprintf(path, sizeof path, format, (int)pid, (int)pid);
    return file_read("", path, text, sizeof text, NULL) == OK && taskfile_parse_stat(text, stat) == OK;
}

/* Threads that have ended would have left their time to the process. */
static bool has_been_alone(pid_t pid)
{
    struct taskfile_stat all, first;
    return read_ticks("/proc/%d/task/%d/stat", pid, &first) && read_ticks("/proc/%d/stat", pid, &all) && all.threads == 1
           && all.own_ticks <= first.own_ticks + 1;
}

/* A child is what its parent is until it executes something. */
static void begin(struct attach_processes *processes, pid_t pid, bool is_new)
{
    struct proc_snapshot snapshot;
    struct attach_process *process = find(processes, pid);
    if (process)
        forget(processes, process); /* of one that had its number before */
    process = add(processes, pid);
    if (process)
        process->is_new = is_new;
    if (!process || proc_snapshot_read(processes->reader, (uint32_t)pid, UINT32_MAX, &snapshot) != OK)
        return;
    if (is_new)
        spool_writer_add_kernel_fork(processes->writer, &(struct kernel_fork_record){
            .pid = (uint64_t)pid, .ppid = snapshot.ppid, .time_ns = clock_realtime_ns(), .tid = (uint64_t)pid });
    else
        tell_image(processes, process, &snapshot);
    if (!is_new) {
        proc_snapshot_counters(processes->reader, (uint32_t)pid, false, &process->before);
        process->is_alone = has_been_alone(pid);
        process->begun_ns = process->seen_ns = clock_monotonic_ns();
    }
}

/* What it has used since we came. The memory of one that has ended is gone, and its peak was seen before. */
static void look(struct attach_processes *processes, struct attach_process *process)
{
    struct counters now;
    proc_snapshot_counters(processes->reader, (uint32_t)process->pid, false, &now);
    process->is_known = counters_has(&now, COUNTER_usertime);
    if (process->is_known)
        process->seen_ns = clock_monotonic_ns();
    counters_subtract(&now, &process->before);
    counters_fill(&now, &process->used);
    process->used = now;
}

/* time_ns: not after its end, or it would be another of the same number. */
static void tell_used(struct attach_processes *processes, const struct attach_process *process, uint64_t time_ns)
{
    struct proc_snapshot snapshot = { 0 };
    char name[NAME_ROOM];
    if (proc_snapshot_read(processes->reader, (uint32_t)process->pid, UINT32_MAX, &snapshot) != OK || !snapshot.stat_known)
        snapshot = (struct proc_snapshot){ 0 };
    size_t size = snapshot.name.size < sizeof name ? snapshot.name.size : sizeof name;
    if (size)
        memcpy(name, snapshot.name.data, size);
    spool_writer_add_alive(processes->writer, &(struct alive_record){
        .pid = (uint64_t)process->pid, .ppid = snapshot.ppid, .pgid = snapshot.pgid, .sid = snapshot.sid, .uid = proc_snapshot_uid(&snapshot),
        .start_ticks = snapshot.start_ticks, .time_ns = time_ns, .name = { name, size }, .self = process->used,
    });
}

static void tell_end(struct attach_processes *processes, struct attach_process *process, int status, uint64_t time_ns)
{
    tell_used(processes, process, time_ns);
    spool_writer_add_kernel_exit(processes->writer, &(struct kernel_exit_record){
        .pid = (uint64_t)process->pid, .tid = (uint64_t)process->pid, .time_ns = time_ns, .status = (uint64_t)status });
    forget(processes, process);
}

static void tracer_begins(void *context, pid_t pid, bool is_new)
{
    struct attach_processes *processes = context;
    begin(processes, pid, is_new);
    spool_writer_flush(processes->writer);
}

static void tracer_execs(void *context, pid_t pid)
{
    struct attach_processes *processes = context;
    struct proc_snapshot snapshot;
    struct attach_process *process = find(processes, pid);
    if (!process || proc_snapshot_read(processes->reader, (uint32_t)pid, UINT32_MAX, &snapshot) != OK)
        return;
    process->image = 0; /* also when it is the same once more */
    tell_image(processes, process, &snapshot);
    spool_writer_flush(processes->writer);
}

static void tracer_ends(void *context, pid_t pid)
{
    struct attach_processes *processes = context;
    struct attach_process *process = find(processes, pid);
    if (process)
        look(processes, process);
}

/* Threads other than the first may have gone on until now, and a zombie still knows its CPU time. */
static void tracer_ended(void *context, pid_t pid, int status)
{
    struct attach_processes *processes = context;
    struct attach_process *process = find(processes, pid);
    if (!process)
        return;
    uint64_t threads = counters_get(&process->used, COUNTER_num_threads);
    look(processes, process);
    if (threads)
        counters_set(&process->used, COUNTER_num_threads, threads);
    tell_end(processes, process, status, clock_realtime_ns());
    spool_writer_flush(processes->writer);
}

static void tracer_over(void *context)
{
    attach_processes_finish(context);
}

struct tracer_listener attach_processes_tracer(struct attach_processes *processes)
{
    return (struct tracer_listener){ processes, tracer_begins, tracer_execs, tracer_ends, tracer_ended, tracer_over };
}

void attach_processes_finish(struct attach_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        look(processes, &processes->list[i]);
        tell_used(processes, &processes->list[i], clock_realtime_ns());
    }
    spool_writer_flush(processes->writer);
}

bool attach_processes_status(const struct attach_processes *processes, pid_t pid, int pidfd, int *status)
{
    struct exit_info info = { .mask = INFO_EXIT };
    if (proc_snapshot_read_zombie(processes->reader, (uint32_t)pid, status) == OK)
        return true;
    if (pidfd < 0 || ioctl(pidfd, GET_INFO, &info) != 0 || !(info.mask & INFO_EXIT))
        return false;
    *status = info.exit_code;
    return true;
}

static void tell_fork(struct attach_processes *processes, const struct proc_connector_event *event)
{
    spool_writer_add_kernel_fork(processes->writer, &(struct kernel_fork_record){
        .pid = event->pid, .ppid = event->parent_pid, .time_ns = event->time_ns, .tid = event->tid });
}

/* One that a look has found before is told already. */
bool attach_processes_forked(struct attach_processes *processes, const struct proc_connector_event *event)
{
    struct attach_process *process = find(processes, (pid_t)event->pid);
    bool is_thread = event->tid != event->pid;
    if (process && is_thread)
        process->is_alone = false;
    if (process && (is_thread || process->is_new)) {
        if (is_thread && process->is_new)
            tell_fork(processes, event);
        return process->is_new;
    }
    if (process || is_thread || !find(processes, (pid_t)event->parent_pid) || !(process = add(processes, (pid_t)event->pid)))
        return false;
    process->is_new = true;
    tell_fork(processes, event);
    return true;
}

/* What it was before nobody can tell any more; who has gone has left its name in taskstats. */
static void tell_exec_unseen(struct attach_processes *processes, struct attach_process *process)
{
    if (process->exec_ns)
        spool_writer_add_kernel_exec(processes->writer, &(struct kernel_exec_record){
            .pid = (uint64_t)process->pid, .time_ns = process->exec_ns });
    process->exec_ns = 0;
}

/* It is looked at when all events are read: then /proc has what the last of them tells of. */
void attach_processes_execed(struct attach_processes *processes, const struct proc_connector_event *event)
{
    struct attach_process *process = find(processes, (pid_t)event->pid);
    if (!process)
        return;
    tell_exec_unseen(processes, process);
    process->exec_ns = event->time_ns;
}

static void look_at_exec(struct attach_processes *processes, struct attach_process *process)
{
    struct proc_snapshot snapshot;
    if (!process->exec_ns)
        return;
    if (proc_snapshot_read(processes->reader, (uint32_t)process->pid, UINT32_MAX, &snapshot) != OK || snapshot.is_zombie) {
        tell_exec_unseen(processes, process);
        return;
    }
    process->image = 0; /* also when it is the same once more */
    tell_image_since(processes, process, &snapshot, process->exec_ns);
    process->exec_ns = 0;
}

/* Who was waited for at once has left nothing to look at. The last look is good enough where it lacks a hundredth. */
static void forget_unknown(struct attach_process *process)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool is_near = process->is_known || (now_ns - process->seen_ns) * 100 <= now_ns - process->begun_ns;
    for (size_t i = 0; i < sizeof used_at_end / sizeof *used_at_end && !is_near; i++)
        counters_forget(&process->used, used_at_end[i]);
}

static void tell_left(struct attach_processes *processes, struct attach_process *process)
{
    forget_unknown(process);
    tell_end(processes, process, (int)process->left_status, process->left_ns);
}

void attach_processes_events_done(struct attach_processes *processes)
{
    for (size_t i = processes->count; i-- > 0;) {
        look_at_exec(processes, &processes->list[i]);
        if (processes->list[i].left_ns)
            tell_left(processes, &processes->list[i]);
    }
    spool_writer_flush(processes->writer);
}

/* The first thread may end before the others: then the looks tell the end of the process. */
static bool goes_on(const struct attach_processes *processes, const struct proc_connector_event *event)
{
    struct proc_snapshot snapshot;
    return event->pid == event->tid && proc_snapshot_read(processes->reader, event->pid, UINT32_MAX, &snapshot) == OK && snapshot.threads > 1;
}

/* Of one that was there before us: as long as nobody has waited for it, its last numbers are there; else its exit record, which
 * comes before or after this, may have them. */
static void leave_old(struct attach_processes *processes, struct attach_process *process, const struct proc_connector_event *event)
{
    if (event->pid != event->tid)
        return;
    if (!process->has_record)
        look(processes, process);
    process->left_ns = event->time_ns;
    process->left_status = event->status;
}

void attach_processes_taskstats(struct attach_processes *processes, const struct taskstats_record *record)
{
    struct attach_process *process = find(processes, (pid_t)record->tid);
    if (!process || process->is_new || !process->is_alone || !counters_has(&record->counters, COUNTER_usertime))
        return;
    process->is_known = process->has_record = true;
    for (size_t i = 0; i < sizeof used_at_end / sizeof *used_at_end; i++) {
        enum counter counter = used_at_end[i];
        uint64_t all = counters_get(&record->counters, counter), before = counters_get(&process->before, counter);
        counters_set(&process->used, counter, all > before ? all - before : 0);
    }
}

void attach_processes_exited(struct attach_processes *processes, const struct proc_connector_event *event)
{
    struct attach_process *process = find(processes, (pid_t)event->pid);
    if (!process)
        return;
    if (goes_on(processes, event)) {
        process->is_new = false; /* its end is nowhere told */
        return;
    }
    if (!process->is_new) {
        leave_old(processes, process, event);
        return;
    }
    if (event->pid == event->tid)
        tell_exec_unseen(processes, process);
    if (event->pid == event->tid && !processes->has_taskstats)
        tell_used(processes, process, event->time_ns);
    spool_writer_add_kernel_exit(processes->writer, &(struct kernel_exit_record){
        .pid = event->pid, .tid = event->tid, .time_ns = event->time_ns, .status = (uint32_t)event->status });
    if (event->pid == event->tid)
        forget(processes, process);
}

/* It is not among those that are there any more. Where ends are not heard the last look is the best that there is. */
static void miss(struct attach_processes *processes, struct attach_process *process)
{
    int status;
    if (processes->has_events && !process->is_new) {
        look(processes, process);
        forget_unknown(process);
    }
    if (attach_processes_status(processes, process->pid, process->pidfd, &status)) {
        tell_end(processes, process, status, clock_realtime_ns());
    } else {
        tell_used(processes, process, clock_realtime_ns());
        forget(processes, process);
    }
}

/* It is listed no more, being without its first thread, and goes on. */
static bool is_leaderless(const struct attach_processes *processes, const struct attach_process *process)
{
    struct proc_snapshot snapshot;
    return proc_snapshot_read_stat(processes->reader, (uint32_t)process->pid, &snapshot) == OK && snapshot.is_leaderless;
}

static bool is_among(const struct pidlist *pids, pid_t pid)
{
    for (size_t i = 0; i < pids->count; i++)
        if (pids->ids[i] == (uint32_t)pid)
            return true;
    return false;
}

/* Its end will be told, unless that was lost. */
static bool is_awaited(const struct attach_processes *processes, struct attach_process *process)
{
    return processes->has_events && process->is_new && process->missed++ < MISSED_MAX;
}

static void meet(struct attach_processes *processes, pid_t pid, bool is_new)
{
    struct proc_snapshot snapshot;
    struct attach_process *process = find(processes, pid);
    if (!process) {
        begin(processes, pid, is_new);
        process = find(processes, pid);
        if (process && processes->count < PIDFDS_MAX)
            process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    }
    if (!process || proc_snapshot_read(processes->reader, (uint32_t)pid, UINT32_MAX, &snapshot) != OK || snapshot.is_zombie)
        return;
    tell_image(processes, process, &snapshot);
    look(processes, process);
}

void attach_processes_tick(struct attach_processes *processes, const struct pidlist *pids)
{
    bool is_first = processes->count == 0;
    for (size_t i = processes->count; i-- > 0;) {
        if (is_among(pids, processes->list[i].pid) || is_awaited(processes, &processes->list[i]))
            continue;
        if (is_leaderless(processes, &processes->list[i]))
            look(processes, &processes->list[i]);
        else
            miss(processes, &processes->list[i]);
    }
    for (size_t i = 0; i < pids->count; i++)
        meet(processes, (pid_t)pids->ids[i], !is_first);
    spool_writer_flush(processes->writer);
}
