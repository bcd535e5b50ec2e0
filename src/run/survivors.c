/* Watching the rest: we are not its parent, so that only the kernel's events, pidfds and /proc tell of it. */
#include "run/survivors.h"

#include "base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS NS_PER_S /* how often we look what they have used so far, at first */
#define LOOK_PARTS 100   /* and later: in a hundredth of the time that they have run by then */

/* One of those that the command left. */
struct survivor {
    uint32_t pid;
    bool ended;
    int pidfd;          /* -1: the kernel is too old, or forbids them; then members tell of its end */
    struct writer last; /* what was seen of it last */
};

struct rest {
    struct survivor *all;
    size_t count;
    int epoll_fd; /* of the pidfds */
};

/* Ours are close-on-exec, so that those which are not were given to us: a pipe whose reader waits for its end, say. */
static void close_inherited(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        int fd = isdigit((unsigned char)entry->d_name[0]) ? (int)strtoul(entry->d_name, NULL, 10) : 0;
        if (fd > 2 && fd != dirfd(dir) && fcntl(fd, F_GETFD) == 0)
            close(fd);
    }
    closedir(dir);
}

static void detach(struct watch *watch)
{
    setsid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    close_inherited();
    ticks_begin_rest(&watch->ticks);
    /* The witness is the other process's. */
    close(watch->signals.witness.fd);
    watch->signals.witness = (struct witness){ .fd = -1 };
    watch->signals.waiting_count = 0;
    watch->signals.command = 0;
    watch->kernel.self = 0;
    watch->kernel.other = 0;
    /* A signalfd in an epoll wakes the process that put it there: not us. */
    close(watch->epoll_fd);
    watch_open(watch);
}

static void add_survivor(struct rest *rest, uint32_t pid)
{
    struct survivor *all = realloc(rest->all, (rest->count + 1) * sizeof *all);
    if (!all)
        return;
    rest->all = all;
    struct survivor *survivor = &all[rest->count++];
    struct epoll_event event = { .events = EPOLLIN };
    *survivor = (struct survivor){ .pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0) };
    writer_init_take(&survivor->last, WRITER_GATHER);
    if (survivor->pidfd >= 0)
        epoll_ctl(rest->epoll_fd, EPOLL_CTL_ADD, survivor->pidfd, &event);
}

static void open_rest(struct rest *rest, struct watch *watch)
{
    size_t at = 0;
    *rest = (struct rest){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
    for (struct member *member; (member = members_next(&watch->kernel.members, &at));)
        if (member->threads)
            add_survivor(rest, member->pid);
    watch_add(watch, rest->epoll_fd);
}

static void close_rest(struct rest *rest)
{
    for (size_t i = 0; i < rest->count; i++) {
        if (rest->all[i].pidfd >= 0)
            close(rest->all[i].pidfd);
        writer_close(&rest->all[i].last);
    }
    close(rest->epoll_fd);
    free(rest->all);
}

static bool is_member(const struct watch *watch, const struct survivor *survivor)
{
    const struct member *member = members_find(&watch->kernel.members, survivor->pid);
    return member && member->threads;
}

/* Also when nobody has waited for it yet. The kernel tells of an end before the pidfd does. */
static bool has_ended(const struct watch *watch, const struct survivor *survivor)
{
    struct pollfd polled = { .fd = survivor->pidfd, .events = POLLIN };
    return !is_member(watch, survivor) || (survivor->pidfd >= 0 && poll(&polled, 1, 0) == 1);
}

/* What was seen of it last is the best that is known, where nobody else tells. */
static void end_survivor(struct watch *watch, struct survivor *survivor)
{
    struct member *member = members_find(&watch->kernel.members, survivor->pid);
    writer_move(&watch->writer, &survivor->last);
    if (member)
        members_end(&watch->kernel.members, member, clock_realtime_ns());
    if (survivor->pidfd >= 0)
        close(survivor->pidfd);
    survivor->pidfd = -1;
    survivor->ended = true;
}

static void look_at_survivors(struct watch *watch, struct rest *rest)
{
    for (size_t i = 0; i < rest->count; i++) {
        struct survivor *survivor = &rest->all[i];
        if (survivor->ended || !is_member(watch, survivor))
            continue;
        struct writer now;
        writer_init_take(&now, WRITER_GATHER);
        if (kernel_record_alive(&watch->kernel, &now, members_find(&watch->kernel.members, survivor->pid))) {
            writer_forget(&survivor->last);
            writer_move(&survivor->last, &now);
        }
        writer_close(&now);
    }
}

static void end_survivors(struct watch *watch, struct rest *rest)
{
    for (size_t i = 0; i < rest->count; i++)
        if (!rest->all[i].ended && has_ended(watch, &rest->all[i]))
            end_survivor(watch, &rest->all[i]);
    writer_flush(&watch->writer);
}

static bool is_survivor(const struct rest *rest, uint32_t pid)
{
    for (size_t i = 0; i < rest->count; i++)
        if (rest->all[i].pid == pid && !rest->all[i].ended)
            return true;
    return false;
}

/* When the connector is missing, /proc is all we have to learn of new processes. */
static void find_new(struct watch *watch, struct rest *rest)
{
    size_t at = 0;
    if (watch->kernel.forks.fd >= 0)
        return;
    kernel_resync(&watch->kernel, true);
    for (struct member *member; (member = members_next(&watch->kernel.members, &at));)
        if (member->threads && !is_survivor(rest, member->pid))
            add_survivor(rest, member->pid);
}

static void look(struct watch *watch, struct rest *rest)
{
    find_new(watch, rest);
    look_at_survivors(watch, rest);
}

/* One that ended may have left a child, of which the kernel has told and we have not read yet. */
static bool anybody_left(struct watch *watch, struct rest *rest)
{
    if (!watch->kernel.members.alive) {
        kernel_read(&watch->kernel);
        find_new(watch, rest);
    }
    return watch->kernel.members.alive > 0;
}

void rest_watch(struct watch *watch)
{
    struct rest rest;
    uint64_t start_ns = clock_monotonic_ns(), next_ns = start_ns;
    detach(watch);
    open_rest(&rest, watch);
    while (anybody_left(watch, &rest) && !watch->signals.quit) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= next_ns) {
            uint64_t pause_ns = (now_ns - start_ns) / LOOK_PARTS;
            next_ns = now_ns + (pause_ns > LOOK_NS ? pause_ns : LOOK_NS);
            look(watch, &rest);
        }
        watch_once(watch, next_ns > now_ns ? (int)((next_ns - now_ns) / NS_PER_MS % INT_MAX) + 1 : 0);
        end_survivors(watch, &rest);
    }
    end_survivors(watch, &rest); /* of whose end was read last */
    if (watch->kernel.members.alive)
        kernel_record_survivors(&watch->kernel);
    ticks_sample_last(&watch->ticks);
    watch_record_end(watch, false);
    close_rest(&rest);
}
