/* A file per run that is not whole yet. Pieces come in order: one that begins behind the end of its file is of a run that was
 * filed before, or whose beginning is lost. */
#include "collector/runs.h"

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

struct runs {
    char *dir, *store_path;
};

/* dir is made when the first piece comes. store_path: as of store_open; NULL: the default. Both are copied. */
static enum err runs_open(struct runs **runs, const char *dir, const char *store_path)
{
    struct runs *new = *runs = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->dir = strdup(dir);
    new->store_path = store_path ? strdup(store_path) : NULL;
    if (new->dir && (new->store_path || !store_path))
        return OK;
    runs_close(runs);
    return NOMEM;
}

enum err runs_open_of(struct runs **runs, const struct sink_choice *choice, const char *journal_dir)
{
    char dir[PATH_MAX], name[64];
    *runs = NULL;
    if (strcmp(choice->sink->name, "store") != 0)
        return OK;
    outlet_name(choice, name);
    snprintf(dir, sizeof dir, "%s/%s.runs", journal_dir, name);
    return runs_open(runs, dir, setting_list_find(&choice->settings, "path"));
}

void runs_close(struct runs **runs)
{
    if (!*runs)
        return;
    free((*runs)->dir);
    free((*runs)->store_path);
    free(*runs);
    *runs = NULL;
}

/* As sonde run makes them; nothing that would leave the folder. */
static bool is_name(const char *name)
{
    size_t size = strlen(name);
    return size && size < 200 && name[0] != '.'
           && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == size;
}

static enum err put(const char *path, const struct batch_piece *piece, bool *is_whole)
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
    *is_whole = !err && follows && piece->offset + piece->data.size == piece->total;
    close(fd);
    if (!err && !follows && size == 0)
        unlink(path);
    return err;
}

/* Who hands a run over may not say that it was somebody else's. */
static bool is_allowed(const struct run *run, const struct batch_piece *piece)
{
    return piece->uid == 0 || run->uid == piece->uid;
}

static enum err file(struct runs *runs, struct merged *merged, const char *path, struct buf *why)
{
    struct store *store;
    char *message = NULL;
    enum err err = store_open(&store, runs->store_path, STORE_WRITE, &message);
    if (err) {
        buf_add_text(why, message ? message : err_text(err));
        free(message);
        merge_clear(merged);
        return err;
    }
    err = submit_file_clear(store, merged, path, false);
    if (err)
        buf_add_text(why, store_message(store));
    store_close(&store);
    return err;
}

static enum err file_whole(struct runs *runs, const struct batch_piece *piece, const char *path, struct buf *why)
{
    struct merged merged;
    struct submitted submitted;
    enum err err = submit_merge(&merged, path, &submitted);
    if (err == CORRUPT || (!err && !is_allowed(&merged.run, piece))) {
        log_warn("a run that user %u handed over is not filed: %s", piece->uid,
                 err ? "its spool is damaged" : "it says that it is of another user");
        if (!err)
            merge_clear(&merged);
        unlink(path);
        return OK;
    }
    if (err) {
        buf_printf(why, "the spool of a run cannot be read back: %s", err_text(err));
        return err;
    }
    return file(runs, &merged, path, why);
}

enum err runs_take(void *context, const struct batch_piece *piece, struct buf *why)
{
    struct runs *runs = context;
    char path[PATH_MAX];
    bool is_whole = false;
    if (!is_name(piece->name) || piece->total == 0) {
        log_warn("a run that user %u handed over is not filed: its name is none that sonde run makes", piece->uid);
        return OK;
    }
    if (mkdir(runs->dir, 0700) && errno != EEXIST)
        return err_from_errno(errno);
    snprintf(path, sizeof path, "%s/%s.spool", runs->dir, piece->name);
    enum err err = put(path, piece, &is_whole);
    if (err) {
        buf_printf(why, "a piece of a run cannot be kept in %s: %s", runs->dir, err_text(err));
        return err;
    }
    return is_whole ? file_whole(runs, piece, path, why) : OK;
}
