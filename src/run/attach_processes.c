/* A list with linear search: few processes are alive at the same time. */
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

#define NAME_MAX_BYTES 64
#define STAT_MAX_BYTES 1024
#define MISSED_MAX 3
#define PIDFDS_MAX 512 /* for processes whose end is not reported */

struct attach_process {
    pid_t pid;
    int pidfd;                    /* -1: none */
    struct counters before, used; /* when first seen; since then, as of the last reading */
    uint64_t image;               /* hash of path and arguments; 0: unknown */
    bool is_new;                  /* created after we attached */
    bool is_single_threaded;      /* older than us, and never had another thread: its exit record is complete */
    bool usage_is_final, has_exit_record;    /* its usage up to the end is known; from its exit record */
    uint64_t exit_ns;             /* older than the attachment, and has ended; 0: has not */
    uint32_t exit_status;
    uint64_t first_read_ns, last_read_ns;   /* of the first and last reading; CLOCK_MONOTONIC */
    uint64_t exec_ns;             /* of an exec that has not been read from /proc yet; 0: none */
    unsigned missed;              /* ticks at which it was missing, although no exit was reported */
};

/* Counters that are completed at the end of a process. */
static const enum counter end_counters[] = { COUNTER_usertime, COUNTER_systemtime, COUNTER_minflt, COUNTER_majflt };

/* In linux/pidfd.h since 6.15. */
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
    processes->count = processes->capacity = 0;
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
    if (array_reserve(processes->list, processes->capacity, processes->count + 1, VEC_MAX))
        return NULL;
    struct attach_process *process = &processes->list[processes->count++];
    *process = (struct attach_process){ .pid = pid, .pidfd = -1 };
    return process;
}

static void remove_process(struct attach_processes *processes, struct attach_process *process)
{
    if (process->pidfd >= 0)
        close(process->pidfd);
    *process = processes->list[--processes->count];
}

/* Hash of path and arguments; never 0, which means unknown. */
static uint64_t image_of(const struct proc_snapshot *snapshot)
{
    uint64_t path = hash_add(HASH_START, snapshot->path.data, snapshot->path.size) | 1;
    return hash_add(path, snapshot->args.data, snapshot->args.size) | 1;
}

/* Records the executable, if it has changed, as of time_ns. */
static void record_image_at(struct attach_processes *processes, struct attach_process *process,
                            const struct proc_snapshot *snapshot, uint64_t time_ns)
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

static void record_image(struct attach_processes *processes, struct attach_process *process,
                         const struct proc_snapshot *snapshot)
{
    record_image_at(processes, process, snapshot, clock_realtime_ns());
}

static bool read_ticks(const char *format, pid_t pid, struct taskfile_stat *stat)
{
    char path[64], text[STAT_MAX_BYTES];
    snprintf(path, sizeof path, format, (int)pid, (int)pid);
    return file_read("", path, text, sizeof text, NULL) == OK && taskfile_parse_stat(text, stat) == OK;
}

/* The CPU time of threads that have ended would be in the total of the process. */
static bool was_single_threaded(pid_t pid)
{
    struct taskfile_stat all, first;
    return read_ticks("/proc/%d/task/%d/stat", pid, &first) && read_ticks("/proc/%d/stat", pid, &all) && all.threads == 1
           && all.own_ticks <= first.own_ticks + 1;
}

/* A child has its parent's image until it execs. */
static void begin(struct attach_processes *processes, pid_t pid, bool is_new)
{
    struct proc_snapshot snapshot;
    struct attach_process *process = find(processes, pid);
    if (process)
        remove_process(processes, process); /* of an earlier process with the same pid */
    process = add(processes, pid);
    if (process)
        process->is_new = is_new;
    if (!process || proc_snapshot_read(processes->reader, (uint32_t)pid, UINT32_MAX, &snapshot) != OK)
        return;
    if (is_new)
        spool_writer_add_kernel_fork(processes->writer, &(struct kernel_fork_record){
            .pid = (uint64_t)pid, .ppid = snapshot.ppid, .time_ns = clock_realtime_ns(), .tid = (uint64_t)pid });
    else
        record_image(processes, process, &snapshot);
    if (!is_new) {
        proc_snapshot_counters(processes->reader, (uint32_t)pid, false, &process->before);
        process->is_single_threaded = was_single_threaded(pid);
        process->first_read_ns = process->last_read_ns = clock_monotonic_ns();
    }
}

/* What it has used since we attached. The memory of an ended process is gone, but its peak was read before. */
static void read_usage(struct attach_processes *processes, struct attach_process *process)
{
    struct counters now;
    proc_snapshot_counters(processes->reader, (uint32_t)process->pid, false, &now);
    process->usage_is_final = counters_has(&now, COUNTER_usertime);
    if (process->usage_is_final)
        process->last_read_ns = clock_monotonic_ns();
    counters_subtract(&now, &process->before);
    counters_fill(&now, &process->used);
    process->used = now;
}

/* time_ns: not after its end, or the record would belong to another process with this pid. */
static void record_usage(struct attach_processes *processes, const struct attach_process *process, uint64_t time_ns)
{
    struct proc_snapshot snapshot = { 0 };
    char name[NAME_MAX_BYTES];
    if (proc_snapshot_read(processes->reader, (uint32_t)process->pid, UINT32_MAX, &snapshot) != OK || !snapshot.stat_known)
        snapshot = (struct proc_snapshot){ 0 };
    size_t size = snapshot.name.size < sizeof name ? snapshot.name.size : sizeof name;
    if (size)
        memcpy(name, snapshot.name.data, size);
    spool_writer_add_alive(processes->writer, &(struct alive_record){
        .pid = (uint64_t)process->pid, .ppid = snapshot.ppid, .pgid = snapshot.pgid, .sid = snapshot.sid,
        .uid = proc_snapshot_uid(&snapshot),
        .start_ticks = snapshot.start_ticks, .time_ns = time_ns, .name = { name, size }, .self = process->used,
    });
}

static void record_end(struct attach_processes *processes, struct attach_process *process, int status, uint64_t time_ns)
{
    record_usage(processes, process, time_ns);
    spool_writer_add_kernel_exit(processes->writer, &(struct kernel_exit_record){
        .pid = (uint64_t)process->pid, .tid = (uint64_t)process->pid, .time_ns = time_ns, .status = (uint64_t)status });
    remove_process(processes, process);
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
    process->image = 0; /* record it even if it is the same again */
    record_image(processes, process, &snapshot);
    spool_writer_flush(processes->writer);
}

static void tracer_ends(void *context, pid_t pid)
{
    struct attach_processes *processes = context;
    struct attach_process *process = find(processes, pid);
    if (process)
        read_usage(processes, process);
}

/* Other threads may have continued until now, and a zombie still has its CPU time. */
static void tracer_ended(void *context, pid_t pid, int status)
{
    struct attach_processes *processes = context;
    struct attach_process *process = find(processes, pid);
    if (!process)
        return;
    uint64_t threads = counters_get(&process->used, COUNTER_num_threads);
    read_usage(processes, process);
    if (threads)
        counters_set(&process->used, COUNTER_num_threads, threads);
    record_end(processes, process, status, clock_realtime_ns());
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
        read_usage(processes, &processes->list[i]);
        record_usage(processes, &processes->list[i], clock_realtime_ns());
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

static void record_fork(struct attach_processes *processes, const struct proc_connector_event *event)
{
    spool_writer_add_kernel_fork(processes->writer, &(struct kernel_fork_record){
        .pid = event->pid, .ppid = event->parent_pid, .time_ns = event->time_ns, .tid = event->tid });
}

/* A process that attach_processes_tick has found before is already recorded. */
bool attach_processes_forked(struct attach_processes *processes, const struct proc_connector_event *event)
{
    struct attach_process *process = find(processes, (pid_t)event->pid);
    bool is_thread = event->tid != event->pid;
    if (process && is_thread)
        process->is_single_threaded = false;
    if (process && (is_thread || process->is_new)) {
        if (is_thread && process->is_new)
            record_fork(processes, event);
        return process->is_new;
    }
    if (process || is_thread || !find(processes, (pid_t)event->parent_pid)
        || !(process = add(processes, (pid_t)event->pid)))
        return false;
    process->is_new = true;
    record_fork(processes, event);
    return true;
}

/* The executable can no longer be read; if the process is gone, taskstats has its name. */
static void record_exec_unread(struct attach_processes *processes, struct attach_process *process)
{
    if (process->exec_ns)
        spool_writer_add_kernel_exec(processes->writer, &(struct kernel_exec_record){
            .pid = (uint64_t)process->pid, .time_ns = process->exec_ns });
    process->exec_ns = 0;
}

/* Read after all events: then /proc corresponds to the last of them. */
void attach_processes_execed(struct attach_processes *processes, const struct proc_connector_event *event)
{
    struct attach_process *process = find(processes, (pid_t)event->pid);
    if (!process)
        return;
    record_exec_unread(processes, process);
    process->exec_ns = event->time_ns;
}

static void read_exec(struct attach_processes *processes, struct attach_process *process)
{
    struct proc_snapshot snapshot;
    if (!process->exec_ns)
        return;
    if (proc_snapshot_read(processes->reader, (uint32_t)process->pid, UINT32_MAX, &snapshot) != OK || snapshot.is_zombie) {
        record_exec_unread(processes, process);
        return;
    }
    process->image = 0; /* record it even if it is the same again */
    record_image_at(processes, process, &snapshot, process->exec_ns);
    process->exec_ns = 0;
}

/* A process that was reaped at once can no longer be read. Use the last reading if it covers at least 99 % of the
 * time. */
static void clear_stale_usage(struct attach_process *process)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool is_near = process->usage_is_final || (now_ns - process->last_read_ns) * 100 <= now_ns - process->first_read_ns;
    for (size_t i = 0; i < sizeof end_counters / sizeof *end_counters && !is_near; i++)
        counters_forget(&process->used, end_counters[i]);
}

static void record_exit(struct attach_processes *processes, struct attach_process *process)
{
    clear_stale_usage(process);
    record_end(processes, process, (int)process->exit_status, process->exit_ns);
}

void attach_processes_events_done(struct attach_processes *processes)
{
    for (size_t i = processes->count; i-- > 0;) {
        read_exec(processes, &processes->list[i]);
        if (processes->list[i].exit_ns)
            record_exit(processes, &processes->list[i]);
    }
    spool_writer_flush(processes->writer);
}

/* The main thread may end before the others: then ticks detect the end of the process. */
static bool has_other_threads(const struct attach_processes *processes, const struct proc_connector_event *event)
{
    struct proc_snapshot snapshot;
    return event->pid == event->tid && proc_snapshot_read(processes->reader, event->pid, UINT32_MAX,
                                                          &snapshot) == OK && snapshot.threads > 1;
}

/* For processes older than the attachment: a zombie still has its final usage; otherwise its exit record, which
 * comes before or after this event, may have it. */
static void on_old_exit(struct attach_processes *processes, struct attach_process *process,
                        const struct proc_connector_event *event)
{
    if (event->pid != event->tid)
        return;
    if (!process->has_exit_record)
        read_usage(processes, process);
    process->exit_ns = event->time_ns;
    process->exit_status = event->status;
}

void attach_processes_taskstats(struct attach_processes *processes, const struct taskstats_record *record)
{
    struct attach_process *process = find(processes, (pid_t)record->tid);
    if (!process || process->is_new || !process->is_single_threaded || !counters_has(&record->counters, COUNTER_usertime))
        return;
    process->usage_is_final = process->has_exit_record = true;
    for (size_t i = 0; i < sizeof end_counters / sizeof *end_counters; i++) {
        enum counter counter = end_counters[i];
        uint64_t all = counters_get(&record->counters, counter), before = counters_get(&process->before, counter);
        counters_set(&process->used, counter, all > before ? all - before : 0);
    }
}

void attach_processes_exited(struct attach_processes *processes, const struct proc_connector_event *event)
{
    struct attach_process *process = find(processes, (pid_t)event->pid);
    if (!process)
        return;
    if (has_other_threads(processes, event)) {
        process->is_new = false; /* no exit event will be reported for the process */
        return;
    }
    if (!process->is_new) {
        on_old_exit(processes, process, event);
        return;
    }
    if (event->pid == event->tid)
        record_exec_unread(processes, process);
    if (event->pid == event->tid && !processes->has_taskstats)
        record_usage(processes, process, event->time_ns);
    spool_writer_add_kernel_exit(processes->writer, &(struct kernel_exit_record){
        .pid = event->pid, .tid = event->tid, .time_ns = event->time_ns, .status = (uint32_t)event->status });
    if (event->pid == event->tid)
        remove_process(processes, process);
}

/* No longer in the list. Where exits are not reported, the last reading is the best we have. */
static void end_missing(struct attach_processes *processes, struct attach_process *process)
{
    int status;
    if (processes->has_events && !process->is_new) {
        read_usage(processes, process);
        clear_stale_usage(process);
    }
    if (attach_processes_status(processes, process->pid, process->pidfd, &status)) {
        record_end(processes, process, status, clock_realtime_ns());
    } else {
        record_usage(processes, process, clock_realtime_ns());
        remove_process(processes, process);
    }
}

/* Not listed, since its main thread has ended, but other threads are running. */
static bool is_leaderless(const struct attach_processes *processes, const struct attach_process *process)
{
    struct proc_snapshot snapshot;
    return proc_snapshot_read_stat(processes->reader, (uint32_t)process->pid, &snapshot) == OK && snapshot.is_leaderless;
}

static bool contains(const struct pidlist *pids, pid_t pid)
{
    for (size_t i = 0; i < pids->count; i++)
        if (pids->ids[i] == (uint32_t)pid)
            return true;
    return false;
}

/* Its exit event is still to come, unless it was lost. */
static bool is_exit_expected(const struct attach_processes *processes, struct attach_process *process)
{
    return processes->has_events && process->is_new && process->missed++ < MISSED_MAX;
}

static void update(struct attach_processes *processes, pid_t pid, bool is_new)
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
    record_image(processes, process, &snapshot);
    read_usage(processes, process);
}

void attach_processes_tick(struct attach_processes *processes, const struct pidlist *pids)
{
    bool is_first = processes->count == 0;
    for (size_t i = processes->count; i-- > 0;) {
        if (contains(pids, processes->list[i].pid) || is_exit_expected(processes, &processes->list[i]))
            continue;
        if (is_leaderless(processes, &processes->list[i]))
            read_usage(processes, &processes->list[i]);
        else
            end_missing(processes, &processes->list[i]);
    }
    for (size_t i = 0; i < pids->count; i++)
        update(processes, (pid_t)pids->ids[i], !is_first);
    spool_writer_flush(processes->writer);
}
