/* inotify on the cgroup tree. mkdir and rmdir in a hierarchy, v1 or v2, are events of the parent directory, and so is
 * each write to a file in it, by which tasks are moved. When the first task enters a v2 cgroup or the last one exits,
 * the kernel reports a modification of cgroup.events. */
#include "jobs/cgroup_watch.h"

#include "base/clock.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define WATCHED_EVENTS (IN_CREATE | IN_DELETE | IN_MODIFY | IN_ONLYDIR | IN_EXCL_UNLINK)
#define CAPACITY_MAX (1u << 20)
#define READ_BYTES 512 /* about ten events: handling one may take a millisecond */

struct watch_entry {
    struct watch_entry *next; /* next in the same bucket of paths */
    int wd; /* watch descriptor of the kernel */
    size_t hierarchy;
    char path[];
};

static size_t preferred_place(const struct cgroup_watch *watch, int wd)
{
    return ((uint32_t)wd * 2654435761u) & (watch->capacity - 1);
}

/* Its place in the table, or the free place where it belongs. There is always a free one. */
static size_t place_of(const struct cgroup_watch *watch, int wd)
{
    size_t at = preferred_place(watch, wd);
    while (watch->table[at] && watch->table[at]->wd != wd)
        at = (at + 1) & (watch->capacity - 1);
    return at;
}

static struct watch_entry **bucket_of(const struct cgroup_watch *watch, size_t hierarchy, const char *path)
{
    return &watch->paths[map_hash_string(hierarchy, path) & (watch->capacity - 1)];
}

static void link_path(const struct cgroup_watch *watch, struct watch_entry *entry)
{
    struct watch_entry **bucket = bucket_of(watch, entry->hierarchy, entry->path);
    entry->next = *bucket;
    *bucket = entry;
}

static void unlink_path(const struct cgroup_watch *watch, struct watch_entry *entry)
{
    struct watch_entry **place = bucket_of(watch, entry->hierarchy, entry->path);
    while (*place != entry)
        place = &(*place)->next;
    *place = entry->next;
}

static enum err grow(struct cgroup_watch *watch)
{
    if (watch->count * 2 < watch->capacity)
        return OK;
    size_t capacity = watch->capacity ? watch->capacity * 2 : 64, old_capacity = watch->capacity;
    if (capacity > CAPACITY_MAX)
        return FULL;
    struct watch_entry **old = watch->table, **table = calloc(capacity, sizeof(struct watch_entry *));
    struct watch_entry **paths = calloc(capacity, sizeof(struct watch_entry *));
    if (!table || !paths) {
        free(table);
        free(paths);
        return NOMEM;
    }
    free(watch->paths);
    watch->table = table;
    watch->paths = paths;
    watch->capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i]) {
            table[place_of(watch, old[i]->wd)] = old[i];
            link_path(watch, old[i]);
        }
    free(old);
    return OK;
}

/* Moves later entries up, so that every entry is found from its preferred place without a gap on the way. */
static void drop_entry(struct cgroup_watch *watch, int wd)
{
    size_t gap = place_of(watch, wd);
    if (!watch->table[gap])
        return;
    unlink_path(watch, watch->table[gap]);
    free(watch->table[gap]);
    watch->table[gap] = NULL;
    watch->count--;
    size_t mask = watch->capacity - 1;
    for (size_t at = (gap + 1) & mask; watch->table[at]; at = (at + 1) & mask) {
        size_t wanted = preferred_place(watch, watch->table[at]->wd);
        if (((at - wanted) & mask) < ((at - gap) & mask))
            continue;
        watch->table[gap] = watch->table[at];
        watch->table[at] = NULL;
        gap = at;
    }
}

enum err cgroup_watch_open(struct cgroup_watch *watch)
{
    *watch = (struct cgroup_watch){ .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
    return watch->fd < 0 ? err_from_errno(errno) : OK;
}

void cgroup_watch_close(struct cgroup_watch *watch)
{
    for (size_t i = 0; i < watch->capacity; i++)
        free(watch->table[i]);
    free(watch->table);
    free(watch->paths);
    if (watch->fd >= 0)
        close(watch->fd);
    *watch = (struct cgroup_watch){ .fd = -1 };
}

enum err cgroup_watch_add(struct cgroup_watch *watch, const char *full_path, size_t hierarchy, const char *path)
{
    if (watch->fd < 0)
        return ABSENT;
    enum err err = grow(watch);
    if (err)
        return err;
    int wd = inotify_add_watch(watch->fd, full_path, WATCHED_EVENTS);
    if (wd < 0)
        return err_from_errno(errno);
    size_t at = place_of(watch, wd);
    if (watch->table[at])
        return OK;
    size_t size = strlen(path) + 1;
    struct watch_entry *entry = malloc(sizeof *entry + size);
    if (!entry)
        return NOMEM;
    *entry = (struct watch_entry){ .wd = wd, .hierarchy = hierarchy };
    memcpy(entry->path, path, size);
    watch->table[at] = entry;
    watch->count++;
    link_path(watch, entry);
    return OK;
}

static void remove_entry(struct cgroup_watch *watch, int wd)
{
    inotify_rm_watch(watch->fd, wd);
    drop_entry(watch, wd);
}

void cgroup_watch_remove(struct cgroup_watch *watch, size_t hierarchy, const char *path)
{
    struct watch_entry *entry = watch->capacity ? *bucket_of(watch, hierarchy, path) : NULL;
    for (struct watch_entry *next; entry; entry = next) { /* all with that path: it may have existed before */
        next = entry->next;
        if (entry->hierarchy == hierarchy && strcmp(entry->path, path) == 0)
            remove_entry(watch, entry->wd);
    }
}

void cgroup_watch_sweep(struct cgroup_watch *watch,
                        bool (*directory_exists)(void *context, size_t hierarchy, const char *path), void *context)
{
    for (size_t i = 0; i < watch->capacity;) {
        const struct watch_entry *entry = watch->table[i];
        if (entry && !directory_exists(context, entry->hierarchy, entry->path))
            remove_entry(watch, entry->wd); /* another entry may have moved to this place */
        else
            i++;
    }
}

static bool is_task_event(const struct inotify_event *in)
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
static bool deliver_event(struct cgroup_watch *watch, const struct inotify_event *in,
                          void (*event)(void *context, const struct cgroup_watch_event *event), void *context)
{
    if (in->mask & IN_Q_OVERFLOW)
        return false;
    if (!watch->capacity)
        return true;
    if (in->mask & IN_IGNORED) {
        drop_entry(watch, in->wd);
        return true;
    }
    const struct watch_entry *entry = watch->table[place_of(watch, in->wd)];
    bool is_directory_event = in->len && in->mask & IN_ISDIR;
    if (!entry || (!is_directory_event && !is_task_event(in)))
        return true;
    struct cgroup_watch_event out = {
        .hierarchy = entry->hierarchy, .path = entry->path, .name = is_directory_event ? in->name : "",
        .appeared = (in->mask & IN_CREATE) != 0,
    };
    event(context, &out);
    return true;
}

enum err cgroup_watch_read(struct cgroup_watch *watch, uint64_t until_ns,
                           void (*event)(void *context, const struct cgroup_watch_event *event), void *context)
{
    char bytes[READ_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
    enum err err = OK;
    while (watch->fd >= 0 && clock_monotonic_ns() < until_ns) {
        ssize_t size = read(watch->fd, bytes, sizeof bytes);
        if (size <= 0)
            break;
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *in = (const struct inotify_event *)(const void *)(bytes + at);
            if (!deliver_event(watch, in, event, context))
                err = AGAIN;
            at += (ssize_t)(sizeof *in + in->len);
        }
    }
    return err;
}
