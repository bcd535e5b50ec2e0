/* Monitors processes whose parent we are not: their ends are known only from kernel events, pidfds and /proc. */
#include "run/survivors.h"

#include "base/clock.h"
#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SNAPSHOT_NS NS_PER_S /* interval of reading their usage, initially */
#define SNAPSHOT_PARTS 100   /* and later: a hundredth of the time elapsed */

/* A process that outlived the command. */
struct survivor {
    uint32_t pid;
    bool ended;
    int pidfd;          /* -1: not supported by the kernel, or forbidden; then members shows its end */
    struct spool_writer last; /* records of the last reading */
};

struct survivors {
    struct survivor *all;
    size_t count;
    int epoll_fd; /* of the pidfds */
};

/* Our own descriptors are close-on-exec: others were inherited, for example a pipe whose reader waits for its end. */
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

static void detach(struct monitor *monitor)
{
    setsid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    close_inherited();
    ticks_start_survivors(&monitor->ticks);
    /* The sentinel belongs to the original process. */
    close(monitor->signals.sentinel.fd);
    monitor->signals.sentinel = (struct pgrp_sentinel){ .fd = -1 };
    monitor->signals.waiting_count = 0;
    monitor->signals.command = 0;
    monitor->events.self = 0;
    monitor->events.other = 0;
    /* A signalfd in an epoll wakes the process that added it: not us. */
    close(monitor->epoll_fd);
    monitor_open(monitor);
}

static void add_survivor(struct survivors *survivors, uint32_t pid)
{
    if (array_resize(survivors->all, survivors->count + 1))
        return;
    struct survivor *survivor = &survivors->all[survivors->count++];
    struct epoll_event event = { .events = EPOLLIN };
    *survivor = (struct survivor){ .pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0) };
    spool_writer_init_take(&survivor->last, SPOOL_WRITER_BUFFER);
    if (survivor->pidfd >= 0)
        epoll_ctl(survivors->epoll_fd, EPOLL_CTL_ADD, survivor->pidfd, &event);
}

static void open_survivors(struct survivors *survivors, struct monitor *monitor)
{
    size_t at = 0;
    *survivors = (struct survivors){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
    for (struct run_member *member; (member = members_next(&monitor->events.members, &at));)
        if (member->threads)
            add_survivor(survivors, member->pid);
    monitor_add_fd(monitor, survivors->epoll_fd);
}

static void close_survivors(struct survivors *survivors)
{
    for (size_t i = 0; i < survivors->count; i++) {
        if (survivors->all[i].pidfd >= 0)
            close(survivors->all[i].pidfd);
        spool_writer_close(&survivors->all[i].last);
    }
    close(survivors->epoll_fd);
    free(survivors->all);
}

static bool is_member(const struct monitor *monitor, const struct survivor *survivor)
{
    const struct run_member *member = members_find(&monitor->events.members, survivor->pid);
    return member && member->threads;
}

/* Includes zombies. Kernel events report an end before the pidfd does. */
static bool has_ended(const struct monitor *monitor, const struct survivor *survivor)
{
    struct pollfd polled = { .fd = survivor->pidfd, .events = POLLIN };
    return !is_member(monitor, survivor) || (survivor->pidfd >= 0 && poll(&polled, 1, 0) == 1);
}

/* The last reading is the best we know, if no other source has more. */
static void end_survivor(struct monitor *monitor, struct survivor *survivor)
{
    struct run_member *member = members_find(&monitor->events.members, survivor->pid);
    spool_writer_move(&monitor->writer, &survivor->last);
    if (member)
        members_end(&monitor->events.members, member, clock_realtime_ns());
    if (survivor->pidfd >= 0)
        close(survivor->pidfd);
    survivor->pidfd = -1;
    survivor->ended = true;
}

static void snapshot_survivors(struct monitor *monitor, struct survivors *survivors)
{
    for (size_t i = 0; i < survivors->count; i++) {
        struct survivor *survivor = &survivors->all[i];
        if (survivor->ended || !is_member(monitor, survivor))
            continue;
        struct spool_writer now;
        spool_writer_init_take(&now, SPOOL_WRITER_BUFFER);
        if (proc_events_record_alive(&monitor->events, &now, members_find(&monitor->events.members, survivor->pid))) {
            spool_writer_discard(&survivor->last);
            spool_writer_move(&survivor->last, &now);
        }
        spool_writer_close(&now);
    }
}

static void end_survivors(struct monitor *monitor, struct survivors *survivors)
{
    for (size_t i = 0; i < survivors->count; i++)
        if (!survivors->all[i].ended && has_ended(monitor, &survivors->all[i]))
            end_survivor(monitor, &survivors->all[i]);
    spool_writer_flush(&monitor->writer);
}

static bool is_survivor(const struct survivors *survivors, uint32_t pid)
{
    for (size_t i = 0; i < survivors->count; i++)
        if (survivors->all[i].pid == pid && !survivors->all[i].ended)
            return true;
    return false;
}

/* Without the proc connector, new processes are found only in /proc. */
static void find_new(struct monitor *monitor, struct survivors *survivors)
{
    size_t at = 0;
    if (monitor->events.forks.fd >= 0)
        return;
    proc_events_resync(&monitor->events, true);
    for (struct run_member *member; (member = members_next(&monitor->events.members, &at));)
        if (member->threads && !is_survivor(survivors, member->pid))
            add_survivor(survivors, member->pid);
}

static void update(struct monitor *monitor, struct survivors *survivors)
{
    find_new(monitor, survivors);
    snapshot_survivors(monitor, survivors);
}

/* A process that ended may have left a child whose fork event is still unread. */
static bool has_survivors(struct monitor *monitor, struct survivors *survivors)
{
    if (!monitor->events.members.alive) {
        proc_events_read(&monitor->events);
        find_new(monitor, survivors);
    }
    return monitor->events.members.alive > 0;
}

void survivors_monitor(struct monitor *monitor)
{
    struct survivors survivors;
    uint64_t start_ns = clock_monotonic_ns(), next_ns = start_ns;
    detach(monitor);
    open_survivors(&survivors, monitor);
    while (has_survivors(monitor, &survivors) && !monitor->signals.quit) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= next_ns) {
            uint64_t pause_ns = (now_ns - start_ns) / SNAPSHOT_PARTS;
            next_ns = now_ns + (pause_ns > SNAPSHOT_NS ? pause_ns : SNAPSHOT_NS);
            update(monitor, &survivors);
        }
        monitor_once(monitor, next_ns > now_ns ? (int)((next_ns - now_ns) / NS_PER_MS % INT_MAX) + 1 : 0);
        end_survivors(monitor, &survivors);
    }
    end_survivors(monitor, &survivors); /* those whose end was read last */
    if (monitor->events.members.alive)
        proc_events_record_survivors(&monitor->events);
    ticks_sample_last(&monitor->ticks);
    monitor_record_end(monitor, false);
    close_survivors(&survivors);
}
