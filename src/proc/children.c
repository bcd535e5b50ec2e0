/* Walks /proc. */
#include "proc/children.h"

#include "base/scan.h"
#include "base/vec.h"
#include "proc/dirents.h"
#include "proc/taskfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum err pidlist_add(struct pidlist *list, uint32_t id)
{
    if (array_reserve(list->ids, list->capacity, list->count + 1, VEC_MAX))
        return NOMEM;
    list->ids[list->count++] = id;
    return OK;
}

void pidlist_clear(struct pidlist *list)
{
    free(list->ids);
    *list = (struct pidlist){ 0 };
}

/* Adds the numeric names in a directory. One that is removed meanwhile counts as empty. */
static enum err list_directory(int proc_fd, const char *path, struct pidlist *out)
{
    int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ESRCH ? GONE : err_from_errno(errno);
    enum err err = OK;
    struct dirents entries;
    dirents_begin(&entries, fd);
    for (const char *name; !err && (name = dirents_next(&entries));) {
        uint64_t number;
        if (scan_u64(&name, &number) && !*name)
            err = pidlist_add(out, (uint32_t)number);
    }
    close(fd);
    if (err || entries.err == ABSENT || entries.err == GONE)
        return err;
    return entries.err;
}

void children_init(struct children *children, int proc_fd, uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "%u/task/%u/children", pid, pid);
    *children = (struct children){ .proc_fd = proc_fd, .scans_proc = faccessat(proc_fd, path, R_OK, 0) != 0 };
}

void children_clear(struct children *children)
{
    free(children->all);
    *children = (struct children){ .proc_fd = -1 };
}

static enum err add_parent_entry(struct children *children, uint32_t ppid, uint32_t pid)
{
    if (array_reserve(children->all, children->capacity, children->count + 1, VEC_MAX))
        return NOMEM;
    children->all[children->count++] = (struct parent_entry){ ppid, pid };
    return OK;
}

static int by_parent(const void *a, const void *b)
{
    const struct parent_entry *x = a, *y = b;
    if (x->ppid != y->ppid)
        return x->ppid < y->ppid ? -1 : 1;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static enum err scan_all(struct children *children, struct pidlist *pids)
{
    enum err err = list_directory(children->proc_fd, ".", pids);
    for (size_t i = 0; i < pids->count && !err; i++) {
        struct taskfile_stat stat;
        if (taskfile_read_stat(children->proc_fd, pids->ids[i], &stat) == OK)
            err = add_parent_entry(children, stat.ppid, pids->ids[i]);
    }
    if (children->count)
        qsort(children->all, children->count, sizeof *children->all, by_parent);
    return err;
}

enum err children_refresh(struct children *children)
{
    if (!children->scans_proc)
        return OK;
    struct pidlist pids = { 0 }; /* allocates, but only on old kernels */
    children->count = 0;
    enum err err = scan_all(children, &pids);
    pidlist_clear(&pids);
    return err;
}

enum err children_threads(const struct children *children, uint32_t pid, struct pidlist *tids)
{
    char path[32];
    snprintf(path, sizeof path, "%u/task", pid);
    return list_directory(children->proc_fd, path, tids);
}

/* "123 124 200 ": the kernel ends every pid with a blank, so a pid without one continues in the next part. */
static enum err add_numbers(const char *text, struct pidlist *out, size_t *used)
{
    const char *at = text;
    enum err err = OK;
    for (;;) {
        const char *next = at;
        uint64_t number;
        if (err || !scan_u64(&next, &number) || *next != ' ')
            break;
        at = next + 1;
        err = pidlist_add(out, (uint32_t)number);
    }
    *used = (size_t)(at - text);
    return err;
}

static enum err add_from_file(int fd, struct pidlist *out)
{
    char text[4096 + 1];
    size_t kept = 0;
    ssize_t got = 0;
    enum err err = OK;
    while (!err && (got = read(fd, text + kept, sizeof text - 1 - kept)) > 0) {
        size_t used, size = kept + (size_t)got;
        text[size] = '\0';
        err = add_numbers(text, out, &used);
        kept = size - used;
        if (kept > 16) /* no pid is that long */
            return CORRUPT;
        memmove(text, text + used, kept);
    }
    return got < 0 ? err_from_errno(errno) : err;
}

static enum err add_of_thread(int proc_fd, uint32_t pid, uint32_t tid, struct pidlist *out)
{
    char path[64];
    snprintf(path, sizeof path, "%u/task/%u/children", pid, tid);
    int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return GONE;
    enum err err = add_from_file(fd, out);
    close(fd);
    return err;
}

static enum err add_from_scan(const struct children *children, uint32_t pid, struct pidlist *out)
{
    size_t low = 0, high = children->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (children->all[middle].ppid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    enum err err = OK;
    for (; low < children->count && children->all[low].ppid == pid && !err; low++)
        err = pidlist_add(out, children->all[low].pid);
    return err;
}

enum err children_add(const struct children *children, uint32_t pid, const struct pidlist *tids, struct pidlist *out)
{
    if (children->scans_proc)
        return add_from_scan(children, pid, out);
    for (size_t i = 0; i < tids->count; i++) {
        enum err err = add_of_thread(children->proc_fd, pid, tids->ids[i], out);
        if (err && err != GONE)
            return err;
    }
    return OK;
}
