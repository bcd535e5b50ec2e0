/* A job of a test's own: a cgroup that is made for it, in a v1 hierarchy or in v2, and processes that run in it. */
#ifndef SONDE_TESTS_TOOLS_GROUP_H
#define SONDE_TESTS_TOOLS_GROUP_H

#include "model/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct group {
    char path[256]; /* of its directory */
    char cgroup[96], id[16];
    struct job job;
};

static inline const char *group_mount(bool unified)
{
    return !unified ? "/sys/fs/cgroup/cpuacct" : access("/sys/fs/cgroup/unified/cgroup.procs", F_OK) == 0
                        ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";
}

static inline void group_describe(struct group *group, bool unified, unsigned number)
{
    *group = (struct group){ 0 };
    snprintf(group->cgroup, sizeof group->cgroup, "/sonde-test-%d-%u", (int)getpid(), number);
    snprintf(group->path, sizeof group->path, "%s%s", group_mount(unified), group->cgroup);
    snprintf(group->id, sizeof group->id, "%u", 1000 + number);
    group->job = (struct job){
        .id = group->id, .other_id = "", .source = "told", .user = "", .cgroup = group->cgroup,
        .unified = unified, .slot = number,
    };
}

/* False: this machine or user has none. The job's slot is number. */
static inline bool group_make(struct group *group, bool unified, unsigned number)
{
    group_describe(group, unified, number);
    return mkdir(group->path, 0755) == 0;
}

/* The calling process goes into the group, or into a directory below it. */
static inline void group_enter(const struct group *group, const char *below)
{
    char path[512];
    snprintf(path, sizeof path, "%.255s%.200s/cgroup.procs", group->path, below);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1)
        _exit(99);
    close(fd);
}

/* A child of ours that does the work in the group. */
static inline pid_t group_start(const struct group *group, void (*work)(void *context), void *context)
{
    pid_t pid = fork();
    if (pid == 0) {
        group_enter(group, "");
        work(context);
        _exit(0);
    }
    return pid;
}

/* Returns when the child is in the group; it waits there for group_go. */
static inline pid_t group_ready(const struct group *group, void (*work)(void *context), void *context)
{
    pid_t pid = fork();
    if (pid == 0) {
        group_enter(group, "");
        raise(SIGSTOP);
        work(context);
        _exit(0);
    }
    waitpid(pid, NULL, WUNTRACED);
    return pid;
}

static inline int group_go(pid_t pid)
{
    int status = -1;
    kill(pid, SIGCONT);
    waitpid(pid, &status, 0);
    return status;
}

/* The same to its end. */
static inline int group_run(const struct group *group, void (*work)(void *context), void *context)
{
    int status = -1;
    waitpid(group_start(group, work, context), &status, 0);
    return status;
}

static inline uint64_t group_cpu_ns(const struct group *group)
{
    char path[512], text[1024] = "";
    snprintf(path, sizeof path, "%.255s/%s", group->path, group->job.unified ? "cpu.stat" : "cpuacct.usage");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return 0;
    close(fd);
    const char *at = group->job.unified ? strstr(text, "usage_usec") + strlen("usage_usec") : text;
    return strtoull(at, NULL, 10) * (group->job.unified ? 1000 : 1);
}

/* The directory of a step below the group. */
static inline void group_step_path(char path[512], const struct group *group, const char *below)
{
    snprintf(path, 512, "%.255s%.200s", group->path, below);
}

/* A process that ended leaves its group a moment after its parent was notified. Harmless when it is gone. */
static inline void group_remove_path(const char *path)
{
    for (int i = 0; i < 2500 && rmdir(path) != 0 && errno == EBUSY; i++)
        usleep(2000);
}

static inline void group_remove(const struct group *group)
{
    group_remove_path(group->path);
}

/* Waits until nobody is in it, 5 s at most. */
static inline void group_wait_empty(const struct group *group)
{
    char path[512], text[64];
    snprintf(path, sizeof path, "%.255s/cgroup.procs", group->path);
    for (int i = 0; i < 2500; i++, usleep(2000)) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = read(fd, text, sizeof text);
        close(fd);
        if (got <= 0)
            return;
    }
}

#endif
