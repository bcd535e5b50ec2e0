/* One file per run, UID-NAME.spool. After a restart a run is sent from its beginning: duplicate pieces do no harm. */
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
#define TURN_BYTES (2u << 20)     /* per call of run_queue_send, which delays the next tick */
#define LAG_BYTES_MAX (4u << 20)  /* unacknowledged bytes of the uplink */
#define FILE_BYTES_MIN (16u << 10) /* that a file counts at least: small ones cost, too */
#define RUNS_MAX 65536
#define SUFFIX ".spool"
#define PART ".part"

struct queued_run {
    uint32_t uid;
    uint64_t size, sent, time_ns;
    char *name;
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
    free(queue->runs[i].name);
    memmove(&queue->runs[i], &queue->runs[i + 1], (--queue->count - i) * sizeof *queue->runs);
}

static void remove_run(struct run_queue *queue, size_t i)
{
    char path[PATH_MAX + 300];
    path_of(queue, queue->runs[i].uid, queue->runs[i].name, SUFFIX, path);
    unlink(path);
    forget(queue, i);
}

static enum err remember(struct run_queue *queue, uint32_t uid, const char *name, uint64_t size, uint64_t time_ns)
{
    struct queued_run run = { .uid = uid, .size = size, .time_ns = time_ns };
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
    return OK;
}

/* What an earlier process left. */
static void scan_file(struct run_queue *queue, int dir, const char *name)
{
    struct stat facts;
    char *end, copy[NAME_MAX + 1];
    unsigned long uid = strtoul(name, &end, 10);
    size_t size = strlen(name), suffix = strlen(SUFFIX);
    if (name[0] == '.' || fstatat(dir, name, &facts, AT_SYMLINK_NOFOLLOW))
        return;
    if (*end != '-' || size < suffix + 2 || strcmp(name + size - suffix, SUFFIX) != 0) {
        unlinkat(dir, name, 0); /* a copy that was interrupted */
        return;
    }
    snprintf(copy, sizeof copy, "%.*s", (int)(name + size - suffix - (end + 1)), end + 1);
    remember(queue, (uint32_t)uid, copy, (uint64_t)facts.st_size,
             (uint64_t)facts.st_mtim.tv_sec * NS_PER_S + (uint64_t)facts.st_mtim.tv_nsec);
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

void run_queue_close(struct run_queue **queue)
{
    struct run_queue *old = *queue;
    if (!old)
        return;
    while (old->count)
        forget(old, old->count - 1);
    users_clear(&old->users);
    free(old->runs);
    free(old->data);
    free(old);
    *queue = NULL;
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

/* Its owner may change or truncate the file meanwhile: the size is as announced, or it fails. */
static enum err copy(struct run_queue *queue, int from, uint64_t size, int to)
{
    enum err err = reserve_data(queue);
    for (uint64_t at = 0; !err && at < size;) {
        uint64_t left = size - at;
        ssize_t got = pread(from, queue->data, left < PIECE ? (size_t)left : PIECE, (off_t)at);
        err = got > 0 ? write_all(to, queue->data, (size_t)got) : got < 0 ? err_from_errno(errno) : IO;
        at += got > 0 ? (uint64_t)got : 0;
    }
    return err;
}

static enum err copy_to(struct run_queue *queue, int from, uint64_t size, const char *path)
{
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return err_from_errno(errno);
    enum err err = copy(queue, from, size, to);
    if (close(to) && !err)
        err = err_from_errno(errno);
    return err;
}

enum err run_queue_add(struct run_queue *queue, uint32_t uid, const char *name, int fd, uint64_t size)
{
    char part[PATH_MAX + 300], path[PATH_MAX + 300];
    if (!fits(queue, uid, size))
        return FULL;
    if (mkdir(queue->dir, 0700) && errno != EEXIST)
        return err_from_errno(errno);
    path_of(queue, uid, name, PART, part);
    path_of(queue, uid, name, SUFFIX, path);
    enum err err = copy_to(queue, fd, size, part);
    if (!err && rename(part, path))
        err = err_from_errno(errno);
    if (!err)
        err = remember(queue, uid, name, size, clock_realtime_ns());
    if (err)
        unlink(part);
    return err;
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
    path_of(queue, run->uid, run->name, SUFFIX, path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    ssize_t got = pread(fd, queue->data, PIECE, (off_t)run->sent);
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
    while (queue->count && size < TURN_BYTES && has_capacity(sender)) {
        const char *user = "";
        size_t next = choose(queue, &user);
        if (next == queue->count || send_piece(queue, sender, next, user, &size))
            return;
    }
}
