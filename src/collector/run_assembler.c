/* One file per incomplete run. Pieces arrive in order: one that starts after the end of its file belongs to a run that
 * was already saved, or whose first pieces were lost. */
#include "collector/run_assembler.h"

#include "base/log.h"
#include "merge/submit.h"
#include "sinks/sink_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct run_assembler {
    char *dir, *store_path;
};

/* dir is created with the first piece. store_path: as of store_open; NULL: the default. Both are copied. */
static enum err run_assembler_open(struct run_assembler **assembler, const char *dir, const char *store_path)
{
    struct run_assembler *new = *assembler = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->dir = strdup(dir);
    new->store_path = store_path ? strdup(store_path) : NULL;
    if (new->dir && (new->store_path || !store_path))
        return OK;
    run_assembler_close(assembler);
    return NOMEM;
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
    return run_assembler_open(assembler, dir, setting_list_find(&choice->settings, "path"));
}

void run_assembler_close(struct run_assembler **assembler)
{
    if (!*assembler)
        return;
    free((*assembler)->dir);
    free((*assembler)->store_path);
    free(*assembler);
    *assembler = NULL;
}

/* As named by sonde run; nothing that would leave the directory. */
static bool is_name(const char *name)
{
    size_t size = strlen(name);
    return size && size < 200 && name[0] != '.'
           && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == size;
}

static enum err put(const char *path, const struct batch_piece *piece, bool *is_complete)
{
    struct stat facts;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_from_errno(errno);
    enum err err = fstat(fd, &facts) ? err_from_errno(errno) : OK;
    uint64_t size = err ? 0 : (uint64_t)facts.st_size;
    bool follows = !err && piece->offset <= size;
    for (size_t done = 0; follows && !err && done < piece->data.size;) {
        ssize_t got = pwrite(fd, piece->data.data + done, piece->data.size - done, (off_t)(piece->offset + done));
        if (got < 0 && errno != EINTR)
            err = err_from_errno(errno);
        done += got > 0 ? (size_t)got : 0;
    }
    *is_complete = !err && follows && piece->offset + piece->data.size == piece->total;
    close(fd);
    if (!err && !follows && size == 0)
        unlink(path);
    return err;
}

/* A user may not send a run of somebody else. */
static bool is_allowed(const struct run *run, const struct batch_piece *piece)
{
    return piece->uid == 0 || run->uid == piece->uid;
}

static enum err save(struct run_assembler *assembler, struct merged *merged, const char *path, struct buf *error)
{
    struct store *store;
    char *message = NULL;
    enum err err = store_open(&store, assembler->store_path, STORE_WRITE, &message);
    if (err) {
        buf_add_text(error, message ? message : err_text(err));
        free(message);
        merge_clear(merged);
        return err;
    }
    err = submit_save_clear(store, merged, path, false);
    if (err)
        buf_add_text(error, store_message(store));
    store_close(&store);
    return err;
}

static enum err save_complete(struct run_assembler *assembler, const struct batch_piece *piece, const char *path,
                              struct buf *error)
{
    struct merged merged;
    struct submitted submitted;
    enum err err = submit_merge(&merged, path, &submitted);
    if (err == CORRUPT || (!err && !is_allowed(&merged.run, piece))) {
        log_warn("rejected a run sent by user %u: %s", piece->uid,
                 err ? "its spool is damaged" : "it belongs to another user");
        if (!err)
            merge_clear(&merged);
        unlink(path);
        return OK;
    }
    if (err) {
        buf_printf(error, "cannot read the assembled spool of a run: %s", err_text(err));
        return err;
    }
    return save(assembler, &merged, path, error);
}

enum err run_assembler_add(void *context, const struct batch_piece *piece, struct buf *error)
{
    struct run_assembler *assembler = context;
    char path[PATH_MAX];
    bool is_complete = false;
    if (!is_name(piece->name) || piece->total == 0) {
        log_warn("rejected a run sent by user %u: invalid name", piece->uid);
        return OK;
    }
    if (mkdir(assembler->dir, 0700) && errno != EEXIST)
        return err_from_errno(errno);
    snprintf(path, sizeof path, "%s/%s.spool", assembler->dir, piece->name);
    enum err err = put(path, piece, &is_complete);
    if (err) {
        buf_printf(error, "cannot write a piece of a run to %s: %s", assembler->dir, err_text(err));
        return err;
    }
    return is_complete ? save_complete(assembler, piece, path, error) : OK;
}
