/* Names come from inotify; when it has lost some, and every minute, the folder is looked through; a run's at each tick. */
#include "appmetrics/segments.h"

#include "base/clock.h"
#include "base/log.h"
#include "appmetrics/segment_dir.h"
#include "appmetrics/segment_import.h"
#include "appmetrics/state_file.h"
#include "appmetrics/user_share.h"
#include "appmetrics/segment_claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS (60 * NS_PER_S)
#define TEND_NS (5 * NS_PER_S) /* after folders of runs, and the claim: several system calls, which need not be at each tick */
#define TRIES 20u /* ticks that one may take to be made */
#define HASH_ROOM 4096u
#define PATIENCE_NS (60 * NS_PER_S) /* of a run with an agent that has to read what the run has read */
#define CROWD 256u /* programs that ended within a tick, 8 kB of memory each: it goes back to the system, else it stays ours */

/* One that was found. */
struct found {
    struct segment_import board;
    struct segment_dir *folder;
    bool is_open, is_done; /* done: to be forgotten after its last samples */
    bool must_go;          /* and its file to be removed, when what it counted is kept elsewhere */
    uint64_t inode, done_ns;
    unsigned tries;
    uint32_t uid; /* while it is open */
    uint64_t hash;
    struct found *next, *next_in_hash;
    char name[];
};

struct segments {
    struct segments_settings settings;
    char socket[SEGMENT_SOCKET_SIZE]; /* "": of whichever boards */
    struct segment_dir *folders; /* the first one is the folder itself */
    struct found *list, *hash[HASH_ROOM];
    size_t count;
    struct program_bases bases;    /* that an agent before this one has left, until all boards were looked at */
    struct user_share descriptors; /* of boards, and of folders of runs */
    int inotify_fd, claim_fd;
    struct program_keeper keeper;
    uint64_t looked_ns, tended_ns;
    bool must_look;
    bool has_refused; /* a board that had no share in the descriptors: there may be one when others have gone */
};

static uint64_t hash_of(const struct segment_dir *folder, const char *name)
{
    return program_table_hash(bytes_of(name)) ^ (uint64_t)(uintptr_t)folder;
}

static void add(struct segments *boards, struct segment_dir *folder, const char *name)
{
    uint64_t hash = hash_of(folder, name);
    struct found **slot = &boards->hash[hash % HASH_ROOM];
    if (strncmp(name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) != 0)
        return;
    for (const struct found *found = *slot; found; found = found->next_in_hash)
        if (found->folder == folder && strcmp(found->name, name) == 0)
            return;
    struct found *found = calloc(1, sizeof *found + strlen(name) + 1);
    if (!found)
        return;
    memcpy(found->name, name, strlen(name) + 1);
    found->hash = hash;
    found->folder = folder;
    folder->boards++;
    found->next = boards->list;
    boards->list = found;
    found->next_in_hash = *slot;
    *slot = found;
    boards->count++;
}

/* Whoever fills a folder that everybody may write to takes no more of our descriptors than are left for the others. */
static bool has_share(struct segments *boards, uint32_t uid)
{
    bool is_bounded = geteuid() == 0 && uid != 0;
    return is_bounded ? user_share_has(&boards->descriptors, uid) : user_share_is_left(&boards->descriptors);
}

static void give_descriptor(struct segments *boards, uint32_t uid)
{
    user_share_give(&boards->descriptors, uid);
    boards->must_look |= boards->has_refused;
    boards->has_refused = false;
}

static void close_found(struct segments *boards, struct found *found)
{
    if (!found->is_open)
        return;
    give_descriptor(boards, found->uid);
    segment_import_close(&found->board, boards->settings.table);
    found->is_open = false;
}

static void forget(struct segments *boards, struct found *found)
{
    struct found **at = &boards->hash[found->hash % HASH_ROOM];
    while (*at != found)
        at = &(*at)->next_in_hash;
    *at = found->next_in_hash;
    close_found(boards, found);
    found->folder->boards--;
    boards->count--;
    free(found);
}

static void look_through(struct segments *boards, struct segment_dir *folder);

static void add_folder(struct segments *boards, const char *path, const char *name)
{
    struct segment_dir *folder = boards->folders;
    struct stat st;
    while (folder && strcmp(folder->path, path) != 0)
        folder = folder->next;
    if (folder || lstat(path, &st) < 0 || !has_share(boards, st.st_uid)
        || segment_dir_open(&folder, path, name, boards->inotify_fd))
        return;
    if (!has_share(boards, folder->uid)) { /* another has taken its place */
        segment_dir_close(&folder, boards->inotify_fd);
        return;
    }
    user_share_take(&boards->descriptors, folder->uid);
    struct segment_dir **at = &boards->folders;
    while (*at)
        at = &(*at)->next;
    *at = folder;
    look_through(boards, folder);
}

/* Another agent of ours may come for it later, or not come back. */
static bool is_ours(const struct segments *boards, const struct segment_dir *folder, const char *name)
{
    if (boards->settings.is_run)
        return true;
    return *boards->socket ? strcmp(segment_name_socket(name), boards->socket) == 0 : !segment_dir_is_of_other_agent(folder, name);
}

/* A board, or in the agent's folder the folder of a run. */
static void meet(struct segments *boards, struct segment_dir *folder, const char *name)
{
    char path[SEGMENT_DIR_PATH_MAX];
    if (boards->settings.is_run || folder != boards->folders
        || strncmp(name, SEGMENT_RUN_PREFIX, strlen(SEGMENT_RUN_PREFIX)) != 0)
        add(boards, folder, name);
    else if ((size_t)snprintf(path, sizeof path, "%s/%s", folder->path, name) < sizeof path)
        add_folder(boards, path, name);
}

static void look_through(struct segments *boards, struct segment_dir *folder)
{
    DIR *dir = opendir(folder->path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        meet(boards, folder, entry->d_name);
    closedir(dir);
}

static void take_event(struct segments *boards, const struct inotify_event *event)
{
    struct segment_dir *folder = boards->folders;
    boards->must_look |= (event->mask & IN_Q_OVERFLOW) != 0;
    while (folder && folder->watch != event->wd)
        folder = folder->next;
    if (folder && event->len)
        meet(boards, folder, event->name);
}

static void take_events(struct segments *boards)
{
    _Alignas(struct inotify_event) char events[16384];
    ssize_t got;
    while (boards->inotify_fd >= 0 && (got = read(boards->inotify_fd, events, sizeof events)) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(events + at);
            take_event(boards, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
}

static void look(struct segments *boards, uint64_t now_ns)
{
    take_events(boards);
    if (!boards->must_look && boards->inotify_fd >= 0 && now_ns - boards->looked_ns < LOOK_NS)
        return;
    boards->must_look = false;
    boards->looked_ns = now_ns;
    for (struct segment_dir *folder = boards->folders; folder; folder = folder->next)
        look_through(boards, folder);
}

static void remove_kept(void *context, const char *name, uint64_t inode)
{
    const struct segments *boards = context;
    segment_dir_remove(boards->folders, name, inode, boards->claim_fd);
}

/* Those that are to go stand in the file: if we are killed before they are removed, they are not read again. */
static void add_done(void *context, struct buf *file)
{
    const struct segments *boards = context;
    for (const struct found *found = boards->list; found; found = found->next)
        if (found->is_done && found->must_go && !found->folder->is_run)
            program_kept_board(file, found->name, found->inode);
}

static bool add_bases(void *context, struct buf *file)
{
    const struct segments *boards = context;
    bool has_any = program_bases_add_all(file, &boards->bases);
    for (const struct found *found = boards->list; found; found = found->next)
        if (found->is_open && found->board.has_base)
            has_any |= program_bases_add(file, found->name, segment_reader_info(found->board.reader)->inode, found->board.holds,
                                         found->board.hold_count);
    return has_any;
}

static bool add_rank_bases(void *context, struct buf *file)
{
    const struct segments *boards = context;
    bool has_any = program_bases_add_all_ranks(file, &boards->bases);
    for (const struct found *found = boards->list; found; found = found->next)
        if (found->is_open && found->board.has_base)
            has_any |= program_bases_add_ranks(file, found->name, segment_reader_info(found->board.reader)->inode,
                                               &found->board.ranks);
    return has_any;
}

static struct program_keeper_boards kept_parts(struct segments *boards)
{
    return (struct program_keeper_boards){ add_done, add_bases, add_rank_bases, &boards->bases, remove_kept, boards };
}

static void read_kept(struct segments *boards)
{
    const struct program_keeper_boards parts = kept_parts(boards);
    boards->keeper.table = boards->settings.table;
    if (boards->settings.is_run
        || segment_claim_path(boards->keeper.path, boards->folders->path, boards->socket, SEGMENT_CLAIM_STATE_SUFFIX))
        boards->keeper.path[0] = '\0';
    program_keeper_read(&boards->keeper, &parts);
}

enum err segments_open(struct segments **boards, const struct segments_settings *settings)
{
    struct segments *new = *boards = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->settings = *settings;
    new->claim_fd = -1;
    /* A run looks into its own small folder at each tick: to close an inotify that watched takes the kernel 5 to 20 ms. */
    new->inotify_fd = settings->is_run ? -1 : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    snprintf(new->socket, sizeof new->socket, "%s", settings->socket ? settings->socket : "");
    enum err err = settings->is_run ? OK : segment_claim_take(settings->folder, new->socket, &new->claim_fd);
    if (!err)
        err = segment_dir_open(&new->folders, settings->folder, NULL, new->inotify_fd);
    new->settings.folder = new->settings.socket = NULL; /* they are the caller's; our folder is the first of folders */
    user_share_init(&new->descriptors, 0.75);
    new->must_look = true;
    if (err)
        segments_close(boards);
    else
        read_kept(new);
    return err;
}

/* False: it is to be forgotten. */
static bool open_found(struct segments *boards, struct found *found)
{
    char path[SEGMENT_DIR_PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", found->folder->path, found->name) >= sizeof path
        || !is_ours(boards, found->folder, found->name)
        || (boards->claim_fd >= 0 && segment_dir_was_read(found->folder, found->name)))
        return false;
    struct stat st;
    if (fstatat(found->folder->fd, found->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    if (!has_share(boards, st.st_uid)) {
        boards->has_refused = true;
        return false;
    }
    enum err err = segment_import_open(&found->board, path);
    found->is_open = !err;
    if (!err) {
        const struct segment_info *facts = segment_reader_info(found->board.reader);
        found->uid = facts->uid;
        found->board.base = program_bases_find(&boards->bases, found->name, facts->inode);
        user_share_take(&boards->descriptors, found->uid);
    }
    found->board.is_silent = found->folder->is_run;
    if (err == AGAIN)
        return ++found->tries < TRIES;
    if (err == CORRUPT) {
        program_table_lock(boards->settings.table);
        boards->settings.table->figures.bad_boards++;
        program_table_unlock(boards->settings.table);
    }
    return !err;
}

/* It goes when what it counted is kept elsewhere. */
static void finish(struct found *found)
{
    found->is_done = found->must_go = true;
    found->done_ns = clock_monotonic_ns();
    found->inode = segment_reader_info(found->board.reader)->inode;
}

static void tick_one(struct segments *boards, struct found *found)
{
    const struct segments_settings *settings = &boards->settings;
    if (found->is_done)
        return;
    if (!found->is_open && !open_found(boards, found)) {
        found->is_done = true;
        return;
    }
    if (!found->is_open)
        return;
    segment_import_update(&found->board, settings->table, settings->jobs, settings->root);
    if (found->board.is_gone)
        finish(found);
}

/* Folders of runs that are over, once nothing is read in them any more. */
static void sweep_folders(struct segments *boards)
{
    for (struct segment_dir **at = &boards->folders->next; *at;)
        if ((*at)->boards == 0 && segment_dir_is_over(*at)) {
            give_descriptor(boards, (*at)->uid);
            segment_dir_close(at, boards->inotify_fd);
        } else {
            at = &(*at)->next;
        }
}

static void tend(struct segments *boards, uint64_t now_ns)
{
    if (now_ns - boards->tended_ns < TEND_NS)
        return;
    boards->tended_ns = now_ns;
    for (struct found *found = boards->list; found; found = found->next)
        found->is_done |= found->is_open && !is_ours(boards, found->folder, found->name);
    sweep_folders(boards);
    if (boards->claim_fd >= 0)
        segment_claim_touch(boards->claim_fd);
}

/* First those that are known: when one has ended, what came after it was not there at the same time (mpi_world.h). */
void segments_tick(struct segments *boards)
{
    uint64_t now_ns = clock_monotonic_ns();
    look(boards, now_ns);
    for (struct found *found = boards->list; found; found = found->next)
        if (found->is_open)
            tick_one(boards, found);
    for (struct found *found = boards->list; found; found = found->next)
        if (!found->is_open)
            tick_one(boards, found);
    program_bases_clear(&boards->bases);
    tend(boards, now_ns);
}

void segments_leave_job(struct segments *boards, const struct program_scope *scope)
{
    for (struct found *found = boards->list; found; found = found->next)
        if (found->is_open && found->board.scope == scope)
            segment_import_leave_job(&found->board, boards->settings.table);
}

/* Users have none: a series of a program that is in no job is the node's. NULL: nothing of it is written. */
static struct program_rank_sums *sums_of(const struct segments *boards, const struct found *found)
{
    struct program_scope *scope = found->is_open ? found->board.scope : NULL;
    if (!scope || found->board.is_silent || (scope->kind == PROGRAM_JOB && !scope->is_known))
        return NULL;
    return scope->kind == PROGRAM_JOB ? &scope->ranks : &boards->settings.table->node.ranks;
}

/* First all of them, then what they come to: two programs may be parts of one sum. */
void segments_sample(struct segments *boards, struct batch *batch, uint64_t time_ns)
{
    struct program_rank_sums *sums;
    for (struct found *found = boards->list; found; found = found->next)
        if ((sums = sums_of(boards, found)))
            program_ranks_sum(&found->board.ranks, sums);
    for (const struct found *found = boards->list; found; found = found->next)
        if ((sums = sums_of(boards, found)))
            program_rank_sums_sample(sums, batch, time_ns, found->board.scope->job);
}

/* A run removes what the agents have read too. The agent may be stopped: it is not waited for at the end. */
static bool must_wait(const struct segments *boards, const struct found *found)
{
    return boards->settings.is_run && found->must_go && clock_monotonic_ns() - found->done_ns < PATIENCE_NS
           && segment_dir_is_wanted(found->folder, found->name);
}

static void forget_done(struct segments *boards, bool is_last)
{
    const struct program_keeper_boards parts = kept_parts(boards);
    size_t before = boards->count;
    for (struct found *found = boards->list; found; found = found->next)
        if (found->is_done)
            close_found(boards, found);
    if (!program_keeper_write(&boards->keeper, &parts, is_last))
        return;
    for (struct found **at = &boards->list; *at;) {
        struct found *found = *at;
        if (!found->is_done || must_wait(boards, found)) {
            at = &found->next;
            continue;
        }
        *at = found->next;
        if (found->must_go)
            segment_dir_remove(found->folder, found->name, found->inode, boards->claim_fd);
        forget(boards, found);
    }
    if (before - boards->count >= CROWD)
        malloc_trim(0);
}

void segments_forget_finished(struct segments *boards)
{
    forget_done(boards, false);
}

size_t segments_count(const struct segments *boards)
{
    return boards->count;
}

void segments_close(struct segments **boards)
{
    struct segments *old = *boards;
    if (!old)
        return;
    if (old->folders)
        forget_done(old, true);
    for (struct found *found = old->list, *next; found; found = next) {
        next = found->next;
        forget(old, found);
    }
    while (old->folders)
        segment_dir_close(&old->folders, -1);
    user_share_clear(&old->descriptors);
    program_bases_clear(&old->bases);
    if (old->inotify_fd >= 0)
        close(old->inotify_fd);
    if (old->claim_fd >= 0)
        close(old->claim_fd);
    free(old);
    *boards = NULL;
}
