/* Creates the spool's directory and files, each relative to an open directory, so that a symbolic link planted in
 * /tmp has no effect. */
#include "run/spool_dir.h"

#include "base/clock.h"
#include "store/directory.h"
#include "spool/probe_env.h"
#include "spool/spool.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

void spool_dir_run_id(const char *host, char run_id[RUN_ID_MAX])
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = clock_monotonic_ns() * 0x9e3779b97f4a7c15ull;
    snprintf(run_id, RUN_ID_MAX, "%.100s.%" PRIx64 "-%x-%" PRIx64, host, clock_realtime_ns(), (unsigned)getpid(), random);
    for (char *c = run_id; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(".-_", *c))
            *c = '_';
    if (run_id[0] == '.')
        run_id[0] = '_';
}

static bool is_mine(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Creates `name` in dir_fd if it is missing, and descends into it. Independent of the umask. */
static enum err step_into(int *dir_fd, const char *name, bool *is_created)
{
    *is_created = mkdirat(*dir_fd, name, 0700) == 0;
    if (!*is_created && errno != EEXIST)
        return err_from_errno(errno);
    int fd = openat(*dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && *is_created && fchmodat(*dir_fd, name, 0700, 0) == 0)
        fd = openat(*dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ELOOP || errno == ENOTDIR ? DENIED : err_from_errno(errno);
    if (*is_created)
        fchmod(fd, 0700);
    close(*dir_fd);
    *dir_fd = fd;
    return is_mine(fd) ? OK : DENIED;
}

/* A path component that exists but is not a directory. */
static enum err dir_error(int number)
{
    return number == ENOTDIR ? USAGE : err_from_errno(number);
}

const char *spool_dir_reason(enum err err)
{
    return err == USAGE ? "it, or one of its parents, is not a directory" : err_text(err);
}

const char *spool_dir_fix(enum err err)
{
    return err == NOFILES ? "raise the limit with 'ulimit -n'" : "choose a directory with -o DIR";
}

static bool append(char path[PATH_MAX], const char *part)
{
    size_t used = strlen(path);
    return (size_t)snprintf(path + used, PATH_MAX - used, "/%s", part) < PATH_MAX - used;
}

static enum err create_default(struct spool_dir *spool, const char *run_id, int *dir_fd, char failed_path[PATH_MAX])
{
    const char *tmp = getenv("TMPDIR");
    char user[32];
    snprintf(user, sizeof user, "sonde-%u", (unsigned)geteuid());
    const char *parts[] = { user, "spool", strchr(run_id, '.') ? strrchr(run_id, '.') + 1 : run_id };
    if (!tmp || tmp[0] != '/')
        tmp = "/tmp";
    snprintf(failed_path, PATH_MAX, "%s", tmp);
    if (!realpath(tmp, spool->dir))
        return dir_error(errno);
    *dir_fd = open(spool->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*dir_fd < 0)
        return dir_error(errno);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!append(failed_path, parts[i]) || !append(spool->dir, parts[i]))
            return FULL;
        enum err err = step_into(dir_fd, parts[i], &spool->created_dir);
        if (err)
            return err;
    }
    return OK;
}

/* Chosen by the user: ownership is not checked. */
static enum err create_chosen(struct spool_dir *spool, const char *out_dir, int *dir_fd, char failed_path[PATH_MAX])
{
    struct stat st;
    snprintf(failed_path, PATH_MAX, "%s", out_dir);
    enum err err = directory_create_parents(out_dir);
    if (err)
        return stat(out_dir, &st) != 0 && errno == ENOTDIR ? USAGE : err;
    spool->created_dir = mkdir(out_dir, 0700) == 0;
    if (!spool->created_dir && errno != EEXIST)
        return dir_error(errno);
    *dir_fd = open(out_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *dir_fd < 0 || !realpath(out_dir, spool->dir) ? dir_error(errno) : OK;
}

/* A file that must not exist yet. */
static enum err create_file(int dir_fd, const char *run_id, const char *suffix, int *fd)
{
    char name[RUN_ID_MAX + 32];
    snprintf(name, sizeof name, "%s.spool%s", run_id, suffix);
    *fd = openat(dir_fd, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd < 0)
        return err_from_errno(errno);
    return fchmod(*fd, 0600) == 0 ? OK : err_from_errno(errno);
}

/* Its 8 bytes are written now, so that losses can be counted even if the disk is full. */
static enum err create_lost(int dir_fd, const char *run_id)
{
    int fd;
    enum err err = create_file(dir_fd, run_id, SPOOL_LOST_SUFFIX, &fd);
    if (fd < 0)
        return err;
    const char zeros[8] = { 0 };
    if (!err && write(fd, zeros, sizeof zeros) != (ssize_t)sizeof zeros)
        err = FULL;
    close(fd);
    return err;
}

static enum err create_files(struct spool_dir *spool, int dir_fd, const char *run_id)
{
    size_t size = (size_t)snprintf(spool->spool, sizeof spool->spool, "%s/%s.spool", spool->dir, run_id);
    if (size >= sizeof spool->spool)
        return FULL;
    snprintf(spool->lost, sizeof spool->lost, "%s%s", spool->spool, SPOOL_LOST_SUFFIX);
    snprintf(spool->notices, sizeof spool->notices, "%s%s", spool->spool, SPOOL_NOTICES_SUFFIX);
    enum err err = create_file(dir_fd, run_id, "", &spool->fd);
    if (!err) {
        flock(spool->fd, LOCK_EX | LOCK_NB); /* tells sonde submit that the spool is still being written */
        spool->is_locked = spool_hold(spool->fd) == OK;
    }
    return err ? err : create_lost(dir_fd, run_id);
}

enum err spool_dir_create(struct spool_dir *spool, const char *out_dir, const char *run_id, char failed_path[PATH_MAX])
{
    int dir_fd = -1;
    *spool = (struct spool_dir){ .fd = -1 };
    enum err err = out_dir ? create_chosen(spool, out_dir, &dir_fd, failed_path)
                           : create_default(spool, run_id, &dir_fd, failed_path);
    if (!err)
        err = create_files(spool, dir_fd, run_id);
    if (dir_fd >= 0)
        close(dir_fd);
    if (err)
        spool_dir_remove(spool);
    return err;
}

void spool_dir_remove(struct spool_dir *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
    if (spool->spool[0]) {
        unlink(spool->spool);
        unlink(spool->lost);
        unlink(spool->notices);
    }
    if (spool->created_dir)
        rmdir(spool->dir);
}
