/* The claim of an agent on boards: a file in their folder, locked as long as the agent runs. */
#include "sample/board_claim.h"

#include "base/place.h"
#include "model/board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static enum err path_of(char path[FILE_PATH_MAX], const char *folder, uint32_t uid, const char *suffix)
{
    const char *in = folder ? folder : BOARD_FOLDER;
    int size = uid ? snprintf(path, FILE_PATH_MAX, "%s/" BOARD_CLAIM ".%u%s", in, uid, suffix)
                   : snprintf(path, FILE_PATH_MAX, "%s/" BOARD_CLAIM "%s", in, suffix);
    return size < FILE_PATH_MAX ? OK : USAGE;
}

enum err board_claim_beside(char path[FILE_PATH_MAX], const char *folder, const char *suffix)
{
    return path_of(path, folder, geteuid(), suffix);
}

/* The folder is everybody's: another user may have been there first. */
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

static enum err open_locked(const char *path, int *fd)
{
    int made = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (made < 0)
        return errno == ELOOP || errno == EISDIR ? DENIED : err_from_errno(errno);
    enum err err = check(made);
    err = err ? err : lock(made);
    if (err)
        close(made);
    else
        *fd = made;
    return err;
}

enum err board_claim(const char *folder, int *fd)
{
    char path[FILE_PATH_MAX];
    int made = -1;
    *fd = -1;
    enum err err = board_claim_beside(path, folder, "");
    if (!err)
        err = open_locked(path, &made);
    if (err == DENIED && place_take(path)) /* no user forbids root the boards of all */
        err = open_locked(path, &made);
    if (err)
        return err;
    fchmod(made, 0644); /* programs of others look at it, whatever the umask was */
    board_claim_touch(made);
    *fd = made;
    return OK;
}

static bool is_held(const char *path)
{
    struct stat st;
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is_ours = fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid());
    bool is_locked = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    close(fd);
    return is_ours && (is_locked || time(NULL) - st.st_mtime < BOARD_CLAIM_LASTS_S);
}

bool board_claim_is_held_by(const char *folder, uint32_t uid)
{
    char path[FILE_PATH_MAX];
    return path_of(path, folder, uid, "") == OK && is_held(path);
}

bool board_claim_is_held(const char *folder)
{
    return board_claim_is_held_by(folder, 0) || board_claim_is_held_by(folder, geteuid());
}

void board_claim_touch(int fd)
{
    futimens(fd, NULL);
}
