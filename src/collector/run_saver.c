/* Looks for complete runs when there is a new one. The directory is the queue, also after a restart. */
#include "collector/run_saver.h"

#include "base/clock.h"
#include "base/cpu_budget.h"
#include "base/log.h"
#include "merge/submit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".spool"
#define PART ".part"
#define REFUSED "refused"
#define RETRY_S 5
#define EXPIRY_S 600                              /* interval of the search for old files */
#define INCOMPLETE_NS (24ull * 3600 * NS_PER_S)   /* without a new piece */
#define FUTURE_NS (24ull * 3600 * NS_PER_S)       /* more than clocks differ */
#define PATH_BYTES (PATH_MAX + 600)
#define REFUSED_MAX 64
#define ID_MAX 256
#define TAGS_MAX 2048

struct run_saver {
    char dir[PATH_MAX], *store_path;
    uint64_t cpu_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool has_thread, has_new, is_stopping, is_failing;
};

/* A file of the directory. */
struct run_file {
    const char *host, *name; /* name: of the file */
    uint32_t uid;
    char path[PATH_BYTES];
};

static bool ends_with(const char *name, const char *suffix)
{
    size_t size = strlen(name), end = strlen(suffix);
    return size > end && !strcmp(name + size - end, suffix);
}

static void put_aside(struct run_saver *saver, const struct run_file *file, const char *reason)
{
    char path[PATH_BYTES];
    struct dirent **list = NULL;
    snprintf(path, sizeof path, "%s/" REFUSED, saver->dir);
    mkdir(path, 0700);
    int count = scandir(path, &list, NULL, NULL);
    for (int i = 0; i < count; i++)
        free(list[i]);
    free(list);
    snprintf(path, sizeof path, "%s/" REFUSED "/%s-%u-%s", saver->dir, file->host, file->uid, file->name);
    bool is_kept = count >= 0 && count < REFUSED_MAX && !rename(file->path, path);
    if (!is_kept)
        unlink(file->path);
    log_warn("a run of user %u of %s %s; it is not saved%s%s", file->uid, file->host, reason, is_kept ? " but kept in " : "",
             is_kept ? path : "");
}

static void reject(const struct run_file *file, const char *reason)
{
    log_warn("rejected a run sent by user %u of %s: %s", file->uid, file->host, reason);
    unlink(file->path);
}

/* Whose run it is comes from the connection: a user speaks only for themselves, root for everybody on its host. */
static bool is_allowed(const struct run *run, const struct run_file *file)
{
    return file->uid == 0 || run->uid == file->uid;
}

/* Replaces what the spool states about identity. id and user are buffers of the caller. */
static void set_identity(struct run *run, const struct run_file *file, char id[PATH_BYTES], char user[NAME_MAX + 1])
{
    const char *at = strchr(file->name, '@');
    snprintf(id, PATH_BYTES, "run/%s/%u/%.*s", file->host, file->uid, (int)run->id.size, run->id.data);
    snprintf(user, NAME_MAX + 1, "%.*s", at ? (int)(strlen(at + 1) - strlen(SUFFIX)) : 0, at ? at + 1 : "");
    if (!run->job_id.size)
        run->job_id = run->id;
    run->id = bytes_of(id);
    run->host.name = bytes_of(file->host);
    if (file->uid || run->uid == 0)
        run->user = bytes_of(user);
}

/* FULL: it took too long. */
static enum err merge(const struct run_saver *saver, const struct run_file *file, struct merged *merged)
{
    struct stat facts;
    struct submitted submitted;
    if (stat(file->path, &facts))
        return err_from_errno(errno);
    cpu_budget_set(saver->cpu_ns + ((uint64_t)facts.st_size >> 20) * saver->cpu_ns / 5);
    enum err err = submit_merge(merged, file->path, &submitted);
    cpu_budget_set(0);
    return err;
}

static bool is_short(struct bytes text, size_t max)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
            return false;
    return text.size < max;
}

/* Why a run is not saved; NULL: it is. Ids, tags and events are keys, for which databases have limits. */
static const char *find_fault(const struct run *run, const struct run_file *file)
{
    uint64_t latest_ns = clock_realtime_ns() + FUTURE_NS;
    bool is_valid = is_short(run->id, ID_MAX) && is_short(run->job_id, ID_MAX) && is_short(run->tags, TAGS_MAX);
    for (size_t i = 0; i < run->event_count; i++)
        is_valid = is_valid && is_short(run->events[i], ID_MAX);
    return !is_allowed(run, file)                                    ? "it belongs to another user"
           : run->start_ns > latest_ns || run->end_ns > latest_ns ? "it is in the future"
           : !is_valid                                             ? "invalid id, tags or events"
                                                                   : NULL;
}

static enum err save(struct run_saver *saver, struct store *store, const struct run_file *file)
{
    struct merged merged = { 0 };
    char id[PATH_BYTES], user[NAME_MAX + 1];
    enum err err = merge(saver, file, &merged);
    if (err == CORRUPT)
        reject(file, "its spool is damaged");
    else if (err == FULL)
        put_aside(saver, file, "takes too much processor time");
    if (err)
        return err == CORRUPT || err == FULL ? OK : err;
    const char *fault = find_fault(&merged.run, file);
    if (fault) {
        reject(file, fault);
        merge_clear(&merged);
        return OK;
    }
    set_identity(&merged.run, file, id, user);
    err = submit_save_clear(store, &merged, file->path, false);
    if (err && !saver->is_failing)
        log_warn("cannot save a run of user %u of %s: %s. It is tried again.", file->uid, file->host, store_message(store));
    return err;
}

/* What a search is for. */
struct run_search {
    struct run_saver *saver;
    struct store *store; /* opened for the first run; NULL in a search for old files */
    size_t saved, failed;
};

static enum err open_store(struct run_search *search)
{
    char *message = NULL;
    if (search->store)
        return OK;
    enum err err = store_open(&search->store, search->saver->store_path, STORE_WRITE, &message);
    if (err && !search->saver->is_failing)
        log_warn("cannot save runs: %s. It is tried again.", message ? message : err_text(err));
    free(message);
    return err;
}

static void save_one(struct run_search *search, const struct run_file *file)
{
    if (open_store(search) || save(search->saver, search->store, file))
        search->failed++;
    else
        search->saved++;
}

static void remove_if_old(struct run_search *search, const struct run_file *file)
{
    struct stat facts;
    (void)search;
    if (stat(file->path, &facts))
        return;
    uint64_t time_ns = (uint64_t)facts.st_mtim.tv_sec * NS_PER_S;
    if (time_ns + INCOMPLETE_NS > clock_realtime_ns())
        return;
    log_warn("removed a run of user %u of %s that is incomplete since a day", file->uid, file->host);
    unlink(file->path);
}

/* One file per user and search, so that nobody waits for all runs of somebody else; all files if they are only checked. */
static void search_user(struct run_search *search, struct run_file *file, const char *suffix,
                        void (*handle)(struct run_search *search, const struct run_file *file))
{
    char dir[PATH_BYTES];
    struct dirent **list = NULL;
    snprintf(dir, sizeof dir, "%s/%s/%u", search->saver->dir, file->host, file->uid);
    int count = scandir(dir, &list, NULL, alphasort);
    bool is_done = false;
    for (int i = 0; i < count; i++) {
        file->name = list[i]->d_name;
        if (!is_done && ends_with(file->name, suffix)
            && snprintf(file->path, sizeof file->path, "%s/%s", dir, file->name) < (int)sizeof file->path) {
            handle(search, file);
            is_done = handle == save_one;
        }
        free(list[i]);
    }
    free(list);
    run_saver_lock(search->saver);
    rmdir(dir); /* if it is empty */
    run_saver_unlock(search->saver, false);
}

static void search_host(struct run_search *search, const char *host, const char *suffix,
                        void (*handle)(struct run_search *search, const struct run_file *file))
{
    char dir[PATH_BYTES], *end;
    struct run_file file = { .host = host };
    struct dirent **list = NULL;
    snprintf(dir, sizeof dir, "%s/%s", search->saver->dir, host);
    int count = scandir(dir, &list, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        unsigned long uid = strtoul(list[i]->d_name, &end, 10);
        if (end != list[i]->d_name && !*end) {
            file.uid = (uint32_t)uid;
            search_user(search, &file, suffix, handle);
        }
        free(list[i]);
    }
    free(list);
    run_saver_lock(search->saver);
    rmdir(dir);
    run_saver_unlock(search->saver, false);
}

static void search_all(struct run_search *search, const char *suffix,
                       void (*handle)(struct run_search *search, const struct run_file *file))
{
    struct dirent **list = NULL;
    int count = scandir(search->saver->dir, &list, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (list[i]->d_name[0] != '.' && strcmp(list[i]->d_name, REFUSED) != 0)
            search_host(search, list[i]->d_name, suffix, handle);
        free(list[i]);
    }
    free(list);
}

/* Until there are none. False: some could not be saved now. */
static bool save_all(struct run_saver *saver)
{
    struct run_search search = { .saver = saver };
    do {
        search.saved = search.failed = 0;
        search_all(&search, SUFFIX, save_one);
    } while (search.saved);
    store_close(&search.store);
    saver->is_failing = search.failed;
    return !search.failed;
}

static void wait_for_work(struct run_saver *saver, time_t seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&saver->lock);
    while (!saver->is_stopping && !saver->has_new)
        if (pthread_cond_timedwait(&saver->wake, &saver->lock, &until) == ETIMEDOUT)
            break;
    saver->has_new = false;
    pthread_mutex_unlock(&saver->lock);
}

static bool must_stop(struct run_saver *saver)
{
    pthread_mutex_lock(&saver->lock);
    bool is_stopping = saver->is_stopping;
    pthread_mutex_unlock(&saver->lock);
    return is_stopping;
}

static void *run(void *context)
{
    struct run_saver *saver = context;
    struct run_search old = { .saver = saver };
    bool is_last = false;
    while (!is_last) {
        is_last = must_stop(saver);
        if (is_last && saver->is_failing)
            break;
        search_all(&old, PART, remove_if_old);
        bool is_saved = save_all(saver);
        if (!is_last)
            wait_for_work(saver, is_saved ? EXPIRY_S : RETRY_S);
    }
    return NULL;
}

enum err run_saver_start(struct run_saver **saver, const char *dir, const char *store_path, uint64_t cpu_ns)
{
    struct run_saver *new = *saver = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    snprintf(new->dir, sizeof new->dir, "%s", dir);
    new->cpu_ns = cpu_ns;
    new->store_path = store_path ? strdup(store_path) : NULL;
    pthread_mutex_init(&new->lock, NULL);
    pthread_cond_init(&new->wake, NULL);
    if (!store_path || new->store_path)
        new->has_thread = pthread_create(&new->thread, NULL, run, new) == 0;
    if (new->has_thread)
        return OK;
    run_saver_stop(saver);
    return NOMEM;
}

void run_saver_stop(struct run_saver **saver)
{
    struct run_saver *old = *saver;
    if (!old)
        return;
    pthread_mutex_lock(&old->lock);
    old->is_stopping = true;
    pthread_cond_signal(&old->wake);
    pthread_mutex_unlock(&old->lock);
    if (old->has_thread)
        pthread_join(old->thread, NULL);
    pthread_mutex_destroy(&old->lock);
    pthread_cond_destroy(&old->wake);
    free(old->store_path);
    free(old);
    *saver = NULL;
}

void run_saver_lock(struct run_saver *saver)
{
    pthread_mutex_lock(&saver->lock);
}

void run_saver_unlock(struct run_saver *saver, bool has_new_run)
{
    if (has_new_run) {
        saver->has_new = true;
        pthread_cond_signal(&saver->wake);
    }
    pthread_mutex_unlock(&saver->lock);
}
