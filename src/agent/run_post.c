/* From a file of the one who asks to records of the agent's stream. */
#include "agent/run_post.h"

#include "net/json.h"
#include "net/json_read.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PIECE (256u << 10)
#define SUFFIX ".spool"
#define NAME_ROOM 256
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

static bool read_path(struct bytes body, struct buf *path)
{
    struct json_read read;
    struct buf key;
    bool found = false;
    buf_init(&key, 64);
    json_read_init(&read, body.data, body.size);
    json_read_object(&read);
    while (json_read_key(&read, &key)) {
        if (strcmp(buf_text(&key), "spool") == 0)
            found = json_read_text(&read, path);
        else
            json_read_skip(&read);
    }
    buf_clear(&key);
    return found && path->size && path->data[0] == '/' && !memchr(path->data, 0, path->size);
}

/* The run's: what stands before ".spool". */
static bool name_of(const char *path, char name[NAME_ROOM])
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t size = strlen(base), suffix = sizeof SUFFIX - 1;
    if (size <= suffix || size - suffix >= NAME_ROOM || strcmp(base + size - suffix, SUFFIX) != 0 || base[0] == '.')
        return false;
    memcpy(name, base, size - suffix);
    name[size - suffix] = '\0';
    return true;
}

/* The file itself, whoever has opened it. */
static enum err look_at(int fd, uint32_t uid, uint64_t *size)
{
    struct stat facts;
    if (fstat(fd, &facts))
        return err_from_errno(errno);
    if (!S_ISREG(facts.st_mode) || facts.st_uid != uid)
        return DENIED;
    if (facts.st_size == 0 || facts.st_size > RUN_POST_BYTES_MAX)
        return facts.st_size ? FULL : USAGE;
    *size = (uint64_t)facts.st_size;
    return OK;
}

/* Not what a link leads to, and not what would keep us waiting. */
static enum err open_own(const char *path, uint32_t uid, int *fd, uint64_t *size)
{
    *fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        return err_from_errno(errno);
    enum err err = look_at(*fd, uid, size);
    if (err)
        close(*fd);
    return err;
}

/* A user can mount these two, and then a program of theirs answers when we read, or does not. By their path the kernel lets us
 * into those only that root has mounted for all. */
static bool may_keep_us_waiting(int fd)
{
    struct statfs facts;
    return fstatfs(fd, &facts) || facts.f_type == FUSE_SUPER_MAGIC || facts.f_type == OVERLAYFS_SUPER_MAGIC;
}

static enum err send_pieces(struct sender *sender, int fd, struct batch_piece *piece)
{
    struct batch batch = { .piece = piece };
    char *data = malloc(PIECE);
    enum err err = data ? OK : NOMEM;
    while (!err && piece->offset < piece->total) {
        uint64_t left = piece->total - piece->offset;
        ssize_t got = pread(fd, data, left < PIECE ? (size_t)left : PIECE, (off_t)piece->offset);
        if (got <= 0)
            err = got < 0 ? err_from_errno(errno) : IO; /* it has become shorter */
        piece->data = (struct bytes){ data, got > 0 ? (size_t)got : 0 };
        if (!err)
            err = sender_put(sender, &batch);
        piece->offset += piece->data.size;
    }
    free(data);
    return err;
}

static const char *reason_of(enum err err)
{
    switch (err) {
    case ABSENT: return "there is no such file where the agent looks, or it has no collector";
    case DENIED: return "it is not a file of yours";
    case FULL: return "it is too large, or the agent's spool is full";
    default: return err_text(err);
    }
}

static void write_answer(struct buf *answer, enum err err, uint64_t bytes)
{
    struct json json;
    json_init(&json, answer);
    json_begin_object(&json);
    json_field_bool(&json, "ok", !err);
    if (err)
        json_field_text(&json, "error", reason_of(err));
    else
        json_field_u64(&json, "bytes", bytes);
    json_end_object(&json);
    json_end(&json);
}

static enum err send_file(struct sender *sender, const struct run_post *post, const char *path, struct batch_piece *piece)
{
    bool is_handed = post->fd >= 0 && !may_keep_us_waiting(post->fd);
    int fd = post->fd;
    enum err err = is_handed ? look_at(fd, post->uid, &piece->total) : open_own(path, post->uid, &fd, &piece->total);
    if (err)
        return err;
    err = send_pieces(sender, fd, piece);
    if (!is_handed)
        close(fd);
    return err;
}

enum err run_post(struct sender *sender, const struct run_post *post, struct buf *answer)
{
    struct buf path;
    char name[NAME_ROOM];
    struct batch_piece piece = { .name = name, .uid = post->uid };
    buf_init(&path, PATH_MAX);
    enum err err = read_path(post->body, &path) && name_of(buf_text(&path), name) ? OK : USAGE;
    if (!err && (!sender || !sender_has_uplink(sender)))
        err = ABSENT;
    if (!err)
        err = send_file(sender, post, buf_text(&path), &piece);
    write_answer(answer, err, piece.total);
    buf_clear(&path);
    return err;
}
