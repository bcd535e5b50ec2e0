/* Names come from inotify. When it has lost some, and every minute, the directory is listed; a run's at each tick. */
#include "appmetrics/segments.h"

#include "base/clock.h"
#include "appmetrics/fd_quota.h"
#include "appmetrics/saved_state.h"
#include "appmetrics/segment_claim.h"
#include "appmetrics/segment_dir.h"
#include "appmetrics/segment_import.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_NS (60 * NS_PER_S)
#define MAINTENANCE_NS (5 * NS_PER_S) /* of directories of runs and of the claim: some system calls, not at each tick */
#define ATTEMPTS_MAX 20u              /* ticks that the creation of a segment may take */
#define AGENT_WAIT_NS (60 * NS_PER_S) /* how long a run waits for an agent that has to read what the run has read */
#define TRIM_COUNT 256u               /* programs that ended within a tick, with 8 kB each: return memory to the system */
#define FD_SHARE 0.75                 /* of the descriptors of the process */

struct segment_entry {
    struct segment_import import;
    struct segment_dir *dir;
    bool is_open, is_done;   /* done: to be forgotten after its last samples */
    bool must_remove;        /* the file too, when what it counted is saved */
    uint64_t inode, done_ns;
    unsigned attempts;       /* to open it */
    uint32_t uid;            /* while it is open */
    LIST_ENTRY(segment_entry) link;
    char name[];
};

struct segments {
    struct segments_settings settings;
    char socket[SEGMENT_SOCKET_SIZE]; /* "": any */
    struct segment_dir *dirs;         /* the first one is the directory itself */
    LIST_HEAD(, segment_entry) entries;
    struct map by_name;
    struct baselines baselines;       /* of an earlier agent, until all segments were opened */
    struct fd_quota descriptors;      /* of segments, and of directories of runs */
    int inotify_fd, claim_fd;
    struct saved_state_file state;
    uint64_t listed_ns, maintained_ns;
    bool must_list;
    bool has_refused;                 /* a segment for lack of descriptors: list again when one is returned */
};

struct segment_key {
    const struct segment_dir *dir;
    const char *name;
};

static uint64_t hash_of(const struct segment_dir *dir, const char *name)
{
    return map_hash_string(map_hash(0, &dir, sizeof dir), name);
}

static bool is_entry(const void *item, const void *key)
{
    const struct segment_entry *entry = item;
    const struct segment_key *wanted = key;
    return entry->dir == wanted->dir && strcmp(entry->name, wanted->name) == 0;
}

static void add(struct segments *segments, struct segment_dir *dir, const char *name)
{
    uint64_t hash = hash_of(dir, name);
    if (strncmp(name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) != 0
        || map_find(&segments->by_name, hash, is_entry, &(struct segment_key){ dir, name }))
        return;
    struct segment_entry *entry = calloc(1, sizeof *entry + strlen(name) + 1);
    if (!entry || map_add(&segments->by_name, hash, entry, VEC_MAX)) {
        free(entry);
        return;
    }
    memcpy(entry->name, name, strlen(name) + 1);
    entry->dir = dir;
    dir->segments++;
    LIST_INSERT_HEAD(&segments->entries, entry, link);
}

/* Everybody may write to the directory: a user gets no more of our descriptors than are left for the others. */
static bool may_open(struct segments *segments, uint32_t uid)
{
    bool is_limited = geteuid() == 0 && uid != 0;
    return is_limited ? fd_quota_allows(&segments->descriptors, uid) : fd_quota_has_left(&segments->descriptors);
}

static void return_descriptor(struct segments *segments, uint32_t uid)
{
    fd_quota_return(&segments->descriptors, uid);
    segments->must_list |= segments->has_refused;
    segments->has_refused = false;
}

static void close_entry(struct segments *segments, struct segment_entry *entry)
{
    if (!entry->is_open)
        return;
    return_descriptor(segments, entry->uid);
    segment_import_close(&entry->import, segments->settings.registry);
    entry->is_open = false;
}

static void forget(struct segments *segments, struct segment_entry *entry)
{
    map_remove(&segments->by_name, hash_of(entry->dir, entry->name), entry);
    LIST_REMOVE(entry, link);
    close_entry(segments, entry);
    entry->dir->segments--;
    free(entry);
}

static void list(struct segments *segments, struct segment_dir *dir);

static void add_dir(struct segments *segments, const char *path, const char *name)
{
    struct segment_dir *dir = segments->dirs, **at = &segments->dirs;
    struct stat st;
    while (dir && strcmp(dir->path, path) != 0)
        dir = dir->next;
    if (dir || lstat(path, &st) < 0 || !may_open(segments, st.st_uid)
        || segment_dir_open(&dir, path, name, segments->inotify_fd))
        return;
    if (!may_open(segments, dir->uid)) { /* it was replaced meanwhile */
        segment_dir_close(&dir, segments->inotify_fd);
        return;
    }
    fd_quota_take(&segments->descriptors, dir->uid);
    while (*at)
        at = &(*at)->next;
    *at = dir;
    list(segments, dir);
}

/* A segment may be for another agent of this user, which reads only those that name its socket. */
static bool is_ours(const struct segments *segments, const struct segment_dir *dir, const char *name)
{
    if (segments->settings.is_run)
        return true;
    return *segments->socket ? strcmp(segment_name_socket(name), segments->socket) == 0
                             : !segment_dir_is_of_other_agent(dir, name);
}

/* A segment, or, in the agent's directory, the directory of a run. */
static void add_any(struct segments *segments, struct segment_dir *dir, const char *name)
{
    char path[SEGMENT_DIR_PATH_MAX];
    if (segments->settings.is_run || dir != segments->dirs
        || strncmp(name, SEGMENT_RUN_PREFIX, strlen(SEGMENT_RUN_PREFIX)) != 0)
        add(segments, dir, name);
    else if ((size_t)snprintf(path, sizeof path, "%s/%s", dir->path, name) < sizeof path)
        add_dir(segments, path, name);
}

static void list(struct segments *segments, struct segment_dir *dir)
{
    DIR *stream = opendir(dir->path);
    if (!stream)
        return;
    for (struct dirent *entry; (entry = readdir(stream));)
        add_any(segments, dir, entry->d_name);
    closedir(stream);
}

static void handle_event(struct segments *segments, const struct inotify_event *event)
{
    struct segment_dir *dir = segments->dirs;
    segments->must_list |= (event->mask & IN_Q_OVERFLOW) != 0;
    while (dir && dir->watch != event->wd)
        dir = dir->next;
    if (dir && event->len)
        add_any(segments, dir, event->name);
}

static void handle_events(struct segments *segments)
{
    _Alignas(struct inotify_event) char events[16384];
    ssize_t got;
    while (segments->inotify_fd >= 0 && (got = read(segments->inotify_fd, events, sizeof events)) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(events + at);
            handle_event(segments, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
}

static void find_new(struct segments *segments, uint64_t now_ns)
{
    handle_events(segments);
    if (!segments->must_list && segments->inotify_fd >= 0 && now_ns - segments->listed_ns < LIST_NS)
        return;
    segments->must_list = false;
    segments->listed_ns = now_ns;
    for (struct segment_dir *dir = segments->dirs; dir; dir = dir->next)
        list(segments, dir);
}

/* --- saved state --- */

/* An earlier agent has saved what it counted, but was killed before it removed it. */
static void remove_saved(void *context, const char *name, uint64_t inode)
{
    const struct segments *segments = context;
    segment_dir_remove(segments->dirs, name, inode, segments->claim_fd);
}

static void write_finished(void *context, struct buf *file)
{
    const struct segments *segments = context;
    const struct segment_entry *entry;
    LIST_FOREACH(entry, &segments->entries, link)
        if (entry->is_done && entry->must_remove && !entry->dir->is_run)
            saved_state_write_segment(file, entry->name, entry->inode);
}

static bool write_baselines(void *context, struct buf *file, bool of_ranks)
{
    const struct segments *segments = context;
    const struct segment_entry *entry;
    bool has_any = of_ranks ? baselines_write_all_ranks(file, &segments->baselines)
                            : baselines_write_all(file, &segments->baselines);
    LIST_FOREACH(entry, &segments->entries, link) {
        const struct segment_import *import = &entry->import;
        if (!entry->is_open || !import->has_baseline)
            continue;
        uint64_t inode = segment_reader_info(import->reader)->inode;
        has_any |= of_ranks ? baselines_write_ranks(file, entry->name, inode, &import->ranks)
                            : baselines_write(file, entry->name, inode, import->contributions.items,
                                              import->contributions.count);
    }
    return has_any;
}

static struct saved_state_segments saved_parts(struct segments *segments)
{
    return (struct saved_state_segments){ write_finished, write_baselines, &segments->baselines, remove_saved, segments };
}

static void load_state(struct segments *segments)
{
    const struct saved_state_segments parts = saved_parts(segments);
    struct saved_state_file *state = &segments->state;
    state->registry = segments->settings.registry;
    if (segments->settings.is_run
        || segment_claim_path(state->path, segments->dirs->path, segments->socket, SEGMENT_CLAIM_STATE_SUFFIX))
        state->path[0] = '\0';
    saved_state_load(state, &parts);
}

enum err segments_open(struct segments **segments, const struct segments_settings *settings)
{
    struct segments *new = *segments = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->settings = *settings;
    new->claim_fd = -1;
    /* A run lists its own small directory at each tick: to close an inotify descriptor takes the kernel 5 to 20 ms. */
    new->inotify_fd = settings->is_run ? -1 : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    snprintf(new->socket, sizeof new->socket, "%s", settings->socket ? settings->socket : "");
    enum err err = settings->is_run ? OK : segment_claim_take(settings->dir, new->socket, &new->claim_fd);
    if (!err)
        err = segment_dir_open(&new->dirs, settings->dir, NULL, new->inotify_fd);
    new->settings.dir = new->settings.socket = NULL; /* borrowed for the call only */
    fd_quota_init(&new->descriptors, FD_SHARE);
    new->must_list = true;
    if (err)
        segments_close(segments);
    else
        load_state(new);
    return err;
}

/* --- reading --- */

/* False: it is to be forgotten. */
static bool open_entry(struct segments *segments, struct segment_entry *entry)
{
    struct registry *registry = segments->settings.registry;
    char path[SEGMENT_DIR_PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", entry->dir->path, entry->name) >= sizeof path
        || !is_ours(segments, entry->dir, entry->name)
        || (segments->claim_fd >= 0 && segment_dir_was_read(entry->dir, entry->name))
        || fstatat(entry->dir->fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    if (!may_open(segments, st.st_uid)) {
        segments->has_refused = true;
        return false;
    }
    enum err err = segment_import_open(&entry->import, path);
    entry->is_open = !err;
    if (!err) {
        const struct segment_info *info = segment_reader_info(entry->import.reader);
        entry->uid = info->uid;
        entry->import.baseline = baselines_take(&segments->baselines, entry->name, info->inode);
        fd_quota_take(&segments->descriptors, entry->uid);
    }
    entry->import.is_sampled_elsewhere = entry->dir->is_run;
    if (err == AGAIN)
        return ++entry->attempts < ATTEMPTS_MAX;
    if (err == CORRUPT) {
        registry_lock(registry);
        registry->stats.bad_segments++;
        registry_unlock(registry);
    }
    return !err;
}

/* It is removed when what it counted is saved. */
static void finish(struct segment_entry *entry)
{
    entry->is_done = entry->must_remove = true;
    entry->done_ns = clock_monotonic_ns();
    entry->inode = segment_reader_info(entry->import.reader)->inode;
}

static void tick_entry(struct segments *segments, struct segment_entry *entry)
{
    const struct segments_settings *settings = &segments->settings;
    if (entry->is_done)
        return;
    if (!entry->is_open && !open_entry(segments, entry)) {
        entry->is_done = true;
        return;
    }
    if (!entry->is_open)
        return;
    segment_import_update(&entry->import, settings->registry, settings->jobs, settings->root);
    if (entry->import.is_finished)
        finish(entry);
}

/* Closes directories of runs that are over, when nothing in them is being read any more. */
static void close_dirs(struct segments *segments)
{
    for (struct segment_dir **at = &segments->dirs->next; *at;)
        if ((*at)->segments == 0 && segment_dir_has_ended(*at)) {
            return_descriptor(segments, (*at)->uid);
            segment_dir_close(at, segments->inotify_fd);
        } else {
            at = &(*at)->next;
        }
}

static void maintain(struct segments *segments, uint64_t now_ns)
{
    struct segment_entry *entry;
    if (now_ns - segments->maintained_ns < MAINTENANCE_NS)
        return;
    segments->maintained_ns = now_ns;
    LIST_FOREACH(entry, &segments->entries, link)
        entry->is_done |= entry->is_open && !is_ours(segments, entry->dir, entry->name);
    close_dirs(segments);
    if (segments->claim_fd >= 0)
        segment_claim_touch(segments->claim_fd);
}

/* First those that are open: when one has ended, an MPI program that was started after it did not run beside it
 * (mpi_worlds.h). */
void segments_tick(struct segments *segments)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct segment_entry *entry;
    find_new(segments, now_ns);
    LIST_FOREACH(entry, &segments->entries, link)
        if (entry->is_open)
            tick_entry(segments, entry);
    LIST_FOREACH(entry, &segments->entries, link)
        if (!entry->is_open)
            tick_entry(segments, entry);
    baselines_clear(&segments->baselines);
    maintain(segments, now_ns);
}

void segments_leave_job(struct segments *segments, const struct scope *scope)
{
    struct segment_entry *entry;
    LIST_FOREACH(entry, &segments->entries, link)
        if (entry->is_open && entry->import.scope == scope)
            segment_import_leave_job(&entry->import, segments->settings.registry);
}

/* NULL: no samples are written of it. */
static struct mpi_rank_sums *sums_of(const struct segment_entry *entry)
{
    struct scope *scope = entry->is_open ? entry->import.scope : NULL;
    if (!scope || entry->import.is_sampled_elsewhere || (scope->kind == SCOPE_JOB && !scope->job.is_known))
        return NULL;
    return &scope_mpi(scope)->sums;
}

/* First all sums, then the samples: two programs may be parts of one sum. */
void segments_sample(struct segments *segments, struct batch *batch, uint64_t time_ns)
{
    struct mpi_rank_sums *sums;
    struct segment_entry *entry;
    LIST_FOREACH(entry, &segments->entries, link)
        if ((sums = sums_of(entry)))
            mpi_ranks_sum(&entry->import.ranks, sums);
    LIST_FOREACH(entry, &segments->entries, link)
        if ((sums = sums_of(entry)))
            mpi_rank_sums_sample(sums, batch, time_ns, entry->import.scope->id);
}

/* --- removing --- */

/* A run removes also what the agents have read, but an agent may be stopped. */
static bool must_wait(const struct segments *segments, const struct segment_entry *entry)
{
    return segments->settings.is_run && entry->must_remove && clock_monotonic_ns() - entry->done_ns < AGENT_WAIT_NS
           && segment_dir_is_wanted(entry->dir, entry->name);
}

static void forget_finished(struct segments *segments, bool is_last)
{
    const struct saved_state_segments parts = saved_parts(segments);
    size_t before = segments->by_name.count;
    struct segment_entry *entry;
    LIST_FOREACH(entry, &segments->entries, link)
        if (entry->is_done)
            close_entry(segments, entry);
    if (!saved_state_save(&segments->state, &parts, is_last))
        return;
    for (struct segment_entry *next = LIST_FIRST(&segments->entries); (entry = next);) {
        next = LIST_NEXT(entry, link);
        if (!entry->is_done || must_wait(segments, entry))
            continue;
        if (entry->must_remove)
            segment_dir_remove(entry->dir, entry->name, entry->inode, segments->claim_fd);
        forget(segments, entry);
    }
    if (before - segments->by_name.count >= TRIM_COUNT)
        malloc_trim(0);
}

void segments_forget_finished(struct segments *segments)
{
    forget_finished(segments, false);
}

size_t segments_count(const struct segments *segments)
{
    return segments->by_name.count;
}

void segments_close(struct segments **segments)
{
    struct segments *old = *segments;
    if (!old)
        return;
    if (old->dirs)
        forget_finished(old, true);
    while (!LIST_EMPTY(&old->entries))
        forget(old, LIST_FIRST(&old->entries));
    while (old->dirs)
        segment_dir_close(&old->dirs, -1);
    map_clear(&old->by_name);
    fd_quota_clear(&old->descriptors);
    baselines_clear(&old->baselines);
    if (old->inotify_fd >= 0)
        close(old->inotify_fd);
    if (old->claim_fd >= 0)
        close(old->claim_fd);
    free(old);
    *segments = NULL;
}
