/* The agent's sensors: each with its own period, failing and changing independently, with job events. The test drives
 * the clock. */
#include "agent/sensors.h"

#include "base/log.h"
#include "tools/unit.h"

#include <unistd.h>

#define START (1800000000 * NS_PER_S)

/* Three samplers of a kind, controlled from here. */
enum { QUICK, OTHER, SLOW, KINDS };

static struct {
    unsigned opens, closes, begins, ends, looks;
    uint64_t within_ns; /* when it wants to be polled again */
    _Atomic unsigned reads;
    enum err open_result, read_result;
    bool gives_second, is_part; /* a second instance; it reports a partial reading */
} calls[KINDS];

static uint64_t kernel; /* counts whoever reads it */

struct play {
    uint64_t value, own; /* own: counted since it was opened */
    unsigned kind;
};

static const struct metric metrics[] = {
    { "value", "1", GAUGE, U64, "a value" },
    { "own", "1", COUNTER, U64, "what the sampler counts itself" },
    { "kernel", "1", COUNTER, U64, "what the kernel counts" },
};
static const struct set sets[] = { { "quick", metrics, 3 }, { "other", metrics, 3 }, { "slow", metrics, 3 } };
static const struct setting settings[] = {
    { "value", SETTING_U64, "1", offsetof(struct play, value), "a value" }, { 0 },
};

static enum err open_as(void *state, unsigned kind)
{
    ((struct play *)state)->kind = kind;
    calls[kind].opens++;
    return calls[kind].open_result;
}

static enum err open_quick(void *s, const struct sampler_context *c) { return (void)c, open_as(s, QUICK); }
static enum err open_other(void *s, const struct sampler_context *c) { return (void)c, open_as(s, OTHER); }
static enum err open_slow(void *s, const struct sampler_context *c) { return (void)c, open_as(s, SLOW); }

static enum err play_read(void *state, struct batch *out)
{
    struct play *play = state;
    calls[play->kind].reads++;
    struct sample *sample = batch_add(out, &sets[play->kind], 1, "");
    sample_set_u64(sample, 0, play->value);
    sample_set_u64(sample, 1, ++play->own);
    sample_set_u64(sample, 2, ++kernel);
    if (calls[play->kind].gives_second)
        batch_add(out, &sets[play->kind], 1, "second");
    out->is_part |= calls[play->kind].is_part;
    return calls[play->kind].read_result;
}

static enum err play_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct play *play = state;
    calls[play->kind].begins += event == JOB_BEGIN;
    calls[play->kind].ends += event == JOB_END;
    if (event == JOB_END)
        batch_add(out, &sets[play->kind], 2, "")->job = job->id;
    return OK;
}

static uint64_t play_poll(void *state)
{
    struct play *play = state;
    calls[play->kind].looks++;
    return calls[play->kind].within_ns;
}

static void play_close(void *state)
{
    calls[((struct play *)state)->kind].closes++;
}

#define PLAYER(n, is_it_slow) { .name = #n, .about = "plays", .settings = settings, .state_size = sizeof(struct play), \
    .is_slow = is_it_slow, .open = open_##n, .read = play_read, .poll = play_poll, .job = play_job, .close = play_close }
static const struct sampler quick = PLAYER(quick, false), other = PLAYER(other, false), slow = PLAYER(slow, true);
static const struct sampler *const list[] = { &quick, &other, &slow, NULL };

struct fixture {
    struct schedule schedule;
    struct latest *live;
    struct sensors *sensors;
    struct agent_config config;
    struct buf error;
    uint64_t now_ns;
    size_t batches, samples;
    uint64_t own[KINDS], kernel[KINDS]; /* of the last samples */
};

static void count_out(void *context, const struct batch *batch)
{
    struct fixture *f = context;
    assert_string_equal(batch->host, "node");
    f->batches++;
    f->samples += batch->count;
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        size_t kind = (size_t)(sample->set - sets);
        if (!sample->known[1])
            continue;
        assert_true(sample->values[1].u64 >= f->own[kind] && sample->values[2].u64 > f->kernel[kind]);
        f->own[kind] = sample->values[1].u64;
        f->kernel[kind] = sample->values[2].u64;
    }
}

static int start(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    log_set_level(-1);
    memset(calls, 0, sizeof calls);
    buf_init(&f->error, 4096);
    schedule_open(&f->schedule);
    latest_open(&f->live);
    agent_config_init(&f->config, list);
    struct sensors_settings opened = { .root = "", .host = "node", .live = f->live, .schedule = &f->schedule,
                                   .out = count_out, .out_context = f };
    return sensors_open(&f->sensors, &opened);
}

static int end(void **state)
{
    struct fixture *f = *state;
    sensors_close(&f->sensors);
    latest_close(&f->live);
    schedule_close(&f->schedule);
    agent_config_clear(&f->config);
    buf_clear(&f->error);
    free(f);
    return 0;
}

static enum err apply(struct fixture *f, const char *line)
{
    struct agent_config next;
    assert_int_equal(agent_config_copy(&next, &f->config), OK);
    assert_int_equal(agent_config_set_line(&next, line, &f->error), OK);
    enum err err = sensors_apply(f->sensors, &next, &f->error);
    if (!err) {
        agent_config_clear(&f->config);
        f->config = next;
        return OK;
    }
    agent_config_clear(&next);
    assert_int_equal(sensors_apply(f->sensors, &f->config, &f->error), OK);
    return err;
}

/* Slots are set by the real clock when they are created: the first update goes there. */
static void pass(struct fixture *f, uint64_t ns)
{
    f->now_ns = (f->now_ns ? f->now_ns : clock_realtime_ns() / NS_PER_S * NS_PER_S + 60 * NS_PER_S) + ns;
    f->schedule.ahead_ns = f->now_ns - START;
    schedule_update(&f->schedule, f->now_ns, START);
    sensors_tick(f->sensors);
}

static struct sensor_facts facts_of(struct fixture *f, size_t kind)
{
    struct sensor_facts facts;
    for (size_t at = 0; sensors_next(f->sensors, &at, &facts);)
        if (at == kind + 1)
            return facts;
    fail();
    return facts;
}

static uint64_t live_value(struct fixture *f, const char *set)
{
    const struct latest_entry *entry;
    for (size_t at = 0; (entry = latest_next(f->live, &at));)
        if (!strcmp(entry->set->name, set))
            return entry->values[0].u64;
    return UINT64_MAX;
}

static void each_has_its_own_period(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    assert_int_equal(apply(f, "other.period=10s"), OK);
    pass(f, 0);
    unsigned first = calls[QUICK].reads, first_other = calls[OTHER].reads;
    for (int i = 0; i < 20; i++)
        pass(f, NS_PER_S);
    assert_int_equal(calls[QUICK].reads - first, 20);
    assert_int_equal(calls[OTHER].reads - first_other, 2);
    assert_int_equal(facts_of(f, OTHER).period_ns, 10 * NS_PER_S);
    assert_int_equal(calls[SLOW].opens, 0);
    assert_int_equal(facts_of(f, SLOW).state, SENSOR_OFF);
    assert_int_equal(f->samples, calls[QUICK].reads + calls[OTHER].reads);
}

static void failing_sensor_does_not_affect_others(void **state)
{
    struct fixture *f = *state;
    calls[QUICK].read_result = IO;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    for (int i = 0; i < 5; i++)
        pass(f, NS_PER_S);
    assert_int_equal(calls[QUICK].reads, 1);
    assert_int_equal(calls[QUICK].closes, 1);
    assert_int_equal(calls[OTHER].reads, 5);
    assert_int_equal(f->samples, 5); /* nothing of what the failed one had started */
    assert_int_equal(latest_count(f->live), 1);
    assert_int_equal(facts_of(f, QUICK).state, SENSOR_FAILS);
    assert_int_equal(facts_of(f, QUICK).failures, 1);
    assert_int_equal(facts_of(f, OTHER).state, SENSOR_READS);
}

static void partial_reading_keeps_other_values(void **state)
{
    struct fixture *f = *state;
    calls[QUICK].gives_second = calls[OTHER].gives_second = true;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    pass(f, NS_PER_S);
    assert_int_equal(latest_count(f->live), 4);
    calls[QUICK].gives_second = calls[OTHER].gives_second = false;
    calls[QUICK].is_part = true;
    pass(f, NS_PER_S);
    assert_int_equal(latest_count(f->live), 3); /* the other one reported everything */
    calls[QUICK].is_part = false;
    pass(f, NS_PER_S);
    assert_int_equal(latest_count(f->live), 2);
}

static void samplers_poll_between_readings(void **state)
{
    struct fixture *f = *state;
    calls[OTHER].within_ns = 3600 * NS_PER_S;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    pass(f, NS_PER_S);
    size_t samples = f->samples;
    for (int i = 0; i < 3; i++)
        sensors_poll(f->sensors);
    assert_int_equal(calls[QUICK].looks, 3);
    assert_int_equal(calls[OTHER].looks, 1);
    assert_int_equal(f->samples, samples);
    assert_int_equal(apply(f, "other.value=2"), OK); /* reopened, it may count something else */
    sensors_poll(f->sensors);
    assert_int_equal(calls[OTHER].looks, 2);
    assert_int_equal(apply(f, "agent.sensors=quick"), OK);
    sensors_poll(f->sensors);
    assert_int_equal(calls[OTHER].looks, 2);
    assert_int_equal(calls[QUICK].looks, 5);
}

static void missing_sensor_is_absent(void **state)
{
    struct fixture *f = *state;
    calls[QUICK].open_result = ABSENT;
    calls[OTHER].open_result = DENIED;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    pass(f, NS_PER_S);
    assert_int_equal(facts_of(f, QUICK).state, SENSOR_ABSENT);
    assert_int_equal(facts_of(f, OTHER).state, SENSOR_DENIED);
    assert_string_equal(sensors_state_name(SENSOR_DENIED), "denied");
    assert_int_equal(f->batches, 0);
}

static void change_affects_only_one_sensor(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    pass(f, NS_PER_S);
    assert_int_equal(apply(f, "quick.value=7"), OK);
    assert_int_equal(live_value(f, "quick"), 7); /* no gap before the next tick */
    pass(f, NS_PER_S);
    assert_int_equal(live_value(f, "quick"), 7);
    assert_int_equal(calls[QUICK].opens, 2);
    assert_int_equal(calls[QUICK].closes, 1);
    assert_int_equal(calls[OTHER].opens, 1);
    assert_int_equal(calls[QUICK].reads, 4); /* at each tick: no gap; plus the last reading of the old one and the
                                              * first of the new one */
    assert_int_equal(f->own[QUICK], 3); /* the first value of the new one continues the last of the old one */
    assert_int_equal(apply(f, "quick.period=2s"), OK);
    assert_int_equal(calls[QUICK].opens, 2); /* a changed period reopens nothing */
    assert_int_equal(apply(f, "agent.sensors=-quick"), OK);
    assert_int_equal(calls[QUICK].closes, 2);
    assert_int_equal(live_value(f, "quick"), UINT64_MAX); /* nor shown any more */
    assert_int_equal(live_value(f, "other"), 1);
    assert_int_equal(apply(f, "agent.sensors=+quick"), OK);
    assert_int_equal(calls[QUICK].opens, 3);
}

static void failed_change_keeps_the_old_sensor(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    pass(f, NS_PER_S);
    calls[QUICK].open_result = USAGE;
    assert_int_equal(apply(f, "quick.value=7"), USAGE);
    assert_non_null(strstr(buf_text(&f->error), "cannot read quick with these settings"));
    calls[QUICK].open_result = OK;
    pass(f, NS_PER_S);
    assert_int_equal(calls[QUICK].closes, 0);
    assert_int_equal(calls[QUICK].reads, 2);
    assert_int_equal(live_value(f, "quick"), 1);
}

/* Settings change repeatedly: the sampler's own counters continue, the kernel's are unchanged. */
static void counters_continue_over_changes(void **state)
{
    struct fixture *f = *state;
    char line[32];
    kernel = 1000;
    assert_int_equal(apply(f, "agent.sensors=quick"), OK);
    for (int i = 0; i < 10; i++) {
        pass(f, NS_PER_S);
        pass(f, NS_PER_S);
        snprintf(line, sizeof line, "quick.value=%d", i + 2);
        assert_int_equal(apply(f, line), OK); /* count_out checks that nothing decreases */
    }
    pass(f, NS_PER_S);
    assert_int_equal(f->own[QUICK], 31); /* three readings before each change were emitted */
    assert_int_equal(f->kernel[QUICK], kernel);
    assert_int_equal(f->samples, 31);
}

static void wait_for_samples(struct fixture *f, size_t count)
{
    for (int i = 0; i < 60000 && f->samples < count; i++) {
        usleep(1000);
        sensors_collect(f->sensors);
    }
    assert_true(f->samples >= count);
}

static void slow_sensor_continues_over_changes(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "agent.sensors=slow"), OK);
    for (size_t i = 1; i <= 5; i++) {
        pass(f, NS_PER_S);
        wait_for_samples(f, i);
    }
    pass(f, NS_PER_S);
    for (int i = 0; i < 60000 && calls[SLOW].reads < 6; i++)
        usleep(1000);
    assert_int_equal(apply(f, "slow.value=7"), OK);
    assert_int_equal(f->samples, 6); /* what was read and not collected yet is not lost */
    pass(f, NS_PER_S);
    wait_for_samples(f, 7);
    assert_int_equal(live_value(f, "slow"), 7);
    assert_int_equal(f->own[SLOW], 6); /* it continues from there */
    pass(f, NS_PER_S);
    wait_for_samples(f, 8);
    assert_int_equal(f->own[SLOW], 7);
}

static void slow_readings_arrive_later(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "agent.sensors=slow"), OK);
    pass(f, NS_PER_S);
    for (int i = 0; i < 60000 && !f->samples; i++) {
        usleep(1000);
        sensors_collect(f->sensors);
    }
    assert_int_equal(f->samples, 1);
    assert_int_equal(live_value(f, "slow"), 1);
    assert_int_equal(facts_of(f, SLOW).state, SENSOR_READS);
    assert_int_equal(sensors_read_all(f->sensors, clock_monotonic_ns() + 10 * NS_PER_S), 0); /* nothing was ready at once */
    assert_int_equal(f->samples, 2);
}

static void jobs_reach_all_sensors_and_leave_a_last_sample(void **state)
{
    struct fixture *f = *state;
    struct job job = { .id = "7", .other_id = "", .source = "told", .user = "", .cgroup = "", .slot = 0 };
    assert_int_equal(apply(f, "agent.sensors=all"), OK);
    sensors_read_all(f->sensors, clock_monotonic_ns() + 10 * NS_PER_S);
    size_t before = f->samples;
    sensors_job(f->sensors, &job, JOB_BEGIN);
    sensors_job(f->sensors, &job, JOB_END);
    sensors_read_all(f->sensors, clock_monotonic_ns() + 10 * NS_PER_S);
    for (int i = 0; i < 3; i++)
        assert_true(calls[i].begins == 1 && calls[i].ends == 1);
    assert_true(f->samples >= before + 3 + 2); /* a tick may coincide with a job event of the slow one */
    const struct latest_entry *entry;
    for (size_t at = 0; (entry = latest_next(f->live, &at));)
        assert_null(entry->job); /* it has ended: late samples are written, not shown */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_has_its_own_period, start, end),
        cmocka_unit_test_setup_teardown(failing_sensor_does_not_affect_others, start, end),
        cmocka_unit_test_setup_teardown(partial_reading_keeps_other_values, start, end),
        cmocka_unit_test_setup_teardown(samplers_poll_between_readings, start, end),
        cmocka_unit_test_setup_teardown(missing_sensor_is_absent, start, end),
        cmocka_unit_test_setup_teardown(change_affects_only_one_sensor, start, end),
        cmocka_unit_test_setup_teardown(failed_change_keeps_the_old_sensor, start, end),
        cmocka_unit_test_setup_teardown(counters_continue_over_changes, start, end),
        cmocka_unit_test_setup_teardown(slow_sensor_continues_over_changes, start, end),
        cmocka_unit_test_setup_teardown(slow_readings_arrive_later, start, end),
        cmocka_unit_test_setup_teardown(jobs_reach_all_sensors_and_leave_a_last_sample, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
