/* One file per run: HOST/UID/NAME.part while pieces are missing, HOST/UID/NAME@USER.spool afterwards. Host and uid are those
 * of the connection, so that nobody can reach a run of somebody else. Pieces arrive in order: one that starts after the
 * end of its file belongs to a run that was already saved, or whose first pieces were lost. */
#include "collector/run_assembler.h"

#include "base/log.h"
#include "collector/run_saver.h"
#include "sinks/sink_worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USER_MAX 48

struct run_assembler {
    struct run_saver *saver;
    char dir[PATH_MAX];
};

enum err run_assembler_open(struct run_assembler **assembler, const char *dir, const char *store_path, uint64_t cpu_ns)
{
    struct run_assembler *new = *assembler = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    snprintf(new->dir, sizeof new->dir, "%s", dir);
    enum err err = run_saver_start(&new->saver, dir, store_path, cpu_ns);
    if (err)
        run_assembler_close(assembler);
    return err;
}

enum err run_assembler_open_for_sink(struct run_assembler **assembler, const struct sink_choice *choice,
                                     const char *journal_dir)
{
    char dir[PATH_MAX], name[64];
    *assembler = NULL;
    if (strcmp(choice->sink->name, "store") != 0)
        return OK;
    sink_worker_name(choice, name);
    snprintf(dir, sizeof dir, "%s/%s.runs", journal_dir, name);
    return run_assembler_open(assembler, dir, setting_list_find(&choice->settings, "path"), RUN_SAVER_CPU_NS);
}

void run_assembler_close(struct run_assembler **assembler)
{
    if (!*assembler)
        return;
    run_saver_stop(&(*assembler)->saver);
    free(*assembler);
    *assembler = NULL;
}

/* As named by sonde run; nothing that would leave the directory. */
static bool is_name(const char *name)
{
    size_t size = strlen(name);
    return size && size < 190 && name[0] != '.'
           && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == size;
}

static bool is_host(const char *host)
{
    return host && *host && host[0] != '.' && strlen(host) <= NAME_MAX && !strchr(host, '/');
}

/* A name that does not fit into a file name is left out; the uid is known. */
static const char *user_of(const struct batch_piece *piece)
{
    return piece->user && strlen(piece->user) < USER_MAX && !strchr(piece->user, '/') ? piece->user : "";
}

static uint64_t bytes_in(int dir, const char *name, int depth)
{
    struct stat facts;
    uint64_t bytes = 0;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (!list && fd >= 0)
        close(fd);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        if (entry->d_name[0] == '.' || fstatat(dirfd(list), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW))
            continue;
        bytes += S_ISDIR(facts.st_mode) ? depth ? bytes_in(dirfd(list), entry->d_name, depth - 1) : 0 : (uint64_t)facts.st_size;
    }
    if (list)
        closedir(list);
    return bytes;
}

/* A host may not fill the disk with runs that never become complete. */
static bool fits(const struct run_assembler *assembler, const char *host, const struct batch_piece *piece)
{
    char path[PATH_MAX + 300];
    if (piece->offset)
        return true;
    snprintf(path, sizeof path, "%s/%s", assembler->dir, host);
    return bytes_in(AT_FDCWD, path, 1) + piece->total <= RUN_ASSEMBLER_HOST_MAX;
}

static enum err write_piece(int fd, const struct batch_piece *piece)
{
    for (size_t done = 0; done < piece->data.size;) {
        ssize_t put = pwrite(fd, piece->data.data + done, piece->data.size - done, (off_t)(piece->offset + done));
        if (put < 0 && errno != EINTR)
            return err_from_errno(errno);
        done += put > 0 ? (size_t)put : 0;
    }
    return OK;
}

static enum err put(const char *path, const struct batch_piece *piece, bool *is_complete)
{
    struct stat facts;
    int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (piece->offset ? 0 : O_CREAT);
    int fd = open(path, flags, 0600);
    if (fd < 0)
        return errno == ENOENT && piece->offset ? OK : err_from_errno(errno);
    enum err err = fstat(fd, &facts) ? err_from_errno(errno) : OK;
    bool follows = !err && piece->offset <= (uint64_t)facts.st_size;
    if (follows)
        err = write_piece(fd, piece);
    *is_complete = !err && follows && piece->offset + piece->data.size == piece->total;
    if (*is_complete && fsync(fd))
        err = err_from_errno(errno);
    close(fd);
    return err;
}

/* Directories that are empty are removed when a run was saved. */
static enum err create_directories(const struct run_assembler *assembler, const char *host, uint32_t uid)
{
    char path[PATH_MAX + 300];
    bool failed = mkdir(assembler->dir, 0700) && errno != EEXIST;
    snprintf(path, sizeof path, "%s/%s", assembler->dir, host);
    failed = failed || (mkdir(path, 0700) && errno != EEXIST);
    snprintf(path, sizeof path, "%s/%s/%u", assembler->dir, host, uid);
    failed = failed || (mkdir(path, 0700) && errno != EEXIST);
    return failed ? err_from_errno(errno) : OK;
}

static enum err add(struct run_assembler *assembler, const char *host, const struct batch_piece *piece)
{
    char part[PATH_MAX + 600], whole[PATH_MAX + 600];
    bool is_complete = false;
    snprintf(part, sizeof part, "%s/%s/%u/%s.part", assembler->dir, host, piece->uid, piece->name);
    snprintf(whole, sizeof whole, "%s/%s/%u/%s@%s.spool", assembler->dir, host, piece->uid, piece->name, user_of(piece));
    run_saver_lock(assembler->saver);
    enum err err = piece->offset ? OK : create_directories(assembler, host, piece->uid);
    if (!err)
        err = put(part, piece, &is_complete);
    if (!err && is_complete && rename(part, whole))
        err = err_from_errno(errno);
    run_saver_unlock(assembler->saver, !err && is_complete);
    return err;
}

enum err run_assembler_add(void *context, const char *host, const struct batch_piece *piece, struct buf *error)
{
    struct run_assembler *assembler = context;
    const char *reason = !is_host(host) || !is_name(piece->name)               ? "invalid name"
                         : !piece->total || piece->total > RUN_ASSEMBLER_RUN_MAX ? "invalid size"
                         : !fits(assembler, host, piece) ? "too many runs of its host are incomplete or wait to be saved"
                                                         : NULL;
    if (reason) {
        log_warn("rejected a run sent by user %u of %s: %s", piece->uid, host ? host : "this host", reason);
        return OK;
    }
    enum err err = add(assembler, host, piece);
    if (err)
        buf_printf(error, "cannot write a piece of a run to %s: %s", assembler->dir, err_text(err));
    return err;
}
