/* Dumps come from profile_writer.c and from other nodes; merged profiles go to tau_profile_inspect and sonde export. A
 * merge has three steps (write the new profile, remove the dump, rename the new profile over the old one), so that
 * what a crash leaves shows which one was the last. */
#include "compat/tau/profile_dir.h"

#include "base/log.h"
#include "compat/tau/profile_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define DUMP_END ".taumetric"
#define NEW_MARK ".new-" /* followed by the name of the dump that is in it */
#define STALE_S 60       /* a dump that cannot be read may still be incomplete for so long */
#define LOCK_STALE_S 120 /* as in tau */
#define DUMPS_MAX 100    /* of one job and node, before any was merged */

static bool join(char path[PATH_SIZE], const char *dir, const char *name)
{
    int size = snprintf(path, PATH_SIZE, "%s/%s", dir, name);
    return size > 0 && size < PATH_SIZE;
}

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), end_size = strlen(end);
    return size > end_size && strcmp(name + size - end_size, end) == 0;
}

enum err tau_profile_dir_create(const char *dir)
{
    char path[PATH_SIZE];
    struct stat status;
    if ((size_t)snprintf(path, sizeof path, "%s", dir) >= sizeof path || !*dir)
        return USAGE;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    if (mkdir(path, 0755) && errno != EEXIST)
        return err_from_errno(errno);
    if (stat(path, &status))
        return err_from_errno(errno);
    return !S_ISDIR(status.st_mode) ? ABSENT : access(path, W_OK) ? err_from_errno(errno) : OK;
}

static enum err write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t part = write(fd, data, size);
        if (part < 0 && errno != EINTR)
            return err_from_errno(errno);
        data += part > 0 ? part : 0;
        size -= part > 0 ? (size_t)part : 0;
    }
    return OK;
}

/* A new file, which is on the disk when this returns; none on error. */
static enum err write_file(const char *path, const struct tau_profile *profile)
{
    struct buf bytes;
    buf_init(&bytes, TAU_PROFILE_BYTES_MAX);
    tau_profile_write(profile, &bytes);
    enum err err = buf_err(&bytes);
    unlink(path); /* from an interrupted process with our pid */
    int fd = err ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (!err && fd < 0)
        err = err_from_errno(errno);
    if (!err)
        err = write_all(fd, bytes.data, bytes.size);
    if (!err && fsync(fd) && errno != EINVAL)
        err = err_from_errno(errno);
    if (fd >= 0 && close(fd) && !err)
        err = err_from_errno(errno);
    if (err && fd >= 0)
        unlink(path);
    buf_clear(&bytes);
    return err;
}

enum err tau_profile_dir_dump(const char *dir, const struct tau_profile *profile)
{
    char job[TAU_PROFILE_FILE_NAME], host[64] = "", name[256], path[PATH_SIZE], fresh[PATH_SIZE];
    tau_profile_file_name(job, profile->job.id);
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, ".%s-%s.%d.tmp", job, host, (int)getpid());
    if (!join(fresh, dir, name))
        return USAGE;
    enum err err = write_file(fresh, profile);
    if (err)
        return err;
    for (int i = 1; i <= DUMPS_MAX; i++) {
        snprintf(name, sizeof name, i == 1 ? "%s-%s.%d" DUMP_END : "%s-%s.%d.%d" DUMP_END, job, host, (int)getpid(), i);
        if (!join(path, dir, name))
            break;
        if (access(path, F_OK) == 0) /* no race: only we use names with our pid */
            continue;
        if (rename(fresh, path) == 0)
            return OK;
        err = err_from_errno(errno);
        break;
    }
    unlink(fresh);
    return err ? err : FULL;
}

/* One dump into the profile of its job. */
static enum err merge_dump(const char *dir, const char *dump_name, const struct tau_profile *dump)
{
    char job[TAU_PROFILE_FILE_NAME], subdir[PATH_SIZE], path[PATH_SIZE], fresh[PATH_SIZE + 512], dump_path[PATH_SIZE], name[80];
    struct tau_profile whole = { 0 };
    tau_profile_file_name(job, dump->job.id);
    snprintf(name, sizeof name, "profiles/%c", *job ? *job : '_');
    if (!join(subdir, dir, name) || !join(dump_path, dir, dump_name))
        return USAGE;
    snprintf(name, sizeof name, "%s.profile", *job ? job : "_");
    if (!join(path, subdir, name) || snprintf(fresh, sizeof fresh, "%s" NEW_MARK "%s", path, dump_name) >= PATH_SIZE)
        return USAGE;
    enum err err = tau_profile_dir_create(subdir);
    if (err)
        return err;
    err = tau_profile_load(&whole, path);
    if (!err)
        err = tau_profile_merge(&whole, dump);
    else if (err == ABSENT)
        err = OK; /* the first */
    if (!err)
        err = write_file(fresh, whole.count ? &whole : dump);
    tau_profile_clear(&whole);
    if (!err && (unlink(dump_path) || rename(fresh, path)))
        err = err_from_errno(errno);
    return err;
}

static bool is_old(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && time(NULL) - status.st_mtime > STALE_S;
}

static enum err take_dump(const char *dir, const char *name, uint64_t *merged)
{
    char path[PATH_SIZE], aside[PATH_SIZE + 8];
    struct tau_profile dump;
    if (!join(path, dir, name))
        return OK;
    enum err err = tau_profile_load(&dump, path);
    if (!err)
        err = merge_dump(dir, name, &dump);
    tau_profile_clear(&dump);
    *merged += !err;
    if (err != CORRUPT)
        return err == GONE || err == ABSENT ? OK : err;
    if (is_old(path)) {
        snprintf(aside, sizeof aside, "%s.bad", path);
        if (rename(path, aside) == 0)
            log_warn("%s, or the profile of its job, is damaged: renamed to %s.bad", path, name);
    }
    return OK;
}

/* Finishes an interrupted merge: if its dump is still there it did not happen, else only the last step is missing. */
static void finish_merge(const char *dir, const char *subdir, const char *name)
{
    const char *mark = strstr(name, NEW_MARK);
    char fresh[PATH_SIZE], dump[PATH_SIZE], path[PATH_SIZE];
    if (!mark || !join(fresh, subdir, name) || !join(dump, dir, mark + strlen(NEW_MARK)) || !join(path, subdir, name))
        return;
    path[strlen(subdir) + 1 + (size_t)(mark - name)] = '\0';
    if (access(dump, F_OK) == 0)
        unlink(fresh);
    else
        (void)!rename(fresh, path);
}

/* Calls each for every entry that does not begin with '.'. */
static enum err walk(const char *path, enum err (*each)(void *context, const char *name), void *context)
{
    DIR *dir = opendir(path);
    enum err err = dir ? OK : err_from_errno(errno);
    for (const struct dirent *entry; dir && !err && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            err = each(context, entry->d_name);
    if (dir)
        closedir(dir);
    return err;
}

struct tau_merge {
    const char *dir, *subdir;
    uint64_t merged;
};

static enum err finish_entry(void *context, const char *name)
{
    const struct tau_merge *merging = context;
    finish_merge(merging->dir, merging->subdir, name);
    return OK;
}

static enum err finish_dir(void *context, const char *name)
{
    struct tau_merge merging = *(const struct tau_merge *)context;
    char subdir[PATH_SIZE], below[256];
    snprintf(below, sizeof below, "profiles/%.200s", name);
    if (join(subdir, merging.dir, below)) {
        merging.subdir = subdir;
        walk(subdir, finish_entry, &merging);
    }
    return OK;
}

static enum err take_entry(void *context, const char *name)
{
    struct tau_merge *merging = context;
    return ends_with(name, DUMP_END) ? take_dump(merging->dir, name, &merging->merged) : OK;
}

/* Tau's own proxy writes its host and pid into the lock file, and touches it; we lock it with flock too. */
static enum err lock(const char *dir, int *fd)
{
    struct { char host[64]; int32_t pid; } own = { "", (int32_t)getpid() }, other = { "", 0 };
    char path[PATH_SIZE];
    struct stat status;
    gethostname(own.host, sizeof own.host - 1);
    *fd = join(path, dir, "lock") ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644) : -1;
    if (*fd < 0)
        return err_from_errno(errno);
    bool is_locked = read(*fd, &other, sizeof other) == sizeof other && *other.host && memcmp(&own, &other, sizeof own) != 0
                    && fstat(*fd, &status) == 0 && time(NULL) - status.st_mtime < LOCK_STALE_S;
    if (flock(*fd, LOCK_EX | LOCK_NB) || is_locked) {
        close(*fd);
        *fd = -1;
        return AGAIN;
    }
    return pwrite(*fd, &own, sizeof own, 0) == sizeof own ? OK : err_from_errno(errno);
}

/* An empty file means that it is free. */
static void unlock(int fd)
{
    if (fd >= 0) {
        (void)!ftruncate(fd, 0);
        close(fd);
    }
}

enum err tau_profile_dir_merge(const char *dir, uint64_t *merged)
{
    struct tau_merge merging = { .dir = dir };
    char subdirs[PATH_SIZE];
    int fd = -1;
    enum err err = lock(dir, &fd);
    if (err)
        return err;
    if (join(subdirs, dir, "profiles"))
        walk(subdirs, finish_dir, &merging);
    err = walk(dir, take_entry, &merging);
    *merged += merging.merged;
    unlock(fd);
    return err;
}
