/* One mutex, one condition, one thread. The thread alone touches life, jobs and batch while it works; the loop touches
 * batch only while it is ready, when the thread waits. */
#include "agent/sampler_thread.h"

#include "agent/job_copy.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_BYTES (1u << 20)
#define NEWS_MAX 4096 /* more, and jobs that began and ended while the thread hung are not told to it at all */

struct slow {
    /* the thread's */
    struct sampler_state sampler_state;
    struct sampler_context context;
    struct setting_list settings;
    struct job_copy *jobs, *ended; /* ended: samples may still name them */
    struct batch batch;
    uint64_t openings;

    /* shared, under the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct job_copy *news, **news_end;
    size_t news_count;
    bool wanted, busy, ready, stop;
    bool asked; /* for a reading that was not given back yet: wanted, being read, or ready */
    bool left;  /* nobody waits for the thread, it frees all of this */
    uint64_t rests_until_ns; /* CLOCK_MONOTONIC: to wake the thread before would be in vain */
    bool rests_for_ever;
    struct slow_facts facts;
    int event_fd;
    pthread_t thread;
};

static void slow_free(struct slow *slow)
{
    job_copy_free_all(&slow->jobs);
    job_copy_free_all(&slow->ended);
    job_copy_free_all(&slow->news);
    setting_list_clear(&slow->settings);
    batch_clear(&slow->batch);
    pthread_cond_destroy(&slow->changed);
    pthread_mutex_destroy(&slow->mutex);
    if (slow->event_fd >= 0)
        close(slow->event_fd);
    free(slow);
}

/* Takes over the news, or frees it. */
static void hear(struct slow *slow, struct job_copy *news)
{
    struct job_copy **place = job_copy_find(&slow->jobs, news->job.slot);
    struct job_copy *copy = *place;
    if (news->event == JOB_END) {
        if (copy) {
            job_copy_swap(copy, news);
            sampler_state_job(&slow->sampler_state, &copy->job, JOB_END, &slow->batch);
            *place = copy->next;
            copy->next = slow->ended;
            slow->ended = copy;
        }
    } else if (copy) {
        job_copy_swap(copy, news);
        sampler_state_job(&slow->sampler_state, &copy->job, JOB_CHANGE, &slow->batch);
    } else {
        news->next = slow->jobs;
        slow->jobs = news;
        sampler_state_job(&slow->sampler_state, &news->job, JOB_BEGIN, &slow->batch);
        return;
    }
    job_copy_free(&news);
}

static void work(struct slow *slow, struct job_copy *news, bool read)
{
    if (sampler_state_wake(&slow->sampler_state)) {
        slow->openings++;
        for (struct job_copy *copy = slow->jobs; copy; copy = copy->next)
            sampler_state_job(&slow->sampler_state, &copy->job, JOB_BEGIN, &slow->batch);
    }
    while (news) {
        struct job_copy *next = news->next;
        hear(slow, news);
        news = next;
    }
    if (read)
        sampler_state_read(&slow->sampler_state, &slow->batch);
}

static void tell_loop(const struct slow *slow)
{
    uint64_t one = 1;
    while (write(slow->event_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void work_once(struct slow *slow)
{
    struct job_copy *news = slow->news;
    bool read = slow->wanted;
    slow->news = NULL;
    slow->news_end = &slow->news;
    slow->news_count = 0;
    slow->wanted = false;
    slow->busy = true;
    pthread_mutex_unlock(&slow->mutex);
    job_copy_free_all(&slow->ended);
    work(slow, news, read);
    pthread_mutex_lock(&slow->mutex);
    slow->busy = false;
    slow->ready = slow->batch.count > 0;
    slow->asked = slow->wanted || (slow->asked && slow->ready);
    slow->facts.is_open = slow->sampler_state.is_open;
    slow->facts.is_absent = slow->sampler_state.is_absent;
    slow->facts.last = slow->sampler_state.last;
    slow->facts.failures = slow->sampler_state.failures;
    slow->facts.openings = slow->openings;
    slow->rests_until_ns = slow->sampler_state.is_open ? 0 : slow->sampler_state.retry_at_ns;
    slow->rests_for_ever = slow->sampler_state.is_absent && !slow->sampler_state.retry_absent_ns;
    pthread_cond_broadcast(&slow->changed);
    if (slow->ready)
        tell_loop(slow);
}

static void *slow_main(void *argument)
{
    struct slow *slow = argument;
    pthread_mutex_lock(&slow->mutex);
    while (!slow->stop) {
        if (slow->ready || (!slow->wanted && !slow->news))
            pthread_cond_wait(&slow->changed, &slow->mutex);
        else
            work_once(slow);
    }
    bool left = slow->left;
    pthread_mutex_unlock(&slow->mutex);
    sampler_state_close(&slow->sampler_state);
    if (left)
        slow_free(slow);
    return NULL;
}

static void init(struct slow *slow)
{
    pthread_condattr_t clock;
    slow->event_fd = -1;
    slow->news_end = &slow->news;
    batch_init(&slow->batch);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&slow->mutex, NULL);
    pthread_cond_init(&slow->changed, &clock);
    pthread_condattr_destroy(&clock);
}

static enum err start_thread(struct slow *slow)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int number = pthread_create(&slow->thread, &attributes, slow_main, slow);
    pthread_attr_destroy(&attributes);
    return err_from_errno(number);
}

enum err slow_start(struct slow **slow, const struct sampler *sampler, const struct sampler_context *context,
                    const struct setting_list *settings, uint64_t retry_absent_ns, int event_fd)
{
    struct slow *s = calloc(1, sizeof *s);
    *slow = NULL;
    if (!s)
        return NOMEM;
    init(s);
    s->context = *context;
    enum err err = setting_list_copy(&s->settings, settings);
    if (!err && (s->event_fd = fcntl(event_fd, F_DUPFD_CLOEXEC, 0)) < 0)
        err = err_from_errno(errno);
    s->sampler_state = (struct sampler_state){
        .sampler = sampler, .context = &s->context, .settings = s->settings.list, .setting_count = s->settings.count,
        .retry_absent_ns = retry_absent_ns,
    };
    if (!err)
        err = start_thread(s);
    if (err)
        slow_free(s);
    else
        *slow = s;
    return err;
}

static bool rests(const struct slow *slow)
{
    return slow->rests_for_ever || (slow->rests_until_ns && clock_monotonic_ns() < slow->rests_until_ns);
}

void slow_tick(struct slow *slow)
{
    pthread_mutex_lock(&slow->mutex);
    if (rests(slow)) {
        pthread_mutex_unlock(&slow->mutex);
        return;
    }
    if (slow->asked)
        slow->facts.skipped++;
    else {
        slow->asked = slow->wanted = true;
        pthread_cond_broadcast(&slow->changed);
    }
    pthread_mutex_unlock(&slow->mutex);
}

/* All news of a job that the thread has not heard of. */
static void forget_news(struct slow *slow, uint32_t slot)
{
    struct job_copy **place = &slow->news;
    while (*place) {
        struct job_copy *copy = *place;
        if (copy->job.slot != slot) {
            place = &copy->next;
            continue;
        }
        *place = copy->next;
        job_copy_free(&copy);
        slow->news_count--;
    }
    slow->news_end = place;
}

static bool has_begin(struct slow *slow, uint32_t slot)
{
    for (const struct job_copy *news = slow->news; news; news = news->next)
        if (news->job.slot == slot && news->event == JOB_BEGIN)
            return true;
    return false;
}

void slow_job(struct slow *slow, const struct job *job, enum job_event event)
{
    pthread_mutex_lock(&slow->mutex);
    if (event == JOB_END && slow->news_count >= NEWS_MAX && has_begin(slow, job->slot))
        forget_news(slow, job->slot);
    else {
        struct job_copy *news = job_copy_new(job, event);
        if (news) {
            *slow->news_end = news;
            slow->news_end = &news->next;
            slow->news_count++;
            pthread_cond_broadcast(&slow->changed);
        }
    }
    pthread_mutex_unlock(&slow->mutex);
}

const struct batch *slow_take(struct slow *slow)
{
    pthread_mutex_lock(&slow->mutex);
    bool ready = slow->ready;
    pthread_mutex_unlock(&slow->mutex);
    return ready ? &slow->batch : NULL;
}

void slow_give_back(struct slow *slow)
{
    pthread_mutex_lock(&slow->mutex);
    batch_reset(&slow->batch);
    slow->ready = false;
    slow->asked = slow->wanted;
    pthread_cond_broadcast(&slow->changed);
    pthread_mutex_unlock(&slow->mutex);
}

void slow_look(struct slow *slow, struct slow_facts *facts)
{
    pthread_mutex_lock(&slow->mutex);
    *facts = slow->facts;
    facts->is_busy = slow->busy || slow->wanted;
    pthread_mutex_unlock(&slow->mutex);
}

bool slow_wait(struct slow *slow, uint64_t deadline_ns)
{
    struct timespec until = { (time_t)(deadline_ns / NS_PER_S), (long)(deadline_ns % NS_PER_S) };
    pthread_mutex_lock(&slow->mutex);
    int result = 0;
    while (!slow->ready && (slow->busy || slow->wanted || slow->news) && result == 0)
        result = pthread_cond_timedwait(&slow->changed, &slow->mutex, &until);
    pthread_mutex_unlock(&slow->mutex);
    return result == 0;
}

void slow_stop(struct slow **slow)
{
    struct slow *s = *slow;
    if (!s)
        return;
    pthread_mutex_lock(&s->mutex);
    pthread_t thread = s->thread;
    bool left = s->left = s->busy;
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    *slow = NULL;
    if (left) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    slow_free(s);
}
