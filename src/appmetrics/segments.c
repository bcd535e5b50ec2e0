/* Names come from inotify. When it has lost some, and every minute, the directory is listed; a run's at each tick. A
 * segment is identified by its file, not by its name, which a run changes, and of which there may be several. */
#include "appmetrics/segments.h"

#include "base/clock.h"
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
#define LIST_CALLS 4u                 /* buffers of names of a directory at a tick: some thousand names */
#define EVENTS_CALLS 16u              /* likewise of names from inotify: about 4,000 */
#define MAINTENANCE_NS (5 * NS_PER_S) /* of directories of runs and of the claim: some system calls, not at each tick */
#define ATTEMPTS_MAX 20u              /* ticks that the creation of a segment may take */
#define OTHERS_WAIT_NS (60 * NS_PER_S) /* how long a segment that was read waits for other readers, which may be stopped */
#define TRIM_COUNT 256u               /* programs that ended within a tick, with 8 kB each: return memory to the system */

enum entry_state {
    ENTRY_NEW,
    ENTRY_OPEN,
    ENTRY_READ, /* to its end: stays until the file is removed, so that it is not read again */
    ENTRY_BAD,  /* to be forgotten */
};

struct segment_entry {
    struct segment_import import;
    struct segment_dir *dir;
    char *name;
    enum entry_state state;
    bool is_imported;      /* import is open: also if it was just read, until its last samples are written */
    uint32_t uid;          /* owner of the file */
    uint64_t device, inode;
    unsigned attempts;     /* to open it */
    uint64_t bytes;        /* taken from the user's budget */
    int fd;                /* when it was read: segment_dir_remove; else -1 */
    uint64_t read_ns, tried_ns; /* when it was read, and when its removal was tried */
    TAILQ_ENTRY(segment_entry) link;
};

TAILQ_HEAD(entry_list, segment_entry);

struct segments {
    struct segments_settings settings;
    struct user_budgets *budgets;     /* of the registry */
    char socket[SEGMENT_SOCKET_SIZE]; /* "": any */
    struct segment_dir *dirs;         /* the first one is the directory itself */
    struct entry_list entries;
    struct map by_file;
    struct baselines baselines;       /* of an earlier agent, until all segments were opened */
    int inotify_fd, claim_fd;
    struct saved_state_file state;
    uint64_t listed_ns, maintained_ns;
};

struct file_key {
    uint64_t device, inode;
};

static uint64_t hash_of(struct file_key key)
{
    return map_hash(0, &key, sizeof key);
}

static bool is_entry(const void *item, const void *key)
{
    const struct segment_entry *entry = item;
    const struct file_key *wanted = key;
    return entry->device == wanted->device && entry->inode == wanted->inode;
}

static struct segment_entry *find(const struct segments *segments, struct file_key key)
{
    return map_find(&segments->by_file, hash_of(key), is_entry, &key);
}

static void close_import(struct segments *segments, struct segment_entry *entry)
{
    if (!entry->is_imported)
        return;
    segment_import_close(&entry->import, segments->settings.registry);
    entry->is_imported = false;
    user_budgets_return(segments->budgets, entry->uid, BUDGET_BYTES, entry->bytes);
    entry->bytes = 0;
    if (entry->fd < 0)
        user_budgets_return(segments->budgets, entry->uid, BUDGET_DESCRIPTORS, 1);
}

static void forget(struct segments *segments, struct segment_entry *entry)
{
    map_remove(&segments->by_file, hash_of((struct file_key){ entry->device, entry->inode }), entry);
    TAILQ_REMOVE(&segments->entries, entry, link);
    close_import(segments, entry);
    if (entry->fd >= 0) {
        close(entry->fd);
        user_budgets_return(segments->budgets, entry->uid, BUDGET_DESCRIPTORS, 1);
    }
    user_budgets_return(segments->budgets, entry->uid, BUDGET_ENTRIES, 1);
    entry->dir->segments--;
    free(entry->name);
    free(entry);
}

/* NULL: no memory, or over the user's budget. */
static struct segment_entry *create(struct segments *segments, struct segment_dir *dir, const char *name, const struct stat *st)
{
    struct file_key key = { st->st_dev, st->st_ino };
    if (!user_budgets_take(segments->budgets, st->st_uid, BUDGET_ENTRIES, 1))
        return NULL;
    struct segment_entry *entry = calloc(1, sizeof *entry);
    char *copy = strdup(name);
    if (!entry || !copy || map_add(&segments->by_file, hash_of(key), entry, VEC_MAX)) {
        user_budgets_return(segments->budgets, st->st_uid, BUDGET_ENTRIES, 1);
        free(entry);
        free(copy);
        return NULL;
    }
    *entry = (struct segment_entry){
        .dir = dir, .name = copy, .uid = st->st_uid, .device = key.device, .inode = key.inode, .fd = -1,
    };
    dir->segments++;
    TAILQ_INSERT_HEAD(&segments->entries, entry, link);
    return entry;
}

/* A run that ends leaves its segments under other names. */
static void rename_entry(struct segment_entry *entry, struct segment_dir *dir, const char *name)
{
    char *copy = entry->dir == dir && strcmp(entry->name, name) == 0 ? NULL : strdup(name);
    if (!copy)
        return;
    free(entry->name);
    entry->name = copy;
    entry->dir->segments--;
    entry->dir = dir;
    dir->segments++;
    entry->tried_ns = 0;
}

/* A segment may be for another agent of this user, which reads only those that name its socket. */
static bool is_ours(const struct segments *segments, const struct segment_dir *dir, const char *name)
{
    if (segments->settings.is_run)
        return true;
    return *segments->socket ? strcmp(segment_name_socket(name), segments->socket) == 0
                             : !segment_dir_is_of_other_agent(dir, name);
}

static void add(struct segments *segments, struct segment_dir *dir, const char *name)
{
    struct stat st;
    if (strncmp(name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) != 0
        || fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return;
    struct segment_entry *known = find(segments, (struct file_key){ st.st_dev, st.st_ino });
    if (known)
        rename_entry(known, dir, name);
    else if (is_ours(segments, dir, name))
        create(segments, dir, name, &st);
}

static struct segment_dir *find_dir(const struct segments *segments, const char *path)
{
    struct segment_dir *dir = segments->dirs;
    while (dir && strcmp(dir->path, path) != 0)
        dir = dir->next;
    return dir;
}

/* Some are left for the rest of the agent. */
static bool has_descriptor(struct segments *segments, uint32_t uid)
{
    if (user_budgets_left(segments->budgets, uid, BUDGET_DESCRIPTORS))
        return user_budgets_take(segments->budgets, uid, BUDGET_DESCRIPTORS, 1);
    user_budgets_refuse(segments->budgets, uid, BUDGET_DESCRIPTORS);
    return false;
}

/* The directory of a run. */
static struct segment_dir *add_dir(struct segments *segments, const char *name)
{
    char path[SEGMENT_DIR_PATH_MAX];
    struct segment_dir *dir, **at = &segments->dirs;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", segments->dirs->path, name) >= sizeof path)
        return NULL;
    dir = find_dir(segments, path);
    if (dir || segment_dir_open(&dir, path, name, segments->inotify_fd))
        return dir;
    if (!has_descriptor(segments, dir->uid)) {
        segment_dir_close(&dir, segments->inotify_fd);
        return NULL;
    }
    while (*at)
        at = &(*at)->next;
    return *at = dir;
}

static void add_any(struct segments *segments, struct segment_dir *dir, const char *name)
{
    if (segments->settings.is_run || dir != segments->dirs
        || strncmp(name, SEGMENT_RUN_PREFIX, strlen(SEGMENT_RUN_PREFIX)) != 0)
        add(segments, dir, name);
    else
        add_dir(segments, name);
}

/* Most files in a listing are known: there is no need to ask the kernel for their owner. */
static void on_name(void *context, struct segment_dir *dir, const char *name, uint64_t inode)
{
    struct segments *segments = context;
    const struct segment_entry *known = find(segments, (struct file_key){ dir->device, inode });
    if (!known || known->dir != dir || strcmp(known->name, name) != 0)
        add_any(segments, dir, name);
}

static void handle_event(struct segments *segments, const struct inotify_event *event)
{
    struct segment_dir *dir = segments->dirs;
    if (event->mask & IN_Q_OVERFLOW)
        segments->listed_ns = 0;
    while (dir && dir->watch != event->wd)
        dir = dir->next;
    if (dir && event->len)
        add_any(segments, dir, event->name);
}

/* Not without end: users can create files faster than we look at them. */
static void handle_events(struct segments *segments)
{
    _Alignas(struct inotify_event) char events[16384];
    ssize_t got;
    for (unsigned i = 0; i < EVENTS_CALLS && segments->inotify_fd >= 0; i++) {
        if ((got = read(segments->inotify_fd, events, sizeof events)) <= 0)
            return;
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(events + at);
            handle_event(segments, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
}

static void list(struct segments *segments, struct segment_dir *dir, uint64_t now_ns)
{
    if (!dir->must_list || !user_budgets_have_time(segments->budgets, dir->uid, now_ns))
        return;
    dir->must_list = !segment_dir_list(dir, segments->settings.is_run ? SIZE_MAX : LIST_CALLS, on_name, segments);
    user_budgets_spend(segments->budgets, dir->uid, now_ns, clock_monotonic_ns() - now_ns);
}

static void find_new(struct segments *segments, uint64_t now_ns)
{
    handle_events(segments);
    bool must_list = segments->inotify_fd < 0 || !segments->listed_ns || now_ns - segments->listed_ns >= LIST_NS;
    if (must_list)
        segments->listed_ns = now_ns;
    for (struct segment_dir *dir = segments->dirs; dir; dir = dir->next) {
        dir->must_list |= must_list;
        list(segments, dir, clock_monotonic_ns());
    }
}

/* --- saved state --- */

/* An earlier agent has saved what the segment counted, but it could not be removed yet. */
static void add_saved(void *context, const char *name, uint64_t inode)
{
    struct segments *segments = context;
    const char *slash = strchr(name, '/');
    struct segment_dir *dir = segments->dirs;
    struct stat st;
    char run[SEGMENT_DIR_PATH_MAX];
    if (slash) {
        snprintf(run, sizeof run, "%.*s", (int)(slash - name), name);
        dir = strncmp(run, SEGMENT_RUN_PREFIX, strlen(SEGMENT_RUN_PREFIX)) == 0 ? add_dir(segments, run) : NULL;
        name = slash + 1;
    }
    int fd = dir && !strchr(name, '/') ? openat(dir->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    bool is_same = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == inode
                   && !find(segments, (struct file_key){ st.st_dev, st.st_ino });
    struct segment_entry *entry = is_same ? create(segments, dir, name, &st) : NULL;
    if (!entry || !user_budgets_take(segments->budgets, entry->uid, BUDGET_DESCRIPTORS, 1)) {
        if (fd >= 0)
            close(fd);
        return;
    }
    entry->fd = fd;
    entry->state = ENTRY_READ;
    entry->read_ns = clock_realtime_ns();
}

static bool write_finished(void *context, struct buf *file)
{
    const struct segments *segments = context;
    const struct segment_entry *entry;
    char name[SEGMENT_DIR_PATH_MAX];
    bool has_any = false;
    TAILQ_FOREACH(entry, &segments->entries, link) {
        const char *dir = entry->dir->is_run ? strrchr(entry->dir->path, '/') + 1 : "";
        int size = snprintf(name, sizeof name, "%s%s%s", dir, *dir ? "/" : "", entry->name);
        if (entry->state != ENTRY_READ || size >= (int)sizeof name)
            continue;
        saved_state_write_segment(file, name, entry->inode);
        has_any = true;
    }
    return has_any;
}

static bool write_baselines(void *context, struct buf *file, bool of_ranks)
{
    const struct segments *segments = context;
    const struct segment_entry *entry;
    bool has_any = of_ranks ? baselines_write_all_ranks(file, &segments->baselines)
                            : baselines_write_all(file, &segments->baselines);
    TAILQ_FOREACH(entry, &segments->entries, link) {
        const struct segment_import *import = &entry->import;
        if (!entry->is_imported || !import->has_baseline)
            continue;
        has_any |= of_ranks ? baselines_write_ranks(file, entry->name, entry->inode, &import->ranks)
                            : baselines_write(file, entry->name, entry->inode, import->contributions.items,
                                              import->contributions.count);
    }
    return has_any;
}

static struct saved_state_segments saved_parts(struct segments *segments)
{
    return (struct saved_state_segments){ write_finished, write_baselines, &segments->baselines, add_saved, segments };
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
    TAILQ_INIT(&new->entries);
    new->settings = *settings;
    new->budgets = &settings->registry->budgets;
    new->claim_fd = -1;
    /* A run lists its own small directory at each tick: to close an inotify descriptor takes the kernel 5 to 20 ms. */
    new->inotify_fd = settings->is_run ? -1 : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    snprintf(new->socket, sizeof new->socket, "%s", settings->socket ? settings->socket : "");
    enum err err = settings->is_run ? OK : segment_claim_take(settings->dir, new->socket, &new->claim_fd);
    if (!err)
        err = segment_dir_open(&new->dirs, settings->dir, NULL, new->inotify_fd);
    if (!err)
        new->dirs->is_run = settings->is_run;
    new->settings.dir = new->settings.socket = NULL; /* borrowed for the call only */
    if (err)
        segments_close(segments);
    else
        load_state(new);
    return err;
}

/* --- reading --- */

static enum entry_state try_to_open(struct segments *segments, struct segment_entry *entry)
{
    char path[SEGMENT_DIR_PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", entry->dir->path, entry->name) >= sizeof path)
        return ENTRY_BAD;
    enum err err = segment_import_open(&entry->import, path);
    const struct segment_info *info = err ? NULL : segment_reader_info(entry->import.reader);
    entry->is_imported = !err;
    if (err == AGAIN)
        return ++entry->attempts < ATTEMPTS_MAX ? ENTRY_NEW : ENTRY_BAD;
    if (err == CORRUPT) {
        registry_lock(segments->settings.registry);
        segments->settings.registry->stats.bad_segments++;
        registry_unlock(segments->settings.registry);
    }
    if (err || info->inode != entry->inode || info->device != entry->device || info->uid != entry->uid)
        return ENTRY_BAD; /* or replaced by another one, of which we will hear */
    entry->import.baseline = baselines_take(&segments->baselines, entry->name, entry->inode);
    bool was_in_run = strncmp(entry->name, SEGMENT_FROM_RUN, strlen(SEGMENT_FROM_RUN)) == 0;
    entry->import.is_sampled_elsewhere = !segments->settings.is_run && (entry->dir->is_run || was_in_run);
    return ENTRY_OPEN;
}

static void open_entry(struct segments *segments, struct segment_entry *entry)
{
    if (!has_descriptor(segments, entry->uid))
        return;
    entry->state = try_to_open(segments, entry);
    if (!entry->is_imported)
        user_budgets_return(segments->budgets, entry->uid, BUDGET_DESCRIPTORS, 1);
}

/* The descriptor is kept until the segment is removed. */
static void finish(struct segment_entry *entry)
{
    entry->read_ns = clock_realtime_ns();
    entry->fd = fcntl(segment_reader_fd(entry->import.reader), F_DUPFD_CLOEXEC, 0);
    entry->state = entry->fd < 0 ? ENTRY_BAD : ENTRY_READ;
}

static void update(struct segments *segments, struct segment_entry *entry)
{
    const struct segments_settings *settings = &segments->settings;
    struct segment_reader *reader = entry->import.reader;
    segment_reader_limit(reader, entry->bytes + user_budgets_left(segments->budgets, entry->uid, BUDGET_BYTES));
    if (segment_import_update(&entry->import, settings->registry, settings->jobs, settings->root) == FULL)
        user_budgets_refuse(segments->budgets, entry->uid, BUDGET_BYTES);
    uint64_t bytes = segment_reader_bytes(reader);
    if (bytes > entry->bytes && user_budgets_take(segments->budgets, entry->uid, BUDGET_BYTES, bytes - entry->bytes))
        entry->bytes = bytes;
    if (entry->import.is_finished)
        finish(entry);
}

static void read_entry(struct segments *segments, struct segment_entry *entry)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (entry->state > ENTRY_OPEN || !user_budgets_have_time(segments->budgets, entry->uid, begin_ns))
        return;
    if (entry->state == ENTRY_NEW)
        open_entry(segments, entry);
    if (entry->state == ENTRY_OPEN)
        update(segments, entry);
    user_budgets_spend(segments->budgets, entry->uid, begin_ns, clock_monotonic_ns() - begin_ns);
    TAILQ_REMOVE(&segments->entries, entry, link); /* those of which it was not the turn come first next time */
    TAILQ_INSERT_TAIL(&segments->entries, entry, link);
}

static void read_entries(struct segments *segments, enum entry_state state)
{
    struct segment_entry *last = TAILQ_LAST(&segments->entries, entry_list), *entry = TAILQ_FIRST(&segments->entries);
    for (struct segment_entry *next; entry; entry = next) {
        next = entry == last ? NULL : TAILQ_NEXT(entry, link);
        if (entry->state == state)
            read_entry(segments, entry);
    }
}

/* Closes directories of runs that are over, when nothing in them is being read any more. */
static void close_dirs(struct segments *segments)
{
    if (!segments->dirs)
        return;
    for (struct segment_dir **at = &segments->dirs->next; *at;)
        if (segment_dir_has_ended(*at) && (*at)->segments == 0) {
            user_budgets_return(segments->budgets, (*at)->uid, BUDGET_DESCRIPTORS, 1);
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
    for (struct segment_dir *dir = segments->dirs; dir; dir = dir->next)
        dir->unread = 0;
    TAILQ_FOREACH(entry, &segments->entries, link) {
        if (entry->state == ENTRY_OPEN && !is_ours(segments, entry->dir, entry->name))
            entry->state = ENTRY_BAD;
        entry->dir->unread += entry->state < ENTRY_READ;
    }
    close_dirs(segments);
    if (segments->claim_fd >= 0)
        segment_claim_touch(segments->claim_fd);
}

/* First those that are open: when one has ended, an MPI program that was started after it did not run beside it
 * (mpi_worlds.h). */
void segments_tick(struct segments *segments)
{
    uint64_t now_ns = clock_monotonic_ns();
    find_new(segments, now_ns);
    read_entries(segments, ENTRY_OPEN);
    read_entries(segments, ENTRY_NEW);
    baselines_clear(&segments->baselines);
    maintain(segments, now_ns);
}

void segments_leave_job(struct segments *segments, const struct scope *scope)
{
    struct segment_entry *entry;
    TAILQ_FOREACH(entry, &segments->entries, link)
        if (entry->is_imported && entry->import.scope == scope)
            segment_import_leave_job(&entry->import, segments->settings.registry);
}

/* NULL: no samples are written of it. */
static struct mpi_rank_sums *sums_of(const struct segment_entry *entry)
{
    struct scope *scope = entry->is_imported ? entry->import.scope : NULL;
    if (!scope || entry->import.is_sampled_elsewhere || (scope->kind == SCOPE_JOB && !scope->job.is_known))
        return NULL;
    return &scope_mpi(scope)->sums;
}

/* First all sums, then the samples: two programs may be parts of one sum. */
void segments_sample(struct segments *segments, struct batch *batch, uint64_t time_ns)
{
    struct mpi_rank_sums *sums;
    struct segment_entry *entry;
    TAILQ_FOREACH(entry, &segments->entries, link)
        if ((sums = sums_of(entry)))
            mpi_ranks_sum(&entry->import.ranks, sums);
    TAILQ_FOREACH(entry, &segments->entries, link)
        if ((sums = sums_of(entry)))
            mpi_rank_sums_sample(sums, batch, time_ns, entry->import.scope->id);
}

/* --- removing --- */

/* True: the file is gone, or was none of ours. An agent tries again from time to time. */
static bool is_gone(const struct segments *segments, struct segment_entry *entry, uint64_t now_ns)
{
    bool is_agent = segments->claim_fd >= 0;
    if (entry->state == ENTRY_BAD)
        return true;
    if (is_agent && entry->tried_ns && now_ns - entry->tried_ns < MAINTENANCE_NS)
        return false;
    entry->tried_ns = now_ns;
    return segment_dir_remove(entry->dir, entry->name, entry->fd, is_agent,
                              clock_realtime_ns() - entry->read_ns >= OTHERS_WAIT_NS);
}

/* Whether a segment stays, or one that had stayed is gone: the next save has another list of them. */
static void remove_finished(struct segments *segments)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool has_changed = false;
    for (struct segment_entry *entry = TAILQ_FIRST(&segments->entries), *next; entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (entry->state < ENTRY_READ)
            continue;
        bool is_first = !entry->tried_ns, gone = is_gone(segments, entry, now_ns);
        has_changed |= entry->state == ENTRY_READ && is_first != gone;
        if (gone)
            forget(segments, entry);
    }
    registry_lock(segments->settings.registry);
    segments->settings.registry->has_unsaved |= has_changed;
    registry_unlock(segments->settings.registry);
}

static void forget_finished(struct segments *segments, bool is_last)
{
    const struct saved_state_segments parts = saved_parts(segments);
    size_t before = segments->by_file.count;
    struct segment_entry *entry;
    TAILQ_FOREACH(entry, &segments->entries, link)
        if (entry->state >= ENTRY_READ)
            close_import(segments, entry);
    if (!saved_state_save(&segments->state, &parts, is_last))
        return;
    remove_finished(segments);
    if (is_last)
        saved_state_save(&segments->state, &parts, is_last);
    if (before - segments->by_file.count >= TRIM_COUNT)
        malloc_trim(0);
}

void segments_forget_finished(struct segments *segments)
{
    forget_finished(segments, false);
}

size_t segments_count(const struct segments *segments)
{
    return segments->by_file.count;
}

/* Of the proxy of a user or a job, which may never start again, if nothing is left for it. Root's agent is restarted. */
static void remove_claim(const struct segments *segments)
{
    char path[FILE_PATH_MAX];
    bool is_lasting = geteuid() == 0 && !*segments->socket;
    if (segments->claim_fd < 0 || is_lasting || segments->by_file.count || access(segments->state.path, F_OK) == 0
        || segment_claim_path(path, segments->dirs->path, segments->socket, ""))
        return;
    unlink(path);
}

void segments_close(struct segments **segments)
{
    struct segments *old = *segments;
    if (!old)
        return;
    if (old->dirs) {
        forget_finished(old, true);
        remove_claim(old);
    }
    while (!TAILQ_EMPTY(&old->entries))
        forget(old, TAILQ_FIRST(&old->entries));
    for (; old->dirs; segment_dir_close(&old->dirs, -1))
        if (old->dirs->watch >= 0 && old->dirs->is_run)
            user_budgets_return(old->budgets, old->dirs->uid, BUDGET_DESCRIPTORS, 1);
    map_clear(&old->by_file);
    baselines_clear(&old->baselines);
    if (old->inotify_fd >= 0)
        close(old->inotify_fd);
    if (old->claim_fd >= 0)
        close(old->claim_fd);
    free(old);
    *segments = NULL;
}
