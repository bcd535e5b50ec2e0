/* Reads /proc/PID: identity of a process, its counters so far, and the list of all processes. */
#include "run/proc_snapshot.h"

#include "base/clock.h"
#include "spool/record.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL_MAX (16 << 10)
#define ARGS_MAX (8 << 20)
#define ARGS_KEEP (64 << 10)
#define DELETED " (deleted)"

enum err proc_snapshot_open(struct proc_snapshot_reader *reader, const char *root)
{
    char path[PATH_MAX];
    *reader = (struct proc_snapshot_reader){ .proc_fd = -1, .real = !root || !*root };
    buf_init(&reader->stat, SMALL_MAX);
    buf_init(&reader->path, SMALL_MAX);
    buf_init(&reader->args, ARGS_MAX);
    buf_init(&reader->cwd, SMALL_MAX);
    buf_init(&reader->status, SMALL_MAX);
    snprintf(path, sizeof path, "%s/proc", root ? root : "");
    reader->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return reader->proc_fd < 0 ? err_from_errno(errno) : OK;
}

void proc_snapshot_close(struct proc_snapshot_reader *reader)
{
    if (reader->proc_fd >= 0)
        close(reader->proc_fd);
    reader->proc_fd = -1;
    buf_clear(&reader->stat);
    buf_clear(&reader->path);
    buf_clear(&reader->args);
    buf_clear(&reader->cwd);
    buf_clear(&reader->status);
}

/* The whole file: /proc does not tell its size beforehand. */
static enum err read_open(int fd, struct buf *buf)
{
    enum err err = OK;
    buf_reset(buf);
    for (;;) {
        size_t capacity = buf->capacity > buf->size + 1 ? buf->capacity - buf->size - 1 : 4095;
        char *to = buf_reserve(buf, capacity);
        ssize_t got = to ? read(fd, to, capacity) : 0;
        if (got < 0)
            err = err_from_errno(errno);
        if (got <= 0)
            break;
        buf->size += (size_t)got;
        buf->data[buf->size] = '\0';
        if ((size_t)got < capacity) /* these files return as much as fits: a short read is the end */
            break;
    }
    return err;
}

static enum err read_whole(int dir_fd, const char *name, struct buf *buf)
{
    buf_reset(buf);
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    enum err err = read_open(fd, buf);
    close(fd);
    return err;
}

static enum err read_link(int dir_fd, const char *name, struct buf *buf)
{
    buf_reset(buf);
    char *to = buf_reserve(buf, PATH_MAX);
    if (!to)
        return NOMEM;
    ssize_t got = readlinkat(dir_fd, name, to, PATH_MAX);
    if (got < 0)
        return err_from_errno(errno);
    buf->size = (size_t)got;
    buf->data[buf->size] = '\0';
    return OK;
}

/* The kernel appends this if the file was removed while it was running. */
static void cut_deleted(struct buf *path)
{
    size_t mark = strlen(DELETED);
    if (path->size <= mark || strcmp(path->data + path->size - mark, DELETED) != 0 || access(path->data, F_OK) == 0)
        return;
    path->size -= mark;
    path->data[path->size] = '\0';
}

static uint64_t number_at(const char **at)
{
    char *end;
    uint64_t value = strtoull(*at, &end, 10);
    *at = end;
    return value;
}

/* Fields after the name, numbered as in proc(5). */
enum { STAT_STATE = 3, STAT_PPID, STAT_PGID, STAT_SID, STAT_MINFLT = 10, STAT_MAJFLT = 12, STAT_UTIME = 14, STAT_STIME,
       STAT_THREADS = 20, STAT_START = 22, STAT_LAST = 22, STAT_EXIT_CODE = 52 };

static void take_stat(const uint64_t *field, struct proc_snapshot *snapshot)
{
    uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    snapshot->ppid = (uint32_t)field[STAT_PPID];
    snapshot->pgid = (uint32_t)field[STAT_PGID];
    snapshot->sid = (uint32_t)field[STAT_SID];
    snapshot->threads = (uint32_t)field[STAT_THREADS];
    snapshot->start_ticks = field[STAT_START];
    snapshot->stat_known = true;
    counters_set(&snapshot->stat_counters, COUNTER_minflt, field[STAT_MINFLT]);
    counters_set(&snapshot->stat_counters, COUNTER_majflt, field[STAT_MAJFLT]);
    counters_set(&snapshot->stat_counters, COUNTER_usertime, field[STAT_UTIME] * tick_us);
    counters_set(&snapshot->stat_counters, COUNTER_systemtime, field[STAT_STIME] * tick_us);
    counters_set(&snapshot->stat_counters, COUNTER_num_threads, field[STAT_THREADS]);
}

enum err proc_snapshot_parse_stat(struct bytes line, struct proc_snapshot *snapshot)
{
    if (!line.data)
        return CORRUPT;
    const char *open = memchr(line.data, '(', line.size);
    const char *close_paren = memrchr(line.data, ')', line.size); /* a name may contain blanks and parentheses */
    if (!open || !close_paren || close_paren < open || close_paren + 4 > line.data + line.size)
        return CORRUPT;
    uint64_t field[STAT_LAST + 1] = { 0 };
    const char *at = close_paren + 3;
    for (int i = STAT_PPID; i <= STAT_LAST; i++) {
        if (at >= line.data + line.size || *at != ' ')
            return CORRUPT;
        field[i] = number_at(&at);
    }
    snapshot->name = (struct bytes){ open + 1, (size_t)(close_paren - open - 1) };
    take_stat(field, snapshot);
    bool is_dead = close_paren[2] == 'Z' || close_paren[2] == 'X'; /* the main thread */
    snapshot->is_zombie = is_dead && snapshot->threads <= 1;
    snapshot->is_leaderless = is_dead && snapshot->threads > 1;
    return OK;
}

static enum err read_stat(struct proc_snapshot_reader *reader, int dir_fd, const char *name, struct proc_snapshot *snapshot)
{
    enum err err = read_whole(dir_fd, name, &reader->stat);
    if (!err && reader->stat.size)
        err = proc_snapshot_parse_stat((struct bytes){ reader->stat.data, reader->stat.size }, snapshot);
    return err == ABSENT ? GONE : err;
}

enum err proc_snapshot_read_stat(struct proc_snapshot_reader *reader, uint32_t pid, struct proc_snapshot *snapshot)
{
    char name[32];
    *snapshot = (struct proc_snapshot){ .pid = pid };
    snprintf(name, sizeof name, "%u/stat", pid);
    return read_stat(reader, reader->proc_fd, name, snapshot);
}

/* The kernel shows 0 to users who may not see the exit code: then 0 means unknown. */
enum err proc_snapshot_read_zombie(struct proc_snapshot_reader *reader, uint32_t pid, int *status)
{
    struct proc_snapshot snapshot;
    enum err err = proc_snapshot_read_stat(reader, pid, &snapshot);
    if (err || !snapshot.is_zombie)
        return err ? err : AGAIN;
    const char *at = strrchr(buf_text(&reader->stat), ')');
    for (int field = 2; at && field < STAT_EXIT_CODE; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return ABSENT;
    *status = (int)strtol(at, NULL, 10);
    return *status || geteuid() == 0 ? OK : DENIED;
}

/* The real user id. */
static void read_uid(struct proc_snapshot_reader *reader, int dir_fd, struct proc_snapshot *snapshot)
{
    if (read_whole(dir_fd, "status", &reader->status))
        return;
    const char *line = strstr(buf_text(&reader->status), "\nUid:");
    if (!line)
        return;
    snapshot->uid = (uint32_t)strtoul(line + 5, NULL, 10);
    snapshot->uid_known = true;
}

/* The directory belongs to the effective user, or to root if the process is not dumpable. */
static void find_uid(struct proc_snapshot_reader *reader, int dir_fd, uint32_t known_uid, struct proc_snapshot *snapshot)
{
    struct stat st;
    if (known_uid != UINT32_MAX && fstat(dir_fd, &st) == 0 && st.st_uid == known_uid) {
        snapshot->uid = known_uid;
        snapshot->uid_known = true;
    } else {
        read_uid(reader, dir_fd, snapshot);
    }
}

uint32_t proc_snapshot_uid(const struct proc_snapshot *snapshot)
{
    return snapshot->uid_known ? snapshot->uid : RECORD_UID_UNKNOWN;
}

static int open_process(struct proc_snapshot_reader *reader, uint32_t pid)
{
    char name[16];
    snprintf(name, sizeof name, "%u", pid);
    return openat(reader->proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* What it executes, from the directory of a process or thread. */
static void read_strings(struct proc_snapshot_reader *reader, int dir_fd, struct proc_snapshot *snapshot)
{
    if (read_whole(dir_fd, "cmdline", &reader->args) == OK)
        snapshot->args = (struct bytes){ reader->args.data, reader->args.size };
    if (read_link(dir_fd, "exe", &reader->path) == OK) {
        cut_deleted(&reader->path);
        snapshot->path = (struct bytes){ reader->path.data, reader->path.size };
    }
    if (read_link(dir_fd, "cwd", &reader->cwd) == OK)
        snapshot->cwd = (struct bytes){ reader->cwd.data, reader->cwd.size };
}

/* A main thread that has ended no longer has them; other threads do. */
static void read_strings_of_threads(struct proc_snapshot_reader *reader, int dir_fd, struct proc_snapshot *snapshot)
{
    int task_fd = openat(dir_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = task_fd < 0 ? NULL : fdopendir(task_fd);
    for (struct dirent *entry; dir && !snapshot->path.size && (entry = readdir(dir));) {
        int fd = entry->d_name[0] == '.' ? -1 : openat(task_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            continue;
        read_strings(reader, fd, snapshot);
        close(fd);
    }
    if (dir)
        closedir(dir);
    else if (task_fd >= 0)
        close(task_fd);
}

enum err proc_snapshot_read(struct proc_snapshot_reader *reader, uint32_t pid, uint32_t known_uid,
                            struct proc_snapshot *snapshot)
{
    *snapshot = (struct proc_snapshot){ .pid = pid };
    if (reader->args.capacity > ARGS_KEEP)
        buf_clear(&reader->args);
    int dir_fd = open_process(reader, pid);
    if (dir_fd < 0)
        return GONE;
    read_strings(reader, dir_fd, snapshot); /* first what disappears first when a process ends */
    enum err err = read_stat(reader, dir_fd, "stat", snapshot);
    if (!err && snapshot->is_leaderless)
        read_strings_of_threads(reader, dir_fd, snapshot);
    if (!err)
        find_uid(reader, dir_fd, known_uid, snapshot);
    close(dir_fd);
    return err;
}

/* The file belongs to the effective user, or to root if the process is not dumpable. */
static void find_owner(struct proc_snapshot_reader *reader, uint32_t pid, const struct stat *st, uint32_t known_uid,
                       struct proc_snapshot *snapshot)
{
    if (st->st_uid == known_uid) {
        snapshot->uid = known_uid;
        snapshot->uid_known = true;
        return;
    }
    int dir_fd = open_process(reader, pid);
    if (dir_fd < 0)
        return;
    read_uid(reader, dir_fd, snapshot);
    close(dir_fd);
}

/* With full paths: opening the directory of the process first costs more than it saves. */
enum err proc_snapshot_read_image(struct proc_snapshot_reader *reader, uint32_t pid, uint32_t known_uid,
                                  struct proc_snapshot *snapshot)
{
    char name[32];
    struct stat st;
    *snapshot = (struct proc_snapshot){ .pid = pid };
    if (reader->args.capacity > ARGS_KEEP)
        buf_clear(&reader->args);
    size_t size = (size_t)snprintf(name, sizeof name, "%u/cmdline", pid) - strlen("cmdline");
    int fd = openat(reader->proc_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return GONE;
    if (read_open(fd, &reader->args) == OK)
        snapshot->args = (struct bytes){ reader->args.data, reader->args.size };
    bool is_there = fstat(fd, &st) == 0;
    close(fd);
    snprintf(name + size, sizeof name - size, "exe");
    if (read_link(reader->proc_fd, name, &reader->path) == OK) {
        cut_deleted(&reader->path);
        snapshot->path = (struct bytes){ reader->path.data, reader->path.size };
    }
    snprintf(name + size, sizeof name - size, "cwd");
    if (read_link(reader->proc_fd, name, &reader->cwd) == OK)
        snapshot->cwd = (struct bytes){ reader->cwd.data, reader->cwd.size };
    pid_t group = getpgid((pid_t)pid), session = getsid((pid_t)pid);
    if (!is_there || group < 0 || session < 0)
        return GONE;
    snapshot->pgid = (uint32_t)group;
    snapshot->sid = (uint32_t)session;
    find_owner(reader, pid, &st, known_uid, snapshot);
    snapshot->stat_known = snapshot->uid_known;
    return OK;
}

/* Lines "name: value" or "name value"; counters that are missing stay as they are. */
static void add_line(const char *text, const char *name, struct counters *counters, enum counter i)
{
    const char *line = strstr(text, name);
    if (line)
        counters_set(counters, i, counters_get(counters, i) + strtoull(line + strlen(name), NULL, 10));
}

static void add_io(const char *text, struct counters *counters)
{
    add_line(text, "rchar: ", counters, COUNTER_rchar);
    add_line(text, "wchar: ", counters, COUNTER_wchar);
    add_line(text, "syscr: ", counters, COUNTER_syscr);
    add_line(text, "syscw: ", counters, COUNTER_syscw);
    add_line(text, "\nread_bytes: ", counters, COUNTER_read_bytes);
    add_line(text, "\nwrite_bytes: ", counters, COUNTER_write_bytes);
    add_line(text, "cancelled_write_bytes: ", counters, COUNTER_cancelled_write_bytes);
}

static void add_schedstat(const char *text, struct counters *counters)
{
    static const enum counter fields[] = { COUNTER_time_oncpu, COUNTER_time_waiting, COUNTER_timeslices };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        counters_set(counters, fields[i], counters_get(counters, fields[i]) + number_at(&text));
}

static void add_thread(struct proc_snapshot_reader *reader, int task_fd, const char *tid, struct counters *counters)
{
    int fd = openat(task_fd, tid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read_whole(fd, "status", &reader->status) == OK) {
        add_line(buf_text(&reader->status), "\nvoluntary_ctxt_switches:", counters, COUNTER_vol_ctxsw);
        add_line(buf_text(&reader->status), "\nnonvoluntary_ctxt_switches:", counters, COUNTER_invol_ctxsw);
    }
    if (read_whole(fd, "io", &reader->status) == OK)
        add_io(buf_text(&reader->status), counters);
    if (read_whole(fd, "schedstat", &reader->status) == OK && reader->status.size)
        add_schedstat(buf_text(&reader->status), counters);
    close(fd);
}

static void add_threads(struct proc_snapshot_reader *reader, int dir_fd, struct counters *counters)
{
    int task_fd = openat(dir_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = task_fd < 0 ? NULL : fdopendir(task_fd);
    if (!dir) {
        if (task_fd >= 0)
            close(task_fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));)
        if (isdigit((unsigned char)entry->d_name[0]))
            add_thread(reader, task_fd, entry->d_name, counters);
    closedir(dir);
}

/* The stat line has user and system time in ticks; the CPU clock has their sum in ns. */
static void refine_cpu_time(uint32_t pid, struct counters *counters)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid((pid_t)pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return;
    uint64_t us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
    uint64_t user = counters_get(counters, COUNTER_usertime), sum = counters_cpu_us(counters);
    uint64_t user_us = sum ? (uint64_t)((double)us * (double)user / (double)sum) : us;
    counters_set(counters, COUNTER_usertime, user_us);
    counters_set(counters, COUNTER_systemtime, us - user_us);
}

void proc_snapshot_counters(struct proc_snapshot_reader *reader, uint32_t pid, bool whole, struct counters *counters)
{
    struct proc_snapshot snapshot = { .pid = pid };
    int dir_fd = open_process(reader, pid);
    *counters = (struct counters){ 0 };
    if (dir_fd < 0)
        return;
    if (read_stat(reader, dir_fd, "stat", &snapshot) == OK && snapshot.stat_known) {
        *counters = snapshot.stat_counters;
        if (reader->real)
            refine_cpu_time(pid, counters);
    }
    if (read_whole(dir_fd, "status", &reader->status) == OK)
        add_line(buf_text(&reader->status), "\nVmHWM:", counters, COUNTER_rssmax);
    if (whole)
        add_threads(reader, dir_fd, counters);
    close(dir_fd);
}

enum err proc_snapshot_each(struct proc_snapshot_reader *reader,
                            void (*each)(void *context, const struct proc_snapshot *snapshot), void *context)
{
    int fd = openat(reader->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return IO;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct proc_snapshot snapshot;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (proc_snapshot_read_stat(reader, (uint32_t)strtoul(entry->d_name, NULL, 10), &snapshot) == OK
            && snapshot.stat_known)
            each(context, &snapshot);
    }
    closedir(dir);
    return OK;
}
