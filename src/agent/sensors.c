/* Each sensor has a sampler in the loop or, if it is slow, in a thread; and a slot of the schedule. */
#include "agent/sensors.h"

#include "agent/counter_offset.h"
#include "agent/sampler_thread.h"
#include "base/log.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FIRST_SAMPLES_MAX 64 /* jobs with an immediate first sample between two ticks; with more, the next tick has to do */
#define CLOSE_NS (200 * NS_PER_MS) /* how long slow samplers may take to finish when all are closed */
#define LAST_READ_NS (50 * NS_PER_MS) /* how long a slow sampler that is replaced may take to finish: the loop waits */
#define MANY_SAMPLES 1024 /* samples: jobs come and go by the thousand */
#define RELEASE_AFTER_NS (10 * NS_PER_S) /* after they have ended */
#define RETRY_ABSENT_NS (600 * NS_PER_S) /* hardware may be added, modules may be loaded */

struct sensor {
    const struct sampler *sampler;
    bool enabled;
    uint64_t period_ns;
    struct setting_list settings; /* as opened; borrowed by sampler_state */
    struct sampler_state sampler_state;
    struct sampler_thread *thread; /* NULL: it is read in the loop */
    uint64_t thread_openings;
    struct counter_offsets offsets; /* keep counters continuous when the settings change */
    size_t slot;
};

struct sensors {
    struct sensors_settings settings;
    struct sampler_context context;
    const struct jobs *jobs;
    int event_fd;
    struct batch batch;
    struct sensor *list;
    size_t count;
    size_t *enabled; /* indices in list: a tick need not scan all possible sensors */
    size_t enabled_count;
    unsigned begins;   /* started jobs since the last tick */
    uint64_t crowd_ns; /* CLOCK_MONOTONIC when the batch was last large; 0: never, or already released */
};

enum err sensors_open(struct sensors **sensors, const struct sensors_settings *settings)
{
    struct sensors *s = *sensors = calloc(1, sizeof *s);
    if (!s)
        return NOMEM;
    s->settings = *settings;
    s->context = (struct sampler_context){ .root = settings->root };
    batch_init(&s->batch);
    s->batch.host = settings->host;
    s->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (s->event_fd >= 0)
        return OK;
    enum err err = err_from_errno(errno);
    sensors_close(sensors);
    return err;
}

void sensors_set_jobs(struct sensors *sensors, const struct jobs *jobs)
{
    sensors->jobs = jobs;
}

int sensors_fd(const struct sensors *sensors)
{
    return sensors->event_fd;
}

/* Stores what one sensor added to the batch, from this index on. */
static void store_samples(struct sensors *sensors, struct sensor *sensor, size_t from)
{
    counter_offsets_apply(&sensor->offsets, &sensors->batch, from);
    struct batch part = sensors->batch;
    part.samples += from;
    part.count -= from;
    if (part.count)
        latest_update_from(sensors->settings.live, &part, sensor->period_ns, sensor);
}

static size_t emit(struct sensors *sensors)
{
    size_t count = sensors->batch.count;
    if (count)
        sensors->settings.out(sensors->settings.out_context, &sensors->batch);
    return count;
}

/* Announces the running jobs to a sampler that was just opened. A reading follows, so it adds no samples yet. */
static void begin_jobs(struct sensors *sensors, struct sampler_state *sampler_state)
{
    size_t at = 0;
    sampler_state->skip_first_sample = true;
    for (const struct job *job; sensors->jobs && (job = jobs_next(sensors->jobs, &at));)
        sampler_state_job(sampler_state, job, JOB_BEGIN, &sensors->batch);
}

/* The addresses of its sets may have changed. A sampler that failed counts from 0 again, as after a start. */
static void wake(struct sensors *sensors, struct sensor *sensor)
{
    if (!sampler_state_wake(&sensor->sampler_state))
        return;
    latest_forget_addresses(sensors->settings.live);
    counter_offsets_clear(&sensor->offsets);
    begin_jobs(sensors, &sensor->sampler_state);
}

static void read_open(struct sensors *sensors, struct sensor *sensor, void (*read)(struct sampler_state *, struct batch *))
{
    size_t from = sensors->batch.count;
    uint64_t since_ns = clock_monotonic_ns();
    sensors->batch.is_part = false;
    read(&sensor->sampler_state, &sensors->batch);
    sensors->batch.read_ns = clock_monotonic_ns() - since_ns;
    store_samples(sensors, sensor, from);
    if (sensors->batch.count > from && sensors->batch.is_part)
        latest_refresh_source(sensors->settings.live, sensor);
    else if (sensors->batch.count > from) /* complete reading: a process or device that is not in it no longer exists */
        latest_drop_missing(sensors->settings.live, sensor, since_ns);
}

static void read_one(struct sensors *sensors, struct sensor *sensor)
{
    if (sensor->thread) {
        sampler_thread_tick(sensor->thread);
        return;
    }
    wake(sensors, sensor);
    read_open(sensors, sensor, sampler_state_read);
}

void sensors_poll(struct sensors *sensors)
{
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < sensors->enabled_count; i++)
        sampler_state_poll(&sensors->list[sensors->enabled[i]].sampler_state, now_ns);
}

/* Releases the memory of thousands of ended jobs. */
static void release_memory(struct sensors *sensors)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (sensors->batch.count >= MANY_SAMPLES)
        sensors->crowd_ns = now_ns;
    if (!sensors->crowd_ns || now_ns - sensors->crowd_ns < RELEASE_AFTER_NS)
        return;
    sensors->crowd_ns = 0;
    batch_clear(&sensors->batch);
    batch_init(&sensors->batch);
    sensors->batch.host = sensors->settings.host;
    malloc_trim(0);
}

size_t sensors_tick(struct sensors *sensors)
{
    batch_reset(&sensors->batch);
    sensors->begins = 0;
    for (size_t i = 0; i < sensors->enabled_count; i++) {
        struct sensor *sensor = &sensors->list[sensors->enabled[i]];
        if (sensors->settings.schedule->slots[sensor->slot].due)
            read_one(sensors, sensor);
    }
    size_t count = emit(sensors);
    release_memory(sensors);
    return count;
}

/* Samples of a job that ended during the reading are written, but no longer shown. */
static void store_thread_batch(struct sensors *sensors, const struct sensor *sensor, const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const char *job = batch->samples[i].job;
        struct batch one = *batch;
        one.samples += i;
        one.count = 1;
        if (!job || (sensors->jobs && jobs_find(sensors->jobs, job)))
            latest_update_from(sensors->settings.live, &one, sensor->period_ns, sensor);
    }
}

static void collect_thread(struct sensors *sensors, struct sensor *sensor)
{
    const struct batch *read = sampler_thread_batch(sensor->thread);
    struct sampler_thread_status facts;
    if (!read)
        return;
    sampler_thread_status(sensor->thread, &facts);
    bool is_new = facts.openings != sensor->thread_openings;
    if (is_new)
        latest_forget_addresses(sensors->settings.live);
    if (is_new && sensor->thread_openings)
        counter_offsets_clear(&sensor->offsets);
    sensor->thread_openings = facts.openings;
    struct batch batch = *read;
    batch.host = sensors->settings.host;
    counter_offsets_apply(&sensor->offsets, &batch, 0);
    if (is_new)
        counter_offsets_drop_unmatched(&sensor->offsets);
    store_thread_batch(sensors, sensor, &batch);
    sensors->settings.out(sensors->settings.out_context, &batch);
    sampler_thread_release(sensor->thread);
}

/* A batch with job samples may come before the reading. */
static void drain_thread(struct sensors *sensors, struct sensor *sensor, uint64_t deadline_ns)
{
    struct sampler_thread_status facts;
    bool in_time;
    do {
        in_time = sampler_thread_wait(sensor->thread, deadline_ns);
        collect_thread(sensors, sensor);
        sampler_thread_status(sensor->thread, &facts);
    } while (in_time && facts.is_busy);
}

size_t sensors_read_all(struct sensors *sensors, uint64_t deadline_ns)
{
    batch_reset(&sensors->batch);
    for (size_t i = 0; i < sensors->count; i++)
        if (sensors->list[i].enabled)
            read_one(sensors, &sensors->list[i]);
    size_t count = emit(sensors);
    for (size_t i = 0; i < sensors->count; i++)
        if (sensors->list[i].thread)
            drain_thread(sensors, &sensors->list[i], deadline_ns);
    return count;
}

void sensors_collect(struct sensors *sensors)
{
    uint64_t times;
    (void)!read(sensors->event_fd, &times, sizeof times);
    for (size_t i = 0; i < sensors->count; i++)
        if (sensors->list[i].thread)
            collect_thread(sensors, &sensors->list[i]);
}

void sensors_job(struct sensors *sensors, const struct job *job, enum job_event event)
{
    batch_reset(&sensors->batch);
    sensors->begins += event == JOB_BEGIN;
    for (size_t i = 0; i < sensors->count; i++) {
        /* At the end in reverse: taskstats are read before the counters of a cgroup that may no longer exist. */
        struct sensor *sensor = &sensors->list[event == JOB_END ? sensors->count - 1 - i : i];
        if (!sensor->enabled || !sensor->sampler->job)
            continue;
        size_t from = sensors->batch.count;
        sensor->sampler_state.skip_first_sample = sensors->begins > FIRST_SAMPLES_MAX;
        if (event == JOB_BEGIN)
            counter_offsets_drop_job(&sensor->offsets, job->id); /* of an earlier job with that id, whose last sample
                                                                  * came late */
        if (sensor->thread)
            sampler_thread_job(sensor->thread, job, event);
        else
            sampler_state_job(&sensor->sampler_state, job, event, &sensors->batch);
        store_samples(sensors, sensor, from);
        if (event == JOB_END && !sensor->thread)
            counter_offsets_drop_job(&sensor->offsets, job->id);
    }
    emit(sensors);
    if (event == JOB_END)
        latest_drop_job(sensors->settings.live, job->id);
}

/* Emits the final counts, and saves them for the sampler that continues from there. */
static enum err read_last(struct sensors *sensors, struct sensor *sensor)
{
    batch_reset(&sensors->batch);
    if (sensor->thread) {
        sampler_thread_wait(sensor->thread, clock_monotonic_ns() + LAST_READ_NS);
        collect_thread(sensors, sensor);
    } else {
        read_open(sensors, sensor, sampler_state_read_last);
    }
    emit(sensors);
    return counter_offsets_save(&sensor->offsets, sensors->settings.live, sensor);
}

static void stop(struct sensors *sensors, struct sensor *sensor)
{
    if (!sensor->enabled)
        return;
    if (sensor->thread)
        collect_thread(sensors, sensor);
    else if (sensor->sampler->loses_counts_on_close)
        read_last(sensors, sensor);
    sampler_thread_stop(&sensor->thread);
    sampler_state_close(&sensor->sampler_state);
    setting_list_clear(&sensor->settings);
    counter_offsets_clear(&sensor->offsets);
    schedule_remove(sensors->settings.schedule, sensor->slot);
    latest_forget_addresses(sensors->settings.live);
    latest_drop_source(sensors->settings.live, sensor);
    sensor->enabled = false;
}

void sensors_close(struct sensors **sensors)
{
    struct sensors *s = *sensors;
    uint64_t deadline_ns = clock_monotonic_ns() + CLOSE_NS;
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].thread)
            sampler_thread_wait(s->list[i].thread, deadline_ns);
    for (size_t i = 0; i < s->count; i++)
        stop(s, &s->list[i]);
    if (s->event_fd >= 0)
        close(s->event_fd);
    batch_clear(&s->batch);
    free(s->list);
    free(s->enabled);
    free(s);
    *sensors = NULL;
}

/* Creates a sensor with the configured settings, independent of the existing one. */
static enum err create(struct sensors *sensors, const struct sensor_config *config, struct sensor *created)
{
    enum err err = setting_list_copy(&created->settings, &config->settings);
    created->sampler_state = (struct sampler_state){
        .sampler = config->sampler, .context = &sensors->context, .settings = created->settings.list,
        .setting_count = created->settings.count, .retry_absent_ns = RETRY_ABSENT_NS, .is_named = config->is_named,
    };
    if (!err && config->sampler->is_slow)
        err = sampler_thread_start(&created->thread, config->sampler, &sensors->context, &config->settings,
                                   RETRY_ABSENT_NS, config->is_named, sensors->event_fd);
    for (size_t at = 0; !err && created->thread && sensors->jobs;) {
        const struct job *job = jobs_next(sensors->jobs, &at);
        if (!job)
            break;
        sampler_thread_job(created->thread, job, JOB_BEGIN);
    }
    return err;
}

static enum err start(struct sensors *sensors, struct sensor *sensor, const struct sensor_config *config,
                      uint64_t period_ns)
{
    struct sensor created = { .sampler = config->sampler, .period_ns = period_ns, .enabled = true };
    enum err err = schedule_add(sensors->settings.schedule, period_ns, clock_realtime_ns(), &created.slot);
    if (err)
        return err;
    err = create(sensors, config, &created);
    if (err) {
        schedule_remove(sensors->settings.schedule, created.slot);
        setting_list_clear(&created.settings);
        return err;
    }
    *sensor = created;
    batch_reset(&sensors->batch);
    if (!sensor->thread)
        wake(sensors, sensor);
    emit(sensors);
    return OK;
}

static void discard(struct sensor *sensor)
{
    sampler_thread_stop(&sensor->thread);
    sampler_state_close(&sensor->sampler_state);
    setting_list_clear(&sensor->settings);
}

/* Creates and opens one to replace sensor. */
static enum err create_replacement(struct sensors *sensors, const struct sensor *sensor, const struct sensor_config *config,
                           struct sensor *created)
{
    enum err err = create(sensors, config, created);
    if (err || created->thread)
        return err;
    created->sampler_state.was_reported = true; /* the requester gets the error */
    sampler_state_wake(&created->sampler_state);
    err = created->sampler_state.is_open || !sensor->sampler_state.is_open ? OK : created->sampler_state.last;
    created->sampler_state.was_reported = sensor->sampler_state.was_reported;
    return err;
}

/* The new sampler is opened, and knows the jobs, before the old one reads for the last time: an error costs nothing,
 * and between the last reading of the one and the first of the other there is only the time they take. */
static enum err replace(struct sensors *sensors, struct sensor *sensor, const struct sensor_config *config,
                        struct buf *error)
{
    struct sensor created = { 0 };
    enum err err = create_replacement(sensors, sensor, config, &created);
    if (!err && !created.thread)
        begin_jobs(sensors, &created.sampler_state);
    if (!err)
        err = read_last(sensors, sensor);
    if (err) {
        discard(&created);
        buf_printf(error, "cannot read %s with these settings: %s", config->sampler->name, err_text(err));
        return USAGE;
    }
    struct sensor old = *sensor;
    sensor->settings = created.settings;
    sensor->sampler_state = created.sampler_state;
    sensor->thread = created.thread;
    sensor->thread_openings = 0;
    latest_forget_addresses(sensors->settings.live); /* the last values are shown until the first new ones */
    batch_reset(&sensors->batch);
    if (!sensor->thread) {
        read_open(sensors, sensor, sampler_state_read); /* as a base only, not emitted: the last one was read at the
                                                         * same time */
        counter_offsets_drop_unmatched(&sensor->offsets);
    }
    batch_reset(&sensors->batch);
    discard(&old);
    latest_forget_addresses(sensors->settings.live);
    return OK;
}

static enum err apply_one(struct sensors *sensors, struct sensor *sensor, const struct agent_config *config,
                          const struct sensor_config *wanted, struct buf *error)
{
    uint64_t period_ns = agent_config_period_ns(config, wanted);
    if (!wanted->enabled) {
        stop(sensors, sensor);
        return OK;
    }
    if (!sensor->enabled)
        return start(sensors, sensor, wanted, period_ns);
    enum err err = schedule_change(sensors->settings.schedule, sensor->slot, period_ns, clock_realtime_ns());
    if (err)
        return err;
    sensor->period_ns = period_ns;
    return setting_list_equal(&sensor->settings, &wanted->settings) ? OK : replace(sensors, sensor, wanted, error);
}

/* With the first configuration; later ones have the same sensors. */
static bool allocate(struct sensors *sensors, size_t count)
{
    if (sensors->list)
        return true;
    free(sensors->enabled);
    sensors->enabled = calloc(count + 1, sizeof *sensors->enabled);
    sensors->list = sensors->enabled ? calloc(count + 1, sizeof *sensors->list) : NULL;
    sensors->count = sensors->list ? count : 0;
    return sensors->list;
}

static void find_enabled(struct sensors *sensors)
{
    sensors->enabled_count = 0;
    for (size_t i = 0; i < sensors->count; i++)
        if (sensors->list[i].enabled)
            sensors->enabled[sensors->enabled_count++] = i;
}

enum err sensors_apply(struct sensors *sensors, const struct agent_config *config, struct buf *error)
{
    if (!allocate(sensors, config->sensor_count))
        return NOMEM;
    enum err err = OK;
    for (size_t i = 0; i < sensors->count && !err; i++) {
        sensors->list[i].sampler = config->sensors[i].sampler;
        err = apply_one(sensors, &sensors->list[i], config, &config->sensors[i], error);
        if (err && err != USAGE)
            buf_printf(error, "%s: %s", config->sensors[i].sampler->name, err_text(err));
    }
    find_enabled(sensors);
    schedule_align_first_ticks(sensors->settings.schedule, clock_realtime_ns());
    return err;
}

static enum sensor_state state_of(bool is_open, bool is_absent, enum err last)
{
    if (is_open)
        return SENSOR_READS;
    if (is_absent)
        return last == DENIED ? SENSOR_DENIED : SENSOR_ABSENT;
    return last ? SENSOR_FAILS : SENSOR_WAITS;
}

bool sensors_next(struct sensors *sensors, size_t *at, struct sensor_facts *facts)
{
    if (*at >= sensors->count)
        return false;
    struct sensor *sensor = &sensors->list[(*at)++];
    struct sampler_thread_status thread = { 0 };
    *facts = (struct sensor_facts){ .sampler = sensor->sampler, .settings = &sensor->settings };
    if (!sensor->enabled)
        return true;
    facts->period_ns = sensor->period_ns;
    facts->counts = sensors->settings.schedule->slots[sensor->slot].counts;
    facts->failures = sensor->sampler_state.failures;
    facts->state = state_of(sensor->sampler_state.is_open, sensor->sampler_state.is_absent, sensor->sampler_state.last);
    if (!sensor->thread)
        return true;
    sampler_thread_status(sensor->thread, &thread);
    facts->failures = thread.failures;
    facts->counts.missed += thread.skipped;
    facts->state = state_of(thread.is_open, thread.is_absent, thread.last);
    return true;
}

const char *sensors_state_name(enum sensor_state state)
{
    static const char *const names[] = { "off", "reads", "absent", "denied", "fails", "waits" };
    return names[state];
}
