/* Everything is done through a descriptor of the directory itself. */
#include "appmetrics/segment_dir.h"

#include "base/clock.h"
#include "appmetrics/segment_format.h"
#include "appmetrics/segment_claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define KILLED_RUN_NS (600 * NS_PER_S)
#define AGENT_WAIT_S 60 /* how long root waits for the agent of a user */

/* "sonde-run.1000.abc": does it belong to the user in its name? */
static bool is_named_after_owner(const char *run_name, const struct stat *st)
{
    char *end = NULL;
    unsigned long uid = strtoul(run_name + strlen(SEGMENT_RUN_PREFIX), &end, 10);
    return end && *end == '.' && st->st_uid == uid;
}

enum err segment_dir_open(struct segment_dir **dir, const char *path, const char *run_name, int inotify_fd)
{
    struct stat st;
    struct segment_dir *new = *dir = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->fd = new->watch = -1;
    new->is_run = run_name != NULL;
    enum err err = (size_t)snprintf(new->path, sizeof new->path, "%s", path) < sizeof new->path ? OK : USAGE;
    if (!err && (new->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (run_name ? O_NOFOLLOW : 0))) < 0)
        err = err_from_errno(errno);
    if (!err && (fstat(new->fd, &st) < 0 || (run_name && !is_named_after_owner(run_name, &st))))
        err = DENIED;
    if (err) {
        segment_dir_close(dir, -1);
        return err;
    }
    new->uid = st.st_uid;
    if (inotify_fd >= 0)
        new->watch = inotify_add_watch(inotify_fd, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW);
    return OK;
}

void segment_dir_close(struct segment_dir **dir, int inotify_fd)
{
    struct segment_dir *old = *dir;
    *dir = old->next;
    if (inotify_fd >= 0 && old->watch >= 0)
        inotify_rm_watch(inotify_fd, old->watch);
    if (old->fd >= 0)
        close(old->fd);
    free(old);
}

/* Is the file locked by another process? *owner: the file's owner. */
static bool is_locked(int dir_fd, const char *name, uid_t *owner)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct stat st = { 0 };
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK && fstat(fd, &st) == 0;
    close(fd);
    *owner = st.st_uid;
    return is;
}

static bool is_claimed_by(const struct segment_dir *dir, uid_t uid, const char *socket)
{
    char name[SEGMENT_CLAIM_NAME_MAX], claim[sizeof name + 3];
    uid_t claimed_by;
    segment_claim_name(name, uid, socket);
    snprintf(claim, sizeof claim, "%s%s", dir->is_run ? "../" : "", name);
    return is_locked(dir->fd, claim, &claimed_by) && claimed_by == uid;
}

/* A user's segment may be read by two agents, that of root and that of the user. Is there another one? */
static bool has_other_reader(const struct segment_dir *dir, const char *name, uid_t owner)
{
    const char *socket = segment_name_socket(name);
    uid_t other = geteuid() == 0 ? owner : 0;
    return other != geteuid()
           && (is_claimed_by(dir, other, "") || (*socket && is_claimed_by(dir, other, socket)));
}

bool segment_dir_is_of_other_agent(const struct segment_dir *dir, const char *name)
{
    char claims[SEGMENT_DIR_PATH_MAX + 4];
    const char *socket = segment_name_socket(name);
    snprintf(claims, sizeof claims, dir->is_run ? "%s/.." : "%s", dir->path);
    return *socket && segment_claim_is_held_by(claims, geteuid(), socket);
}

/* An agent that has read a segment to its end, and leaves it to the other agent to remove, marks it: root by a
 * modification time that no segment has, the user by the sticky bit, which has no meaning on a file. One mark cannot
 * overwrite the other, so if both agents finish at the same moment, at least one of them sees the mark of the other. */
#define MARK_OF_ROOT_S 1

static bool is_marked(const struct stat *segment, bool by_root)
{
    return by_root ? segment->st_mtim.tv_sec == MARK_OF_ROOT_S : segment->st_mode & S_ISVTX;
}

static void mark_as_read(int fd, const struct stat *segment)
{
    static const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = MARK_OF_ROOT_S } };
    if (geteuid() == 0)
        futimens(fd, times);
    else
        fchmod(fd, (segment->st_mode & 07777) | S_ISVTX);
}

/* A run that ends normally removes its lock file first. The lock file of a killed run is still there: then `sonde
 * submit` reads and removes the segments. */
static bool run_will_remove(const struct segment_dir *dir)
{
    struct stat st;
    return dir->is_run && fstatat(dir->fd, SEGMENT_DIR_LOCK, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Marks the segment as read if the run or another agent reads it too. True: that one will remove it. */
static bool other_reader_will_remove(const struct segment_dir *dir, const char *name, uint64_t inode)
{
    struct stat st;
    int fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is_left = fstat(fd, &st) == 0 && st.st_ino == inode && (dir->is_run || has_other_reader(dir, name, st.st_uid));
    if (is_left) {
        mark_as_read(fd, &st);
        is_left = run_will_remove(dir)
                  || (has_other_reader(dir, name, st.st_uid) && fstat(fd, &st) == 0 && !is_marked(&st, geteuid() != 0));
    }
    close(fd);
    return is_left;
}

/* rmdir succeeds for the last segment of a run. */
static void remove_segment(const struct segment_dir *dir, const char *name)
{
    unlinkat(dir->fd, name, 0);
    if (dir->is_run)
        rmdir(dir->path);
}

void segment_dir_remove(const struct segment_dir *dir, const char *name, uint64_t inode, int claim_fd)
{
    struct stat st;
    if (claim_fd >= 0 && other_reader_will_remove(dir, name, inode))
        return;
    if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == inode)
        remove_segment(dir, name);
}

/* The agent of a user reads every second. If it is stopped, segments must not fill the memory of the node. */
static bool must_wait_for_agent(const struct stat *marked)
{
    return geteuid() != 0 || clock_realtime_ns() / NS_PER_S < (uint64_t)marked->st_ctim.tv_sec + AGENT_WAIT_S;
}

bool segment_dir_was_read(const struct segment_dir *dir, const char *name)
{
    struct stat st;
    if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) || !is_marked(&st, geteuid() == 0))
        return false;
    if (!run_will_remove(dir) && (!must_wait_for_agent(&st) || !has_other_reader(dir, name, st.st_uid)))
        remove_segment(dir, name);
    return true;
}

static bool is_claimed_above(const char *above, uid_t uid, const char *socket)
{
    return segment_claim_is_held_by(above, uid, "") || (*socket && segment_claim_is_held_by(above, uid, socket));
}

static bool is_wanted(int dir_fd, const char *path, const char *name)
{
    char above[SEGMENT_DIR_PATH_MAX + 4];
    const char *socket = segment_name_socket(name);
    struct stat st;
    if (strncmp(name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) != 0 || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0
        || !S_ISREG(st.st_mode))
        return false;
    snprintf(above, sizeof above, "%s/..", path);
    return (!is_marked(&st, true) && is_claimed_above(above, 0, socket))
           || (geteuid() != 0 && !is_marked(&st, false) && is_claimed_above(above, geteuid(), socket));
}

bool segment_dir_is_wanted(const struct segment_dir *dir, const char *name)
{
    return is_wanted(dir->fd, dir->path, name);
}

bool segment_dir_is_abandoned(const struct segment_dir *dir)
{
    uid_t owner;
    return dir->is_run && !is_locked(dir->fd, SEGMENT_DIR_LOCK, &owner);
}

bool segment_dir_has_ended(struct segment_dir *dir)
{
    struct stat st;
    uint64_t now_ns = clock_monotonic_ns();
    if (!segment_dir_is_abandoned(dir)) {
        dir->ended_ns = 0;
        return false;
    }
    if (fstat(dir->fd, &st) < 0 || st.st_nlink == 0)
        return true;
    if (!dir->ended_ns)
        dir->ended_ns = now_ns;
    if (now_ns - dir->ended_ns < KILLED_RUN_NS)
        return false;
    segment_dir_delete(dir->path);
    return true;
}

static enum err lock_dir(int dir_fd, int *lock_fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    *lock_fd = openat(dir_fd, SEGMENT_DIR_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (*lock_fd < 0)
        return err_from_errno(errno);
    if (fcntl(*lock_fd, F_OFD_SETLK, &whole) == 0)
        return OK;
    enum err err = err_from_errno(errno);
    close(*lock_fd);
    *lock_fd = -1;
    return err;
}

enum err segment_dir_create(const char *parent, char path[SEGMENT_DIR_PATH_MAX], int *lock_fd)
{
    uint64_t random = 0;
    *lock_fd = -1;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = clock_monotonic_ns() * 0x9e3779b97f4a7c15ull;
    int size = snprintf(path, SEGMENT_DIR_PATH_MAX, "%s/" SEGMENT_RUN_PREFIX "%u.%" PRIx64, parent, (unsigned)geteuid(), random);
    if (size >= SEGMENT_DIR_PATH_MAX)
        return USAGE;
    if (mkdir(path, 0700) < 0)
        return err_from_errno(errno);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    enum err err = fd < 0 || fchmod(fd, 0700) < 0 ? err_from_errno(errno) : lock_dir(fd, lock_fd);
    if (fd >= 0)
        close(fd);
    if (err)
        segment_dir_delete(path);
    return err;
}

/* for_agents: leave segments that they have still to read. The lock is removed first: if an agent finishes a segment
 * at the same moment, either it sees that the run has ended, or we see its mark. */
static void empty(const char *path, bool for_agents)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    unlinkat(fd, SEGMENT_DIR_LOCK, 0);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (!for_agents || !is_wanted(fd, path, entry->d_name))
            unlinkat(fd, entry->d_name, 0);
    closedir(dir);
    rmdir(path);
}

void segment_dir_delete(const char *path)
{
    empty(path, false);
}

void segment_dir_release(const char *path)
{
    empty(path, true);
}
