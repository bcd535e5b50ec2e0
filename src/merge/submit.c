/* Merges spools and saves them. A spool is removed only after the store has saved it: saving twice is harmless, losing
 * it is not. */
#include "merge/submit.h"

#include "merge/survivors.h"
#include "spool/probe_env.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define DEPTH_MAX 4 /* sonde-UID, spool, run */
#define SUFFIX ".spool"
#define MERGES_MAX 4

/* sonde run creates a directory for a spool, named like the end of the spool's name. Any other directory belongs to
 * somebody else. */
static bool is_own_directory(const char *directory, const char *spool)
{
    const char *slash = strrchr(directory, '/');
    const char *name = slash ? slash + 1 : directory;
    size_t size = strlen(name), end = strlen(spool);
    if (end <= strlen(SUFFIX) + size || strcmp(spool + end - strlen(SUFFIX), SUFFIX) != 0)
        return false;
    const char *own = spool + end - strlen(SUFFIX) - size;
    return own[-1] == '.' && strncmp(own, name, size) == 0;
}

static bool is_dead_socket(const char *path)
{
    struct stat st;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode) || strlen(path) >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_dead = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return is_dead;
}

/* pid of sonde run, from HOST.TIME-PID-RANDOM.spool; 0 if the name has another form. */
static unsigned long pid_in_name(const char *spool)
{
    size_t size = strlen(spool);
    const char *at = size > strlen(SUFFIX) ? memrchr(spool, '.', size - strlen(SUFFIX)) : NULL;
    const char *dash = at ? strchr(at, '-') : NULL;
    char *end = NULL;
    unsigned long pid = dash ? strtoul(dash + 1, &end, 16) : 0;
    return end && *end == '-' ? pid : 0;
}

/* Only a path as created by mkdtemp is accepted: a link planted by somebody else must not lead elsewhere. */
static bool is_perf_socket(const char *path)
{
    const char *open = strchr(SPOOL_PERF_SOCKET, 'X');
    size_t first = (size_t)(open - SPOOL_PERF_SOCKET), size = strspn(open, "X");
    if (strlen(path) != strlen(SPOOL_PERF_SOCKET) || strncmp(path, SPOOL_PERF_SOCKET, first) != 0)
        return false;
    for (size_t i = first; i < first + size; i++)
        if (!isalnum((unsigned char)path[i]))
            return false;
    return strcmp(path + first + size, open + size) == 0;
}

/* The socket of a spool with a long path is in a directory of its own; a link leads to it. */
static void remove_linked(const char *link)
{
    char path[sizeof SPOOL_PERF_SOCKET] = "";
    struct stat st;
    if (readlink(link, path, sizeof path - 1) < 0 || !is_perf_socket(path))
        return;
    if (lstat(path, &st) == 0 && !is_dead_socket(path))
        return;
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    unlink(link);
}

/* A killed sonde run leaves the socket to which threads send their perf descriptors. It is named by pid, and another
 * run may have that pid now and be listening. */
static void remove_socket(const char *directory, const char *spool)
{
    char path[PATH_MAX + 32];
    unsigned long pid = pid_in_name(spool);
    snprintf(path, sizeof path, "%s/" SPOOL_PERF_NAME "%lu", directory, pid);
    if (!pid)
        return;
    if (is_dead_socket(path))
        unlink(path);
    else
        remove_linked(path);
}

/* Besides the spool itself: its count of lost records, its bell, its socket, and its directory if that was created for
 * it alone. */
void submit_remove(const char *path)
{
    char other[PATH_MAX + sizeof SPOOL_LOST_SUFFIX + sizeof SPOOL_NOTICES_SUFFIX];
    unlink(path);
    snprintf(other, sizeof other, "%s" SPOOL_LOST_SUFFIX, path);
    unlink(other);
    snprintf(other, sizeof other, "%s" SPOOL_NOTICES_SUFFIX, path);
    unlink(other);
    char *slash = strrchr(other, '/');
    if (!slash || slash == other)
        return;
    *slash = '\0';
    remove_socket(other, path);
    if (is_own_directory(other, path))
        rmdir(other);
}

/* If sonde run was killed, nobody has added up the records that the probes could not write. */
static uint64_t count_lost(const char *path)
{
    char other[PATH_MAX + sizeof SPOOL_LOST_SUFFIX];
    uint64_t lost = 0;
    snprintf(other, sizeof other, "%s" SPOOL_LOST_SUFFIX, path);
    int fd = open(other, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return 0;
    if (read(fd, &lost, sizeof lost) != (ssize_t)sizeof lost)
        lost = 0;
    close(fd);
    return lost;
}

static void fill_result(const struct run *run, struct submitted *result)
{
    *result = (struct submitted){ .processes = run->process_count, .gaps = run->gaps };
    size_t size = run->job_id.size < sizeof result->job_id - 1 ? run->job_id.size : sizeof result->job_id - 1;
    if (size)
        memcpy(result->job_id, run->job_id.data, size);
    for (size_t i = 0; i < run->process_count; i++) {
        result->threads += process_threads(&run->processes[i]);
        result->running |= run->processes[i].state == PROCESS_RUNNING;
    }
}

enum err submit_merge(struct merged *merged, const char *spool_path, struct submitted *result)
{
    *result = (struct submitted){ 0 };
    enum err err = merge_spool(merged, spool_path);
    if (err)
        return err;
    uint64_t lost = count_lost(spool_path);
    if (lost > merged->run.gaps.records_lost)
        merged->run.gaps.records_lost = lost;
    fill_result(&merged->run, result);
    return OK;
}

enum err submit_save_clear(struct store *store, struct merged *merged, const char *spool_path, bool keep)
{
    enum err err = store_save_run(store, &merged->run);
    merge_clear(merged);
    if (!err && !keep)
        submit_remove(spool_path);
    return err;
}

enum err submit_spool(struct store *store, const char *spool_path, bool keep, struct submitted *result)
{
    struct merged merged;
    enum err err = submit_merge(&merged, spool_path, result);
    return err ? err : submit_save_clear(store, &merged, spool_path, keep);
}

struct spool_search {
    struct store *store;
    bool keep;
    void (*each)(void *context, const char *path, enum err err, const struct submitted *result);
    void *context;
    enum err first;
    size_t found;
};

/* sonde run holds a lock on the spool while it writes. We take a shared one: NFS gives readers no other. If locks do
 * not work at all, assume that it is in use: a live spool would be removed otherwise. */
static bool is_in_use(const char *path, int *lock_error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false; /* it cannot be submitted either */
    bool in_use = flock(fd, LOCK_SH | LOCK_NB) != 0;
    *lock_error = in_use && errno != EWOULDBLOCK ? errno : 0;
    close(fd);
    return in_use;
}

static off_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : -1;
}

/* The probes of processes that outlived their sonde run still write: as long as there are any, the spool must stay. If
 * one exited between our reading and our scan of the processes, it has written its last records meanwhile: read again. */
static enum err merge_left(struct merged *merged, const char *path, struct submitted *result)
{
    for (int i = 1;; i++) {
        off_t size = size_of(path);
        enum err err = submit_merge(merged, path, result);
        if (err)
            return err;
        result->is_alive = survivors_any(&merged->run, path);
        if (result->is_alive || size_of(path) == size)
            return OK;
        result->is_alive = i == MERGES_MAX; /* a process that we cannot find is writing */
        if (result->is_alive)
            return OK;
        merge_clear(merged);
    }
}

/* root saves spools of all users: each speaks only for its owner. */
static bool is_foreign(const char *path, const struct run *run)
{
    struct stat st;
    return geteuid() == 0 && stat(path, &st) == 0 && st.st_uid != 0 && st.st_uid != run->uid;
}

static enum err submit_left(struct spool_search *search, const char *path, struct submitted *result)
{
    struct merged merged;
    enum err err = merge_left(&merged, path, result);
    result->is_foreign = !err && is_foreign(path, &merged.run);
    if (result->is_foreign) {
        merge_clear(&merged);
        return DENIED;
    }
    return err ? err : submit_save_clear(search->store, &merged, path, search->keep || result->is_alive);
}

static void submit_one(struct spool_search *search, const char *path)
{
    struct submitted result = { 0 };
    enum err err = is_in_use(path, &result.lock_error) ? AGAIN : submit_left(search, path, &result);
    search->found++;
    if (err && !search->first)
        search->first = err;
    if (search->each)
        search->each(search->context, path, err, &result);
}

static bool is_spool_name(const char *name)
{
    size_t size = strlen(name), suffix = strlen(SUFFIX);
    return size > suffix && strcmp(name + size - suffix, SUFFIX) == 0;
}

static int skip_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void search_dir(struct spool_search *search, const char *dir, int depth);

static void visit(struct spool_search *search, const char *path, const char *name, int depth)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
        search_dir(search, path, depth + 1);
    else if (S_ISREG(st.st_mode) && is_spool_name(name))
        submit_one(search, path);
}

/* Sorted by name, so that the same directory always gives the same output. */
static void search_dir(struct spool_search *search, const char *dir, int depth)
{
    struct dirent **entries;
    int count = scandir(dir, &entries, skip_hidden, alphasort);
    if (count < 0) {
        if (!search->first)
            search->first = err_from_errno(errno);
        return;
    }
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name) < sizeof path)
            visit(search, path, entries[i]->d_name, depth);
        free(entries[i]);
    }
    free(entries);
}

enum err submit_dir(struct store *store, const char *dir, bool keep,
                    void (*each)(void *context, const char *path, enum err err, const struct submitted *result),
                    void *context)
{
    struct spool_search search = { .store = store, .keep = keep, .each = each, .context = context };
    struct stat st;
    if (stat(dir, &st) != 0)
        return err_from_errno(errno);
    if (S_ISDIR(st.st_mode))
        search_dir(&search, dir, 0);
    else
        submit_one(&search, dir);
    return search.first ? search.first : search.found ? OK : ABSENT;
}
