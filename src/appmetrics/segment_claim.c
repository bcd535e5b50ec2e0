/* A file in the directory of the segments, locked while the agent runs. */
#include "appmetrics/segment_claim.h"

#include "base/reclaim_path.h"
#include "appmetrics/segment_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void segment_claim_name(char name[SEGMENT_CLAIM_NAME_MAX], uint32_t uid, const char *socket)
{
    if (*socket)
        snprintf(name, SEGMENT_CLAIM_NAME_MAX, SEGMENT_CLAIM ".%u.%s", uid, socket);
    else
        snprintf(name, SEGMENT_CLAIM_NAME_MAX, uid ? SEGMENT_CLAIM ".%u" : SEGMENT_CLAIM, uid);
}

static enum err path_of(char path[FILE_PATH_MAX], const char *dir, uint32_t uid, const char *socket, const char *suffix)
{
    char name[SEGMENT_CLAIM_NAME_MAX];
    segment_claim_name(name, uid, socket);
    int size = snprintf(path, FILE_PATH_MAX, "%s/%s%s", dir ? dir : SEGMENT_DIR, name, suffix);
    return size < FILE_PATH_MAX ? OK : USAGE;
}

enum err segment_claim_path(char path[FILE_PATH_MAX], const char *dir, const char *socket, const char *suffix)
{
    return path_of(path, dir, geteuid(), socket, suffix);
}

/* Everybody can write to the directory: another user may have created the file. */
static enum err check(int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return err_from_errno(errno);
    return S_ISREG(st.st_mode) && st.st_uid == geteuid() ? OK : DENIED;
}

static enum err lock(int fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
        return OK;
    return errno == EAGAIN || errno == EACCES ? AGAIN : err_from_errno(errno);
}

/* AGAIN also if it was removed by sweep() meanwhile. */
static enum err open_locked(const char *path, int *fd)
{
    struct stat st;
    int new_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (new_fd < 0)
        return errno == ELOOP || errno == EISDIR ? DENIED : err_from_errno(errno);
    enum err err = check(new_fd);
    err = err ? err : lock(new_fd);
    if (!err && fstat(new_fd, &st) == 0 && st.st_nlink == 0)
        err = AGAIN;
    if (err)
        close(new_fd);
    else
        *fd = new_fd;
    return err;
}

/* Removes a stale claim, which nobody holds, with the saved state next to it. */
static void sweep_one(int dir_fd, const char *name)
{
    char state[SEGMENT_CLAIM_NAME_MAX + sizeof SEGMENT_CLAIM_STATE_SUFFIX];
    struct stat st;
    int fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_mtime + SEGMENT_CLAIM_STALE_S < time(NULL) && check(fd) == OK && lock(fd) == OK
        && (size_t)snprintf(state, sizeof state, "%s" SEGMENT_CLAIM_STATE_SUFFIX, name) < sizeof state) {
        unlinkat(dir_fd, state, 0);
        unlinkat(dir_fd, name, 0);
    }
    close(fd);
}

/* Our own claims of sockets that may never be used again: the proxy of each job has a path of its own. */
static void sweep(const char *dir)
{
    char ours[SEGMENT_CLAIM_NAME_MAX];
    size_t size = (size_t)snprintf(ours, sizeof ours, SEGMENT_CLAIM ".%u.", (unsigned)geteuid());
    DIR *stream = opendir(dir ? dir : SEGMENT_DIR);
    for (const struct dirent *entry; stream && (entry = readdir(stream));)
        if (strncmp(entry->d_name, ours, size) == 0 && strspn(entry->d_name + size, "0123456789abcdef") == SEGMENT_SOCKET_SIZE - 1
            && !strstr(entry->d_name, SEGMENT_CLAIM_STATE_SUFFIX))
            sweep_one(dirfd(stream), entry->d_name);
    if (stream)
        closedir(stream);
}

enum err segment_claim_take(const char *dir, const char *socket, int *fd)
{
    char path[FILE_PATH_MAX];
    int new_fd = -1;
    *fd = -1;
    sweep(dir);
    enum err err = segment_claim_path(path, dir, socket, "");
    if (!err)
        err = open_locked(path, &new_fd);
    if (err == DENIED && reclaim_path(path)) /* a user must not keep root from reading segments */
        err = open_locked(path, &new_fd);
    if (err)
        return err;
    fchmod(new_fd, 0644); /* programs of other users read it, whatever the umask is */
    segment_claim_touch(new_fd);
    *fd = new_fd;
    return OK;
}

static bool is_held(const char *path, uint32_t uid, bool must_be_locked)
{
    struct stat st;
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is_of_user = fstat(fd, &st) == 0 && st.st_uid == uid;
    bool is_locked = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    close(fd);
    return is_of_user && (is_locked || (!must_be_locked && time(NULL) - st.st_mtime < SEGMENT_CLAIM_LASTS_S));
}

bool segment_claim_is_held_by(const char *dir, uint32_t uid, const char *socket)
{
    char path[FILE_PATH_MAX];
    return path_of(path, dir, uid, socket, "") == OK && is_held(path, uid, false);
}

bool segment_claim_is_locked_by(const char *dir, uint32_t uid, const char *socket)
{
    char path[FILE_PATH_MAX];
    return path_of(path, dir, uid, socket, "") == OK && is_held(path, uid, true);
}

bool segment_claim_is_held(const char *dir, const char *socket)
{
    uint32_t own = geteuid();
    return segment_claim_is_held_by(dir, 0, "") || segment_claim_is_held_by(dir, own, "")
           || (*socket && (segment_claim_is_held_by(dir, 0, socket) || segment_claim_is_held_by(dir, own, socket)));
}

void segment_claim_touch(int fd)
{
    futimens(fd, NULL);
}
