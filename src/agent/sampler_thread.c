/* One mutex, one condition, one thread. Only the thread accesses sampler_state, jobs and batch while it works; the loop
 * accesses batch only while it is ready, when the thread waits. */
#include "agent/sampler_thread.h"

#include "agent/job_copy.h"
#include "base/capabilities.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_BYTES (1u << 20)
#define UPDATES_MAX 4096 /* beyond this, jobs that started and ended while the thread hung are dropped */

struct sampler_thread {
    /* owned by the thread */
    struct sampler_state sampler_state;
    struct sampler_context context;
    struct setting_list settings;
    struct job_copy *jobs, *ended; /* ended: samples may still refer to them */
    struct batch batch;
    uint64_t openings;

    /* shared, protected by the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct job_copy *updates, **updates_end;
    size_t update_count;
    bool wanted, busy, ready, stop;
    bool is_pending;      /* a requested reading that was not released yet: wanted, being read, or ready */
    bool is_detached;     /* nobody joins the thread, it frees all of this */
    uint64_t retry_at_ns; /* CLOCK_MONOTONIC: waking the thread earlier would be useless */
    bool never_retries;
    struct sampler_thread_status status;
    int event_fd;
    pthread_t thread;
};

static void sampler_thread_free(struct sampler_thread *worker)
{
    job_copy_free_all(&worker->jobs);
    job_copy_free_all(&worker->ended);
    job_copy_free_all(&worker->updates);
    setting_list_clear(&worker->settings);
    batch_clear(&worker->batch);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->mutex);
    if (worker->event_fd >= 0)
        close(worker->event_fd);
    free(worker);
}

/* Takes over the update, or frees it. */
static void apply_update(struct sampler_thread *worker, struct job_copy *update)
{
    struct job_copy **link = job_copy_find(&worker->jobs, update->job.slot);
    struct job_copy *copy = *link;
    if (update->event == JOB_END) {
        if (copy) {
            job_copy_swap(copy, update);
            sampler_state_job(&worker->sampler_state, &copy->job, JOB_END, &worker->batch);
            *link = copy->next;
            copy->next = worker->ended;
            worker->ended = copy;
        }
    } else if (copy) {
        job_copy_swap(copy, update);
        sampler_state_job(&worker->sampler_state, &copy->job, JOB_CHANGE, &worker->batch);
    } else {
        update->next = worker->jobs;
        worker->jobs = update;
        sampler_state_job(&worker->sampler_state, &update->job, JOB_BEGIN, &worker->batch);
        return;
    }
    job_copy_free(&update);
}

static void work(struct sampler_thread *worker, struct job_copy *update, bool read)
{
    if (sampler_state_wake(&worker->sampler_state)) {
        worker->openings++;
        for (struct job_copy *copy = worker->jobs; copy; copy = copy->next)
            sampler_state_job(&worker->sampler_state, &copy->job, JOB_BEGIN, &worker->batch);
    }
    while (update) {
        struct job_copy *next = update->next;
        apply_update(worker, update);
        update = next;
    }
    uint64_t since_ns = clock_monotonic_ns();
    if (read)
        sampler_state_read(&worker->sampler_state, &worker->batch);
    worker->batch.read_ns = clock_monotonic_ns() - since_ns;
}

static void notify_loop(const struct sampler_thread *worker)
{
    uint64_t one = 1;
    while (write(worker->event_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void work_once(struct sampler_thread *worker)
{
    struct job_copy *update = worker->updates;
    bool read = worker->wanted;
    worker->updates = NULL;
    worker->updates_end = &worker->updates;
    worker->update_count = 0;
    worker->wanted = false;
    worker->busy = true;
    pthread_mutex_unlock(&worker->mutex);
    job_copy_free_all(&worker->ended);
    work(worker, update, read);
    pthread_mutex_lock(&worker->mutex);
    worker->busy = false;
    worker->ready = worker->batch.count > 0;
    worker->is_pending = worker->wanted || (worker->is_pending && worker->ready);
    worker->status.is_open = worker->sampler_state.is_open;
    worker->status.is_absent = worker->sampler_state.is_absent;
    worker->status.last = worker->sampler_state.last;
    worker->status.failures = worker->sampler_state.failures;
    worker->status.openings = worker->openings;
    worker->retry_at_ns = worker->sampler_state.is_open ? 0 : worker->sampler_state.retry_at_ns;
    worker->never_retries = worker->sampler_state.is_absent && !worker->sampler_state.retry_absent_ns;
    pthread_cond_broadcast(&worker->changed);
    if (worker->ready)
        notify_loop(worker);
}

static void drop_capabilities(const struct sampler *sampler)
{
    enum err err = sampler->keeps_capabilities ? capabilities_drop(sampler->keeps_capabilities) : OK;
    if (err)
        log_warn("the thread of the sensor %s keeps its capabilities: %s", sampler->name, err_text(err));
}

static void *thread_main(void *argument)
{
    struct sampler_thread *worker = argument;
    drop_capabilities(worker->sampler_state.sampler);
    pthread_mutex_lock(&worker->mutex);
    while (!worker->stop) {
        if (worker->ready || (!worker->wanted && !worker->updates))
            pthread_cond_wait(&worker->changed, &worker->mutex);
        else
            work_once(worker);
    }
    bool is_detached = worker->is_detached;
    pthread_mutex_unlock(&worker->mutex);
    sampler_state_close(&worker->sampler_state);
    if (is_detached)
        sampler_thread_free(worker);
    return NULL;
}

static void init(struct sampler_thread *worker)
{
    pthread_condattr_t clock;
    worker->event_fd = -1;
    worker->updates_end = &worker->updates;
    batch_init(&worker->batch);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->changed, &clock);
    pthread_condattr_destroy(&clock);
}

static enum err start_thread(struct sampler_thread *worker)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int number = pthread_create(&worker->thread, &attributes, thread_main, worker);
    pthread_attr_destroy(&attributes);
    return err_from_errno(number);
}

enum err sampler_thread_start(struct sampler_thread **worker, const struct sampler *sampler,
                              const struct sampler_context *context,
                              const struct setting_list *settings, uint64_t retry_absent_ns, bool is_named, int event_fd)
{
    struct sampler_thread *s = calloc(1, sizeof *s);
    *worker = NULL;
    if (!s)
        return NOMEM;
    init(s);
    s->context = *context;
    enum err err = setting_list_copy(&s->settings, settings);
    if (!err && (s->event_fd = fcntl(event_fd, F_DUPFD_CLOEXEC, 0)) < 0)
        err = err_from_errno(errno);
    s->sampler_state = (struct sampler_state){
        .sampler = sampler, .context = &s->context, .settings = s->settings.list, .setting_count = s->settings.count,
        .retry_absent_ns = retry_absent_ns, .is_named = is_named,
    };
    if (!err)
        err = start_thread(s);
    if (err)
        sampler_thread_free(s);
    else
        *worker = s;
    return err;
}

static bool is_resting(const struct sampler_thread *worker)
{
    return worker->never_retries || (worker->retry_at_ns && clock_monotonic_ns() < worker->retry_at_ns);
}

void sampler_thread_tick(struct sampler_thread *worker)
{
    pthread_mutex_lock(&worker->mutex);
    if (is_resting(worker)) {
        pthread_mutex_unlock(&worker->mutex);
        return;
    }
    if (worker->is_pending)
        worker->status.skipped++;
    else {
        worker->is_pending = worker->wanted = true;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->mutex);
}

/* All queued updates of a job that the thread does not know yet. */
static void drop_updates(struct sampler_thread *worker, uint32_t slot)
{
    struct job_copy **link = &worker->updates;
    while (*link) {
        struct job_copy *copy = *link;
        if (copy->job.slot != slot) {
            link = &copy->next;
            continue;
        }
        *link = copy->next;
        job_copy_free(&copy);
        worker->update_count--;
    }
    worker->updates_end = link;
}

static bool has_begin(struct sampler_thread *worker, uint32_t slot)
{
    for (const struct job_copy *update = worker->updates; update; update = update->next)
        if (update->job.slot == slot && update->event == JOB_BEGIN)
            return true;
    return false;
}

void sampler_thread_job(struct sampler_thread *worker, const struct job *job, enum job_event event)
{
    pthread_mutex_lock(&worker->mutex);
    if (event == JOB_END && worker->update_count >= UPDATES_MAX && has_begin(worker, job->slot))
        drop_updates(worker, job->slot);
    else {
        struct job_copy *update = job_copy_new(job, event);
        if (update) {
            *worker->updates_end = update;
            worker->updates_end = &update->next;
            worker->update_count++;
            pthread_cond_broadcast(&worker->changed);
        }
    }
    pthread_mutex_unlock(&worker->mutex);
}

const struct batch *sampler_thread_batch(struct sampler_thread *worker)
{
    pthread_mutex_lock(&worker->mutex);
    bool ready = worker->ready;
    pthread_mutex_unlock(&worker->mutex);
    return ready ? &worker->batch : NULL;
}

void sampler_thread_release(struct sampler_thread *worker)
{
    pthread_mutex_lock(&worker->mutex);
    batch_reset(&worker->batch);
    worker->ready = false;
    worker->is_pending = worker->wanted;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

void sampler_thread_status(struct sampler_thread *worker, struct sampler_thread_status *status)
{
    pthread_mutex_lock(&worker->mutex);
    *status = worker->status;
    status->is_busy = worker->busy || worker->wanted;
    pthread_mutex_unlock(&worker->mutex);
}

bool sampler_thread_wait(struct sampler_thread *worker, uint64_t deadline_ns)
{
    struct timespec until = { (time_t)(deadline_ns / NS_PER_S), (long)(deadline_ns % NS_PER_S) };
    pthread_mutex_lock(&worker->mutex);
    int result = 0;
    while (!worker->ready && (worker->busy || worker->wanted || worker->updates) && result == 0)
        result = pthread_cond_timedwait(&worker->changed, &worker->mutex, &until);
    pthread_mutex_unlock(&worker->mutex);
    return result == 0;
}

void sampler_thread_stop(struct sampler_thread **worker)
{
    struct sampler_thread *s = *worker;
    if (!s)
        return;
    pthread_mutex_lock(&s->mutex);
    pthread_t thread = s->thread;
    bool is_detached = s->is_detached = s->busy;
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    *worker = NULL;
    if (is_detached) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    sampler_thread_free(s);
}
