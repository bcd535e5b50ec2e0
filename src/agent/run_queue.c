/* One file per run, UID-NAME.spool. After a restart a run is sent from its beginning: duplicate pieces do no harm. A large
 * file would delay the next tick: it stays open and is copied in small parts, while it may already be sent. */
#include "agent/run_queue.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "jobs/users.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (256u << 10)
#define TURN_BYTES (2u << 20)     /* sent and copied per call, which delays the next tick */
#define OPEN_MAX 64               /* files that stay open */
#define LAG_BYTES_MAX (4u << 20)  /* unacknowledged bytes of the uplink */
#define FILE_BYTES_MIN (16u << 10) /* that a file counts at least: small ones cost, too */
#define RUNS_MAX 65536
#define SUFFIX ".spool"
#define PART ".part"

struct queued_run {
    uint32_t uid;
    uint64_t size, sent, time_ns;
    char *name;
    int fd;          /* of the user's file, until it is copied; -1: it is */
    uint64_t copied; /* bytes */
};

struct run_queue {
    char dir[PATH_MAX];
    uint64_t limit;
    struct users users;
    struct queued_run *runs; /* oldest first */
    size_t count, capacity;
    uint32_t last_uid; /* whose piece was sent last */
    char *data;
};

static void path_of(const struct run_queue *queue, uint32_t uid, const char *name, const char *suffix, char path[PATH_MAX + 300])
{
    snprintf(path, PATH_MAX + 300, "%s/%u-%.255s%s", queue->dir, uid, name, suffix);
}

static uint64_t cost_of(uint64_t size)
{
    return size < FILE_BYTES_MIN ? FILE_BYTES_MIN : size;
}

static void forget(struct run_queue *queue, size_t i)
{
    if (queue->runs[i].fd >= 0)
        close(queue->runs[i].fd);
    free(queue->runs[i].name);
    memmove(&queue->runs[i], &queue->runs[i + 1], (--queue->count - i) * sizeof *queue->runs);
}

static void remove_run(struct run_queue *queue, size_t i)
{
    char path[PATH_MAX + 300];
    path_of(queue, queue->runs[i].uid, queue->runs[i].name, queue->runs[i].fd >= 0 ? PART : SUFFIX, path);
    unlink(path);
    forget(queue, i);
}

static enum err remember(struct run_queue *queue, uint32_t uid, const char *name, uint64_t size, uint64_t time_ns,
                         size_t *index)
{
    struct queued_run run = { .uid = uid, .size = size, .time_ns = time_ns, .fd = -1 };
    for (size_t i = queue->count; i-- > 0;)
        if (queue->runs[i].uid == uid && !strcmp(queue->runs[i].name, name))
            forget(queue, i);
    enum err err = array_reserve(queue->runs, queue->capacity, queue->count + 1, RUNS_MAX);
    if (err)
        return err;
    run.name = strdup(name);
    if (!run.name)
        return NOMEM;
    size_t at = queue->count;
    while (at > 0 && queue->runs[at - 1].time_ns > time_ns)
        at--;
    memmove(&queue->runs[at + 1], &queue->runs[at], (queue->count++ - at) * sizeof run);
    queue->runs[at] = run;
    *index = at;
    return OK;
}

/* What an earlier process left. */
static void scan_file(struct run_queue *queue, int dir, const char *name)
{
    struct stat facts;
    char *end, copy[NAME_MAX + 1];
    unsigned long uid = strtoul(name, &end, 10);
    size_t size = strlen(name), suffix = strlen(SUFFIX), index;
    if (name[0] == '.' || fstatat(dir, name, &facts, AT_SYMLINK_NOFOLLOW))
        return;
    if (*end != '-' || size < suffix + 2 || strcmp(name + size - suffix, SUFFIX) != 0) {
        unlinkat(dir, name, 0); /* a copy that was interrupted */
        return;
    }
    snprintf(copy, sizeof copy, "%.*s", (int)(name + size - suffix - (end + 1)), end + 1);
    remember(queue, (uint32_t)uid, copy, (uint64_t)facts.st_size,
             (uint64_t)facts.st_mtim.tv_sec * NS_PER_S + (uint64_t)facts.st_mtim.tv_nsec, &index);
}

enum err run_queue_open(struct run_queue **queue, const char *dir, uint64_t bytes)
{
    struct run_queue *new = *queue = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    snprintf(new->dir, sizeof new->dir, "%s", dir);
    new->limit = bytes;
    users_init(&new->users, "");
    DIR *list = opendir(dir);
    for (struct dirent *entry; list && (entry = readdir(list));)
        scan_file(new, dirfd(list), entry->d_name);
    if (list)
        closedir(list);
    return OK;
}

static bool fits(const struct run_queue *queue, uint32_t uid, uint64_t size)
{
    uint64_t all = cost_of(size), own = all;
    for (size_t i = 0; i < queue->count; i++) {
        all += cost_of(queue->runs[i].size);
        own += queue->runs[i].uid == uid ? cost_of(queue->runs[i].size) : 0;
    }
    return all <= queue->limit && (uid == 0 || own <= queue->limit / RUN_QUEUE_SHARE);
}

static enum err reserve_data(struct run_queue *queue)
{
    if (!queue->data)
        queue->data = malloc(PIECE);
    return queue->data ? OK : NOMEM;
}

static enum err write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t put = write(fd, data, size);
        if (put < 0 && errno != EINTR)
            return err_from_errno(errno);
        data += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return OK;
}

/* The next part. Its owner may change or truncate the file meanwhile: the size is as announced, or it fails. */
static enum err copy_part(struct run_queue *queue, struct queued_run *run, int to)
{
    uint64_t left = run->size - run->copied;
    ssize_t got = pread(run->fd, queue->data, left < PIECE ? (size_t)left : PIECE, (off_t)run->copied);
    if (got <= 0)
        return got < 0 ? err_from_errno(errno) : IO;
    run->copied += (uint64_t)got;
    return write_all(to, queue->data, (size_t)got);
}

/* At most so many bytes. When the copy is complete, the file is closed. */
static enum err copy_some(struct run_queue *queue, struct queued_run *run, uint64_t bytes)
{
    char part[PATH_MAX + 300], path[PATH_MAX + 300];
    uint64_t until = run->copied + bytes;
    path_of(queue, run->uid, run->name, PART, part);
    path_of(queue, run->uid, run->name, SUFFIX, path);
    int to = open(part, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return err_from_errno(errno);
    enum err err = reserve_data(queue);
    while (!err && run->copied < run->size && run->copied < until)
        err = copy_part(queue, run, to);
    if (close(to) && !err)
        err = err_from_errno(errno);
    if (err || run->copied < run->size)
        return err;
    if (rename(part, path))
        return err_from_errno(errno);
    close(run->fd);
    run->fd = -1;
    return OK;
}

/* Continues the copy of a file that is still open. If it fails, the run is sent from the file nevertheless. */
static void copy_next(struct run_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        if (queue->runs[i].fd >= 0 && queue->runs[i].copied < queue->runs[i].size) {
            enum err err = copy_some(queue, &queue->runs[i], TURN_BYTES);
            if (err)
                log_warn("cannot copy a run of user %u to %s: %s", queue->runs[i].uid, queue->dir, err_text(err));
            return;
        }
}

static size_t count_open(const struct run_queue *queue)
{
    size_t count = 0;
    for (size_t i = 0; i < queue->count; i++)
        count += queue->runs[i].fd >= 0;
    return count;
}

enum err run_queue_add(struct run_queue *queue, uint32_t uid, const char *name, int fd, uint64_t size)
{
    char part[PATH_MAX + 300];
    size_t index;
    if (!fits(queue, uid, size) || count_open(queue) >= OPEN_MAX)
        return FULL;
    if (mkdir(queue->dir, 0700) && errno != EEXIST)
        return err_from_errno(errno);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return err_from_errno(errno);
    path_of(queue, uid, name, PART, part);
    unlink(part); /* of a run of the same name, which is replaced */
    enum err err = remember(queue, uid, name, size, clock_realtime_ns(), &index);
    if (err) {
        close(own);
        return err;
    }
    queue->runs[index].fd = own;
    err = copy_some(queue, &queue->runs[index], TURN_BYTES);
    if (err)
        remove_run(queue, index);
    return err;
}

void run_queue_close(struct run_queue **queue)
{
    struct run_queue *old = *queue;
    if (!old)
        return;
    while (old->count) {
        struct queued_run *last = &old->runs[old->count - 1];
        if (last->fd >= 0 && copy_some(old, last, last->size))
            log_warn("a run of user %u is lost: it could not be copied to %s", last->uid, old->dir);
        forget(old, old->count - 1);
    }
    users_clear(&old->users);
    free(old->runs);
    free(old->data);
    free(old);
    *queue = NULL;
}

/* The oldest run of the next user; count: none. Users whose name is still being looked up wait. */
static size_t choose(struct run_queue *queue, const char **user)
{
    size_t best = queue->count;
    for (size_t i = 0; i < queue->count; i++) {
        bool is_pending = false;
        uint32_t uid = queue->runs[i].uid, turn = uid - queue->last_uid - 1;
        if (best < queue->count && turn >= queue->runs[best].uid - queue->last_uid - 1)
            continue;
        const char *name = users_name(&queue->users, uid, &is_pending);
        if (is_pending)
            continue;
        best = i;
        *user = name;
    }
    return best;
}

static bool has_capacity(struct sender *sender)
{
    struct sender_figures figures;
    sender_figures(sender, &figures);
    return figures.has_uplink && figures.uplink.lag_bytes < LAG_BYTES_MAX
        && figures.spool.bytes < figures.journal_bytes / RUN_QUEUE_JOURNAL_SHARE;
}

static enum err read_piece(struct run_queue *queue, const struct queued_run *run, struct batch_piece *piece)
{
    char path[PATH_MAX + 300];
    uint64_t left = run->size - run->sent;
    path_of(queue, run->uid, run->name, SUFFIX, path);
    int fd = run->fd >= 0 ? run->fd : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    ssize_t got = pread(fd, queue->data, left < PIECE ? (size_t)left : PIECE, (off_t)run->sent);
    if (fd != run->fd)
        close(fd);
    piece->data = (struct bytes){ queue->data, got > 0 ? (size_t)got : 0 };
    return got > 0 ? OK : IO;
}

/* A file that is gone or damaged is dropped; a full journal is tried again. */
static enum err send_piece(struct run_queue *queue, struct sender *sender, size_t i, const char *user, size_t *size)
{
    struct queued_run *run = &queue->runs[i];
    struct batch_piece piece = { .name = run->name, .uid = run->uid, .user = user, .offset = run->sent, .total = run->size };
    struct batch batch = { .piece = &piece };
    enum err err = reserve_data(queue);
    if (err)
        return err;
    err = read_piece(queue, run, &piece);
    if (err) {
        log_warn("cannot read a run of user %u: %s. It is not sent.", run->uid, err_text(err));
        remove_run(queue, i);
        return OK;
    }
    err = sender_add_retryable(sender, &batch);
    if (err)
        return err;
    *size += piece.data.size;
    queue->last_uid = run->uid;
    run->sent += piece.data.size;
    if (run->sent >= run->size)
        remove_run(queue, i);
    return OK;
}

static void drop_old(struct run_queue *queue, uint64_t age_ns)
{
    uint64_t now_ns = clock_realtime_ns();
    while (queue->count && queue->runs[0].time_ns + age_ns < now_ns) {
        log_warn("a run of user %u could not be sent for too long and is dropped", queue->runs[0].uid);
        remove_run(queue, 0);
    }
}

void run_queue_send(struct run_queue *queue, struct sender *sender, uint64_t age_ns)
{
    size_t size = 0;
    if (!queue->count)
        return;
    drop_old(queue, age_ns);
    copy_next(queue);
    while (queue->count && size < TURN_BYTES && has_capacity(sender)) {
        const char *user = "";
        size_t next = choose(queue, &user);
        if (next == queue->count || send_piece(queue, sender, next, user, &size))
            return;
    }
}
