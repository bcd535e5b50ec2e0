/* A thread with a queue: profile_dir.c writes the files. */
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

#define QUEUE_MAX (256u << 20) /* bytes of metrics in the queue */
#define MERGE_NS (3 * NS_PER_S)
#define CLOSE_NS (10 * NS_PER_S)

struct queued_profile {
    struct queued_profile *next;
    struct tau_profile profile;
};

/* The mutex guards everything except dir, is_worker and what only the thread uses. */
struct tau_profile_writer {
    char *dir;
    bool is_worker;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* CLOCK_MONOTONIC */
    struct queued_profile *first, **last;
    size_t bytes;
    bool stop, has_ended, is_abandoned;
    enum err logged; /* by the thread: the last error */
};

/* Writes a character of an id as in the file name; returns the size. */
static size_t write_char(char out[4], const char *job, size_t at)
{
    static const char fine[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+,=@";
    bool is_fine = strchr(fine, job[at]) && !(at == 0 && job[at] == '.');
    return (size_t)snprintf(out, 4, is_fine ? "%c" : "%%%02X", (unsigned char)job[at]);
}

void tau_profile_file_name(char name[TAU_PROFILE_FILE_NAME], const char *job)
{
    size_t size = 0, id_size = strnlen(job, sizeof((struct tau_job *)0)->id);
    for (size_t i = 0; i < id_size; i++) {
        char part[4];
        size_t more = write_char(part, job, i);
        if (size + more >= TAU_PROFILE_FILE_NAME) { /* what is too long is logged apart by a number */
            size = size > TAU_PROFILE_FILE_NAME - 18 ? TAU_PROFILE_FILE_NAME - 18 : size;
            size += (size_t)snprintf(name + size, 18, "%%%016" PRIx64, hash_add(HASH_START, job, id_size));
            break;
        }
        memcpy(name + size, part, more);
        size += more;
    }
    name[size] = '\0';
}

static void log_failure(struct tau_profile_writer *profiles, enum err err, const char *what)
{
    if (err && err != profiles->logged)
        log_warn("cannot %s in %s: %s. Profiles of jobs are missing there", what, profiles->dir,
                 err_text(err));
    profiles->logged = err;
}

static void write_dump(struct tau_profile_writer *profiles, const struct tau_profile *profile)
{
    log_failure(profiles, tau_profile_dir_dump(profiles->dir, profile), "write the profile of a job");
}

static void merge(struct tau_profile_writer *profiles)
{
    uint64_t merged = 0;
    enum err err = tau_profile_dir_merge(profiles->dir, &merged);
    if (err != AGAIN)
        log_failure(profiles, err, "merge profiles");
}

static void wait_ns(struct tau_profile_writer *profiles, uint64_t until_ns)
{
    struct timespec until = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };
    pthread_cond_timedwait(&profiles->changed, &profiles->mutex, &until);
}

/* The next one in the queue; NULL: none until then, or the thread has to stop. */
static struct queued_profile *take(struct tau_profile_writer *profiles, uint64_t until_ns)
{
    pthread_mutex_lock(&profiles->mutex);
    while (!profiles->first && !profiles->stop && clock_monotonic_ns() < until_ns)
        wait_ns(profiles, until_ns);
    struct queued_profile *queued = profiles->is_abandoned ? NULL : profiles->first;
    if (queued) {
        profiles->first = queued->next;
        if (!profiles->first)
            profiles->last = &profiles->first;
        profiles->bytes -= queued->profile.capacity * sizeof(struct tau_snapshot);
    }
    pthread_mutex_unlock(&profiles->mutex);
    return queued;
}

static void free_all(struct tau_profile_writer *profiles)
{
    for (struct queued_profile *queued = profiles->first, *next; queued; queued = next) {
        next = queued->next;
        tau_profile_clear(&queued->profile);
        free(queued);
    }
    pthread_cond_destroy(&profiles->changed);
    pthread_mutex_destroy(&profiles->mutex);
    free(profiles->dir);
    free(profiles);
}

static bool ends_now(struct tau_profile_writer *profiles)
{
    pthread_mutex_lock(&profiles->mutex);
    bool ends = profiles->stop && (!profiles->first || profiles->is_abandoned);
    pthread_mutex_unlock(&profiles->mutex);
    return ends;
}

/* If tau_profile_writer_close has given up waiting for the disk, the thread frees the writer itself. */
static void *work(void *context)
{
    struct tau_profile_writer *profiles = context;
    uint64_t next_ns = clock_monotonic_ns();
    while (!ends_now(profiles)) {
        struct queued_profile *queued = take(profiles, next_ns);
        if (queued) {
            write_dump(profiles, &queued->profile);
            tau_profile_clear(&queued->profile);
            free(queued);
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

static enum err start(struct tau_profile_writer *profiles)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the agent's main loop */
    int number = pthread_create(&profiles->thread, NULL, work, profiles);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err_from_errno(number);
}

enum err tau_profile_writer_open(struct tau_profile_writer **out, const struct tau_profile_writer_settings *settings)
{
    *out = NULL;
    enum err err = tau_profile_dir_create(settings->dir);
    struct tau_profile_writer *profiles = err ? NULL : calloc(1, sizeof *profiles);
    if (!profiles)
        return err ? err : NOMEM;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&profiles->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&profiles->mutex, NULL);
    profiles->dir = strdup(settings->dir);
    profiles->is_worker = settings->is_worker;
    profiles->last = &profiles->first;
    err = profiles->dir ? start(profiles) : NOMEM;
    if (err)
        free_all(profiles);
    else
        *out = profiles;
    return err;
}

void tau_profile_writer_close(struct tau_profile_writer **closing)
{
    struct tau_profile_writer *profiles = *closing;
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
        log_warn("the disk of %s does not respond: profiles of jobs may be missing there", profiles->dir);
    pthread_mutex_unlock(&profiles->mutex);
    if (!has_ended) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    free_all(profiles);
}

static enum err push_take(struct tau_profile_writer *profiles, struct queued_profile *queued)
{
    size_t bytes = queued->profile.capacity * sizeof(struct tau_snapshot);
    pthread_mutex_lock(&profiles->mutex);
    bool fits = profiles->bytes + bytes <= QUEUE_MAX && !profiles->stop;
    if (fits) {
        *profiles->last = queued;
        profiles->last = &queued->next;
        profiles->bytes += bytes;
        pthread_cond_broadcast(&profiles->changed);
    }
    pthread_mutex_unlock(&profiles->mutex);
    return fits ? OK : FULL;
}

enum err tau_profile_writer_put_take(struct tau_profile_writer *profiles, struct tau_profile *profile)
{
    uint64_t now_s = clock_realtime_ns() / NS_PER_S;
    bool is_wanted = profiles && *profile->job.id && profile->count;
    struct queued_profile *queued = is_wanted ? calloc(1, sizeof *queued) : NULL;
    enum err err = is_wanted && !queued ? NOMEM : OK;
    if (queued) {
        queued->profile = *profile;
        *profile = (struct tau_profile){ 0 };
        tau_profile_real_command(queued->profile.job.command);
        if (queued->profile.job.end_s < now_s)
            queued->profile.job.end_s = now_s;
        err = push_take(profiles, queued);
    }
    if (queued && err) {
        tau_profile_clear(&queued->profile);
        free(queued);
    }
    tau_profile_clear(profile);
    return err;
}
