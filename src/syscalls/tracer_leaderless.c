/* A short list, almost always empty; /proc tells the process of a thread. */
#include "syscalls/tracer_leaderless.h"

#include "base/file.h"
#include "base/scan.h"

#include <stdio.h>

#define STATUS_MAX 4096

/* Reads a number from /proc/ID/status. False: not found, or the task is gone. */
static bool read_number(pid_t id, const char *name, uint64_t *number)
{
    char path[64], status[STATUS_MAX];
    snprintf(path, sizeof path, "/proc/%d/status", (int)id);
    return file_read(NULL, path, status, sizeof status, NULL) == OK && scan_line_u64(status, name, number);
}

static size_t find_place(const struct tracer *tracer, uint32_t pid)
{
    size_t i = 0;
    while (i < tracer->leaderless.count && tracer->leaderless.ids[i] != pid)
        i++;
    return i;
}

enum err tracer_leaderless_add(struct tracer *tracer, pid_t pid)
{
    if (find_place(tracer, (uint32_t)pid) < tracer->leaderless.count)
        return OK;
    enum err err = pidlist_add(&tracer->leaderless, (uint32_t)pid);
    if (!err)
        tracer_report_begin(tracer, pid, false);
    return err;
}

bool tracer_leaderless_remove(struct tracer *tracer, pid_t pid)
{
    struct pidlist *list = &tracer->leaderless;
    size_t i = find_place(tracer, (uint32_t)pid);
    if (i == list->count)
        return false;
    list->ids[i] = list->ids[--list->count];
    return true;
}

pid_t tracer_leaderless_of(const struct tracer *tracer, pid_t tid)
{
    uint64_t pid;
    if (!tracer->leaderless.count || !read_number(tid, "Tgid:", &pid))
        return 0;
    return find_place(tracer, (uint32_t)pid) < tracer->leaderless.count ? (pid_t)pid : 0;
}

bool tracer_leaderless_is_over(pid_t pid)
{
    uint64_t threads;
    return !read_number(pid, "Threads:", &threads) || threads <= 1;
}
