/* A hash table of files with their buffered lines. If too many are open, the one opened longest ago is closed. */
#include "sinks/csv/files.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "sinks/csv/undo_log.h"
#include "sinks/csv/user_access.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUT_MAX (1u << 30)
#define HEADER_MAX (1u << 20)

static enum err fail(struct csv_files *files, const char *what, const char *path, int number)
{
    snprintf(files->message, sizeof files->message, "cannot %s %s/%s: %s", what, files->dir, path, strerror(number));
    return err_from_errno(number);
}

/* Creates the parent directories of path below dir_fd. */
static void make_parents(int dir_fd, const char *path)
{
    char directory[CSV_FILES_PATH_MAX];
    snprintf(directory, sizeof directory, "%s", path);
    for (char *slash = strchr(directory + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdirat(dir_fd, directory, 0755);
        *slash = '/';
    }
}

/* The same for a file, of which the directory of a user may be private. */
static enum err make_directories(struct csv_files *files, const struct csv_file *file)
{
    char directory[CSV_FILES_PATH_MAX];
    if (files->for_users && file->user.prefix) {
        snprintf(directory, sizeof directory, "%.*s", (int)file->user.prefix, file->path);
        make_parents(files->dir_fd, directory);
        enum err err = user_access_mkdir(files->dir_fd, directory, file->user.uid, files->gid);
        if (err) {
            snprintf(files->message, sizeof files->message, "cannot make %.200s/%.200s readable for its user only: %s",
                     files->dir, directory, err == ABSENT ? "the file system has no access control lists" : err_text(err));
            return err;
        }
    }
    make_parents(files->dir_fd, file->path);
    return OK;
}

static size_t descriptors(void)
{
    struct rlimit limit;
    rlim_t half = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 0;
    return half < 16 ? 16 : half < CSV_FILES_OPEN_MAX ? (size_t)half : CSV_FILES_OPEN_MAX;
}

enum err csv_files_open(struct csv_files *files, const char *dir)
{
    char inside[CSV_FILES_PATH_MAX];
    memset(files, 0, sizeof *files);
    files->dir_fd = files->undo_fd = -1;
    files->dir = strdup(dir);
    files->open_max = descriptors();
    files->open = calloc(files->open_max, sizeof(struct csv_file *));
    if (!files->dir || !files->open)
        return NOMEM;
    snprintf(inside, sizeof inside, "%s/", files->dir);
    make_parents(AT_FDCWD, inside);
    files->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files->dir_fd < 0)
        return fail(files, "open", "", errno);
    enum err err = csv_undo_log_replay(files->dir_fd, &files->position);
    if (err)
        snprintf(files->message, sizeof files->message, "cannot undo uncommitted changes in %s: %s", dir, err_text(err));
    return err;
}

static void close_one(struct csv_files *files, struct csv_file *file)
{
    if (file->fd < 0)
        return;
    close(file->fd);
    file->fd = -1;
    files->open[file->open_at] = NULL;
}

void csv_files_close(struct csv_files *files)
{
    if (files->all)
        csv_files_write(files);
    for (struct csv_file *file = files->all, *next; file; file = next) {
        next = file->next;
        close_one(files, file);
        buf_clear(&file->out);
        free(file->path);
        free(file);
    }
    map_clear(&files->by_path);
    free(files->open);
    free(files->dir);
    if (files->undo_fd >= 0)
        close(files->undo_fd);
    if (files->dir_fd >= 0)
        close(files->dir_fd);
    *files = (struct csv_files){ .dir_fd = -1, .undo_fd = -1 };
}

static uint64_t hash_bytes(struct bytes bytes)
{
    uint64_t hash = hash_add(HASH_START, bytes.data, bytes.size);
    return hash ? hash : 1;
}

static bool is_path(const void *file, const void *path)
{
    return strcmp(((const struct csv_file *)file)->path, path) == 0;
}

static struct csv_file *find(struct csv_files *files, const char *path)
{
    uint64_t hash = map_hash_string(0, path);
    struct csv_file *file = map_find(&files->by_path, hash, is_path, path);
    if (file)
        return file;
    file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->path = strdup(path);
    if (!file->path || map_add(&files->by_path, hash, file, VEC_MAX)) {
        free(file->path);
        free(file);
        return NULL;
    }
    file->fd = -1;
    buf_init(&file->out, OUT_MAX);
    file->next = files->all;
    files->all = file;
    return file;
}

static enum err open_one(struct csv_files *files, struct csv_file *file)
{
    struct stat facts;
    if (file->fd >= 0)
        return OK;
    if (files->open[files->open_next])
        close_one(files, files->open[files->open_next]);
    file->fd = openat(files->dir_fd, file->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file->fd < 0 && errno == ENOENT) {
        enum err err = make_directories(files, file);
        if (err)
            return err;
        file->fd = openat(files->dir_fd, file->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    }
    if (file->fd < 0)
        return fail(files, "open", file->path, errno);
    file->open_at = files->open_next;
    files->open[file->open_at] = file;
    files->open_next = (files->open_next + 1) % files->open_max;
    file->size = fstat(file->fd, &facts) == 0 ? (uint64_t)facts.st_size : 0;
    if (file->size && !file->begun_ns)
        file->begun_ns = (uint64_t)facts.st_mtim.tv_sec * NS_PER_S;
    return OK;
}

static uint64_t first_line_hash(const struct csv_file *file)
{
    char *line = malloc(HEADER_MAX);
    ssize_t got = line ? pread(file->fd, line, HEADER_MAX, 0) : -1;
    const char *end = got > 0 ? memchr(line, '\n', (size_t)got) : NULL;
    uint64_t hash = end ? hash_bytes((struct bytes){ line, (size_t)(end - line) }) : 0;
    free(line);
    return hash;
}

static enum err log_rename(struct csv_files *files, const char *from, const char *to)
{
    if (!files->is_undoable)
        return OK;
    enum err err = files->undo_fd >= 0 ? OK : csv_undo_log_open(files->dir_fd, files->position, &files->undo_fd);
    return err ? err : csv_undo_log_add_rename(files->undo_fd, from, to);
}

/* Renames a file to PATH.<time of its first line>. */
static enum err rotate(struct csv_files *files, struct csv_file *file)
{
    char name[CSV_FILES_PATH_MAX + 64];
    uint64_t begun_s = (file->begun_ns ? file->begun_ns : clock_realtime_ns()) / NS_PER_S;
    snprintf(name, sizeof name, "%s.%" PRIu64, file->path, begun_s);
    for (int i = 1; faccessat(files->dir_fd, name, F_OK, 0) == 0; i++)
        snprintf(name, sizeof name, "%s.%" PRIu64 ".%d", file->path, begun_s, i);
    enum err err = log_rename(files, file->path, name);
    if (err)
        return err;
    close_one(files, file);
    if (renameat(files->dir_fd, file->path, files->dir_fd, name) != 0)
        return fail(files, "rename", file->path, errno);
    file->size = file->begun_ns = file->header_hash = 0;
    file->is_logged = false;
    return OK;
}

struct csv_file_header csv_file_header_of(struct bytes text)
{
    return (struct csv_file_header){ text, hash_bytes(text) };
}

struct csv_file *csv_files_get(struct csv_files *files, const char *path, const struct csv_user *user,
                               const struct csv_file_header *header)
{
    struct csv_file *file = find(files, path);
    if (!file || file->header_hash == header->hash)
        return file;
    file->user = *user;
    enum err err = open_one(files, file);
    if (!err && file->out.size) /* these lines have the old header */
        err = csv_files_write(files);
    if (!err && file->size && first_line_hash(file) != header->hash)
        err = rotate(files, file);
    if (!err)
        err = open_one(files, file);
    if (err)
        return NULL;
    if (!file->size) {
        buf_add(&file->out, header->text.data, header->text.size);
        buf_add_char(&file->out, '\n');
        csv_files_added(files, file, header->text.size + 1);
    }
    file->header_hash = header->hash;
    return file;
}

void csv_files_added(struct csv_files *files, struct csv_file *file, size_t bytes)
{
    files->buffered += bytes;
    file->used = ++files->clock;
}

/* Called before the first write since the last commit. */
static enum err log_size(struct csv_files *files, struct csv_file *file)
{
    if (!files->is_undoable || file->is_logged)
        return OK;
    enum err err = files->undo_fd >= 0 ? OK : csv_undo_log_open(files->dir_fd, files->position, &files->undo_fd);
    if (!err)
        err = csv_undo_log_add_size(files->undo_fd, file->path, file->size);
    if (err)
        snprintf(files->message, sizeof files->message, "cannot write the undo log of %s: %s", files->dir, err_text(err));
    file->is_logged = !err;
    return err;
}

static enum err write_lines(struct csv_files *files, struct csv_file *file)
{
    size_t done = 0;
    while (done < file->out.size) {
        ssize_t size = write(file->fd, file->out.data + done, file->out.size - done);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0) {
            enum err err = fail(files, "write to", file->path, size < 0 ? errno : ENOSPC);
            (void)!ftruncate(file->fd, (off_t)file->size); /* remove a partial line; all is written again */
            return err;
        }
        done += (size_t)size;
    }
    file->size += done;
    if (!file->begun_ns)
        file->begun_ns = clock_realtime_ns();
    files->buffered -= done;
    buf_clear(&file->out);
    return OK;
}

enum err csv_files_write(struct csv_files *files)
{
    enum err err = OK;
    for (struct csv_file *file = files->all; file && !err; file = file->next) {
        if (!file->out.size)
            continue;
        err = buf_err(&file->out);
        if (!err)
            err = open_one(files, file);
        if (!err)
            err = log_size(files, file);
        if (!err)
            err = write_lines(files, file);
    }
    return err;
}

static bool is_ripe(const struct csv_files *files, const struct csv_file *file, uint64_t now_ns)
{
    if (!file->size || !file->begun_ns)
        return false;
    return (files->rotate_bytes && file->size >= files->rotate_bytes)
           || (files->rotate_ns && now_ns - file->begun_ns >= files->rotate_ns);
}

/* Frees files without buffered lines, so that ended jobs use no memory. */
static void free_idle(struct csv_files *files)
{
    for (struct csv_file **at = &files->all; *at;) {
        struct csv_file *file = *at;
        if (file->fd >= 0 || file->out.size || file->is_logged || files->clock - file->used < 1000000) {
            at = &file->next;
            continue;
        }
        map_remove(&files->by_path, map_hash_string(0, file->path), file);
        *at = file->next;
        free(file->path);
        buf_clear(&file->out);
        free(file);
    }
}

enum err csv_files_commit(struct csv_files *files, uint64_t position, uint64_t now_ns)
{
    enum err err = csv_files_write(files);
    for (struct csv_file *file = files->all; file && !err; file = file->next)
        if (is_ripe(files, file, now_ns))
            err = rotate(files, file);
    if (!err && syncfs(files->dir_fd) != 0)
        err = fail(files, "sync", "", errno);
    if (!err && files->is_undoable && files->undo_fd < 0)
        err = csv_undo_log_open(files->dir_fd, files->position, &files->undo_fd);
    if (!err && files->is_undoable)
        err = csv_undo_log_commit(files->dir_fd, files->undo_fd, position);
    if (err)
        return err;
    files->position = position;
    for (struct csv_file *file = files->all; file; file = file->next)
        file->is_logged = false;
    free_idle(files);
    return OK;
}
