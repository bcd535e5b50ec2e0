/* A thread with a queue: profiles come from the gateway, profile_dir.c makes files of them. */
#include "compat/tau/profile_writer.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "compat/tau/profile_dir.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX (256u << 20) /* bytes of metrics that wait for the disk */
#define MERGE_NS (3 * NS_PER_S)
#define CLOSE_NS (10 * NS_PER_S)

struct waiting {
    struct waiting *next;
    struct tau_profile profile;
};

/* mutex guards all but folder, is_worker and what only the thread uses. */
struct tau_profiles {
    char *folder;
    bool is_worker;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* CLOCK_MONOTONIC */
    struct waiting *first, **last;
    size_t bytes;
    bool stop, has_ended, is_abandoned;
    enum err told; /* of the thread: what was said last */
};

/* How the character at that place of an id stands in its file's name; returns the size. */
static size_t write_char(char out[4], const char *job, size_t at)
{
    static const char fine[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+,=@";
    bool is_fine = strchr(fine, job[at]) && !(at == 0 && job[at] == '.');
    return (size_t)snprintf(out, 4, is_fine ? "%c" : "%%%02X", (unsigned char)job[at]);
}

void tau_profiles_file_name(char name[TAU_PROFILES_NAME], const char *job)
{
    size_t size = 0, id_size = strnlen(job, sizeof((struct tau_job *)0)->id);
    for (size_t i = 0; i < id_size; i++) {
        char part[4];
        size_t more = write_char(part, job, i);
        if (size + more >= TAU_PROFILES_NAME) { /* what is too long is told apart by a number */
            size = size > TAU_PROFILES_NAME - 18 ? TAU_PROFILES_NAME - 18 : size;
            size += (size_t)snprintf(name + size, 18, "%%%016" PRIx64, hash_add(HASH_START, job, id_size));
            break;
        }
        memcpy(name + size, part, more);
        size += more;
    }
    name[size] = '\0';
}

static void tell(struct tau_profiles *profiles, enum err err, const char *what)
{
    if (err && err != profiles->told)
        log_warn("cannot %s in %s: %s. The profiles of jobs are missing there until it can be written", what, profiles->folder,
                 err_text(err));
    profiles->told = err;
}

static void write_dump(struct tau_profiles *profiles, const struct tau_profile *profile)
{
    tell(profiles, tau_folder_dump(profiles->folder, profile), "write the profile of a job");
}

static void merge(struct tau_profiles *profiles)
{
    uint64_t merged = 0;
    enum err err = tau_folder_merge(profiles->folder, &merged);
    if (err != AGAIN)
        tell(profiles, err, "merge profiles");
}

static void wait_ns(struct tau_profiles *profiles, uint64_t until_ns)
{
    struct timespec until = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };
    pthread_cond_timedwait(&profiles->changed, &profiles->mutex, &until);
}

/* The next that waits; NULL when none came until then, or all is to end. */
static struct waiting *take(struct tau_profiles *profiles, uint64_t until_ns)
{
    pthread_mutex_lock(&profiles->mutex);
    while (!profiles->first && !profiles->stop && clock_monotonic_ns() < until_ns)
        wait_ns(profiles, until_ns);
    struct waiting *waiting = profiles->is_abandoned ? NULL : profiles->first;
    if (waiting) {
        profiles->first = waiting->next;
        if (!profiles->first)
            profiles->last = &profiles->first;
        profiles->bytes -= waiting->profile.room * sizeof(struct tau_snapshot);
    }
    pthread_mutex_unlock(&profiles->mutex);
    return waiting;
}

static void free_all(struct tau_profiles *profiles)
{
    for (struct waiting *waiting = profiles->first, *next; waiting; waiting = next) {
        next = waiting->next;
        tau_profile_clear(&waiting->profile);
        free(waiting);
    }
    pthread_cond_destroy(&profiles->changed);
    pthread_mutex_destroy(&profiles->mutex);
    free(profiles->folder);
    free(profiles);
}

static bool ends_now(struct tau_profiles *profiles)
{
    pthread_mutex_lock(&profiles->mutex);
    bool ends = profiles->stop && (!profiles->first || profiles->is_abandoned);
    pthread_mutex_unlock(&profiles->mutex);
    return ends;
}

/* Who was given up by tau_profiles_close frees itself, once the disk has let it go. */
static void *work(void *context)
{
    struct tau_profiles *profiles = context;
    uint64_t next_ns = clock_monotonic_ns();
    while (!ends_now(profiles)) {
        struct waiting *waiting = take(profiles, next_ns);
        if (waiting) {
            write_dump(profiles, &waiting->profile);
            tau_profile_clear(&waiting->profile);
            free(waiting);
        }
        if (clock_monotonic_ns() >= next_ns) {
            if (!profiles->is_worker)
                merge(profiles);
            next_ns = clock_monotonic_ns() + MERGE_NS;
        }
    }
    if (!profiles->is_worker)
        merge(profiles);
    pthread_mutex_lock(&profiles->mutex);
    profiles->has_ended = true;
    bool is_abandoned = profiles->is_abandoned;
    pthread_cond_broadcast(&profiles->changed);
    pthread_mutex_unlock(&profiles->mutex);
    if (is_abandoned)
        free_all(profiles);
    return NULL;
}

static enum err start(struct tau_profiles *profiles)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the loop of the agent */
    int number = pthread_create(&profiles->thread, NULL, work, profiles);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err_from_errno(number);
}

enum err tau_profiles_open(struct tau_profiles **out, const struct tau_profiles_settings *settings)
{
    *out = NULL;
    enum err err = tau_folder_make(settings->folder);
    struct tau_profiles *profiles = err ? NULL : calloc(1, sizeof *profiles);
    if (!profiles)
        return err ? err : NOMEM;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&profiles->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&profiles->mutex, NULL);
    profiles->folder = strdup(settings->folder);
    profiles->is_worker = settings->is_worker;
    profiles->last = &profiles->first;
    err = profiles->folder ? start(profiles) : NOMEM;
    if (err)
        free_all(profiles);
    else
        *out = profiles;
    return err;
}

void tau_profiles_close(struct tau_profiles **closing)
{
    struct tau_profiles *profiles = *closing;
    *closing = NULL;
    if (!profiles)
        return;
    uint64_t until_ns = clock_monotonic_ns() + CLOSE_NS;
    pthread_t thread = profiles->thread;
    pthread_mutex_lock(&profiles->mutex);
    profiles->stop = true;
    pthread_cond_broadcast(&profiles->changed);
    while (!profiles->has_ended && clock_monotonic_ns() < until_ns)
        wait_ns(profiles, until_ns);
    bool has_ended = profiles->has_ended;
    profiles->is_abandoned = !has_ended;
    if (!has_ended)
        log_warn("the disk of %s does not answer: profiles of jobs may be missing there", profiles->folder);
    pthread_mutex_unlock(&profiles->mutex);
    if (!has_ended) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    free_all(profiles);
}

static enum err push_take(struct tau_profiles *profiles, struct waiting *waiting)
{
    size_t bytes = waiting->profile.room * sizeof(struct tau_snapshot);
    pthread_mutex_lock(&profiles->mutex);
    bool fits = profiles->bytes + bytes <= QUEUE_MAX && !profiles->stop;
    if (fits) {
        *profiles->last = waiting;
        profiles->last = &waiting->next;
        profiles->bytes += bytes;
        pthread_cond_broadcast(&profiles->changed);
    }
    pthread_mutex_unlock(&profiles->mutex);
    return fits ? OK : FULL;
}

enum err tau_profiles_put_take(struct tau_profiles *profiles, struct tau_profile *profile)
{
    uint64_t now_s = clock_realtime_ns() / NS_PER_S;
    bool is_wanted = profiles && *profile->job.id && profile->count;
    struct waiting *waiting = is_wanted ? calloc(1, sizeof *waiting) : NULL;
    enum err err = is_wanted && !waiting ? NOMEM : OK;
    if (waiting) {
        waiting->profile = *profile;
        *profile = (struct tau_profile){ 0 };
        tau_profile_real_command(waiting->profile.job.command);
        if (waiting->profile.job.end_s < now_s)
            waiting->profile.job.end_s = now_s;
        err = push_take(profiles, waiting);
    }
    if (waiting && err) {
        tau_profile_clear(&waiting->profile);
        free(waiting);
    }
    tau_profile_clear(profile);
    return err;
}
