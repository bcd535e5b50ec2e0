/* Lists tasks. The link count of a directory shows that a subdirectory was created; a list that can no longer be read
 * shows that one was removed. Either way the job's tree is walked again. */
#include "samplers/jobs/job_tasks.h"

#include "base/file.h"
#include "base/scan.h"
#include "base/vec.h"
#include "samplers/jobs/cgroup_cpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORIES_MAX 65536
#define DEPTH_MAX 16
#define ID_DIGITS_MAX 20

/* Opens a file relative to an open directory, or by its path. */
static int open_in(const struct job_directory *directory, const char *name)
{
    char path[FILE_PATH_MAX];
    if (directory->dir_fd >= 0)
        return openat(directory->dir_fd, name, O_RDONLY | O_CLOEXEC);
    int size = snprintf(path, sizeof path, "%s/%s", directory->path, name);
    if (size >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void close_directories(struct cgroup_mounts *mounts, struct job_tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++) {
        cgroup_mounts_release_fd(mounts, &tasks->directories[i].dir_fd);
        cgroup_mounts_release_fd(mounts, &tasks->directories[i].list_fd);
        free(tasks->directories[i].path);
    }
    tasks->count = 0;
}

static enum err add_directory(struct cgroup_mounts *mounts, struct job_tasks *tasks, const char *path, uint64_t links)
{
    if (tasks->count == DIRECTORIES_MAX)
        return FULL;
    if (array_reserve(tasks->directories, tasks->capacity, tasks->count + 1, VEC_MAX))
        return NOMEM;
    struct job_directory *directory = &tasks->directories[tasks->count];
    *directory = (struct job_directory){ strdup(path), -1, -1, links };
    if (!directory->path)
        return NOMEM;
    tasks->count++;
    int fd = mounts->kept < mounts->kept_max ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    cgroup_mounts_keep_fd(mounts, &directory->dir_fd, fd);
    return OK;
}

static enum err walk(struct cgroup_mounts *mounts, struct job_tasks *tasks, const char *path, int depth);

static enum err walk_entries(struct cgroup_mounts *mounts, struct job_tasks *tasks, const char *path, int depth)
{
    DIR *directory = opendir(path);
    enum err err = OK;
    if (!directory)
        return GONE;
    for (struct dirent *entry; !err && (entry = readdir(directory));) {
        char below[FILE_PATH_MAX];
        bool is_directory = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
        if (!is_directory || entry->d_name[0] == '.'
            || snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= (int)sizeof below)
            continue;
        err = walk(mounts, tasks, below, depth + 1);
        if (err == GONE)
            err = OK;
    }
    closedir(directory);
    return err;
}

/* The link count is read before the entries: a directory created meanwhile changes it again. */
static enum err walk(struct cgroup_mounts *mounts, struct job_tasks *tasks, const char *path, int depth)
{
    struct stat stat_now;
    if (stat(path, &stat_now) || !S_ISDIR(stat_now.st_mode))
        return GONE;
    enum err err = add_directory(mounts, tasks, path, stat_now.st_nlink);
    return err || stat_now.st_nlink == 2 || depth == DEPTH_MAX ? err : walk_entries(mounts, tasks, path, depth);
}

static bool join_path(char path[FILE_PATH_MAX], const struct cgroup_mounts *mounts, const char *mount,
                      const char *group)
{
    return snprintf(path, FILE_PATH_MAX, "%s%s%s", mounts->root, mount, group) < FILE_PATH_MAX;
}

/* Walks the job's directory in the first hierarchy that has it. */
static enum err walk_job(struct cgroup_mounts *mounts, struct job_tasks *tasks)
{
    char path[FILE_PATH_MAX];
    close_directories(mounts, tasks);
    if (tasks->unified)
        return mounts->unified && join_path(path, mounts, mounts->unified, tasks->job->cgroup)
                   ? walk(mounts, tasks, path, 0) : GONE;
    for (size_t i = 0; mounts->v1[i]; i++) {
        enum err err = join_path(path, mounts, mounts->v1[i], tasks->job->cgroup) ? walk(mounts, tasks, path, 0)
                                                                                      : GONE;
        if (err != GONE)
            return err;
    }
    return GONE;
}

static enum err find_cpu_file(struct cgroup_mounts *mounts, struct job_tasks *tasks)
{
    char path[FILE_PATH_MAX];
    const char *mount = tasks->unified ? mounts->unified : mounts->cpuacct;
    const char *name = tasks->unified ? "/cpu.stat" : "/cpuacct.usage";
    if (!mount || !join_path(path, mounts, mount, tasks->job->cgroup) || strlen(path) + strlen(name) >= sizeof path)
        return OK;
    memcpy(path + strlen(path), name, strlen(name) + 1);
    tasks->cpu_path = strdup(path);
    return tasks->cpu_path ? OK : NOMEM;
}

enum err job_tasks_open(struct cgroup_mounts *mounts, struct job_tasks *tasks, const struct job *job)
{
    *tasks = (struct job_tasks){ .job = job, .unified = job->unified, .is_stale = true, .cpu_fd = -1 };
    return *job->cgroup ? find_cpu_file(mounts, tasks) : OK;
}

void job_tasks_close(struct cgroup_mounts *mounts, struct job_tasks *tasks)
{
    close_directories(mounts, tasks);
    cgroup_mounts_release_fd(mounts, &tasks->cpu_fd);
    free(tasks->directories);
    free(tasks->cpu_path);
    *tasks = (struct job_tasks){ .cpu_fd = -1 };
}

enum err job_tasks_parse(const char *text, struct pidlist *out, size_t *used)
{
    const char *at = text;
    enum err err = OK;
    for (;;) {
        const char *next = at;
        uint64_t id;
        if (err || *at < '0' || *at > '9' || !scan_u64(&next, &id) || *next != '\n')
            break;
        at = next + 1;
        if (id && id < UINT32_MAX) /* 0: in another pid namespace */
            err = pidlist_add(out, (uint32_t)id);
    }
    *used = (size_t)(at - text);
    if (!err && strspn(at, "0123456789") != strlen(at))
        err = CORRUPT;
    return err;
}

/* ENODEV: the cgroup was removed. EOPNOTSUPP: a threaded cgroup, whose processes are listed in its parent. */
static enum err read_failed(int number)
{
    if (number == EOPNOTSUPP)
        return OK;
    return number == ENODEV || number == ENOENT || number == ESRCH ? GONE : err_from_errno(number);
}

static enum err read_list(int fd, struct pidlist *out)
{
    char text[16384];
    size_t kept = 0, used = 0;
    off_t offset = 0;
    for (;;) {
        ssize_t got = pread(fd, text + kept, sizeof text - 1 - kept, offset);
        if (got < 0)
            return read_failed(errno);
        if (got == 0)
            return kept ? CORRUPT : OK;
        offset += got;
        text[kept + (size_t)got] = '\0';
        enum err err = job_tasks_parse(text, out, &used);
        kept += (size_t)got - used;
        if (err || kept > ID_DIGITS_MAX)
            return err ? err : CORRUPT;
        memmove(text, text + used, kept);
    }
}

static const char *list_name(const struct cgroup_mounts *mounts, bool unified)
{
    if (mounts->kind == CGROUP_MOUNTS_PROCESSES)
        return "cgroup.procs";
    return unified ? "cgroup.threads" : "tasks";
}

/* A v1 list is opened each time: the kernel caches it for open descriptors, up to a second after the last read. */
static enum err list_directory(struct cgroup_mounts *mounts, struct job_tasks *tasks, struct job_directory *directory,
                               struct pidlist *out)
{
    if (directory->list_fd >= 0)
        return read_list(directory->list_fd, out);
    int fd = open_in(directory, list_name(mounts, tasks->unified));
    if (fd < 0)
        return read_failed(errno);
    enum err err = read_list(fd, out);
    if (!tasks->unified || err || !cgroup_mounts_keep_fd(mounts, &directory->list_fd, fd))
        close(fd);
    return err;
}

static bool is_unchanged(const struct job_directory *directory)
{
    struct stat now;
    int failed = directory->dir_fd >= 0 ? fstat(directory->dir_fd, &now) : stat(directory->path, &now);
    return !failed && now.st_nlink == directory->links;
}

static enum err list_directories(struct cgroup_mounts *mounts, struct job_tasks *tasks, struct pidlist *out)
{
    enum err err = OK;
    size_t before = out->count;
    for (int tries = 0; tries < 2; tries++) {
        if (tasks->is_stale)
            err = walk_job(mounts, tasks);
        tasks->is_stale = err != OK;
        out->count = before;
        for (size_t i = 0; i < tasks->count && !err; i++)
            err = is_unchanged(&tasks->directories[i]) ? list_directory(mounts, tasks, &tasks->directories[i], out)
                                                       : GONE;
        tasks->is_stale |= err != OK;
        if (err != GONE)
            break;
        err = OK;
    }
    return err;
}

static enum err queue_once(struct cgroup_mounts *mounts, uint32_t pid)
{
    if (!pid || pidmap_get(&mounts->found, pid) != PIDMAP_NONE)
        return OK;
    enum err err = pidmap_put(&mounts->found, pid, 0);
    return err ? err : pidlist_add(&mounts->queue, pid);
}

/* Adds the threads of the process to out and its children to the queue. */
static enum err visit_process(struct cgroup_mounts *mounts, uint32_t pid, struct pidlist *out)
{
    struct pidlist *tids = &mounts->tids;
    tids->count = 0;
    enum err err = children_threads(&mounts->children, pid, tids);
    if (err)
        return err == GONE ? OK : err;
    if (mounts->kind == CGROUP_MOUNTS_PROCESSES)
        err = pidlist_add(out, pid);
    for (size_t i = 0; i < tids->count && !err && mounts->kind == CGROUP_MOUNTS_THREADS; i++)
        err = pidlist_add(out, tids->ids[i]);
    size_t first = mounts->queue.count;
    if (!err)
        err = children_add(&mounts->children, pid, tids, &mounts->queue);
    size_t end = mounts->queue.count;
    mounts->queue.count = first;
    for (size_t i = first; i < end && !err; i++) /* queue_once writes at or before i */
        err = queue_once(mounts, mounts->queue.ids[i]);
    return err;
}

static enum err list_descendants(struct cgroup_mounts *mounts, const struct job *job, const struct pidlist *known,
                                 struct pidlist *out)
{
    mounts->queue.count = 0;
    pidmap_reset(&mounts->found);
    enum err err = children_refresh(&mounts->children);
    if (!err)
        err = queue_once(mounts, job->pid);
    for (size_t i = 0; known && i < known->count && !err; i++)
        err = queue_once(mounts, known->ids[i]);
    for (size_t i = 0; i < mounts->queue.count && !err; i++)
        err = visit_process(mounts, mounts->queue.ids[i], out);
    return err;
}

enum err job_tasks_list(struct cgroup_mounts *mounts, struct job_tasks *tasks, const struct pidlist *known,
                        struct pidlist *out)
{
    if (*tasks->job->cgroup)
        return list_directories(mounts, tasks, out);
    return tasks->job->pid ? list_descendants(mounts, tasks->job, known, out) : OK;
}

enum err job_tasks_cpu_ns(struct cgroup_mounts *mounts, struct job_tasks *tasks, uint64_t *cpu_ns)
{
    if (!tasks->cpu_path)
        return ABSENT;
    int fd = tasks->cpu_fd >= 0 ? tasks->cpu_fd : open(tasks->cpu_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return read_failed(errno);
    enum err err = cgroup_cpu_read(fd, tasks->unified, cpu_ns);
    if (err && tasks->cpu_fd >= 0)
        cgroup_mounts_release_fd(mounts, &tasks->cpu_fd);
    else if (tasks->cpu_fd < 0 && (err || !cgroup_mounts_keep_fd(mounts, &tasks->cpu_fd, fd)))
        close(fd);
    return err;
}
