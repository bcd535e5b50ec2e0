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
#define LIST_BYTES 32768

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
    new->device = st.st_dev;
    new->must_list = true;
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

/* Is there an agent of the user that reads segments with this socket ("": all)? */
static bool has_claim(const struct segment_dir *dir, uid_t reader, const char *socket, bool is_locked)
{
    char claims[SEGMENT_DIR_PATH_MAX + 4];
    snprintf(claims, sizeof claims, dir->is_run ? "%s/.." : "%s", dir->path);
    return is_locked ? segment_claim_is_locked_by(claims, reader, socket) : segment_claim_is_held_by(claims, reader, socket);
}

bool segment_dir_is_of_other_agent(const struct segment_dir *dir, const char *name)
{
    const char *socket = segment_name_socket(name);
    return *socket && has_claim(dir, geteuid(), socket, false);
}

/* A segment may be read by root's agent, an agent of its owner, and a run, of which the last one to finish removes it.
 * An agent that has read and saved it keeps it open, with a read lock on a byte of its own. It needs no permission to
 * change the file, and nobody else may open it. */
static struct flock mark_of(uid_t reader, short type)
{
    return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = reader ? 1 : 0, .l_len = 1 };
}

static bool is_marked(int fd, uid_t reader)
{
    struct flock mark = mark_of(reader, F_WRLCK);
    return fcntl(fd, F_OFD_GETLK, &mark) == 0 && mark.l_type != F_UNLCK;
}

/* Has an agent other than this one still to read it? A run also waits for an agent that restarts. */
static bool is_wanted(const struct segment_dir *dir, const char *name, int fd, uid_t owner, bool is_agent)
{
    const char *socket = segment_name_socket(name);
    for (int i = 0; i < (owner ? 2 : 1); i++) {
        uid_t reader = i ? owner : 0;
        if (!(is_agent && reader == geteuid()) && !is_marked(fd, reader)
            && (has_claim(dir, reader, "", is_agent) || (*socket && has_claim(dir, reader, socket, is_agent))))
            return true;
    }
    return false;
}

/* A run that ends normally removes its lock file first. The lock file of a killed run is still there: then `sonde
 * submit` reads and removes the segments. */
static bool run_will_remove(const struct segment_dir *dir)
{
    struct stat st;
    return dir->is_run && fstatat(dir->fd, SEGMENT_DIR_LOCK, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void unlink_segment(const struct segment_dir *dir, const char *name, const struct stat *segment)
{
    struct stat st;
    if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == segment->st_ino && st.st_dev == segment->st_dev)
        unlinkat(dir->fd, name, 0);
}

bool segment_dir_remove(const struct segment_dir *dir, const char *name, int fd, bool is_agent, bool is_overdue)
{
    struct stat st;
    struct flock mark = mark_of(geteuid(), F_RDLCK);
    if (fstat(fd, &st) || st.st_nlink == 0)
        return true;
    if (is_agent)
        fcntl(fd, F_OFD_SETLK, &mark);
    if ((is_agent && run_will_remove(dir)) || (!is_overdue && is_wanted(dir, name, fd, st.st_uid, is_agent)))
        return false;
    unlink_segment(dir, name, &st);
    return fstat(fd, &st) || st.st_nlink == 0;
}

/* Through the descriptor of the directory, whose position is kept from call to call. */
bool segment_dir_list(struct segment_dir *dir, size_t calls_max, segment_dir_on_name *on_name, void *context)
{
    _Alignas(struct dirent64) char names[LIST_BYTES];
    ssize_t got = 0;
    if (!dir->is_listing)
        lseek(dir->fd, 0, SEEK_SET);
    dir->is_listing = true;
    for (size_t i = 0; i < calls_max; i++) {
        if ((got = getdents64(dir->fd, names, sizeof names)) <= 0)
            break;
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(names + at);
            on_name(context, dir, entry->d_name, entry->d_ino);
            at += entry->d_reclen;
        }
    }
    dir->is_listing = got > 0;
    return !dir->is_listing;
}

static bool is_locked(int dir_fd, const char *name)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    close(fd);
    return is;
}

bool segment_dir_is_abandoned(const struct segment_dir *dir)
{
    return dir->is_run && !is_locked(dir->fd, SEGMENT_DIR_LOCK);
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
    if (dir->unread || now_ns - dir->ended_ns < KILLED_RUN_NS)
        return false;
    dir->ended_ns = now_ns; /* root's agent may not be permitted to: then the user's next run does it */
    segment_dir_delete(dir->path);
    return fstat(dir->fd, &st) < 0 || st.st_nlink == 0;
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

/* A segment that an agent has still to read goes to the directory above, where root's agent may remove it. */
static bool leave_to_agents(const struct segment_dir *dir, const char *name)
{
    char above[SEGMENT_DIR_PATH_MAX];
    struct stat st;
    if (strncmp(name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) != 0
        || (size_t)snprintf(above, sizeof above, "../" SEGMENT_FROM_RUN "%s", name + strlen(SEGMENT_PREFIX)) >= sizeof above)
        return false;
    int fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is_left = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_wanted(dir, name, fd, st.st_uid, false)
                   && renameat(dir->fd, name, dir->fd, above) == 0;
    close(fd);
    return is_left;
}

static void remove_name(void *context, struct segment_dir *dir, const char *name, uint64_t inode)
{
    const bool *for_agents = context;
    (void)inode;
    if (!*for_agents || !leave_to_agents(dir, name))
        unlinkat(dir->fd, name, 0);
}

static void empty(const char *path, bool for_agents)
{
    struct segment_dir dir = { .is_run = true, .fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) };
    if (dir.fd < 0)
        return;
    snprintf(dir.path, sizeof dir.path, "%s", path);
    unlinkat(dir.fd, SEGMENT_DIR_LOCK, 0);
    segment_dir_list(&dir, SIZE_MAX, remove_name, &for_agents);
    close(dir.fd);
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
