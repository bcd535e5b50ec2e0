/* Each sensor has a life in the loop or, if it is slow, in a thread; and a slot of the schedule. */
#include "agent/sensors.h"

#include "agent/counter_offset.h"
#include "agent/sampler_thread.h"
#include "base/log.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FIRSTS_MAX 64 /* jobs with a first sample of their own between two ticks; when more begin, the tick must do */
#define CLOSE_NS (200 * NS_PER_MS) /* so long the slow ones may still read when all end */
#define LAST_NS (50 * NS_PER_MS) /* so long a slow one that is changed may finish what it reads: the loop waits */
#define CROWD 1024 /* samples: jobs come and go by the thousand */
#define GIVE_BACK_NS (10 * NS_PER_S) /* after they have gone */
#define LOOK_AGAIN_NS (600 * NS_PER_S) /* hardware may come, modules are loaded */

struct sensor {
    const struct sampler *sampler;
    bool enabled;
    uint64_t period_ns;
    struct setting_list settings; /* what it was opened with; life borrows them */
    struct sampler_state sampler_state;
    struct slow *slow; /* NULL: it is read in the loop */
    uint64_t slow_openings;
    struct carry carry; /* what counters had counted before the settings changed */
    size_t slot;
};

struct sensors {
    struct sensors_place place;
    struct sampler_context context;
    const struct jobs *jobs;
    int event_fd;
    struct batch batch;
    struct sensor *list;
    size_t count;
    size_t *enabled; /* their places in list: at a tick nobody goes through all that there could be */
    size_t enabled_count;
    unsigned begins; /* of jobs, since the last tick */
    uint64_t crowd_ns; /* CLOCK_MONOTONIC: when the batch was last made use of by many; 0: never, or it was given back */
};

enum err sensors_open(struct sensors **sensors, const struct sensors_place *place)
{
    struct sensors *s = *sensors = calloc(1, sizeof *s);
    if (!s)
        return NOMEM;
    s->place = *place;
    s->context = (struct sampler_context){ .root = place->root };
    batch_init(&s->batch);
    s->batch.host = place->host;
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

/* What one sensor added to the batch, from sample number from on. */
static void keep(struct sensors *sensors, struct sensor *sensor, size_t from)
{
    carry_apply(&sensor->carry, &sensors->batch, from);
    struct batch part = sensors->batch;
    part.samples += from;
    part.count -= from;
    if (part.count)
        live_take_from(sensors->place.live, &part, sensor->period_ns, sensor);
}

static size_t let_out(struct sensors *sensors)
{
    size_t count = sensors->batch.count;
    if (count)
        sensors->place.out(sensors->place.out_context, &sensors->batch);
    return count;
}

/* The jobs that run, to one that was opened: a reading follows, so that it adds nothing yet. */
static void tell_jobs(struct sensors *sensors, struct sampler_state *sampler_state)
{
    size_t at = 0;
    sampler_state->skip_first_sample = true;
    for (const struct job *job; sensors->jobs && (job = jobs_next(sensors->jobs, &at));)
        sampler_state_job(sampler_state, job, JOB_BEGIN, &sensors->batch);
}

/* Sets may stand elsewhere from now on. One that failed counts from 0 again, as after a start. */
static void wake(struct sensors *sensors, struct sensor *sensor)
{
    if (!sampler_state_wake(&sensor->sampler_state))
        return;
    live_forget_addresses(sensors->place.live);
    carry_clear(&sensor->carry);
    tell_jobs(sensors, &sensor->sampler_state);
}

static void read_open(struct sensors *sensors, struct sensor *sensor, void (*read)(struct sampler_state *, struct batch *))
{
    size_t from = sensors->batch.count;
    uint64_t since_ns = clock_monotonic_ns();
    sensors->batch.is_part = false;
    read(&sensor->sampler_state, &sensors->batch);
    keep(sensors, sensor, from);
    if (sensors->batch.count > from && sensors->batch.is_part)
        live_keep_source(sensors->place.live, sensor);
    else if (sensors->batch.count > from) /* it told all there is: a process or a device that is not in it has gone */
        live_drop_unread(sensors->place.live, sensor, since_ns);
}

static void read_one(struct sensors *sensors, struct sensor *sensor)
{
    if (sensor->slow) {
        slow_tick(sensor->slow);
        return;
    }
    wake(sensors, sensor);
    read_open(sensors, sensor, sampler_state_read);
}

void sensors_look(struct sensors *sensors)
{
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < sensors->enabled_count; i++)
        sampler_state_poll(&sensors->list[sensors->enabled[i]].sampler_state, now_ns);
}

/* The memory of thousands of jobs that have gone is of more use to those that run. */
static void give_back(struct sensors *sensors)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (sensors->batch.count >= CROWD)
        sensors->crowd_ns = now_ns;
    if (!sensors->crowd_ns || now_ns - sensors->crowd_ns < GIVE_BACK_NS)
        return;
    sensors->crowd_ns = 0;
    batch_clear(&sensors->batch);
    batch_init(&sensors->batch);
    sensors->batch.host = sensors->place.host;
    malloc_trim(0);
}

size_t sensors_tick(struct sensors *sensors)
{
    batch_reset(&sensors->batch);
    sensors->begins = 0;
    for (size_t i = 0; i < sensors->enabled_count; i++) {
        struct sensor *sensor = &sensors->list[sensors->enabled[i]];
        if (sensors->place.schedule->slots[sensor->slot].due)
            read_one(sensors, sensor);
    }
    size_t count = let_out(sensors);
    give_back(sensors);
    return count;
}

/* A job that ended while a slow one read is not shown any more, but written down. */
static void keep_slow(struct sensors *sensors, const struct sensor *sensor, const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const char *job = batch->samples[i].job;
        struct batch one = *batch;
        one.samples += i;
        one.count = 1;
        if (!job || (sensors->jobs && jobs_find(sensors->jobs, job)))
            live_take_from(sensors->place.live, &one, sensor->period_ns, sensor);
    }
}

static void take_slow(struct sensors *sensors, struct sensor *sensor)
{
    const struct batch *read = slow_take(sensor->slow);
    struct slow_facts facts;
    if (!read)
        return;
    slow_look(sensor->slow, &facts);
    bool is_new = facts.openings != sensor->slow_openings;
    if (is_new)
        live_forget_addresses(sensors->place.live);
    if (is_new && sensor->slow_openings)
        carry_clear(&sensor->carry);
    sensor->slow_openings = facts.openings;
    struct batch batch = *read;
    batch.host = sensors->place.host;
    carry_apply(&sensor->carry, &batch, 0);
    if (is_new)
        carry_drop_unmet(&sensor->carry);
    keep_slow(sensors, sensor, &batch);
    sensors->place.out(sensors->place.out_context, &batch);
    slow_give_back(sensor->slow);
}

/* What it has to say of its jobs may come before the reading. */
static void take_all(struct sensors *sensors, struct sensor *sensor, uint64_t deadline_ns)
{
    struct slow_facts facts;
    bool in_time;
    do {
        in_time = slow_wait(sensor->slow, deadline_ns);
        take_slow(sensors, sensor);
        slow_look(sensor->slow, &facts);
    } while (in_time && facts.is_busy);
}

size_t sensors_read_all(struct sensors *sensors, uint64_t deadline_ns)
{
    batch_reset(&sensors->batch);
    for (size_t i = 0; i < sensors->count; i++)
        if (sensors->list[i].enabled)
            read_one(sensors, &sensors->list[i]);
    size_t count = let_out(sensors);
    for (size_t i = 0; i < sensors->count; i++)
        if (sensors->list[i].slow)
            take_all(sensors, &sensors->list[i], deadline_ns);
    return count;
}

void sensors_take(struct sensors *sensors)
{
    uint64_t times;
    (void)!read(sensors->event_fd, &times, sizeof times);
    for (size_t i = 0; i < sensors->count; i++)
        if (sensors->list[i].slow)
            take_slow(sensors, &sensors->list[i]);
}

void sensors_job(struct sensors *sensors, const struct job *job, enum job_event event)
{
    batch_reset(&sensors->batch);
    sensors->begins += event == JOB_BEGIN;
    for (size_t i = 0; i < sensors->count; i++) {
        /* at the end backwards: the records of tasks are taken before the numbers of a cgroup that may have gone */
        struct sensor *sensor = &sensors->list[event == JOB_END ? sensors->count - 1 - i : i];
        if (!sensor->enabled || !sensor->sampler->job)
            continue;
        size_t from = sensors->batch.count;
        sensor->sampler_state.skip_first_sample = sensors->begins > FIRSTS_MAX;
        if (event == JOB_BEGIN)
            carry_drop_job(&sensor->carry, job->id); /* an earlier one of that name, whose last sample a slow one gave late */
        if (sensor->slow)
            slow_job(sensor->slow, job, event);
        else
            sampler_state_job(&sensor->sampler_state, job, event, &sensors->batch);
        keep(sensors, sensor, from);
        if (event == JOB_END && !sensor->slow)
            carry_drop_job(&sensor->carry, job->id);
    }
    let_out(sensors);
    if (event == JOB_END)
        live_drop_job(sensors->place.live, job->id);
}

/* What it has counted up to now is let out, and noted for the one that goes on from there. */
static enum err read_last(struct sensors *sensors, struct sensor *sensor)
{
    batch_reset(&sensors->batch);
    if (sensor->slow) {
        slow_wait(sensor->slow, clock_monotonic_ns() + LAST_NS);
        take_slow(sensors, sensor);
    } else {
        read_open(sensors, sensor, sampler_state_read_last);
    }
    let_out(sensors);
    return carry_note(&sensor->carry, sensors->place.live, sensor);
}

static void stop(struct sensors *sensors, struct sensor *sensor)
{
    if (!sensor->enabled)
        return;
    if (sensor->slow)
        take_slow(sensors, sensor);
    else if (sensor->sampler->loses_counts_on_close)
        read_last(sensors, sensor);
    slow_stop(&sensor->slow);
    sampler_state_close(&sensor->sampler_state);
    setting_list_clear(&sensor->settings);
    carry_clear(&sensor->carry);
    schedule_remove(sensors->place.schedule, sensor->slot);
    live_forget_addresses(sensors->place.live);
    live_drop_source(sensors->place.live, sensor);
    sensor->enabled = false;
}

void sensors_close(struct sensors **sensors)
{
    struct sensors *s = *sensors;
    uint64_t deadline_ns = clock_monotonic_ns() + CLOSE_NS;
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].slow)
            slow_wait(s->list[i].slow, deadline_ns);
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

/* A sensor with the plan's settings, beside the one that may be there: nothing of that is touched. */
static enum err make(struct sensors *sensors, const struct plan_sensor *plan, struct sensor *made)
{
    enum err err = setting_list_copy(&made->settings, &plan->settings);
    made->sampler_state = (struct sampler_state){
        .sampler = plan->sampler, .context = &sensors->context, .settings = made->settings.list,
        .setting_count = made->settings.count, .retry_absent_ns = LOOK_AGAIN_NS,
    };
    if (!err && plan->sampler->is_slow)
        err = slow_start(&made->slow, plan->sampler, &sensors->context, &plan->settings, LOOK_AGAIN_NS, sensors->event_fd);
    for (size_t at = 0; !err && made->slow && sensors->jobs;) {
        const struct job *job = jobs_next(sensors->jobs, &at);
        if (!job)
            break;
        slow_job(made->slow, job, JOB_BEGIN);
    }
    return err;
}

static enum err begin(struct sensors *sensors, struct sensor *sensor, const struct plan_sensor *plan, uint64_t period_ns)
{
    struct sensor made = { .sampler = plan->sampler, .period_ns = period_ns, .enabled = true };
    enum err err = schedule_add(sensors->place.schedule, period_ns, clock_realtime_ns(), &made.slot);
    if (err)
        return err;
    err = make(sensors, plan, &made);
    if (err) {
        schedule_remove(sensors->place.schedule, made.slot);
        setting_list_clear(&made.settings);
        return err;
    }
    *sensor = made;
    batch_reset(&sensors->batch);
    if (!sensor->slow)
        wake(sensors, sensor);
    let_out(sensors);
    return OK;
}

static void discard(struct sensor *sensor)
{
    slow_stop(&sensor->slow);
    sampler_state_close(&sensor->sampler_state);
    setting_list_clear(&sensor->settings);
}

/* One that is opened now, to take the place of sensor. */
static enum err make_other(struct sensors *sensors, const struct sensor *sensor, const struct plan_sensor *plan,
                           struct sensor *made)
{
    enum err err = make(sensors, plan, made);
    if (err || made->slow)
        return err;
    made->sampler_state.was_reported = true; /* whoever asked is told */
    sampler_state_wake(&made->sampler_state);
    err = made->sampler_state.is_open || !sensor->sampler_state.is_open ? OK : made->sampler_state.last;
    made->sampler_state.was_reported = sensor->sampler_state.was_reported;
    return err;
}

/* The new one is opened, and hears of the jobs, before the old one reads for the last time: a mistake costs nothing, and
 * between the last reading of the one and the first of the other is no more than the time that they take. */
static enum err replace(struct sensors *sensors, struct sensor *sensor, const struct plan_sensor *plan, struct buf *why)
{
    struct sensor made = { 0 };
    enum err err = make_other(sensors, sensor, plan, &made);
    if (!err && !made.slow)
        tell_jobs(sensors, &made.sampler_state);
    if (!err)
        err = read_last(sensors, sensor);
    if (err) {
        discard(&made);
        buf_printf(why, "%s cannot be read with these settings: %s", plan->sampler->name, err_text(err));
        return USAGE;
    }
    struct sensor old = *sensor;
    sensor->settings = made.settings;
    sensor->sampler_state = made.sampler_state;
    sensor->slow = made.slow;
    sensor->slow_openings = 0;
    live_forget_addresses(sensors->place.live); /* the last values are shown until the first of the new one */
    batch_reset(&sensors->batch);
    if (!sensor->slow) {
        read_open(sensors, sensor, sampler_state_read); /* to go on from; not let out, since the last one was at the same time */
        carry_drop_unmet(&sensor->carry);
    }
    batch_reset(&sensors->batch);
    discard(&old);
    live_forget_addresses(sensors->place.live);
    return OK;
}

static enum err apply_one(struct sensors *sensors, struct sensor *sensor, const struct plan *plan,
                          const struct plan_sensor *wanted, struct buf *why)
{
    uint64_t period_ns = plan_period_ns(plan, wanted);
    if (!wanted->enabled) {
        stop(sensors, sensor);
        return OK;
    }
    if (!sensor->enabled)
        return begin(sensors, sensor, wanted, period_ns);
    enum err err = schedule_change(sensors->place.schedule, sensor->slot, period_ns, clock_realtime_ns());
    if (err)
        return err;
    sensor->period_ns = period_ns;
    return setting_list_equal(&sensor->settings, &wanted->settings) ? OK : replace(sensors, sensor, wanted, why);
}

/* At the first plan; later ones have the same sensors. */
static bool make_room(struct sensors *sensors, size_t count)
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

enum err sensors_apply(struct sensors *sensors, const struct plan *plan, struct buf *why)
{
    if (!make_room(sensors, plan->sensor_count))
        return NOMEM;
    enum err err = OK;
    for (size_t i = 0; i < sensors->count && !err; i++) {
        sensors->list[i].sampler = plan->sensors[i].sampler;
        err = apply_one(sensors, &sensors->list[i], plan, &plan->sensors[i], why);
        if (err && err != USAGE)
            buf_printf(why, "%s: %s", plan->sensors[i].sampler->name, err_text(err));
    }
    find_enabled(sensors);
    schedule_begin_together(sensors->place.schedule, clock_realtime_ns());
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
    struct slow_facts slow = { 0 };
    *facts = (struct sensor_facts){ .sampler = sensor->sampler, .settings = &sensor->settings };
    if (!sensor->enabled)
        return true;
    facts->period_ns = sensor->period_ns;
    facts->counts = sensors->place.schedule->slots[sensor->slot].counts;
    facts->failures = sensor->sampler_state.failures;
    facts->state = state_of(sensor->sampler_state.is_open, sensor->sampler_state.is_absent, sensor->sampler_state.last);
    if (!sensor->slow)
        return true;
    slow_look(sensor->slow, &slow);
    facts->failures = slow.failures;
    facts->counts.missed += slow.skipped;
    facts->state = state_of(slow.is_open, slow.is_absent, slow.last);
    return true;
}

const char *sensors_state_name(enum sensor_state state)
{
    static const char *const names[] = { "off", "reads", "absent", "denied", "fails", "waits" };
    return names[state];
}
