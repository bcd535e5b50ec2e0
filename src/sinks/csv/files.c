/* The table of files, their descriptors (the one that was opened longest ago is closed for another), and their lines. */
#include "sinks/csv/files.h"

#include "base/clock.h"
#include "base/hash.h"
#include "sinks/csv/undo_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS_MIN 256
#define OUT_MAX (1u << 30)
#define HEADER_MAX (1u << 20)

static enum err fail(struct csv_files *files, const char *what, const char *path, int number)
{
    snprintf(files->message, sizeof files->message, "cannot %s %s/%s: %s", what, files->dir, path, strerror(number));
    return err_from_errno(number);
}

/* All folders of path below dir_fd but its last part. */
static void make_folders(int dir_fd, const char *path)
{
    char folder[CSV_FILES_PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdirat(dir_fd, folder, 0755);
        *slash = '/';
    }
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
    make_folders(AT_FDCWD, inside);
    files->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files->dir_fd < 0)
        return fail(files, "open", "", errno);
    enum err err = csv_undo_log_replay(files->dir_fd, &files->position);
    if (err)
        snprintf(files->message, sizeof files->message, "cannot undo uncommitted changes in %s: %s", dir, err_text(err));
    return err;
}

static void close_one(struct csv_files *files, struct csv_file *one)
{
    if (one->fd < 0)
        return;
    close(one->fd);
    one->fd = -1;
    files->open[one->open_at] = NULL;
}

void csv_files_close(struct csv_files *files)
{
    if (files->all)
        csv_files_write(files);
    for (struct csv_file *one = files->all, *next; one; one = next) {
        next = one->next;
        close_one(files, one);
        buf_clear(&one->out);
        free(one->path);
        free(one);
    }
    free(files->slots);
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

static bool grow(struct csv_files *files)
{
    if (files->count < files->slot_count)
        return true;
    size_t count = files->slot_count ? files->slot_count * 2 : SLOTS_MIN;
    struct csv_file **slots = calloc(count, sizeof(struct csv_file *));
    if (!slots)
        return false;
    for (struct csv_file *one = files->all; one; one = one->next) {
        one->next_in_slot = slots[one->hash % count];
        slots[one->hash % count] = one;
    }
    free(files->slots);
    files->slots = slots;
    files->slot_count = count;
    return true;
}

static struct csv_file *find(struct csv_files *files, const char *path)
{
    uint64_t hash = hash_bytes(bytes_of(path));
    struct csv_file *one = files->slot_count ? files->slots[hash % files->slot_count] : NULL;
    while (one && (one->hash != hash || strcmp(one->path, path) != 0))
        one = one->next_in_slot;
    if (one)
        return one;
    one = grow(files) ? calloc(1, sizeof *one) : NULL;
    if (!one)
        return NULL;
    one->path = strdup(path);
    if (!one->path) {
        free(one);
        return NULL;
    }
    one->hash = hash;
    one->fd = -1;
    buf_init(&one->out, OUT_MAX);
    one->next = files->all;
    files->all = one;
    one->next_in_slot = files->slots[hash % files->slot_count];
    files->slots[hash % files->slot_count] = one;
    files->count++;
    return one;
}

static enum err open_one(struct csv_files *files, struct csv_file *one)
{
    struct stat facts;
    if (one->fd >= 0)
        return OK;
    if (files->open[files->open_next])
        close_one(files, files->open[files->open_next]);
    one->fd = openat(files->dir_fd, one->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (one->fd < 0 && errno == ENOENT) {
        make_folders(files->dir_fd, one->path);
        one->fd = openat(files->dir_fd, one->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    }
    if (one->fd < 0)
        return fail(files, "open", one->path, errno);
    one->open_at = files->open_next;
    files->open[one->open_at] = one;
    files->open_next = (files->open_next + 1) % files->open_max;
    one->size = fstat(one->fd, &facts) == 0 ? (uint64_t)facts.st_size : 0;
    if (one->size && !one->begun_ns)
        one->begun_ns = (uint64_t)facts.st_mtim.tv_sec * NS_PER_S;
    return OK;
}

static uint64_t first_line_hash(const struct csv_file *one)
{
    char *line = malloc(HEADER_MAX);
    ssize_t got = line ? pread(one->fd, line, HEADER_MAX, 0) : -1;
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

/* Away with it, under a name that tells when it began. */
static enum err rotate(struct csv_files *files, struct csv_file *one)
{
    char name[CSV_FILES_PATH_MAX + 64];
    uint64_t begun_s = (one->begun_ns ? one->begun_ns : clock_realtime_ns()) / NS_PER_S;
    snprintf(name, sizeof name, "%s.%" PRIu64, one->path, begun_s);
    for (int i = 1; faccessat(files->dir_fd, name, F_OK, 0) == 0; i++)
        snprintf(name, sizeof name, "%s.%" PRIu64 ".%d", one->path, begun_s, i);
    enum err err = log_rename(files, one->path, name);
    if (err)
        return err;
    close_one(files, one);
    if (renameat(files->dir_fd, one->path, files->dir_fd, name) != 0)
        return fail(files, "rename", one->path, errno);
    one->size = one->begun_ns = one->header_hash = 0;
    one->is_logged = false;
    return OK;
}

struct csv_file_header csv_file_header_of(struct bytes text)
{
    return (struct csv_file_header){ text, hash_bytes(text) };
}

struct csv_file *csv_files_get(struct csv_files *files, const char *path, const struct csv_file_header *header)
{
    struct csv_file *one = find(files, path);
    if (!one || one->header_hash == header->hash)
        return one;
    enum err err = open_one(files, one);
    if (!err && one->out.size) /* lines under another header */
        err = csv_files_write(files);
    if (!err && one->size && first_line_hash(one) != header->hash)
        err = rotate(files, one);
    if (!err)
        err = open_one(files, one);
    if (err)
        return NULL;
    if (!one->size) {
        buf_add(&one->out, header->text.data, header->text.size);
        buf_add_char(&one->out, '\n');
        csv_files_added(files, one, header->text.size + 1);
    }
    one->header_hash = header->hash;
    return one;
}

void csv_files_added(struct csv_files *files, struct csv_file *one, size_t bytes)
{
    files->gathered += bytes;
    one->used = ++files->clock;
}

/* Before the first byte since the last commit. */
static enum err log_size(struct csv_files *files, struct csv_file *one)
{
    if (!files->is_undoable || one->is_logged)
        return OK;
    enum err err = files->undo_fd >= 0 ? OK : csv_undo_log_open(files->dir_fd, files->position, &files->undo_fd);
    if (!err)
        err = csv_undo_log_add_size(files->undo_fd, one->path, one->size);
    if (err)
        snprintf(files->message, sizeof files->message, "cannot write the undo log of %s: %s", files->dir, err_text(err));
    one->is_logged = !err;
    return err;
}

static enum err write_lines(struct csv_files *files, struct csv_file *one)
{
    size_t done = 0;
    while (done < one->out.size) {
        ssize_t size = write(one->fd, one->out.data + done, one->out.size - done);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0) {
            enum err err = fail(files, "write to", one->path, size < 0 ? errno : ENOSPC);
            (void)!ftruncate(one->fd, (off_t)one->size); /* no half line, and all of it again */
            return err;
        }
        done += (size_t)size;
    }
    one->size += done;
    if (!one->begun_ns)
        one->begun_ns = clock_realtime_ns();
    files->gathered -= done;
    buf_clear(&one->out);
    return OK;
}

enum err csv_files_write(struct csv_files *files)
{
    enum err err = OK;
    for (struct csv_file *one = files->all; one && !err; one = one->next) {
        if (!one->out.size)
            continue;
        err = buf_err(&one->out);
        if (!err)
            err = open_one(files, one);
        if (!err)
            err = log_size(files, one);
        if (!err)
            err = write_lines(files, one);
    }
    return err;
}

static bool is_ripe(const struct csv_files *files, const struct csv_file *one, uint64_t now_ns)
{
    if (!one->size || !one->begun_ns)
        return false;
    return (files->rotate_bytes && one->size >= files->rotate_bytes)
           || (files->rotate_ns && now_ns - one->begun_ns >= files->rotate_ns);
}

/* A file of which nothing is held any longer, so that jobs that have ended leave nothing here either. */
static void forget_idle(struct csv_files *files)
{
    for (struct csv_file **at = &files->all; *at;) {
        struct csv_file *one = *at;
        if (one->fd >= 0 || one->out.size || one->is_logged || files->clock - one->used < 1000000) {
            at = &one->next;
            continue;
        }
        struct csv_file **slot = &files->slots[one->hash % files->slot_count];
        while (*slot != one)
            slot = &(*slot)->next_in_slot;
        *slot = one->next_in_slot;
        *at = one->next;
        files->count--;
        free(one->path);
        buf_clear(&one->out);
        free(one);
    }
}

enum err csv_files_commit(struct csv_files *files, uint64_t position, uint64_t now_ns)
{
    enum err err = csv_files_write(files);
    for (struct csv_file *one = files->all; one && !err; one = one->next)
        if (is_ripe(files, one, now_ns))
            err = rotate(files, one);
    if (!err && syncfs(files->dir_fd) != 0)
        err = fail(files, "sync", "", errno);
    if (!err && files->is_undoable && files->undo_fd < 0)
        err = csv_undo_log_open(files->dir_fd, files->position, &files->undo_fd);
    if (!err && files->is_undoable)
        err = csv_undo_log_commit(files->dir_fd, files->undo_fd, position);
    if (err)
        return err;
    files->position = position;
    for (struct csv_file *one = files->all; one; one = one->next)
        one->is_logged = false;
    forget_idle(files);
    return OK;
}
