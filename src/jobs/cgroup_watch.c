/* inotify on the cgroup tree: mkdir and rmdir in a hierarchy, v1 or v2, are events of the parent's folder. So is each write to
 * a file in it, by which tasks are moved; and where v2 sees the first task come or the last one leave, it tells as if
 * cgroup.events had been written. */
#include "jobs/cgroup_watch.h"

#include "base/clock.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define EVENTS (IN_CREATE | IN_DELETE | IN_MODIFY | IN_ONLYDIR | IN_EXCL_UNLINK)
#define WATCHES_MAX (1u << 20)
#define BYTES_AT_ONCE 512 /* about ten events: each may mean a millisecond's work for whoever hears of it */

struct watch {
    struct watch *next; /* in the same bucket of paths */
    int number; /* the kernel's */
    size_t hierarchy;
    char path[];
};

static size_t home(const struct watches *watches, int number)
{
    return ((uint32_t)number * 2654435761u) & (watches->room - 1);
}

/* Its place in the table, or the free one where it would be. The table always has a free one. */
static size_t place_of(const struct watches *watches, int number)
{
    size_t at = home(watches, number);
    while (watches->table[at] && watches->table[at]->number != number)
        at = (at + 1) & (watches->room - 1);
    return at;
}

static struct watch **bucket_of(const struct watches *watches, size_t hierarchy, const char *path)
{
    return &watches->paths[hash_add_text(HASH_START ^ hierarchy, path) & (watches->room - 1)];
}

static void link_path(const struct watches *watches, struct watch *watch)
{
    struct watch **bucket = bucket_of(watches, watch->hierarchy, watch->path);
    watch->next = *bucket;
    *bucket = watch;
}

static void unlink_path(const struct watches *watches, struct watch *watch)
{
    struct watch **place = bucket_of(watches, watch->hierarchy, watch->path);
    while (*place != watch)
        place = &(*place)->next;
    *place = watch->next;
}

static enum err grow(struct watches *watches)
{
    if (watches->count * 2 < watches->room)
        return OK;
    size_t room = watches->room ? watches->room * 2 : 64, old_room = watches->room;
    if (room > WATCHES_MAX)
        return FULL;
    struct watch **old = watches->table, **table = calloc(room, sizeof(struct watch *));
    struct watch **paths = calloc(room, sizeof(struct watch *));
    if (!table || !paths) {
        free(table);
        free(paths);
        return NOMEM;
    }
    free(watches->paths);
    watches->table = table;
    watches->paths = paths;
    watches->room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i]) {
            table[place_of(watches, old[i]->number)] = old[i];
            link_path(watches, old[i]);
        }
    free(old);
    return OK;
}

/* Those behind it move up, so that every one is found from its home without a hole on the way. */
static void drop(struct watches *watches, int number)
{
    size_t hole = place_of(watches, number);
    if (!watches->table[hole])
        return;
    unlink_path(watches, watches->table[hole]);
    free(watches->table[hole]);
    watches->table[hole] = NULL;
    watches->count--;
    size_t mask = watches->room - 1;
    for (size_t at = (hole + 1) & mask; watches->table[at]; at = (at + 1) & mask) {
        size_t wanted = home(watches, watches->table[at]->number);
        if (((at - wanted) & mask) < ((at - hole) & mask))
            continue;
        watches->table[hole] = watches->table[at];
        watches->table[at] = NULL;
        hole = at;
    }
}

enum err watches_open(struct watches *watches)
{
    *watches = (struct watches){ .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
    return watches->fd < 0 ? err_from_errno(errno) : OK;
}

void watches_close(struct watches *watches)
{
    for (size_t i = 0; i < watches->room; i++)
        free(watches->table[i]);
    free(watches->table);
    free(watches->paths);
    if (watches->fd >= 0)
        close(watches->fd);
    *watches = (struct watches){ .fd = -1 };
}

enum err watches_add(struct watches *watches, const char *whole, size_t hierarchy, const char *path)
{
    if (watches->fd < 0)
        return ABSENT;
    enum err err = grow(watches);
    if (err)
        return err;
    int number = inotify_add_watch(watches->fd, whole, EVENTS);
    if (number < 0)
        return err_from_errno(errno);
    size_t at = place_of(watches, number);
    if (watches->table[at])
        return OK;
    size_t size = strlen(path) + 1;
    struct watch *watch = malloc(sizeof *watch + size);
    if (!watch)
        return NOMEM;
    *watch = (struct watch){ .number = number, .hierarchy = hierarchy };
    memcpy(watch->path, path, size);
    watches->table[at] = watch;
    watches->count++;
    link_path(watches, watch);
    return OK;
}

static void remove_watch(struct watches *watches, int number)
{
    inotify_rm_watch(watches->fd, number);
    drop(watches, number);
}

void watches_remove(struct watches *watches, size_t hierarchy, const char *path)
{
    struct watch *watch = watches->room ? *bucket_of(watches, hierarchy, path) : NULL;
    for (struct watch *next; watch; watch = next) { /* all of that name: it may have been there before */
        next = watch->next;
        if (watch->hierarchy == hierarchy && strcmp(watch->path, path) == 0)
            remove_watch(watches, watch->number);
    }
}

void watches_sweep(struct watches *watches, bool (*is_there)(void *context, size_t hierarchy, const char *path), void *context)
{
    for (size_t i = 0; i < watches->room;) {
        const struct watch *watch = watches->table[i];
        if (watch && !is_there(context, watch->hierarchy, watch->path))
            remove_watch(watches, watch->number); /* another may have moved to its place */
        else
            i++;
    }
}

static bool is_of_tasks(const struct inotify_event *in)
{
    static const char *const names[] = { "cgroup.procs", "tasks", "cgroup.events", "cgroup.threads" };
    if (!(in->mask & IN_MODIFY) || !in->len)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(in->name, names[i]) == 0)
            return true;
    return false;
}

/* False: events were lost. */
static bool deliver(struct watches *watches, const struct inotify_event *in,
                    void (*event)(void *context, const struct watches_event *event), void *context)
{
    if (in->mask & IN_Q_OVERFLOW)
        return false;
    if (!watches->room)
        return true;
    if (in->mask & IN_IGNORED) {
        drop(watches, in->wd);
        return true;
    }
    const struct watch *watch = watches->table[place_of(watches, in->wd)];
    bool is_of_folder = in->len && in->mask & IN_ISDIR;
    if (!watch || (!is_of_folder && !is_of_tasks(in)))
        return true;
    struct watches_event out = {
        .hierarchy = watch->hierarchy, .path = watch->path, .name = is_of_folder ? in->name : "",
        .came = (in->mask & IN_CREATE) != 0,
    };
    event(context, &out);
    return true;
}

enum err watches_read(struct watches *watches, uint64_t until_ns,
                      void (*event)(void *context, const struct watches_event *event), void *context)
{
    char bytes[BYTES_AT_ONCE] __attribute__((aligned(__alignof__(struct inotify_event))));
    enum err err = OK;
    while (watches->fd >= 0 && clock_monotonic_ns() < until_ns) {
        ssize_t size = read(watches->fd, bytes, sizeof bytes);
        if (size <= 0)
            break;
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *in = (const struct inotify_event *)(const void *)(bytes + at);
            if (!deliver(watches, in, event, context))
                err = AGAIN;
            at += (ssize_t)(sizeof *in + in->len);
        }
    }
    return err;
}
