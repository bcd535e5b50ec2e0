/* Checks a user's spool file and queues a copy of it. */
#include "agent/run_post.h"

#include "api/schema.h"
#include "net/json.h"
#include "net/json_read.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SUFFIX ".spool"
#define NAME_BYTES 190
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
        if (strcmp(buf_text(&key), API_SPOOL) == 0)
            found = json_read_text(&read, path);
        else
            json_read_skip(&read);
    }
    buf_clear(&key);
    return found && path->size && path->data[0] == '/' && !memchr(path->data, 0, path->size);
}

/* Name of the run: the file name without ".spool", as sonde run chooses it. */
static bool name_of(const char *path, char name[NAME_BYTES])
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t size = strlen(base), suffix = sizeof SUFFIX - 1;
    if (size <= suffix || size - suffix >= NAME_BYTES || strcmp(base + size - suffix, SUFFIX) != 0 || base[0] == '.')
        return false;
    memcpy(name, base, size - suffix);
    name[size - suffix] = '\0';
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == size - suffix;
}

/* Checks the file itself, whoever has opened it. */
static enum err check_file(int fd, uint32_t uid, uint64_t *size)
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

/* Does not follow links, and does not block. */
static enum err open_file(const char *path, uint32_t uid, int *fd, uint64_t *size)
{
    *fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        return err_from_errno(errno);
    enum err err = check_file(*fd, uid, size);
    if (err)
        close(*fd);
    return err;
}

/* Users can mount these two file systems, and then a program of theirs may block our reads. If opened by path, the
 * kernel only lets us into those that root has mounted for all. */
static bool may_block(int fd)
{
    struct statfs facts;
    return fstatfs(fd, &facts) || facts.f_type == FUSE_SUPER_MAGIC || facts.f_type == OVERLAYFS_SUPER_MAGIC;
}

static const char *error_message(enum err err)
{
    switch (err) {
    case ABSENT: return "the agent cannot find the file, or has no collector";
    case DENIED: return "the file belongs to another user";
    case FULL: return "the file is too large, or too many runs wait to be sent to the collector; try again later";
    default: return err_text(err);
    }
}

static void write_answer(struct buf *answer, enum err err, uint64_t bytes)
{
    struct json json;
    json_init(&json, answer);
    json_begin_object(&json);
    json_field_bool(&json, API_OK, !err);
    if (err)
        json_field_text(&json, API_ERROR, error_message(err));
    else
        json_field_u64(&json, API_BYTES, bytes);
    json_end_object(&json);
    json_end(&json);
}

static enum err send_file(struct sender *sender, const struct run_post *post, const char *path, const char *name,
                          uint64_t *size)
{
    bool is_passed = post->fd >= 0 && !may_block(post->fd);
    int fd = post->fd;
    enum err err = is_passed ? check_file(fd, post->uid, size) : open_file(path, post->uid, &fd, size);
    if (err)
        return err;
    err = sender_add_run(sender, post->uid, name, fd, *size);
    if (!is_passed)
        close(fd);
    return err;
}

enum err run_post(struct sender *sender, const struct run_post *post, struct buf *answer)
{
    struct buf path;
    char name[NAME_BYTES];
    uint64_t size = 0;
    buf_init(&path, PATH_MAX);
    enum err err = read_path(post->body, &path) && name_of(buf_text(&path), name) ? OK : USAGE;
    if (!err && (!sender || !sender_has_uplink(sender)))
        err = ABSENT;
    if (!err)
        err = send_file(sender, post, buf_text(&path), name, &size);
    write_answer(answer, err, size);
    buf_clear(&path);
    return err;
}
