/* A list that is looked through: those that live at a time are few. */
#include "run/attach_processes.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
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

struct attach_life {
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

void attach_lives_clear(struct attach_lives *lives)
{
    for (size_t i = 0; i < lives->count; i++)
        if (lives->list[i].pidfd >= 0)
            close(lives->list[i].pidfd);
    free(lives->list);
    lives->list = NULL;
    lives->count = lives->room = 0;
}

static struct attach_life *find(const struct attach_lives *lives, pid_t pid)
{
    for (size_t i = 0; i < lives->count; i++)
        if (lives->list[i].pid == pid)
            return &lives->list[i];
    return NULL;
}

static struct attach_life *add(struct attach_lives *lives, pid_t pid)
{
    if (lives->count == lives->room) {
        size_t room = lives->room ? lives->room * 2 : 16;
        struct attach_life *list = realloc(lives->list, room * sizeof *list);
        if (!list)
            return NULL;
        lives->list = list;
        lives->room = room;
    }
    struct attach_life *life = &lives->list[lives->count++];
    *life = (struct attach_life){ .pid = pid, .pidfd = -1 };
    return life;
}

static void forget(struct attach_lives *lives, struct attach_life *life)
{
    if (life->pidfd >= 0)
        close(life->pidfd);
    *life = lives->list[--lives->count];
}

/* Of its path and arguments; never 0, which is none. */
static uint64_t image_of(const struct unseen *unseen)
{
    uint64_t path = hash_add(HASH_START, unseen->path.data, unseen->path.size) | 1;
    return hash_add(path, unseen->args.data, unseen->args.size) | 1;
}

/* What it executes, if that is news; since time_ns. */
static void tell_image_since(struct attach_lives *lives, struct attach_life *life, const struct unseen *unseen, uint64_t time_ns)
{
    uint64_t image = image_of(unseen);
    if (image == life->image)
        return;
    life->image = image;
    writer_add_kernel_exec(lives->writer, &(struct kernel_exec_record){
        .pid = (uint64_t)life->pid, .time_ns = time_ns, .start_ticks = unseen->start_ticks, .ppid = unseen->ppid,
        .pgid = unseen->pgid, .sid = unseen->sid, .uid = unseen_uid(unseen), .stat_known = 1, .path = unseen->path,
        .args = unseen->args, .cwd = unseen->cwd, .name = unseen->name,
    });
}

static void tell_image(struct attach_lives *lives, struct attach_life *life, const struct unseen *unseen)
{
    tell_image_since(lives, life, unseen, clock_realtime_ns());
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
static void begin(struct attach_lives *lives, pid_t pid, bool is_new)
{
    struct unseen unseen;
    struct attach_life *life = find(lives, pid);
    if (life)
        forget(lives, life); /* of one that had its number before */
    life = add(lives, pid);
    if (life)
        life->is_new = is_new;
    if (!life || unseen_read(lives->reader, (uint32_t)pid, UINT32_MAX, &unseen) != OK)
        return;
    if (is_new)
        writer_add_kernel_fork(lives->writer, &(struct kernel_fork_record){
            .pid = (uint64_t)pid, .ppid = unseen.ppid, .time_ns = clock_realtime_ns(), .tid = (uint64_t)pid });
    else
        tell_image(lives, life, &unseen);
    if (!is_new) {
        unseen_counters(lives->reader, (uint32_t)pid, false, &life->before);
        life->is_alone = has_been_alone(pid);
        life->begun_ns = life->seen_ns = clock_monotonic_ns();
    }
}

/* What it has used since we came. The memory of one that has ended is gone, and its peak was seen before. */
static void look(struct attach_lives *lives, struct attach_life *life)
{
    struct counters now;
    unseen_counters(lives->reader, (uint32_t)life->pid, false, &now);
    life->is_known = counters_has(&now, COUNTER_usertime);
    if (life->is_known)
        life->seen_ns = clock_monotonic_ns();
    counters_subtract(&now, &life->before);
    counters_fill(&now, &life->used);
    life->used = now;
}

/* time_ns: not after its end, or it would be another of the same number. */
static void tell_used(struct attach_lives *lives, const struct attach_life *life, uint64_t time_ns)
{
    struct unseen unseen = { 0 };
    char name[NAME_ROOM];
    if (unseen_read(lives->reader, (uint32_t)life->pid, UINT32_MAX, &unseen) != OK || !unseen.stat_known)
        unseen = (struct unseen){ 0 };
    size_t size = unseen.name.size < sizeof name ? unseen.name.size : sizeof name;
    if (size)
        memcpy(name, unseen.name.data, size);
    writer_add_alive(lives->writer, &(struct alive_record){
        .pid = (uint64_t)life->pid, .ppid = unseen.ppid, .pgid = unseen.pgid, .sid = unseen.sid, .uid = unseen_uid(&unseen),
        .start_ticks = unseen.start_ticks, .time_ns = time_ns, .name = { name, size }, .self = life->used,
    });
}

static void tell_end(struct attach_lives *lives, struct attach_life *life, int status, uint64_t time_ns)
{
    tell_used(lives, life, time_ns);
    writer_add_kernel_exit(lives->writer, &(struct kernel_exit_record){
        .pid = (uint64_t)life->pid, .tid = (uint64_t)life->pid, .time_ns = time_ns, .status = (uint64_t)status });
    forget(lives, life);
}

static void tracer_begins(void *context, pid_t pid, bool is_new)
{
    struct attach_lives *lives = context;
    begin(lives, pid, is_new);
    writer_flush(lives->writer);
}

static void tracer_execs(void *context, pid_t pid)
{
    struct attach_lives *lives = context;
    struct unseen unseen;
    struct attach_life *life = find(lives, pid);
    if (!life || unseen_read(lives->reader, (uint32_t)pid, UINT32_MAX, &unseen) != OK)
        return;
    life->image = 0; /* also when it is the same once more */
    tell_image(lives, life, &unseen);
    writer_flush(lives->writer);
}

static void tracer_ends(void *context, pid_t pid)
{
    struct attach_lives *lives = context;
    struct attach_life *life = find(lives, pid);
    if (life)
        look(lives, life);
}

/* Threads other than the first may have gone on until now, and a zombie still knows its CPU time. */
static void tracer_ended(void *context, pid_t pid, int status)
{
    struct attach_lives *lives = context;
    struct attach_life *life = find(lives, pid);
    if (!life)
        return;
    uint64_t threads = counters_get(&life->used, COUNTER_num_threads);
    look(lives, life);
    if (threads)
        counters_set(&life->used, COUNTER_num_threads, threads);
    tell_end(lives, life, status, clock_realtime_ns());
    writer_flush(lives->writer);
}

static void tracer_over(void *context)
{
    attach_lives_over(context);
}

struct tracer_lives attach_lives_tracer(struct attach_lives *lives)
{
    return (struct tracer_lives){ lives, tracer_begins, tracer_execs, tracer_ends, tracer_ended, tracer_over };
}

void attach_lives_over(struct attach_lives *lives)
{
    for (size_t i = 0; i < lives->count; i++) {
        look(lives, &lives->list[i]);
        tell_used(lives, &lives->list[i], clock_realtime_ns());
    }
    writer_flush(lives->writer);
}

bool attach_lives_status(const struct attach_lives *lives, pid_t pid, int pidfd, int *status)
{
    struct exit_info info = { .mask = INFO_EXIT };
    if (unseen_read_zombie(lives->reader, (uint32_t)pid, status) == OK)
        return true;
    if (pidfd < 0 || ioctl(pidfd, GET_INFO, &info) != 0 || !(info.mask & INFO_EXIT))
        return false;
    *status = info.exit_code;
    return true;
}

static void tell_fork(struct attach_lives *lives, const struct fork_event *event)
{
    writer_add_kernel_fork(lives->writer, &(struct kernel_fork_record){
        .pid = event->pid, .ppid = event->parent_pid, .time_ns = event->time_ns, .tid = event->tid });
}

/* One that a look has found before is told already. */
bool attach_lives_made(struct attach_lives *lives, const struct fork_event *event)
{
    struct attach_life *life = find(lives, (pid_t)event->pid);
    bool is_thread = event->tid != event->pid;
    if (life && is_thread)
        life->is_alone = false;
    if (life && (is_thread || life->is_new)) {
        if (is_thread && life->is_new)
            tell_fork(lives, event);
        return life->is_new;
    }
    if (life || is_thread || !find(lives, (pid_t)event->parent_pid) || !(life = add(lives, (pid_t)event->pid)))
        return false;
    life->is_new = true;
    tell_fork(lives, event);
    return true;
}

/* What it was before nobody can tell any more; who has gone has left its name in taskstats. */
static void tell_exec_unseen(struct attach_lives *lives, struct attach_life *life)
{
    if (life->exec_ns)
        writer_add_kernel_exec(lives->writer, &(struct kernel_exec_record){
            .pid = (uint64_t)life->pid, .time_ns = life->exec_ns });
    life->exec_ns = 0;
}

/* It is looked at when all events are read: then /proc has what the last of them tells of. */
void attach_lives_executed(struct attach_lives *lives, const struct fork_event *event)
{
    struct attach_life *life = find(lives, (pid_t)event->pid);
    if (!life)
        return;
    tell_exec_unseen(lives, life);
    life->exec_ns = event->time_ns;
}

static void look_at_exec(struct attach_lives *lives, struct attach_life *life)
{
    struct unseen unseen;
    if (!life->exec_ns)
        return;
    if (unseen_read(lives->reader, (uint32_t)life->pid, UINT32_MAX, &unseen) != OK || unseen.zombie) {
        tell_exec_unseen(lives, life);
        return;
    }
    life->image = 0; /* also when it is the same once more */
    tell_image_since(lives, life, &unseen, life->exec_ns);
    life->exec_ns = 0;
}

/* Who was waited for at once has left nothing to look at. The last look is good enough where it lacks a hundredth. */
static void forget_unknown(struct attach_life *life)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool is_near = life->is_known || (now_ns - life->seen_ns) * 100 <= now_ns - life->begun_ns;
    for (size_t i = 0; i < sizeof used_at_end / sizeof *used_at_end && !is_near; i++)
        counters_forget(&life->used, used_at_end[i]);
}

static void tell_left(struct attach_lives *lives, struct attach_life *life)
{
    forget_unknown(life);
    tell_end(lives, life, (int)life->left_status, life->left_ns);
}

void attach_lives_heard(struct attach_lives *lives)
{
    for (size_t i = lives->count; i-- > 0;) {
        look_at_exec(lives, &lives->list[i]);
        if (lives->list[i].left_ns)
            tell_left(lives, &lives->list[i]);
    }
    writer_flush(lives->writer);
}

/* The first thread may end before the others: then the looks tell the end of the process. */
static bool goes_on(const struct attach_lives *lives, const struct fork_event *event)
{
    struct unseen unseen;
    return event->pid == event->tid && unseen_read(lives->reader, event->pid, UINT32_MAX, &unseen) == OK && unseen.threads > 1;
}

/* Of one that was there before us: as long as nobody has waited for it, its last numbers are there; else its exit record, which
 * comes before or after this, may have them. */
static void leave_old(struct attach_lives *lives, struct attach_life *life, const struct fork_event *event)
{
    if (event->pid != event->tid)
        return;
    if (!life->has_record)
        look(lives, life);
    life->left_ns = event->time_ns;
    life->left_status = event->status;
}

void attach_lives_used(struct attach_lives *lives, const struct taskstats_record *record)
{
    struct attach_life *life = find(lives, (pid_t)record->tid);
    if (!life || life->is_new || !life->is_alone || !counters_has(&record->counters, COUNTER_usertime))
        return;
    life->is_known = life->has_record = true;
    for (size_t i = 0; i < sizeof used_at_end / sizeof *used_at_end; i++) {
        enum counter counter = used_at_end[i];
        uint64_t all = counters_get(&record->counters, counter), before = counters_get(&life->before, counter);
        counters_set(&life->used, counter, all > before ? all - before : 0);
    }
}

void attach_lives_left(struct attach_lives *lives, const struct fork_event *event)
{
    struct attach_life *life = find(lives, (pid_t)event->pid);
    if (!life)
        return;
    if (goes_on(lives, event)) {
        life->is_new = false; /* its end is nowhere told */
        return;
    }
    if (!life->is_new) {
        leave_old(lives, life, event);
        return;
    }
    if (event->pid == event->tid)
        tell_exec_unseen(lives, life);
    if (event->pid == event->tid && !lives->hears_used)
        tell_used(lives, life, event->time_ns);
    writer_add_kernel_exit(lives->writer, &(struct kernel_exit_record){
        .pid = event->pid, .tid = event->tid, .time_ns = event->time_ns, .status = (uint32_t)event->status });
    if (event->pid == event->tid)
        forget(lives, life);
}

/* It is not among those that are there any more. Where ends are not heard the last look is the best that there is. */
static void miss(struct attach_lives *lives, struct attach_life *life)
{
    int status;
    if (lives->hears && !life->is_new) {
        look(lives, life);
        forget_unknown(life);
    }
    if (attach_lives_status(lives, life->pid, life->pidfd, &status)) {
        tell_end(lives, life, status, clock_realtime_ns());
    } else {
        tell_used(lives, life, clock_realtime_ns());
        forget(lives, life);
    }
}

/* It is listed no more, being without its first thread, and goes on. */
static bool is_leaderless(const struct attach_lives *lives, const struct attach_life *life)
{
    struct unseen unseen;
    return unseen_read_stat(lives->reader, (uint32_t)life->pid, &unseen) == OK && unseen.leaderless;
}

static bool is_among(const struct pidlist *pids, pid_t pid)
{
    for (size_t i = 0; i < pids->count; i++)
        if (pids->ids[i] == (uint32_t)pid)
            return true;
    return false;
}

/* Its end will be told, unless that was lost. */
static bool is_awaited(const struct attach_lives *lives, struct attach_life *life)
{
    return lives->hears && life->is_new && life->missed++ < MISSED_MAX;
}

static void meet(struct attach_lives *lives, pid_t pid, bool is_new)
{
    struct unseen unseen;
    struct attach_life *life = find(lives, pid);
    if (!life) {
        begin(lives, pid, is_new);
        life = find(lives, pid);
        if (life && lives->count < PIDFDS_MAX)
            life->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    }
    if (!life || unseen_read(lives->reader, (uint32_t)pid, UINT32_MAX, &unseen) != OK || unseen.zombie)
        return;
    tell_image(lives, life, &unseen);
    look(lives, life);
}

void attach_lives_tick(struct attach_lives *lives, const struct pidlist *pids)
{
    bool is_first = lives->count == 0;
    for (size_t i = lives->count; i-- > 0;) {
        if (is_among(pids, lives->list[i].pid) || is_awaited(lives, &lives->list[i]))
            continue;
        if (is_leaderless(lives, &lives->list[i]))
            look(lives, &lives->list[i]);
        else
            miss(lives, &lives->list[i]);
    }
    for (size_t i = 0; i < pids->count; i++)
        meet(lives, (pid_t)pids->ids[i], !is_first);
    writer_flush(lives->writer);
}
