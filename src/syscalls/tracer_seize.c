/* Attaches to a process tree that keeps growing: the kernel attaches new threads and children of seized tasks by
 * itself, and the walk is repeated until it finds no new ones. */
#include "syscalls/tracer.h"

#include "base/file.h"
#include "base/scan.h"
#include "syscalls/tracer_leaderless.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

#define STATUS_MAX 4096
#define ROUNDS_MAX 1000

static bool is_already_ours(pid_t tid)
{
    char path[64], status[STATUS_MAX];
    uint64_t tracer = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    return file_read(NULL, path, status, sizeof status, NULL) == OK && scan_line_u64(status, "TracerPid:", &tracer)
           && tracer == (uint64_t)getpid();
}

/* OK: it is attached, now or before. */
static enum err seize_task(struct tracer *tracer, pid_t tid, size_t *attached)
{
    if (tracer_tasks_find(&tracer->tasks, tid))
        return OK;
    bool is_new = ptrace(PTRACE_SEIZE, tid, 0L, TRACER_OPTIONS | (tracer->listener ? PTRACE_O_TRACEEXIT : 0)) != 0;
    if (is_new) { /* it was started by an attached task */
        enum err err = errno == ESRCH ? GONE : DENIED;
        if (!is_already_ours(tid))
            return err;
    }
    struct tracer_task *task = tracer_add_task(tracer, tid);
    if (!task)
        return NOMEM;
    ++*attached;
    task->interrupted = ptrace(PTRACE_INTERRUPT, tid, 0L, 0L) == 0;
    tracer_report_begin(tracer, tid, is_new);
    return OK;
}

struct walk {
    struct children children;
    struct pidlist pids, tids;
};

static enum err seize_process(struct tracer *tracer, struct walk *walk, pid_t pid, size_t *attached)
{
    walk->tids.count = 0;
    enum err any = GONE, err = children_threads(&walk->children, (uint32_t)pid, &walk->tids);
    for (size_t i = 0; !err && i < walk->tids.count; i++) {
        enum err one = seize_task(tracer, (pid_t)walk->tids.ids[i], attached);
        if (one == NOMEM)
            return one;
        if (one == OK || any == GONE)
            any = one;
    }
    if (!err && !any && !tracer_tasks_find(&tracer->tasks, pid))
        err = tracer_leaderless_add(tracer, pid);
    return err ? err : any;
}

static bool contains(const struct pidlist *list, uint32_t id)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->ids[i] == id)
            return true;
    return false;
}

/* The tracer and the sonde process that waits for it, if asked to trace their own shell. */
static bool is_self(uint32_t pid)
{
    return pid == (uint32_t)getpid() || pid == (uint32_t)getppid();
}

/* Adds the children of a process whose threads are in walk->tids. */
static enum err add_children(struct walk *walk, pid_t pid)
{
    struct pidlist found = { 0 };
    enum err err = children_add(&walk->children, (uint32_t)pid, &walk->tids, &found);
    for (size_t i = 0; !err && i < found.count; i++)
        if (!is_self(found.ids[i]) && !contains(&walk->pids, found.ids[i]))
            err = pidlist_add(&walk->pids, found.ids[i]);
    pidlist_clear(&found);
    return err == NOMEM ? NOMEM : OK;
}

/* One pass over the tree; *attached grows by the new tasks. Returns the result of the root process. */
static enum err seize_tree(struct tracer *tracer, struct walk *walk, pid_t root, size_t *attached)
{
    walk->pids.count = 0;
    enum err err = pidlist_add(&walk->pids, (uint32_t)root), result = OK;
    if (!err)
        err = children_refresh(&walk->children);
    for (size_t i = 0; !err && i < walk->pids.count; i++) {
        enum err one = seize_process(tracer, walk, (pid_t)walk->pids.ids[i], attached);
        if (i == 0)
            result = one;
        err = one == NOMEM ? NOMEM : i == 0 && one ? OK : add_children(walk, (pid_t)walk->pids.ids[i]);
        if (i == 0 && one)
            break;
    }
    return err ? err : result;
}

enum err tracer_seize(struct tracer *tracer, pid_t pid, size_t *attached)
{
    struct walk walk = { 0 };
    int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum err err = proc_fd < 0 ? err_from_errno(errno) : OK;
    *attached = 0;
    if (!err)
        children_init(&walk.children, proc_fd, (uint32_t)getpid());
    for (int round = 0; !err && round < ROUNDS_MAX; round++) {
        size_t before = *attached;
        err = seize_tree(tracer, &walk, pid, attached);
        if (*attached == before)
            break;
    }
    if (proc_fd >= 0) {
        children_clear(&walk.children);
        close(proc_fd);
    }
    pidlist_clear(&walk.pids);
    pidlist_clear(&walk.tids);
    return *attached && err != NOMEM ? OK : err;
}
